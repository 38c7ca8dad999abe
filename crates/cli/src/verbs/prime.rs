//! `baton prime`: what a session should know when it begins.

use baton_context::Tokenizer;
use baton_engine::view::{AgentView, Inbox};
use baton_protocol::id::AgentId;
use clap::Args;
use serde_json::{Value, json};

use super::session;
use crate::args::Global;
use crate::client::Client;
use crate::failure::{Exit, Failure};
use crate::identity::Identity;
use crate::prime::{self, Known, Left};
use crate::shelf::Shelf;
use crate::show::Output;
use crate::workspace::Workspace;

/// Tell a new session who it is, what waits, and what it holds
///
/// The state of the workspace as an agent sees it, as Markdown of at most 1 500
/// tokens: its inbox, what it holds and under which fence, what came back, kept
/// artifacts, and who else is there. What is too much is counted. An agent that
/// is not known yet is made known if a person runs this.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  baton prime --agent claude-code
  baton prime --json | jq -r .tokens"
)]
pub(crate) struct Prime {
    /// Which agent; otherwise BATON_AGENT, BATON_TOKEN or the configuration
    /// says so
    #[arg(long, value_name = "NAME")]
    agent: Option<AgentId>,
}

impl Prime {
    pub(crate) fn run(self, global: Global, out: Output) -> Result<(), Failure> {
        let (client, workspace) = match global.url {
            Some(_) => (session(global, out)?.client, None),
            None => {
                let workspace = Workspace::find(global.workspace.as_deref())?;
                let agent = self.agent.as_ref().or(global.on_behalf.as_ref());
                let identity = Identity::made(&workspace, agent)?;
                (identity.client(&workspace)?, Some(workspace))
            }
        };
        let reply = client.read("/v1/inbox")?;
        let inbox: Inbox = reply.read()?;
        self.is_meant(&inbox.agent)?;
        let tokenizer = match &workspace {
            Some(workspace) => workspace.settings()?.packing.tokenizer,
            None => Tokenizer::default(),
        };
        let (kept, notes) =
            workspace.map_or(Ok(Default::default()), |it| left(it, &inbox.agent, tokenizer))?;
        let agents = agents(&client)?;
        let suffix = prime::suffix(&inbox.agent);
        let known = Known { agent: inbox.agent.clone(), inbox, kept, agents, suffix };
        // Counting makes the vocabulary be unpacked; what is this short fits, whatever it says.
        let fits = |page: &str| {
            page.len() <= prime::TOKENS_MAX || tokenizer.count(page) <= prime::TOKENS_MAX
        };
        let page = known.page(out.begun, fits);
        if out.json {
            let inbox: Value = reply.read()?;
            let names: Vec<_> = known.agents.iter().map(|agent| &agent.profile.id).collect();
            return out.value(&json!({
                "agent": known.agent,
                "markdown": page,
                "tokens": tokenizer.count(&page),
                "tokenizer": tokenizer.to_string(),
                "inbox": inbox,
                "kept": known.kept,
                "agents": names,
            }));
        }
        out.foreign(&page)?;
        notes.iter().for_each(|note| out.note(note));
        Ok(())
    }

    /// On the network the token says who asks, and it must be the one that was named.
    fn is_meant(&self, found: &AgentId) -> Result<(), Failure> {
        match &self.agent {
            Some(named) if named != found => Err(Failure::new(
                Exit::Refused,
                "operator-only",
                format!("this token is agent {found}'s and cannot speak for {named}"),
                format!("leave out --agent, or say --agent {found}"),
            )),
            Some(_) | None => Ok(()),
        }
    }
}

fn agents(client: &Client) -> Result<Vec<AgentView>, Failure> {
    client.read(format!("/v1/agents?limit={}", prime::OTHERS_MAX))?.read()
}

/// What is on the shelf for `agent`, the newest first, and what could not be read.
fn left(
    workspace: Workspace,
    agent: &AgentId,
    tokenizer: Tokenizer,
) -> Result<(Vec<Left>, Vec<String>), Failure> {
    let root = workspace.root().to_owned();
    let inventory = Shelf::of(None, Ok(workspace))?.read(tokenizer)?;
    let left = inventory.kept.iter().rev().filter(|kept| kept.concerns(agent)).map(|kept| Left {
        path: kept.path.strip_prefix(&root).unwrap_or(&kept.path).display().to_string(),
        next_action: Some(kept.artifact.content().next_action.clone()),
    });
    Ok((left.collect(), inventory.notes))
}
