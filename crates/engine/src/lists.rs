//! Lists of what there is, page by page: workflows, handoffs, and what a workflow knows.

use std::collections::BTreeMap;

use baton_protocol::World;
use baton_protocol::command::Actor;
use baton_protocol::handoff::{Handoff, Kind};
use baton_protocol::id::{AgentId, WorkflowId};
use baton_protocol::limits::PAGE_ROWS_MAX;
use baton_protocol::time::Timestamp;
use baton_protocol::variables::Variable;
use baton_protocol::workflow::Workflow;
use baton_store::{Scope, WorkflowPage, WorkflowRow};

use crate::cursor::Cursor;
use crate::engine::Engine;
use crate::history::Page;
use crate::query::{HandoffQuery, QueryError, WorkflowQuery};
use crate::view::{self, Ended, HandoffLine, Sight, WorkflowLine, may_see};

/// How many rows a page has.
fn most(limit: Option<usize>) -> usize {
    limit.unwrap_or(PAGE_ROWS_MAX).clamp(1, PAGE_ROWS_MAX)
}

impl Engine {
    /// Handoffs of live workflows, the oldest first.
    pub async fn handoffs(
        &self,
        viewer: Actor,
        query: HandoffQuery,
    ) -> Result<Page<HandoffLine, Cursor>, QueryError> {
        let scope = query.agent.clone().map_or(Scope::Everything, Scope::Agent);
        let lines = self.look(scope, move |world| {
            let mut lines: Vec<HandoffLine> = Vec::new();
            for (id, workflow) in world.workflows.iter().filter(|(_, w)| may_see(&viewer, w)) {
                let sight = Sight::of(&viewer, workflow);
                let handoffs = workflow.handoffs.values().filter(|one| sight.sees(one));
                let wanted = handoffs.filter(|one| query.wants(workflow, one));
                lines.extend(wanted.map(|handoff| view::handoff_line(*id, workflow, handoff)));
            }
            let key = |line: &HandoffLine| (line.initiated_at, *line.id.as_bytes());
            if let Some(Cursor { at, id, .. }) = query.cursor {
                lines.retain(|line| key(line) > (at, id));
            }
            lines.sort_by_key(key);
            let most = most(query.limit);
            let more = lines.len() > most;
            lines.truncate(most);
            let next = lines.last().filter(|_| more).map(|line| {
                let (at, id) = key(line);
                Cursor { at, id, before: 0 }
            });
            Page { items: lines, next }
        });
        Ok(lines.await?)
    }

    /// Workflows, the newest first. Agents see only live ones that they had a part in.
    pub async fn workflows(
        &self,
        viewer: Actor,
        query: WorkflowQuery,
    ) -> Result<Page<WorkflowLine, Cursor>, QueryError> {
        let most = most(query.limit);
        let closed_too = query.all && !matches!(viewer, Actor::Agent(_));
        let live = self.look(Scope::Everything, move |world| {
            let seen = world.workflows.iter().filter(|(_, workflow)| may_see(&viewer, workflow));
            let lines = seen.map(|(id, workflow)| (view::workflow_line(*id, workflow), 0));
            lines.collect::<Vec<(WorkflowLine, u64)>>()
        });
        let mut lines = live.await?;
        let mut more = false;
        if closed_too {
            let before = query.cursor.map(|cursor| cursor.before).filter(|before| *before > 0);
            let limit = u32::try_from(most).unwrap_or(u32::MAX);
            let page = WorkflowPage { open: Some(false), before, limit };
            let closed = self.ledger.workflows(page).await?;
            more = closed.len() == most;
            let closed = closed.into_iter().map(|row| (row.first_seq, closed_line(row)));
            lines.extend(closed.map(|(first, line)| (line, first)));
        }
        let key = |line: &WorkflowLine| (line.started_at, *line.id.as_bytes());
        if let Some(Cursor { at, id, .. }) = query.cursor {
            lines.retain(|(line, _)| key(line) < (at, id));
        }
        lines.sort_by_key(|(line, _)| std::cmp::Reverse(key(line)));
        more |= lines.len() > most;
        lines.truncate(most);
        // The index goes on below the last closed one that was told, here or on a page before.
        let told = lines.iter().map(|(_, first)| *first).filter(|first| *first > 0).min();
        let before = told.or(query.cursor.map(|cursor| cursor.before)).unwrap_or(0);
        let next = lines.last().filter(|_| more).map(|(line, _)| {
            let (at, id) = key(line);
            Cursor { at, id, before }
        });
        Ok(Page { items: lines.into_iter().map(|(line, _)| line).collect(), next })
    }

    /// What a workflow knows, as `viewer` may see it.
    pub async fn variables(
        &self,
        viewer: Actor,
        id: WorkflowId,
    ) -> Result<BTreeMap<String, Variable>, QueryError> {
        let seen = |_: &World, viewer: &Actor, workflow: &Workflow, _: Option<&Ended>| {
            let sight = Sight::of(viewer, workflow);
            let seen = workflow.variables.iter().filter(|(_, one)| !sight.hides(&one.by));
            seen.map(|(name, variable)| (name.to_string(), variable.clone())).collect()
        };
        self.seen_by(viewer, id, seen).await
    }
}

impl HandoffQuery {
    fn wants(&self, workflow: &Workflow, handoff: &Handoff) -> bool {
        let ours = |agent: &AgentId| handoff.terms.from_agent == *agent || handoff.to == *agent;
        let asked = match handoff.terms.kind {
            Kind::Escalation(_) => true,
            Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => {
                !self.questions || view::waits_for_a_person(workflow, handoff)
            }
        };
        asked && (self.all || !handoff.state.is_over()) && self.agent.as_ref().is_none_or(ours)
    }
}

fn closed_line(row: WorkflowRow) -> WorkflowLine {
    WorkflowLine {
        id: WorkflowId::from_bytes(row.uuid),
        title: row.title.unwrap_or_default(),
        status: row.outcome.unwrap_or_else(|| "open".to_owned()),
        owner: None,
        started_at: Timestamp::from_micros(row.started),
        open_handoffs: 0,
    }
}
