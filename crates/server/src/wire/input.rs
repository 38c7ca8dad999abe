//! Reading what comes in: limited, JSON only, and with the bad field named.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use baton_protocol::limits::REQUEST_BYTES_MAX;
use http_body_util::LengthLimitError;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::Problem;
use super::distinct::Distinct;
use super::words::plain;

/// How long a body may take to arrive.
pub(crate) const BODY_WITHIN: Duration = Duration::from_secs(30);

/// A JSON body.
pub(crate) struct Input<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        json_only(request.headers(), &["application/json"])?;
        read(&whole(request.into_body()).await?).map(Self)
    }
}

/// The fields of a JSON object; no body is an object without any.
pub(crate) struct Fields(pub(crate) Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (head, body) = request.into_parts();
        let bytes = whole(body).await?;
        if bytes.is_empty() {
            return Ok(Self(Map::new()));
        }
        json_only(&head.headers, &["application/json"])?;
        read(&bytes).map(|Distinct(fields)| Self(fields))
    }
}

/// Reads JSON, and names the field that is wrong.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    // Nearly all of it is right, and then nobody wants to know which field was read when. Whether
    // it is text at all is told once for the whole, and not for each string in it.
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(value);
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| wrong(error, ""))?;
    reader.end().map_err(|error| Problem::bad_input(None, said(&error)))?;
    Ok(value)
}

/// Reads JSON that was read before, and names the field that is wrong, as seen from `within`.
pub(crate) fn typed<T: DeserializeOwned>(value: Value, within: &str) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| wrong(error, within))
}

fn wrong(error: serde_path_to_error::Error<serde_json::Error>, within: &str) -> Problem {
    let path = error.path().to_string();
    let path = path.strip_prefix(within).unwrap_or(&path);
    let path = if within.is_empty() { path } else { path.strip_prefix('.').unwrap_or(path) };
    let field = Some(path.to_owned()).filter(|path| path != "." && !path.is_empty());
    Problem::bad_input(field, said(&error.into_inner()))
}

/// Refuses a body that says it is something else. One that says nothing is taken for what is
/// expected.
pub(crate) fn json_only(headers: &HeaderMap, taken: &[&str]) -> Result<(), Problem> {
    let Some(said) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let said = said.to_str().unwrap_or("");
    let media = said.split(';').next().unwrap_or("").trim();
    if taken.iter().any(|one| media.eq_ignore_ascii_case(one)) {
        return Ok(());
    }
    let detail = format!("a body of type {said:.80}; expected {}", taken.join(" or "));
    let hint = format!("send `Content-Type: {}`", taken.first().unwrap_or(&"application/json"));
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail, hint))
}

/// The whole body, unless it is too large.
async fn whole(body: Body) -> Result<Bytes, Problem> {
    let read = tokio::time::timeout(BODY_WITHIN, to_bytes(body, REQUEST_BYTES_MAX));
    let read = read.await.map_err(|_| {
        let detail = format!("the body was not there within {} s", BODY_WITHIN.as_secs());
        let hint = "send it in one go; nothing was recorded";
        Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail, hint)
    })?;
    read.map_err(|error| {
        if !error.into_inner().is::<LengthLimitError>() {
            let hint = "send it again, whole; nothing was recorded";
            let detail = "a body that broke off; expected all of it";
            return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "bad-input", detail, hint);
        }
        let detail = format!("a request over {REQUEST_BYTES_MAX} bytes");
        let hint = "pass large things as artifacts: by path, not by content";
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail, hint)
    })
}

/// What was wrong, without the place in the bytes where a field is named anyway.
fn said(error: &serde_json::Error) -> String {
    let text = plain(&error.to_string());
    match error.classify() {
        Category::Data => {
            text.rsplit_once(" at line ").map_or(text.clone(), |(said, _)| said.into())
        }
        Category::Io | Category::Syntax | Category::Eof => text,
    }
}
