//! Questions: inbox, workflows, handoffs, audit, statistics. They change nothing.
//!
//! Who asks matters: an agent sees the work it holds, held or passed, and no other.

use baton_protocol::World;
use baton_protocol::command::Actor;
use baton_protocol::id::{AgentId, HandoffId, WorkflowId};
use baton_protocol::refusal::Refusal;
use baton_protocol::text::BlobRef;
use baton_protocol::workflow::Workflow;
use baton_store::{Filter, LedgerError, Scope, WorkflowRow};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::compact::{CompactView, compact};
use crate::cursor::Cursor;
use crate::engine::Engine;
use crate::view::{
    self, AgentView, Bodies, Ended, Found, HandoffView, Hidden, Inbox, LockView, Package, Sight,
    WorkflowView, may_see,
};

/// Which workflows are asked for.
#[derive(Clone, Debug, Default)]
pub struct WorkflowQuery {
    /// Closed ones, too.
    pub all: bool,
    /// At most so many.
    pub limit: Option<usize>,
    /// Those that come after it.
    pub cursor: Option<Cursor>,
}

/// Which handoffs are asked for, among those of live workflows.
#[derive(Clone, Debug, Default)]
pub struct HandoffQuery {
    /// Those that are over, too.
    pub all: bool,
    /// Passed by or to this agent.
    pub agent: Option<AgentId>,
    /// Only what waits for somebody to decide: questions to somebody above, and handoffs that a
    /// person must approve.
    pub questions: bool,
    /// At most so many.
    pub limit: Option<usize>,
    /// Those that come after it.
    pub cursor: Option<Cursor>,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The rules say no, or the thing is not there.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// No id begins like this.
    #[error("nothing has an id that begins with {prefix}")]
    NotFound {
        /// What was given.
        prefix: String,
    },
    /// Several ids begin like this.
    #[error("{} ids begin with {prefix}: {}", .ids.len(), .ids.join(", "))]
    Ambiguous {
        /// What was given.
        prefix: String,
        /// Some of them.
        ids: Vec<String>,
    },
    /// What was given cannot be used.
    #[error("{why}")]
    Unusable {
        /// Which part of the question.
        field: &'static str,
        /// Why.
        why: String,
    },
    /// The ledger could not.
    #[error(transparent)]
    Failed(#[from] LedgerError),
}

pub(crate) fn unreadable(source: serde_json::Error) -> QueryError {
    let what = "a record of the ledger cannot be read".to_owned();
    QueryError::Failed(LedgerError::Failed { what, source: Box::new(source) })
}

/// Tells a workflow, a place or a checkpoint that cannot be used from a ledger that cannot.
pub(crate) fn misplaced(error: LedgerError) -> QueryError {
    use std::io::ErrorKind;
    let LedgerError::Failed { source, .. } = &error else { return error.into() };
    if let Some(refusal) = source.downcast_ref::<Refusal>() {
        return refusal.clone().into();
    }
    if source.is::<baton_store::NoteError>() {
        return QueryError::Unusable { field: "since", why: baton_store::causes(&error) };
    }
    let kind = source.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    match kind {
        Some(
            ErrorKind::AlreadyExists
            | ErrorKind::DirectoryNotEmpty
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem,
        ) => QueryError::Unusable { field: "to", why: baton_store::causes(&error) },
        Some(_) | None => error.into(),
    }
}

impl Engine {
    /// Looks at the states of `scope`.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        scope: Scope,
        view: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, LedgerError> {
        let (show, shown) = oneshot::channel();
        let look = Box::new(move |world: &World| drop(show.send(view(world))));
        self.ledger.look(scope, look).await?;
        let ended = |_| LedgerError::Stopped { why: "a look was not taken".to_owned() };
        shown.await.map_err(ended)
    }

    /// All agents.
    pub async fn agents(&self, viewer: Actor) -> Result<Vec<AgentView>, QueryError> {
        let all = move |world: &World| {
            world.agents.values().map(|agent| view::agent_view(agent, &viewer)).collect()
        };
        Ok(self.look(Scope::Agents, all).await?)
    }

    /// One agent.
    pub async fn agent(&self, viewer: Actor, id: AgentId) -> Result<AgentView, QueryError> {
        let scope = Scope::Agent(id.clone());
        let found =
            move |world: &World| world.agent(&id).map(|agent| view::agent_view(agent, &viewer));
        Ok(self.look(scope, found).await??)
    }

    /// What concerns an agent.
    pub async fn inbox(&self, agent: AgentId) -> Result<Inbox, QueryError> {
        let scope = Scope::Agent(agent.clone());
        let inbox = self.look(scope, move |world| {
            world.agent(&agent)?;
            Ok::<_, Refusal>(view::inbox(world, &agent))
        });
        Ok(inbox.await??)
    }

    /// One workflow, live or over.
    pub async fn workflow(
        &self,
        viewer: Actor,
        id: WorkflowId,
    ) -> Result<WorkflowView, QueryError> {
        let view =
            move |world: &World, viewer: &Actor, workflow: &Workflow, ended: Option<&Ended>| {
                view::workflow_view(world, Sight::of(viewer, workflow), id, ended)
            };
        self.seen_by(viewer, id, view).await
    }

    /// What `view` makes of a workflow, live or over, that `viewer` may see.
    pub(crate) async fn seen_by<T: Send + 'static>(
        &self,
        viewer: Actor,
        id: WorkflowId,
        view: impl Fn(&World, &Actor, &Workflow, Option<&Ended>) -> T + Copy + Send + 'static,
    ) -> Result<T, QueryError> {
        let seer = viewer.clone();
        let live = self.look(Scope::Workflow(id), move |world| {
            let workflow = world.workflows.get(&id).filter(|found| may_see(&seer, found))?;
            Some(view(world, &seer, workflow, None))
        });
        if let Some(seen) = live.await? {
            return Ok(seen);
        }
        let past = self.told(id, None).await?;
        let workflow = past.workflow().filter(|found| may_see(&viewer, found));
        let workflow = workflow.ok_or(Refusal::UnknownWorkflow { workflow: id })?;
        Ok(view(past.world(), &viewer, workflow, past.ended()))
    }

    /// What is kept from `viewer` in a workflow that it may see.
    pub(crate) async fn hidden(&self, viewer: Actor, id: WorkflowId) -> Result<Hidden, QueryError> {
        let hidden = |_: &World, viewer: &Actor, workflow: &Workflow, _: Option<&Ended>| {
            Sight::of(viewer, workflow).hidden()
        };
        self.seen_by(viewer, id, hidden).await
    }

    /// All records of a workflow, page by page.
    pub(crate) async fn records_of(&self, id: WorkflowId) -> Result<Vec<Vec<u8>>, QueryError> {
        let mut lines = Vec::new();
        let mut after_seq = None;
        loop {
            let workflow = Some(*id.as_bytes());
            let filter = Filter { workflow, after_seq, ..Filter::default() };
            let page = self.ledger.history(filter).await?;
            let Some(last) = page.last() else { return Ok(lines) };
            after_seq = Some(baton_store::Record::read(last).map_err(unreadable)?.seq);
            lines.extend(page);
        }
    }

    /// One handoff, of a workflow that is live or over.
    pub async fn handoff(&self, viewer: Actor, id: HandoffId) -> Result<HandoffView, QueryError> {
        let unknown = Refusal::UnknownHandoff { handoff: id };
        let seer = viewer.clone();
        let live = self.look(Scope::Handoff(id), move |world| shown(world, &seer, id));
        let shown = match live.await? {
            Some(shown) => Some(shown),
            None => {
                let rows = self.ledger.find_handoffs(id.to_string()).await?;
                let home = rows.first().and_then(|row| row.workflow).ok_or(unknown.clone())?;
                let past = self.told(WorkflowId::from_bytes(home), None).await?;
                shown(past.world(), &viewer, id)
            }
        };
        let (mut view, bodies) = shown.ok_or(unknown)?;
        self.fetch(&mut view, bodies).await?;
        Ok(view)
    }

    /// Everything the holder of a handoff gets.
    pub async fn package(&self, viewer: Actor, id: HandoffId) -> Result<Package, QueryError> {
        let returned = self.returned(viewer.clone(), id).await?;
        let handoff = self.handoff(viewer, id).await?;
        let (fence, traceparent) = (handoff.line.fence, handoff.traceparent);
        Ok(Package { fence, traceparent, handoff, returned })
    }

    /// What a handoff comes to in at most 500 tokens.
    pub async fn compact(&self, viewer: Actor, id: HandoffId) -> Result<CompactView, QueryError> {
        let view = self.handoff(viewer, id).await?;
        // Counting unpacks a vocabulary the first time, which nobody else should wait for.
        let made = tokio::task::spawn_blocking(move || compact(&view)).await;
        let made = made.map_err(|error| {
            let what = "making a compact artifact broke off".to_owned();
            QueryError::Failed(LedgerError::Failed { what, source: Box::new(error) })
        })?;
        made.map_err(|error| QueryError::Unusable { field: "id", why: error.to_string() })
    }

    /// Reads the bodies that lie beside the ledger.
    async fn fetch(&self, view: &mut HandoffView, bodies: Bodies) -> Result<(), QueryError> {
        if let Some(blob) = bodies.history {
            view.context.conversation_history = Some(self.body(&blob).await?);
        }
        if let Some(blob) = bodies.result
            && let Some(result) = &mut view.result
        {
            result["result"]["body"] = self.body(&blob).await?;
        }
        Ok(())
    }

    pub(crate) async fn body(&self, blob: &BlobRef) -> Result<Value, QueryError> {
        let name = |source| {
            let what = "a record names a body in no known way".to_owned();
            LedgerError::Failed { what, source: Box::new(source) }
        };
        let hash = baton_store::Hash::from_hex(blob.sha256.as_bytes()).map_err(name)?;
        serde_json::from_slice(&self.ledger.blob(hash).await?).map_err(unreadable)
    }

    /// All file locks: who has which is for everybody to know, under which work is not.
    pub async fn locks(&self, viewer: Actor) -> Result<Vec<LockView>, QueryError> {
        let now = self.clock.now();
        Ok(self.look(Scope::Everything, move |world| view::lock_views(&viewer, world, now)).await?)
    }

    /// Finds what an id, or the beginning of one, names, among what `viewer` may see.
    pub async fn find(&self, viewer: Actor, prefix: &str) -> Result<Found, QueryError> {
        let not_found = || QueryError::NotFound { prefix: prefix.chars().take(40).collect() };
        let digits = prefix.bytes().filter(|b| *b != b'-').count();
        let fits = |b: u8| b.is_ascii_hexdigit() || b == b'-';
        if !(1..=32).contains(&digits) || !prefix.bytes().all(fits) {
            return Err(not_found());
        }
        let prefix = prefix.to_lowercase();
        let workflows = self.ledger.find_workflows(prefix.clone()).await?;
        let handoffs = self.ledger.find_handoffs(prefix.clone()).await?;
        let workflow = |row: &WorkflowRow| Found::Workflow(WorkflowId::from_bytes(row.uuid));
        let mut found: Vec<Found> = workflows.iter().map(workflow).collect();
        found.extend(handoffs.iter().map(|row| Found::Handoff(HandoffId::from_bytes(row.uuid))));
        found.extend(self.broadcasts(prefix.clone()).await?);
        if let Actor::Agent(_) = &viewer {
            found = self.seen(&viewer, found).await?;
        }
        match found.as_slice() {
            [] => Err(not_found()),
            [only] => Ok(*only),
            [..] => {
                let name = |found: &Found| match found {
                    Found::Workflow(id) => format!("{id} (workflow)"),
                    Found::Handoff(id) => format!("{id} (handoff)"),
                    Found::Broadcast(_, id) => format!("{id} (broadcast)"),
                };
                Err(QueryError::Ambiguous { prefix, ids: found.iter().take(5).map(name).collect() })
            }
        }
    }

    /// The broadcasts of live workflows whose id begins with `prefix`.
    async fn broadcasts(&self, prefix: String) -> Result<Vec<Found>, LedgerError> {
        let plain = |text: &str| text.replace('-', "");
        self.look(Scope::Everything, move |world| {
            let prefix = plain(&prefix);
            let all = world.workflows.iter();
            let all = all.flat_map(|(id, workflow)| workflow.groups.keys().map(|g| (*id, *g)));
            let fit = all.filter(|(_, group)| plain(&group.to_string()).starts_with(&prefix));
            fit.map(|(id, group)| Found::Broadcast(id, group)).collect()
        })
        .await
    }

    /// Those of `found` that an agent may see.
    async fn seen(&self, viewer: &Actor, found: Vec<Found>) -> Result<Vec<Found>, QueryError> {
        let mut seen = Vec::new();
        for one in found {
            let looked = match one {
                Found::Workflow(id) => self.workflow(viewer.clone(), id).await.map(drop),
                Found::Broadcast(id, group) => {
                    let view = self.workflow(viewer.clone(), id).await;
                    view.and_then(|view| match view.broadcasts.iter().any(|b| b.group == group) {
                        true => Ok(()),
                        false => Err(Refusal::UnknownWorkflow { workflow: id }.into()),
                    })
                }
                Found::Handoff(id) => self.handoff(viewer.clone(), id).await.map(drop),
            };
            match looked {
                Ok(()) => seen.push(one),
                Err(QueryError::Failed(failure)) => return Err(failure.into()),
                Err(_) => (),
            }
        }
        Ok(seen)
    }
}

/// The handoff, if it is in this world and `viewer` may see it.
fn shown(world: &World, viewer: &Actor, id: HandoffId) -> Option<(HandoffView, Bodies)> {
    let (home, workflow, handoff) = world.handoff(id).ok()?;
    let agent = viewer.agent();
    let arrived = handoff.to == agent && !handoff.is_withheld();
    let concerns = arrived || handoff.terms.from_agent == agent;
    let part = may_see(viewer, workflow) && Sight::of(viewer, workflow).sees(handoff);
    let seen = concerns || part;
    let (mut view, mut bodies) =
        seen.then(|| view::handoff_view(world, home, workflow, handoff))?;
    if let (Actor::Agent(_), false) = (viewer, concerns) {
        // What two agents said to each other is theirs, also inside one workflow.
        view.context.conversation_history = None;
        bodies.history = None;
    }
    Some((view, bodies))
}
