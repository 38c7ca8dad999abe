//! Making views from states.

use std::collections::BTreeMap;

use baton_protocol::World;
use baton_protocol::agent::Agent;
use baton_protocol::artifact::Artifact;
use baton_protocol::command::Actor;
use baton_protocol::handoff::{Detail, Handoff, Return, State};
use baton_protocol::id::{AgentId, Fence, WorkflowId};
use baton_protocol::lock::{FilePath, Lock};
use baton_protocol::text::{BlobRef, Body};
use baton_protocol::time::Timestamp;
use baton_protocol::trace::TraceParent;
use baton_protocol::variables::{Meaning, Variable, VariableName};
use baton_protocol::workflow::{Ending, Hold, Workflow};
use serde_json::{Map, Value, json};

use super::checks;
use super::guards;
use super::machine;
use super::past::Ended;
use super::sight::{Sight, may_see};
use super::{
    AgentView, AuditView, ContextView, HandoffLine, HandoffView, HoldView, Inbox, LockView,
    TokenView, ValidationView, WorkflowLine, WorkflowView, kinds,
};

/// Bodies of a handoff that lie beside the ledger and are still to be read.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    pub(crate) history: Option<BlobRef>,
    pub(crate) result: Option<BlobRef>,
}

/// An agent as `viewer` sees it: its credentials and its command are nobody else's business.
pub(crate) fn agent_view(agent: &Agent, viewer: &Actor) -> AgentView {
    let token = |token: &baton_protocol::agent::Token| TokenView {
        id: token.id,
        grant: token.grant,
        issued_at: token.issued_at,
        expires_at: token.expires_at,
    };
    let mut profile = agent.profile.clone();
    let own = match viewer {
        Actor::Operator | Actor::OperatorAs(_) | Actor::Coordinator => true,
        // What commands run on the machine, and which credentials there are, is not for the wall.
        Actor::Viewer => false,
        Actor::Agent(viewer) => *viewer == profile.id,
    };
    if !own {
        profile.reach = profile.reach.veiled();
        profile.notify = None;
        profile.health_check = None;
    }
    AgentView {
        profile,
        registered_at: agent.registered_at,
        load: agent.holds.len(),
        status: kinds::status(&agent.health).to_owned(),
        health: agent.health,
        breaker: agent.breaker,
        tokens: agent.tokens.iter().filter(|_| own).map(token).collect(),
    }
}

pub(crate) fn handoff_line(id: WorkflowId, workflow: &Workflow, handoff: &Handoff) -> HandoffLine {
    let terms = &handoff.terms;
    let detail = match &handoff.state {
        State::Failed { detail, .. } => Some(said(detail)),
        _ => None,
    };
    HandoffLine {
        id: terms.id,
        workflow: id,
        title: workflow.title.to_string(),
        from_agent: terms.from_agent.clone(),
        to_agent: handoff.to.clone(),
        kind: terms.kind.word().to_owned(),
        priority: terms.priority,
        reason: terms.reason.to_string(),
        task: terms.task.as_ref().map(ToString::to_string),
        state: handoff.state.word().to_owned(),
        detail,
        initiated_at: handoff.initiated_at,
        fence: handoff.state.fence(),
        wake_at: handoff.state.wake_at(),
        resends: handoff.attempts.resends,
        reroutes: handoff.attempts.reroutes,
        group: terms.kind.group(),
    }
}

/// How a handoff ended, in words.
pub(super) fn said(detail: &Detail) -> String {
    match detail {
        Detail::Rejected { reason }
        | Detail::Cancelled { reason, .. }
        | Detail::Denied { reason, .. } => {
            format!("{}: {reason}", detail.word())
        }
        Detail::Error { result } if result.evidence.is_some() => {
            "error: its checks failed".to_owned()
        }
        Detail::Error { result } => match &result.notes {
            Some(notes) => format!("error: {notes}"),
            None => "error".to_owned(),
        },
        Detail::Unavailable | Detail::TimedOut | Detail::Unapproved | Detail::PassedOn { .. } => {
            detail.word().to_owned()
        }
    }
}

pub(crate) fn handoff_view(
    world: &World,
    id: WorkflowId,
    workflow: &Workflow,
    handoff: &Handoff,
) -> (HandoffView, Bodies) {
    let terms = &handoff.terms;
    let mut bodies = Bodies::default();
    let estimated_completion = match &handoff.state {
        State::Accepted { estimated_completion, .. } => *estimated_completion,
        _ => None,
    };
    let context = context(world, id, workflow, handoff, &mut bodies);
    let result = result(handoff, &mut bodies);
    let view = HandoffView {
        line: handoff_line(id, workflow, handoff),
        timestamp: handoff.initiated_at,
        trigger: terms.trigger,
        step: machine::step(workflow, handoff),
        context,
        validation: ValidationView {
            required_capabilities: terms.required_capabilities.clone(),
            autonomy_budget: terms.autonomy_budget,
        },
        return_protocol: kinds::back(terms),
        audit: AuditView {
            decision_rationale: terms.decision_rationale.clone(),
            risk_level: terms.risk_level,
        },
        routing: terms.routing,
        traceparent: TraceParent::of_handoff(terms.traceparent, id, terms.id),
        tried: handoff.tried.iter().cloned().collect(),
        broadcast: kinds::broadcast_of(workflow, &terms.kind),
        escalation: kinds::escalation(&terms.kind),
        capability_gap: handoff.gap.clone(),
        estimated_completion,
        standing: standing(handoff),
        result,
        verification: checks::verification(handoff),
        approval: guards::approval(workflow, handoff),
    };
    (view, bodies)
}

/// The facts of the state, without bodies, which the view has elsewhere.
fn standing(handoff: &Handoff) -> Value {
    let mut value = serde_json::to_value(&handoff.state).unwrap_or(Value::Null);
    if let Some(fields) = value.as_object_mut() {
        fields.remove("result");
        if let Some(detail) = fields.get_mut("detail").and_then(Value::as_object_mut) {
            detail.remove("result");
        }
    }
    value
}

fn context(
    world: &World,
    id: WorkflowId,
    workflow: &Workflow,
    handoff: &Handoff,
    bodies: &mut Bodies,
) -> ContextView {
    let (terms, sight) = (&handoff.terms, Sight::of_receiver(handoff, workflow));
    let conversation_history = terms.history.as_ref().map(|body| match body {
        Body::Inline(json) => json.as_value().clone(),
        Body::Blob(blob) => {
            bodies.history = Some(blob.clone());
            Value::Null
        }
    });
    let shared = |name: &VariableName| match &terms.shared {
        Some(names) => names.contains(name),
        None => true,
    };
    ContextView {
        task_id: terms.task.as_ref().map_or_else(|| id.to_string(), ToString::to_string),
        conversation_history,
        transferred: terms.transferred.as_deref().cloned(),
        context_variables: variables(world, id, sight, "in_progress", shared),
        artifacts: artifacts(sight),
        constraints: terms.constraints.clone(),
        custom: terms.custom.clone(),
    }
}

/// The result in the shape that the specification gives a return.
fn result(handoff: &Handoff, bodies: &mut Bodies) -> Option<Value> {
    let (result, at): (&Return, _) = match &handoff.state {
        State::Completed { result: Some(result), at } => (result, Some(*at)),
        State::Failed { detail: Detail::Error { result }, at } => (result, Some(*at)),
        State::Returned { result, .. } => (result, None),
        _ => return None,
    };
    let content = result.content.as_ref().map(|content| {
        let body = match &content.body {
            Body::Inline(json) => json.as_value().clone(),
            Body::Blob(blob) => {
                bodies.result = Some(blob.clone());
                Value::Null
            }
        };
        json!({ "content_type": content.content_type, "body": body })
    });
    Some(json!({
        "handoff_id": handoff.terms.id,
        "from_agent": handoff.to,
        "to_agent": handoff.terms.from_agent,
        "fence": result.fence,
        "status": result.status,
        "result": content,
        "context_updates": {
            "variables_changed": result.variables_changed,
            "artifacts_produced": result.artifacts_produced,
        },
        "audit": {
            "completion_time": at,
            "tokens_consumed": result.tokens_consumed,
            "notes": result.notes,
        },
    }))
}

fn artifacts(sight: Sight<'_>) -> Vec<Artifact> {
    let all = sight.workflow().artifacts.values();
    let seen = all.filter(|artifact| !sight.hides(&artifact.created_by));
    let mut seen: Vec<Artifact> = seen.cloned().collect();
    // Ids have no order; people think of the oldest first.
    seen.sort_by_key(|artifact| artifact.created_at);
    seen
}

/// The variables in the specification's shape. `status` is said where no variable says it.
fn variables(
    world: &World,
    id: WorkflowId,
    sight: Sight<'_>,
    status: &str,
    shared: impl Fn(&VariableName) -> bool,
) -> Value {
    let workflow = sight.workflow();
    let mut named = Map::new();
    let mut custom = Map::new();
    named.insert("task_id".to_owned(), json!(id));
    named.insert("task_status".to_owned(), json!(status));
    named.insert("task_priority".to_owned(), json!(workflow.priority));
    let entry = |(name, variable): (&VariableName, &Variable)| {
        (name.to_string(), variable.value.as_value().clone())
    };
    let seen = workflow.variables.iter().filter(|(_, variable)| !sight.hides(&variable.by));
    for (name, variable) in seen.filter(|(name, _)| shared(name)) {
        let target = match name.meaning() {
            Meaning::Custom => &mut custom,
            Meaning::ReadOnly | Meaning::Word(_) | Meaning::List => &mut named,
        };
        target.extend([entry((name, variable))]);
    }
    let of_it = world.locks.iter().filter(|(_, lock)| lock.workflow == id);
    let of_it = of_it.filter(|(_, lock)| !sight.hides(&lock.by));
    let files: Vec<Value> = of_it
        .map(|(path, lock)| json!({ "path": path, "owner": lock.by, "lock_type": lock.mode }))
        .collect();
    named.insert("files_in_progress".to_owned(), Value::Array(files));
    named.insert("custom".to_owned(), Value::Object(custom));
    Value::Object(named)
}

pub(crate) fn workflow_line(id: WorkflowId, workflow: &Workflow) -> WorkflowLine {
    WorkflowLine {
        id,
        title: workflow.title.to_string(),
        status: "open".to_owned(),
        owner: workflow.owning().map(|hold| hold.agent.clone()),
        started_at: workflow.started_at,
        open_handoffs: workflow.open().count(),
    }
}

/// A workflow, as far as it is seen.
pub(crate) fn workflow_view(
    world: &World,
    sight: Sight<'_>,
    id: WorkflowId,
    ended: Option<&Ended>,
) -> WorkflowView {
    let workflow = sight.workflow();
    let mut line = workflow_line(id, workflow);
    let status = match ended.map(|ended| &ended.ending) {
        None => "in_progress",
        Some(Ending::Completed { .. }) => "complete",
        Some(Ending::Cancelled { .. } | Ending::Failed { .. }) => "failed",
    };
    if let Some(ended) = ended {
        line.status = ended.ending.word().to_owned();
        line.owner = None;
    }
    let seen = workflow.handoffs.values().filter(|one| sight.sees(one));
    let mut handoffs: Vec<_> = seen.collect();
    handoffs.sort_by_key(|handoff| (handoff.initiated_at, handoff.terms.id));
    let holds = match ended {
        Some(_) => Vec::new(),
        None => {
            let hidden = |hold: &Hold| {
                let brought = hold.handoff.and_then(|handoff| workflow.handoffs.get(&handoff));
                brought.is_some_and(|handoff| !sight.sees(handoff))
            };
            let seen = workflow.holds.iter().filter(|(_, hold)| !hidden(hold));
            seen.map(|held| hold_view(id, workflow, held)).collect()
        }
    };
    let versions: BTreeMap<String, u64> = workflow
        .variables
        .iter()
        .filter(|(_, variable)| !sight.hides(&variable.by))
        .map(|(name, variable)| (name.to_string(), variable.version))
        .collect();
    WorkflowView {
        line,
        priority: workflow.priority,
        started_by: workflow.started_by.clone(),
        constraints: workflow.constraints.clone(),
        ending: ended.map(|ended| json!({ "at": ended.at, "by": ended.by, "as": ended.ending })),
        context_variables: variables(world, id, sight, status, |_| true),
        variable_versions: versions,
        artifacts: artifacts(sight),
        holds,
        handoffs: handoffs.iter().map(|handoff| handoff_line(id, workflow, handoff)).collect(),
        broadcasts: kinds::broadcasts(sight),
        tokens_consumed: workflow.tokens_consumed,
        account: guards::account(sight),
        machine: machine::view(world, workflow, ended.is_some()),
        workflow_state: workflow.course.workflow_state.clone(),
        metrics: workflow.course.metrics.clone(),
    }
}

fn hold_view(id: WorkflowId, workflow: &Workflow, (fence, hold): (&Fence, &Hold)) -> HoldView {
    let handoff = hold.handoff.and_then(|handoff| workflow.handoffs.get(&handoff));
    let progress = hold.progress.as_ref().map(|progress| {
        let percent = progress.percent.map(|share| format!("{share}%"));
        let note = progress.note.as_ref().map(ToString::to_string);
        [percent, note].into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    HoldView {
        agent: hold.agent.clone(),
        workflow: id,
        title: workflow.title.to_string(),
        fence: *fence,
        handoff: hold.handoff,
        since: hold.since,
        owner: workflow.owner == *fence,
        due: handoff.and_then(|handoff| handoff.state.wake_at()).or(hold.due),
        waits_for: hold.suspended.map(|waiting| waiting.escalation),
        verification: handoff.and_then(checks::verification),
        progress,
        locks: hold.locks.iter().cloned().collect(),
    }
}

pub(crate) fn inbox(world: &World, agent: &AgentId) -> Inbox {
    let mut inbox = Inbox {
        agent: agent.clone(),
        waiting: Vec::new(),
        queued: Vec::new(),
        holding: Vec::new(),
        passed: Vec::new(),
        results: Vec::new(),
    };
    for (id, workflow) in &world.workflows {
        let mine = workflow.holds.iter().filter(|(_, hold)| hold.agent == *agent);
        inbox.holding.extend(mine.map(|held| hold_view(*id, workflow, held)));
        for handoff in workflow.handoffs.values() {
            sort_in(&mut inbox, agent, *id, workflow, handoff);
        }
    }
    inbox.waiting.sort_by_key(|line| (line.priority.rank(), line.initiated_at, line.id));
    inbox.queued.sort_by_key(|line| (line.priority.rank(), line.initiated_at, line.id));
    inbox.holding.sort_by_key(|hold| (hold.since, hold.workflow, hold.fence));
    inbox.passed.sort_by_key(|line| (line.initiated_at, line.id));
    inbox.results.sort_by_key(|line| (line.initiated_at, line.id));
    inbox
}

fn sort_in(
    inbox: &mut Inbox,
    agent: &AgentId,
    id: WorkflowId,
    workflow: &Workflow,
    handoff: &Handoff,
) {
    let line = || handoff_line(id, workflow, handoff);
    let answerable = matches!(handoff.state, State::Initiated { .. } | State::Deferred { .. });
    if handoff.to == *agent && answerable {
        inbox.waiting.push(line());
    }
    if handoff.to == *agent && matches!(handoff.state, State::Queued { until: None, .. }) {
        inbox.queued.push(line());
    }
    if handoff.terms.from_agent != *agent {
        return;
    }
    match handoff.state.is_over() {
        false => inbox.passed.push(line()),
        // Results matter to the holder that asked for them, until it moves on.
        true if workflow.holds.contains_key(&handoff.terms.parent) => inbox.results.push(line()),
        true => (),
    }
}

pub(crate) fn lock_views(viewer: &Actor, world: &World, now: Timestamp) -> Vec<LockView> {
    let view = |(path, lock): (&FilePath, &Lock)| {
        let workflow = world.workflows.get(&lock.workflow);
        let seen = workflow.is_some_and(|workflow| {
            may_see(viewer, workflow) && !Sight::of(viewer, workflow).hides(&lock.by)
        });
        LockView {
            path: path.clone(),
            by: lock.by.clone(),
            mode: lock.mode,
            workflow: seen.then_some(lock.workflow),
            fence: seen.then_some(lock.fence),
            until: lock.until,
        }
    };
    // One that lapsed keeps nobody from the file; it goes when somebody takes its place.
    world.locks.iter().filter(|(_, lock)| lock.lasts(now)).map(view).collect()
}
