//! Retention: how long the records of a workflow that is over must be kept, and asking to drop the
//! rest.
//!
//! The periods are minimums. A workspace may keep its records longer, never shorter.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::WorkflowId;
use crate::time::Timestamp;

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// How many days the records of closed work are kept, by what kind of work it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    closed: u32,
    completed: u32,
    escalated: u32,
}

/// A period that is shorter than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} is at least {least} days, found {found}")]
pub struct TooShort {
    name: &'static str,
    least: u32,
    found: u32,
}

impl Default for Retention {
    fn default() -> Self {
        Self { closed: Self::CLOSED_DAYS, completed: Self::COMPLETED_DAYS, escalated: 180 }
    }
}

impl Retention {
    /// Work that was open until it was called off is kept so long after that, at least.
    pub const CLOSED_DAYS: u32 = 30;
    /// Completed work is kept so long, at least.
    pub const COMPLETED_DAYS: u32 = 90;
    /// Work in which something was escalated is kept so long, at least.
    pub const ESCALATED_DAYS: u32 = 180;

    /// Sets the periods in days; what is absent is the minimum.
    pub fn of_days(
        closed: Option<u32>,
        completed: Option<u32>,
        escalated: Option<u32>,
    ) -> Result<Self, TooShort> {
        let check = |name, found: Option<u32>, least| match found {
            Some(found) if found < least => Err(TooShort { name, least, found }),
            Some(found) => Ok(found),
            None => Ok(least),
        };
        Ok(Self {
            closed: check("closed_days", closed, Self::CLOSED_DAYS)?,
            completed: check("completed_days", completed, Self::COMPLETED_DAYS)?,
            escalated: check("escalated_days", escalated, Self::ESCALATED_DAYS)?,
        })
    }

    /// The first moment at which the records of `past` may go.
    pub fn kept_until(&self, past: &Past) -> Timestamp {
        let mut days = if past.completed { self.completed } else { self.closed };
        if past.escalated {
            days = days.max(self.escalated);
        }
        Timestamp::from_micros(past.closed_at.as_micros() + i64::from(days) * DAY_MICROS)
    }

    /// The shortest of the periods, before which nothing need be looked at.
    pub fn shortest_days(&self) -> u32 {
        self.closed.min(self.completed).min(self.escalated)
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { closed, completed, escalated } = self;
        write!(f, "{completed} days after completion, {escalated} with an escalation, ")?;
        write!(f, "{closed} after any other end")
    }
}

/// What the ledger knows of a workflow that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// Which one.
    pub workflow: WorkflowId,
    /// When it ended.
    pub closed_at: Timestamp,
    /// Whether its last holder said that it is done.
    pub completed: bool,
    /// Whether something in it was escalated.
    pub escalated: bool,
}

/// Drops the records of work that is over and past its period.
///
/// Nobody says which: the engine looks up what is over, and the decision chooses from that.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prune {
    /// How long records are kept, from the workspace's settings.
    #[serde(skip)]
    pub retention: Retention,
    /// Work that is over, from the ledger.
    #[serde(skip)]
    pub past: Vec<Past>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_days(retention: Retention, completed: bool, escalated: bool) -> i64 {
        let (workflow, closed_at) = (WorkflowId::from_bytes([1; 16]), Timestamp::default());
        let past = Past { workflow, closed_at, completed, escalated };
        retention.kept_until(&past).as_micros() / DAY_MICROS
    }

    #[test]
    fn each_kind_of_work_has_its_period() {
        let least = Retention::default();
        assert_eq!(least, Retention::of_days(None, None, None).unwrap());
        assert_eq!(kept_days(least, true, false), 90);
        assert_eq!(kept_days(least, true, true), 180);
        assert_eq!(kept_days(least, false, false), 30);
        assert_eq!(kept_days(least, false, true), 180);
        let longer = Retention::of_days(Some(40), Some(400), Some(200)).unwrap();
        assert_eq!(kept_days(longer, true, true), 400, "the longest that holds");
    }

    #[test]
    fn no_period_is_shorter_than_its_minimum() {
        let said = |error: Result<_, TooShort>| error.unwrap_err().to_string();
        assert_eq!(
            said(Retention::of_days(Some(29), None, None)),
            "closed_days is at least 30 days, found 29"
        );
        assert_eq!(
            said(Retention::of_days(None, Some(0), None)),
            "completed_days is at least 90 days, found 0"
        );
        assert_eq!(
            said(Retention::of_days(None, None, Some(179))),
            "escalated_days is at least 180 days, found 179"
        );
    }
}
