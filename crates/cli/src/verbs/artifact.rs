//! `baton artifact`: what work has produced, by reference.

use baton_engine::view::WorkflowView;
use baton_protocol::artifact::{self, ArtifactKind, ArtifactStatus};
use baton_protocol::command::{self, Command};
use baton_protocol::event::Event;
use baton_protocol::id::{Fence, WorkflowId};
use baton_protocol::text::Text;
use clap::{Args, Subcommand};

use crate::failure::{Exit, Failure};
use crate::session::Session;
use crate::show::table::Table;
use crate::show::time::relative;
use crate::value::{ARTIFACT_KINDS, Id, Product, word};
use crate::verbs::rows::word_of;
use crate::verbs::told::told;

const STATUSES: &[&str] = &["draft", "final", "superseded"];

/// Make products known, list them, and say which can be relied on
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton artifact add 3f2a src/login.rs --type code --fence 2
  baton artifact list 3f2a
  baton artifact mark 3f2a 91c0 final --fence 2")]
pub(crate) struct Artifact {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Add(Add),
    List(List),
    Mark(Mark),
}

impl Artifact {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        match self.verb {
            Verb::Add(add) => add.run(session),
            Verb::List(list) => list.run(session),
            Verb::Mark(mark) => mark.run(session),
        }
    }
}

/// Make a product known
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton artifact add 3f2a src/login.rs --type code --fence 2
  baton artifact add 3f2a https://ci.example/run/7 --type test_result --status final")]
struct Add {
    /// Of which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// A path or a URI
    #[arg(value_name = "PATH")]
    path: Product,
    /// What it is [default: file]
    #[arg(long = "type", value_name = "TYPE", value_parser = word::<ArtifactKind>(ARTIFACT_KINDS))]
    kind: Option<ArtifactKind>,
    /// Whether it can be relied on
    #[arg(
        long,
        value_name = "STATUS",
        default_value = "draft",
        value_parser = word::<ArtifactStatus>(STATUSES)
    )]
    status: ArtifactStatus,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<Text>,
    /// The number of your hold; only the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
}

impl Add {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        let mut artifact = self.path.produced(&session.place())?;
        artifact.kind = self.kind.unwrap_or(artifact.kind);
        artifact.status = self.status;
        artifact.description = self.description;
        let fence = self.fence.map(Fence);
        let add = command::AddArtifact { workflow, fence, artifact };
        let (reply, answer) = session.submit(Command::AddArtifact(add))?;
        told(session, (&reply, &answer), "", |event| match event {
            Event::ArtifactAdded { artifact } => {
                let (id, path) = (artifact.id, &artifact.produced.path);
                Some((id.to_string(), format!("added {path} as artifact {}", id.short())))
            }
            _ => None,
        })
    }
}

/// List a workflow's products
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton artifact list 3f2a")]
struct List {
    /// Of which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
}

impl List {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        let workflow = session.workflow(&self.workflow)?;
        let artifacts = known(session, workflow)?;
        if out.json {
            return out.value(&artifacts);
        }
        out.page(|page| {
            if out.quiet {
                artifacts.iter().for_each(|artifact| page.line(artifact.id));
                return Ok(());
            }
            let mut table = Table::new(&["ID", "PATH", "TYPE", "STATUS", "BY", "MADE"], &[1]);
            for artifact in &artifacts {
                table.row([
                    artifact.id.short(),
                    artifact.produced.path.to_string(),
                    word_of(&artifact.produced.kind),
                    word_of(&artifact.produced.status),
                    artifact.created_by.to_string(),
                    relative(artifact.created_at, page.now),
                ]);
            }
            if table.is_empty() {
                page.line("no artifact yet");
            } else {
                page.table(table);
            }
            Ok(())
        })
    }
}

fn known(session: &Session, id: WorkflowId) -> Result<Vec<artifact::Artifact>, Failure> {
    let view: WorkflowView = session.client.read(format!("/v1/workflows/{id}"))?.read()?;
    Ok(view.artifacts)
}

/// Say whether a product can be relied on
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton artifact mark 3f2a 91c0 final --fence 2")]
struct Mark {
    /// Of which work
    #[arg(value_name = "WORKFLOW")]
    workflow: Id,
    /// Which artifact
    #[arg(value_name = "ARTIFACT")]
    artifact: Id,
    /// Whether it can be relied on
    #[arg(value_name = "STATUS", value_parser = word::<ArtifactStatus>(STATUSES))]
    status: ArtifactStatus,
    /// The number of your hold; only the operator may leave it out
    #[arg(long, value_name = "N", env = "BATON_FENCE", hide_env_values = true)]
    fence: Option<u64>,
}

impl Mark {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let workflow = session.workflow(&self.workflow)?;
        let meant = |known: &artifact::Artifact| self.artifact.begins(&known.id.to_string());
        let meant: Vec<_> = known(session, workflow)?.into_iter().filter(meant).collect();
        let hint = format!("`baton artifact list {}` shows them", workflow.short());
        let artifact = match meant.as_slice() {
            [one] => one.id,
            [] => {
                let sentence = format!("there is no artifact {}", self.artifact);
                return Err(Failure::new(Exit::NotFound, "unknown-artifact", sentence, hint));
            }
            [..] => {
                let sentence = format!("{} names {} artifacts", self.artifact, meant.len());
                return Err(Failure::new(Exit::Refused, "ambiguous-id", sentence, hint));
            }
        };
        let status = self.status;
        let fence = self.fence.map(Fence);
        let mark = command::MarkArtifact { workflow, fence, artifact, status };
        let (reply, answer) = session.submit(Command::MarkArtifact(mark))?;
        told(session, (&reply, &answer), artifact, |event| match event {
            Event::ArtifactMarked { artifact, status } => {
                let sentence = format!("artifact {} is {} now", artifact.short(), word_of(status));
                Some((artifact.to_string(), sentence))
            }
            _ => None,
        })
    }
}
