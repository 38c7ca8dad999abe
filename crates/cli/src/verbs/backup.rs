//! `baton backup`: a copy of the ledger that can be opened like the original.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use crate::failure::Failure;
use crate::session::Session;

/// Copy the ledger to a folder while work goes on
///
/// The copy is whole up to one record. To use it, put it where .baton/ was.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton backup /mnt/backup/shop-monday")]
pub(crate) struct Backup {
    /// A folder that does not exist yet, or is empty
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

#[derive(Deserialize)]
struct Copied {
    files: u64,
    bytes: u64,
}

impl Backup {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let to = std::path::absolute(&self.folder).map_err(|error| {
            let sentence = format!("cannot tell where {} is: {error}", self.folder.display());
            Failure::usage(sentence, "give a whole path")
        })?;
        // The coordinator stands in another folder than we do.
        let Some(to) = to.to_str() else {
            return Err(Failure::usage(
                format!("{} is not valid UTF-8", to.display()),
                "give a path that can be written as text",
            ));
        };
        let reply = session.client.post("/v1/backup", &json!({ "to": to }))?;
        session.out.answer(&reply, |page| {
            let Copied { files, bytes } = reply.read()?;
            page.line(format!("copied {files} files ({bytes} bytes) to {to}"));
            Ok(())
        })
    }
}
