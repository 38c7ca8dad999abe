//! The ten steps of a handoff's life, told from its audit records.

use baton_protocol::time::Timestamp;
use serde_json::Value;

use crate::show::table::Table;
use crate::show::time::{absolute, span};
use crate::verbs::audit::Record;

/// The steps in their order; a step may come again when a handoff is sent again.
const STEPS: [&str; 10] = [
    "trigger",
    "prepare",
    "validate",
    "initiate",
    "acknowledge",
    "accept",
    "execute",
    "return",
    "complete",
    "release",
];

/// One step that was taken, or is still to come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// 1 to 10.
    number: usize,
    name: &'static str,
    at: Option<Timestamp>,
    words: String,
}

/// Tells the life from the records of one handoff; what lies ahead of an open one stays blank.
pub(crate) fn steps(records: &[Record], state: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for record in records {
        for (number, name, words) in told(record) {
            let name = name.unwrap_or(STEPS[number - 1]);
            steps.push(Step { number, name, at: Some(record.at), words });
        }
    }
    if !matches!(state, "completed" | "failed") {
        let reached = steps.last().map_or(0, |step| step.number);
        let ahead = STEPS.iter().enumerate().skip(reached);
        steps.extend(ahead.map(|(index, name)| Step {
            number: index + 1,
            name,
            at: None,
            words: String::new(),
        }));
    }
    steps
}

pub(crate) fn table(steps: &[Step]) -> Table {
    let mut table = Table::new(&["#", "STEP", "AT", "WHAT"], &[3]);
    for step in steps {
        let at = step.at.map_or_else(|| "-".to_owned(), absolute);
        let number = format!("{:>2}", step.number);
        table.row([number, step.name.to_owned(), at, step.words.clone()]);
    }
    table
}

/// A step's number, its name if it is not the usual one, and its words.
type Told = (usize, Option<&'static str>, String);

fn told(record: &Record) -> Vec<Told> {
    let event = &record.event;
    let audit = record.audit.as_ref().unwrap_or(&Value::Null);
    let to = text(&audit["to_agent"]);
    match event["type"].as_str().unwrap_or_default() {
        "initiated" => begun(&event["terms"], audit),
        "resent" => vec![(4, None, format!("sent again to {to}"))],
        "queued" => vec![(4, Some("queue"), format!("{} has no room", text(&event["by"])))],
        "rerouted" => {
            let words = format!("to {} instead of {}", text(&event["to"]), text(&event["from"]));
            vec![(4, Some("reroute"), words)]
        }
        "reassigned" => {
            let words = format!("to {}: {}", text(&event["to"]), text(&event["reason"]));
            vec![(4, Some("reassign"), words)]
        }
        "escalated" => {
            let question = text(&event["escalation"]);
            let short = question.get(..8).unwrap_or(&question);
            vec![(7, Some("escalate"), format!("{to} waits for a decision: {short}"))]
        }
        "deferred" => {
            let span = until(&event["until"], record.at);
            let words = format!("{to} asks for {span}: {}", text(&event["reason"]));
            vec![(5, Some("defer"), words)]
        }
        "rejected" => {
            let by = text(&event["by"]);
            vec![(5, None, by), (6, Some("reject"), text(&event["reason"]))]
        }
        "accepted" => {
            let due = match &event["return_by"] {
                Value::Null => String::new(),
                by => format!("due back in {}", until(by, record.at)),
            };
            let fence = format!("fence {}", event["fence"]);
            vec![(5, None, text(&event["by"])), (6, None, fence), (7, None, due)]
        }
        "reminded" => vec![(7, Some("remind"), format!("{to} is late"))],
        "timeout" => {
            let again = match &event["resend_at"] {
                Value::Null => String::new(),
                at => format!("; sent again in {}", until(at, record.at)),
            };
            let words = format!("fence {} has ended{again}", event["fence"]);
            vec![(7, Some("time out"), words)]
        }
        "approved" => vec![(4, Some("approve"), format!("by {}", record.by))],
        "returned" => vec![(8, Some("return"), "reported; its checks run".to_owned())],
        "unverified" => vec![(8, Some("check"), format!("failed; back to {to}"))],
        "completed" | "failed" => over(event, audit),
        _ => Vec::new(),
    }
}

fn begun(terms: &Value, audit: &Value) -> Vec<Told> {
    let (from, to) = (text(&terms["from_agent"]), text(&terms["to_agent"]));
    let snapshot = &audit["context_snapshot"];
    let hash = text(&snapshot["context_variables_hash"]);
    let hash = hash.get(..8).unwrap_or(&hash);
    let artifacts = match snapshot["artifact_count"].as_u64().unwrap_or(0) {
        1 => "1 artifact".to_owned(),
        many => format!("{many} artifacts"),
    };
    let list = |name: &str| terms[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let (asked, gap) = (list("required_capabilities").len(), list("gap"));
    let fit = match (asked, gap.len()) {
        (0, _) => "no capability was asked for".to_owned(),
        (asked, 0) => format!("all {asked} capabilities are there"),
        (_, _) => {
            let names: Vec<_> = gap.iter().map(text).collect();
            format!("{to} lacks {}", names.join(", "))
        }
    };
    vec![
        (1, None, format!("{} by {from}", text(&terms["trigger"]))),
        (2, None, format!("variables {hash}, {artifacts}")),
        (3, None, fit),
        (4, None, format!("to {to}: {}", text(&terms["reason"]))),
    ]
}

fn over(event: &Value, audit: &Value) -> Vec<Told> {
    let mut steps = Vec::new();
    let sequential = audit["handoff_type"] == "sequential";
    let returned = match (&event["result"], &event["detail"]["result"]) {
        (Value::Null, other) | (other, _) => other,
    };
    let checked = !returned["evidence"].is_null();
    if checked && event["type"] == "failed" {
        steps.push((8, Some("check"), "failed".to_owned()));
    } else if checked {
        steps.push((8, Some("check"), "passed".to_owned()));
    } else if !returned.is_null() {
        steps.push((8, None, text(&returned["status"])));
    } else if sequential && event["type"] == "completed" {
        steps.push((8, None, format!("none: {} owns the work now", text(&audit["to_agent"]))));
    }
    let mut words = match event["type"].as_str() {
        Some("failed") => format!("failed: {}", text(&event["detail"]["why"])),
        _ => text(&audit["outcome"]),
    };
    if let Some(took) = audit["duration_ms"].as_i64() {
        words.push_str(&format!(" after {}", span(took.saturating_mul(1_000))));
    }
    if let Some(tokens) = audit["tokens_consumed"].as_u64() {
        words.push_str(&format!(", {tokens} tokens"));
    }
    steps.push((9, None, words));
    let locks = event["released"].as_array().map_or(0, Vec::len);
    let slot = if sequential { &audit["from_agent"] } else { &audit["to_agent"] };
    let locks = match locks {
        0 => String::new(),
        1 => ", 1 file lock".to_owned(),
        many => format!(", {many} file locks"),
    };
    steps.push((10, None, format!("the slot of {}{locks}", text(slot))));
    steps
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// How long it is from `at` to the moment in `value`.
fn until(value: &Value, at: Timestamp) -> String {
    let text = text(value);
    text.parse().map_or(text, |end: Timestamp| span(end.as_micros() - at.as_micros()))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(events: &[(u32, Value)], state: &str, said: Expect) {
        let audit = json!({
            "from_agent": "planner", "to_agent": "builder", "handoff_type": "delegation",
            "context_snapshot": {"context_variables_hash": "44136fa355b3", "artifact_count": 2},
            "outcome": "success", "duration_ms": 70_000, "tokens_consumed": 1200,
        });
        let record = |(second, event): &(u32, Value)| Record {
            seq: u64::from(*second),
            at: Timestamp::from_micros(i64::from(*second) * 1_000_000),
            stream: "workflow/x".to_owned(),
            by: "operator".to_owned(),
            event: event.clone(),
            audit: Some(audit.clone()),
        };
        let records: Vec<_> = events.iter().map(record).collect();
        let text = table(&steps(&records, state)).text(80);
        said.assert_eq(&anstream::adapter::strip_str(&text).to_string());
    }

    fn begun() -> Value {
        json!({"type": "initiated", "terms": {
            "from_agent": "planner", "to_agent": "builder", "trigger": "explicit_request",
            "reason": "needs tests", "required_capabilities": [{}, {}], "gap": ["sql"],
        }})
    }

    #[test]
    fn a_delegation_that_came_back_shows_all_ten_steps() {
        check(
            &[
                (0, begun()),
                (
                    5,
                    json!({"type": "accepted", "by": "builder", "fence": 2,
                    "return_by": "1970-01-01T00:30:05Z"}),
                ),
                (
                    70,
                    json!({"type": "completed", "result": {"status": "success"},
                    "released": ["a.rs"]}),
                ),
            ],
            "completed",
            expect![[r#"
                #   STEP         AT                    WHAT
                 1  trigger      1970-01-01 00:00:00Z  explicit_request by planner
                 2  prepare      1970-01-01 00:00:00Z  variables 44136fa3, 2 artifacts
                 3  validate     1970-01-01 00:00:00Z  builder lacks sql
                 4  initiate     1970-01-01 00:00:00Z  to builder: needs tests
                 5  acknowledge  1970-01-01 00:00:05Z  builder
                 6  accept       1970-01-01 00:00:05Z  fence 2
                 7  execute      1970-01-01 00:00:05Z  due back in 30m
                 8  return       1970-01-01 00:01:10Z  success
                 9  complete     1970-01-01 00:01:10Z  success after 1m, 1200 tokens
                10  release      1970-01-01 00:01:10Z  the slot of builder, 1 file lock
            "#]],
        );
    }

    #[test]
    fn what_lies_ahead_of_an_open_handoff_stays_blank() {
        check(
            &[
                (0, begun()),
                (5, json!({"type": "accepted", "by": "builder", "fence": 2})),
                (35, json!({"type": "reminded"})),
                (45, json!({"type": "timeout", "fence": 2, "resend_at": "1970-01-01T00:00:47Z"})),
                (47, json!({"type": "resent"})),
            ],
            "initiated",
            expect![[r#"
                #   STEP         AT                    WHAT
                 1  trigger      1970-01-01 00:00:00Z  explicit_request by planner
                 2  prepare      1970-01-01 00:00:00Z  variables 44136fa3, 2 artifacts
                 3  validate     1970-01-01 00:00:00Z  builder lacks sql
                 4  initiate     1970-01-01 00:00:00Z  to builder: needs tests
                 5  acknowledge  1970-01-01 00:00:05Z  builder
                 6  accept       1970-01-01 00:00:05Z  fence 2
                 7  execute      1970-01-01 00:00:05Z
                 7  remind       1970-01-01 00:00:35Z  builder is late
                 7  time out     1970-01-01 00:00:45Z  fence 2 has ended; sent again in 2s
                 4  initiate     1970-01-01 00:00:47Z  sent again to builder
                 5  acknowledge  -
                 6  accept       -
                 7  execute      -
                 8  return       -
                 9  complete     -
                10  release      -
            "#]],
        );
    }

    #[test]
    fn a_rejection_ends_it_with_its_reason() {
        check(
            &[
                (0, begun()),
                (1, json!({"type": "rejected", "by": "builder", "reason": "no time"})),
                (1, json!({"type": "failed", "detail": {"why": "rejected"}})),
            ],
            "failed",
            expect![[r#"
                #   STEP         AT                    WHAT
                 1  trigger      1970-01-01 00:00:00Z  explicit_request by planner
                 2  prepare      1970-01-01 00:00:00Z  variables 44136fa3, 2 artifacts
                 3  validate     1970-01-01 00:00:00Z  builder lacks sql
                 4  initiate     1970-01-01 00:00:00Z  to builder: needs tests
                 5  acknowledge  1970-01-01 00:00:01Z  builder
                 6  reject       1970-01-01 00:00:01Z  no time
                 9  complete     1970-01-01 00:00:01Z  failed: rejected after 1m, 1200 tokens
                10  release      1970-01-01 00:00:01Z  the slot of builder
            "#]],
        );
    }
}
