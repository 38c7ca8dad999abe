//! The audit as files in the project, for those who want it beside the code: one line a record,
//! one file a day.
//!
//! It follows the ledger and is its own cursor: the number in the last whole line says where to go
//! on. So a restart loses no line and doubles none, and a line that a crash tore is written again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_store::{Filter, LedgerError};
use serde_json::Value;

use crate::engine::Engine;

const SUFFIX: &str = ".jsonl";
/// How much of a file's end is read to find its last line; a line is a few texts of 4 KiB.
const TAIL_BYTES: u64 = 1024 * 1024;
/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(5);

impl Engine {
    /// Writes the audit of every handoff to `folder` until the ledger stops.
    pub async fn run_audit_files(&self, folder: PathBuf) {
        let mut changes = self.changes();
        let mut after = None;
        loop {
            changes.mark_unchanged();
            match self.write_audit_files(&folder, &mut after).await {
                Ok(0) => {
                    if changes.changed().await.is_err() {
                        return;
                    }
                }
                Ok(_) => (),
                Err(failure) => {
                    after = None;
                    let why = baton_store::causes(&failure);
                    tracing::warn!(why, folder = %folder.display(), "could not write the audit");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
    }

    /// Writes what follows the record `after`, or what the files have; returns how many records
    /// were looked at.
    pub async fn write_audit_files(
        &self,
        folder: &Path,
        after: &mut Option<u64>,
    ) -> Result<usize, LedgerError> {
        let failed = |source: io::Error| LedgerError::Failed {
            what: format!("cannot write to {}", folder.display()),
            source: Box::new(source),
        };
        let from = match *after {
            Some(seq) => seq,
            None => last_in(folder).map_err(failed)?,
        };
        let filter = Filter { after_seq: Some(from), ..Filter::default() };
        let page = self.ledger.history(filter).await?;
        let mut last = from;
        let mut days: Vec<(String, Vec<u8>)> = Vec::new();
        for line in &page {
            let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
            last = record["seq"].as_u64().unwrap_or(last);
            let Some((day, text)) = audit_line(&record) else { continue };
            match days.last_mut().filter(|(name, _)| *name == day) {
                Some((_, lines)) => lines.extend_from_slice(&text),
                None => days.push((day, text)),
            }
        }
        let count = page.len();
        let target = folder.to_owned();
        let written = tokio::task::spawn_blocking(move || append(&target, &days)).await;
        written.map_err(io::Error::other).and_then(|written| written).map_err(failed)?;
        *after = Some(last);
        Ok(count)
    }
}

/// The day of a record and its line: what auditors ask for, and where it is in the ledger.
fn audit_line(record: &Value) -> Option<(String, Vec<u8>)> {
    let audit = record["audit"].as_object()?;
    let day = audit.get("timestamp")?.as_str()?.get(..10)?.to_owned();
    let mut line = serde_json::Map::new();
    line.insert("seq".to_owned(), record["seq"].clone());
    line.extend(audit.clone());
    let mut text = serde_json::to_vec(&line).ok()?;
    text.push(b'\n');
    Some((day, text))
}

fn append(folder: &Path, days: &[(String, Vec<u8>)]) -> io::Result<()> {
    if days.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    for (day, lines) in days {
        let path = folder.join(format!("{day}{SUFFIX}"));
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(lines)?;
        file.sync_data()?;
    }
    File::open(folder)?.sync_all()
}

/// The number of the last record that the files have. What a crash left of a line is cut off.
fn last_in(folder: &Path) -> io::Result<u64> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        if let Ok(name) = entry?.file_name().into_string() {
            let is_day = |day: &str| day.len() == 10 && day.bytes().all(|b| b.is_ascii_graphic());
            if name.strip_suffix(SUFFIX).is_some_and(is_day) {
                names.push(name);
            }
        }
    }
    names.sort_unstable();
    while let Some(name) = names.pop() {
        if let Some(seq) = last_of(&folder.join(name))? {
            return Ok(seq);
        }
    }
    Ok(0)
}

fn last_of(path: &Path) -> io::Result<Option<u64>> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    (&file).take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < bytes.len() {
        file.set_len(from + whole as u64)?;
    }
    let mut lines = bytes[..whole].rsplit(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let Some(last) = lines.next() else { return Ok(None) };
    let read: Value = serde_json::from_slice(last)?;
    let seq = read["seq"].as_u64();
    seq.map(Some).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a line has no seq"))
}
