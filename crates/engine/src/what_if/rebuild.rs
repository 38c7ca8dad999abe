//! What was asked, put together again from what was recorded of it.
//!
//! The ledger has events and not commands. Everything that rules look at is in the terms of a
//! handoff, so a pass can be made from them that is decided the same way.

use baton_protocol::World;
use baton_protocol::command::{
    Actor, Command, History, Pass, PassAudit, PassContext, PassKind, PassValidation, Recipient,
    ReturnProtocol, Submission, Used,
};
use baton_protocol::event::{Approval, Event, Guarded, StreamId};
use baton_protocol::handoff::{Kind, Terms};
use baton_protocol::policy::Matched;
use baton_protocol::text::VariableValue;
use baton_protocol::time::Timestamp;
use baton_protocol::variables::{Changes, Meaning};
use baton_store::Record;
use serde_json::Value;

/// A pass as somebody asked for it.
pub(super) struct Rebuilt {
    /// Without what any rule says of it.
    pub(super) plain: Submission,
    /// With what was recorded of the rules of its day.
    pub(super) as_it_was: Submission,
}

/// What was asked for by a command that led to these records, if it passed work on. Questions to
/// somebody above are not subject to the policy, and what Baton did by itself nobody asked for.
pub(super) fn rebuilt(world: &World, records: &[Record]) -> Option<Rebuilt> {
    let first = records.first()?;
    let StreamId::Workflow(id) = first.stream else { return None };
    let actor = actor(&first.by)?;
    let reclaims = |record: &Record| matches!(record.event, Event::Reclaimed { .. });
    if records.iter().any(reclaims) {
        return None;
    }
    let begun: Vec<Copy<'_>> = records.iter().filter_map(Copy::of).collect();
    let copy = begun.first()?;
    let kind = pass_kind(&copy.terms.kind)?;
    let workflow = world.workflows.contains_key(&id).then_some(id);
    let mut pass = passed(copy.terms, copy.guarded, kind, first.at);
    (pass.workflow, pass.fence) = (workflow, workflow.map(|_| copy.terms.parent));
    match kind {
        PassKind::Broadcast => broadcast(&mut pass, records, &begun),
        PassKind::Sequential | PassKind::Delegation | PassKind::Escalation => {
            pass.to_agent = Some(copy.terms.to_agent.clone());
        }
    }
    travels(&mut pass, world, records, &begun);
    let plain = Submission { id: first.command, actor, command: Command::Pass(Box::new(pass)) };
    let mut as_it_was = plain.clone();
    if let Command::Pass(pass) = &mut as_it_was.command {
        let found = begun
            .iter()
            .filter_map(|copy| Some((copy.terms.to_agent.clone(), matched(world, copy.guarded)?)));
        pass.matched = found.collect();
    }
    Some(Rebuilt { plain, as_it_was })
}

/// A handoff that was recorded as begun.
struct Copy<'a> {
    terms: &'a Terms,
    variables: &'a Changes,
    guarded: &'a Guarded,
    artifacts: &'a [baton_protocol::artifact::Artifact],
}

impl<'a> Copy<'a> {
    fn of(record: &'a Record) -> Option<Self> {
        match &record.event {
            Event::Initiated { terms, variables, artifacts, guarded, .. } => {
                Some(Self { terms, variables, guarded, artifacts })
            }
            _ => None,
        }
    }
}

/// Who asked, as the record says it.
fn actor(by: &str) -> Option<Actor> {
    match by {
        "operator" => Some(Actor::Operator),
        "coordinator" | "viewer" | "" => None,
        name => match name.strip_prefix("operator as ") {
            Some(agent) => agent.parse().ok().map(Actor::OperatorAs),
            None => name.parse().ok().map(Actor::Agent),
        },
    }
}

fn pass_kind(kind: &Kind) -> Option<PassKind> {
    match kind {
        Kind::Sequential => Some(PassKind::Sequential),
        Kind::Delegation(_) => Some(PassKind::Delegation),
        Kind::Broadcast(_) => Some(PassKind::Broadcast),
        Kind::Escalation(_) => None,
    }
}

/// The pass that these terms are of, to nobody yet.
fn passed(terms: &Terms, guarded: &Guarded, kind: PassKind, now: Timestamp) -> Pass {
    let mut constraints = terms.constraints.clone();
    // The sender's own deadline is among the terms, and may have passed already.
    constraints.deadline = constraints.deadline.filter(|deadline| *deadline > now);
    let used = guarded.usage.as_ref().map(|usage| Used {
        tokens_consumed: Some(usage.tokens),
        output_tokens: None,
        model: usage.model.clone(),
    });
    Pass {
        workflow: None,
        fence: None,
        to_agent: None,
        to_agents: Vec::new(),
        aggregation: Default::default(),
        peers_visible: false,
        kind,
        reason: terms.reason.clone(),
        trigger: Some(terms.trigger),
        priority: Some(terms.priority),
        context: PassContext {
            task_id: terms.task.clone(),
            custom: terms.custom.clone(),
            conversation_history: terms
                .history
                .clone()
                .map(|body| History::packed(body, terms.transferred.as_deref().cloned())),
            constraints,
            traceparent: terms.traceparent,
            ..PassContext::default()
        },
        validation: PassValidation {
            required_capabilities: terms.required_capabilities.clone(),
            autonomy_budget: terms.autonomy_budget,
        },
        return_protocol: back(terms),
        audit: PassAudit {
            decision_rationale: terms.decision_rationale.clone(),
            risk_level: terms.risk_level,
            used,
        },
        routing: terms.routing,
        matched: Default::default(),
        step: terms.step.clone(),
    }
}

fn back(terms: &Terms) -> ReturnProtocol {
    match terms.kind.back() {
        None => ReturnProtocol::default(),
        Some(back) => ReturnProtocol {
            expected: None,
            timeout: Some(back.timeout),
            on_timeout: back.on_timeout,
            blocking: back.blocking,
            checks: terms.checks.clone(),
        },
    }
}

/// Adds who gets a copy, and when it has succeeded.
fn broadcast(pass: &mut Pass, records: &[Record], begun: &[Copy<'_>]) {
    let recipient = |copy: &Copy<'_>| Recipient {
        agent: copy.terms.to_agent.clone(),
        return_expected: copy.terms.kind.back().is_some(),
        task: copy.terms.task.clone(),
        custom: copy.terms.custom.clone(),
    };
    pass.to_agents = begun.iter().map(recipient).collect();
    let returns = begun.iter().find(|copy| copy.terms.kind.back().is_some());
    pass.return_protocol = returns.map(|copy| back(copy.terms)).unwrap_or_default();
    pass.peers_visible = begun.iter().any(|copy| match &copy.terms.kind {
        Kind::Broadcast(copy) => !copy.peers.is_empty(),
        Kind::Sequential | Kind::Delegation(_) | Kind::Escalation(_) => false,
    });
    let opened = records.iter().find_map(|record| match &record.event {
        Event::GroupOpened { aggregation, .. } => Some(*aggregation),
        _ => None,
    });
    pass.aggregation = opened.unwrap_or_default();
}

/// Adds what travels: variables as they were written, and artifacts.
fn travels(pass: &mut Pass, world: &World, records: &[Record], begun: &[Copy<'_>]) {
    let context = &mut pass.context;
    let first = records.iter().find_map(|record| match &record.event {
        Event::Started { variables, constraints, .. } => Some((variables, constraints)),
        _ => None,
    });
    if let Some((_, constraints)) = first {
        // Whoever begins work says how many handoffs the whole of it may have.
        context.constraints.handoffs = constraints.handoffs;
    }
    let first = first.map(|(variables, _)| variables);
    let written = first.into_iter().chain(begun.iter().map(|copy| copy.variables)).flatten();
    let known = pass.workflow.and_then(|id| world.workflows.get(&id));
    for (name, value) in written {
        let before = known.and_then(|workflow| workflow.variables.find(name));
        let before = before.filter(|_| name.meaning() == Meaning::List);
        let added = before.and_then(|before| added(before.value.as_value(), value));
        context.context_variables.insert(name.clone(), added.unwrap_or_else(|| value.clone()));
    }
    let artifacts = begun.iter().flat_map(|copy| copy.artifacts);
    context.artifacts = artifacts.map(|artifact| artifact.produced.clone()).collect();
    if let (PassKind::Delegation, Some(shared)) =
        (pass.kind, begun.first().and_then(|copy| copy.terms.shared.as_ref()))
    {
        let named = |name: &&_| !context.context_variables.contains_key(*name);
        context.share = shared.iter().filter(named).cloned().collect();
    }
}

/// What a write added to a list; what was there before is recorded with it.
fn added(before: &Value, after: &VariableValue) -> Option<VariableValue> {
    let (before, after) = (before.as_array()?, after.as_value().as_array()?);
    let new = after.strip_prefix(before.as_slice())?;
    VariableValue::try_from(Value::Array(new.to_vec())).ok()
}

/// The rule that was recorded as holding, so that nobody has to judge it again.
fn matched(world: &World, guarded: &Guarded) -> Option<Matched> {
    match guarded.approval.as_ref()? {
        Approval::Waits { matched, .. } => Some(matched.clone()),
        Approval::Standing { rule, .. } => {
            let known = world.policy.approval.iter().find(|known| known.name == *rule)?;
            Some(Matched {
                rule: rule.clone(),
                why: known.when.clone(),
                timeout: known.timeout,
                unanswered: known.unanswered,
                denied: known.denied,
            })
        }
    }
}
