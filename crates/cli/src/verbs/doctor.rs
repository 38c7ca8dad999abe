//! `baton doctor`: what is wrong here, and how to mend it.

use clap::Args;
use serde_json::json;

use crate::args::Global;
use crate::doctor::{Finding, Level, examine};
use crate::failure::{Exit, Failure};
use crate::show::Output;

/// Tell what is wrong here, and how to mend it
///
/// Looks at the workspace, its settings and permissions, the coordinator (which it starts if none
/// runs), the ledger's lock, the agents' tokens, the clients that were set up, PATH and the disk.
/// Ends with 1 if there is a problem; a warning is none.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton doctor
  baton doctor --json")]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) fn run(self, global: &Global, out: Output) -> Result<(), Failure> {
        let findings = examine(global.workspace.as_deref());
        let count = |level| findings.iter().filter(|it: &&Finding| it.level == level).count();
        let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
        if out.json {
            let told: Vec<_> = findings.iter().map(Finding::json).collect();
            out.value(&json!({"problems": problems, "warnings": warnings, "findings": told}))?;
        } else {
            out.page(|page| {
                let quiet = |it: &&Finding| !out.quiet || it.level != Level::Ok;
                for finding in findings.iter().filter(quiet) {
                    page.line(format!("{:8} {}", finding.level.word(), finding.sentence));
                    if let Some(hint) = &finding.hint {
                        page.line(format!("{:>8} {hint}", "hint:"));
                    }
                }
                Ok(())
            })?;
        }
        match problems {
            0 => Ok(()),
            problems => {
                let sentence = format!(
                    "{problems} {} to be mended",
                    if problems == 1 { "thing has" } else { "things have" }
                );
                let hint = "each hint above says how; then run `baton doctor` again";
                Err(Failure::new(Exit::Failure, "problems", sentence, hint))
            }
        }
    }
}
