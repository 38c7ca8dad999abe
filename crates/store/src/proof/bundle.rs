//! A bundle: records in one file that anybody can check without the ledger they come from.
//!
//! ```text
//! {"bundle":1,"scope":"all","records":N,"key":"…","checkpoint":"<signed note>"}
//! {"leaves":["<hash of record 1>",…]}          a thousand at a time, for `all`
//! <the records' lines, byte for byte>          for one workflow, each followed by
//! {"proof":["<sibling>",…]}                    its proof that it is in the tree
//! {"manifest":"<signed note over the SHA-256 of everything before this line>"}
//! ```
//!
//! The checkpoint proves that the records are the ledger's; the manifest, that nothing was taken
//! out of the bundle. Checking trusts nothing in the file but what the given key has signed.

use std::io::{self, BufRead, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::audit::{Audit, Stubs, Wrong, pruned_by, stream_of};
use super::merkle::{self, Frontier};
use super::note::{Checkpoint, Signer, VerifierKey};
use crate::hash::Hash;
use crate::ledger::Checked;
use crate::line::{self, Envelope, LINE_BYTES_MAX};

/// The scope of a bundle with all records.
pub(crate) const ALL: &str = "all";
const VERSION: u32 = 1;
const MANIFEST: &[u8] = b"{\"manifest\":";
/// Hashes in one line of leaves.
const LEAVES_MAX: usize = 1_000;

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) bundle: u32,
    pub(crate) scope: String,
    pub(crate) records: u64,
    pub(crate) key: String,
    pub(crate) checkpoint: String,
    /// Proof that the tree goes on from an older one, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Growth>,
}

/// A proof that a tree grew out of an older one.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Growth {
    pub(crate) size: u64,
    pub(crate) proof: Vec<Hash>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Leaves {
    leaves: Vec<Hash>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Proof {
    proof: Vec<Hash>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    manifest: String,
}

fn manifest(name: &str, digest: Hash) -> String {
    format!("{name} bundle\n{}\n", STANDARD.encode(digest.as_bytes()))
}

/// A bundle that is being written.
pub(crate) struct Writer<W> {
    to: W,
    digest: Sha256,
    leaves: Vec<Hash>,
    pub(crate) bytes: u64,
}

impl<W: Write> Writer<W> {
    /// Begins with the header.
    pub(crate) fn new(to: W, header: &Header) -> io::Result<Self> {
        let mut writer = Self { to, digest: Sha256::new(), leaves: Vec::new(), bytes: 0 };
        writer.json(&Header { bundle: VERSION, ..header.copy() })?;
        Ok(writer)
    }

    fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.line(&serde_json::to_vec(value)?)
    }

    /// Adds a line as it is.
    pub(crate) fn line(&mut self, line: &[u8]) -> io::Result<()> {
        for bytes in [line, b"\n"] {
            self.digest.update(bytes);
            self.to.write_all(bytes)?;
            self.bytes += bytes.len() as u64;
        }
        Ok(())
    }

    /// Adds the hash of the next record, for a bundle with all of them.
    pub(crate) fn leaf(&mut self, record: Hash) -> io::Result<()> {
        self.leaves.push(record);
        if self.leaves.len() == LEAVES_MAX { self.end_leaves() } else { Ok(()) }
    }

    /// Ends the hashes.
    pub(crate) fn end_leaves(&mut self) -> io::Result<()> {
        let leaves = std::mem::take(&mut self.leaves);
        if leaves.is_empty() { Ok(()) } else { self.json(&Leaves { leaves }) }
    }

    /// Adds the proof for the record before it.
    pub(crate) fn proof(&mut self, proof: Vec<Hash>) -> io::Result<()> {
        self.json(&Proof { proof })
    }

    /// Signs and ends the bundle.
    pub(crate) fn end(mut self, signer: &Signer) -> io::Result<(W, u64)> {
        let digest = Hash::from_bytes(std::mem::take(&mut self.digest).finalize().into());
        let manifest = signer.sign(&manifest(signer.verifier().name(), digest));
        self.json(&Manifest { manifest })?;
        Ok((self.to, self.bytes))
    }
}

impl Header {
    fn copy(&self) -> Self {
        let since = self.since.as_ref().map(|g| Growth { size: g.size, proof: g.proof.clone() });
        let (scope, key) = (self.scope.clone(), self.key.clone());
        let checkpoint = self.checkpoint.clone();
        Self { bundle: self.bundle, scope, records: self.records, key, checkpoint, since }
    }
}

/// Checks a bundle against a key and, if one is given, an older checkpoint that was kept.
///
/// What is wrong with it is in the answer; an error means that it could not be read.
pub fn verify_bundle(
    from: impl BufRead,
    key: &VerifierKey,
    since: Option<&str>,
) -> io::Result<Checked> {
    let mut checked = Checked { key: Some(key.to_string()), ..Checked::default() };
    let mut bundle = Bundle { lines: Lines { from, digest: Sha256::new() }, key };
    match bundle.verify(since, &mut checked) {
        Ok(()) => (),
        Err(Stop::Io(error)) => return Err(error),
        Err(Stop::Wrong(wrong)) => wrong.tell(&mut checked),
    }
    Ok(checked)
}

enum Stop {
    Io(io::Error),
    Wrong(Wrong),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Wrong> for Stop {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

fn wrong(what: impl Into<String>) -> Stop {
    Stop::Wrong(Wrong::what(what))
}

struct Lines<R> {
    from: R,
    digest: Sha256,
}

impl<R: BufRead> Lines<R> {
    /// The next line without its newline; `None` at the end, or where a line is cut.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        let most = LINE_BYTES_MAX as u64 + 1;
        (&mut self.from).take(most).read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Ok(None);
        }
        Ok(Some(line))
    }

    /// The next line, which is part of what the manifest is over.
    fn signed(&mut self) -> io::Result<Option<Vec<u8>>> {
        let line = self.next()?;
        if let Some(line) = &line {
            self.digest.update(line);
            self.digest.update(b"\n");
        }
        Ok(line)
    }
}

struct Bundle<'k, R> {
    lines: Lines<R>,
    key: &'k VerifierKey,
}

impl<R: BufRead> Bundle<'_, R> {
    fn verify(&mut self, since: Option<&str>, checked: &mut Checked) -> Result<(), Stop> {
        let first = self.lines.signed()?.unwrap_or_default();
        let header: Header = serde_json::from_slice(&first)
            .map_err(|error| wrong(format!("its first line is not a bundle's: {error}")))?;
        if header.bundle != VERSION {
            return Err(wrong(format!("it is of version {}, known is {VERSION}", header.bundle)));
        }
        let open = |note: &str, what: &str| {
            Checkpoint::open(note, self.key).map_err(|error| wrong(format!("{what}: {error}")))
        };
        let tree = open(&header.checkpoint, "its checkpoint cannot be used")?;
        let since = since.map(|note| open(note, "the older checkpoint cannot be used"));
        let since = since.transpose()?;
        if let Some(since) = since.filter(|since| since.size > tree.size) {
            let seq = tree.size + 1;
            let what = format!("record {seq} is missing: the older checkpoint has {}", since.size);
            return Err(Wrong { what, record: Some(seq), stream: None }.into());
        }
        match header.scope.as_str() {
            ALL => self.all(&header, &tree, since, checked)?,
            _ => self.workflow(&header, &tree, since, checked)?,
        }
        (checked.checkpoints, checked.signed) = (1 + u64::from(since.is_some()), tree.size);
        self.end(&header)
    }

    /// All records from the first on.
    fn all(
        &mut self,
        header: &Header,
        tree: &Checkpoint,
        since: Option<Checkpoint>,
        checked: &mut Checked,
    ) -> Result<(), Stop> {
        let (leaves, first) = self.leaves(tree)?;
        let mut audit = Audit::default();
        let mut line = first;
        for seq in 1..=tree.size {
            let next = match line.take() {
                Some(next) => next,
                None => self.record(seq)?,
            };
            let taken = audit.take(&next);
            *checked = Checked { key: checked.key.take(), ..audit.chains.checked(None) };
            let hash = taken?;
            if leaves.get(seq as usize - 1).is_some_and(|leaf| *leaf != hash) {
                let what = format!("record {seq} is not the one that was signed");
                return Err(Wrong::with(seq, &next, what).into());
            }
            let root = since.filter(|since| since.size == seq).map(|since| since.root);
            if root.is_some_and(|root| root != audit.tree.root()) {
                let what = format!("the first {seq} records are not those of the older checkpoint");
                return Err(wrong(what));
            }
        }
        checked.pruned = audit.stubs.count();
        if audit.tree.root() != tree.root {
            let what = format!("the {} records are not those that were signed", tree.size);
            return Err(wrong(what));
        }
        if let Some(wrong) = audit.stubs.wrong() {
            return Err(wrong.into());
        }
        if header.records != tree.size {
            return Err(wrong(format!("it says that it has {} records", header.records)));
        }
        Ok(())
    }

    /// The list of hashes, if it is the signed one; it tells which record is wrong. Without it
    /// that something is wrong is found all the same. Returns also the line that follows it.
    fn leaves(&mut self, tree: &Checkpoint) -> Result<(Vec<Hash>, Option<Vec<u8>>), Stop> {
        let mut frontier = Frontier::default();
        let mut all = Vec::new();
        let next = loop {
            let Some(line) = self.lines.signed()? else { break None };
            let Ok(Leaves { leaves }) = serde_json::from_slice(&line) else { break Some(line) };
            for record in &leaves {
                frontier.push(merkle::leaf(record), |_| ());
            }
            all.extend(leaves);
            if frontier.size() >= tree.size {
                break None;
            }
        };
        if (frontier.size(), frontier.root()) != (tree.size, tree.root) {
            all.clear();
        }
        // A damaged line of hashes is not a record, and must not be taken for the first.
        let next =
            next.filter(|line| !line.starts_with(b"{\"leaves\"") && line::said(line).is_some());
        Ok((all, next))
    }

    /// The line of the record `seq`.
    fn record(&mut self, seq: u64) -> Result<Vec<u8>, Stop> {
        let line = self.lines.signed()?.filter(|line| !line.starts_with(MANIFEST));
        line.ok_or_else(|| {
            let what = format!("record {seq} is missing: the bundle ends before it");
            Wrong { what, record: Some(seq), stream: None }.into()
        })
    }

    /// The records of one workflow, each with its proof.
    fn workflow(
        &mut self,
        header: &Header,
        tree: &Checkpoint,
        since: Option<Checkpoint>,
        checked: &mut Checked,
    ) -> Result<(), Stop> {
        if let Some(since) = since {
            let Some(growth) = header.since.as_ref().filter(|growth| growth.size == since.size)
            else {
                let what = "it has no proof from that checkpoint: export with the same --since";
                return Err(wrong(what));
            };
            let (old, new) = ((since.size, since.root), (tree.size, tree.root));
            if !merkle::check_growth(&growth.proof, old, new) {
                return Err(wrong("its tree does not go on from the older checkpoint"));
            }
        }
        let (mut version, mut prev, mut after) = (0, Hash::default(), 0);
        let mut stubs = Stubs::default();
        let mut closed = false;
        for _ in 0..header.records {
            let line = self.record(after + 1)?;
            let link = Link::read(&line, after)?;
            let own = stream_of(&line).as_deref() == Some(header.scope.as_str());
            if own && (link.version, link.prev) != (version + 1, prev) {
                let what = format!("record {} does not follow its stream's last one", link.seq);
                return Err(Wrong::with(link.seq, &line, what).into());
            }
            if !own && pruned_by(&line).is_empty() {
                let what = format!("record {} is not of {}", link.seq, header.scope);
                return Err(Wrong::with(link.seq, &line, what).into());
            }
            let proof = self.record(link.seq)?;
            let proven = serde_json::from_slice(&proof).is_ok_and(|Proof { proof }| {
                let leaf = merkle::leaf(&link.hash);
                merkle::check_leaf(&proof, tree.size, &tree.root, link.seq - 1, leaf)
            });
            if !proven {
                let what = format!("record {} is not proven to be in the ledger", link.seq);
                return Err(Wrong::with(link.seq, &line, what).into());
            }
            if own {
                (version, prev) = (link.version, link.hash);
                closed = memchr::memmem::find(&line, b"\"type\":\"closed\"").is_some();
            }
            stubs.note(link.seq, &line);
            after = link.seq;
            checked.records += 1;
        }
        (checked.streams, checked.pruned) = (1, stubs.count());
        if !closed && stubs.count() == 0 {
            checked.notes.push("the workflow was open when this was exported".to_owned());
        }
        stubs.wrong().map_or(Ok(()), |wrong| Err(wrong.into()))
    }

    /// The end: what the key has signed over everything before.
    fn end(&mut self, header: &Header) -> Result<(), Stop> {
        let digest = Hash::from_bytes(self.lines.digest.clone().finalize().into());
        let line = self.lines.next()?.unwrap_or_default();
        let changed = |why: &str| wrong(format!("the bundle is not as it was written: {why}"));
        let Ok(Manifest { manifest: note }) = serde_json::from_slice(&line) else {
            return Err(changed("its end is missing"));
        };
        let text = self.key.open(&note).map_err(|error| changed(&error.to_string()))?;
        if text != manifest(self.key.name(), digest) {
            return Err(changed("it is not what was signed"));
        }
        if header.key != self.key.to_string() || self.lines.from.read(&mut [0])? > 0 {
            return Err(changed("more follows its end"));
        }
        Ok(())
    }
}

/// Where a record of one workflow stands.
struct Link {
    seq: u64,
    version: u64,
    prev: Hash,
    hash: Hash,
}

impl Link {
    fn read(line: &[u8], after: u64) -> Result<Self, Stop> {
        #[derive(Deserialize)]
        struct Chained {
            version: u64,
            prev: Hash,
        }
        let damaged = |error: &dyn std::fmt::Display| {
            let what = format!("the record after {after} is damaged: {error}");
            Stop::Wrong(Wrong { what, record: None, stream: stream_of(line) })
        };
        let hash = line::check(line).map_err(|error| damaged(&error))?;
        let seq = Envelope::read(line).map_err(|error| damaged(&error))?.seq;
        let chained: Chained = serde_json::from_slice(line).map_err(|error| damaged(&error))?;
        if seq <= after {
            let what = format!("record {seq} stands after record {after}");
            return Err(Wrong::with(seq, line, what).into());
        }
        Ok(Self { seq, version: chained.version, prev: chained.prev, hash })
    }
}
