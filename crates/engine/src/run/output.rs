//! What a run says: kept in a file with a limit, readable while it is written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use baton_protocol::command::Actor;
use baton_protocol::id::HandoffId;
use baton_protocol::limits::{
    LOG_PAGE_BYTES_MAX, RUN_LOG_BYTES_MAX, RUN_LOGS_KEPT, RUN_RESULT_BYTES_MAX, RUN_TAIL_BYTES_MAX,
};
use baton_protocol::mask;
use baton_store::{LedgerError, Scope};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio::sync::{Mutex, watch};

use crate::engine::Engine;
use crate::query::QueryError;

const LEFT_OUT: &[u8] = b"\n[baton: the rest was left out]\n";
const CHUNK_BYTES: usize = 16 * 1024;

/// A part of what a run said.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPage {
    /// What it said, in whole lines; secrets are masked.
    pub text: String,
    /// Where the next part begins, in bytes.
    pub next: u64,
    /// Whether nothing comes after this.
    pub over: bool,
}

/// Where the log of a handoff's runs is.
pub(super) fn path(data: &Path, handoff: HandoffId) -> PathBuf {
    data.join("logs").join(format!("{handoff}.log"))
}

/// A log that is written.
pub(super) struct Log {
    inner: Mutex<Written>,
    grown: watch::Sender<u64>,
}

struct Written {
    file: tokio::fs::File,
    bytes: u64,
    tail: Vec<u8>,
}

impl Log {
    /// Goes on with the log at `path`, and tells `grown` whenever there is more.
    pub(super) async fn open(path: &Path, grown: watch::Sender<u64>) -> io::Result<Self> {
        let mut options = tokio::fs::OpenOptions::new();
        let file = options.create(true).append(true).mode(0o600).open(path).await?;
        let bytes = file.metadata().await?.len();
        Ok(Self { inner: Mutex::new(Written { file, bytes, tail: Vec::new() }), grown })
    }

    /// Writes a line of ours. It is no part of what is said.
    pub(super) async fn title(&self, line: &str) {
        self.note(line.as_bytes()).await;
        self.inner.lock().await.tail.clear();
    }

    async fn note(&self, bytes: &[u8]) {
        if !bytes.is_empty()
            && let Err(error) = self.write(bytes).await
        {
            tracing::warn!(%error, "could not write the log of a run");
        }
    }

    async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.inner.lock().await;
        inner.tail.extend_from_slice(bytes);
        let over = inner.tail.len().saturating_sub(RUN_TAIL_BYTES_MAX);
        inner.tail.drain(..over);
        // The words about the rest take it over its limit, once.
        if inner.bytes > RUN_LOG_BYTES_MAX {
            return Ok(());
        }
        let room = usize::try_from(RUN_LOG_BYTES_MAX - inner.bytes).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        inner.file.write_all(kept).await?;
        inner.bytes += kept.len() as u64;
        if kept.len() < bytes.len() {
            inner.file.write_all(LEFT_OUT).await?;
            inner.bytes += LEFT_OUT.len() as u64;
        }
        inner.file.flush().await?;
        self.grown.send_modify(|count| *count += 1);
        Ok(())
    }

    /// How it ended.
    pub(super) async fn tail(&self) -> String {
        printable(&self.inner.lock().await.tail)
    }
}

/// What a terminal can be shown.
fn printable(bytes: &[u8]) -> String {
    let shown = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    String::from_utf8_lossy(bytes).chars().filter(shown).collect()
}

/// Standard output as a whole, as far as there is room.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) bytes: Vec<u8>,
    pub(super) cut: bool,
}

/// How a private key in a text begins and ends.
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "-----END ";
const KEY_NAMED: &str = "PRIVATE KEY-----";
/// Bytes that are held back at most, for the rest of a line or of a key.
const HELD_BACK_MAX: usize = 64 * 1024;
/// The longest word that may be a secret.
const SECRET_BYTES_MAX: usize = 16 * 1024;

/// Masks what was said, whole lines and whole keys at a time: a secret that comes in two pieces is
/// one secret.
#[derive(Default)]
struct Masked {
    held: Vec<u8>,
}

impl Masked {
    /// Takes what was said and returns what can be shown now.
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let lines = self.held.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(&self.held[..lines]);
        let open = text.rfind(KEY_BEGINS).filter(|at| {
            let rest = &text[*at..];
            rest.contains(KEY_NAMED) && !rest.contains(KEY_ENDS)
        });
        // Invalid bytes become longer letters, so the place is looked up in the bytes themselves.
        let whole = match open {
            Some(_) => rfind(&self.held[..lines], KEY_BEGINS.as_bytes()).unwrap_or(0),
            None => lines,
        };
        let much = self.held.len() - whole > HELD_BACK_MAX;
        self.release(if much { uncut(&self.held) } else { whole })
    }

    /// What is left at the end.
    fn rest(&mut self) -> Vec<u8> {
        self.release(self.held.len())
    }

    fn release(&mut self, count: usize) -> Vec<u8> {
        let said: Vec<u8> = self.held.drain(..count).collect();
        mask(&String::from_utf8_lossy(&said)).into_owned().into_bytes()
    }
}

/// How much of a text that has to end somewhere ends between two words: half a secret would not be
/// known as one. A word that is longer than any secret is cut.
pub(super) fn uncut(text: &[u8]) -> usize {
    let ends = |at: &usize| {
        let gap = matches!(text[*at], b' ' | b'\t' | b'\r' | b'\n' | b',' | b';');
        // What has a name goes with it.
        gap && !text[..*at].trim_ascii_end().ends_with(b":") && !text[..*at].ends_with(b"=")
    };
    let start = text.len().saturating_sub(SECRET_BYTES_MAX);
    (start..text.len()).rev().find(ends).unwrap_or(text.len())
}

fn rfind(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).rposition(|window| window == what)
}

/// Copies what comes from `from` into the log until it ends, and keeps it.
pub(super) async fn copy(mut from: impl AsyncRead + Unpin, log: &Log, said: &Mutex<Said>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut masked = Masked::default();
    // Whoever cannot be read any more has said all it will. It is read to its end also when the log
    // is full or cannot be written, or else it would wait for us for ever.
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        log.note(&masked.take(&chunk[..count])).await;
        let mut said = said.lock().await;
        let room = RUN_RESULT_BYTES_MAX - said.bytes.len();
        said.bytes.extend_from_slice(&chunk[..count.min(room)]);
        said.cut |= count > room;
    }
    log.note(&masked.rest()).await;
}

impl Engine {
    /// What the runs for a handoff said from the byte `after` on, if `viewer` may see the handoff.
    pub async fn log(
        &self,
        viewer: Actor,
        id: HandoffId,
        after: u64,
    ) -> Result<LogPage, QueryError> {
        let view = self.handoff(viewer, id).await?;
        let ended = matches!(view.line.state.as_str(), "completed" | "failed");
        let workflow = view.line.workflow;
        // Looked at before the file: whatever is said until then is in it.
        let owed = self.look(Scope::Workflow(workflow), move |world| {
            world.outbox.values().any(|effect| effect.delivers() == Some(id))
        });
        let over = !owed.await? && ended;
        let Some(data) = self.runs.data() else {
            return Ok(LogPage { text: String::new(), next: after, over });
        };
        let (bytes, more) = read(&path(data, id), after).await.map_err(|error| {
            let what = format!("cannot read the log of {id}");
            QueryError::Failed(LedgerError::Failed { what, source: Box::new(error) })
        })?;
        let whole = whole_letters(&bytes, over && !more);
        let text = String::from_utf8_lossy(&bytes[..whole]);
        let next = after.saturating_add(whole as u64);
        Ok(LogPage { text: text.into_owned(), next, over: over && !more })
    }

    /// Tells whenever a run said something.
    pub fn logs_grown(&self) -> watch::Receiver<u64> {
        self.runs.grown.subscribe()
    }
}

async fn read(path: &Path, after: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut file = match tokio::fs::File::open(path).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), false)),
        file => file?,
    };
    if after >= file.metadata().await?.len() {
        return Ok((Vec::new(), false));
    }
    file.seek(io::SeekFrom::Start(after)).await?;
    let mut bytes = Vec::new();
    let most = LOG_PAGE_BYTES_MAX as u64;
    file.take(most + 1).read_to_end(&mut bytes).await?;
    let more = bytes.len() > LOG_PAGE_BYTES_MAX;
    bytes.truncate(LOG_PAGE_BYTES_MAX);
    Ok((bytes, more))
}

/// How many bytes end with a whole letter; a letter whose rest is yet to come waits for it.
fn whole_letters(bytes: &[u8], last: bool) -> usize {
    let start = bytes.len().saturating_sub(4);
    let unfinished = (start..bytes.len())
        .find(|at| std::str::from_utf8(&bytes[*at..]).is_err_and(|e| e.error_len().is_none()));
    match unfinished {
        Some(at) if !last => {
            let good = std::str::from_utf8(&bytes[at..]).map_or_else(|e| e.valid_up_to(), str::len);
            at + good
        }
        Some(_) | None => bytes.len(),
    }
}

/// Drops logs that nobody wrote to for long.
pub(super) fn sweep(data: &Path) {
    let Ok(logs) = fs::read_dir(data.join("logs")) else { return };
    let kept = RUN_LOGS_KEPT.as_duration();
    for log in logs.flatten() {
        let written = log.metadata().and_then(|found| found.modified());
        let age = written.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if age.is_some_and(|age| age > kept) {
            // One that cannot be removed now is found again at the next start.
            let _ = fs::remove_file(log.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_waits_for_its_rest() {
        let euro = "a€".as_bytes();
        assert_eq!(whole_letters(euro, false), 4);
        assert_eq!((whole_letters(&euro[..3], false), whole_letters(&euro[..3], true)), (1, 3));
        assert_eq!(
            whole_letters(b"\xff\xff", false),
            2,
            "what never was a letter is not waited for"
        );
        assert_eq!(whole_letters(b"", false), 0);
    }

    #[test]
    fn a_line_without_an_end_is_not_shown_with_half_a_secret() {
        let key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
        let boundary = HELD_BACK_MAX + CHUNK_BYTES;
        for before in boundary - 60..boundary + 20 {
            let mut masked = Masked::default();
            let said = format!("{} {key} more", "x".repeat(before)).into_bytes();
            let mut shown = Vec::new();
            for piece in said.chunks(CHUNK_BYTES) {
                shown.extend(masked.take(piece));
            }
            shown.extend(masked.rest());
            let shown = String::from_utf8(shown).expect("a text");
            assert!(!shown.contains("ghp_") && shown.ends_with("] more"), "{before}");
        }
        let named = b"x password: hunter2";
        assert_eq!(uncut(named), 1, "what has a name goes with it");
        assert_eq!(uncut(b"xyz"), 3, "a word without an end ends somewhere");
    }

    #[test]
    fn a_secret_in_two_pieces_is_one_secret() {
        let mut masked = Masked::default();
        let key = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz";
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("a text");
        assert_eq!(text(masked.take(b"one\nkey ")), "one\n");
        assert_eq!(text(masked.take(&key.as_bytes()[..20])), "");
        let rest = text(masked.take(format!("{}\ntwo", &key[20..]).as_bytes()));
        assert!(rest.starts_with("key [masked") && !rest.contains(&key[20..]), "{rest}");
        assert_eq!(text(masked.rest()), "two");

        let mut masked = Masked::default();
        assert_eq!(text(masked.take(b"a\n-----BEGIN PRIVATE KEY-----\nMIIE")), "a\n");
        assert_eq!(text(masked.take(b"vQ\nmore\n")), "");
        let rest = text(masked.take(b"-----END PRIVATE KEY-----\nb\n"));
        assert!(rest.contains("[masked private-key]") && rest.ends_with("b\n"), "{rest}");
        masked.take(b"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n");
        assert_eq!(text(masked.rest()), "[masked private-key]");
    }

    #[tokio::test]
    async fn a_log_has_a_limit_and_output_is_read_to_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let log = Log::open(&path, watch::Sender::new(0)).await.expect("a log");
        let said = Mutex::new(Said::default());
        let much = vec![b'x'; usize::try_from(RUN_LOG_BYTES_MAX).expect("a size") + 1];
        copy(&much[..], &log, &said).await;
        copy(&b"the end"[..], &log, &said).await;
        let said = said.into_inner();
        assert_eq!((said.bytes.len(), said.cut), (RUN_RESULT_BYTES_MAX, true));
        assert!(log.tail().await.ends_with("the end"));
        let written = fs::read(&path).expect("a log");
        assert_eq!(written.len() as u64, RUN_LOG_BYTES_MAX + LEFT_OUT.len() as u64);
        assert!(written.ends_with(LEFT_OUT));
        let beyond = read(&path, u64::MAX).await.expect("nothing more");
        assert_eq!(beyond, (Vec::new(), false));
    }
}
