//! Passing work on: for good, to have it back, to several, or to somebody above.

mod broadcast;
mod escalate;
mod single;

pub(super) use escalate::waits;

use crate::agent::{Agent, Profile};
use crate::command::{Actor, History, Pass, PassKind, Submission};
use crate::decide::guard::{self, Begins};
use crate::decide::route::{self, Wanted};
use crate::decide::{arrival, check, course, holder, start, variables};
use crate::event::{Decision, Event, Guarded};
use crate::handoff::{Delegation, Handoff, Kind, Priority, State, Terms, Trigger};
use crate::id::{AgentId, CapabilityId, Fence, HandoffId, WorkflowId};
use crate::limits::{CAPABILITIES_MAX, HANDOFFS_MAX, OPEN_HANDOFFS_MAX, VARIABLES_MAX};
use crate::refusal::{Refusal, Unmoved};
use crate::time::Timestamp;
use crate::variables::Changes;
use crate::workflow::{Hold, Workflow};
use crate::world::World;

/// Decides whether the asker may pass work on.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    pass: &Pass,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    start::ahead(&pass.context.constraints, now)?;
    if pass.validation.required_capabilities.len() > CAPABILITIES_MAX {
        return Err(Refusal::TooMany { what: "required capabilities", most: CAPABILITIES_MAX });
    }
    if pass.context.share.len() > VARIABLES_MAX {
        return Err(Refusal::TooMany { what: "shared variables", most: VARIABLES_MAX });
    }
    check::allowed(world, ask, pass)?;
    rules_decide(world, pass)?;
    course::fits(pass.workflow.and_then(|id| world.workflows.get(&id)), &pass.context.report)?;
    let many = pass.kind == PassKind::Broadcast;
    if (many && pass.to_agent.is_some()) || (!many && !pass.to_agents.is_empty()) {
        return Err(Refusal::ReceiverMismatch);
    }
    match pass.kind {
        PassKind::Sequential | PassKind::Delegation => single::decide(world, ask, pass, now),
        PassKind::Broadcast => broadcast::decide(world, ask, pass, now),
        PassKind::Escalation => escalate::decide(world, ask, pass, now),
    }
}

/// Refuses to let a holder of work with a definition choose who goes on with the whole of it.
fn rules_decide(world: &World, pass: &Pass) -> Result<(), Refusal> {
    let work = pass.workflow.and_then(|id| world.workflows.get(&id));
    match work.and_then(|work| work.machine.as_ref()) {
        _ if pass.step.is_none() && pass.to_agent == Some(AgentId::error_monitor()) => {
            Err(Refusal::ReservedName { agent: AgentId::error_monitor() })
        }
        Some(machine) if pass.kind == PassKind::Sequential && pass.step.is_none() => {
            let (definition, state) = (machine.definition.clone(), machine.state.clone());
            Err(Unmoved::RulesDecide { definition, state }.into())
        }
        Some(_) | None => Ok(()),
    }
}

/// The sender, its hold, and what it writes with the pass.
struct Sender<'a> {
    id: WorkflowId,
    workflow: Option<&'a Workflow>,
    agent: AgentId,
    fence: Fence,
    priority: Priority,
    /// Whether it is a person, in its own name or an agent's.
    person: bool,
    /// The event that begins the workflow, when this pass begins it.
    begins: Option<Event>,
    changes: Changes,
}

impl Sender<'_> {
    /// By when the sender itself must be done with the part that it passes on from.
    fn deadline(&self) -> Option<Timestamp> {
        let workflow = self.workflow?;
        let held = workflow.handoffs.get(&workflow.holds.get(&self.fence)?.handoff?)?;
        held.terms.constraints.deadline.filter(|_| held.terms.kind != Kind::Sequential)
    }
}

/// What guards a pass to these agents, if they may have it.
fn guarded(
    world: &World,
    ask: &Submission,
    pass: &Pass,
    sender: &Sender<'_>,
    to: Vec<&Agent>,
    now: Timestamp,
) -> Result<Guarded, Refusal> {
    let begun = sender.begins.as_ref().and_then(|event| Workflow::begun(event, now));
    let Some(workflow) = sender.workflow.or(begun.as_ref()) else {
        return Ok(Guarded::default());
    };
    let begins = Begins {
        world,
        actor: &ask.actor,
        pass,
        id: sender.id,
        workflow,
        agent: &sender.agent,
        fence: sender.fence,
        blocking: pass.return_protocol.blocking,
        to,
        now,
    };
    guard::check(&begins)
}

fn sender<'a>(
    world: &'a World,
    ask: &Submission,
    pass: &Pass,
    now: Timestamp,
) -> Result<Sender<'a>, Refusal> {
    let written = &pass.context.context_variables;
    let person = match &ask.actor {
        Actor::Operator | Actor::OperatorAs(_) => true,
        Actor::Agent(_) | Actor::Viewer | Actor::Coordinator => false,
    };
    let Some(id) = pass.workflow else {
        let priority = pass.priority.unwrap_or_default();
        let about = (&pass.reason, priority, &pass.context.constraints);
        let begins = Some(start::begin(world, ask, about, (None, None), written, now)?);
        return Ok(Sender {
            id: ask.id.workflow(),
            workflow: None,
            agent: ask.actor.agent(),
            fence: Fence::default().next(),
            priority,
            person,
            begins,
            changes: Changes::new(),
        });
    };
    let workflow = world.workflow(id)?;
    let (fence, hold) = match pass.step {
        // What stands in the way ends with the move, or was looked at before.
        Some(_) => holder::alive(id, workflow, ask, pass.fence)?,
        None => {
            let (fence, hold) = holder::hold(id, workflow, ask, pass.fence)?;
            free_to_pass(workflow, fence, pass.kind, &hold.agent)?;
            (fence, hold)
        }
    };
    few_enough(workflow)?;
    let profile = &world.agent(&hold.agent)?.profile;
    let changes = variables::changes(workflow, hold, profile, written, None, now)?;
    Ok(Sender {
        id,
        workflow: Some(workflow),
        agent: hold.agent.clone(),
        fence,
        priority: pass.priority.unwrap_or(inherited(workflow, hold, pass.kind)),
        person,
        begins: None,
        changes,
    })
}

/// How urgent it is if nobody says: as the workflow, and a question as what it is about.
fn inherited(workflow: &Workflow, hold: &Hold, kind: PassKind) -> Priority {
    let held = hold.handoff.and_then(|id| workflow.handoffs.get(&id));
    match (kind, held) {
        (PassKind::Escalation, Some(handoff)) => handoff.terms.priority,
        (PassKind::Escalation, None)
        | (PassKind::Sequential | PassKind::Delegation | PassKind::Broadcast, _) => {
            workflow.priority
        }
    }
}

/// Refuses a pass while something the sender passed before stands in the way.
fn free_to_pass(
    workflow: &Workflow,
    fence: Fence,
    kind: PassKind,
    agent: &AgentId,
) -> Result<(), Refusal> {
    for open in workflow.open_under(fence) {
        let handoff = open.terms.id;
        match &open.terms.kind {
            Kind::Sequential => {
                return Err(Refusal::PassPending { handoff, to: open.to.clone() });
            }
            Kind::Delegation(_) | Kind::Broadcast(_) | Kind::Escalation(_) => (),
        }
        if open.terms.kind.is_blocking() && workflow.blocks(open) {
            return Err(Refusal::SenderBlocked { agent: agent.clone(), handoff });
        }
    }
    if kind == PassKind::Sequential {
        if let (true, Some(owning)) = (workflow.owner != fence, workflow.owning()) {
            let owner = owning.agent.clone();
            return Err(Refusal::NotOwner { agent: agent.clone(), owner });
        }
        let blocking = workflow.open().filter(|handoff| workflow.blocks_owner(handoff));
        let open: Vec<_> = blocking.map(|handoff| handoff.terms.id).collect();
        if !open.is_empty() {
            return Err(Refusal::SegmentOpen { open });
        }
    }
    Ok(())
}

/// Refuses one handoff more than a workflow can have.
fn few_enough(workflow: &Workflow) -> Result<(), Refusal> {
    if workflow.handoffs.len() >= HANDOFFS_MAX {
        return Err(Refusal::TooMany { what: "handoffs in one workflow", most: HANDOFFS_MAX });
    }
    if workflow.open().count() >= OPEN_HANDOFFS_MAX {
        return Err(Refusal::TooMany { what: "open handoffs", most: OPEN_HANDOFFS_MAX });
    }
    Ok(())
}

/// The terms on which work comes back, if the protocol gives any.
fn back(pass: &Pass) -> Option<Delegation> {
    let back = &pass.return_protocol;
    let (on_timeout, blocking) = (back.on_timeout, back.blocking);
    back.timeout.map(|timeout| Delegation { timeout, on_timeout, blocking })
}

/// The terms of one handoff.
fn terms(
    id: HandoffId,
    pass: &Pass,
    sender: &Sender<'_>,
    to_agent: AgentId,
    kind: Kind,
    gap: Vec<CapabilityId>,
) -> Terms {
    let context = &pass.context;
    let named = || {
        let mut names = context.share.clone();
        names.extend(context.context_variables.keys().cloned());
        names.sort();
        names.dedup();
        Some(names)
    };
    let (usual, shared) = match &kind {
        Kind::Sequential => (Trigger::TaskCompletion, None),
        Kind::Delegation(_) => (Trigger::ExplicitRequest, named()),
        // Each copy is of the whole, and a question needs all there is to know.
        Kind::Broadcast(_) => (Trigger::ExplicitRequest, None),
        Kind::Escalation(_) => (Trigger::Escalation, None),
    };
    let given = context.conversation_history.as_ref();
    let transferred = given.and_then(|history| history.transferred.clone());
    let held = || sender.workflow?.trace_under(sender.id, sender.fence);
    let mut constraints = context.constraints.clone();
    constraints.deadline = arrival::earliest(constraints.deadline, sender.deadline());
    if sender.begins.is_some() {
        // It is what the whole work may have, of which this handoff is one.
        constraints.handoffs = None;
    }
    Terms {
        id,
        from_agent: sender.agent.clone(),
        parent: sender.fence,
        to_agent,
        kind,
        reason: pass.reason.clone(),
        trigger: pass.trigger.unwrap_or(usual),
        priority: sender.priority,
        task: context.task_id.clone(),
        step: pass.step.clone(),
        custom: context.custom.clone(),
        history: context.conversation_history.as_ref().and_then(History::body),
        transferred: transferred.map(Box::new),
        shared,
        constraints,
        required_capabilities: pass.validation.required_capabilities.clone(),
        autonomy_budget: pass.validation.autonomy_budget,
        gap,
        decision_rationale: pass.audit.decision_rationale.clone(),
        risk_level: pass.audit.risk_level,
        routing: pass.routing,
        checks: pass.return_protocol.checks.clone(),
        by_person: sender.person,
        traceparent: context.traceparent.or_else(held),
    }
}

/// The handoff as it will be once its beginning is recorded, for what follows in the same breath.
fn as_begun(terms: &Terms, now: Timestamp) -> Handoff {
    Handoff {
        to: terms.to_agent.clone(),
        terms: terms.clone(),
        initiated_at: now,
        attempts: Default::default(),
        tried: Default::default(),
        gap: terms.gap.clone(),
        approved: None,
        withheld: false,
        unverified: 0,
        evidence: None,
        state: State::Initiated { answer_by: None, called: false },
    }
}

/// Refuses an agent that may not decide so much by itself.
fn trusted(profile: &Profile, pass: &Pass) -> Result<(), Refusal> {
    if route::trusted(profile, pass.validation.autonomy_budget) {
        return Ok(());
    }
    let needs = pass.validation.autonomy_budget.unwrap_or(0);
    let has = profile.autonomy_budget.number.unwrap_or(0);
    Err(Refusal::AutonomyTooSmall { agent: profile.id.clone(), has, needs })
}

/// What the receiver of this pass must be.
fn wanted(pass: &Pass, priority: Priority, now: Timestamp) -> Wanted<'_> {
    Wanted {
        required: &pass.validation.required_capabilities,
        risk: pass.audit.risk_level,
        autonomy: pass.validation.autonomy_budget,
        priority,
        now,
        only: None,
        question: pass.kind == PassKind::Escalation,
    }
}
