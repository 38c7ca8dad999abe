//! Whether an approval is on record: `strict_approval` asks the ledger, which no agent can write to
//! in a person's name.

use std::path::Path;

use baton_tags::{Approval, ItemKey};
use serde_json::Value;

use super::ground::Ground;
use crate::caller::Caller;
use crate::client::{Client, Query};
use crate::line::Line;

/// Moves of one file that are looked through, from the newest.
const MOVES_LOOKED_AT: u32 = 1_000;

/// Whether the ledger knows that a person approved this very text of an item. If nobody can be
/// asked, it does not.
pub(crate) fn is_on_record(
    ground: &Ground,
    path: &Path,
    item: &ItemKey,
    approval: &Approval,
) -> bool {
    let Some(workspace) = ground.workspace() else { return false };
    let below = ground.seen_from_root(path);
    let query = Query::new("/v1/audit")
        .with("file", below.to_str())
        .with("type", Some("tag_moved"))
        .with("newest", Some(true))
        .with("limit", Some(MOVES_LOOKED_AT));
    let line = Line::Socket(workspace.clone());
    let asked = Caller::from_env(None)
        .and_then(|caller| Client::new(line, caller, None))
        .and_then(|client| client.read(query))
        .and_then(|reply| reply.read::<Value>());
    let Ok(answer) = asked else { return false };
    let key = item.to_string();
    let is_approval = |tag: &Value| {
        let tag = tag.as_str().unwrap_or_default();
        tag.starts_with("#delegated-") || tag.starts_with("#next-")
    };
    // The last word that a person said about it counts: a yes that was taken back is none.
    let word = |record: &&Value| {
        let event = &record["event"];
        event["item"] == key.as_str() && event["mover"] == "person" && record["by"] == "operator"
    };
    let mut records = answer["records"].as_array().into_iter().flatten();
    records.find(word).is_some_and(|record| {
        let event = &record["event"];
        is_approval(&event["to"]) && event["hash"] == approval.hash.as_str()
    })
}
