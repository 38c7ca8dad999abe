//! What rules ask for and never get: payload fields that nothing provides, variables that nothing
//! sets.

use std::collections::{BTreeMap, BTreeSet};

use baton_protocol::definition::{Definition, StateName};
use serde_json::Value;

use super::Look;
use super::reach::from;
use crate::compiled::Compiled;
use crate::definition::Problem;

/// What is known in every workflow.
const GIVEN: [&str; 4] = ["requestId", "sessionId", "userId", "workflow"];

impl<'a> Look<'a> {
    /// Payload fields that nothing provides.
    pub(super) fn payloads(&mut self) {
        for n in 0..self.definition.rules.len() {
            self.provided(n);
        }
    }

    /// Variables that nothing sets.
    pub(super) fn variables(&mut self, compiled: &Compiled) {
        let set = self.known_variables();
        for n in 0..self.definition.rules.len() {
            let states = self.states_of(n);
            for (below, reads) in compiled.reads(n) {
                let path = format!("rules[{n}].{below}");
                self.unset(&reads, &states, &set, &path);
            }
        }
        for state in self.definition.states.keys() {
            let reads = compiled.waits_reads(state);
            self.unset(&reads, &[state], &set, &format!("states.{state}.wait.until"));
        }
    }

    /// Fields that the schema asks for and the map does not have, or the other way round.
    fn provided(&mut self, n: usize) {
        let definition = self.definition;
        let payload = definition.rules.get(n).and_then(|rule| rule.payload.as_ref());
        let Some(payload) = payload else { return };
        let Some(schema) = &payload.schema else { return };
        let parts = parts(definition, schema);
        for field in required(&parts) {
            if payload.map.contains_key(field) {
                continue;
            }
            if payload.map.contains_key(&format!("{field}?")) {
                let message = format!("`{field}` is required, but may be left out");
                let problem = Problem::warning("payload-field-optional", message);
                let hint = format!("write `{field}` without `?`, or do not require it");
                self.found(problem.hint(hint), format!("rules[{n}].payload.map.{field}?"));
                continue;
            }
            let message = format!("`{field}` is required by the schema, and nothing provides it");
            let hint = format!("add `{field}: result.{field}` to `map`");
            let problem = Problem::error("payload-field-missing", message).hint(hint);
            let path = match payload.map.is_empty() {
                true => format!("rules[{n}].payload"),
                false => format!("rules[{n}].payload.map"),
            };
            self.found(problem, path);
        }
        for written in payload.map.keys() {
            let name = written.strip_suffix('?').unwrap_or(written);
            if parts.iter().any(|part| !admits(part, name)) {
                let message = format!("the schema does not allow `{name}`");
                let hint = "add it to `properties`, or leave it out";
                let problem = Problem::error("payload-field-unknown", message).hint(hint);
                self.found(problem, format!("rules[{n}].payload.map.{written}"));
            }
        }
    }

    /// For each variable that a rule sets, the states that can come after.
    fn known_variables(&self) -> BTreeMap<&'a str, BTreeSet<&'a StateName>> {
        let edges = self.edges();
        let mut known: BTreeMap<&str, BTreeSet<&StateName>> = BTreeMap::new();
        for rule in &self.definition.rules {
            if rule.set.is_empty() {
                continue;
            }
            let after = from(&edges, [&rule.next_state].into_iter());
            for name in rule.set.keys() {
                known.entry(name.as_str()).or_default().extend(&after);
            }
        }
        known
    }

    fn unset(
        &mut self,
        reads: &[String],
        states: &[&StateName],
        set: &BTreeMap<&str, BTreeSet<&StateName>>,
        path: &str,
    ) {
        let names = reads.iter().filter_map(|read| read.strip_prefix("context."));
        let names: BTreeSet<&str> =
            names.map(|rest| rest.split('.').next().unwrap_or(rest)).collect();
        for name in names {
            let before = set.get(name);
            let known =
                before.is_some_and(|after| states.iter().any(|state| after.contains(state)));
            if known || GIVEN.contains(&name) || self.is_told(name) {
                continue;
            }
            let message = match before {
                None => format!("no rule sets the variable `{name}`"),
                Some(_) => format!("no rule sets the variable `{name}` before this one"),
            };
            let hint = format!(
                "set it with `set: {{ {name}: … }}`, ask for it with `has(context.{name})`, or say \
                 in the workflow's description who writes it"
            );
            self.found(Problem::warning("variable-not-set", message).hint(hint), path.to_owned());
        }
    }

    /// Whether the definition tells people of a variable.
    fn is_told(&self, name: &str) -> bool {
        let told = self.definition.description.iter().chain(self.definition.signals.values());
        let word = |c: char| !c.is_alphanumeric() && c != '_';
        told.into_iter().any(|text| text.as_str().split(word).any(|said| said == name))
    }
}

/// The schemas that a payload must all fit: this one, what it refers to, and those in `allOf`.
fn parts<'d>(definition: &'d Definition, schema: &'d Value) -> Vec<&'d Value> {
    const PARTS_MAX: usize = 64;
    let mut parts = vec![schema];
    let mut at = 0;
    while let Some(part) = parts.get(at).copied().filter(|_| at < PARTS_MAX) {
        let name = part.get("$ref").and_then(Value::as_str);
        let name = name.and_then(|name| name.strip_prefix("#/schemas/"));
        parts.extend(name.and_then(|name| definition.schemas.get(name)));
        parts.extend(part.get("allOf").and_then(Value::as_array).into_iter().flatten());
        at += 1;
    }
    parts.truncate(PARTS_MAX);
    parts
}

/// The fields that schemas ask for, each once.
fn required<'d>(parts: &[&'d Value]) -> Vec<&'d str> {
    let mut required = Vec::new();
    let all = parts.iter().filter_map(|part| part.get("required").and_then(Value::as_array));
    for field in all.flatten().filter_map(Value::as_str) {
        if !required.contains(&field) {
            required.push(field);
        }
    }
    required
}

/// Whether a schema may admit a field of this name.
fn admits(schema: &Value, name: &str) -> bool {
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let properties = schema.get("properties").and_then(Value::as_object);
    !closed
        || properties.is_some_and(|known| known.contains_key(name))
        || schema.get("patternProperties").is_some()
}
