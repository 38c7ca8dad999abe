//! The index against the log it was made from: whatever happens to the file, the answers are those
//! that reading the whole log would give.

use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::Connection;
use serde::Deserialize;

use super::*;
use crate::line::seal;
use crate::log::{Cursor, Log, Options, Position};
use crate::sim::SimDisk;

mod answers;
mod rebuild;
mod schedules;

/// A record as these tests write it. The numbers of ids and agents are spelled out by `uuid`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Record {
    pub(super) at: i64,
    pub(super) kind: String,
    pub(super) workflow: Option<u8>,
    pub(super) handoff: Option<u8>,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) file: Option<String>,
    pub(super) command: Option<u8>,
    pub(super) title: Option<String>,
    pub(super) closes: Option<String>,
    pub(super) state: Option<String>,
}

/// Ids that begin alike in pairs, so that short prefixes are ambiguous, on both sides of the sign.
pub(super) fn uuid(number: u8) -> [u8; 16] {
    let mut uuid = [number; 16];
    uuid[0] = (number / 2).wrapping_mul(0x35);
    uuid
}

fn extract(line: &[u8]) -> Option<Row<'_>> {
    #[derive(Deserialize)]
    struct Borrowed<'a> {
        seq: u64,
        at: i64,
        kind: &'a str,
        workflow: Option<u8>,
        handoff: Option<u8>,
        from: Option<&'a str>,
        to: Option<&'a str>,
        file: Option<&'a str>,
        command: Option<u8>,
        title: Option<&'a str>,
        closes: Option<&'a str>,
        state: Option<&'a str>,
    }
    let record: Borrowed<'_> = serde_json::from_slice(line).ok()?;
    assert_ne!(record.kind, "panic", "as a test asked for");
    Some(Row {
        seq: record.seq,
        at: record.at,
        kind: record.kind,
        counts_as: None,
        workflow: record.workflow.map(uuid),
        handoff: record.handoff.map(uuid),
        from: record.from,
        to: record.to,
        actor: record.from,
        file: record.file.map(Into::into),
        command: record.command.map(uuid),
        title: record.title.map(Into::into),
        closes: record.closes,
        handoff_state: record.state,
    })
}

/// A log on a simulated disk and the place of an index beside it.
pub(super) struct Bench {
    pub(super) disk: SimDisk,
    pub(super) log: Log,
    folder: tempfile::TempDir,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::on(SimDisk::new(1), tempfile::tempdir().unwrap())
    }

    fn on(disk: SimDisk, folder: tempfile::TempDir) -> Self {
        let options = Options { segment_bytes_first: 4096, segment_bytes_max: 16_384 };
        let show = |_: crate::log::Entry<'_>| Ok(());
        let (log, _) = Log::open(Arc::new(disk.clone()), options, Cursor::START, show).unwrap();
        Self { disk, log, folder }
    }

    /// Keeps the index and puts another log beside it.
    pub(super) fn with_log(self, disk: SimDisk) -> Self {
        let Self { folder, log, .. } = self;
        drop(log);
        Self::on(disk, folder)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("index.sqlite")
    }

    pub(super) fn follow(&self) -> Follower {
        let next = self.log.next().seq;
        Follower::spawn(&self.path(), self.log.reader(), next, extract).unwrap()
    }

    pub(super) fn append(&mut self, record: &Record) -> (u64, Position) {
        let mut line = Vec::new();
        let seq = self.log.next().seq;
        let json = serde_json::json!({
            "seq": seq, "safe": seq - 1, "at": record.at, "kind": record.kind,
            "workflow": record.workflow, "handoff": record.handoff, "from": record.from,
            "to": record.to, "file": record.file, "command": record.command, "title": record.title,
            "closes": record.closes, "state": record.state,
        });
        serde_json::to_writer(&mut line, &json).unwrap();
        seal(&mut line, 0);
        (seq, self.log.append(&line, seq, seq).unwrap())
    }

    /// Follows to the end and spells every row of every table.
    pub(super) fn dump(&self) -> Vec<String> {
        let follower = self.follow();
        follower.wait_for(self.log.next().seq - 1).unwrap();
        drop(follower);
        let on = Connection::open(self.path()).unwrap();
        let mut rows = Vec::new();
        for table in ["cursor", "names", "records", "blocks", "workflows", "handoffs", "tallies"] {
            let mut select = on.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let columns = select.column_count();
            let mut found = select.query([]).unwrap();
            while let Some(row) = found.next().unwrap() {
                let cells = (0..columns).map(|at| format!("{:?}", row.get_ref(at).unwrap()));
                rows.push(format!("{table}: {}", cells.collect::<Vec<_>>().join(" ")));
            }
        }
        rows
    }
}

/// A few life cycles, records of agents without a workflow, and a clock that once runs back.
pub(super) fn story(cycles: u8) -> Vec<Record> {
    let agents = ["planner", "builder", "reviewer"];
    let mut records = Vec::new();
    let mut at = 1_000;
    for cycle in 0..cycles {
        let from = agents[usize::from(cycle) % 3].to_owned();
        let to = agents[usize::from(cycle / 2 + 1) % 3].to_owned();
        let kinds = [("initiated", "initiated"), ("accepted", "accepted"), ("returned", "closed")];
        for (step, (kind, state)) in kinds.into_iter().enumerate() {
            at += if cycle == 4 && step == 1 { -500 } else { 10 };
            records.push(Record {
                at,
                kind: kind.to_owned(),
                workflow: Some(cycle / 2),
                handoff: Some(cycle),
                from: Some(from.clone()),
                to: Some(to.clone()),
                command: Some(step as u8),
                title: (step == 0 && cycle % 2 == 0).then(|| format!("work {cycle}")),
                file: (step == 1).then(|| format!("{}.md", cycle % 5)),
                closes: (step == 2 && cycle % 4 == 3).then(|| "completed".to_owned()),
                state: Some(state.to_owned()),
            });
        }
        records.push(Record { at, kind: "seen".to_owned(), from: Some(from), ..Record::default() });
    }
    records
}
