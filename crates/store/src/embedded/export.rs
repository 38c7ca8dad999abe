//! Writing a bundle: records as they lie in the log, and what proves them.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use baton_protocol::event::StreamId;
use baton_protocol::id::WorkflowId;

use crate::disk::Disk;
use crate::embedded::failed;
use crate::embedded::history::History;
use crate::index::{Filter, RECORDS_MAX};
use crate::ledger::{Export, Exported, LedgerError};
use crate::line::{self, Envelope};
use crate::log::Cursor;
use crate::proof::Prover;
use crate::proof::audit::pruned_by;
use crate::proof::bundle::{ALL, Growth, Header, Writer};
use crate::proof::merkle;
use crate::proof::note::Checkpoint;
use crate::proof::tree::{Stored, TREE};

/// Why nothing can be exported.
pub(super) fn unsigned(why: String) -> LedgerError {
    let what = "no checkpoint can be signed".to_owned();
    LedgerError::Failed { what, source: why.into() }
}

/// Writes the bundle to its file, or nothing at all.
pub(super) fn export(
    history: &History,
    disk: &dyn Disk,
    prover: &Prover,
    last: u64,
    what: &Export,
) -> Result<Exported, LedgerError> {
    let proven = prover.wait_for(last).map_err(unsigned)?;
    let (Some(tree), Some(signer)) = (proven.checkpoint, &proven.signer) else {
        return Err(unsigned("nothing is recorded".to_owned()));
    };
    history.follower.wait_for(tree.size).map_err(failed("cannot read the index"))?;
    let lines = match what.workflow {
        Some(id) => Some(of_workflow(history, id, tree.size)?),
        None => None,
    };
    let key = signer.verifier();
    let old = what.since.as_ref().map(|note| Checkpoint::open(note, &key)).transpose();
    let since = match (old.map_err(failed("cannot use the checkpoint"))?, &lines) {
        (Some(old), Some(_)) => {
            let proof = growth(disk, &old, &tree).map_err(failed("cannot read the tree"))?;
            Some(Growth { size: old.size, proof })
        }
        // A bundle with all records proves by itself what it goes on from.
        (None, _) | (_, None) => None,
    };
    let scope = what.workflow.map(|id| StreamId::Workflow(id).to_string());
    let header = Header {
        bundle: 0,
        scope: scope.unwrap_or_else(|| ALL.to_owned()),
        records: lines.as_ref().map_or(tree.size, |lines| lines.len() as u64),
        key: key.to_string(),
        checkpoint: proven.note.clone(),
        since,
    };
    let written = make(&what.to).and_then(|file| {
        let mut writer = Writer::new(io::BufWriter::new(file), &header)?;
        match &lines {
            Some(lines) => with_proofs(&mut writer, disk, lines, tree.size)?,
            None => whole(&mut writer, history, tree.size)?,
        }
        let (mut file, bytes) = writer.end(signer)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        Ok(bytes)
    });
    let bytes = written.map_err(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            let _ = fs::remove_file(&what.to);
        }
        failed("cannot write the bundle")(error)
    })?;
    Ok(Exported { records: header.records, bytes, signed: tree.size, key: header.key })
}

/// What agents say to each other is nobody else's business.
fn make(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn growth(disk: &dyn Disk, old: &Checkpoint, new: &Checkpoint) -> io::Result<Vec<crate::Hash>> {
    let file = disk.open(TREE)?;
    let size = old.size.min(new.size);
    merkle::prove_growth(&Stored(&*file), size, new.size)
}

fn whole<W: Write>(to: &mut Writer<W>, history: &History, size: u64) -> io::Result<()> {
    let reader = &history.reader;
    let leaves = reader.hashes(Cursor::START, size, |_, hash| Ok(to.leaf(hash)?));
    leaves.map_err(io::Error::other)?;
    to.end_leaves()?;
    let lines = reader.scan(Cursor::START, size, |entry| Ok(to.line(entry.bytes)?));
    lines.map(drop).map_err(io::Error::other)
}

fn with_proofs<W: Write>(
    to: &mut Writer<W>,
    disk: &dyn Disk,
    lines: &[Vec<u8>],
    size: u64,
) -> io::Result<()> {
    let file = disk.open(TREE)?;
    for line in lines {
        let seq = Envelope::read(line).map_err(io::Error::other)?.seq;
        to.line(line)?;
        to.proof(merkle::prove_leaf(&Stored(&*file), seq - 1, size)?)?;
    }
    Ok(())
}

/// The records of a workflow up to `last` and, if they are stubs, the prunes that name it.
fn of_workflow(history: &History, id: WorkflowId, last: u64) -> Result<Vec<Vec<u8>>, LedgerError> {
    let own = Filter { workflow: Some(*id.as_bytes()), ..Filter::default() };
    let mut lines = all(history, own, last)?;
    if lines.iter().any(|line| line::is_stub(line)) {
        let stream = StreamId::Workflow(id).to_string();
        let prunes = Filter { kinds: vec!["pruned".to_owned()], ..Filter::default() };
        let prunes = all(history, prunes, last)?;
        lines.extend(prunes.into_iter().filter(|line| pruned_by(line).contains(&stream)));
    }
    if lines.is_empty() {
        let refusal = baton_protocol::refusal::Refusal::UnknownWorkflow { workflow: id };
        let what = "there is nothing to export".to_owned();
        return Err(LedgerError::Failed { what, source: Box::new(refusal) });
    }
    lines.sort_by_key(|line| Envelope::read(line).map_or(0, |envelope| envelope.seq));
    Ok(lines)
}

fn all(history: &History, filter: Filter, last: u64) -> Result<Vec<Vec<u8>>, LedgerError> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut filter = Filter { limit: RECORDS_MAX, before_seq: Some(last + 1), ..filter };
    loop {
        let page = history.lines(&filter)?;
        let Some(newest) = page.last() else { return Ok(lines) };
        let envelope = Envelope::read(newest).map_err(failed("cannot read a record"))?;
        filter.after_seq = Some(envelope.seq);
        lines.extend(page);
    }
}
