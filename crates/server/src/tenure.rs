//! Requests end with the credential that they came with, also while they wait, send their body or
//! are told things without end. One token has only so many under way, so that nobody takes every
//! connection to wait on.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use baton_protocol::limits::REQUESTS_PER_TOKEN_MAX;
use futures_util::{StreamExt, TryStreamExt, stream};
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

    /// Counts a request of this token, unless there are too many.
    fn enter(&self, token: &str) -> bool {
        let mut counts = self.counts();
        match counts.get_mut(token) {
            Some(count) if *count >= REQUESTS_PER_TOKEN_MAX => return false,
            Some(count) => *count += 1,
            None => drop(counts.insert(token.to_owned(), 1)),
        }
        true
    }

    fn leave(&self, token: &str) {
        let mut counts = self.counts();
        if let Some(count) = counts.get_mut(token) {
            *count -= 1;
            if *count == 0 {
                counts.remove(token);
            }
        }
    }
}

/// One request that is under way, until all of its answer has gone out.
struct Tenure {
    app: Arc<App>,
    token: String,
    counted: bool,
    look: watch::Receiver<()>,
}

impl Tenure {
    /// `None` if there are too many of this token.
    fn begin(app: Arc<App>, token: String, counted: bool) -> Option<Self> {
        if counted && !app.under_way.enter(&token) {
            return None;
        }
        let look = app.under_way.look.subscribe();
        Some(Self { app, token, counted, look })
    }

    /// Returns once the token is no longer in force.
    async fn over(&mut self) {
        while self.look.changed().await.is_ok() {
            if let Ok(None) = self.app.engine.authenticate(&self.token).await {
                return;
            }
        }
        std::future::pending().await
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        if self.counted {
            self.app.under_way.leave(&self.token);
        }
    }
}

/// On requests that another request makes, which is counted already.
#[derive(Clone, Copy)]
pub(crate) struct Within;

/// On answers that end by themselves with their token, with a word about it.
#[derive(Clone, Copy)]
pub(crate) struct EndsItself;

/// Answers with a refusal as soon as the token of a request is no longer in force.
pub(crate) async fn hold(app: &Arc<App>, request: Request, next: Next) -> Response {
    let token = request.headers().get(header::AUTHORIZATION);
    let Some(token) = token.and_then(|text| text.to_str().ok()).map(|text| bearer(text).to_owned())
    else {
        return next.run(request).await;
    };
    let counted = request.extensions().get::<Within>().is_none();
    let Some(mut tenure) = Tenure::begin(app.clone(), token, counted) else { return too_many() };
    let answer = tokio::select! {
        biased;
        answer = next.run(request) => answer,
        () = tenure.over() => return ended().into_response(),
    };
    // What is there already goes out whoever asked for it; what is still to come does not.
    let whole = answer.body().size_hint().exact().is_some();
    if whole || answer.extensions().get::<EndsItself>().is_some() {
        return answer;
    }
    let (head, body) = answer.into_parts();
    let cut = Arc::new(AtomicBool::new(false));
    let ends = cut.clone();
    let over = async move {
        tenure.over().await;
        ends.store(true, Ordering::Relaxed);
    };
    let body = body.into_data_stream().take_until(Box::pin(over)).map_err(io::Error::other);
    // It breaks off, so that nobody takes it for the whole.
    let broken = stream::poll_fn(move |_| {
        let cut = cut.swap(false, Ordering::Relaxed);
        Poll::Ready(cut.then(|| Err(io::Error::other("the token of this answer is over"))))
    });
    Response::from_parts(head, Body::from_stream(body.chain(broken)))
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

/// Turns a request away and its connection with it: whoever has too many would else hold them all.
fn too_many() -> Response {
    let detail = format!("{REQUESTS_PER_TOKEN_MAX} requests of this token are under way already");
    let hint = "wait for some of them to be answered, or end those that wait for news";
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", detail, hint);
    let headers = [(header::CONNECTION, "close"), (header::RETRY_AFTER, "1")];
    (headers, problem).into_response()
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
        assert!((0..REQUESTS_PER_TOKEN_MAX).all(|_| under_way.enter("mad")));
        assert!(!under_way.enter("mad"));
        assert!(under_way.enter("calm"));
        under_way.leave("mad");
        assert!(under_way.enter("mad"));
        (0..REQUESTS_PER_TOKEN_MAX).for_each(|_| under_way.leave("mad"));
        under_way.leave("calm");
        assert!(under_way.counts().is_empty(), "nothing is kept of those who are done");
    }
}
