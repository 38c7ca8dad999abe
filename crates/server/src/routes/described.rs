//! The description of all routes: for programs, and for people without a network.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::header;
use axum::response::Html;
use serde_json::{Map, Value};

use super::openapi;
use crate::api::{Api, get, page};

/// Both are long, and anybody may ask for them.
static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| openapi().to_string().into());
static PAGE: LazyLock<Bytes> = LazyLock::new(|| page(openapi()).into());

pub(super) fn routes(api: Api) -> Api {
    api.section("description", "What you are reading.")
        .route(
            get("/v1/openapi.json", "openapi", "Describes all routes (OpenAPI 3.1)")
                .for_anybody()
                .answers::<Map<String, Value>>(200, "The document."),
            async || ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.clone()),
        )
        .route(
            get("/v1/docs", "docs", "Describes all routes on one page that needs no network")
                .for_anybody()
                .answers_as::<String>(200, "text/html", "The page."),
            async || Html(PAGE.clone()),
        )
}
