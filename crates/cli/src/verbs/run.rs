//! `baton run`: the dispatch daemon, or one skill by hand.

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;

use baton_tags::TagPattern;
use baton_tags::dispatch::Skill;
use baton_tags::watch::Stopper;
use clap::Args;

use crate::failure::{Exit, Failure};
use crate::show::Output;
use crate::tagging::daemon::{Daemon, Spawner};
use crate::tagging::table::table;
use crate::tagging::tmux::{Tmux, socket};
use crate::tagging::worker::Task;
use crate::tagging::{Ground, told};
use crate::verbs::await_tag::patience;
use crate::workspace::NO_WORKSPACE;

/// Start agents for approved work in files, or run one skill by hand
///
/// With --monitor-tags it watches the workspace and starts an agent for every
/// #delegated-X, each in a window of the tmux session `dispatch`. It never looks
/// at #needs-X and #next-X. It keeps no state: end it with Ctrl-C, start it again,
/// and it goes on from the tags; agents go on meanwhile. What agents that died
/// leave behind goes back to #needs-X, with the reason.
///
/// Which skill does what is in .baton/dispatch.yaml.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton run --monitor-tags
  baton run --monitor-tags '#delegated-fix,#delegated-chores' --max-agents 3
  baton run --monitor-tags --once --dry-run
  baton run /research sessions/market/REQUEST.md")]
pub(crate) struct Run {
    /// The skill to run by hand
    #[arg(
        value_name = "/SKILL",
        requires = "file",
        conflicts_with_all =
            ["monitor_tags", "tree", "max_agents", "once", "dry_run", "tmux_socket"]
    )]
    skill: Option<Skill>,
    /// The file it is about
    file: Option<PathBuf>,
    /// Watch for these tags, with commas between; otherwise for all #delegated
    #[arg(
        long,
        value_name = "TAGS",
        num_args = 0..=1,
        default_missing_value = "#delegated-*",
        required_unless_present = "skill"
    )]
    monitor_tags: Option<String>,
    /// The folder to watch; otherwise sessions/ if there is one, else the workspace
    #[arg(long, value_name = "DIR")]
    tree: Option<PathBuf>,
    /// At most so many agents at once; otherwise as many as there is work
    #[arg(long, value_name = "N")]
    max_agents: Option<usize>,
    /// Start agents without tmux, with what they say in their session's folder
    #[arg(long)]
    headless: bool,
    /// The tmux server, by the name of its socket (tmux -L)
    #[arg(long, value_name = "NAME", value_parser = socket)]
    tmux_socket: Option<String>,
    /// Look once, start what is due, and end
    #[arg(long)]
    once: bool,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// How long a file must rest before it is looked at
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = patience)]
    debounce: Duration,
}

impl Run {
    pub(crate) fn run(self, ground: Ground, out: Output) -> Result<(), Failure> {
        let table = table(&ground)?;
        if let (Some(skill), Some(file)) = (self.skill, self.file) {
            let task = Task { file, item: None, skill: Some(skill), headless: self.headless };
            return task.run(&ground, &table, out);
        }
        let tags = patterns(self.monitor_tags.as_deref().unwrap_or_default())?;
        let tmux = (!self.headless).then_some(Tmux { socket: self.tmux_socket });
        let spawner = Spawner::new(tmux).map_err(|error| {
            let sentence = format!("cannot tell which program this is: {error}");
            Failure::failed(sentence, "start it by its whole path")
        })?;
        let daemon = Daemon {
            tree: tree(&ground, self.tree)?,
            ground,
            table: RefCell::new(table),
            tags,
            spawner,
            agents_max: self.max_agents,
            dry: self.dry_run,
            quiet: self.debounce,
            out,
        };
        if self.once {
            return daemon.once();
        }
        out.note(&format!("watching {}; Ctrl-C ends it", daemon.tree.display()));
        daemon.watch(stop_on_signal)
    }
}

/// The folder to watch. Agents are started in the workspace, so it must lie there.
fn tree(ground: &Ground, named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let hint = "go to a workspace, or make one with `baton init`";
    if ground.workspace().is_none() {
        let sentence = "there is no workspace in this folder or above it";
        return Err(Failure::new(Exit::NotFound, NO_WORKSPACE, sentence, hint));
    }
    let tree = ground.whole(&ground.tree(named));
    match tree.canonicalize() {
        Ok(real) if real.starts_with(ground.root()) => Ok(real),
        Ok(_) => {
            let sentence = format!("{} is outside of {}", tree.display(), ground.root().display());
            Err(Failure::new(Exit::Refused, "outside", sentence, "name a folder inside"))
        }
        Err(error) => {
            let sentence = format!("cannot watch {}: {error}", tree.display());
            Err(Failure::new(Exit::NotFound, "not-found", sentence, "name a folder that is there"))
        }
    }
}

/// The tags to watch for. Work that nobody approved, or that is for the next skill of its session,
/// is none of the daemon's business.
fn patterns(text: &str) -> Result<Vec<TagPattern>, Failure> {
    let mut patterns = Vec::new();
    for text in text.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let pattern: TagPattern = told::read(text)?;
        if !pattern.prefix().starts_with("#delegated-") {
            let sentence = format!("the daemon does not watch for {text}");
            let hint = "only #delegated-X is approved for it; other tags are for people and skills";
            return Err(Failure::usage(sentence, hint));
        }
        patterns.push(pattern);
    }
    Ok(patterns)
}

/// Ctrl-C and a polite kill end the daemon after what it is about; agents go on.
fn stop_on_signal(stopper: Stopper) {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            use tokio::signal::unix::{SignalKind, signal};
            let Ok(mut term) = signal(SignalKind::terminate()) else { return };
            tokio::select! {
                _ = tokio::signal::ctrl_c() => (),
                _ = term.recv() => (),
            }
        });
        stopper.stop();
    });
}
