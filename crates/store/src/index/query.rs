//! Questions to the index. Each uses one sorted path through the tables and has a limit, so that
//! no question takes time by the length of history unless it asks for all of it.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::row::{key, number, read_number, read_position};
use super::search::search;
use super::{Index, IndexError};
use crate::log::Position;

/// The most records that one question returns.
pub const RECORDS_MAX: u32 = 10_000;
/// The most ids that a prefix search returns: enough to tell "many" from "a few".
pub const MATCHES_MAX: u32 = 32;

/// Which records are asked for. The default is all of them, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only of this workflow.
    pub workflow: Option<[u8; 16]>,
    /// Only about this handoff.
    pub handoff: Option<[u8; 16]>,
    /// Only passed by this agent.
    pub from: Option<String>,
    /// Only passed to this agent.
    pub to: Option<String>,
    /// Only passed by or to this agent.
    pub agent: Option<String>,
    /// Only about tags in this file.
    pub file: Option<String>,
    /// Only of these kinds; none given means any.
    pub kinds: Vec<String>,
    /// Only caused by a command whose id begins with the same eight bytes. Not sorted by: combine
    /// it with a workflow or handoff.
    pub command: Option<[u8; 16]>,
    /// Only recorded at or after this time, in microseconds.
    pub since: Option<i64>,
    /// Only recorded before this time, in microseconds.
    pub until: Option<i64>,
    /// Only with larger numbers.
    pub after_seq: Option<u64>,
    /// Only with smaller numbers.
    pub before_seq: Option<u64>,
    /// At most so many; capped at [`RECORDS_MAX`], which 0 stands for.
    pub limit: u32,
    /// The newest first.
    pub newest_first: bool,
}

/// A page of the list of workflows, newest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkflowPage {
    /// Only open ones, or only closed ones.
    pub open: Option<bool>,
    /// Only those whose `first_seq` is smaller: the last one of the page before.
    pub before: Option<u64>,
    /// At most so many; capped at [`RECORDS_MAX`], which 0 stands for.
    pub limit: u32,
}

/// What is known of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowRow {
    /// Its id.
    pub uuid: [u8; 16],
    /// Its title.
    pub title: Option<String>,
    /// When its first record was written, in microseconds.
    pub started: i64,
    /// When it was closed, in microseconds.
    pub closed: Option<i64>,
    /// How it ended. None while it is open.
    pub outcome: Option<String>,
    /// The number of its first record.
    pub first_seq: u64,
    /// The number of its latest record.
    pub head_seq: u64,
}

/// What is known of a handoff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffRow {
    /// Its id.
    pub uuid: [u8; 16],
    /// Its workflow.
    pub workflow: Option<[u8; 16]>,
    /// Where it stands.
    pub state: Option<String>,
    /// Who passed it at first.
    pub from: Option<String>,
    /// Who it was passed to at first.
    pub to: Option<String>,
    /// The number of its first record.
    pub first_seq: u64,
}

/// How many records of one kind went from one agent to another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tally {
    /// The kind of record.
    pub kind: String,
    /// Who passed, if anybody.
    pub from: Option<String>,
    /// Who was passed to, if anybody.
    pub to: Option<String>,
    /// How many there are.
    pub count: u64,
}

const WORKFLOW: &str = "
    SELECT w.uuid, w.title, w.started, w.closed, o.text, w.id, w.head
    FROM workflows w LEFT JOIN names o ON o.id = w.outcome";

const BY_KEY: &str = "ORDER BY w.key LIMIT ?";

fn workflow_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<WorkflowRow> {
    Ok(WorkflowRow {
        uuid: row.get(0)?,
        title: row.get(1)?,
        started: row.get(2)?,
        closed: row.get(3)?,
        outcome: row.get(4)?,
        first_seq: read_number(row, 5)?,
        head_seq: read_number(row, 6)?,
    })
}

fn handoff_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<HandoffRow> {
    Ok(HandoffRow {
        uuid: row.get(0)?,
        workflow: row.get(1)?,
        state: row.get(2)?,
        from: row.get(3)?,
        to: row.get(4)?,
        first_seq: read_number(row, 5)?,
    })
}

impl Index {
    /// Finds the workflows whose id begins with `prefix` (hexadecimal, dashes allowed), at most
    /// [`MATCHES_MAX`].
    pub fn find_workflows(&self, prefix: &str) -> Result<Vec<WorkflowRow>, IndexError> {
        let range = Prefix::parse(prefix)?;
        let sql =
            format!("{WORKFLOW} WHERE w.key BETWEEN ? AND ? AND w.uuid BETWEEN ? AND ? {BY_KEY}");
        self.ask(|on| range.find(on, &sql, workflow_row))
    }

    /// Finds the handoffs whose id begins with `prefix`, likewise.
    pub fn find_handoffs(&self, prefix: &str) -> Result<Vec<HandoffRow>, IndexError> {
        let range = Prefix::parse(prefix)?;
        let sql = "
            SELECT h.uuid, w.uuid, s.text, f.text, t.text, h.id FROM handoffs h
            LEFT JOIN workflows w ON w.id = h.workflow LEFT JOIN names s ON s.id = h.state
            LEFT JOIN names f ON f.id = h.from_agent LEFT JOIN names t ON t.id = h.to_agent
            WHERE h.key BETWEEN ? AND ? AND h.uuid BETWEEN ? AND ? ORDER BY h.key LIMIT ?";
        self.ask(|on| range.find(on, sql, handoff_row))
    }

    /// Says whether any record is of this workflow.
    pub(crate) fn has_workflow(&self, uuid: &[u8; 16]) -> Result<bool, IndexError> {
        let sql = "SELECT 1 FROM workflows WHERE key = ?1 AND uuid = ?2";
        self.ask(|on| on.prepare_cached(sql)?.exists(params![key(uuid), uuid]))
    }

    /// Returns how a workflow ended; `None` if it is open or unknown.
    pub fn workflow_closed(&self, uuid: &[u8; 16]) -> Result<Option<String>, IndexError> {
        let sql = "SELECT o.text FROM workflows w JOIN names o ON o.id = w.outcome
                   WHERE w.key = ?1 AND w.uuid = ?2";
        self.ask(|on| {
            let mut select = on.prepare_cached(sql)?;
            select.query_row(params![key(uuid), uuid], |row| row.get(0)).optional()
        })
    }

    /// Lists workflows, newest first.
    pub fn workflows(&self, page: WorkflowPage) -> Result<Vec<WorkflowRow>, IndexError> {
        let open = match page.open {
            None => "",
            Some(true) => "AND w.outcome IS NULL",
            Some(false) => "AND w.outcome IS NOT NULL",
        };
        let sql = format!("{WORKFLOW} WHERE w.id < ?1 {open} ORDER BY w.id DESC LIMIT ?2");
        let before = page.before.map_or(i64::MAX, number);
        self.ask(|on| {
            let mut select = on.prepare_cached(&sql)?;
            select.query_map(params![before, capped(page.limit)], workflow_row)?.collect()
        })
    }

    /// Returns the records that a command led to outside workflows: in the streams of agents and
    /// of the workspace.
    pub(crate) fn outside_workflows(
        &self,
        command: &[u8; 16],
    ) -> Result<Vec<(u64, Position)>, IndexError> {
        let sql = "SELECT seq, segment, offset FROM records INDEXED BY records_command
                   WHERE workflow IS NULL AND command = ?1 ORDER BY seq LIMIT ?2";
        let place = |row: &rusqlite::Row<'_>| Ok((read_number(row, 0)?, read_position(row, 1)?));
        self.ask(|on| {
            let mut select = on.prepare_cached(sql)?;
            select.query_map(params![key(command), RECORDS_MAX], place)?.collect()
        })
    }

    /// Returns the numbers and places of the records that pass `filter`.
    pub fn records(&self, filter: &Filter) -> Result<Vec<(u64, Position)>, IndexError> {
        self.ask(|on| search(on, filter))
    }

    /// Counts all records by kind, sender and receiver, for statistics.
    pub fn counts(&self) -> Result<Vec<Tally>, IndexError> {
        let sql = "
            SELECT k.text, f.text, t.text, c.count FROM tallies c JOIN names k ON k.id = c.kind
            LEFT JOIN names f ON f.id = c.from_agent LEFT JOIN names t ON t.id = c.to_agent
            ORDER BY k.text, f.text, t.text";
        self.ask(|on| {
            let tally = |row: &rusqlite::Row<'_>| {
                Ok(Tally {
                    kind: row.get(0)?,
                    from: row.get(1)?,
                    to: row.get(2)?,
                    count: read_number(row, 3)?,
                })
            };
            on.prepare_cached(sql)?.query_map([], tally)?.collect()
        })
    }
}

pub(crate) fn capped(limit: u32) -> u32 {
    if limit == 0 { RECORDS_MAX } else { limit.min(RECORDS_MAX) }
}

/// The ids that begin with some digits, from the smallest to the largest.
pub(crate) struct Prefix {
    low: [u8; 16],
    high: [u8; 16],
}

impl Prefix {
    pub(crate) fn parse(text: &str) -> Result<Self, IndexError> {
        let wrong = || IndexError::Prefix { found: text.chars().take(40).collect() };
        let digits: Option<Vec<u8>> = text
            .chars()
            .filter(|&c| c != '-')
            .map(|c| c.to_digit(16).map(|digit| digit as u8))
            .collect();
        let digits = digits.filter(|d| (1..=32).contains(&d.len())).ok_or_else(wrong)?;
        let (mut low, mut high) = ([0; 16], [255; 16]);
        for (at, digit) in digits.into_iter().enumerate() {
            let (shift, keep) = if at % 2 == 0 { (4, 0x0f) } else { (0, 0xf0) };
            for end in [&mut low, &mut high] {
                end[at / 2] = end[at / 2] & keep | digit << shift;
            }
        }
        Ok(Self { low, high })
    }

    pub(crate) fn covers(&self, uuid: &[u8; 16]) -> bool {
        (self.low..=self.high).contains(uuid)
    }

    fn find<T>(
        &self,
        on: &Connection,
        sql: &str,
        read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let values = [
            Value::from(key(&self.low)),
            Value::from(key(&self.high)),
            Value::from(self.low.to_vec()),
            Value::from(self.high.to_vec()),
            Value::from(MATCHES_MAX),
        ];
        on.prepare_cached(sql)?.query_map(params_from_iter(values), read)?.collect()
    }
}
