//! Runs the program of a skill: without a shell, marked as an agent's, with its request.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use baton_tags::dispatch::{Filling, Mode, Route, Skill};

/// Bytes of what a program says that are kept as its answer, and of its log.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;
const LOG_BYTES_MAX: u64 = 64 * 1024 * 1024;

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
pub(crate) fn argv(route: &Route, skill: &Skill, with: &Filling<'_>, mode: Mode) -> Vec<String> {
    if let Some(command) = &route.command {
        return command.filled(with);
    }
    let asked = format!("{skill} {}", with.file);
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
            return Ok((command.status()?, Vec::new()));
        }
        let log = File::create(self.session.join("output.log"))?;
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (log_out, log_err) = (log.try_clone()?, log);
        thread::scope(|scope| {
            scope.spawn(move || {
                // A program that does not read its request is no failure.
                stdin.map(|mut stdin| stdin.write_all(self.request))
            });
            let said = scope.spawn(move || heard(out, &log_out, &mut io::stdout()));
            let erred = scope.spawn(move || heard(err, &log_err, &mut io::stderr()));
            let status = child.wait();
            let said = said.join().unwrap_or_default();
            drop(erred.join());
            Ok((status?, said))
        })
    }
}

/// Hears one to its end: passes it on, logs it, and keeps its beginning.
fn heard(from: Option<impl Read>, mut log: &File, shown: &mut impl Write) -> Vec<u8> {
    let Some(mut from) = from else { return Vec::new() };
    let (mut said, mut logged) = (Vec::new(), 0);
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        let chunk = &chunk[..count];
        // Whoever closed the terminal, or filled the disk, does not end the work.
        let _ = shown.write_all(chunk).and_then(|()| shown.flush());
        if logged < LOG_BYTES_MAX {
            let _ = log.write_all(chunk);
            logged += count as u64;
        }
        let room = ANSWER_BYTES_MAX - said.len();
        said.extend_from_slice(&chunk[..count.min(room)]);
    }
    said
}
