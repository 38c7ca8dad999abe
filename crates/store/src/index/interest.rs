//! Turns a filter into SQL that walks one index in the order of sequence numbers.
//!
//! SQLite's own choice would do for most filters, but where it guesses wrong it sorts all of
//! history. Here the narrowest column leads and all others are only looked at.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

use super::query::Filter;
use super::row::{key, number};

/// A query for sequence numbers, sorted as its consumer asks, and its values.
pub(super) struct Choice {
    pub(super) sql: String,
    pub(super) values: Vec<Value>,
}

/// Returns the query, or `None` when the filter names somebody that no record does.
pub(super) fn choose(on: &Connection, filter: &Filter) -> rusqlite::Result<Option<Choice>> {
    let Some(known) = Known::find(on, filter)? else { return Ok(None) };
    let low = match filter.since {
        Some(time) => seq_at(on, time)?,
        None => 0,
    };
    let high = match filter.until {
        Some(time) => seq_at(on, time)?,
        None => i64::MAX,
    };
    let low = low.max(filter.after_seq.map_or(0, |seq| number(seq).saturating_add(1)));
    let high = high.min(filter.before_seq.map_or(i64::MAX, number));
    Ok(Some(known.choice(low, high)))
}

/// The filter in the numbers of the tables.
struct Known {
    workflow: Option<i64>,
    /// The handoff, which is the number of its first record, and its workflow.
    handoff: Option<OfWorkflow>,
    from: Option<i64>,
    to: Option<i64>,
    agent: Option<i64>,
    kinds: Vec<i64>,
    command: Option<i64>,
}

impl Known {
    fn find(on: &Connection, filter: &Filter) -> rusqlite::Result<Option<Self>> {
        let workflow = workflow(on, filter.workflow)?;
        let handoff = handoff(on, filter.handoff)?;
        let (from, to) = (name(on, filter.from.as_ref())?, name(on, filter.to.as_ref())?);
        let agent = name(on, filter.agent.as_ref())?;
        let mut kinds = Vec::new();
        for kind in &filter.kinds {
            kinds.extend(name(on, Some(kind))?.flatten());
        }
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() && !filter.kinds.is_empty() {
            return Ok(None);
        }
        let command = filter.command.as_ref().map(key);
        let (Some(workflow), Some(handoff)) = (workflow, handoff) else { return Ok(None) };
        let (Some(from), Some(to), Some(agent)) = (from, to, agent) else { return Ok(None) };
        Ok(Some(Self { workflow, handoff, from, to, agent, kinds, command }))
    }

    fn choice(&self, low: i64, high: i64) -> Choice {
        let low = self.handoff.map_or(low, |(first_seq, _)| low.max(first_seq));
        let mut values = vec![Value::from(low), Value::from(high)];
        let mut bind = |value: i64| {
            values.push(Value::from(value));
            format!("?{}", values.len())
        };
        // A plus sign keeps SQLite from using the column's index.
        let mut looks = String::new();
        for (column, value) in [
            ("workflow", self.workflow),
            ("handoff", self.handoff.map(|(id, _)| id)),
            ("from_agent", self.from),
            ("to_agent", self.to),
            ("command", self.command),
        ] {
            looks.extend(value.map(|value| format!(" AND +{column} = {}", bind(value))));
        }
        if let Some(agent) = self.agent.map(&mut bind) {
            looks.push_str(&format!(" AND {agent} IN (from_agent, to_agent)"));
        }
        if !self.kinds.is_empty() {
            let kinds: Vec<String> = self.kinds.iter().map(|&kind| bind(kind)).collect();
            looks.push_str(&format!(" AND +kind IN ({})", kinds.join(", ")));
        }
        let mut arms = Vec::new();
        for (index, column, value) in self.leads() {
            let value = bind(value);
            arms.push(format!(
                "SELECT seq FROM records INDEXED BY records_{index}
                 WHERE {column} = {value} AND seq >= ?1 AND seq < ?2{looks}"
            ));
        }
        if arms.is_empty() {
            arms.push(format!("SELECT seq FROM records WHERE seq >= ?1 AND seq < ?2{looks}"));
        }
        Choice { sql: arms.join(" UNION "), values }
    }

    /// Returns the ways into the table whose union holds every record asked for: an index, its
    /// column and the value. None means that nothing narrows it down.
    fn leads(&self) -> Vec<(&'static str, &'static str, i64)> {
        for (index, column, value) in [
            ("workflow", "workflow", self.workflow),
            ("workflow", "workflow", self.handoff.and_then(|(_, workflow)| workflow)),
            ("from", "from_agent", self.from),
            ("to", "to_agent", self.to),
        ] {
            if let Some(value) = value {
                return vec![(index, column, value)];
            }
        }
        if let Some(agent) = self.agent {
            return vec![("from", "from_agent", agent), ("to", "to_agent", agent)];
        }
        self.kinds.iter().map(|&kind| ("kind", "kind", kind)).collect()
    }
}

/// Looks up a workflow: `Some(None)` when none is asked for, `None` when it is unknown.
fn workflow(on: &Connection, uuid: Option<[u8; 16]>) -> rusqlite::Result<Option<Option<i64>>> {
    let Some(uuid) = uuid else { return Ok(Some(None)) };
    let mut select = on.prepare_cached("SELECT id FROM workflows WHERE key = ? AND uuid = ?")?;
    select.query_row(params![key(&uuid), uuid], |row| row.get(0).map(Some)).optional()
}

type OfWorkflow = (i64, Option<i64>);

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
