//! Work that would go round in circles, spelled out.

use std::fmt;

use crate::id::AgentId;
use crate::lock::FilePath;

/// How work would go round in circles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deadlock {
    /// The same was passed a moment ago.
    Repeated {
        /// By whom.
        from: AgentId,
        /// To whom.
        to: AgentId,
    },
    /// Two pass the work to and fro, and nothing changes.
    PingPong {
        /// Who passes it now.
        one: AgentId,
        /// To whom.
        other: AgentId,
    },
    /// Everybody would wait for the next, and the last for the first.
    Cycle {
        /// Who waits, in order; the last waits for the first.
        steps: Vec<Step>,
    },
}

/// Why one waits for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who waits.
    pub agent: AgentId,
    /// For a file that the next has locked; otherwise for its answer.
    pub file: Option<FilePath>,
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeated { from, to } => {
                write!(f, "{from} passed the very same to {to} a moment ago")
            }
            Self::PingPong { one, other } => {
                write!(f, "{one} and {other} pass the work to and fro, and nothing changes")
            }
            Self::Cycle { steps } => {
                f.write_str("everybody would wait for ever: ")?;
                for step in steps {
                    match &step.file {
                        Some(file) => write!(f, "{} waits for {file} of ", step.agent)?,
                        None => write!(f, "{} waits for ", step.agent)?,
                    }
                }
                match steps.first() {
                    Some(first) => write!(f, "{}", first.agent),
                    None => f.write_str("itself"),
                }
            }
        }
    }
}
