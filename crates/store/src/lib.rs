//! The durable record: an append-only log of JSON lines, blobs beside it, and an index over both
//! that may be thrown away.
//!
//! This crate contains no rule: what a record means, and whether it may be written, is decided
//! above it. It must never report as durable what a power cut could take back.

mod blob;
mod causes;
mod chain;
#[cfg(any(test, feature = "sim"))]
pub mod conformance;
mod core;
mod disk;
mod embedded;
mod hash;
mod index;
mod ledger;
mod line;
mod loans;
mod log;
mod memory;
mod pace;
mod past;
mod proof;
mod recent;
mod record;
#[cfg(any(test, feature = "sim"))]
pub mod sim;
pub mod snapshot;
mod sync;

pub use blob::{BLOB_BYTES_MAX, BlobError, Blobs};
pub use causes::causes;
pub use disk::{Disk, DiskFile, RealDisk};
pub use embedded::{Embedded, Observer, Synced, Tuning};
pub use hash::{Hash, HashError};
pub use index::{
    Extract, Filter, Follower, HandoffRow, Index, IndexError, MATCHES_MAX, RECORDS_MAX, Row, Tally,
    WorkflowPage, WorkflowRow,
};
pub use ledger::{
    Against, Asking, Checked, Condition, Decide, Export, Exported, Later, Ledger, LedgerError,
    Loan, Look, Recorded, Request, Scope, TransactError,
};
pub use line::{Envelope, LINE_BYTES_MAX, LineError, check, seal};
pub use log::{
    Cursor, Cut, Entry, Log, LogError, LogReader, Opened, Options, Position, Preparation,
    SEGMENT_BYTES_FIRST, SEGMENT_BYTES_MAX, SEQ_FIRST, VisitError,
};
pub use memory::Memory;
pub use proof::bundle::verify_bundle;
pub use proof::note::{Checkpoint, NoteError, VerifierKey};
pub use record::Record;
