//! JSON Schemas of payloads. They refer to each other as `#/schemas/NAME`, and to nothing outside.
//!
//! A schema that refers to itself, or to so many others that checking a value would take long, is
//! refused when it is read; so checking is bounded by the schema and the value.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use baton_protocol::limits::SCHEMA_NODES_MAX;
use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

use crate::language::cut;

/// Bytes that the automaton of one pattern may take.
const PATTERN_BYTES_MAX: usize = 256 * 1024;
/// Problems of one payload that are told.
const TOLD_MAX: usize = 3;
/// What would let a schema mean something else than what its text says here.
const REFUSED: [&str; 6] =
    ["$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];
/// What stands below these is data.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];
/// Nodes that a pattern counts as: what it takes to read the largest.
const PATTERN_NODES: usize = 500;
/// Values of data that take as long as a node.
const DATA_A_NODE: usize = 8;

/// The schemas of a definition.
pub(super) struct Schemas<'a> {
    named: &'a BTreeMap<String, Value>,
    /// Nodes that may still come, over all schemas.
    left: usize,
    /// Those that were read, by their text: rules share them.
    known: HashMap<String, Arc<Validator>>,
}

impl<'a> Schemas<'a> {
    pub(super) fn of(named: &'a BTreeMap<String, Value>) -> Self {
        Self { named, left: SCHEMA_NODES_MAX, known: HashMap::new() }
    }

    /// Reads a schema.
    pub(super) fn read(&mut self, schema: &Value) -> Result<Arc<Validator>, String> {
        let text = schema.to_string();
        if let Some(known) = self.known.get(&text) {
            return Ok(known.clone());
        }
        let read = Arc::new(self.built(schema)?);
        self.known.insert(text, read.clone());
        Ok(read)
    }

    fn built(&mut self, schema: &Value) -> Result<Validator, String> {
        let whole = self.whole(schema)?;
        let mut walk = Walk { whole: &whole, open: Vec::new(), known: HashMap::new() };
        let nodes = walk.node(schema)?;
        self.left = self.left.checked_sub(nodes).ok_or_else(too_many)?;
        let patterns =
            PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
        let options = jsonschema::options().offline().with_pattern_options(patterns);
        options.build(&whole).map_err(|error| {
            let at = error.instance_path().to_string();
            let at = if at.is_empty() { String::new() } else { format!(" (at {at})") };
            cut(&format!("no JSON Schema: {error}{at}"))
        })
    }

    /// The schema with those beside it that it refers to.
    fn whole(&self, schema: &Value) -> Result<Value, String> {
        let Value::Object(fields) = schema else { return Ok(schema.clone()) };
        let mut fields = fields.clone();
        let mut wanted = refers(schema);
        let mut beside = Map::new();
        while let Some(name) = wanted.pop() {
            if beside.contains_key(&name) {
                continue;
            }
            let named = self.named.get(&name).ok_or_else(|| {
                let known = self.named.keys().cloned().collect::<Vec<_>>().join(", ");
                match known.as_str() {
                    "" => format!("there is no schema `{name}`; `schemas` has none"),
                    known => format!("there is no schema `{name}`; known are {known}"),
                }
            })?;
            wanted.extend(refers(named));
            beside.insert(name, named.clone());
        }
        if !beside.is_empty() {
            fields.insert("schemas".to_owned(), Value::Object(beside));
        }
        Ok(Value::Object(fields))
    }
}

/// The names under `schemas` that a schema refers to.
fn refers(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(node) = open.pop() {
        match node {
            Value::Object(fields) => {
                let name = fields.get("$ref").and_then(Value::as_str);
                let name = name.and_then(|name| name.strip_prefix("#/schemas/"));
                let name = name.map(|name| name.split('/').next().unwrap_or_default());
                found.extend(name.map(str::to_owned));
                let below = fields.iter().filter(|(name, _)| !DATA.contains(&name.as_str()));
                open.extend(below.map(|(_, value)| value));
            }
            Value::Array(entries) => open.extend(entries),
            _ => (),
        }
    }
    found
}

fn too_many() -> String {
    format!("more than {SCHEMA_NODES_MAX} nodes, with those that it refers to")
}

/// A walk through a schema and all that it refers to. It counts the nodes that checking a value
/// visits: what is referred to twice counts twice, though it is looked at once.
struct Walk<'a> {
    whole: &'a Value,
    /// The references that we are inside of.
    open: Vec<&'a str>,
    /// The nodes below each reference that was walked through.
    known: HashMap<&'a str, usize>,
}

impl<'a> Walk<'a> {
    fn node(&mut self, node: &'a Value) -> Result<usize, String> {
        let mut nodes = 1;
        match node {
            Value::Object(fields) => {
                if let Some(bad) = REFUSED.into_iter().find(|name| fields.contains_key(*name)) {
                    return Err(format!("`{bad}`; schemas refer to `#/schemas/NAME`"));
                }
                if let Some(Value::String(to)) = fields.get("$ref") {
                    nodes += self.reference(to)?;
                }
                for (name, value) in fields {
                    nodes += patterns(name, value) * PATTERN_NODES;
                    if DATA.contains(&name.as_str()) {
                        nodes += values(value) / DATA_A_NODE;
                    } else if name != "$defs" && name != "definitions" {
                        nodes += self.node(value)?;
                    }
                }
            }
            Value::Array(entries) => {
                for entry in entries {
                    nodes += self.node(entry)?;
                }
            }
            _ => (),
        }
        if nodes > SCHEMA_NODES_MAX { Err(too_many()) } else { Ok(nodes) }
    }

    fn reference(&mut self, to: &'a str) -> Result<usize, String> {
        if let Some(nodes) = self.known.get(to) {
            return Ok(*nodes);
        }
        let Some(pointer) = to.strip_prefix('#') else {
            return Err(format!("`$ref: {}` is elsewhere; use `#/schemas/NAME`", cut(to)));
        };
        if self.open.contains(&to) || pointer.is_empty() {
            return Err(format!("`{}` refers to itself; payloads are not recursive", cut(to)));
        }
        let found = self.whole.pointer(pointer);
        let found = found.ok_or_else(|| format!("`$ref: {}` leads to nothing", cut(to)))?;
        self.open.push(to);
        let nodes = self.node(found)?;
        self.open.pop();
        self.known.insert(to, nodes);
        Ok(nodes)
    }
}

/// The patterns that a field of a schema has in it.
fn patterns(name: &str, value: &Value) -> usize {
    match (name, value) {
        ("pattern", Value::String(_)) => 1,
        ("patternProperties", Value::Object(patterns)) => patterns.len(),
        _ => 0,
    }
}

/// How many values some data has in it.
fn values(data: &Value) -> usize {
    match data {
        Value::Array(entries) => 1 + entries.iter().map(values).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(values).sum::<usize>(),
        _ => 1,
    }
}

/// What does not fit, if anything: `payload.quotes: 2 is less than the minimum of 3`.
pub(super) fn misfit(validator: &Validator, payload: &Value) -> Option<String> {
    let said = |error: jsonschema::ValidationError<'_>| {
        let at = error.instance_path().to_string().replace('/', ".");
        format!("payload{at}: {}", cut(&error.to_string()))
    };
    let all: Vec<String> = validator.iter_errors(payload).take(TOLD_MAX).map(said).collect();
    if all.is_empty() { None } else { Some(all.join("; ")) }
}
