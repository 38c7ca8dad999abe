//! The engine: takes commands from any entry, decides, records, and runs what follows.
//!
//! Every entry goes through [`Engine::submit`]; there is no second way to change anything. It
//! knows neither HTTP nor terminals.

mod announce;
mod audit_files;
mod clock;
mod compact;
mod credentials;
mod cursor;
mod definitions;
mod engine;
mod flow;
mod gauges;
mod health;
mod heartbeat;
mod history;
mod judge;
mod latency;
mod lists;
mod machine;
mod meter;
mod names;
mod outbox;
mod overview;
mod pack;
mod policy;
mod process;
mod proof;
mod query;
pub mod rehearsal;
mod replay;
mod retention;
mod returned;
mod run;
mod spans;
mod timers;
mod token;
mod veil;
pub mod view;
mod what_if;

pub use clock::{Clock, ManualClock, SystemClock};
pub use credentials::Credential;
pub use cursor::{Cursor, CursorError};
pub use definitions::DefinitionLine;
pub use engine::{Engine, SubmitError};
pub use gauges::{AgentGauge, Gauges};
pub use history::{AuditQuery, MessageQuery, Page, record_types};
pub use judge::check_policy;
pub use meter::{Histogram, Meter, Reading};
pub use pack::Packing;
pub use proof::{KeyError, verify_bundle};
pub use query::{HandoffQuery, QueryError, WorkflowQuery};
pub use replay::AsOf;
pub use run::{Allow, AllowError, LogPage, Outside};
pub use spans::{Moment, Span};
pub use token::NewToken;

pub use baton_store::Export;
/// What the ledger can fail with.
pub use baton_store::LedgerError as LedgerFailure;
/// A ledger in memory, for tests and simulations of whatever stands on the engine.
pub use baton_store::Memory as MemoryLedger;
/// What one sync of the ledger made durable.
pub use baton_store::Synced;
pub use baton_store::causes;
