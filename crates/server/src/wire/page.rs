//! Lists in pages: the `Link` header says where the next one is.

use std::fmt::Display;
use std::str::FromStr;

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::Problem;

/// Where this request went, so that the next page can be found from here.
pub(crate) struct Here(Uri);

impl<S: Send + Sync> FromRequestParts<S> for Here {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(parts.uri.clone()))
    }
}

impl Here {
    /// The same question, about what comes after `cursor`.
    fn next(&self, cursor: &str) -> String {
        let kept = self.0.query().unwrap_or("").split('&');
        let kept = kept.filter(|pair| !pair.is_empty() && pair.split('=').next() != Some("cursor"));
        let mut query: Vec<&str> = kept.collect();
        let cursor = format!("cursor={cursor}");
        query.push(&cursor);
        format!("<{}?{}>; rel=\"next\"", self.0.path(), query.join("&"))
    }
}

/// Where a page begins, as the query says it.
pub(crate) struct Paging;

impl Paging {
    /// Reads a cursor that came from a `Link`.
    pub(crate) fn cursor<T: FromStr>(text: Option<&str>) -> Result<Option<T>, Problem> {
        let Some(text) = text else { return Ok(None) };
        let wrong = |_| {
            let detail = "not a cursor; expected one from a Link header, as it was given";
            Problem::bad_input(Some("cursor".to_owned()), detail)
        };
        text.parse().map(Some).map_err(wrong)
    }
}

/// An answer with where it goes on.
pub(crate) struct Paged<T> {
    body: T,
    link: Option<String>,
}

impl<T> Paged<T> {
    pub(crate) fn new(here: &Here, body: T, next: Option<impl Display>) -> Self {
        Self { body, link: next.map(|cursor| here.next(&cursor.to_string())) }
    }
}

impl<T: Serialize> IntoResponse for Paged<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.body).into_response();
        if let Some(link) = self.link.and_then(|link| HeaderValue::from_str(&link).ok()) {
            response.headers_mut().insert(header::LINK, link);
        }
        response
    }
}
