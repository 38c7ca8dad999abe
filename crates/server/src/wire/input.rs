//! Reading what comes in: limited, and with the bad field named.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use baton_protocol::limits::REQUEST_BYTES_MAX;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::wire::Problem;

/// How long a body may take to arrive.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// A JSON body.
pub(crate) struct Input<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let bytes = whole(request.into_body()).await?;
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        let read = serde_path_to_error::deserialize(&mut reader);
        let value = read.map_err(|error| {
            let path = error.path().to_string();
            let field = Some(path).filter(|path| path != ".");
            Problem::bad_input(field, said(&error.into_inner()))
        })?;
        reader.end().map_err(|error| Problem::bad_input(None, said(&error)))?;
        Ok(Self(value))
    }
}

async fn whole(body: Body) -> Result<axum::body::Bytes, Problem> {
    let read = tokio::time::timeout(BODY_WITHIN, to_bytes(body, REQUEST_BYTES_MAX));
    let read = read.await.map_err(|_| {
        let detail = format!("the body was not there within {} s", BODY_WITHIN.as_secs());
        let hint = "send it in one go; nothing was recorded";
        Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", detail, hint)
    })?;
    read.map_err(|_| {
        let detail = format!("a request over {REQUEST_BYTES_MAX} bytes, or one that broke off");
        let hint = "pass large things as artifacts: by path, not by content";
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail, hint)
    })
}

/// What was wrong, without the place in the bytes where a field is named anyway.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match error.classify() {
        Category::Data => {
            text.rsplit_once(" at line ").map_or(text.clone(), |(said, _)| said.into())
        }
        Category::Io | Category::Syntax | Category::Eof => text,
    }
}
