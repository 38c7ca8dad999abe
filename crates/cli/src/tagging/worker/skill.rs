//! Runs the program of a skill: without a shell, marked as an agent's, with its request.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use baton_protocol::mask;
use baton_tags::Item;
use baton_tags::dispatch::{Filling, Mode, Route};
use rustix::process::{Pid, Signal, kill_process};

use super::OUTPUT;

/// Bytes of what a program says that are kept as its answer, and of its log.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
const LOG_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Bytes of one line; a longer one is passed on in pieces.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// How long its output is heard after it has ended.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How often is looked whether a program has begun that is to be ended.
const BEGINS_WITHIN: Duration = Duration::from_millis(10);

/// What a program is told.
pub(crate) struct Job<'a> {
    pub(crate) argv: Vec<String>,
    pub(crate) root: &'a Path,
    pub(crate) session: &'a Path,
    pub(crate) request: &'a [u8],
    pub(crate) facts: Vec<(&'static str, String)>,
    /// Whether a person is at its terminal.
    pub(crate) interactive: bool,
}

/// The words to start: what the table says, or Claude Code with the skill as its command.
pub(crate) fn argv(route: &Route, item: &Item, with: &Filling<'_>, mode: Mode) -> Vec<String> {
    if let Some(command) = &route.command {
        return command.filled(with);
    }
    let mut asked = format!("{} {}", with.skill, with.file);
    if !item.key.is_on_tags_line() {
        // One of several in the file.
        asked.push_str(&format!(" (only the item on line {}: {})", item.line, item.text));
    }
    let words: &[&str] = match mode {
        Mode::Interactive => &["claude"],
        Mode::Async | Mode::Agent => &["claude", "-p"],
    };
    words.iter().map(|word| (*word).to_owned()).chain([asked]).collect()
}

impl Job<'_> {
    /// Runs it to its end. Returns how it ended, and what it said if nobody was at its terminal.
    pub(crate) fn run(&self) -> io::Result<(ExitStatus, Vec<u8>)> {
        let (program, arguments) = self.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.root)
            // It is an agent, whoever started us: it speaks with nobody else's credential.
            .env_remove("BATON_TOKEN")
            .env_remove("BATON_URL")
            .envs(self.facts.iter().map(|(name, value)| (name, value)));
        if self.interactive {
            let ends = interrupts();
            let mut child = command.spawn()?;
            ends.store(child.id(), Ordering::SeqCst);
            return Ok((child.wait()?, Vec::new()));
        }
        let log = File::create(self.session.join(OUTPUT))?;
        let ends = interrupts();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        ends.store(child.id(), Ordering::SeqCst);
        if let Some(mut stdin) = child.stdin.take() {
            let request = self.request.to_vec();
            // A program that does not read its request is no failure.
            thread::spawn(move || stdin.write_all(&request));
        }
        let said = Arc::new(Mutex::new(Vec::new()));
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let heard_out = hearing(out, log.try_clone()?, Some(said.clone()));
        let heard_err = hearing(err, log, None);
        let status = child.wait()?;
        // What it left running may hold its output open for ever, and is not waited for.
        for heard in [heard_out, heard_err] {
            let _ = heard.recv_timeout(LAST_WORDS);
        }
        let said = std::mem::take(&mut *said.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((status, said))
    }
}

/// Whoever ends the worker ends the work: the program is told, and what it held goes back to a
/// person. Without this the worker would just be gone, and the program go on.
///
/// Returns once signals are heard, which must be before there is a program; its number goes into
/// what is returned.
fn interrupts() -> Arc<AtomicU32> {
    use tokio::signal::unix::{SignalKind, signal};
    let child = Arc::new(AtomicU32::new(0));
    let (ready, heard) = channel();
    let ends = child.clone();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
            let [Ok(mut int), Ok(mut term), Ok(mut hup)] = kinds.map(signal) else { return };
            let _ = ready.send(());
            loop {
                tokio::select! {
                    _ = int.recv() => (),
                    _ = term.recv() => (),
                    _ = hup.recv() => (),
                }
                // It may be about to begin.
                while ends.load(Ordering::SeqCst) == 0 {
                    tokio::time::sleep(BEGINS_WITHIN).await;
                }
                let pid = i32::try_from(ends.load(Ordering::SeqCst)).ok().and_then(Pid::from_raw);
                // It may have ended by itself.
                let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
            }
        });
    });
    // Without signals it goes on all the same.
    let _ = heard.recv();
    child
}

/// Hears one beside everything else: passes it on, logs it, and keeps its beginning if that is
/// wanted. Returns what tells when it has ended.
fn hearing(
    from: Option<impl Read + Send + 'static>,
    log: File,
    said: Option<Arc<Mutex<Vec<u8>>>>,
) -> Receiver<()> {
    let (ended, heard) = channel();
    thread::spawn(move || {
        match &said {
            Some(said) => hear(from, &log, &mut io::stdout(), Some(said)),
            None => hear(from, &log, &mut io::stderr(), None),
        }
        // Nobody waits any more if it took too long.
        let _ = ended.send(());
    });
    heard
}

fn hear(
    from: Option<impl Read>,
    mut log: &File,
    shown: &mut impl Write,
    said: Option<&Mutex<Vec<u8>>>,
) {
    let Some(from) = from else { return };
    let mut from = BufReader::new(from);
    let (mut logged, mut line) = (0, Vec::new());
    loop {
        line.clear();
        // By lines, because a secret is told by its line.
        match (&mut from).take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(1..) => (),
            Ok(0) | Err(_) => return,
        }
        // Whoever closed the terminal, or filled the disk, does not end the work.
        let _ = shown.write_all(&line).and_then(|()| shown.flush());
        if logged < LOG_BYTES_MAX {
            let _ = log.write_all(mask(&String::from_utf8_lossy(&line)).as_bytes());
            logged += line.len() as u64;
        }
        if let Some(said) = said {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            let room = ANSWER_BYTES_MAX - said.len();
            said.extend_from_slice(&line[..line.len().min(room)]);
        }
    }
}
