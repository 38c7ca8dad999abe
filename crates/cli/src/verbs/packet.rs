//! `baton packet`: a compact artifact from what is there anyway, without a model.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use baton_context::{Draft, Tokenizer, TranscriptKind, agent_named};
use baton_protocol::count_masks;
use baton_protocol::id::AgentId;
use baton_protocol::text::masked as masked_json;
use baton_protocol::time::Timestamp;
use clap::Args;
use serde_json::json;

use super::draft::{Evidence, Given, told};
use super::secrets::told as masks_told;
use crate::failure::Failure;
use crate::shelf::{Inventory, Kept, Shelf, WHOEVER};
use crate::show::Output;
use crate::workspace::{Workspace, current_folder};

/// Tell the next agent what was done here, without asking a model
///
/// Branch, changed files and commits come from git; decisions, blockers, files,
/// the current task and what comes next from the transcript that Claude Code or
/// Codex keeps, by plain rules. What is not found is left empty and said. Prints
/// the artifact as YAML, of at most 500 tokens. Needs no coordinator.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton packet
  baton packet --from dev --to qa --story SHOP-12 --write
  baton packet --transcript rollout.jsonl --next \"Review the retry\"
  baton packet --json | jq -r .tokens")]
pub(crate) struct Packet {
    /// The transcript; otherwise the newest of Claude Code or Codex in this
    /// folder
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// Who hands over; otherwise whoever the newest kept artifact is for
    #[arg(long, value_name = "AGENT", value_parser = agent_named)]
    from: Option<AgentId>,
    /// Who takes over; otherwise `next`
    #[arg(long, value_name = "AGENT", value_parser = agent_named)]
    to: Option<AgentId>,
    /// Keep it in the folder of artifacts, too
    #[arg(long)]
    write: bool,
    /// Where artifacts are kept; otherwise as the configuration says
    #[arg(long, value_name = "DIR")]
    handoffs: Option<PathBuf>,
    #[command(flatten)]
    given: Given,
}

impl Packet {
    pub(crate) fn run(
        self,
        workspace: Result<Workspace, Failure>,
        out: Output,
    ) -> Result<(), Failure> {
        if let Ok(workspace) = &workspace {
            workspace.set_secret_rules()?;
        }
        let tokenizer = Tokenizer::default();
        let evidence = Evidence::of_all(&current_folder()?, self.transcript.as_deref())?;
        let shelf = Shelf::of(self.handoffs.as_deref(), workspace);
        let inventory = match &shelf {
            Ok(shelf) => shelf.read(tokenizer)?,
            // Who only looks needs no workspace.
            Err(_) if !self.write => Inventory::default(),
            Err(failure) => return Err(failure.clone()),
        };
        let newest = inventory.kept.last().map(|kept| kept.artifact.content());
        let kind = evidence.found.as_ref().and_then(|found| found.kind);
        let from = self.from.or_else(|| newest.map(|newest| newest.to_agent.clone()));
        let from = from.map_or_else(|| program(kind), Ok)?;
        let to = self.to.map_or_else(|| named(WHOEVER), Ok)?;
        let before = newest.map(|newest| &newest.story_context);
        let gathered = self.given.gather(Draft::between(from, to), &evidence, before);
        let missing = gathered.missing();
        let shown = |path: PathBuf| path.display().to_string();
        let (compact, written, dropped, notes) = match shelf {
            Ok(shelf) if self.write => {
                let placed = gathered.place(&shelf, out.begun, tokenizer)?;
                let dropped: Vec<_> = placed.dropped.into_iter().map(shown).collect();
                (placed.compact, Some(shown(placed.written)), dropped, placed.notes)
            }
            _ => (gathered.compact(out.begun, tokenizer)?, None, Vec::new(), inventory.notes),
        };
        let masked = count_masks(&compact.yaml);
        if out.json {
            return out.value(&json!({
                "yaml": compact.yaml,
                "tokens": compact.tokens,
                "tokenizer": tokenizer.to_string(),
                "cuts": compact.cuts,
                "masked": masked,
                "missing": missing,
                "evidence": masked_json(json!(evidence)),
                "notes": notes,
                "written": written,
                "dropped": dropped,
            }));
        }
        out.foreign(&compact.yaml)?;
        notes.iter().for_each(|note| out.note(note));
        evidence.sources().iter().for_each(|source| out.note(source));
        told(&compact.cuts).for_each(|cut| out.note(&cut));
        masks_told(&masked).iter().for_each(|masked| out.note(masked));
        if !missing.is_empty() {
            out.note(&format!("not found: {}", missing.join(", ")));
        }
        if let Some(path) = written {
            out.note(&format!("kept as {path}"));
        }
        dropped.iter().for_each(|path| out.note(&format!("dropped {path}")));
        out.note(&format!("{} tokens of {tokenizer}", compact.tokens));
        Ok(())
    }
}

/// How long a transcript and git are read for a packet that nobody waits for.
const READ_WITHIN: Duration = Duration::from_secs(5);

/// Keeps a packet of an agent for itself: the next session of it goes on from there.
///
/// One of each agent is kept, so that a long session does not push out what others left. The
/// transcript is the one that is named, and no other: the newest in the folder may be of another
/// agent.
pub(crate) fn keep_own(
    workspace: &Workspace,
    folder: &Path,
    agent: &AgentId,
    transcript: Option<&Path>,
    now: Timestamp,
) -> Result<PathBuf, Failure> {
    workspace.set_secret_rules()?;
    let tokenizer = Tokenizer::default();
    let evidence = read_within(folder.to_owned(), transcript.map(Path::to_owned))?;
    let shelf = Shelf::of(None, Ok(workspace.clone()))?;
    let inventory = shelf.read(tokenizer)?;
    let before = inventory.kept.last().map(|kept| &kept.artifact.content().story_context);
    let own = Draft::between(agent.clone(), agent.clone());
    let gathered = Given::default().gather(own, &evidence, before);
    let earlier = |kept: &Kept| {
        let content = kept.artifact.content();
        content.from_agent == *agent && content.to_agent == *agent
    };
    Ok(gathered.place_over(&shelf, now, tokenizer, earlier)?.written)
}

/// A transcript may be on a disk that does not answer; whoever asks must get on.
fn read_within(folder: PathBuf, transcript: Option<PathBuf>) -> Result<Evidence, Failure> {
    let (give, take) = mpsc::channel();
    thread::spawn(move || {
        // Nobody listens any more once the time is up.
        let _ = give.send(Evidence::of_named(&folder, transcript.as_deref()));
    });
    take.recv_timeout(READ_WITHIN).unwrap_or_else(|_| {
        let sentence = "the transcript took too long to read";
        Err(Failure::failed(sentence, "run `baton packet --write` by hand"))
    })
}

/// The name of the program whose transcript it is, for want of the agent's.
fn program(kind: Option<TranscriptKind>) -> Result<AgentId, Failure> {
    match kind {
        Some(TranscriptKind::ClaudeCode) => named("claude-code"),
        Some(TranscriptKind::Codex) => named("codex"),
        None => Ok(AgentId::operator()),
    }
}

fn named(name: &str) -> Result<AgentId, Failure> {
    name.parse().map_err(|error: baton_protocol::id::IdError| {
        Failure::usage(error.to_string(), "name an agent with --from and --to")
    })
}
