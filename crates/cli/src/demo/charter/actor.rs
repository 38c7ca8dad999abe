//! `baton demo-actor`: a scripted agent. Baton runs it like any command agent: the package comes on
//! standard input, the answer goes to standard output. What it answers is part of the work.

use std::io::Read as _;

use serde_json::Value;

use super::SCRIPT;
use crate::failure::Failure;

/// Bytes of a package that are read.
const PACKAGE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Answers what the script says for the state at hand.
pub(crate) fn act() -> Result<(), Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(PACKAGE_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| wrong(&format!("cannot read the package: {error}")))?;
    let package: Value =
        serde_json::from_str(&text).map_err(|error| wrong(&format!("no package: {error}")))?;
    let answer = answer(&package).ok_or_else(|| wrong("the script has no answer for this"))?;
    anstream::println!("{answer}");
    match answer.get("errorType") {
        Some(_) => Err(Failure::failed("the script says that this fails", "this is a demo")),
        None => Ok(()),
    }
}

/// The answer for the state, and for how often it was tried again.
fn answer(package: &Value) -> Option<&Value> {
    let handoff = &package["handoff"];
    let step = &handoff["step"];
    let script = &handoff["context"]["context_variables"]["custom"][SCRIPT];
    let answers = script[step["state"].as_str()?].as_array()?;
    let attempt = usize::try_from(step["attempt"].as_u64().unwrap_or(0)).ok()?;
    answers.get(attempt).or(answers.last())
}

fn wrong(why: &str) -> Failure {
    Failure::usage(why, "Baton runs this in `baton demo charter`; there is no other use for it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_try_gets_the_next_answer_and_the_last_stands() {
        let package = |attempt: u64| {
            json!({ "handoff": {
                "step": { "state": "sending", "attempt": attempt },
                "context": { "context_variables": { "custom": {
                    SCRIPT: { "sending": [{ "errorType": "x" }, { "sent": true }] },
                }}},
            }})
        };
        for (attempt, expected) in [
            (0, json!({ "errorType": "x" })),
            (1, json!({ "sent": true })),
            (2, json!({ "sent": true })),
        ] {
            assert_eq!(answer(&package(attempt)), Some(&expected));
        }
        assert_eq!(answer(&json!({})), None);
    }
}
