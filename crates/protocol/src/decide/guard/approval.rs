//! Handoffs that wait for a person: whether one does, and what the person says.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::agent::Agent;
use crate::artifact::Artifact;
use crate::command::{Approve, Deny, Pass, Submission};
use crate::decide::arrival;
use crate::decide::cancel::Ended;
use crate::decide::retry::{self, Why};
use crate::decide::why_not::{passed_over, unfit};
use crate::decide::{group, holder, machine, news};
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
    Some(match world.stands(&matched.rule, now) {
        Some(until) => Approval::Standing { rule: matched.rule.clone(), until },
        None => waits(matched.clone(), now),
    })
}

/// It waits by this rule, for as long as that gives.
pub(super) fn waits(matched: Matched, now: Timestamp) -> Approval {
    let until = matched.timeout.map(|span| span.after(now));
    Approval::Waits { matched, until }
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
    let bytes = serde_json_canonicalizer::to_vec(&content).expect("plain data always serialises");
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    crate::hex::hex(&digest)
}

/// Refuses to hand out what a person approved and what has changed since.
pub(in crate::decide) fn still_approved(
    workflow: &Workflow,
    handoff: &Handoff,
) -> Result<(), Refusal> {
    match is_void(workflow, handoff) {
        true => Err(Refusal::ApprovalVoid { handoff: handoff.terms.id }),
        false => Ok(()),
    }
}

/// Whether what a person approved has changed since, before anybody took it.
pub(in crate::decide) fn is_void(workflow: &Workflow, handoff: &Handoff) -> bool {
    let changed = |hash: &String| *hash != content_hash(workflow, handoff);
    match &handoff.state {
        State::Queued { .. } | State::Initiated { .. } | State::Deferred { .. } => {
            handoff.approved.as_ref().is_some_and(changed)
        }
        State::AwaitingApproval { .. }
        | State::Accepted { .. }
        | State::Suspended { .. }
        | State::Returned { .. }
        | State::Completed { .. }
        | State::Failed { .. } => false,
    }
}

/// The rule that asks about a handoff; nothing if what was approved has changed, and it is looked
/// at once more. Anything else waits for nobody.
fn asking(workflow: &Workflow, handoff: &Handoff) -> Result<Option<Matched>, Refusal> {
    match &handoff.state {
        State::AwaitingApproval { matched, .. } => Ok(Some((**matched).clone())),
        State::Queued { .. } | State::Initiated { .. } | State::Deferred { .. }
            if is_void(workflow, handoff) =>
        {
            Ok(None)
        }
        State::Queued { .. }
        | State::Initiated { .. }
        | State::Deferred { .. }
        | State::Accepted { .. }
        | State::Suspended { .. }
        | State::Returned { .. }
        | State::Completed { .. }
        | State::Failed { .. } => {
            let (handoff, state) = (handoff.terms.id, handoff.state.word());
            Err(Refusal::NothingToApprove { handoff, state })
        }
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
    let matched = asking(workflow, handoff)?;
    not_own(world, ask, workflow, handoff)?;
    let hash = content_hash(workflow, handoff);
    if approve.hash != hash {
        return Err(Refusal::ApprovalVoid { handoff: approve.handoff });
    }
    let to = world.agent(&handoff.to)?;
    // One that was sent before is with its receiver already.
    let why_not = match &matched {
        Some(_) => why_not(world, workflow, to, handoff, now)?,
        None => None,
    };
    let arrival = arrival::at(world, Some(workflow), to, &handoff.terms, now);
    let answer_by = arrival.answer_by.filter(|_| why_not.is_none());
    let queued = arrival.queued && why_not.is_none();
    let rule = matched.map(|matched| matched.rule);
    let standing = rule.zip(approve.remember.map(|span| span.after(now)));
    let approved = Event::Approved { handoff: approve.handoff, hash, answer_by, queued, standing };
    let mut events = vec![approved];
    let effects = match why_not {
        Some(why) => {
            let (more, effects) = retry::after(world, (id, Some(workflow)), handoff, why, now);
            events.extend(more);
            effects
        }
        None if queued => Vec::new(),
        None => news::arrived(world, &handoff.to, id, approve.handoff),
    };
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}

/// Why the receiver does not get what a person said yes to, if so: while it waited, nobody looked
/// whether the receiver can take it. One that failed too often of late, and for whom there is no
/// other, is refused as if it was passed now.
fn why_not(
    world: &World,
    workflow: &Workflow,
    to: &Agent,
    handoff: &Handoff,
    now: Timestamp,
) -> Result<Option<Why>, Refusal> {
    let found = unfit(&to.profile, &handoff.terms)
        .or_else(|| passed_over(world, Some(workflow), to, handoff, now));
    if found.is_none() {
        super::breaker(to, now)?;
    }
    Ok(found)
}

/// Nobody approves what it asked for, or what somebody asked for to whom it passed the work.
fn not_own(
    world: &World,
    ask: &Submission,
    workflow: &Workflow,
    handoff: &Handoff,
) -> Result<(), Refusal> {
    let who = ask.actor.agent();
    // Whoever acts in an agent's name acts itself.
    let of_a_person = |one: &Handoff| one.terms.by_person || one.terms.from_agent == who;
    let own = workflow.started_by == who
        || of_a_person(handoff)
        || workflow.above(handoff).any(of_a_person);
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
    now: Timestamp,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "deny handoffs")?;
    let (id, workflow, handoff) = world.handoff(deny.handoff)?;
    // Of what was approved and has changed nobody knows the rule any more: only the handoff fails.
    let then = asking(workflow, handoff)?.map_or(OnDenied::Fail, |matched| matched.denied);
    let (by, reason) = (ask.actor.agent(), deny.reason.clone());
    let detail = Detail::Denied { by: by.clone(), reason: reason.clone() };
    let home = (id, workflow, handoff);
    let (events, effects) = turned_down(world, home, then, (by, reason), (detail, now));
    Ok(Decision { stream: StreamId::Workflow(id), events, effects })
}

/// What follows when nobody answered in time.
pub(in crate::decide) fn unanswered(
    world: &World,
    home: (WorkflowId, &Workflow, &Handoff),
    matched: &Matched,
    now: Timestamp,
) -> Outcome {
    let reason: Text = "nobody answered in time whether it may be passed"
        .parse()
        .expect("a fixed text within its limits");
    let then = match matched.unanswered {
        Unanswered::Deny => matched.denied,
        Unanswered::Fail => OnDenied::Fail,
    };
    let detail = (Detail::Unapproved, now);
    turned_down(world, home, then, (AgentId::operator(), reason), detail)
}

fn turned_down(
    world: &World,
    (id, workflow, handoff): (WorkflowId, &Workflow, &Handoff),
    then: OnDenied,
    (by, reason): (AgentId, Text),
    (detail, now): (Detail, Timestamp),
) -> Outcome {
    let handoff_id = handoff.terms.id;
    let told = news::tell(world, &handoff.terms.from_agent, id, handoff_id, News::Failed);
    match then {
        OnDenied::Fail => {
            let mut events = vec![failed(handoff_id, detail)];
            events.extend(group::ended(workflow, handoff, false));
            let mut effects: Vec<Effect> = told.into_iter().collect();
            let error = machine::Untaken { kind: "handoff_denied", why: &reason, again: false };
            if let Some((more, brought)) =
                machine::untaken(world, (id, workflow), handoff, error, now)
            {
                events.extend(more);
                effects.extend(brought);
            }
            (events, effects)
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
