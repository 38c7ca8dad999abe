//! Work in files: tags are parsed, found and swapped.
//!
//! A tag such as `#delegated-fix` in a text file is a piece of work and says where it stands. The
//! file is the truth; this crate knows no ledger and keeps no state of its own, so it works in any
//! folder and after any crash.
//!
//! * [`Tag`] and [`TagPattern`] are parsed once, at the door.
//! * [`Document`] tells tags from mere mentions; [`edit`] changes one tag and no other byte.
//! * [`lifecycle`] says which move is allowed to whom.
//! * [`items`] lists the pieces of work of a text; [`request`] makes their whole moves, with who
//!   approved, who holds and what came of it.
//! * [`Files`] makes a move on disk, exclusively across processes; [`find()`] looks through a tree.
//! * [`state`] tells whether a worker is still there, [`dispatch`] who does what and in which
//!   order, [`template`] what a request looks like, and [`watch`] when to look again.
//!
//! ```
//! use baton_tags::{Document, Place, Tag, edit};
//!
//! let text = b"# Login is slow\n**Tags**: #delegated-fix #P1\n\nNot `#needs-fix` any more.\n";
//! let claimed = edit::swap(
//!     text,
//!     &["#delegated-fix".parse()?],
//!     &"#claimed-fix".parse()?,
//!     Place::TagsLine,
//! )?;
//! let tags: Vec<Tag> = Document::read(&claimed.text).tags().cloned().collect();
//! assert_eq!(tags, ["#claimed-fix".parse()?, "#P1".parse()?]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod aside;
pub mod dispatch;
mod document;
pub mod edit;
mod file;
mod find;
mod item;
pub mod lifecycle;
mod markup;
mod moves;
mod name;
mod plain;
mod record;
pub mod request;
pub mod state;
pub mod template;
pub mod watch;

pub use document::{Document, Occurrence, Place};
pub use file::{FILE_BYTES_MAX, FileError, Files, Moved};
pub use find::{
    CONTEXT_LINES_MAX, FIND_BYTES_MAX, FindError, Found, Hit, LINE_SHOWN_MAX, SIGHTINGS_MAX,
    Search, Sighting, Skipped, find,
};
pub use item::{ITEMS_MAX, Item, ItemKey, ItemKeyError, items};
pub use moves::Trust;
pub use name::{
    ALTERNATIVES_MAX, Effort, Priority, Stage, Tag, TagError, TagPattern, Weight, alternatives,
};
pub use plain::open_plain;
pub use record::{Approval, Approver, BodyHash, Fence, Holder, Holding, RecordError, SessionRef};
