//! `baton workflow`: definitions, and the work that follows them.

mod define;
mod list;
mod moves;
mod source;
mod test;

use clap::{Args, Subcommand};

use crate::args::Global;
use crate::failure::Failure;
use crate::show::Output;
use crate::verbs::session;

/// Define how work of one kind travels, and try it without agents
///
/// A definition is a YAML file: states, who is responsible in each, which may follow which,
/// and the rules that choose. docs/workflows.md tells all of it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton workflow test examples/charter/scenarios.yaml
  baton workflow define workflows/charter.yaml
  baton start \"Fly Ada to Van Nuys\" --workflow charter
  baton workflow list")]
pub(crate) struct Workflow {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Test(test::Test),
    Define(define::Define),
    List(list::List),
    Show(list::Show),
    Move(moves::Move),
}

impl Workflow {
    pub(crate) fn run(self, global: Global, out: Output) -> Result<(), Failure> {
        match self.what {
            What::Test(test) => test.run(out),
            What::Define(define) => define.run(&session(global, out)?),
            What::List(list) => list.run(&session(global, out)?),
            What::Show(show) => show.run(&session(global, out)?),
            What::Move(to) => to.run(&session(global, out)?),
        }
    }
}

pub(crate) use source::Source;
