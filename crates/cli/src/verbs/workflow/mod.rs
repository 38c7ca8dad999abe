//! `baton workflow`: definitions of how work travels.

mod check;
mod graph;

use std::fs;
use std::path::Path;

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::show::Output;

/// Check and draw definitions of how work travels
///
/// A definition is a YAML file: the agents that take part, the states of the
/// work, which may follow which, and the rules that choose. docs/workflows.md
/// tells what it says.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton workflow check charter.yaml
  baton workflow graph charter.yaml -o charter.svg")]
pub(crate) struct Workflow {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Check(check::Check),
    Graph(graph::Graph),
}

impl Workflow {
    pub(crate) fn run(self, out: Output) -> Result<(), Failure> {
        match self.verb {
            Verb::Check(check) => check.run(out),
            Verb::Graph(graph) => graph.run(out),
        }
    }
}

/// The text of a definition.
fn text_of(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| {
        let sentence = format!("cannot read {}: {error}", path.display());
        Failure::failed(sentence, "name a file with a definition in it, in YAML")
    })
}
