//! Checking the whole ledger: every line against its hash, every record against the one before it
//! in its stream, every body against the name that a record has for it, and all records against
//! every signed checkpoint.

use std::io;

use memchr::memmem;

use crate::blob::Blobs;
use crate::causes::causes;
use crate::disk::Disk;
use crate::hash::Hash;
use crate::ledger::{Against, Checked};
use crate::log::{Cursor, LogError, LogReader};
use crate::proof::audit::{Audit, Wrong, stream_of};
use crate::proof::checkpoints::{self, Next, Notes};
use crate::proof::merkle::leaf;
use crate::proof::note::{Checkpoint, VerifierKey};
use crate::proof::tree::Tree;
use crate::record::Record;

/// How a record that names a body says so. A text may hold it, too, so finding it only means that
/// the record is read whole.
pub(super) const NAMES_BODY: &[u8] = b"\"blob\":{";

/// What a check looks at.
pub(super) struct Check<'a> {
    pub(super) reader: &'a LogReader,
    pub(super) disk: &'a dyn Disk,
    pub(super) blobs: &'a Blobs,
    /// The last durable record.
    pub(super) last: u64,
    /// The key of the ledger, if it has one.
    pub(super) key: Option<VerifierKey>,
    /// Why not everything is signed, if that is so, and whether that is a defect.
    pub(super) unsigned: Option<(String, bool)>,
    pub(super) against: Against,
}

/// Checkpoints that the records must agree with, the smallest first, and what is wrong with them.
#[derive(Default)]
struct Signed {
    expected: Vec<Checkpoint>,
    wrong: Option<Wrong>,
    notes: Vec<String>,
}

impl Check<'_> {
    /// Reads all records and names the first that is wrong.
    pub(super) fn run(&self) -> Checked {
        let signed = self.signed();
        let mut audit = Audit::default();
        let mut agreed = 0;
        let wrong = self.records(&mut audit, &signed.expected, &mut agreed);
        let mut checked = audit.chains.checked(None);
        checked.checkpoints = agreed as u64;
        checked.signed = agreed.checked_sub(1).map_or(0, |at| signed.expected[at].size);
        checked.pruned = audit.stubs.count();
        checked.key = self.key.as_ref().map(ToString::to_string);
        checked.notes = signed.notes;
        let beyond = || {
            let missing = signed.expected.get(agreed)?;
            let seq = self.last + 1;
            let what = format!("record {seq} is missing: a checkpoint is over {}", missing.size);
            Some(Wrong { what, record: Some(seq), stream: None })
        };
        if let Some(wrong) = wrong.or_else(|| audit.stubs.wrong()).or_else(beyond).or(signed.wrong)
        {
            wrong.tell(&mut checked);
        }
        checked
    }

    /// Walks all records, comparing each checkpoint when its size is reached.
    fn records(
        &self,
        audit: &mut Audit,
        expected: &[Checkpoint],
        agreed: &mut usize,
    ) -> Option<Wrong> {
        let mut wrong = None;
        let walked = self.reader.walk(Cursor::START, self.last, |_, seq, line| {
            let judged = audit.take(line).and_then(|_| {
                if memmem::find(line, NAMES_BODY).is_some() {
                    body(self.blobs, line).map_err(|why| Wrong::with(seq, line, why))?;
                }
                while let Some(next) = expected.get(*agreed).filter(|next| next.size == seq) {
                    if next.root != audit.tree.root() {
                        let before = agreed.checked_sub(1).map_or(0, |at| expected[at].size);
                        return Err(self.first_changed(before, next));
                    }
                    *agreed += 1;
                }
                Ok(())
            });
            judged.map_err(|found| {
                wrong = Some(found);
                LogError::Visit { seq, source: "it is not as it was".into() }
            })
        });
        match walked {
            Ok(_) => None,
            Err(LogError::Corrupt { seq, .. }) if wrong.is_none() => {
                let what = walked.err().map(|error| causes(&error)).unwrap_or_default();
                Some(Wrong { what, record: Some(seq), stream: None })
            }
            Err(error) => Some(wrong.unwrap_or_else(|| Wrong::what(causes(&error)))),
        }
    }

    /// Names the first record that is not the one that was signed. The tree that was kept beside
    /// the log knows it, if it is still the signed one; otherwise it is known up to a checkpoint.
    fn first_changed(&self, before: u64, signed: &Checkpoint) -> Wrong {
        let by_tree = || -> io::Result<Option<Wrong>> {
            let tree = Tree::open(self.disk, signed.size)?;
            if tree.size() < signed.size || tree.root_at(signed.size)? != signed.root {
                return Ok(None);
            }
            let mut found = None;
            let walked = self.reader.walk(Cursor::START, signed.size, |_, seq, line| {
                let same = match (tree.leaf(seq - 1), crate::line::said(line)) {
                    (Ok(kept), Some(hash)) => kept == leaf(&hash),
                    _ => false,
                };
                if same {
                    return Ok(());
                }
                found = Some((seq, stream_of(line)));
                Err(LogError::Visit { seq, source: "it is another".into() })
            });
            drop(walked);
            Ok(found.map(|(seq, stream)| Wrong {
                what: format!("record {seq} is not the one that was signed"),
                record: Some(seq),
                stream,
            }))
        };
        by_tree().ok().flatten().unwrap_or_else(|| Wrong {
            what: format!(
                "records {} to {} are not those that were signed",
                before + 1,
                signed.size
            ),
            record: Some(before + 1),
            stream: None,
        })
    }

    /// Reads all checkpoints and the one that was kept elsewhere.
    fn signed(&self) -> Signed {
        let mut signed = Signed::default();
        if let (Some(own), Some(key)) = (&self.key, &self.against.key)
            && own != key
        {
            let what = format!("the ledger's checkpoints are signed with {own}, not with {key}");
            signed.wrong = Some(Wrong::what(what));
        }
        if let Some((why, defect)) = &self.unsigned {
            match defect {
                true => signed.wrong = Some(Wrong::what(why.clone())),
                false => signed.notes.push(format!("not everything is signed: {why}")),
            }
        }
        let key = self.against.key.as_ref().or(self.key.as_ref());
        let Some(key) = key else {
            return signed;
        };
        if let Err(error) = self.read(key, &mut signed) {
            signed.wrong = Some(Wrong::what(format!("cannot read the checkpoints: {error}")));
        }
        signed.expected.retain(|checkpoint| checkpoint.size <= self.last);
        if let Some(since) = &self.against.since {
            match Checkpoint::open(since, key) {
                Ok(checkpoint) => signed.expected.push(checkpoint),
                Err(error) => {
                    let what = format!("the checkpoint that was given cannot be used: {error}");
                    signed.wrong = Some(Wrong::what(what));
                }
            }
        }
        signed.expected.retain(|checkpoint| checkpoint.size > 0);
        signed.expected.sort_by_key(|checkpoint| checkpoint.size);
        signed
    }

    fn read(&self, key: &VerifierKey, signed: &mut Signed) -> io::Result<()> {
        for (path, left) in checkpoints::files(self.disk)? {
            let mut notes = Notes::open(self.disk, &path)?;
            let place = self.disk.place(&path);
            if let Some(left) = left {
                let note = format!("an operator accepted that what followed record {left} is lost");
                signed.notes.push(note);
            }
            loop {
                let wrong = match notes.next()? {
                    Next::End => break,
                    Next::Damaged(at) => format!("{place} is damaged at byte {at}"),
                    Next::Note(note) => match Checkpoint::open(&note, key) {
                        Ok(found) if left.is_none_or(|left| found.size <= left) => {
                            signed.expected.push(found);
                            continue;
                        }
                        Ok(_) => continue,
                        Err(error) => {
                            let what = format!("a checkpoint in {place} cannot be used: {error}");
                            signed.wrong.get_or_insert_with(|| Wrong::what(what));
                            continue;
                        }
                    },
                };
                signed.wrong.get_or_insert_with(|| Wrong::what(wrong));
                break;
            }
        }
        Ok(())
    }
}

/// Reads the body that a record names.
fn body(blobs: &Blobs, line: &[u8]) -> Result<(), String> {
    let record = Record::read(line).map_err(|error| error.to_string())?;
    if let Some(body) = record.event.body() {
        let name = Hash::from_hex(body.sha256.as_bytes()).map_err(|error| error.to_string())?;
        let read = blobs.read(&name);
        read.map_err(|error| format!("record {}: {}", record.seq, causes(&error)))?;
    }
    Ok(())
}
