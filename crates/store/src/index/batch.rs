//! One transaction's worth of records on their way into the tables.
//!
//! What changes several times within a batch is written once, at its end: nobody can see the steps
//! in between. Numbers for names and ids come from caches; the tables answer for what has left
//! them. A batch that fails is rolled back by its owner, who also forgets the caches.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::row::{Row, key, number};
use super::search::block;
use crate::hash::Hash;
use crate::log::{Cursor, Entry, Position};

/// How many entries a cache may have when a batch begins. Work is close together in time, so a
/// cache that starts afresh soon holds what is needed.
const CACHED_MAX: usize = 16 * 1024;
/// How many records are written by one statement: most of a small one is its beginning and end.
const ROWS_AT_ONCE: usize = 32;
const COLUMNS: usize = 13;

/// What is known without asking the tables.
pub(super) struct Caches {
    names: HashMap<String, i64>,
    /// The number and the last record of each.
    workflows: HashMap<[u8; 16], (i64, i64)>,
    handoffs: HashMap<[u8; 16], i64>,
    /// The latest block of records, and who is known to be named in it.
    block: i64,
    named: HashSet<i64>,
    /// The time of the last record. Times never run back in the index, so that a time can be found
    /// by halving.
    pub(super) at: i64,
}

impl Caches {
    pub(super) fn new(at: i64) -> Self {
        let (names, workflows, handoffs, named) = Default::default();
        Self { names, workflows, handoffs, block: 0, named, at }
    }

    fn make_room(&mut self) {
        if self.names.len() > CACHED_MAX {
            self.names.clear();
        }
        if self.workflows.len() > CACHED_MAX {
            self.workflows.clear();
        }
        if self.handoffs.len() > CACHED_MAX {
            self.handoffs.clear();
        }
    }
}

/// A transaction that is being filled.
pub(super) struct Batch<'c> {
    on: &'c Connection,
    caches: &'c mut Caches,
    /// Records that wait to be written together.
    rows: Vec<[Option<i64>; COLUMNS]>,
    workflows: BTreeMap<i64, WorkflowChange>,
    handoffs: BTreeMap<i64, HandoffChange>,
    blocks: Vec<[i64; 2]>,
    tallies: HashMap<[i64; 3], i64>,
}

#[derive(Default)]
struct WorkflowChange {
    /// Its id and when it began, if it is new.
    new: Option<([u8; 16], i64)>,
    title: Option<String>,
    /// Its outcome and when it came.
    closed: Option<(i64, i64)>,
    /// Its last record.
    head: i64,
}

#[derive(Default)]
struct HandoffChange {
    /// Its id and its workflow, sender and receiver, if it is new.
    new: Option<([u8; 16], [Option<i64>; 3])>,
    state: Option<i64>,
}

impl<'c> Batch<'c> {
    pub(super) fn new(on: &'c Connection, caches: &'c mut Caches) -> Self {
        // Only here, not in the middle of a batch: until it is committed, the caches are the only
        // ones who know its new ids.
        caches.make_room();
        let (rows, workflows, handoffs, blocks, tallies) = Default::default();
        Self { on, caches, rows, workflows, handoffs, blocks, tallies }
    }

    pub(super) fn add(&mut self, entry: &Entry<'_>, row: &Row<'_>) -> rusqlite::Result<()> {
        self.caches.at = self.caches.at.max(row.at);
        let kind = self.name(row.kind)?;
        let from = row.from.map(|name| self.name(name)).transpose()?;
        let to = row.to.map(|name| self.name(name)).transpose()?;
        let actor = row.actor.map(|name| self.name(name)).transpose()?;
        let file = row.file.as_deref().map(|name| self.name(name)).transpose()?;
        let id = number(entry.seq);
        let place = row.workflow.map(|uuid| self.workflow(id, row, uuid)).transpose()?;
        let (workflow, prev) = place.unzip();
        let whose = [workflow, from, to];
        let handoff = row.handoff.map(|uuid| self.handoff(id, row, uuid, whose)).transpose()?;
        self.rows.push([
            Some(id),
            Some(number(entry.position.segment)),
            Some(number(entry.position.offset)),
            Some(self.caches.at),
            Some(kind),
            workflow,
            prev.flatten(),
            handoff,
            from,
            to,
            actor,
            row.command.as_ref().map(key),
            file,
        ]);
        if self.rows.len() == ROWS_AT_ONCE {
            self.write_rows(ROWS_AT_ONCE)?;
        }
        self.note(block(id), [Some(kind), from, to, file]);
        let counted = row.counts_as.map_or(Ok(kind), |name| self.name(name))?;
        *self.tallies.entry([counted, from.unwrap_or(0), to.unwrap_or(0)]).or_default() += 1;
        Ok(())
    }

    /// Writes the records that wait, so many with each statement.
    fn write_rows(&mut self, at_once: usize) -> rusqlite::Result<()> {
        let row = format!("({})", ["?"; COLUMNS].join(", "));
        let sql = format!("INSERT INTO records VALUES {}", vec![row; at_once].join(", "));
        let mut insert = self.on.prepare_cached(&sql)?;
        for rows in self.rows.chunks(at_once) {
            insert.execute(params_from_iter(rows.as_flattened()))?;
        }
        self.rows.clear();
        Ok(())
    }

    /// Notes who is named in a block.
    fn note(&mut self, block: i64, names: [Option<i64>; 4]) {
        if block != self.caches.block {
            self.caches.block = block;
            self.caches.named.clear();
        }
        for name in names.into_iter().flatten() {
            if self.caches.named.insert(name) {
                self.blocks.push([name, block]);
            }
        }
    }

    /// Returns the number of a name, giving it one at first sight.
    fn name(&mut self, text: &str) -> rusqlite::Result<i64> {
        if let Some(&id) = self.caches.names.get(text) {
            return Ok(id);
        }
        self.on.prepare_cached("INSERT OR IGNORE INTO names(text) VALUES (?1)")?.execute([text])?;
        let mut select = self.on.prepare_cached("SELECT id FROM names WHERE text = ?1")?;
        let id = select.query_row([text], |row| row.get(0))?;
        self.caches.names.insert(text.to_owned(), id);
        Ok(id)
    }

    /// Returns the number of a workflow and its last record before this one, if there is any.
    fn workflow(
        &mut self,
        seq: i64,
        row: &Row<'_>,
        uuid: [u8; 16],
    ) -> rusqlite::Result<(i64, Option<i64>)> {
        let known = match self.caches.workflows.get(&uuid) {
            Some(&known) => Some(known),
            None => {
                let sql = "SELECT id, head FROM workflows WHERE key = ? AND uuid = ?";
                let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
                find(self.on, sql, &uuid, read)?
            }
        };
        let (id, prev) = known.map_or((seq, None), |(id, head)| (id, Some(head)));
        self.caches.workflows.insert(uuid, (id, seq));
        let closes = row.closes.map(|outcome| self.name(outcome)).transpose()?;
        let at = self.caches.at;
        let change = self.workflows.entry(id).or_default();
        change.head = seq;
        if known.is_none() {
            change.new = Some((uuid, at));
        }
        if let Some(title) = &row.title {
            change.title = Some(title.clone().into_owned());
        }
        change.closed = closes.map(|outcome| (outcome, at)).or(change.closed);
        Ok((id, prev))
    }

    fn handoff(
        &mut self,
        seq: i64,
        row: &Row<'_>,
        uuid: [u8; 16],
        whose: [Option<i64>; 3],
    ) -> rusqlite::Result<i64> {
        let of_new_workflow = || {
            let change = whose[0].and_then(|id| self.workflows.get(&id));
            change.is_some_and(|change| change.new.is_some())
        };
        let known = match self.caches.handoffs.get(&uuid) {
            Some(&id) => Some(id),
            // It can be no older than its workflow, so there is nothing to look for.
            None if of_new_workflow() => None,
            None => {
                let sql = "SELECT id FROM handoffs WHERE key = ? AND uuid = ?";
                find(self.on, sql, &uuid, |row| row.get(0))?
            }
        };
        let id = known.unwrap_or(seq);
        let state = row.handoff_state.map(|state| self.name(state)).transpose()?;
        if known.is_none() || state.is_some() {
            let change = self.handoffs.entry(id).or_default();
            if known.is_none() {
                change.new = Some((uuid, whose));
            }
            change.state = state.or(change.state);
        }
        self.caches.handoffs.insert(uuid, id);
        Ok(id)
    }

    /// Writes what the batch came to, and the cursor, and ends the transaction.
    pub(super) fn commit(
        mut self,
        next: Cursor,
        last: Option<(Position, Hash)>,
    ) -> rusqlite::Result<()> {
        self.write_rows(1)?;
        let on = self.on;
        write_workflows(on, self.workflows)?;
        write_handoffs(on, self.handoffs)?;
        // After a restart the table knows more than the cache.
        let mut note = on.prepare_cached("INSERT OR IGNORE INTO blocks VALUES (?1, ?2)")?;
        for pair in self.blocks {
            note.execute(pair)?;
        }
        let sql = "INSERT INTO tallies VALUES (?1, ?2, ?3, ?4)
                   ON CONFLICT DO UPDATE SET count = count + excluded.count";
        let mut add = on.prepare_cached(sql)?;
        for ([kind, from, to], count) in self.tallies {
            add.execute([kind, from, to, count])?;
        }
        if let Some((position, hash)) = last {
            let sql = "INSERT OR REPLACE INTO cursor VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)";
            on.prepare_cached(sql)?.execute(params![
                number(next.seq),
                number(next.position.segment),
                number(next.position.offset),
                number(position.segment),
                number(position.offset),
                hash.as_bytes(),
            ])?;
        }
        on.execute_batch("COMMIT")
    }
}

fn find<T>(
    on: &Connection,
    sql: &str,
    uuid: &[u8; 16],
    read: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    let mut select = on.prepare_cached(sql)?;
    select.query_row(params![key(uuid), uuid], read).optional()
}

fn write_workflows(
    on: &Connection,
    changes: BTreeMap<i64, WorkflowChange>,
) -> rusqlite::Result<()> {
    let mut insert = on.prepare_cached("INSERT INTO workflows VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?;
    let sql = "UPDATE workflows SET title = coalesce(?2, title), outcome = coalesce(?3, outcome),
               closed = coalesce(?4, closed), head = ?5 WHERE id = ?1";
    let mut update = on.prepare_cached(sql)?;
    for (id, WorkflowChange { new, title, closed, head }) in changes {
        let (outcome, closed) = closed.unzip();
        match new {
            Some((uuid, started)) => {
                let key = key(&uuid);
                insert.execute(params![id, key, uuid, title, outcome, started, closed, head])?
            }
            None => update.execute(params![id, title, outcome, closed, head])?,
        };
    }
    Ok(())
}

fn write_handoffs(on: &Connection, changes: BTreeMap<i64, HandoffChange>) -> rusqlite::Result<()> {
    let mut insert = on.prepare_cached("INSERT INTO handoffs VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    let mut update = on.prepare_cached("UPDATE handoffs SET state = ?2 WHERE id = ?1")?;
    for (id, HandoffChange { new, state }) in changes {
        match new {
            Some((uuid, [workflow, from, to])) => {
                insert.execute(params![id, key(&uuid), uuid, workflow, state, from, to])?
            }
            None => update.execute(params![id, state])?,
        };
    }
    Ok(())
}
