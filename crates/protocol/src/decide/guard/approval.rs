//! Handoffs that wait for a person: whether one does, and what the person says.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::artifact::Artifact;
use crate::command::{Approve, Deny, Pass, Submission};
use crate::decide::arrival::{self, Arrival};
use crate::decide::cancel::Ended;
use crate::decide::{group, holder, news};
use crate::effect::{Effect, News};
use crate::event::{Approval, Decision, Event, StreamId};
use crate::handoff::{Detail, Handoff, State, Terms};
use crate::id::{AgentId, HandoffId, WorkflowId};
use crate::policy::{Matched, OnDenied, Unanswered};
use crate::refusal::Refusal;
use crate::text::Text;
use crate::time::Timestamp;
use crate::workflow::{Ending, Workflow};
use crate::world::World;

type Outcome = (Vec<Event>, Vec<Effect>);

/// Whether a pass to `to` waits for a person.
pub(in crate::decide) fn of_pass(
    world: &World,
    pass: &Pass,
    to: &AgentId,
    now: Timestamp,
) -> Option<Approval> {
    let matched = pass.matched.get(to)?;
    Some(match world.standing.get(&matched.rule) {
        Some(until) if *until > now => {
            Approval::Standing { rule: matched.rule.clone(), until: *until }
        }
        Some(_) | None => {
            let until = matched.timeout.map(|span| span.after(now));
            Approval::Waits { matched: matched.clone(), until }
        }
    })
}

/// The effects by which people hear that a handoff waits for them.
pub(in crate::decide) fn announced(
    world: &World,
    workflow: WorkflowId,
    terms: &Terms,
) -> Vec<Effect> {
    let words =
        format!("{} wants to pass work to {}: {}", terms.from_agent, terms.to_agent, terms.reason);
    // The reason may fill a whole text by itself.
    let cut: String = words.chars().take(500).collect();
    let Ok(words) = cut.parse::<Text>() else { return Vec::new() };
    let tell = |by: &crate::policy::Notifier| Effect::Announce {
        by: by.clone(),
        workflow,
        handoff: terms.id,
        words: words.clone(),
    };
    world.policy.notify.iter().map(tell).collect()
}

/// The hash of everything that a handoff would pass: its terms, the variables that its receiver
/// would see, and the artifacts. SHA-256 of the canonical JSON, as hexadecimal digits.
pub fn content_hash(workflow: &Workflow, handoff: &Handoff) -> String {
    #[derive(Serialize)]
    struct Content<'a> {
        terms: &'a Terms,
        variables: serde_json::Map<String, serde_json::Value>,
        artifacts: Vec<&'a Artifact>,
    }
    let terms = &handoff.terms;
    let seen = |name: &crate::variables::VariableName| {
        terms.shared.as_ref().is_none_or(|shared| shared.contains(name))
    };
    let variables = workflow.variables.iter().filter(|(name, _)| seen(name));
    let content = Content {
        terms,
        variables: variables
            .map(|(name, held)| (name.to_string(), held.value.as_value().clone()))
            .collect(),
        artifacts: workflow.artifacts.values().collect(),
    };
    let bytes = serde_json_canonicalizer::to_vec(&content).unwrap_or_default();
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    crate::hex::hex(&digest)
}

/// Refuses to hand out what a person approved and what has changed since.
pub(in crate::decide) fn still_approved(
    workflow: &Workflow,
    handoff: &Handoff,
) -> Result<(), Refusal> {
    match &handoff.approved {
        Some(hash) if *hash != content_hash(workflow, handoff) => {
            Err(Refusal::ApprovalVoid { handoff: handoff.terms.id })
        }
        Some(_) | None => Ok(()),
    }
}

/// Decides whether a person's yes counts.
pub(in crate::decide) fn approve(
    world: &World,
    ask: &Submission,
    approve: &Approve,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "approve handoffs")?;
    let (id, workflow, handoff) = world.handoff(approve.handoff)?;
    let hash = content_hash(workflow, handoff);
    let rule = match &handoff.state {
        State::AwaitingApproval { matched, .. } => Some(matched.rule.clone()),
        // What was approved has changed before anybody took it: it is looked at once more.
        State::Queued { .. } | State::Initiated { .. } | State::Deferred { .. }
            if handoff.approved.as_ref().is_some_and(|approved| *approved != hash) =>
        {
            None
        }
        State::Queued { .. }
        | State::Initiated { .. }
        | State::Deferred { .. }
        | State::Accepted { .. }
        | State::Suspended { .. }
        | State::Returned { .. }
        | State::Completed { .. }
        | State::Failed { .. } => {
            let state = handoff.state.word();
            return Err(Refusal::NothingToApprove { handoff: approve.handoff, state });
        }
    };
    not_own(world, ask, workflow, handoff)?;
    if approve.hash != hash {
        return Err(Refusal::ApprovalVoid { handoff: approve.handoff });
    }
    let to = world.agent(&handoff.to)?;
    let Arrival { answer_by, queued } = arrival::at(world, Some(workflow), to, &handoff.terms, now);
    let standing = rule.zip(approve.remember.map(|span| span.after(now)));
    let approved = Event::Approved { handoff: approve.handoff, hash, answer_by, queued, standing };
    let effects = match queued {
        true => Vec::new(),
        false => news::arrived(world, &handoff.to, id, approve.handoff),
    };
    Ok(Decision { stream: StreamId::Workflow(id), events: vec![approved], effects })
}

/// Nobody approves what it asked for, or what somebody asked for to whom it passed the work.
fn not_own(
    world: &World,
    ask: &Submission,
    workflow: &Workflow,
    handoff: &Handoff,
) -> Result<(), Refusal> {
    let who = ask.actor.agent();
    let mut lineage = workflow.above(handoff).map(|above| &above.terms.from_agent);
    let own = workflow.started_by == who
        || handoff.terms.from_agent == who
        || lineage.any(|from| *from == who);
    match own && !world.policy.approve_own {
        true => Err(Refusal::OwnLineage { who }),
        false => Ok(()),
    }
}

/// Decides what a person's no leads to.
pub(in crate::decide) fn deny(
    world: &World,
    ask: &Submission,
    deny: &Deny,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "deny handoffs")?;
    let (id, workflow, handoff) = world.handoff(deny.handoff)?;
    let State::AwaitingApproval { matched, .. } = &handoff.state else {
        let state = handoff.state.word();
        return Err(Refusal::NothingToApprove { handoff: deny.handoff, state });
    };
    let (by, reason) = (ask.actor.agent(), deny.reason.clone());
    let detail = Detail::Denied { by: by.clone(), reason: reason.clone() };
    let home = (id, workflow, handoff);
    let (events, effects) = turned_down(world, home, matched.denied, (by, reason), detail);
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}

/// What follows when nobody answered in time.
pub(in crate::decide) fn unanswered(
    world: &World,
    home: (WorkflowId, &Workflow, &Handoff),
    matched: &Matched,
) -> Outcome {
    let reason: Text = "nobody answered in time whether it may be passed"
        .parse()
        .expect("a fixed text within its limits");
    let then = match matched.unanswered {
        Unanswered::Deny => matched.denied,
        Unanswered::Fail => OnDenied::Fail,
    };
    turned_down(world, home, then, (AgentId::operator(), reason), Detail::Unapproved)
}

fn turned_down(
    world: &World,
    (id, workflow, handoff): (WorkflowId, &Workflow, &Handoff),
    then: OnDenied,
    (by, reason): (AgentId, Text),
    detail: Detail,
) -> Outcome {
    let handoff_id = handoff.terms.id;
    let told = news::tell(world, &handoff.terms.from_agent, id, handoff_id, News::Failed);
    match then {
        OnDenied::Fail => {
            let mut events = vec![failed(handoff_id, detail)];
            events.extend(group::ended(workflow, handoff, false));
            (events, told.into_iter().collect())
        }
        OnDenied::End => {
            let ended = Ended { world, id, workflow, by: by.clone(), reason: reason.clone() };
            let (mut events, mut effects) = ended.all();
            for event in &mut events {
                if event.handoff() == Some(handoff_id) {
                    *event = failed(handoff_id, detail.clone());
                }
            }
            let released = workflow.owning().map(|hold| hold.locks.iter().cloned().collect());
            let released = released.unwrap_or_default();
            let ending = Ending::Cancelled { reason };
            events.push(Event::Closed { by, ending, released, usage: None });
            effects.extend(told);
            (events, effects)
        }
    }
}

fn failed(handoff: HandoffId, detail: Detail) -> Event {
    Event::Failed { handoff, detail, released: Vec::new() }
}
