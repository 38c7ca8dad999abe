//! Errors as they go out: RFC 9457, with our stable code and a hint.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use baton_engine::{LedgerFailure, QueryError, SubmitError, causes};
use baton_protocol::refusal::Refusal;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api;

/// What went wrong, what stands in the way, and what to do next.
#[derive(Debug)]
pub(crate) struct Problem(Box<ProblemDetails>, Option<(HeaderName, HeaderValue)>);

/// A problem as it goes out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ProblemDetails {
    /// Always `about:blank`: the code says which problem it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The words of the status.
    title: &'static str,
    /// The status.
    status: u16,
    /// Which problem it is. It never changes once released; the sentences may.
    code: &'static str,
    /// What stands in the way.
    detail: String,
    /// What to do next.
    hint: String,
    /// The field that is wrong, if one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let title = status.canonical_reason().unwrap_or("error");
        let (detail, hint) = (detail.into(), hint.into());
        let (kind, status, field) = ("about:blank", status.as_u16(), None);
        Self(Box::new(ProblemDetails { kind, title, status, code, detail, hint, field }), None)
    }

    /// Adds a header that programs act on.
    pub(crate) fn with_header(mut self, name: HeaderName, value: String) -> Self {
        self.1 = HeaderValue::try_from(value).ok().map(|value| (name, value));
        self
    }

    /// The caller must first show who it is.
    pub(crate) fn unauthorized(detail: &str, hint: &str) -> Self {
        let problem = Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail, hint);
        problem.with_header(header::WWW_AUTHENTICATE, "Bearer".to_owned())
    }

    /// Bad input: the field, what was found, what was expected.
    pub(crate) fn bad_input(field: Option<String>, detail: impl Into<String>) -> Self {
        let hint = "correct the field and ask again; nothing was recorded";
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let mut problem = Self::new(status, "bad-input", detail, hint);
        problem.0.field = field;
        problem
    }

    /// What stands in the way, in words.
    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The code by which it is known.
    pub(crate) fn code(&self) -> &'static str {
        self.0.code
    }

    /// The same, because what the caller had seen was no longer so.
    pub(crate) fn of_precondition(mut self) -> Self {
        let status = StatusCode::PRECONDITION_FAILED;
        self.0.status = status.as_u16();
        self.0.title = status.canonical_reason().unwrap_or("error");
        self
    }

    /// What it says, for an answer that holds several.
    pub(crate) fn into_details(self) -> ProblemDetails {
        *self.0
    }
}

impl ProblemDetails {
    pub(crate) fn status(&self) -> u16 {
        self.status
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self.0)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response.headers_mut().extend(self.1);
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = StatusCode::from_u16(api::status(refusal.kind()));
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(status, refusal.code(), refusal.to_string(), refusal.hint())
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Refused(refusal) => refusal.into(),
            SubmitError::Failed(failure) => failed(&failure),
        }
    }
}

impl From<QueryError> for Problem {
    fn from(error: QueryError) -> Self {
        let sentence = error.to_string();
        match error {
            QueryError::Refused(refusal) => refusal.into(),
            QueryError::Failed(failure) => failed(&failure),
            QueryError::NotFound { .. } => {
                let hint = "`baton list --all` shows workflows, `baton inbox` what is for you";
                Self::new(StatusCode::NOT_FOUND, "not-found", sentence, hint)
            }
            QueryError::Unusable { field, .. } => Self::bad_input(Some(field.to_owned()), sentence),
            QueryError::Ambiguous { .. } => {
                let hint = "give more of the id";
                Self::new(StatusCode::CONFLICT, "ambiguous-id", sentence, hint)
            }
        }
    }
}

fn failed(failure: &LedgerFailure) -> Problem {
    tracing::error!(failure = causes(failure), "the ledger could not");
    match failure {
        LedgerFailure::DiskFull => {
            let hint = "make room on the disk, then ask again";
            Problem::new(StatusCode::INSUFFICIENT_STORAGE, "disk-full", failure.to_string(), hint)
        }
        LedgerFailure::Stopped { .. } => {
            let hint = "ask again: the next command starts the coordinator anew";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopped", failure.to_string(), hint)
        }
        LedgerFailure::InUse { .. }
        | LedgerFailure::NoBlob { .. }
        | LedgerFailure::Failed { .. } => {
            let hint = "the coordinator's log, .baton/run/coordinator.log, says more";
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            Problem::new(status, "failed", causes(failure), hint)
        }
    }
}
