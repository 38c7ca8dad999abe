//! One run of one verb: whom it asks, how it prints, and which ids it was given.

use std::path::PathBuf;

use baton_engine::view::{Answer, Found};
use baton_protocol::command::Command;
use baton_protocol::id::{AgentId, HandoffId, WorkflowId};

use crate::client::{Client, Reply};
use crate::failure::Failure;
use crate::place::Place;
use crate::show::Output;
use crate::value::Id;

/// What every verb that asks the coordinator has at hand.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) out: Output,
    /// Whom the operator acts for, if `--as` says so.
    pub(crate) on_behalf: Option<AgentId>,
}

impl Session {
    /// Asks for a change and reads what it came to.
    pub(crate) fn submit(&self, command: Command) -> Result<(Reply, Answer), Failure> {
        let reply = self.client.command(&command)?;
        let answer = reply.read()?;
        Ok((reply, answer))
    }

    /// Suggests what to run next, by the same one that ran this.
    pub(crate) fn next(&self, commands: &[String]) {
        let on_behalf = self.on_behalf.as_ref();
        let suffix = on_behalf.map(|agent| format!(" --as {agent}")).unwrap_or_default();
        let commands: Vec<_> = commands.iter().map(|line| format!("{line}{suffix}")).collect();
        self.out.next(&commands);
    }

    /// Whether a person asks in its own name.
    pub(crate) fn is_operator(&self) -> bool {
        self.client.is_operator()
    }

    /// Where paths are typed from.
    pub(crate) fn place(&self) -> Place {
        Place::new(&self.folder())
    }

    /// The workspace's folder. Files of a workspace elsewhere have the names that they have in
    /// this one.
    pub(crate) fn folder(&self) -> PathBuf {
        match self.client.workspace() {
            Some(workspace) => workspace.root().to_owned(),
            None => std::env::current_dir().unwrap_or_default(),
        }
    }

    /// What an id, or a beginning of one, names.
    pub(crate) fn find(&self, id: &Id) -> Result<Found, Failure> {
        self.client.read(format!("/v1/find/{id}"))?.read()
    }

    /// The workflow that is meant.
    pub(crate) fn workflow(&self, id: &Id) -> Result<WorkflowId, Failure> {
        if let Some(whole) = id.whole() {
            return Ok(whole);
        }
        match self.find(id)? {
            Found::Workflow(workflow) => Ok(workflow),
            Found::Handoff(_) => Err(wrong_kind(id, "handoff", "workflow")),
            Found::Broadcast(..) => Err(wrong_kind(id, "broadcast", "workflow")),
        }
    }

    /// The handoff that is meant.
    pub(crate) fn handoff(&self, id: &Id) -> Result<HandoffId, Failure> {
        if let Some(whole) = id.whole() {
            return Ok(whole);
        }
        match self.find(id)? {
            Found::Handoff(handoff) => Ok(handoff),
            Found::Workflow(_) => Err(wrong_kind(id, "workflow", "handoff")),
            Found::Broadcast(..) => Err(wrong_kind(id, "broadcast", "handoff")),
        }
    }
}

fn wrong_kind(id: &Id, found: &str, expected: &str) -> Failure {
    let sentence = format!("{id} names a {found}; expected a {expected}");
    Failure::usage(sentence, format!("`baton show {id}` lists the ids that belong to it"))
}
