//! One rule that can be judged.

use std::str::FromStr;
use std::sync::Arc;

use baton_protocol::definition::{Chosen, PayloadSpec, RuleSpec};
use baton_protocol::handoff::Priority;
use baton_protocol::text::VariableValue;
use baton_protocol::variables::{Changes, Meaning, VariableName};
use jsonschema::Validator;
use serde_json::{Map, Value};

use super::reader::Reader;
use super::schema::misfit;
use super::template::{Template, TemplateError};
use super::{LIKE, of_expression, text};
use crate::definition::Problem;
use crate::expr::{ExprError, Expression, Facts, Outcome};
use crate::language::cut;

/// One rule that can be judged.
pub(super) struct CompiledRule {
    when: Option<Box<dyn Expression>>,
    reason: Template,
    priority: Option<Urgency>,
    payload: Option<Payload>,
    set: Vec<(VariableName, Box<dyn Expression>)>,
}

enum Urgency {
    Word(Priority),
    Made(Box<dyn Expression>),
}

struct Payload {
    fields: Vec<Field>,
    schema: Option<Arc<Validator>>,
}

struct Field {
    /// As it is written, with the `?`.
    written: String,
    name: String,
    optional: bool,
    made: Box<dyn Expression>,
}

/// Whether a condition holds.
pub(super) fn yes_or_no(
    condition: &dyn Expression,
    facts: &dyn Facts,
    left: &mut usize,
) -> Result<bool, ExprError> {
    let found = match condition.value_within(facts, left)? {
        Value::Bool(holds) => return Ok(holds),
        Value::Null => "nothing",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    };
    Err(ExprError::NotYesOrNo { found, like: LIKE })
}

impl CompiledRule {
    /// Reads a rule; what is wrong with it is kept by the reader.
    pub(super) fn of(spec: &RuleSpec, path: &str, reader: &mut Reader<'_>) -> Option<Self> {
        let before = reader.problems.len();
        let when = spec.when.as_ref();
        let when = when.map(|when| reader.condition(when.as_str(), format!("{path}.when")));
        let reason = Template::read(spec.reason.as_str(), reader).map_err(|error| {
            let path = format!("{path}.reason");
            reader.problems.push(match error {
                TemplateError::Expression(error) => {
                    Problem { inside: None, ..of_expression(&error, path) }
                }
                TemplateError::Open => {
                    Problem::error("bad-template", error.to_string()).about(path)
                }
            });
        });
        let priority = spec.priority.as_ref().map(|text| urgency(text.as_str(), path, reader));
        let payload = spec.payload.as_ref().map(|spec| Payload::of(spec, path, reader));
        let set = written(spec, path, reader);
        if reader.problems.len() > before {
            return None;
        }
        Some(Self {
            when: when.flatten(),
            reason: reason.ok()?,
            priority: priority.flatten(),
            payload,
            set,
        })
    }

    /// Whether it holds.
    pub(super) fn holds(&self, facts: &dyn Facts, left: &mut usize) -> Result<bool, ExprError> {
        self.when.as_ref().map_or(Ok(true), |when| yes_or_no(when.as_ref(), facts, left))
    }

    /// What its condition looks at, as it is.
    pub(super) fn saw(&self, facts: &dyn Facts) -> String {
        self.when.as_ref().map(|when| when.saw(facts)).unwrap_or_default()
    }

    /// What it makes of the moment, or why it cannot.
    pub(super) fn chosen(
        &self,
        spec: &RuleSpec,
        facts: &dyn Facts,
        left: &mut usize,
    ) -> Result<Chosen, String> {
        let reason =
            self.reason.made(facts, left).map_err(|error| format!("its reason: {error}"))?;
        let priority = self.priority.as_ref();
        let priority = priority.map(|urgency| urgency.found(facts, left)).transpose()?;
        let payload = self.payload.as_ref();
        let payload = payload.map(|payload| payload.made(facts, left)).transpose()?;
        let mut set = Changes::new();
        for (name, made) in &self.set {
            let value = made.value_within(facts, left);
            let value = value.map_err(|error| format!("set.{name}: {error}"))?;
            set.insert(name.clone(), variable(name, value)?);
        }
        Ok(Chosen {
            rule: spec.id.clone(),
            to: spec.to.clone(),
            next_state: spec.next_state.clone(),
            reason: text(&reason),
            priority,
            payload,
            set,
        })
    }

    /// What its expressions look at, each with its path below the rule.
    pub(super) fn reads(&self) -> Vec<(String, Vec<String>)> {
        let mut all = vec![("reason".to_owned(), self.reason.reads())];
        all.extend(self.when.iter().map(|when| ("when".to_owned(), when.reads())));
        if let Some(Urgency::Made(made)) = &self.priority {
            all.push(("priority".to_owned(), made.reads()));
        }
        for field in self.payload.iter().flat_map(|payload| &payload.fields) {
            let reads = if field.optional { Vec::new() } else { field.made.reads() };
            all.push((format!("payload.map.{}", field.written), reads));
        }
        for (name, made) in &self.set {
            all.push((format!("set.{name}"), made.reads()));
        }
        all
    }
}

fn urgency(text: &str, path: &str, reader: &mut Reader<'_>) -> Option<Urgency> {
    const HINT: &str = "critical, high, normal, low, or an expression such as \
                        `result.urgent ? \"high\" : \"normal\"`";
    if let Ok(word) = Priority::from_str(text) {
        return Some(Urgency::Word(word));
    }
    let path = format!("{path}.priority");
    let made = match reader.part(text) {
        Ok(made) => made?,
        Err(error) => {
            reader.problems.push(of_expression(&error, path).hint(HINT));
            return None;
        }
    };
    let wrong = made.outcomes().into_iter().find_map(|outcome| match outcome {
        Outcome::Text(word) => Priority::from_str(&word).is_err().then(|| format!("`{word}`")),
        Outcome::Kind(kind) => Some(kind.to_owned()),
        Outcome::Made(_) | Outcome::Unknown => None,
    });
    if let Some(wrong) = wrong {
        let message = format!("it can come to {}, which is no priority", cut(&wrong));
        reader.remark(Problem::error("bad-expression", message).hint(HINT), path);
    }
    Some(Urgency::Made(made))
}

fn written(
    spec: &RuleSpec,
    path: &str,
    reader: &mut Reader<'_>,
) -> Vec<(VariableName, Box<dyn Expression>)> {
    let mut set = Vec::with_capacity(spec.set.len());
    for (name, text) in &spec.set {
        let path = format!("{path}.set.{name}");
        if name.meaning() == Meaning::ReadOnly {
            let message = format!("Baton sets `{name}`; rules only read it");
            reader.problems.push(Problem::error("read-only-variable", message).about(path));
            continue;
        }
        set.extend(reader.expression(text.as_str(), path).map(|made| (name.clone(), made)));
    }
    set
}

/// A value as one that this variable may have.
fn variable(name: &VariableName, value: Value) -> Result<VariableValue, String> {
    if let Meaning::Word(words) = name.meaning()
        && !value.as_str().is_some_and(|word| words.contains(&word))
    {
        return Err(format!("set.{name}: expected one of {}", words.join(", ")));
    }
    VariableValue::try_from(value).map_err(|error| format!("set.{name}: {error}"))
}

impl Urgency {
    fn found(&self, facts: &dyn Facts, left: &mut usize) -> Result<Priority, String> {
        let made = match self {
            Self::Word(word) => return Ok(*word),
            Self::Made(made) => made.value_within(facts, left),
        };
        let said = |words: String| format!("its priority: {words}");
        let value = made.map_err(|error| said(error.to_string()))?;
        let word = value.as_str().ok_or_else(|| {
            said("it comes to no text; expected critical, high, normal or low".to_owned())
        })?;
        word.parse().map_err(|error: <Priority as FromStr>::Err| said(error.to_string()))
    }
}

impl Payload {
    fn of(spec: &PayloadSpec, path: &str, reader: &mut Reader<'_>) -> Self {
        let mut fields = Vec::with_capacity(spec.map.len());
        for (written, text) in &spec.map {
            let path = format!("{path}.payload.map.{written}");
            let Some(made) = reader.expression(text.as_str(), path) else { continue };
            let name = written.strip_suffix('?');
            let optional = name.is_some();
            let name = name.unwrap_or(written).to_owned();
            fields.push(Field { written: written.clone(), name, optional, made });
        }
        let schema = spec.schema.as_ref();
        let schema = schema.and_then(|it| reader.schema(it, format!("{path}.payload.schema")));
        Self { fields, schema }
    }

    fn made(&self, facts: &dyn Facts, left: &mut usize) -> Result<Value, String> {
        let mut payload = Map::new();
        for field in &self.fields {
            match field.made.value_within(facts, left) {
                Ok(Value::Null) | Err(ExprError::Missing { .. }) if field.optional => (),
                Ok(value) => {
                    payload.insert(field.name.clone(), value);
                }
                Err(error) => return Err(format!("payload.{}: {error}", field.name)),
            }
        }
        let payload = Value::Object(payload);
        match self.schema.as_ref().and_then(|schema| misfit(schema, &payload)) {
            Some(why) => Err(why),
            None => Ok(payload),
        }
    }
}
