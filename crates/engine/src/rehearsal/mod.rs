//! Rehearsals: a definition is tried without agents. A scenario says what each of them would
//! answer and what is expected to follow; it plays on a real engine with a ledger in memory and a
//! clock that is moved by hand, so nothing here decides anything by itself.

mod script;
mod stage;

pub use script::{Act, Expect, Scenario, Script, Signal};

use std::collections::BTreeSet;

use baton_protocol::definition::{Definition, RuleId};
use serde_json::Value;

use script::has;
use stage::{Seen, Stage};

/// How a scenario went.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Played {
    /// Which one.
    pub name: String,
    /// What was not as expected; absent if all was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Mismatch>,
    /// The rules that chose something on the way.
    pub rules: BTreeSet<RuleId>,
    /// All handoffs, in their order.
    pub handoffs: Vec<String>,
}

/// What was not as expected.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Mismatch {
    /// The number of the step, from 1; absent where it is about the whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<usize>,
    /// In words, one line each.
    pub why: Vec<String>,
}

/// Plays a scenario.
pub async fn rehearse(definition: &Definition, scenario: &Scenario) -> Played {
    let mut played = Played {
        name: scenario.name.clone(),
        failure: None,
        rules: BTreeSet::new(),
        handoffs: Vec::new(),
    };
    let mut stage = match Stage::open(definition, scenario).await {
        Ok(stage) => stage,
        Err(why) => {
            played.failure = Some(Mismatch { step: None, why: vec![why] });
            return played;
        }
    };
    played.failure = play(&mut stage, scenario).await.err();
    match stage.seen().await {
        Ok(seen) => {
            played.rules = seen.rules;
            played.handoffs = seen.handoffs;
        }
        Err(why) => played.failure = Some(Mismatch { step: None, why: vec![why] }),
    }
    if let (None, Some(expected)) = (&played.failure, &scenario.handoffs) {
        let spaceless = |text: &String| text.replace(' ', "");
        if expected.iter().map(spaceless).ne(played.handoffs.iter().cloned()) {
            let why = vec![
                format!("expected the handoffs {}", expected.join(", ")),
                format!("found {}", played.handoffs.join(", ")),
            ];
            played.failure = Some(Mismatch { step: None, why });
        }
    }
    played
}

async fn play(stage: &mut Stage, scenario: &Scenario) -> Result<(), Mismatch> {
    let mut refused: Option<String> = None;
    for (n, act) in (1..).zip(&scenario.steps) {
        let failed = |why| Mismatch { step: Some(n), why };
        let expects_error = matches!(act, Act::Expect(expect) if expect.error.is_some());
        if let Some(why) = refused.take_if(|_| !expects_error) {
            // It was the step before that went wrong.
            return Err(Mismatch { step: Some(n - 1), why: vec![why] });
        }
        match act {
            Act::Expect(expect) => {
                let seen = stage.seen().await.map_err(|why| failed(vec![why]))?;
                let why = differences(expect, &seen, refused.take().as_deref());
                if !why.is_empty() {
                    return Err(failed(why));
                }
            }
            other => refused = stage.act(other).await.map_err(|why| failed(vec![why]))?,
        }
    }
    match refused {
        Some(why) => Err(Mismatch { step: Some(scenario.steps.len()), why: vec![why] }),
        None => Ok(()),
    }
}

fn differences(expect: &Expect, seen: &Seen, refused: Option<&str>) -> Vec<String> {
    let mut why = Vec::new();
    let mut same = |what: &str, expected: Option<&str>, found: Option<&str>| {
        if let Some(expected) = expected
            && found != Some(expected)
        {
            why.push(format!("expected {what} {expected}, found {}", found.unwrap_or("none")));
        }
    };
    same("state", expect.state.as_ref().map(|s| s.as_str()), Some(seen.state.as_str()));
    same("agent", expect.agent.as_deref(), seen.agent.as_deref());
    same("from", expect.from.as_deref(), seen.from.as_deref());
    same("to", expect.to.as_deref(), seen.to.as_deref());
    same("rule", expect.rule.as_deref(), seen.rule.as_ref().map(|rule| rule.as_str()));
    same("priority", expect.priority.as_deref().map(usual), seen.priority.as_deref());
    same("ending", expect.ended.as_deref(), seen.ended.as_deref());
    if let Some(part) = &expect.reason
        && !seen.reason.contains(part.as_str())
    {
        why.push(format!("expected a reason with `{part}`, found `{}`", seen.reason));
    }
    if let Some(part) = &expect.payload
        && !has(&seen.payload, part)
    {
        why.push(format!("expected a payload with {part}, found {}", seen.payload));
    }
    if let Some(waits) = expect.waiting
        && waits != seen.waiting
    {
        let word = |waits| if waits { "that it waits" } else { "that it does not wait" };
        why.push(format!("expected {}, found {}", word(waits), word(seen.waiting)));
    }
    if let Some(part) = &expect.error {
        match refused {
            Some(said) if said.contains(part.as_str()) => (),
            Some(said) => why.push(format!("expected an error with `{part}`, found `{said}`")),
            None => why.push(format!("expected an error with `{part}`, found none")),
        }
    }
    why
}

/// A priority by the name that Baton writes.
fn usual(name: &str) -> &str {
    match name {
        "urgent" => "critical",
        other => other,
    }
}

/// A value as one short line.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
