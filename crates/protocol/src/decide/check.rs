//! Acceptance checks: what came back counts once they have passed.

use crate::command::{Actor, Checked, Pass, PassKind, Submission};
use crate::decide::returning::{self, PartOf};
use crate::decide::{group, holder, news};
use crate::effect::{Effect, News};
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Evidence, Return, State};
use crate::limits::{CHECK_ROUNDS_MAX, CHECKS_MAX};
use crate::reach::Reach;
use crate::refusal::Refusal;
use crate::text::Text;
use crate::time::Timestamp;
use crate::world::World;

/// Refuses checks that nobody would run, or that this sender may not have run: they run as the
/// coordinator does, so an agent could do by them what it may not do itself.
pub(super) fn allowed(world: &World, ask: &Submission, pass: &Pass) -> Result<(), Refusal> {
    let checks = &pass.return_protocol.checks;
    if checks.is_empty() {
        return Ok(());
    }
    if checks.len() > CHECKS_MAX {
        return Err(Refusal::TooMany { what: "checks", most: CHECKS_MAX });
    }
    match pass.kind {
        PassKind::Delegation | PassKind::Broadcast => (),
        PassKind::Sequential | PassKind::Escalation => return Err(Refusal::ChecksNeedReturn),
    }
    let agent = match &ask.actor {
        Actor::Agent(agent) => agent.clone(),
        Actor::Operator | Actor::OperatorAs(_) | Actor::Coordinator => return Ok(()),
        Actor::Viewer => return Err(Refusal::ViewOnly),
    };
    match checks.iter().find(|check| !world.policy.checks.contains(&check.run)) {
        Some(check) => Err(Refusal::CheckNotAllowed { agent, check: check.run.to_string() }),
        None => Ok(()),
    }
}

/// Records what came back, and has its checks run.
pub(super) fn begin((id, _, handoff): PartOf<'_>, result: Return) -> Decision {
    let (fence, handoff) = (result.fence, handoff.terms.id);
    let events = vec![Event::Returned { handoff, result: Box::new(result) }];
    let effects = vec![Effect::Check { workflow: id, handoff, fence }];
    Decision { stream: StreamId::Workflow(id), events, effects }
}

/// Decides what the checks of a return mean, if it still waits for them: it counts, its holder goes
/// on, or, after too many that failed, it has failed.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    checked: &Checked,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    holder::coordinator_only(ask)?;
    let part = world.handoff(checked.handoff)?;
    let (id, workflow, handoff) = part;
    let waiting = match &handoff.state {
        State::Returned { fence, result, .. } if *fence == checked.fence => Some(result),
        State::Returned { .. }
        | State::AwaitingApproval { .. }
        | State::Queued { .. }
        | State::Initiated { .. }
        | State::Deferred { .. }
        | State::Accepted { .. }
        | State::Suspended { .. }
        | State::Completed { .. }
        | State::Failed { .. } => None,
    };
    let Some(result) = waiting else {
        let stream = StreamId::Workflow(id);
        return Ok(Decision { stream, events: Vec::new(), effects: Vec::new() });
    };
    let with =
        |evidence: Evidence| Return { evidence: Some(Box::new(evidence)), ..(**result).clone() };
    let mut evidence = checked.evidence.clone();
    // A copy whose broadcast was decided meanwhile changes nothing, whatever was found.
    let late = group::is_late(workflow, handoff);
    if evidence.passed() || late {
        match returning::succeeded(world, ask, part, with(evidence.clone()), now) {
            Ok(decision) => return Ok(decision),
            // Something changed while they ran, such as a variable that it wrote.
            Err(refusal) => evidence.refused = said(&refusal),
        }
    }
    if handoff.unverified + 1 < CHECK_ROUNDS_MAX {
        return Ok(again(world, part, evidence));
    }
    returning::failed(world, part, with(evidence))
}

/// The holder goes on, with what was shown.
fn again(world: &World, (id, _, handoff): PartOf<'_>, evidence: Evidence) -> Decision {
    let (agent, handoff_id) = (&handoff.to, handoff.terms.id);
    let told = news::tell(world, agent, id, handoff_id, News::Unverified);
    // A command waits for this; a web service has to be called again.
    let called = match world.agents.get(agent).map(|agent| &agent.profile.reach) {
        Some(Reach::Http { url }) => {
            let (agent, url) = (agent.clone(), url.clone());
            Some(Effect::Call { agent, url, workflow: id, handoff: handoff_id })
        }
        Some(Reach::Command { .. } | Reach::Pull | Reach::A2a { .. } | Reach::Tmux) | None => None,
    };
    Decision {
        stream: StreamId::Workflow(id),
        events: vec![Event::Unverified { handoff: handoff_id, evidence: Box::new(evidence) }],
        effects: told.into_iter().chain(called).collect(),
    }
}

fn said(refusal: &Refusal) -> Option<Text> {
    refusal.to_string().parse().ok()
}
