//! A workflow: one piece of work, who holds it, and everything that travels with it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::artifact::Artifact;
use crate::course::{Course, Report};
use crate::definition::StateName;
use crate::handoff::{Aggregation, Constraints, Detail, Handoff, Kind, Priority, State};
use crate::id::{AgentId, ArtifactId, Fence, GroupId, HandoffId, WorkflowId};
use crate::lock::{FilePath, LockMode};
use crate::machine::{Failure, Machine};
use crate::policy::Usage;
use crate::text::{Body, Text};
use crate::time::Timestamp;
use crate::trace::TraceParent;
use crate::variables::{Changes, Variables};

/// A workflow that is not over. Closed ones leave memory and live on in the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    /// What it is about.
    pub title: Text,
    /// How urgent it is.
    pub priority: Priority,
    /// When it began.
    pub started_at: Timestamp,
    /// Who began it.
    pub started_by: AgentId,
    /// What it may cost in all.
    pub constraints: Constraints,
    /// The hold of the agent that owns the work.
    pub owner: Fence,
    /// The highest fence given so far.
    pub fence: Fence,
    /// Everything that is held now.
    pub holds: BTreeMap<Fence, Hold>,
    /// What it knows.
    pub variables: Variables,
    /// What it has produced.
    pub artifacts: BTreeMap<ArtifactId, Artifact>,
    /// All its handoffs, also those that are over.
    pub handoffs: BTreeMap<HandoffId, Handoff>,
    /// Its broadcasts.
    #[serde(default)]
    pub groups: BTreeMap<GroupId, Group>,
    /// Who holds or held a part of it, and may therefore read all of it.
    pub readers: BTreeSet<AgentId>,
    /// Tokens that holders reported.
    pub tokens_consumed: u64,
    /// How far it is and what it has cost, as its holders reported.
    #[serde(default, skip_serializing_if = "Course::is_empty")]
    pub course: Course,
    /// What it may use, and what its owners and its finished parts used.
    #[serde(default)]
    pub account: Account,
    /// The agents that take part: whoever it was passed to, people and questions apart.
    #[serde(default)]
    pub members: BTreeSet<AgentId>,
    /// The last handoffs that somebody began, the newest last.
    #[serde(default)]
    pub hops: Vec<Hop>,
    /// Whether agents do not pass it on.
    #[serde(default)]
    pub independent: bool,
    /// Where it stands in its definition, if it follows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Box<Machine>>,
}

/// A handoff that somebody began, as far as it takes to know it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hop {
    /// Who passed.
    pub from: AgentId,
    /// To whom.
    pub to: AgentId,
    /// Whether for good.
    pub sequential: bool,
    /// A digest of what travelled.
    pub context: ContextHash,
    /// How much the work had come to, in changes and artifacts.
    pub progress: u64,
}

/// A digest of what travels with a handoff, as hexadecimal digits.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContextHash(pub(crate) String);

/// What a holder waits for that wants files which others have locked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedFiles {
    /// Which files.
    pub paths: Vec<FilePath>,
    /// Whether others may have them, too.
    #[serde(default)]
    pub mode: LockMode,
    /// Until when that counts.
    pub until: Timestamp,
}

/// What an agent has in hand, from acceptance to return or pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Who.
    pub agent: AgentId,
    /// The handoff that brought it; absent for whoever began the workflow.
    pub handoff: Option<HandoffId>,
    /// Since when.
    pub since: Timestamp,
    /// The count of variable writes this holder has seen; a later write by another is a conflict.
    pub seen: u64,
    /// The files it has locked.
    pub locks: BTreeSet<FilePath>,
    /// The latest words on how it goes.
    pub progress: Option<Progress>,
    /// What it waits for, if it asked somebody above.
    #[serde(default)]
    pub suspended: Option<Waiting>,
    /// When its time is up, for holds whose handoff is over.
    #[serde(default)]
    pub due: Option<Timestamp>,
    /// Its slice of what the work may use; absent means it uses that of whoever it works for.
    #[serde(default)]
    pub account: Option<Account>,
    /// The locks that it waits for.
    #[serde(default)]
    pub wants: Option<WantedFiles>,
}

/// What a holder waits for that asked somebody above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The handoff that carries its question.
    pub escalation: HandoffId,
    /// Since when it waits; what was due moves by as much.
    pub since: Timestamp,
}

/// One broadcast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// When it has succeeded.
    pub aggregation: Aggregation,
    /// The copies that must return something.
    pub expected: Vec<HandoffId>,
    /// What it came to, once that is decided. Late returns do not change it.
    pub outcome: Option<Outcome>,
}

/// What a broadcast came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether it succeeded.
    pub success: bool,
    /// Copies that had when it was decided.
    pub successes: usize,
    /// Copies that had not.
    pub failures: usize,
}

/// How a holder says it goes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// When it said so.
    pub at: Timestamp,
    /// What it said.
    pub note: Option<Text>,
    /// How far it is, 0 to 100.
    pub percent: Option<u8>,
}

impl Workflow {
    /// The hold of the agent that owns the work.
    ///
    /// There always is one: it changes hands in the same event that ends the one before.
    pub fn owning(&self) -> Option<&Hold> {
        self.holds.get(&self.owner)
    }

    /// How much it has come to, in changes and artifacts: a number that only grows.
    pub(crate) fn progress(&self) -> u64 {
        self.variables.clock() + self.artifacts.len() as u64
    }

    /// The handoffs that are not over.
    pub fn open(&self) -> impl Iterator<Item = &Handoff> {
        self.handoffs.values().filter(|handoff| !handoff.state.is_over())
    }

    /// The handoffs that are not over and were passed under the hold `fence`.
    pub fn open_under(&self, fence: Fence) -> impl Iterator<Item = &Handoff> {
        self.open().filter(move |handoff| handoff.terms.parent == fence)
    }

    /// Whether a handoff stands in the way of whoever passed it: it is open, and neither a copy of
    /// a broadcast that is decided already nor a mere look from above.
    pub fn blocks(&self, handoff: &Handoff) -> bool {
        let idle = match &handoff.terms.kind {
            Kind::Sequential | Kind::Delegation(_) => false,
            Kind::Broadcast(copy) => {
                self.groups.get(&copy.group).is_some_and(|group| group.outcome.is_some())
            }
            Kind::Escalation(asked) => asked.matter.is_a_look(),
        };
        !handoff.state.is_over() && !idle
    }

    /// Whether a handoff stands in the way of whoever owns the work: it blocks, and does not hang
    /// from anything that does not.
    pub fn blocks_owner(&self, handoff: &Handoff) -> bool {
        let idle = |above: &Handoff| !above.state.is_over() && !self.blocks(above);
        self.blocks(handoff) && !self.above(handoff).any(idle)
    }

    /// The handoffs that `handoff` hangs from, the nearest first: the one under whose hold it was
    /// passed, and so on.
    pub fn above<'a>(&'a self, handoff: &'a Handoff) -> impl Iterator<Item = &'a Handoff> {
        let above = |below: &&'a Handoff| self.brought(below.terms.parent);
        std::iter::successors(above(&handoff), above)
    }

    /// The handoff that brought the hold `fence`, also if it has returned since.
    pub(crate) fn brought(&self, fence: Fence) -> Option<&Handoff> {
        if let Some(hold) = self.holds.get(&fence) {
            return self.handoffs.get(&hold.handoff?);
        }
        self.handoffs.values().find(|handoff| match &handoff.state {
            State::Completed { result: Some(result), .. }
            | State::Failed { detail: Detail::Error { result }, .. } => result.fence == fence,
            _ => false,
        })
    }

    /// The span of the handoff that brought the hold `fence`, if it is part of a trace that
    /// somebody gave. `id` is the workflow's own.
    pub(crate) fn trace_under(&self, id: WorkflowId, fence: Fence) -> Option<TraceParent> {
        let terms = &self.brought(fence)?.terms;
        terms.traceparent.map(|given| TraceParent::of_handoff(Some(given), id, terms.id))
    }

    /// Takes in what a holder reported. What was recorded was found to fit.
    pub(crate) fn reported(&mut self, report: Option<&Report>) {
        if let Some(course) = report.and_then(|report| self.course.after(report).ok()) {
            self.course = course;
        }
    }

    /// Takes in the last words of whoever ended it, for those who look at what is over.
    pub fn take_last_words(
        &mut self,
        ending: &Ending,
        usage: Option<&Usage>,
        by: &AgentId,
        at: Timestamp,
    ) {
        if let Some(usage) = usage {
            self.used(self.owner, usage);
        }
        match ending {
            Ending::Completed { variables, artifacts, report, .. } => {
                self.variables.write(variables, by, at);
                let made = artifacts.iter().map(|artifact| (artifact.id, artifact.clone()));
                self.artifacts.extend(made);
                self.reported(report.as_deref());
            }
            Ending::Cancelled { .. } | Ending::Failed { .. } => (),
        }
    }

    /// What the copies of a broadcast came to so far: successes and failures. `ended` are those
    /// that end now.
    pub fn tally(&self, group: &Group, ended: &[(HandoffId, bool)]) -> (usize, usize) {
        let (mut successes, mut failures) = (0, 0);
        for id in &group.expected {
            let known = self.handoffs.get(id).map(|handoff| &handoff.state);
            let now = ended.iter().find(|(ends, _)| ends == id).map(|(_, success)| *success);
            let success = match (now, known) {
                (Some(success), _) => success,
                (None, Some(State::Completed { .. })) => true,
                (None, Some(State::Failed { .. })) => false,
                (None, _) => continue,
            };
            if success { successes += 1 } else { failures += 1 }
        }
        (successes, failures)
    }
}

/// How a workflow ended.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Ending {
    /// Its last holder said it is done.
    Completed {
        /// What came of it.
        result: Option<Body>,
        /// The holder's words.
        note: Option<Text>,
        /// Variables written with it, lists with what was there before.
        #[serde(default, skip_serializing_if = "Changes::is_empty")]
        variables: Changes,
        /// Artifacts made known with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        artifacts: Vec<Artifact>,
        /// What the holder reported about the whole work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<Box<Report>>,
    },
    /// Somebody who may called it off.
    Cancelled {
        /// Why.
        reason: Text,
    },
    /// It could not be done.
    Failed {
        /// Why, in short.
        reason: Text,
        /// The state in which it ended.
        state: StateName,
        /// What failed, the last of it last.
        failures: Vec<Failure>,
    },
}

impl Ending {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Cancelled { .. } => "cancelled",
            Self::Failed { .. } => "failed",
        }
    }
}
