//! `baton work` and `baton attach`: does one piece of tagged work, and watches one.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use baton_tags::dispatch::Skill;
use baton_tags::state::State;
use baton_tags::{ItemKey, Stage, items, request};
use clap::Args;

use crate::failure::{Exit, Failure};
use crate::show::Output;
use crate::tagging::table::table;
use crate::tagging::tmux::{Tmux, socket};
use crate::tagging::worker::{Task, read};
use crate::tagging::{Ground, shown};

/// Claim one piece of tagged work and have its skill do it
///
/// Claims an approved item of FILE, runs the skill's command with the request on
/// its standard input, writes what came under `## Response` and swaps the tag to
/// #done. If the command fails, the item goes back to #needs with the reason, and
/// an alert is raised. This is what `baton run --monitor-tags` starts.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton work sessions/login/REQUEST.md
  baton work notes.md --item '#fix@1f2e3d4c' --headless")]
pub(crate) struct Work {
    /// The file
    file: PathBuf,
    /// Which item of it; otherwise the most urgent one that can be claimed
    #[arg(long, value_name = "ITEM")]
    item: Option<ItemKey>,
    /// Which skill; otherwise the one that the table names for this kind
    #[arg(long, value_name = "/SKILL")]
    skill: Option<Skill>,
    /// Nobody is at the terminal: keep what it says in the session's folder
    #[arg(long)]
    headless: bool,
}

impl Work {
    pub(crate) fn run(self, ground: &Ground, out: Output) -> Result<(), Failure> {
        let Self { file, item, skill, headless } = self;
        Task { file, item, skill, headless }.run(ground, &table(ground)?, out)
    }
}

/// Go to the tmux window of the agent that works on a file
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton attach sessions/login/REQUEST.md")]
pub(crate) struct Attach {
    /// The file
    file: PathBuf,
    /// Which item of it; otherwise the first that is claimed
    #[arg(long, value_name = "ITEM")]
    item: Option<ItemKey>,
    /// The tmux server, by the name of its socket (tmux -L)
    #[arg(long, value_name = "NAME", value_parser = socket)]
    tmux_socket: Option<String>,
}

impl Attach {
    pub(crate) fn run(self, ground: &Ground) -> Result<(), Failure> {
        let (_, path) = ground.files(&self.file)?;
        let text = read(&path)?;
        let nobody = |why: String| {
            let sentence = format!("{}: {why}", shown(&self.file));
            let hint = "`baton tag status` shows who works on what";
            Failure::new(Exit::NotFound, "no-window", sentence, hint)
        };
        let claimed = items(&text).into_iter().filter(|item| item.stage == Stage::Claimed);
        let meant = |key: &ItemKey| self.item.as_ref().is_none_or(|item| item == key);
        let held = { claimed }.find(|item| meant(&item.key));
        let held = held.ok_or_else(|| nobody("nobody works on it".to_owned()))?;
        let holder = request::session_of(&text, &held.key);
        let holder = holder.ok_or_else(|| nobody("it was claimed by hand".to_owned()))?;
        let state = State::read(&ground.root().join(holder.session.as_str()));
        let state = state.map_err(|error| nobody(error.to_string()))?;
        let tmux = Tmux { socket: self.tmux_socket };
        let panes = tmux.panes().map_err(|error| failed(&error))?;
        let pane = panes.into_iter().find(|pane| pane.pid == state.process.pid);
        let pane = pane.ok_or_else(|| {
            let pid = state.process.pid;
            nobody(format!("its agent, process {pid}, has no window in this tmux server"))
        })?;
        let verb = match std::env::var_os("TMUX") {
            Some(_) => "switch-client",
            None => "attach-session",
        };
        let mut command = tmux.command();
        command.stdin(std::process::Stdio::inherit()).args([verb, "-t", &pane.target]);
        Err(failed(&command.exec()))
    }
}

fn failed(error: &io::Error) -> Failure {
    Failure::failed(format!("cannot run tmux: {error}"), "install tmux, or read the session's log")
}
