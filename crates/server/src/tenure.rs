//! Requests end with the credential that they came with, also while they wait or send their body.
//! One token has only so many under way, so that nobody takes every connection to wait on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use baton_protocol::limits::REQUESTS_PER_TOKEN_MAX;
use tokio::sync::watch;

use crate::caller::bearer;
use crate::routes::App;
use crate::wire::Problem;

/// How often a credential is looked at although none was taken away: it may run out.
const LOOK: Duration = Duration::from_secs(1);

/// The requests that are under way.
#[derive(Default)]
pub(crate) struct UnderWay {
    /// How many there are, by what was shown as a token, whether or not it is one.
    counts: Mutex<HashMap<String, usize>>,
    /// Says to all of them that they should look whether their token is still in force. One timer
    /// for all: one for each would be set and stopped with nearly every request.
    look: watch::Sender<()>,
}

impl UnderWay {
    fn counts(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request for as long as what it gets lives. `None` if there are too many.
    fn enter<'a>(&'a self, token: &'a str) -> Option<Counted<'a>> {
        let mut counts = self.counts();
        match counts.get_mut(token) {
            Some(count) if *count >= REQUESTS_PER_TOKEN_MAX => return None,
            Some(count) => *count += 1,
            None => drop(counts.insert(token.to_owned(), 1)),
        }
        Some(Counted { of: self, token })
    }
}

/// One request that is under way.
struct Counted<'a> {
    of: &'a UnderWay,
    token: &'a str,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let mut counts = self.of.counts();
        if let Some(count) = counts.get_mut(self.token) {
            *count -= 1;
            if *count == 0 {
                counts.remove(self.token);
            }
        }
    }
}

/// Answers with a refusal as soon as the token of a request is no longer in force.
pub(crate) async fn hold(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let token = request.headers().get(header::AUTHORIZATION);
    let Some(token) = token.and_then(|text| text.to_str().ok()).map(|text| bearer(text).to_owned())
    else {
        return next.run(request).await;
    };
    let Some(_counted) = app.under_way.enter(&token) else {
        return too_many().into_response();
    };
    let mut look = app.under_way.look.subscribe();
    let answer = next.run(request);
    let mut answer = std::pin::pin!(answer);
    loop {
        tokio::select! {
            biased;
            answer = &mut answer => return answer,
            changed = look.changed() => if changed.is_err() { return answer.await },
        }
        if let Ok(None) = app.engine.authenticate(&token).await {
            return ended().into_response();
        }
    }
}

/// Lets the requests look at their credentials whenever one was taken away, and every second.
pub(crate) async fn watch_over(app: Arc<App>) {
    let mut revocations = app.engine.revocations();
    loop {
        tokio::select! {
            changed = revocations.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(LOOK) => (),
        }
        app.under_way.look.send_replace(());
    }
}

fn too_many() -> Problem {
    let detail = format!("{REQUESTS_PER_TOKEN_MAX} requests of this token are under way already");
    let hint = "wait for some of them to be answered, or end those that wait for news";
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", detail, hint);
    problem.with_header(header::RETRY_AFTER, "1".to_owned())
}

/// What is said when a token ends before its request does.
pub(crate) fn ended() -> Problem {
    Problem::unauthorized(
        "this token was revoked or ran out while the request was under way",
        "ask the operator for a new one; asking again under the same key is safe",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_has_so_many_requests_under_way_and_others_have_theirs() {
        let under_way = UnderWay::default();
        let all: Vec<_> =
            (0..REQUESTS_PER_TOKEN_MAX).map(|_| under_way.enter("mad").unwrap()).collect();
        assert!(under_way.enter("mad").is_none());
        assert!(under_way.enter("calm").is_some());
        drop(all);
        assert!(under_way.enter("mad").is_some());
        assert!(under_way.counts().is_empty(), "nothing is kept of those who are done");
    }
}
