//! Passing work on: for good, or to have it back.

use crate::agent::{Fit, Profile, Role};
use crate::command::{Pass, PassKind, Submission};
use crate::decide::{artifact, holder, news, start, variables};
use crate::effect::News;
use crate::event::{Decision, Event, StreamId};
use crate::handoff::{Delegation, Detail, Kind, Priority, Terms, Trigger};
use crate::id::{AgentId, CapabilityId, Fence, WorkflowId};
use crate::limits::{CAPABILITIES_MAX, HANDOFFS_MAX, OPEN_HANDOFFS_MAX, VARIABLES_MAX};
use crate::refusal::Refusal;
use crate::text::Text;
use crate::time::{Allowance, Timestamp};
use crate::variables::Changes;
use crate::workflow::Workflow;
use crate::world::World;

/// Decides whether the asker may pass work to `pass.to_agent`.
///
/// An agent that has none of the capabilities asked for rejects by that: it is recorded like any
/// other rejection, so the trail shows who was asked and why it came to nothing.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    pass: &Pass,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let to = &world.agent(&pass.to_agent)?.profile;
    let kind = kind(pass)?;
    start::ahead(&pass.context.constraints, now)?;
    if pass.validation.required_capabilities.len() > CAPABILITIES_MAX {
        return Err(Refusal::TooMany { what: "required capabilities", most: CAPABILITIES_MAX });
    }
    if pass.context.share.len() > VARIABLES_MAX {
        return Err(Refusal::TooMany { what: "shared variables", most: VARIABLES_MAX });
    }
    let sender = sender(world, ask, pass, &kind, now)?;
    if sender.agent == pass.to_agent {
        return Err(Refusal::SelfPass { agent: sender.agent });
    }

    let fit = to.fit(&pass.validation.required_capabilities);
    let gap = match &fit {
        Fit::Whole | Fit::None => Vec::new(),
        Fit::Partial(gap) => gap.clone(),
    };
    let artifacts =
        artifact::named(sender.workflow, ask, &pass.context.artifacts, &sender.agent, now)?;
    let answer_by = match &fit {
        Fit::Whole | Fit::Partial(_) => answer_within(to, &kind).map(|span| span.after(now)),
        Fit::None => None,
    };
    let handoff = ask.id.handoff();
    let terms = Box::new(terms(ask, pass, &sender, kind, gap));
    let mut events: Vec<Event> = sender.begins.into_iter().collect();
    events.push(Event::Initiated { terms, variables: sender.changes, artifacts, answer_by });

    let (whom, what) = match fit {
        Fit::Whole | Fit::Partial(_) => (&pass.to_agent, News::Arrived),
        Fit::None => {
            let reason = mismatch(pass);
            let by = pass.to_agent.clone();
            events.push(Event::Rejected { handoff, by, reason: reason.clone() });
            let detail = Detail::Rejected { reason };
            events.push(Event::Failed { handoff, detail, released: Vec::new() });
            (&sender.agent, News::Failed)
        }
    };
    let effects = news::tell(world, whom, sender.id, handoff, what).into_iter().collect();
    Ok(Decision { stream: StreamId::Workflow(sender.id), events, effects })
}

/// The sender, its hold, and what it writes with the pass.
struct Sender<'a> {
    id: WorkflowId,
    workflow: Option<&'a Workflow>,
    agent: AgentId,
    fence: Fence,
    priority: Priority,
    /// The event that begins the workflow, when this pass begins it.
    begins: Option<Event>,
    changes: Changes,
}

fn sender<'a>(
    world: &'a World,
    ask: &Submission,
    pass: &Pass,
    kind: &Kind,
    now: Timestamp,
) -> Result<Sender<'a>, Refusal> {
    let written = &pass.context.context_variables;
    let Some(id) = pass.workflow else {
        let priority = pass.priority.unwrap_or_default();
        let about = (&pass.reason, priority, &pass.context.constraints);
        let begins = Some(start::begin(world, ask, about, written, now)?);
        return Ok(Sender {
            id: ask.id.workflow(),
            workflow: None,
            agent: ask.actor.agent(),
            fence: Fence::default().next(),
            priority,
            begins,
            changes: Changes::new(),
        });
    };
    let workflow = world.workflow(id)?;
    let (fence, hold) = holder::hold(id, workflow, ask, pass.fence)?;
    free_to_pass(workflow, fence, kind, &hold.agent)?;
    let profile = &world.agent(&hold.agent)?.profile;
    let changes = variables::changes(workflow, hold, profile, written, None, now)?;
    Ok(Sender {
        id,
        workflow: Some(workflow),
        agent: hold.agent.clone(),
        fence,
        priority: pass.priority.unwrap_or(workflow.priority),
        begins: None,
        changes,
    })
}

/// Refuses a pass while something the sender passed before stands in the way.
fn free_to_pass(
    workflow: &Workflow,
    fence: Fence,
    kind: &Kind,
    agent: &AgentId,
) -> Result<(), Refusal> {
    for open in workflow.open_under(fence) {
        let handoff = open.terms.id;
        match &open.terms.kind {
            Kind::Sequential => {
                return Err(Refusal::PassPending { handoff, to: open.to.clone() });
            }
            Kind::Delegation(terms) if terms.blocking => {
                return Err(Refusal::SenderBlocked { agent: agent.clone(), handoff });
            }
            Kind::Delegation(_) => (),
        }
    }
    if *kind == Kind::Sequential {
        if let (true, Some(owning)) = (workflow.owner != fence, workflow.owning()) {
            let owner = owning.agent.clone();
            return Err(Refusal::NotOwner { agent: agent.clone(), owner });
        }
        let open: Vec<_> = workflow.open().map(|handoff| handoff.terms.id).collect();
        if !open.is_empty() {
            return Err(Refusal::SegmentOpen { open });
        }
    }
    if workflow.handoffs.len() >= HANDOFFS_MAX {
        return Err(Refusal::TooMany { what: "handoffs in one workflow", most: HANDOFFS_MAX });
    }
    if workflow.open().count() >= OPEN_HANDOFFS_MAX {
        return Err(Refusal::TooMany { what: "open handoffs", most: OPEN_HANDOFFS_MAX });
    }
    Ok(())
}

/// How long the receiver has to answer. A delegation is never waited for without end: whoever has
/// no limit of its own, people apart, has as long as the subtask may take.
pub(super) fn answer_within(to: &Profile, kind: &Kind) -> Option<Allowance> {
    let own = to.answer_within();
    match kind {
        Kind::Delegation(terms) if to.role != Role::Human => own.or(Some(terms.timeout)),
        Kind::Delegation(_) | Kind::Sequential => own,
    }
}

/// How the work is passed, if type and return protocol agree.
fn kind(pass: &Pass) -> Result<Kind, Refusal> {
    let back = &pass.return_protocol;
    let mismatch = |expected, kind, means| Refusal::ReturnMismatch { expected, kind, means };
    match (pass.kind, back.expected) {
        (PassKind::Sequential, Some(true)) => Err(mismatch(true, "sequential", "never comes back")),
        (PassKind::Sequential, Some(false) | None) => Ok(Kind::Sequential),
        (PassKind::Delegation, Some(false)) => Err(mismatch(false, "delegation", "comes back")),
        (PassKind::Delegation, Some(true) | None) => {
            let timeout = back.timeout.ok_or(Refusal::TimeoutRequired)?;
            let (on_timeout, blocking) = (back.on_timeout, back.blocking);
            Ok(Kind::Delegation(Delegation { timeout, on_timeout, blocking }))
        }
    }
}

fn terms(
    ask: &Submission,
    pass: &Pass,
    sender: &Sender<'_>,
    kind: Kind,
    gap: Vec<CapabilityId>,
) -> Terms {
    let context = &pass.context;
    let (usual, shared) = match &kind {
        Kind::Sequential => (Trigger::TaskCompletion, None),
        Kind::Delegation(_) => {
            let mut names = context.share.clone();
            names.extend(context.context_variables.keys().cloned());
            names.sort();
            names.dedup();
            (Trigger::ExplicitRequest, Some(names))
        }
    };
    Terms {
        id: ask.id.handoff(),
        from_agent: sender.agent.clone(),
        parent: sender.fence,
        to_agent: pass.to_agent.clone(),
        kind,
        reason: pass.reason.clone(),
        trigger: pass.trigger.unwrap_or(usual),
        priority: sender.priority,
        task: context.task_id.clone(),
        history: context.conversation_history.clone(),
        shared,
        constraints: context.constraints.clone(),
        required_capabilities: pass.validation.required_capabilities.clone(),
        autonomy_budget: pass.validation.autonomy_budget,
        gap,
        decision_rationale: pass.audit.decision_rationale.clone(),
        risk_level: pass.audit.risk_level,
    }
}

/// Why an agent with none of the capabilities does not take it.
fn mismatch(pass: &Pass) -> Text {
    let asked: Vec<_> = pass
        .validation
        .required_capabilities
        .iter()
        .take(8)
        .map(|requirement| requirement.capability_id.as_str())
        .collect();
    let words = format!("capability_mismatch: {} has none of {}", pass.to_agent, asked.join(", "));
    words.parse().expect("names of limited length make a text")
}
