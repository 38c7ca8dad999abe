//! Requests end with the credential that they came with, also while they wait or send their body.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::caller::bearer;
use crate::routes::App;
use crate::wire::Problem;

/// How often a credential is looked at although none was taken away: it may run out.
const LOOK: Duration = Duration::from_secs(1);

/// Answers with a refusal as soon as the token of a request is no longer in force.
pub(crate) async fn hold(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let token = request.headers().get(header::AUTHORIZATION);
    let Some(token) = token.and_then(|text| text.to_str().ok()).map(|text| bearer(text).to_owned())
    else {
        return next.run(request).await;
    };
    let mut revocations = app.engine.revocations();
    let answer = next.run(request);
    let mut answer = std::pin::pin!(answer);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            changed = revocations.changed() => if changed.is_err() { return answer.await },
            () = tokio::time::sleep(LOOK) => (),
        }
        if let Ok(None) = app.engine.authenticate(&token).await {
            return ended().into_response();
        }
    }
}

/// What is said when a token ends before its request does.
pub(crate) fn ended() -> Problem {
    Problem::unauthorized(
        "this token was revoked or ran out while the request was under way",
        "ask the operator for a new one; asking again under the same key is safe",
    )
}
