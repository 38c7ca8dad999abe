//! The ledger as its readers see it, and what must hold of it whatever happened.
//!
//! It is told record by record and forgets nothing, so a record that was shown once and is gone or
//! changed after a crash is found, whether or not anybody was answered about it.

use std::collections::HashMap;
use std::fs;

use serde_json::Value;

use crate::coordinator::Coordinator;
use crate::wire::{Request, Wire};

/// Records that are read at once.
const PAGE: usize = 1_000;

/// Every record so far, and where its chains and fences stand.
#[derive(Default)]
pub(crate) struct Ledger {
    records: Vec<Value>,
    /// The last version and hash of each stream.
    heads: HashMap<String, (u64, String)>,
    /// The record that each command's records begin with.
    commands: HashMap<String, u64>,
    /// The newest fence of each workflow.
    fences: HashMap<String, u64>,
}

impl Ledger {
    fn last_seq(&self) -> u64 {
        self.records.len() as u64
    }

    pub(crate) fn records(&self) -> &[Value] {
        &self.records
    }

    /// The number of the first record that this command led to.
    pub(crate) fn first_of(&self, command: &str) -> Option<u64> {
        self.commands.get(command).copied()
    }

    /// Reads the records that are new.
    pub(crate) fn read_on(&mut self, wire: &mut Wire) {
        loop {
            let after = self.last_seq();
            let path = format!("/v1/audit?after={after}&limit={PAGE}");
            let page = wire.ask(&Request::read(&path)).expect("an answer").granted();
            for record in page["records"].as_array().expect("records") {
                self.take(record.clone()).unwrap_or_else(|why| panic!("{why}"));
            }
            if page["next"].is_null() {
                return;
            }
        }
    }

    /// Takes the next record, or says what is wrong with it.
    fn take(&mut self, record: Value) -> Result<(), String> {
        let seq = record["seq"].as_u64().ok_or("a record without a number")?;
        let wrong = |why: String| Err(format!("record {seq} {why}: {record}"));
        if seq != self.last_seq() + 1 {
            return wrong(format!("comes after {}", self.last_seq()));
        }
        let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
        let stream = text("stream");
        let none = (0, "0".repeat(64));
        let (version, hash) = self.heads.get(&stream).unwrap_or(&none);
        if record["version"] != version + 1 || text("prev") != *hash {
            return wrong("breaks the chain of its stream".to_owned());
        }
        if let Err(why) = self.whole(&record, &text("command")) {
            return wrong(why);
        }
        let event = &record["event"];
        let fence = match event["type"].as_str() {
            Some("started") => Some(1),
            Some("accepted") => event["fence"].as_u64(),
            _ => None,
        };
        if let Some(fence) = fence {
            let before = self.fences.insert(stream.clone(), fence).unwrap_or(0);
            if fence <= before {
                return wrong(format!("gives fence {fence} after fence {before}"));
            }
        }
        self.heads.insert(stream, (version + 1, text("hash")));
        self.commands.entry(text("command")).or_insert(seq);
        self.records.push(record);
        Ok(())
    }

    /// A command's records stand together, all of them, and only once.
    fn whole(&self, record: &Value, command: &str) -> Result<(), String> {
        let part = |record: &Value| match &record["part"] {
            Value::Null => (0, 1),
            part => (part[0].as_u64().unwrap_or(0), part[1].as_u64().unwrap_or(0)),
        };
        let (index, count) = part(record);
        let expected = match self.records.last() {
            Some(last) if part(last).0 + 1 < part(last).1 => {
                let (index, count) = part(last);
                (index + 1, count, last["command"].as_str().unwrap_or_default())
            }
            _ => (0, count, command),
        };
        if (index, count, command) != expected {
            return Err(format!("is part {index} of {count}, expected {expected:?}"));
        }
        match self.commands.get(command) {
            Some(first) if index == 0 => Err(format!("repeats the command of record {first}")),
            Some(_) | None => Ok(()),
        }
    }

    /// Compares the files of the log with what readers were shown: the same records in the same
    /// order, and not one byte besides.
    pub(crate) fn compare(&self, coordinator: &Coordinator) {
        let folder = coordinator.folder.path().join(".baton/ledger");
        let mut paths: Vec<_> = fs::read_dir(folder)
            .expect("the ledger's folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
            .collect();
        paths.sort();
        let mut shown = self.records.iter();
        for path in &paths {
            let bytes = fs::read(path).expect("a segment");
            assert_eq!(bytes.last(), Some(&b'\n'), "{} ends inside a line", path.display());
            let mut lines = bytes.split(|byte| *byte == b'\n');
            // What follows the last record of a segment is blank.
            for line in lines.by_ref().take_while(|line| !line.is_empty()) {
                let record: Value = serde_json::from_slice(line).expect("a line of JSON");
                assert_eq!(Some(&record), shown.next(), "in {}", path.display());
            }
            assert!(lines.all(<[u8]>::is_empty), "{}: a gap in the log", path.display());
        }
        assert_eq!(shown.next(), None, "records that were shown are in no file");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Three good records: a start, and an acceptance that ends a handoff in the same breath.
    fn story() -> Vec<Value> {
        let hash = |n: u64| format!("{n:064}");
        let record = |seq: u64, command: &str, event: Value| {
            json!({
                "seq": seq, "stream": "workflow/w", "version": seq, "command": command,
                "event": event, "prev": hash(seq - 1), "hash": hash(seq),
            })
        };
        let mut story = vec![
            record(1, "a", json!({"type": "started"})),
            record(2, "b", json!({"type": "accepted", "fence": 2})),
            record(3, "b", json!({"type": "completed"})),
        ];
        story[1]["part"] = json!([0, 2]);
        story[2]["part"] = json!([1, 2]);
        story
    }

    fn told(records: Vec<Value>) -> Result<(), String> {
        let mut ledger = Ledger::default();
        records.into_iter().try_for_each(|record| ledger.take(record))
    }

    #[test]
    fn the_check_finds_what_a_crash_must_never_leave_behind() {
        assert_eq!(told(story()), Ok(()));
        let wrong = |change: fn(&mut Vec<Value>)| {
            let mut records = story();
            change(&mut records);
            told(records).expect_err("a broken ledger")
        };
        assert!(wrong(|r| drop(r.remove(0))).contains("comes after 0"));
        assert!(wrong(|r| r[2]["prev"] = json!("0")).contains("breaks the chain"));
        assert!(wrong(|r| r[1]["command"] = json!("a")).contains("repeats the command"));
        assert!(wrong(|r| r[2]["command"] = json!("c")).contains("is part 1 of 2"));
        assert!(wrong(|r| r[2]["part"] = json!(null)).contains("is part 0 of 1"));
        assert!(wrong(|r| r[1]["event"]["fence"] = json!(1)).contains("fence 1 after fence 1"));
    }
}
