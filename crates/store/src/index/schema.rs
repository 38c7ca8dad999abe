//! The tables, and how the file is opened, judged and deleted. It never migrates: another version
//! is another index, built anew from the log.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// The version of the tables below and of what is put into them. Raise it with any change.
pub(super) const VERSION: i64 = 4;

/// Room for pages while writing, in KiB. A rebuild of a large log must not grow the process.
const WRITE_CACHE_KIB: i64 = 8 * 1024;
const READ_CACHE_KIB: i64 = 2 * 1024;

/// Each index on `records` costs every record, so there is none that is in each: a workflow's
/// records are a chain from its `head` back by `prev`, a handoff's and a command's are found among
/// them, times by halving, and `blocks` says which blocks of records name a kind, an agent or a
/// file. The few records outside workflows are found by command, because their streams never end
/// and so cannot be searched whole.
///
/// The `id` of a workflow or handoff is the number of the first record that names it, so that it
/// grows and is the same after every rebuild. `tallies` has 0 for "nobody".
const TABLES: &str = "
    CREATE TABLE cursor(
        one INTEGER PRIMARY KEY CHECK (one = 1),
        seq INTEGER NOT NULL, segment INTEGER NOT NULL, offset INTEGER NOT NULL,
        last_segment INTEGER NOT NULL, last_offset INTEGER NOT NULL, last_hash BLOB NOT NULL);
    CREATE TABLE names(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE records(
        seq INTEGER PRIMARY KEY, segment INTEGER NOT NULL, offset INTEGER NOT NULL,
        at INTEGER NOT NULL, kind INTEGER NOT NULL, workflow INTEGER, prev INTEGER,
        handoff INTEGER, from_agent INTEGER, to_agent INTEGER, actor INTEGER, command INTEGER,
        file INTEGER);
    CREATE INDEX records_command ON records(command) WHERE workflow IS NULL;
    CREATE TABLE blocks(
        name INTEGER NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (name, block)) WITHOUT ROWID;
    CREATE TABLE workflows(
        id INTEGER PRIMARY KEY, key INTEGER NOT NULL, uuid BLOB NOT NULL, title TEXT,
        outcome INTEGER, started INTEGER NOT NULL, closed INTEGER, head INTEGER NOT NULL);
    CREATE INDEX workflows_key ON workflows(key);
    CREATE INDEX workflows_open ON workflows(outcome) WHERE outcome IS NULL;
    CREATE TABLE handoffs(
        id INTEGER PRIMARY KEY, key INTEGER NOT NULL, uuid BLOB NOT NULL, workflow INTEGER,
        state INTEGER, from_agent INTEGER, to_agent INTEGER);
    CREATE INDEX handoffs_key ON handoffs(key);
    CREATE TABLE tallies(
        kind INTEGER NOT NULL, from_agent INTEGER NOT NULL, to_agent INTEGER NOT NULL,
        count INTEGER NOT NULL, PRIMARY KEY (kind, from_agent, to_agent)) WITHOUT ROWID;
";

/// Opens the file to write, making the tables in a new one.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -WRITE_CACHE_KIB)?;
    // Checkpoints sync, and their syncs compete with the log's: few large ones cost less.
    connection.pragma_update(None, "wal_autocheckpoint", 4096)?;
    connection.pragma_update(None, "journal_size_limit", 32 * 1024 * 1024)?;
    connection.set_prepared_statement_cache_capacity(64);
    stable_plans(&connection)?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
    if tables == 0 {
        let transaction = connection.transaction()?;
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()?;
    }
    Ok(connection)
}

/// Opens a second connection, for questions.
pub(super) fn connect_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READ_CACHE_KIB)?;
    stable_plans(&connection)?;
    Ok(connection)
}

/// Keeps SQLite from planning a cached statement anew for every value bound to it, which it else
/// does beside partial indexes.
fn stable_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Returns the version of an open file.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Deletes the file and what SQLite keeps beside it.
pub(super) fn delete(path: &Path) -> io::Result<()> {
    // The journal goes first: left behind, it would be played into the next file.
    for suffix in ["-wal", "-shm", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(PathBuf::from(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
