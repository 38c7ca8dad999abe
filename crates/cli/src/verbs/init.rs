//! `baton init`: makes a folder a workspace.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::failure::Failure;
use crate::show::Output;
use crate::workspace::Workspace;

/// Make a folder a workspace
///
/// Creates .baton/ (readable by you alone, ignored by git) with a commented config.toml. Asking
/// again changes nothing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton init
  baton init ~/projects/shop")]
pub(crate) struct Init {
    /// The folder
    #[arg(default_value = ".", value_name = "DIR")]
    folder: PathBuf,
}

impl Init {
    pub(crate) fn run(self, out: Output) -> Result<(), Failure> {
        let (workspace, created) = Workspace::create(&self.folder)?;
        let root = workspace.root().display();
        if out.json {
            return out.value(&json!({"workspace": root.to_string(), "created": created}));
        }
        if out.quiet {
            return Ok(());
        }
        if !created {
            return out.page(|page| {
                page.line(format!("{root} is a workspace already; nothing was changed"));
                Ok(())
            });
        }
        out.page(|page| {
            page.line(format!("{root} is a workspace now"));
            Ok(())
        })?;
        out.next(&[
            "baton agent add builder --capability rust".to_owned(),
            "baton start \"What the work is about\"".to_owned(),
        ]);
        Ok(())
    }
}
