//! What coding agents' programs ask us by their hooks: each is a process of its own that reads what
//! happened, answers in that program's form, and ends.
//!
//! A hook stands between a person and their agent, many times a minute. So it is quick, it never
//! starts a coordinator, and whatever goes wrong, it says nothing and ends well: the work of the
//! agent goes on as if Baton were not there. [`client`] knows the programs, [`scene`] decides.

mod client;
mod end;
mod guard;
mod holds;
mod line;
mod memory;
mod notice;
mod scene;
mod statusline;
mod tool;
mod wire;

pub(crate) use client::{Moment, Program};
pub(crate) use statusline::statusline;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::panic;
use std::path::PathBuf;
use std::process::ExitCode;

use baton_protocol::id::AgentId;
use serde_json::Value;

use self::line::Line;
use self::scene::Scene;
use crate::workspace::Workspace;

/// Bytes of what a program tells.
const INPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Bytes beyond that are thrown away, so that whoever writes them is not hung up on.
const SPILL_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Who asks, and where, as far as the command line says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) agent: Option<AgentId>,
    pub(crate) workspace: Option<PathBuf>,
}

impl Session {
    /// The workspace that was named, or the nearest above where the program works, or above us.
    fn workspace(&self, folder: Option<&std::path::Path>) -> Option<Workspace> {
        if let Some(named) = &self.workspace {
            return Workspace::find(Some(named)).ok();
        }
        let there = folder.and_then(|folder| Workspace::above(folder).ok().flatten());
        there.or_else(|| Workspace::find(None).ok())
    }
}

/// Answers a hook without reading the whole command line, which takes longer than the answer; and
/// ends well even if it makes no sense: 2 would keep the agent from using its tool. Nothing if it
/// is something else, or a person tries it.
pub(crate) fn quick(words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    match line::read(words)? {
        _ if io::stdin().is_terminal() => return None,
        Line::Hook(moment, program, session) => hook(moment, program, &session),
        Line::Statusline(session) => statusline(&session),
        Line::Senseless(why) => trace(&why),
    }
    Some(ExitCode::SUCCESS)
}

/// Answers a hook on standard output.
pub(crate) fn hook(moment: Moment, program: Option<Program>, session: &Session) {
    harmless(|| {
        let form = input()?;
        let program = Program::of(program, &form);
        let told = program.read(&form);
        let scene = Scene::at(moment, told, session)?;
        let answer = program.answer(moment, &scene.play())?;
        Some(answer.to_string())
    });
}

/// Prints what `say` says. Not even a mistake of ours is told where it could do harm.
fn harmless(say: impl FnOnce() -> Option<String> + panic::UnwindSafe) {
    if std::env::var_os("BATON_HOOKS").is_some_and(|value| value == "off") {
        return;
    }
    if !is_traced() {
        panic::set_hook(Box::new(|_| ()));
    }
    let said = panic::catch_unwind(say).unwrap_or_default();
    if let Some(said) = said {
        // Whoever hung up does not want to know.
        let _ = io::stdout().lock().write_all(format!("{said}\n").as_bytes());
    }
}

/// What the program told us. Nothing at all is an empty form; what makes no sense is no form.
fn input() -> Option<Value> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock();
    stdin.by_ref().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        io::copy(&mut stdin.take(SPILL_BYTES_MAX), &mut io::sink()).ok()?;
        trace("the input is too long");
        return None;
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Some(Value::Object(Default::default()));
    }
    let form = serde_json::from_slice::<Value>(&bytes);
    form.inspect_err(|error| trace(&error.to_string())).ok().filter(Value::is_object)
}

fn is_traced() -> bool {
    std::env::var_os("BATON_LOG").is_some_and(|value| !value.is_empty())
}

/// Says why a hook is silent, to who asks for it with BATON_LOG.
fn trace(why: &str) {
    if is_traced() {
        let _ = writeln!(io::stderr(), "baton hook: {why}");
    }
}

/// A name for a command that nobody had before.
fn key() -> Option<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}
