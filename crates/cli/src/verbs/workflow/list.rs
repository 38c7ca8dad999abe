//! `baton workflow list` and `show`: the definitions that are known.

use baton_engine::DefinitionLine;
use clap::Args;

use crate::failure::Failure;
use crate::session::Session;
use crate::show::table::Table;

/// List the definitions that are known
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton workflow list
  baton workflow list --json | jq '.[].definition'")]
pub(crate) struct List {}

impl List {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        let reply = session.client.read("/v1/definitions")?;
        out.answer(&reply, |page| {
            let lines: Vec<DefinitionLine> = reply.read()?;
            if out.quiet {
                lines.iter().for_each(|line| page.line(&line.definition));
                return Ok(());
            }
            if lines.is_empty() {
                page.line("no definition is known; `baton workflow define FILE` adds one");
                return Ok(());
            }
            let mut table = Table::new(&["definition", "states", "rules", "running", "for"], &[4]);
            for line in lines {
                table.row([
                    line.definition.to_string(),
                    line.states.to_string(),
                    line.rules.to_string(),
                    line.running.to_string(),
                    line.description.unwrap_or_default(),
                ]);
            }
            page.table(table);
            Ok(())
        })
    }
}

/// Show a definition as it is known, in JSON
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton workflow show charter
  baton workflow show charter@2 | jq '.rules[].id'")]
pub(crate) struct Show {
    /// Its name, for the newest, or name@version
    #[arg(value_name = "DEFINITION")]
    name: String,
}

impl Show {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '@');
        if !self.name.chars().all(safe) {
            let sentence = format!("`{}` is no definition's name", self.name.escape_debug());
            return Err(Failure::usage(sentence, "`baton workflow list` shows them"));
        }
        let reply = session.client.read(format!("/v1/definitions/{}", self.name))?;
        session.out.raw(&reply.json)
    }
}
