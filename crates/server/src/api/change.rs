//! A route that asks for one command: the path says what it is about, the body says the rest.
//!
//! It builds the same command that `POST /v1/commands` takes, so there is one way to change
//! anything, and a key means the same wherever it is sent.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use baton_engine::view::Answer;
use baton_protocol::command::{Actor, Command, Submission};
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::Api;
use super::operation::{Describe, JSON, Operation};
use super::schemas::Schemas;
use crate::caller::Caller;
use crate::routes::App;
use crate::wire::{Fields, Key, Named, Problem, typed};

/// Where the new thing is.
type Place = fn(&Answer) -> Option<String>;

/// How a command is made of a path and a body.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    command: &'static str,
    /// Parts of the path, and which field of the command each is.
    placed: &'static [(&'static str, &'static [&'static str])],
    schema: fn(&mut Schemas) -> Value,
    place: Option<Place>,
    /// Whether there is anything beside the path to say.
    bare: bool,
}

impl Change {
    /// The command of this name, whose fields are those of `T`.
    pub(crate) fn of<T: JsonSchema>(command: &'static str) -> Self {
        let schema = |schemas: &mut Schemas| schemas.fields::<T>();
        Self { command, placed: &[], schema, place: None, bare: false }
    }

    /// These parts of the path are these fields.
    pub(crate) fn placed(self, placed: &'static [(&'static str, &'static [&'static str])]) -> Self {
        Self { placed, ..self }
    }

    /// The path says it all.
    pub(crate) fn bare(self) -> Self {
        Self { bare: true, ..self }
    }

    /// It makes something, which is then there.
    pub(crate) fn making(self, place: Place) -> Self {
        Self { place: Some(place), ..self }
    }

    pub(super) fn describe(self, operation: Operation) -> Operation {
        let mut operation = operation.changes(self.command);
        if !self.bare {
            let mut schemas = Schemas::new();
            let required = !rest(self, &mut schemas)["required"].is_null();
            let schema: Describe = Box::new(move |schemas| rest(self, schemas));
            operation = operation.takes_as(JSON, required, schema);
        }
        match self.place {
            None => operation.answers::<Answer>(200, "What was recorded."),
            Some(_) => operation
                .answers::<Answer>(201, "What was recorded.")
                .with("Location", "Where the new thing is."),
        }
    }

    /// Adds the route to `api`.
    pub(super) fn add(self, api: Api, operation: Operation) -> Api {
        let handler = move |State(app): State<Arc<App>>,
                            Caller(actor): Caller,
                            key: Key,
                            Named(named): Named,
                            Fields(body): Fields| async move {
            self.run(&app, actor, key, &named, body).await
        };
        api.route(operation, handler)
    }

    async fn run(
        self,
        app: &App,
        actor: Actor,
        key: Key,
        named: &[(String, String)],
        mut body: Map<String, Value>,
    ) -> Result<Response, Problem> {
        for (part, field) in self.placed {
            let said = named.iter().find(|(name, _)| name == part);
            let said = said.map_or("", |(_, value)| value);
            put(&mut body, field, said)?;
        }
        let command: Command = typed(json!({ self.command: body }), self.command)?;
        let answer = recorded(app, actor, &key, command).await?;
        let place = self.place.and_then(|place| place(&answer));
        let place = place.and_then(|place| HeaderValue::from_str(&place).ok());
        let answer = key.cut(answer);
        Ok(match place {
            // It makes nothing, or what it makes was there as it is.
            None => Json(answer).into_response(),
            Some(place) => {
                (StatusCode::CREATED, [(header::LOCATION, place)], Json(answer)).into_response()
            }
        })
    }
}

/// Submits a command under the caller's key, if it sent one. The answer has as much as the caller
/// wants to hear.
pub(crate) async fn submit(
    app: &App,
    actor: Actor,
    key: &Key,
    command: Command,
) -> Result<Answer, Problem> {
    Ok(key.cut(recorded(app, actor, key, command).await?))
}

/// Submits it likewise, and answers with all that was recorded.
async fn recorded(
    app: &App,
    actor: Actor,
    key: &Key,
    mut command: Command,
) -> Result<Answer, Problem> {
    key.follow(&mut command);
    Ok(match key.as_str() {
        Some(key) => app.engine.submit(Submission::keyed(actor, key, command)).await?,
        None => app.engine.submit_new(actor, command).await?,
    })
}

/// What the path says is not said again in the body.
fn put(body: &mut Map<String, Value>, field: &[&str], value: &str) -> Result<(), Problem> {
    let Some((first, rest)) = field.split_first() else { return Ok(()) };
    if body.contains_key(*first) {
        let field = Some((*first).to_owned());
        return Err(Problem::bad_input(field, "in the body; expected only in the path"));
    }
    let value = rest.iter().rev().fold(json!(value), |inner, name| json!({ *name: inner }));
    body.insert((*first).to_owned(), value);
    Ok(())
}

/// The schema of a command without what the path says.
fn rest(change: Change, schemas: &mut Schemas) -> Value {
    let mut schema = (change.schema)(schemas);
    let placed: Vec<&str> = change.placed.iter().filter_map(|(_, f)| f.first().copied()).collect();
    for name in &placed {
        if let Some(fields) = schema["properties"].as_object_mut() {
            fields.remove(*name);
        }
    }
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| !placed.iter().any(|placed| name == placed));
        if required.is_empty()
            && let Some(fields) = schema.as_object_mut()
        {
            fields.remove("required");
        }
    }
    schema
}
