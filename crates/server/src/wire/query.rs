//! What the query asks.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::Problem;
use super::words::plain;

/// The parameters of a query, with the bad one named.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let read = Query::<T>::try_from_uri(&parts.uri);
        read.map(|Query(asked)| Self(asked)).map_err(|error| {
            let text = error.body_text();
            let said = text.strip_prefix("Failed to deserialize query string: ").unwrap_or(&text);
            let known = parts.uri.query().unwrap_or("").split('&');
            let names = known.filter_map(|pair| pair.split('=').next());
            let named = |name: &&str| said.starts_with(&format!("{name}: "));
            let field = names.filter(|name| !name.is_empty()).find(named).map(str::to_owned);
            let said = match &field {
                Some(field) => said[field.len() + 2..].to_owned(),
                None => said.to_owned(),
            };
            Problem::bad_input(field, plain(&said))
        })
    }
}
