//! A small value that we write as JSON in a given order, with the indentation of its surroundings.

use jsonc_parser::ast::Value;

/// What we write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Text(String),
    Number(u32),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Node {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn texts<S: AsRef<str>>(texts: &[S]) -> Self {
        Self::List(texts.iter().map(|text| Self::text(text.as_ref())).collect())
    }

    pub(crate) fn object<const N: usize>(fields: [(&str, Self); N]) -> Self {
        Self::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// What stands under a name.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(key, _)| key == name).map(|(_, it)| it),
            Self::Text(_) | Self::Number(_) | Self::List(_) => None,
        }
    }

    /// Whether `found` says the same; what it says beyond that in an object is the user's affair.
    pub(crate) fn is_in(&self, found: &Value<'_>) -> bool {
        match self {
            Self::Text(text) => found.as_string_lit().is_some_and(|it| it.value == *text),
            Self::Number(number) => {
                found.as_number_lit().is_some_and(|it| it.value == number.to_string())
            }
            Self::List(items) => found.as_array().is_some_and(|list| {
                let pairs = || items.iter().zip(&list.elements);
                list.elements.len() == items.len() && pairs().all(|(ours, it)| ours.is_in(it))
            }),
            Self::Object(fields) => found.as_object().is_some_and(|object| {
                let same = |(key, ours): &(String, Self)| {
                    let found = object.properties.iter().rfind(|it| it.name.as_str() == key);
                    found.is_some_and(|found| ours.is_in(&found.value))
                };
                fields.iter().all(same)
            }),
        }
    }

    /// The value as text; its later lines begin with `indent`. Without a layout it is one line.
    pub(crate) fn render(&self, layout: Option<Layout<'_>>) -> String {
        let inner = layout.map(|it| format!("{}{}", it.indent, it.unit));
        let deeper = layout.zip(inner.as_deref()).map(|(it, indent)| Layout { indent, ..it });
        let joined = |open: char, items: Vec<String>, close: char| match (layout, &inner) {
            (Some(Layout { newline, indent, .. }), Some(inner)) => {
                let lines = items.join(&format!(",{newline}{inner}"));
                format!("{open}{newline}{inner}{lines}{newline}{indent}{close}")
            }
            (None, _) | (_, None) => format!("{open}{}{close}", items.join(", ")),
        };
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
            // A list of words is easier to read on one line.
            Self::List(items) if items.iter().all(|it| matches!(it, Self::Text(_))) => {
                let words: Vec<_> = items.iter().map(|item| item.render(None)).collect();
                format!("[{}]", words.join(", "))
            }
            Self::List(items) => {
                joined('[', items.iter().map(|item| item.render(deeper)).collect(), ']')
            }
            Self::Object(fields) => {
                let field = |(key, value): &(String, Self)| {
                    format!("{}: {}", quoted(key), value.render(deeper))
                };
                joined('{', fields.iter().map(field).collect(), '}')
            }
        }
    }
}

/// How a value fits in with the lines around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'a> {
    pub(crate) newline: &'a str,
    /// What the line begins with on which the value begins.
    pub(crate) indent: &'a str,
    /// One more level.
    pub(crate) unit: &'a str,
}

/// A text as JSON spells it, which TOML understands, too.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
