//! Which skill does which kind of work here: the table of the workspace, and its templates.

use baton_tags::dispatch::{self, DispatchError, Table};

use super::ground::Ground;
use crate::failure::Failure;

/// Where a workspace says how its work is done.
pub(crate) const TABLE_FILE: &str = ".baton/dispatch.yaml";

/// Reads the table of the workspace over the usual one, with the kinds that templates make known.
pub(crate) fn table(ground: &Ground) -> Result<Table, Failure> {
    let path = ground.root().join(TABLE_FILE);
    let wrong = |error: DispatchError| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        let sentence = format!("{}: {error}{}", path.display(), source.unwrap_or_default());
        Failure::usage(sentence, "docs/tags.md shows what such a table looks like")
    };
    let mut table = Table::read(&path).map_err(wrong)?;
    for template in dispatch::discover(ground.root()) {
        table.learn(&template).map_err(wrong)?;
    }
    Ok(table)
}
