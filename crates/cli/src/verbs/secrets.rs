//! `baton secrets`: masks a text as everything that is recorded is masked.

use std::io::{self, Read};

use baton_protocol::{Masks, count_masks, mask};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::failure::Failure;
use crate::show::Output;
use crate::workspace::Workspace;

/// Bytes of a text that is masked at once.
const TEXT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Mask secrets in a text, as in all that is recorded
///
/// Baton masks known secrets in everything before it is recorded or passed on.
/// The rules of .baton/secrets.toml hold here, too.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton secrets mask < build.log")]
pub(crate) struct Secrets {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Mask(Mask),
}

/// Print what comes on stdin with its secrets masked
///
/// Says on stderr what was masked and how often. With --json prints both as one
/// object. Needs no coordinator, and outside of a workspace no workspace.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton secrets mask < build.log > clean.log
  env | baton secrets mask
  baton secrets mask --json < .env | jq .masked")]
struct Mask {}

impl Secrets {
    pub(crate) fn run(
        self,
        workspace: Result<Workspace, Failure>,
        out: Output,
    ) -> Result<(), Failure> {
        let What::Mask(Mask {}) = self.what;
        if let Ok(workspace) = workspace {
            workspace.set_secret_rules()?;
        }
        let mut text = String::new();
        let read = io::stdin().lock().take(TEXT_BYTES_MAX + 1).read_to_string(&mut text);
        read.map_err(|error| {
            Failure::usage(format!("cannot read stdin: {error}"), "give it text in UTF-8")
        })?;
        if text.len() as u64 > TEXT_BYTES_MAX {
            let sentence = format!("more than {TEXT_BYTES_MAX} bytes on stdin");
            return Err(Failure::usage(sentence, "mask it in parts"));
        }
        let already = count_masks(&text);
        let masked = mask(&text);
        let masks = added(&count_masks(&masked), &already);
        if out.json {
            return out.value(&json!({"text": masked, "masked": masks}));
        }
        out.write(&masked)?;
        out.note(&told(&masks).unwrap_or_else(|| "nothing was masked".to_owned()));
        Ok(())
    }
}

/// What came to `before`.
fn added(after: &Masks, before: &Masks) -> Masks {
    let more = |kind: &str, count: u32| {
        count.saturating_sub(before.get(kind).copied().unwrap_or_default())
    };
    let all = after.iter().map(|(kind, count)| (kind.clone(), more(kind, *count)));
    all.filter(|(_, count)| *count > 0).collect()
}

/// What was masked, as a sentence.
pub(super) fn told(masks: &Masks) -> Option<String> {
    let total: u32 = masks.values().sum();
    let kinds: Vec<_> = masks.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let secrets = if total == 1 { "1 secret".to_owned() } else { format!("{total} secrets") };
    (total > 0).then(|| format!("{secrets} masked: {}", kinds.join(", ")))
}
