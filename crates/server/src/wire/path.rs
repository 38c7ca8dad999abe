//! What the path says.

use std::fmt::Display;
use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;

use super::Problem;

/// The named parts of the path, in order.
pub(crate) struct Named(pub(crate) Vec<(String, String)>);

impl Named {
    /// The part of that name, parsed.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(&self, name: &str) -> Result<T, Problem> {
        let found = self.0.iter().find(|(named, _)| named == name);
        let text = found.map_or("", |(_, text)| text);
        text.parse()
            .map_err(|error: T::Err| Problem::bad_input(Some(name.to_owned()), error.to_string()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let named = RawPathParams::from_request_parts(parts, state).await;
        let named = named
            .map_err(|error| Problem::bad_input(Some("path".to_owned()), error.body_text()))?;
        Ok(Self(named.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect()))
    }
}
