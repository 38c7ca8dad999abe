//! What every request passes on its way in and out, in this order and in one step: a chain of four
//! would cost each request as much as the smallest route does.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::idle::Present;
use crate::metrics::Measured;
use crate::routes::App;
use crate::{guard, tenure};

/// Takes note of a request, turns it away or lets it in, and measures how it was answered.
pub(crate) async fn pass(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let measured = Measured::begin(&request);
    let _present = Present::new(&app);
    let answer = match guard::look(&request, &app.hosts) {
        Ok(()) => tenure::hold(&app, request, next).await,
        Err(problem) => problem.into_response(),
    };
    measured.end(&app.metrics, &answer);
    answer
}
