//! One transaction's worth of records on their way into the tables.
//!
//! What changes several times within a batch is written once, at its end: nobody can see the steps
//! in between. Numbers for names and ids come from caches; the tables answer for what has left
//! them. A batch that fails is rolled back by its owner, who also forgets the caches.

use std::collections::{BTreeMap, HashMap, HashSet};

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::row::{Row, key, number};
use super::search::block;
use crate::hash::Hash;
use crate::log::{Cursor, Entry, Position};

/// How many entries a cache may have when a batch begins. Work is close together in time, so a
/// cache that starts afresh soon holds what is needed.
const CACHED_MAX: usize = 16 * 1024;

/// What is known without asking the tables.
pub(super) struct Caches {
    names: HashMap<String, i64>,
    workflows: HashMap<[u8; 16], i64>,
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
        for ids in [&mut self.workflows, &mut self.handoffs] {
            if ids.len() > CACHED_MAX {
                ids.clear();
            }
        }
    }
}

/// A transaction that is being filled.
pub(super) struct Batch<'c> {
    on: &'c Connection,
    insert: CachedStatement<'c>,
    caches: &'c mut Caches,
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
}

#[derive(Default)]
struct HandoffChange {
    /// Its id and its workflow, sender and receiver, if it is new.
    new: Option<([u8; 16], [Option<i64>; 3])>,
    state: Option<i64>,
}

impl<'c> Batch<'c> {
    pub(super) fn new(on: &'c Connection, caches: &'c mut Caches) -> rusqlite::Result<Self> {
        // Only here, not in the middle of a batch: until it is committed, the caches are the only
        // ones who know its new ids.
        caches.make_room();
        let sql = "INSERT INTO records VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        let insert = on.prepare_cached(sql)?;
        let (workflows, handoffs, blocks, tallies) = Default::default();
        Ok(Self { on, insert, caches, workflows, handoffs, blocks, tallies })
    }

    pub(super) fn add(&mut self, entry: &Entry<'_>, row: &Row<'_>) -> rusqlite::Result<()> {
        self.caches.at = self.caches.at.max(row.at);
        let kind = self.name(row.kind)?;
        let from = row.from.map(|name| self.name(name)).transpose()?;
        let to = row.to.map(|name| self.name(name)).transpose()?;
        let actor = row.actor.map(|name| self.name(name)).transpose()?;
        let id = number(entry.seq);
        let workflow = row.workflow.map(|uuid| self.workflow(id, row, uuid)).transpose()?;
        let whose = [workflow, from, to];
        let handoff = row.handoff.map(|uuid| self.handoff(id, row, uuid, whose)).transpose()?;
        self.insert.execute(params![
            id,
            number(entry.position.segment),
            number(entry.position.offset),
            self.caches.at,
            kind,
            workflow,
            handoff,
            from,
            to,
            actor,
            row.command.as_ref().map(key),
        ])?;
        self.note(block(id), [Some(kind), from, to]);
        *self.tallies.entry([kind, from.unwrap_or(0), to.unwrap_or(0)]).or_default() += 1;
        Ok(())
    }

    /// Notes who is named in a block.
    fn note(&mut self, block: i64, names: [Option<i64>; 3]) {
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

    fn workflow(&mut self, seq: i64, row: &Row<'_>, uuid: [u8; 16]) -> rusqlite::Result<i64> {
        let known = match self.caches.workflows.get(&uuid) {
            Some(&id) => Some(id),
            None => id(self.on, "SELECT id FROM workflows WHERE key = ? AND uuid = ?", &uuid)?,
        };
        let id = known.unwrap_or(seq);
        self.caches.workflows.insert(uuid, id);
        if known.is_none() || row.title.is_some() || row.closes.is_some() {
            let closes = row.closes.map(|outcome| self.name(outcome)).transpose()?;
            let at = self.caches.at;
            let change = self.workflows.entry(id).or_default();
            if known.is_none() {
                change.new = Some((uuid, at));
            }
            if let Some(title) = &row.title {
                change.title = Some(title.clone().into_owned());
            }
            change.closed = closes.map(|outcome| (outcome, at)).or(change.closed);
        }
        Ok(id)
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
            None => id(self.on, "SELECT id FROM handoffs WHERE key = ? AND uuid = ?", &uuid)?,
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
        self,
        next: Cursor,
        last: Option<(Position, Hash)>,
    ) -> rusqlite::Result<()> {
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

fn id(on: &Connection, sql: &str, uuid: &[u8; 16]) -> rusqlite::Result<Option<i64>> {
    let mut select = on.prepare_cached(sql)?;
    select.query_row(params![key(uuid), uuid], |row| row.get(0)).optional()
}

fn write_workflows(
    on: &Connection,
    changes: BTreeMap<i64, WorkflowChange>,
) -> rusqlite::Result<()> {
    let mut insert = on.prepare_cached("INSERT INTO workflows VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    let sql = "UPDATE workflows SET title = coalesce(?2, title), outcome = coalesce(?3, outcome),
               closed = coalesce(?4, closed) WHERE id = ?1";
    let mut update = on.prepare_cached(sql)?;
    for (id, WorkflowChange { new, title, closed }) in changes {
        let (outcome, closed) = closed.unzip();
        match new {
            Some((uuid, started)) => {
                insert.execute(params![id, key(&uuid), uuid, title, outcome, started, closed])?
            }
            None => update.execute(params![id, title, outcome, closed])?,
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
