//! Writing variables: inside one's scope, and never over what one has not seen.

use serde_json::{Value, json};

use crate::agent::Profile;
use crate::command::{SetVariables, Submission};
use crate::decide::holder;
use crate::event::{Decision, Event, StreamId};
use crate::limits::VARIABLES_MAX;
use crate::refusal::Refusal;
use crate::text::VariableValue;
use crate::time::Timestamp;
use crate::variables::{Changes, Meaning, Variable, VariableName};
use crate::workflow::{Hold, Workflow};
use crate::world::World;

/// Decides whether the asker may write these variables.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    set: &SetVariables,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let workflow = world.workflow(set.workflow)?;
    let (fence, hold) = holder::hold(set.workflow, workflow, ask, set.fence)?;
    let profile = &world.agent(&hold.agent)?.profile;
    let changes = changes(workflow, hold, profile, &set.changes, set.if_version, now)?;
    let stream = StreamId::Workflow(set.workflow);
    let by = hold.agent.clone();
    let events = match changes.is_empty() {
        true => Vec::new(),
        false => vec![Event::VariablesSet { fence, by, changes }],
    };
    Ok(Decision { stream, events, effects: Vec::new() })
}

/// The variables that a new workflow begins with.
pub(super) fn first(
    asked: &Changes,
    profile: &Profile,
    now: Timestamp,
) -> Result<Changes, Refusal> {
    let mut changes = Changes::new();
    for (name, value) in asked {
        changes.insert(name.clone(), merged(None, name, value, profile, now)?);
    }
    few_enough(changes.len())?;
    Ok(changes)
}

/// What the holder's write comes to, or why it is refused. All of it, or nothing.
pub(super) fn changes(
    workflow: &Workflow,
    hold: &Hold,
    profile: &Profile,
    asked: &Changes,
    if_version: Option<u64>,
    now: Timestamp,
) -> Result<Changes, Refusal> {
    let mut changes = Changes::new();
    for (name, value) in asked {
        let known = workflow.variables.find(name);
        if let Some(known) = known
            && name.meaning() != Meaning::List
        {
            let seen = match if_version {
                Some(version) => known.version == version,
                None => has_seen(hold, known),
            };
            if !seen {
                let (found, by) = (known.version, known.by.clone());
                return Err(Refusal::StaleVariable { name: name.clone(), found, by });
            }
        }
        let before = known.map(|known| known.value.as_value());
        changes.insert(name.clone(), merged(before, name, value, profile, now)?);
    }
    let new = changes.keys().filter(|name| workflow.variables.find(name).is_none()).count();
    few_enough(workflow.variables.len() + new)?;
    Ok(changes)
}

/// The same for a copy of a broadcast, which knows nothing of the others: what somebody else wrote
/// first stands, and the copy's own words stay in what it returned.
pub(super) fn first_come(
    workflow: &Workflow,
    hold: &Hold,
    profile: &Profile,
    asked: &Changes,
    now: Timestamp,
) -> Result<Changes, Refusal> {
    let open = |name: &VariableName| {
        let known = workflow.variables.find(name);
        name.meaning() == Meaning::List || known.is_none_or(|known| has_seen(hold, known))
    };
    let free = asked.iter().filter(|(name, _)| open(name));
    let free = free.map(|(name, value)| (name.clone(), value.clone())).collect();
    changes(workflow, hold, profile, &free, None, now)
}

fn has_seen(hold: &Hold, known: &Variable) -> bool {
    known.version <= hold.seen || known.by == hold.agent
}

fn few_enough(count: usize) -> Result<(), Refusal> {
    match count > VARIABLES_MAX {
        true => Err(Refusal::TooMany { what: "variables", most: VARIABLES_MAX }),
        false => Ok(()),
    }
}

/// What `value` means for the variable `name`: its new value, or a list with it at the end.
fn merged(
    before: Option<&Value>,
    name: &VariableName,
    value: &VariableValue,
    profile: &Profile,
    now: Timestamp,
) -> Result<VariableValue, Refusal> {
    if !profile.may_write(name.as_str()) {
        return Err(Refusal::OutOfScope { agent: profile.id.clone(), name: name.clone() });
    }
    match name.meaning() {
        Meaning::ReadOnly => Err(Refusal::ReadOnlyVariable { name: name.clone() }),
        Meaning::Custom => Ok(value.clone().named(name.as_str())),
        Meaning::Word(words) => match value.as_value().as_str() {
            Some(word) if words.contains(&word) => Ok(value.clone()),
            Some(_) | None => {
                let expected = format!("one of {}", words.join(", "));
                Err(Refusal::BadVariable { name: name.clone(), expected })
            }
        },
        Meaning::List => appended(before, name, value, profile, now),
    }
}

/// A decision joins those made before it, with who made it and when.
fn appended(
    before: Option<&Value>,
    name: &VariableName,
    value: &VariableValue,
    profile: &Profile,
    now: Timestamp,
) -> Result<VariableValue, Refusal> {
    let mut list = before.and_then(Value::as_array).cloned().unwrap_or_default();
    let new = match value.as_value() {
        Value::Array(items) => items.clone(),
        other => vec![other.clone()],
    };
    for item in new {
        let described = match item {
            Value::String(words) => json!({ "description": words }),
            other => other,
        };
        let Value::Object(mut decision) = described else {
            let expected = "a decision in words, or {description}, or a list of them".to_owned();
            return Err(Refusal::BadVariable { name: name.clone(), expected });
        };
        let number = list.len() + 1;
        decision.entry("decision_id").or_insert_with(|| json!(format!("d{number}")));
        // Who and when come from the credential and the clock, whatever the payload says.
        decision.insert("made_by".into(), json!(profile.id));
        decision.insert("timestamp".into(), json!(now));
        list.push(Value::Object(decision));
    }
    VariableValue::try_from(Value::Array(list)).map_err(|problem| Refusal::BadVariable {
        name: name.clone(),
        expected: format!("a list that stays small enough: {problem}"),
    })
}
