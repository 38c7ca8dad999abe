//! `baton workflow`: definitions, and the work that follows them.

mod check;
mod define;
mod graph;
mod list;
mod moves;
mod source;
mod test;

pub(crate) use source::Source;

use clap::{Args, Subcommand};

use crate::args::Global;
use crate::failure::Failure;
use crate::show::Output;
use crate::verbs::session;

/// Define how work of one kind travels: check, draw, try and use it
///
/// A definition is a YAML file: the agents that take part, the states of the
/// work, which may follow which, and the rules that choose. docs/workflows.md
/// tells what it says.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton workflow check workflows/charter.yaml
  baton workflow graph workflows/charter.yaml -o charter.svg
  baton workflow test workflows/charter.yaml scenarios.yaml
  baton workflow define workflows/charter.yaml
  baton start \"Fly Ada to Van Nuys\" --workflow charter")]
pub(crate) struct Workflow {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Check(check::Check),
    Graph(graph::Graph),
    Test(test::Test),
    Define(define::Define),
    List(list::List),
    Show(list::Show),
    Move(moves::Move),
}

impl Workflow {
    pub(crate) fn run(self, global: Global, out: Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Check(check) => check.run(global, out),
            Verb::Graph(graph) => graph.run(out),
            Verb::Test(test) => test.run(out),
            Verb::Define(define) => define.run(&session(global, out)?),
            Verb::List(list) => list.run(&session(global, out)?),
            Verb::Show(show) => show.run(&session(global, out)?),
            Verb::Move(to) => to.run(&session(global, out)?),
        }
    }
}
