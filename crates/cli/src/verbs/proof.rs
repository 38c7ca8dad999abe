//! `baton audit verify`, `export`, `key`, `checkpoint` and `prune`: proof of what took place, also
//! for those who have nothing but a file and a key.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use baton_engine::verify_bundle;
use baton_engine::view::{Exported, Prunable, Signed, Verified};
use baton_protocol::command::Command;
use baton_protocol::event::Event;
use baton_protocol::retention;
use clap::Args;
use serde_json::json;

use crate::client::Query;
use crate::failure::{Exit, Failure};
use crate::session::Session;
use crate::show::Output;
use crate::show::table::Table;
use crate::show::time::absolute;
use crate::value::Id;

/// Bytes of a checkpoint or a key in a file.
const NOTE_BYTES_MAX: u64 = 4096;

/// Check the ledger, or a bundle, against hashes and signatures
///
/// Reads every record, follows every chain, and compares all with every signed checkpoint. Names
/// the first record that is wrong, and exits with 1 then. With --bundle neither a workspace nor a
/// coordinator is needed.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton audit verify
  baton audit verify --since monday.checkpoint
  baton audit verify --bundle trail.jsonl --key \"$(cat shop.key)\"")]
pub(crate) struct Verify {
    /// A bundle that `baton audit export` wrote, instead of the ledger
    #[arg(long, value_name = "FILE", requires = "key")]
    bundle: Option<PathBuf>,
    /// The key to check signatures with, as `baton audit key` printed it
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// A file with an older checkpoint, which what is checked must go on from
    #[arg(long, value_name = "FILE")]
    since: Option<PathBuf>,
}

impl Verify {
    /// Checks a bundle, if one is given.
    pub(crate) fn offline(&self, out: Output) -> Option<Result<(), Failure>> {
        let (bundle, key) = (self.bundle.as_ref()?, self.key.as_deref().unwrap_or_default());
        Some(self.bundle(bundle, key, out))
    }

    fn bundle(&self, path: &Path, key: &str, out: Output) -> Result<(), Failure> {
        let since = self.since.as_deref().map(note).transpose()?;
        let unreadable = |error: std::io::Error| {
            let sentence = format!("cannot read {}: {error}", path.display());
            Failure::failed(sentence, "check the path and its permissions")
        };
        let file = BufReader::new(File::open(path).map_err(unreadable)?);
        let found = verify_bundle(file, key, since.as_deref()).map_err(|error| {
            Failure::usage(error.to_string(), "`baton audit key` prints it where the ledger is")
        })?;
        let found = found.map_err(unreadable)?;
        if out.json {
            out.value(&found)?;
        }
        verdict(&found, out, "the bundle", "ask for it again, and check the key with its owner")
    }

    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let since = self.since.as_deref().map(note).transpose()?;
        let query = Query::new("/v1/audit/verify").with("key", self.key).with("since", since);
        let reply = session.client.read(query)?;
        let found: Verified = reply.read()?;
        if session.out.json {
            session.out.raw(&reply.json)?;
        }
        let hint = "restore a backup, and find out who can write to .baton";
        verdict(&found, session.out, "the ledger", hint)
    }
}

/// Reads a small file that somebody kept.
fn note(path: &Path) -> Result<String, Failure> {
    let read = std::fs::metadata(path).and_then(|meta| match meta.len() > NOTE_BYTES_MAX {
        true => Err(std::io::Error::other("it is larger than any checkpoint")),
        false => std::fs::read_to_string(path),
    });
    read.map_err(|error| {
        let sentence = format!("cannot read {}: {error}", path.display());
        Failure::failed(sentence, "`baton audit checkpoint` prints one to keep")
    })
}

fn verdict(found: &Verified, out: Output, what: &str, hint: &str) -> Result<(), Failure> {
    if let Some(problem) = &found.problem {
        let stream = found.stream.as_ref().map(|stream| format!(" ({stream})"));
        return Err(Failure::new(
            Exit::Failure,
            "ledger-changed",
            format!("{what} is not as it was written: {problem}{}", stream.unwrap_or_default()),
            hint,
        ));
    }
    if out.json {
        return Ok(());
    }
    out.page(|page| {
        let Verified { records, streams, checkpoints, signed, .. } = found;
        page.line(format!("intact: {records} records in {streams} chains"));
        page.line(format!("signed: {signed} records, {checkpoints} checkpoints agree"));
        if found.pruned > 0 {
            page.line(format!("pruned: {} records are stubs", found.pruned));
        }
        for note in &found.notes {
            page.line(format!("note: {note}"));
        }
        Ok(())
    })
}

/// Write records to a file that can be checked without this workspace
///
/// The bundle holds the records as they are stored, the newest checkpoint, and what proves that
/// the records are in it. Bodies above 4 KiB are named by their hash and stay in .baton/blobs.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton audit export --out trail.jsonl
  baton audit export --workflow 3f2a --out login.jsonl
  baton audit export --workflow 3f2a --since monday.checkpoint --out login.jsonl")]
pub(crate) struct Export {
    /// The file to write, which must not exist
    #[arg(long, value_name = "FILE", default_value = "baton-audit.jsonl")]
    out: PathBuf,
    /// Only the records of this workflow, each with its proof
    #[arg(long, value_name = "WORKFLOW")]
    workflow: Option<Id>,
    /// With --workflow: prove also that the ledger goes on from this older checkpoint
    #[arg(long, value_name = "FILE", requires = "workflow")]
    since: Option<PathBuf>,
}

impl Export {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let whole = std::path::absolute(&self.out).ok();
        let Some(to) = whole.as_ref().and_then(|path| path.to_str()) else {
            let sentence = format!("{} cannot be written as text", self.out.display());
            return Err(Failure::usage(sentence, "give another path"));
        };
        if self.out.exists() {
            let sentence = format!("{} is there already", self.out.display());
            return Err(Failure::failed(sentence, "name another file with --out"));
        }
        let workflow = self.workflow.map(|id| session.workflow(&id)).transpose()?;
        let since = self.since.as_deref().map(note).transpose()?;
        let asked = json!({ "to": to, "workflow": workflow, "since": since });
        let reply = session.client.post("/v1/audit/export", &asked)?;
        let done: Exported = reply.read()?;
        session.out.answer(&reply, |page| {
            let Exported { records, bytes, signed, .. } = &done;
            page.line(format!("exported {records} records ({bytes} bytes) to {to}"));
            page.field("checkpoint", format!("over {signed} records"));
            page.field("key", &done.key);
            Ok(())
        })?;
        let file = self.out.display();
        session.next(&[format!("baton audit verify --bundle {file} --key {}", done.key)]);
        Ok(())
    }
}

/// Print the key that checkpoints are checked with
///
/// It is no secret. Keep it where somebody who can change this workspace cannot change it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton audit key > shop.key")]
pub(crate) struct Key {}

impl Key {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let reply = session.client.read("/v1/audit/checkpoint")?;
        let signed: Signed = reply.read()?;
        session.out.answer(&reply, |page| {
            page.line(&signed.key);
            Ok(())
        })
    }
}

/// Sign everything that is recorded, and print the checkpoint
///
/// Keep it elsewhere: whatever the ledger is later, `baton audit verify --since` tells whether it
/// goes on from here.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton audit checkpoint > monday.checkpoint")]
pub(crate) struct Checkpoint {}

impl Checkpoint {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let reply = session.client.read("/v1/audit/checkpoint")?;
        let signed: Signed = reply.read()?;
        if session.out.json {
            return session.out.raw(&reply.json);
        }
        session.out.write(&signed.checkpoint)
    }
}

/// Drop the records of work that is over and past its period
///
/// The decision is recorded now, and carried out when the coordinator next starts: the records
/// become stubs that keep the proof whole, and bodies that only they named are deleted. How long
/// records are kept is set in .baton/config.toml.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton audit prune --dry-run
  baton audit prune && baton stop")]
pub(crate) struct Prune {
    /// Only list what would be dropped
    #[arg(long)]
    dry_run: bool,
}

impl Prune {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        if self.dry_run {
            return list(session);
        }
        let mut dropped = Vec::new();
        // One record names a bounded number of workflows, so a long overdue prune takes several.
        loop {
            let (_, answer) = session.submit(Command::Prune(retention::Prune::default()))?;
            let before = dropped.len();
            for event in answer.events {
                if let Event::Pruned { workflows, .. } = event {
                    dropped.extend(workflows);
                }
            }
            if dropped.len() == before || session.client.is_keyed() {
                break;
            }
        }
        let out = session.out;
        if out.json {
            return out.value(&json!({ "pruned": dropped }));
        }
        out.page(|page| {
            match dropped.len() {
                0 => page.line("nothing is past its period"),
                1 => page.line("dropped the records of 1 workflow"),
                count => page.line(format!("dropped the records of {count} workflows")),
            }
            Ok(())
        })?;
        if !dropped.is_empty() {
            session.next(&["baton stop".to_owned()]);
        }
        Ok(())
    }
}

fn list(session: &Session) -> Result<(), Failure> {
    let reply = session.client.read("/v1/audit/prune")?;
    let found: Prunable = reply.read()?;
    session.out.answer(&reply, |page| {
        page.line(format!("kept: {}", found.kept));
        if found.workflows.is_empty() {
            page.line("nothing is past its period");
            return Ok(());
        }
        let mut table = Table::new(&["WORKFLOW", "CLOSED (UTC)", "KEPT UNTIL (UTC)"], &[]);
        for line in &found.workflows {
            table.row([
                line.id.short().to_string(),
                absolute(line.closed_at).trim_end_matches('Z').to_owned(),
                absolute(line.kept_until).trim_end_matches('Z').to_owned(),
            ]);
        }
        page.table(table);
        Ok(())
    })
}
