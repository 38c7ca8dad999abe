//! Schemas of what is taken and of what is answered. One type may look different in each: what has
//! a default may be left out on its way in, and is always there on its way out.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

const HOME: &str = "#/components/schemas/";

/// The schemas of one document.
pub(super) struct Schemas {
    taken: SchemaGenerator,
    answered: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings = || {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = "/components/schemas".into();
                settings.meta_schema = None;
            })
        };
        Self {
            taken: settings().for_deserialize().into_generator(),
            answered: settings().for_serialize().into_generator(),
        }
    }

    /// What is taken. It is marked until the document is whole, because its name may change.
    pub(super) fn taken<T: JsonSchema>(&mut self) -> Value {
        marked(self.taken.subschema_for::<T>().to_value())
    }

    /// What is answered.
    pub(super) fn answered<T: JsonSchema>(&mut self) -> Value {
        self.answered.subschema_for::<T>().to_value()
    }

    /// The schema of `T` itself, not its name.
    pub(super) fn fields<T: JsonSchema>(&mut self) -> Value {
        marked(T::json_schema(&mut self.taken).to_value())
    }

    /// Puts all named schemas into `document`. Where a type looks the same both ways, it has one
    /// name; where not, what is taken is called `…Input`.
    pub(super) fn finish(mut self, document: &mut Value) {
        let taken = self.taken.take_definitions(true);
        let answered = self.answered.take_definitions(true);
        let apart = apart(&taken, &answered);
        let mut all = answered;
        for (name, schema) in taken {
            let mut schema = marked(schema);
            settle(&mut schema, &apart);
            all.insert(if apart.contains(&name) { input(&name) } else { name }, schema);
        }
        settle(document, &apart);
        document["components"]["schemas"] = Value::Object(all);
    }
}

/// The names whose schemas differ between the two ways, themselves or in what they refer to.
fn apart(taken: &Map<String, Value>, answered: &Map<String, Value>) -> BTreeSet<String> {
    let both = taken.iter().filter_map(|(name, schema)| Some((name, schema, answered.get(name)?)));
    let both: Vec<_> = both.collect();
    let differs = both.iter().filter(|(_, one, other)| one != other);
    let mut apart: BTreeSet<String> = differs.map(|(name, ..)| (*name).clone()).collect();
    loop {
        let refers = |schema: &Value| {
            let text = schema.to_string();
            apart.iter().any(|name| text.contains(&format!("\"{HOME}{name}\"")))
        };
        let more = both.iter().filter(|(name, one, _)| !apart.contains(*name) && refers(one));
        let more: Vec<String> = more.map(|(name, ..)| (*name).clone()).collect();
        if more.is_empty() {
            return apart;
        }
        apart.extend(more);
    }
}

/// The name of what is taken, where it differs from what is answered.
fn input(name: &str) -> String {
    format!("{name}Input")
}

const MARK: &str = "taken:";

/// Marks each reference as one to what is taken.
fn marked(mut schema: Value) -> Value {
    each_reference(&mut schema, &mut |name| format!("{MARK}{name}"));
    schema
}

/// Gives each marked reference the name that it has now.
fn settle(value: &mut Value, apart: &BTreeSet<String>) {
    each_reference(value, &mut |name| match name.strip_prefix(MARK) {
        Some(name) if apart.contains(name) => input(name),
        Some(name) => name.to_owned(),
        None => name.to_owned(),
    });
}

fn each_reference(value: &mut Value, rename: &mut impl FnMut(&str) -> String) {
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields.get("$ref").and_then(Value::as_str)
                && let Some(name) = name.strip_prefix(HOME)
            {
                let renamed = format!("{HOME}{}", rename(name));
                fields.insert("$ref".to_owned(), json!(renamed));
            }
            fields.values_mut().for_each(|value| each_reference(value, rename));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_reference(item, rename)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}
