//! Finds the records that pass a filter, in the order of their numbers, stopping at the limit.
//!
//! A workflow's records are a chain, walked from its last one back. For kinds and agents, which are
//! few and frequent, an entry for every record would cost more than all else; instead the index
//! knows which blocks of records name them, and only those blocks are read. SQLite never gets to
//! sort history.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::query::{Filter, capped};
use super::row::{key, number, read_number, read_position};
use crate::log::Position;

/// How many records share a block. Tests have small ones, so that short stories have many.
const BLOCK_RECORDS: i64 = if cfg!(test) { 16 } else { 1024 };

/// Returns the block that a record lies in.
pub(super) fn block(seq: i64) -> i64 {
    seq / BLOCK_RECORDS
}

/// Returns the numbers and places of the records that pass `filter`.
pub(super) fn search(on: &Connection, filter: &Filter) -> rusqlite::Result<Vec<(u64, Position)>> {
    let Some(known) = Known::find(on, filter)? else { return Ok(Vec::new()) };
    let (mut low, mut high) = (0, i64::MAX);
    if let Some(time) = filter.since {
        low = seq_at(on, time)?;
    }
    if let Some(time) = filter.until {
        high = seq_at(on, time)?;
    }
    low = low.max(filter.after_seq.map_or(0, |seq| number(seq).saturating_add(1)));
    low = low.max(known.handoff.map_or(0, |(first_seq, _)| first_seq));
    high = high.min(filter.before_seq.map_or(i64::MAX, number));

    if let Some(workflow) = known.one_workflow() {
        return known.chain(on, workflow, (low, high), filter);
    }
    let (sql, mut values) = known.select(filter.newest_first);
    let mut select = on.prepare_cached(&sql)?;
    let mut found = Vec::new();
    for (from, to) in known.ranges(on, low, high, filter.newest_first)? {
        let missing = capped(filter.limit) as usize - found.len();
        if missing == 0 {
            break;
        }
        values[..3].clone_from_slice(&[from.into(), to.into(), (missing as i64).into()]);
        let place = |row: &rusqlite::Row<'_>| Ok((read_number(row, 0)?, read_position(row, 1)?));
        for row in select.query_map(params_from_iter(&values), place)? {
            found.push(row?);
        }
    }
    Ok(found)
}

/// A handoff, which is the number of its first record, and its workflow.
type OfWorkflow = (i64, Option<i64>);

/// The filter in the numbers of the tables.
struct Known {
    workflow: Option<i64>,
    handoff: Option<OfWorkflow>,
    from: Option<i64>,
    to: Option<i64>,
    agent: Option<i64>,
    file: Option<i64>,
    kinds: Vec<i64>,
    command: Option<i64>,
}

impl Known {
    /// Returns `None` when the filter names something that no record does.
    fn find(on: &Connection, filter: &Filter) -> rusqlite::Result<Option<Self>> {
        let workflow = workflow(on, filter.workflow)?;
        let handoff = handoff(on, filter.handoff)?;
        let (from, to) = (name(on, filter.from.as_ref())?, name(on, filter.to.as_ref())?);
        let agent = name(on, filter.agent.as_ref())?;
        let file = name(on, filter.file.as_ref())?;
        let mut kinds = Vec::new();
        for kind in &filter.kinds {
            kinds.extend(name(on, Some(kind))?.flatten());
        }
        if kinds.is_empty() && !filter.kinds.is_empty() {
            return Ok(None);
        }
        let command = filter.command.as_ref().map(key);
        let (Some(workflow), Some(handoff)) = (workflow, handoff) else { return Ok(None) };
        let (Some(from), Some(to), Some(agent)) = (from, to, agent) else { return Ok(None) };
        let Some(file) = file else { return Ok(None) };
        Ok(Some(Self { workflow, handoff, from, to, agent, file, kinds, command }))
    }

    /// Returns the workflow that all records asked for belong to, if one is known.
    fn one_workflow(&self) -> Option<i64> {
        self.workflow.or(self.handoff.and_then(|(_, workflow)| workflow))
    }

    /// Walks the chain of a workflow and returns what passes, from `low` to before `high`.
    fn chain(
        &self,
        on: &Connection,
        workflow: i64,
        (low, high): (i64, i64),
        filter: &Filter,
    ) -> rusqlite::Result<Vec<(u64, Position)>> {
        let limit = capped(filter.limit) as usize;
        let mut values = vec![Value::Null];
        let looks = self.looks(&mut values);
        let sql =
            format!("SELECT seq, segment, offset, prev, 1{looks} FROM records WHERE seq = ?1");
        let mut select = on.prepare_cached(&sql)?;
        let head = "SELECT head FROM workflows WHERE id = ?";
        let mut next: Option<i64> =
            on.prepare_cached(head)?.query_row([workflow], |row| row.get(0))?;
        let mut found = Vec::new();
        while let Some(seq) = next.filter(|seq| *seq >= low) {
            values[0] = Value::from(seq);
            let place = |row: &rusqlite::Row<'_>| {
                next = row.get(3)?;
                let passes = row.get::<_, Option<bool>>(4)? == Some(true);
                Ok(passes.then_some((read_number(row, 0)?, read_position(row, 1)?)))
            };
            let place = select.query_row(params_from_iter(&values), place)?;
            found.extend(place.filter(|_| seq < high));
            if filter.newest_first && found.len() == limit {
                break;
            }
        }
        if !filter.newest_first {
            found.reverse();
            found.truncate(limit);
        }
        Ok(found)
    }

    /// Returns the question for one range of numbers. Its first three values are the range's start
    /// and end, and how many records to return.
    fn select(&self, newest_first: bool) -> (String, Vec<Value>) {
        let mut values = vec![Value::Null; 3];
        let looks = self.looks(&mut values);
        let order = if newest_first { "DESC" } else { "ASC" };
        let sql = format!(
            "SELECT seq, segment, offset FROM records
             WHERE seq >= ?1 AND seq < ?2{looks} ORDER BY seq {order} LIMIT ?3"
        );
        (sql, values)
    }

    /// Returns what a record must look like, and adds the values that it is compared with.
    fn looks(&self, values: &mut Vec<Value>) -> String {
        let mut bind = |value: i64| {
            values.push(Value::from(value));
            format!("?{}", values.len())
        };
        let mut looks = String::new();
        for (column, value) in [
            ("handoff", self.handoff.map(|(id, _)| id)),
            ("from_agent", self.from),
            ("to_agent", self.to),
            ("file", self.file),
            ("command", self.command),
        ] {
            looks.extend(value.map(|value| format!(" AND {column} = {}", bind(value))));
        }
        if let Some(agent) = self.agent.map(&mut bind) {
            looks.push_str(&format!(" AND {agent} IN (from_agent, to_agent)"));
        }
        if !self.kinds.is_empty() {
            let kinds: Vec<String> = self.kinds.iter().map(|&kind| bind(kind)).collect();
            looks.push_str(&format!(" AND kind IN ({})", kinds.join(", ")));
        }
        looks
    }

    /// Returns the ranges of numbers to look at, in the order asked for.
    fn ranges(
        &self,
        on: &Connection,
        low: i64,
        high: i64,
        newest_first: bool,
    ) -> rusqlite::Result<Vec<(i64, i64)>> {
        if low >= high {
            return Ok(Vec::new());
        }
        let single = [self.from, self.to, self.agent, self.file].into_iter().flatten();
        let mut names: Vec<Vec<i64>> = single.map(|name| vec![name]).collect();
        names.extend((!self.kinds.is_empty()).then(|| self.kinds.clone()));
        if names.is_empty() {
            return Ok(vec![(low, high)]);
        }
        // A block counts only if it names all that is asked for.
        let arms = names.iter().map(|any| {
            let places = vec!["?"; any.len()].join(", ");
            format!("SELECT block FROM blocks WHERE name IN ({places})")
        });
        let order = if newest_first { "DESC" } else { "ASC" };
        let arms = arms.collect::<Vec<_>>().join(" INTERSECT ");
        let sql = format!("SELECT DISTINCT block FROM ({arms}) ORDER BY block {order}");
        let mut ranges = Vec::new();
        let mut select = on.prepare_cached(&sql)?;
        let mut rows = select.query(params_from_iter(names.iter().flatten()))?;
        while let Some(row) = rows.next()? {
            let start = row.get::<_, i64>(0)?.saturating_mul(BLOCK_RECORDS);
            let (from, to) = (start.max(low), start.saturating_add(BLOCK_RECORDS).min(high));
            ranges.extend((from < to).then_some((from, to)));
        }
        Ok(ranges)
    }
}

/// Looks up a workflow: `Some(None)` when none is asked for, `None` when it is unknown.
fn workflow(on: &Connection, uuid: Option<[u8; 16]>) -> rusqlite::Result<Option<Option<i64>>> {
    let Some(uuid) = uuid else { return Ok(Some(None)) };
    let mut select = on.prepare_cached("SELECT id FROM workflows WHERE key = ? AND uuid = ?")?;
    select.query_row(params![key(&uuid), uuid], |row| row.get(0).map(Some)).optional()
}

/// Looks up a handoff and its workflow, likewise.
fn handoff(
    on: &Connection,
    uuid: Option<[u8; 16]>,
) -> rusqlite::Result<Option<Option<OfWorkflow>>> {
    let Some(uuid) = uuid else { return Ok(Some(None)) };
    let sql = "SELECT id, workflow FROM handoffs WHERE key = ? AND uuid = ?";
    let mut select = on.prepare_cached(sql)?;
    let pair = |row: &rusqlite::Row<'_>| Ok(Some((row.get(0)?, row.get(1)?)));
    select.query_row(params![key(&uuid), uuid], pair).optional()
}

/// Looks up a name, likewise.
fn name(on: &Connection, text: Option<&String>) -> rusqlite::Result<Option<Option<i64>>> {
    let Some(text) = text else { return Ok(Some(None)) };
    let mut select = on.prepare_cached("SELECT id FROM names WHERE text = ?")?;
    select.query_row([text], |row| row.get(0).map(Some)).optional()
}

/// Returns the number of the first record at or after `time`, by halving: times in the index never
/// run back, so they need no index of their own.
fn seq_at(on: &Connection, time: i64) -> rusqlite::Result<i64> {
    // Asked for both ends in one SELECT, SQLite would read the whole table.
    let sql = "SELECT coalesce((SELECT min(seq) FROM records), 1),
                      coalesce((SELECT max(seq) FROM records), 0) + 1";
    let ends = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let (mut low, mut high): (i64, i64) = on.prepare_cached(sql)?.query_row([], ends)?;
    let sql = "SELECT seq, at FROM records WHERE seq >= ? ORDER BY seq LIMIT 1";
    let mut select = on.prepare_cached(sql)?;
    while low < high {
        let middle = low + (high - low) / 2;
        let (seq, at): (i64, i64) =
            select.query_row([middle], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if at < time {
            low = seq + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
