//! What goes over the wire: bodies and parameters on their way in, problems on their way out.

mod input;
mod problem;

pub(crate) use input::Input;
pub(crate) use problem::Problem;
