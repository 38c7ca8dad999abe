//! `baton workflow graph`: a definition as a picture.

use std::path::PathBuf;

use baton_flow::drawn;
use baton_rules::{Severity, graph, read, render};
use clap::Args;

use crate::failure::Failure;
use crate::show::{Output, width};
use crate::verbs::flow::{Format, written};

/// Draw a definition: its states, and the rules that lead from one to the next
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton workflow graph charter.yaml
  baton workflow graph charter.yaml -o charter.svg
  baton workflow graph charter.yaml --format mermaid >> README.md")]
pub(crate) struct Graph {
    /// A file with a definition
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// As what; otherwise as the name of --output ends, or for the terminal
    #[arg(long, short, value_name = "FORMAT")]
    format: Option<Format>,
    /// Write it to this file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Graph {
    pub(crate) fn run(self, out: Output) -> Result<(), Failure> {
        let text = super::source::text(&self.file)?;
        let read = match read(&text) {
            Ok(read) => read,
            Err(problems) => {
                let file = self.file.display().to_string();
                out.write(&render(&problems, &file, &text, true))?;
                let errors = problems.iter().filter(|one| one.severity == Severity::Error).count();
                let sentence = format!("{file} cannot be read: {errors} problems");
                return Err(Failure::failed(
                    sentence,
                    "mend it, and check it with `workflow check`",
                ));
            }
        };
        let picture = graph(&read.definition);
        let asked = self.output.as_deref().and_then(Format::of);
        let text = match self.format.or(asked).unwrap_or(Format::Terminal) {
            Format::Terminal => drawn::terminal(&picture, usize::from(width())),
            Format::Mermaid => drawn::mermaid(&picture),
            Format::Dot => drawn::dot(&picture),
            Format::Svg => drawn::svg(&picture),
        };
        written(out, &text, self.output.as_deref())
    }
}
