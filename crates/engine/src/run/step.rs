//! What a run came to at one step of a definition: a result, which rules look at, or an error.

use baton_protocol::command::{Command, FailStep};
use baton_protocol::handoff::ReturnStatus;
use baton_protocol::machine::ErrorReport;
use serde_json::Value;

use super::outcome::{Held, Outcome, completing};

/// The kind of error of an agent that does not name one.
const UNNAMED: &str = "agent_error";

/// The command by which it is told.
pub(super) fn told(held: &Held, outcome: &Outcome) -> Result<Command, String> {
    let said = outcome.content.as_ref().map(|(_, value)| value);
    let error = match said.filter(|value| is_error(value)) {
        Some(value) => read(value)?,
        None => match outcome.status {
            ReturnStatus::Success | ReturnStatus::Partial => return completing(held, outcome),
            ReturnStatus::Failed | ReturnStatus::Timeout => unnamed(outcome)?,
        },
    };
    let (context_updates, used) = Default::default();
    let (workflow, fence) = (held.workflow, Some(held.fence));
    Ok(Command::FailStep(Box::new(FailStep { workflow, fence, error, context_updates, used })))
}

/// Whether an agent says with it that it failed.
pub(super) fn is_error(said: &Value) -> bool {
    said.get("errorType").is_some_and(Value::is_string)
}

/// The error of an agent that ended badly and does not say how.
fn unnamed(outcome: &Outcome) -> Result<ErrorReport, String> {
    let words = outcome.words().map_or_else(|| "it failed".to_owned(), |words| words.to_string());
    read(&serde_json::json!({
        "errorType": UNNAMED, "errorMessage": words,
    }))
}

/// Reads an error, or says which field stands in the way.
fn read(value: &Value) -> Result<ErrorReport, String> {
    serde_json::from_value(value.clone())
        .map_err(|error| format!("it answered with a bad error: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_with_an_error_type_is_an_error_and_nothing_else_is() {
        assert!(is_error(&serde_json::json!({ "errorType": "x", "errorMessage": "y" })));
        assert!(!is_error(&serde_json::json!({ "errorType": 7 })));
        assert!(!is_error(&serde_json::json!([{ "errorType": "x" }])));
        let bad = read(&serde_json::json!({ "errorType": "x" }));
        assert!(bad.is_err_and(|why| why.contains("errorMessage")));
    }
}
