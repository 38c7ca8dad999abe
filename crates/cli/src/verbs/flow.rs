//! `baton flow`: a workflow as a picture.

use std::fs;
use std::path::{Path, PathBuf};

use baton_flow::{dot, mermaid, svg, terminal};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::session::Session;
use crate::show::{Output, width};
use crate::value::Id;

/// Draw a workflow: who passed what to whom, and how it went
///
/// Agents are boxes (people twice framed), handoffs are lines with their number,
/// and the line says by sign, form and colour where each stands. Works while the
/// work goes on and when it is over. Where there is too much to draw, agents that
/// did the same are drawn as one.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton flow 3f2a
  baton flow 3f2a --output flow.svg
  baton flow 3f2a --format mermaid >> report.md
  baton flow 3f2a --format dot | dot -Tpdf > flow.pdf
  baton flow 3f2a --json | jq '.handoffs[].standing'")]
pub(crate) struct Flow {
    /// A workflow
    #[arg(value_name = "WORKFLOW")]
    id: Id,
    /// As what; otherwise as the name of --output ends, or for the terminal
    #[arg(long, short, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<Format>,
    /// Write it to this file
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
}

/// As what a workflow is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Boxes and lines of characters
    Terminal,
    /// For Markdown pages that draw it
    Mermaid,
    /// For Graphviz
    Dot,
    /// A picture for reports and web pages
    Svg,
}

impl Format {
    /// What the name of a file asks for.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "svg" => Some(Self::Svg),
            "dot" | "gv" => Some(Self::Dot),
            "mmd" | "mermaid" => Some(Self::Mermaid),
            _ => None,
        }
    }
}

impl Flow {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let id = session.workflow(&self.id)?;
        let reply = session.client.read(format!("/v1/workflows/{id}/flow"))?;
        if session.out.json {
            return session.out.raw(&reply.json);
        }
        let flow: baton_flow::Flow = reply.read()?;
        let asked = self.output.as_deref().and_then(Format::of);
        let text = match self.format.or(asked).unwrap_or(Format::Terminal) {
            Format::Terminal => terminal(&flow, usize::from(width())),
            Format::Mermaid => mermaid(&flow),
            Format::Dot => dot(&flow),
            Format::Svg => svg(&flow),
        };
        written(session.out, &text, self.output.as_deref())
    }
}

/// Prints a drawing, or writes it to a file.
pub(super) fn written(out: Output, text: &str, to: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = to else { return out.write(text) };
    // A file has no terminal that would show the colours.
    let text = anstream::adapter::strip_str(text).to_string();
    fs::write(path, text).map_err(|error| {
        let sentence = format!("cannot write {}: {error}", path.display());
        Failure::failed(sentence, "name a file in a folder that is there and yours")
    })?;
    out.page(|page| {
        page.line(format!("drawn in {}", path.display()));
        Ok(())
    })
}
