//! `baton demo` and `baton bench`: seeing it, and measuring it.

use clap::{Args, Subcommand, ValueEnum};

use crate::bench::{self, BenchArgs, HooksArgs, WorkflowsArgs};
use crate::demo::{self, DemoArgs};
use crate::failure::{Exit, Failure};
use crate::show::Output;

/// See what Baton does, in half a minute
///
/// Plays a story in a temporary workspace: a pipeline of agents, a delegate that falls silent and
/// is replaced, a stale holder that is refused, a rejection, and kill -9 of the coordinator in the
/// middle of it. Everything is real. `charter` plays the workflow of examples/charter instead, with
/// agents that Baton runs and an error monitor that tries again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton demo
  baton demo charter
  baton demo --keep")]
pub(crate) struct Demo {
    /// Which story
    #[arg(value_name = "STORY", default_value = "tour")]
    story: Story,
    #[command(flatten)]
    args: DemoArgs,
}

/// A story that can be played.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Story {
    /// What Baton is for, in half a minute
    Tour,
    /// A workflow with a definition, and what goes wrong in it
    Charter,
}

impl Demo {
    pub(crate) fn run(self, out: Output) -> Result<(), Failure> {
        if out.json {
            let sentence = "a story has no JSON";
            let hint = "leave out --json, or run `baton bench --json`";
            return Err(Failure::new(Exit::Usage, "usage", sentence, hint));
        }
        match self.story {
            Story::Tour => demo::play(&self.args),
            Story::Charter => demo::charter::play(&self.args),
        }
    }
}

/// Measure how fast work is passed, beside the bare disk
///
/// Runs whole life cycles (pass, accept, return, complete) in a temporary workspace, and writes the
/// same bytes raw at the same sync boundaries in the same run. `workflows` measures work with a
/// definition instead, `hooks` what a coding agent waits for.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_long_help = "\
Examples:
  baton bench
  baton bench --http
  baton bench --callers 256 --seconds 10 --preload 1000000 --json
  baton bench workflows
  baton bench hooks")]
pub(crate) struct Bench {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    args: BenchArgs,
}

#[derive(Debug, Subcommand)]
enum What {
    Workflows(Workflows),
    Hooks(Hooks),
}

/// Measure how long each hook of a coding agent takes
///
/// Runs `baton hook` as a coding agent's program would, in a temporary workspace with a
/// coordinator, from the start of the process to its end.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton bench hooks
  baton bench hooks --runs 500 --json")]
struct Hooks {
    #[command(flatten)]
    args: HooksArgs,
}

/// Measure many workflows with a definition that are live at once
///
/// Begins as many charter flights (examples/charter) as are asked for, moves all of them on, state
/// by state, and ends none before all have come to the last. It fails unless every one ends as
/// completed. One in ten has no client, and for one in ten the spreadsheet fails once and is tried
/// again.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton bench workflows
  baton bench workflows --count 1000 --concurrent 64
  baton bench workflows --json")]
struct Workflows {
    #[command(flatten)]
    args: WorkflowsArgs,
}

impl Bench {
    pub(crate) fn run(self, out: Output) -> Result<(), Failure> {
        let say = |words: &str| {
            if !out.quiet {
                anstream::eprintln!("{words}");
            }
        };
        let report = match &self.what {
            Some(What::Workflows(workflows)) => bench::bench_workflows(&workflows.args, say),
            Some(What::Hooks(hooks)) => bench::bench_hooks(&hooks.args),
            None => bench::bench(&self.args, say),
        };
        let report = report.map_err(|error| Failure::failed(error.to_string(), error.hint()))?;
        if out.json {
            return out.value(&report);
        }
        anstream::print!("{}", report.table());
        Ok(())
    }
}
