//! How far the whole work is, and what it has cost so far: what holders report, and what that adds
//! up to.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::{OPEN_BYTES_MAX, OPEN_KEYS_MAX, STEPS_MAX};
use crate::open::{Label, OpenError, OpenKeys};
use crate::refusal::Refusal;

/// What a holder reports about the whole work when it passes it on, returns or ends it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Report {
    /// How far it is.
    #[serde(skip_serializing_if = "StateReport::is_empty")]
    pub workflow_state: StateReport,
    /// What it has cost since the last report.
    #[serde(skip_serializing_if = "MetricsReport::is_empty")]
    pub metrics: MetricsReport,
    /// The graph that a command object named. It is recorded, and changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph: Option<Graph>,
}

/// Which graph a command object means beside the one its sender is a node of.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Graph {
    /// The one around it.
    #[serde(alias = "__parent__")]
    Parent,
}

/// What a report says about how far the work is. What it does not name stays as it was.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StateReport {
    /// What is done now; null means that no phase has a name.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "said")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Label>"))]
    pub phase: Option<Option<Label>>,
    /// What comes after it; null means that nothing does.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "said")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Label>"))]
    pub next_phase: Option<Option<Label>>,
    /// Steps that are done; they join those that were done before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_steps: Option<Steps>,
    /// All steps that remain; they replace those that remained before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining_steps: Option<Steps>,
}

/// Tells what is absent from what is said to be nothing.
fn said<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<Label>>, D::Error> {
    Option::<Label>::deserialize(from).map(Some)
}

/// Steps in their order, not too many.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Label>")]
pub struct Steps(Vec<Label>);

/// Too many steps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{found} steps; expected at most {STEPS_MAX}")]
pub struct StepsError {
    found: usize,
}

impl TryFrom<Vec<Label>> for Steps {
    type Error = StepsError;

    fn try_from(steps: Vec<Label>) -> Result<Self, StepsError> {
        match steps.len() {
            found if found > STEPS_MAX => Err(StepsError { found }),
            _ => Ok(Self(steps)),
        }
    }
}

/// What a report says about the cost since the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MetricsReport {
    /// Tokens. They add up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_used: Option<u64>,
    /// Seconds. They add up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_elapsed: Option<Seconds>,
    /// Attempts beyond the first. They add up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u64>,
    /// Anything else. The last word stands.
    #[serde(flatten)]
    pub open: OpenKeys,
}

/// Reads the keys one by one: deriving it would lose the path of a wrong one.
impl<'de> Deserialize<'de> for MetricsReport {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = MetricsReport;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of metrics")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MetricsReport, A::Error> {
                let mut metrics = MetricsReport::default();
                while let Some(key) = map.next_key::<Label>()? {
                    match key.as_str() {
                        "tokens_used" => metrics.tokens_used = Some(map.next_value()?),
                        "time_elapsed" => metrics.time_elapsed = Some(map.next_value()?),
                        "retry_count" => metrics.retry_count = Some(map.next_value()?),
                        _ => {
                            let value = map.next_value()?;
                            metrics.open.insert(key, value).map_err(A::Error::custom)?;
                        }
                    }
                }
                Ok(metrics)
            }
        }
        from.deserialize_map(Reader)
    }
}

/// A span of time as metrics count it: seconds, not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "f64")]
pub struct Seconds {
    micros: u64,
}

/// A number that is no span of time.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{found} is not a number of seconds; expected 0 to {}", Seconds::MAX)]
pub struct SecondsError {
    found: f64,
}

impl Seconds {
    /// A hundred years are more than anything takes.
    const MAX: f64 = 3_153_600_000.0;

    fn plus(self, other: Self) -> Self {
        Self { micros: self.micros.saturating_add(other.micros) }
    }
}

impl TryFrom<f64> for Seconds {
    type Error = SecondsError;

    fn try_from(found: f64) -> Result<Self, SecondsError> {
        match (0.0..=Self::MAX).contains(&found) {
            // Within the bound, the product is a whole number that fits.
            true => Ok(Self { micros: (found * 1e6).round() as u64 }),
            false => Err(SecondsError { found }),
        }
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.micros % 1_000_000 {
            0 => to.serialize_u64(self.micros / 1_000_000),
            _ => to.serialize_f64(self.micros as f64 / 1e6),
        }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.micros / 1_000_000, self.micros % 1_000_000 / 1_000);
        match rest {
            0 => write!(f, "{whole} s"),
            rest => write!(f, "{whole}.{rest:03} s"),
        }
    }
}

/// What the reports of a workflow came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Course {
    /// How far it is.
    pub workflow_state: WorkflowState,
    /// What it has cost.
    pub metrics: Metrics,
}

/// How far a workflow is, as its holders reported.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkflowState {
    /// What is done now.
    pub phase: Option<Label>,
    /// What comes after it.
    pub next_phase: Option<Label>,
    /// Steps that are done, in the order in which they were reported.
    pub completed_steps: Vec<Label>,
    /// Steps that remain.
    pub remaining_steps: Vec<Label>,
}

/// What a workflow has cost, as its holders reported.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// Tokens in all.
    pub tokens_used: u64,
    /// Seconds in all.
    pub time_elapsed: Seconds,
    /// Attempts beyond the first, in all.
    pub retry_count: u64,
    /// Anything else, as it was reported last.
    #[serde(flatten)]
    pub open: OpenKeys,
}

impl StateReport {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl MetricsReport {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Report {
    /// The report, if it says anything.
    pub fn told(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }

    /// What of it counts although nothing else does: work that failed or came too late has cost
    /// what it has cost.
    #[must_use]
    pub fn cost(&self) -> Self {
        let open = OpenKeys::default();
        let metrics = MetricsReport { open, ..self.metrics.clone() };
        Self { metrics, ..Self::default() }
    }
}

impl Course {
    /// The course with one more report.
    ///
    /// Phases and open metrics: the last word stands. Steps that are done join those before, each
    /// once; steps that remain replace those before, and what is done no longer remains. Tokens,
    /// seconds and retries add up.
    pub fn after(&self, report: &Report) -> Result<Self, Refusal> {
        Ok(Self {
            workflow_state: self.workflow_state.after(&report.workflow_state)?,
            metrics: self.metrics.after(&report.metrics)?,
        })
    }

    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl WorkflowState {
    fn after(&self, report: &StateReport) -> Result<Self, Refusal> {
        let mut done = self.completed_steps.clone();
        for step in report.completed_steps.iter().flat_map(|steps| &steps.0) {
            if !done.contains(step) {
                done.push(step.clone());
            }
        }
        if done.len() > STEPS_MAX {
            return Err(Refusal::TooMany { what: "completed steps", most: STEPS_MAX });
        }
        let said = report.remaining_steps.as_ref().map(|steps| &steps.0);
        let mut remaining: Vec<Label> = Vec::new();
        for step in said.unwrap_or(&self.remaining_steps) {
            if !done.contains(step) && !remaining.contains(step) {
                remaining.push(step.clone());
            }
        }
        let last = |said: &Option<Option<Label>>, before: &Option<Label>| match said {
            Some(said) => said.clone(),
            None => before.clone(),
        };
        Ok(Self {
            phase: last(&report.phase, &self.phase),
            next_phase: last(&report.next_phase, &self.next_phase),
            completed_steps: done,
            remaining_steps: remaining,
        })
    }
}

impl Metrics {
    fn after(&self, report: &MetricsReport) -> Result<Self, Refusal> {
        let open = self.open.merged(&report.open).map_err(|error| match error {
            OpenError::TooMany => Refusal::TooMany { what: "metrics", most: OPEN_KEYS_MAX },
            OpenError::TooLong { .. } => {
                Refusal::TooMany { what: "bytes of metrics", most: OPEN_BYTES_MAX }
            }
        })?;
        let sum = |before: u64, more: Option<u64>| before.saturating_add(more.unwrap_or(0));
        Ok(Self {
            tokens_used: sum(self.tokens_used, report.tokens_used),
            time_elapsed: self.time_elapsed.plus(report.time_elapsed.unwrap_or_default()),
            retry_count: sum(self.retry_count, report.retry_count),
            open,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn after(reports: &[Value]) -> Result<Value, Refusal> {
        let mut course = Course::default();
        for report in reports {
            let report: Report = serde_json::from_value(report.clone()).expect("a report");
            course = course.after(&report)?;
        }
        Ok(serde_json::to_value(course).expect("JSON"))
    }

    #[test]
    fn reports_add_up_by_their_rules() {
        let course = after(&[
            json!({
                "workflow_state": {
                    "phase": "research", "next_phase": "planning",
                    "completed_steps": ["detect", "query"],
                    "remaining_steps": ["plan", "query", "build", "plan"],
                },
                "metrics": { "tokens_used": 5420, "time_elapsed": 1.5, "score": 70 },
            }),
            json!({ "metrics": {
                "retry_count": 1, "time_elapsed": 0.5, "score": 80, "ok": true,
            } }),
            json!({
                "workflow_state": {
                    "phase": "planning", "next_phase": null, "completed_steps": ["plan", "query"],
                },
                "metrics": { "tokens_used": 80 },
            }),
        ]);
        let expected = json!({
            "workflow_state": {
                "phase": "planning", "next_phase": null,
                "completed_steps": ["detect", "query", "plan"],
                "remaining_steps": ["build"],
            },
            "metrics": {
                "tokens_used": 5500, "time_elapsed": 2, "retry_count": 1, "score": 80, "ok": true,
            },
        });
        assert_eq!(course, Ok(expected));
    }

    #[test]
    fn what_reports_come_to_stays_within_its_limits() {
        let steps = |from: usize| {
            let steps: Vec<_> = (from..from + 200).map(|n| n.to_string()).collect();
            json!({ "workflow_state": { "completed_steps": steps } })
        };
        assert!(after(&[steps(0), steps(50)]).is_ok());
        assert!(matches!(after(&[steps(0), steps(100)]), Err(Refusal::TooMany { .. })));
        let metrics = |from: usize| {
            let metrics = (from..from + 40).map(|n| (n.to_string(), json!(n)));
            json!({ "metrics": metrics.collect::<serde_json::Map<_, _>>() })
        };
        assert!(after(&[metrics(0), metrics(20)]).is_ok());
        assert!(matches!(after(&[metrics(0), metrics(30)]), Err(Refusal::TooMany { .. })));
        let most = json!({ "metrics": { "tokens_used": u64::MAX } });
        assert!(after(&[most.clone(), most]).is_ok(), "it does not overflow");
    }

    #[test]
    fn what_failed_has_still_cost_what_it_cost() {
        let report: Report = serde_json::from_value(json!({
            "workflow_state": { "phase": "done" },
            "metrics": { "tokens_used": 7, "retry_count": 1, "score": 3 },
        }))
        .expect("a report");
        let cost = serde_json::to_value(report.cost()).expect("JSON");
        assert_eq!(cost, json!({ "metrics": { "tokens_used": 7, "retry_count": 1 } }));
    }
}
