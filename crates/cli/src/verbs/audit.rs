//! `baton audit`: the ledger's records, and the proof that nobody changed them.

use baton_engine::record_types;
use baton_protocol::id::AgentId;
use baton_protocol::time::Timestamp;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::Value;

use crate::client::Query;
use crate::failure::Failure;
use crate::session::Session;
use crate::show::Output;
use crate::show::table::Table;
use crate::show::time::absolute;
use crate::tagging::{Ground, spool};
use crate::value::{Id, When, at_least_one};
use crate::verbs::proof::{Checkpoint, Export, Key, Prune, Verify};
use crate::verbs::rows::readable;

/// Records that one question may bring.
pub(crate) const RECORDS_MAX: u32 = 1_000;

/// Read the audit trail, and check it
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton audit log --workflow 3f2a
  baton audit verify
  baton audit export --out trail.jsonl
  baton audit verify --bundle trail.jsonl --key \"$(cat shop.key)\"")]
pub(crate) struct Audit {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Log(LogArgs),
    Verify(Verify),
    Export(Export),
    Key(Key),
    Checkpoint(Checkpoint),
    Prune(Prune),
}

impl Audit {
    /// Does what needs neither a workspace nor a coordinator, if that is what was asked.
    pub(crate) fn offline(&self, out: Output) -> Option<Result<(), Failure>> {
        match &self.verb {
            Verb::Verify(verify) => verify.offline(out),
            _ => None,
        }
    }

    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        match self.verb {
            Verb::Log(log) => log.run(session),
            Verb::Verify(verify) => verify.run(session),
            Verb::Export(export) => export.run(session),
            Verb::Key(key) => key.run(session),
            Verb::Checkpoint(checkpoint) => checkpoint.run(session),
            Verb::Prune(prune) => prune.run(session),
        }
    }
}

/// One record of the ledger.
#[derive(Debug, Deserialize)]
pub(crate) struct Record {
    pub(crate) seq: u64,
    pub(crate) at: Timestamp,
    pub(crate) stream: String,
    pub(crate) by: String,
    pub(crate) event: Value,
    #[serde(default)]
    pub(crate) audit: Option<Value>,
}

/// A page of records.
#[derive(Debug, Deserialize)]
pub(crate) struct Log {
    pub(crate) records: Vec<Record>,
    #[serde(default)]
    pub(crate) next: Option<u64>,
}

/// Show records, the latest at the end
///
/// Without --after or --oldest the newest records are shown.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton audit log
  baton audit log --workflow 3f2a
  baton audit log --to builder --type rejected --since 24h
  baton audit log --file sessions/login/REQUEST.md
  baton audit log --after 0 --limit 1000 --json | jq -c '.records[].audit'")]
struct LogArgs {
    /// Only of this workflow
    #[arg(long, value_name = "WORKFLOW")]
    workflow: Option<Id>,
    /// Only of this handoff
    #[arg(long, value_name = "HANDOFF")]
    handoff: Option<Id>,
    /// Only handoffs that this agent passed
    #[arg(long, value_name = "AGENT")]
    from: Option<AgentId>,
    /// Only handoffs that were passed to this agent
    #[arg(long, value_name = "AGENT")]
    to: Option<AgentId>,
    /// Only what concerns this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<AgentId>,
    /// Only of tags in this file of the workspace
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
    /// Only events of these types, such as initiated, accepted or failed
    #[arg(
        long = "type",
        value_name = "TYPE",
        value_delimiter = ',',
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(record_types())
    )]
    kinds: Vec<String>,
    /// Only since then: a duration ago, or UTC
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// Only until then: a duration ago, or UTC
    #[arg(long, value_name = "WHEN")]
    until: Option<When>,
    /// Only what comes after this record number, the oldest first
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// From the first record on
    #[arg(long)]
    oldest: bool,
    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = at_least_one())]
    limit: u32,
}

impl LogArgs {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        let newest = self.after.is_none() && !self.oldest;
        let workflow = self.workflow.map(|id| session.workflow(&id)).transpose()?;
        let handoff = self.handoff.map(|id| session.handoff(&id)).transpose()?;
        let of_file = self.file.is_some();
        let file = self.file.map(|path| session.place().file(&path)).transpose()?;
        if let (Some(_), Some(workspace)) = (&file, session.client.workspace()) {
            // What was done without a coordinator belongs to the story; so there must be one first.
            session.client.read("/v1/status")?;
            spool::deliver(&Ground::of(workspace), usize::MAX);
        }
        let query = Query::new("/v1/audit")
            .with("workflow", workflow)
            .with("handoff", handoff)
            .with("from", self.from)
            .with("to", self.to)
            .with("agent", self.agent)
            .with("file", file)
            .with("type", Some(self.kinds.join(",")).filter(|kinds| !kinds.is_empty()))
            .with("since", self.since.map(|when| when.ago(out.begun)))
            .with("until", self.until.map(|when| when.ago(out.begun)))
            .with("after", self.after)
            .with("limit", Some(self.limit))
            .with("newest", newest.then_some(true));
        let reply = session.client.read(query)?;
        let mut log: Log = reply.read()?;
        log.records.sort_by_key(|record| record.seq);
        out.answer(&reply, |page| {
            if log.records.is_empty() {
                page.line("no record fits");
                return Ok(());
            }
            page.table(match of_file {
                true => moves(&log.records),
                false => table(&log.records),
            });
            Ok(())
        })?;
        let full = log.records.len() == usize::try_from(self.limit).unwrap_or(usize::MAX);
        if let Some(seq) = log.next.filter(|_| full && !newest) {
            out.next(&[format!("the same with --after {seq} shows what follows")]);
        }
        Ok(())
    }
}

fn table(records: &[Record]) -> Table {
    let mut table = Table::new(&["SEQ", "AT (UTC)", "TYPE", "WHO", "ABOUT", "WHAT"], &[5]);
    for record in records {
        let audit = record.audit.as_ref();
        let text = |name: &str| audit.and_then(|a| a[name].as_str()).unwrap_or_default();
        table.row([
            record.seq.to_string(),
            absolute(record.at).trim_end_matches('Z').to_owned(),
            record.event["type"].as_str().unwrap_or("?").to_owned(),
            who(&record.by),
            about(record),
            match audit {
                Some(_) => {
                    format!("{} > {}: {}", text("from_agent"), text("to_agent"), text("reason"))
                }
                None => words(&record.event),
            },
        ]);
    }
    table
}

/// The story of a file: where its work went, by whom and why.
fn moves(records: &[Record]) -> Table {
    let mut table = Table::new(&["SEQ", "AT (UTC)", "BY", "MOVE", "FENCE", "WHY"], &[5]);
    for record in records {
        let event = &record.event;
        let text = |name: &str| event[name].as_str().unwrap_or("-");
        let kind = text("item").split('@').next().unwrap_or_default().replacen('#', "-", 1);
        // Its kind is told once.
        let stage = |name: &str| {
            let tag = text(name);
            tag.strip_suffix(&kind).and_then(|tag| tag.strip_prefix('#')).unwrap_or(tag).to_owned()
        };
        table.row([
            record.seq.to_string(),
            absolute(record.at).trim_end_matches('Z').to_owned(),
            text("mover").to_owned(),
            format!("{}: {} > {}", text("item"), stage("from"), stage("to")),
            event["fence"].as_u64().map_or_else(|| "-".to_owned(), |fence| fence.to_string()),
            text("reason").to_owned(),
        ]);
    }
    table
}

/// Who asked for it, as short as can be.
fn who(by: &str) -> String {
    by.strip_prefix("operator as ").map_or_else(|| by.to_owned(), |agent| format!("{agent} (op)"))
}

/// The handoff, or what else it belongs to.
fn about(record: &Record) -> String {
    let handoff = record.audit.as_ref().and_then(|audit| audit["handoff_id"].as_str());
    let whole = handoff.unwrap_or_else(|| {
        record.stream.split_once('/').map_or(record.stream.as_str(), |(_, id)| id)
    });
    let is_uuid = whole.len() == 36;
    whole.get(..8).filter(|_| is_uuid).unwrap_or(whole).to_owned()
}

/// The one thing worth saying about an event that is not a handoff's.
pub(crate) fn words(event: &Value) -> String {
    match event["type"].as_str() {
        Some("group_opened") => {
            let copies = event["expected"].as_array().map_or(0, Vec::len);
            return format!("{copies} must return, {}", readable(&event["aggregation"]));
        }
        Some("aggregated") => {
            let how = if event["success"] == true { "success" } else { "failed" };
            return format!("{how}: {} for, {} not", event["successes"], event["failures"]);
        }
        Some("tag_moved") => {
            let tag = |name: &str| event[name].as_str().unwrap_or("nothing").to_owned();
            return format!("{}: {} > {}", tag("item"), tag("from"), tag("to"));
        }
        Some("moved") => {
            let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (from, to) = (said(&event["from"]), said(&event["step"]["state"]));
            return format!("{from} > {to}: {}", said(&event["reason"]));
        }
        Some("health_reported") => {
            let how = if event["healthy"] == true { "well" } else { "not well" };
            let note = event["note"].as_str().map(|note| format!(": {note}"));
            return format!("{how}{}", note.unwrap_or_default());
        }
        _ => (),
    }
    let said = ["title", "reason", "note", "percent", "status", "paths", "changes"];
    let said = said.iter().map(|name| &event[*name]).find(|value| !value.is_null());
    match said {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => event["ending"]["how"].as_str().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::words;

    #[test]
    fn a_move_is_told_with_both_states() {
        let moved = json!({
            "type": "moved", "from": "analyzing", "step": { "state": "searching" },
            "reason": "Search flights for Ada",
        });
        assert_eq!(words(&moved), "analyzing > searching: Search flights for Ada");
    }
}
