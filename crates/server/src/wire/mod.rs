//! What goes over the wire: bodies and parameters on their way in, pages and problems on their way
//! out.

mod distinct;
mod input;
mod key;
mod page;
mod path;
mod problem;
mod query;
mod words;

pub(crate) use input::{BODY_WITHIN, Fields, Input, json_only, read, typed};
pub(crate) use key::Key;
pub(crate) use page::{Here, Paged, Paging};
pub(crate) use path::Named;
pub(crate) use problem::{Problem, ProblemDetails};
pub(crate) use query::Asked;
