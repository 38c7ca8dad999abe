//! The description of all routes: for programs, and for people without a network.

use axum::Json;
use axum::response::Html;
use serde_json::{Map, Value};

use super::openapi;
use crate::api::{Api, get, page};

pub(super) fn routes(api: Api) -> Api {
    api.section("description", "What you are reading.")
        .route(
            get("/v1/openapi.json", "openapi", "Describes all routes (OpenAPI 3.1)")
                .for_anybody()
                .answers::<Map<String, Value>>(200, "The document."),
            async || Json(openapi()),
        )
        .route(
            get("/v1/docs", "docs", "Describes all routes on one page that needs no network")
                .for_anybody()
                .answers_as::<String>(200, "text/html", "The page."),
            async || Html(page(openapi())),
        )
}
