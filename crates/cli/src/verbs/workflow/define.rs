//! `baton workflow define`: makes definitions known to the coordinator.

use std::path::PathBuf;

use baton_protocol::command::Command;
use baton_protocol::event::Event;
use clap::Args;

use super::source::{Source, in_folder};
use crate::failure::Failure;
use crate::session::Session;
use crate::verbs::told::told;

/// Make definitions known, so that work can follow them
///
/// A version never changes once it is known: work that runs keeps the one it began with. Change
/// the file and its `version`, and define it again; new work follows the newest.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton workflow define workflows/charter.yaml
  baton workflow define              # everything in workflows/")]
pub(crate) struct Define {
    /// The files; otherwise all of the workspace's workflows/
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Define {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let files = match self.files.is_empty() {
            true => in_folder(&session.folder().join("workflows"))?,
            false => self.files,
        };
        for file in files {
            let definition = Source::read(&file)?.definition;
            let id = definition.id();
            let (reply, answer) = session.submit(Command::Define(Box::new(definition)))?;
            told(session, (&reply, &answer), &id, |event| match event {
                Event::Defined(_) => Some((id.to_string(), format!("defined {id}"))),
                _ => None,
            })?;
        }
        Ok(())
    }
}
