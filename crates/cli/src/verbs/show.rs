//! `baton show`: everything about one workflow or one handoff.

use baton_engine::view::{CompactView, Found, HandoffView, WorkflowView};
use baton_protocol::id::{HandoffId, WorkflowId};
use clap::Args;

use crate::client::Query;
use crate::failure::Failure;
use crate::session::Session;
use crate::show::Page;
use crate::show::time::both;
use crate::value::Id;
use crate::verbs::audit::{Log, RECORDS_MAX};
use crate::verbs::{life, machine, rows};

/// Show a workflow, or a handoff with its life step by step
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton show 3f2a
  baton show 7be1 --json | jq .standing
  baton show 7be1 --compact > handoff.yaml")]
pub(crate) struct Show {
    /// A workflow or a handoff
    #[arg(value_name = "ID")]
    id: Id,
    /// What a handoff comes to in at most 500 tokens, as YAML, for agents that have little room
    #[arg(long)]
    compact: bool,
}

impl Show {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        match session.find(&self.id)? {
            Found::Handoff(handoff) if self.compact => show_compact(session, handoff),
            Found::Workflow(_) | Found::Broadcast(..) if self.compact => {
                let sentence = "only a handoff has a compact artifact";
                Err(Failure::usage(sentence, "`baton show WORKFLOW` lists its handoffs"))
            }
            Found::Workflow(workflow) | Found::Broadcast(workflow, _) => {
                show_workflow(session, workflow)
            }
            Found::Handoff(handoff) => show_handoff(session, handoff),
        }
    }
}

fn show_workflow(session: &Session, id: WorkflowId) -> Result<(), Failure> {
    let reply = session.client.read(format!("/v1/workflows/{id}"))?;
    session.out.answer(&reply, |page| {
        let view: WorkflowView = reply.read()?;
        workflow(page, &view, "held now");
        Ok(())
    })
}

/// A workflow on a page, with the word over what is held.
pub(crate) fn workflow(page: &mut Page, view: &WorkflowView, held: &str) {
    let (line, now) = (&view.line, page.now);
    page.heading(&line.title);
    page.field("workflow", line.id);
    page.field("status", &line.status);
    page.field_if("owner", line.owner.as_ref());
    page.field("priority", view.priority);
    page.field("started", format!("{} by {}", both(line.started_at, now), view.started_by));
    if let Some(ending) = &view.ending {
        rows::ending(page, ending);
    }
    page.field_if("budget", view.constraints.budget.map(|tokens| format!("{tokens} tokens")));
    page.field_if("deadline", view.constraints.deadline.map(|at| both(at, now)));
    if view.tokens_consumed > 0 {
        page.field("used", format!("{} tokens", view.tokens_consumed));
    }
    if let Some(standing) = &view.machine {
        machine::standing(page, standing);
    }
    rows::course(page, &view.workflow_state, &view.metrics);
    rows::variables(page, &view.context_variables);
    rows::artifacts(page, &view.artifacts);
    if !view.holds.is_empty() {
        page.heading(held);
        page.table(rows::holds(&view.holds, now));
    }
    if !view.handoffs.is_empty() {
        page.heading("handoffs");
        page.table(rows::handoffs(&view.handoffs, now));
    }
    for broadcast in &view.broadcasts {
        page.field("broadcast", rows::broadcast(broadcast));
    }
}

fn show_compact(session: &Session, id: HandoffId) -> Result<(), Failure> {
    let reply = session.client.read(format!("/v1/handoffs/{id}/compact"))?;
    session.out.answer(&reply, |page| {
        let made: CompactView = reply.read()?;
        made.yaml.lines().for_each(|line| page.line(line));
        made.cuts.iter().for_each(|cut| session.out.note(cut));
        Ok(())
    })
}

fn show_handoff(session: &Session, id: HandoffId) -> Result<(), Failure> {
    let reply = session.client.read(format!("/v1/handoffs/{id}"))?;
    session.out.answer(&reply, |page| {
        let view: HandoffView = reply.read()?;
        let query = Query::new("/v1/audit").with("handoff", Some(id));
        let log: Log = session.client.read(query.with("limit", Some(RECORDS_MAX)))?.read()?;
        handoff(page, &view);
        page.heading("life");
        page.table(life::table(&life::steps(&log.records, &view.line.state)));
        Ok(())
    })
}

fn handoff(page: &mut Page, view: &HandoffView) {
    let (line, now) = (&view.line, page.now);
    page.heading(format!("{} to {}: {}", line.from_agent, line.to_agent, line.reason));
    page.field("handoff", line.id);
    page.field("workflow", format!("{} {}", line.workflow.short(), line.title));
    page.field("type", &line.kind);
    let how = line.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
    page.field("state", format!("{}{how}", line.state));
    page.field_if("fence", line.fence);
    page.field("priority", line.priority);
    page.field("risk", rows::word_of(&view.audit.risk_level));
    page.field_if("rationale", view.audit.decision_rationale.as_ref());
    if view.context.task_id != line.workflow.to_string() {
        page.field("task", &view.context.task_id);
    }
    if let Some(step) = &view.step {
        machine::step(page, step);
    }
    rows::custom(page, &view.context.custom);
    page.field_if("history", view.context.transferred.as_ref().map(rows::transferred));
    page.field_if("timeout", view.return_protocol.timeout);
    page.field_if("next look", line.wake_at.map(|at| both(at, now)));
    page.field_if("expected", view.estimated_completion.map(|at| both(at, now)));
    if line.resends > 0 {
        page.field("sent again", format!("{} times", line.resends));
    }
    if line.reroutes > 0 {
        let tried: Vec<_> = view.tried.iter().map(ToString::to_string).collect();
        page.field("rerouted", format!("{} times; not by {}", line.reroutes, tried.join(", ")));
    }
    page.field_if("broadcast", view.broadcast.as_ref().map(rows::broadcast));
    rows::trail(page, view.escalation.as_ref());
    let gap: Vec<_> = view.capability_gap.iter().map(ToString::to_string).collect();
    page.field_if("lacks", (!gap.is_empty()).then(|| gap.join(", ")));
    rows::variables(page, &view.context.context_variables);
    rows::artifacts(page, &view.context.artifacts);
    let checks: Vec<_> = view.return_protocol.checks.iter().map(|c| c.run.to_string()).collect();
    page.field_if("checks", (!checks.is_empty()).then(|| checks.join("; ")));
    if let Some(result) = &view.result {
        page.heading("came back");
        rows::result(page, result);
    }
    if let Some(known) = &view.verification {
        rows::verification(page, known);
    }
}
