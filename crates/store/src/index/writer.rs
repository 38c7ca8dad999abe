//! The one writer of the index: goes on where the file ends, in transactions that carry the cursor.
//!
//! A crash between the log and here leaves the index behind, and never ahead or half done.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::batch::{Batch, Caches};
use super::row::{read_number, read_position};
use super::{Extract, IndexError, is_damage, schema, sqlite};
use crate::hash::Hash;
use crate::log::{Cursor, LogReader, Position};

/// Where the records come from.
pub(super) struct Source {
    pub(super) reader: LogReader,
    /// Records from here on were written by this process, which takes its own word for them.
    pub(super) own_from: u64,
}

/// The one connection that writes.
pub(super) struct Writer {
    connection: Connection,
    caches: Caches,
    /// The end of the indexed records.
    pub(super) next: Cursor,
    last: Option<(Position, Hash)>,
}

impl Writer {
    /// Opens the index of the log that `reader` reads and that ends before `log_next_seq`.
    ///
    /// A file that is damaged, of another version, or not of this log is deleted and begun anew.
    pub(super) fn open(
        path: &Path,
        reader: &LogReader,
        log_next_seq: u64,
    ) -> Result<Self, IndexError> {
        let found = schema::connect(path).and_then(|connection| {
            let current = schema::version(&connection)? == schema::VERSION;
            if current { Self::on(connection).map(Some) } else { Ok(None) }
        });
        match found {
            Ok(Some(writer)) if writer.belongs_to(reader, log_next_seq) => return Ok(writer),
            Err(error) if !is_damage(&error) => return Err(sqlite(path, error)),
            _ => tracing::info!(path = %path.display(), "building the index anew"),
        }
        schema::delete(path)
            .map_err(|source| IndexError::Io { place: path.display().to_string(), source })?;
        let fresh = schema::connect(path).and_then(Self::on);
        fresh.map_err(|error| sqlite(path, error))
    }

    /// Goes on where the tables of `connection` end.
    pub(super) fn on(connection: Connection) -> rusqlite::Result<Self> {
        let read = |row: &rusqlite::Row<'_>| {
            let next = Cursor { seq: read_number(row, 0)?, position: read_position(row, 1)? };
            Ok((next, (read_position(row, 3)?, Hash::from_bytes(row.get(5)?))))
        };
        let sql = "SELECT seq, segment, offset, last_segment, last_offset, last_hash FROM cursor";
        let (next, last) = connection.query_row(sql, [], read).optional()?.unzip();
        let sql = "SELECT at FROM records ORDER BY seq DESC LIMIT 1";
        let at = connection.query_row(sql, [], |row| row.get(0)).optional()?;
        let caches = Caches::new(at.unwrap_or(i64::MIN));
        Ok(Self { connection, caches, next: next.unwrap_or(Cursor::START), last })
    }

    /// Says whether the last indexed record is in the log, as it was. A log that was put back from
    /// a backup may have other records by the same numbers.
    fn belongs_to(&self, reader: &LogReader, log_next_seq: u64) -> bool {
        let Some((position, hash)) = self.last else { return self.next == Cursor::START };
        self.next.seq <= log_next_seq
            && reader.read_line(position).is_ok_and(|line| crate::line::check(&line) == Ok(hash))
    }

    /// Indexes the records up to `up_to_seq` in one transaction: all or, after an error, none.
    pub(super) fn index(
        &mut self,
        path: &Path,
        source: &Source,
        up_to_seq: u64,
        extract: &impl Extract,
    ) -> Result<(), IndexError> {
        let at = self.caches.at;
        let begun = self.connection.execute_batch("BEGIN IMMEDIATE");
        begun.map_err(|error| sqlite(path, error))?;
        match self.fill(path, source, up_to_seq, extract) {
            Ok((next, last)) => {
                self.next = next;
                self.last = last.or(self.last);
                Ok(())
            }
            Err(error) => {
                let _ = self.connection.execute_batch("ROLLBACK");
                // They may name rows that are no more.
                self.caches = Caches::new(at);
                Err(error)
            }
        }
    }

    fn fill(
        &mut self,
        path: &Path,
        source: &Source,
        up_to_seq: u64,
        extract: &impl Extract,
    ) -> Result<(Cursor, Option<(Position, Hash)>), IndexError> {
        let mut batch = Batch::new(&self.connection, &mut self.caches);
        let mut last = None;
        let mut failed = None;
        let scanned = source.reader.scan_from_own(self.next, up_to_seq, source.own_from, |entry| {
            last = Some((entry.position, entry.hash));
            let Some(row) = extract(entry.bytes) else {
                tracing::warn!(seq = entry.seq, "a record is not indexed: its shape is unknown");
                return Ok(());
            };
            batch.add(&entry, &row).map_err(|error| {
                failed = Some(error);
                "SQLite failed".into()
            })
        });
        if let Some(error) = failed {
            return Err(sqlite(path, error));
        }
        let next = scanned?;
        batch.commit(next, last).map_err(|error| sqlite(path, error))?;
        Ok((next, last))
    }
}
