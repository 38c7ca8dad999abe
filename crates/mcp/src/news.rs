//! Telling a client that something it looks at has changed.
//!
//! A session that watches anything hears the coordinator's live events. When the coordinator goes
//! away, the session waits for the next one, and tells of everything once: a notice too many costs
//! a look, one too few costs the news.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RequestContext, SubscriptionContext, SubscriptionSink};
use serde_json::Value;
use sse_stream::SseStream;
use tokio::task::JoinHandle;

use crate::desk::{Asker, Desk};
use crate::resources::{Thing, nothing_at, touches};

/// Addresses that one session may watch.
const WATCHED_MAX: usize = 64;
/// Where the coordinator tells what happens.
const EVENTS: &str = "/v1/events";
/// How long it is waited before a coordinator that went away is looked for again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What a session of an older revision watches.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    watched: Arc<Mutex<BTreeSet<String>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        if let Some(task) = whole(&self.task).take() {
            task.abort();
        }
    }
}

/// Sets and handles are whole whatever became of whoever had them.
fn whole<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subscriptions {
    /// Watches one more address.
    pub(crate) async fn add(
        &self,
        desk: &Arc<dyn Desk>,
        uri: String,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if Thing::at(&uri).is_none() {
            return Err(nothing_at(&uri));
        }
        let is_first = {
            let mut watched = whole(&self.watched);
            if watched.len() >= WATCHED_MAX && !watched.contains(&uri) {
                let message = format!("a session watches at most {WATCHED_MAX} addresses");
                return Err(ErrorData::invalid_params(message, None));
            }
            watched.insert(uri);
            whole(&self.task).as_ref().is_none_or(JoinHandle::is_finished)
        };
        if is_first {
            let (desk, watched) = (desk.clone(), self.watched.clone());
            let RequestContext { peer, extensions, .. } = context;
            // Whoever is told that it watches hears of everything from then on.
            let stream = desk.listen(&extensions, EVENTS.to_owned()).await.ok();
            let task = tokio::spawn(async move {
                follow(&*desk, &extensions, stream, &Ear::Session { watched, peer }).await;
            });
            if let Some(other) = whole(&self.task).replace(task) {
                other.abort();
            }
        }
        Ok(())
    }

    /// Watches it no longer.
    pub(crate) fn remove(&self, uri: &str) {
        whole(&self.watched).remove(uri);
    }
}

/// The part of what a client wants to hear that it will hear.
pub(crate) fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let wanted = requested.resource_subscriptions.iter().flatten();
    let known: Vec<_> = wanted.filter(|uri| Thing::at(uri).is_some()).cloned().collect();
    let mut accepted = SubscriptionFilter::new();
    if !known.is_empty() {
        accepted.resource_subscriptions = Some(known.into_iter().take(WATCHED_MAX).collect());
    }
    accepted
}

/// Serves one subscription until it is called off.
pub(crate) async fn listen(desk: &dyn Desk, context: SubscriptionContext) {
    let watched = context.accepted().resource_subscriptions.clone().unwrap_or_default();
    let ear = Ear::Request { watched, sink: context.sink().clone() };
    let from = &context.request_context().extensions;
    let stream = desk.listen(from, EVENTS.to_owned()).await.ok();
    // The client believes that it watches already; what happened meanwhile is told in one.
    if !ear.hear_all().await {
        return;
    }
    tokio::select! {
        () = follow(desk, from, stream, &ear) => (),
        () = context.cancelled() => (),
    }
}

/// Whoever wants to hear of changes, by the way of its revision.
enum Ear {
    /// A session, whose list may change meanwhile.
    Session { watched: Arc<Mutex<BTreeSet<String>>>, peer: Peer<RoleServer> },
    /// One request that stays open.
    Request { watched: Vec<String>, sink: SubscriptionSink },
}

impl Ear {
    /// Passes a message on as far as it matters. Returns whether anybody still listens.
    async fn hear(&self, message: &Value) -> bool {
        self.tell(|uri| touches(message, uri)).await
    }

    /// Tells of a change to everything that is watched: something may have been missed.
    async fn hear_all(&self) -> bool {
        self.tell(|_| true).await
    }

    async fn tell(&self, changed: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Session { watched, peer } => {
                let watched = whole(watched).clone();
                for uri in watched.into_iter().filter(|uri| changed(uri)) {
                    let notice = ResourceUpdatedNotificationParam::new(uri);
                    if peer.notify_resource_updated(notice).await.is_err() {
                        return false;
                    }
                }
            }
            Self::Request { watched, sink } => {
                for uri in watched.iter().filter(|uri| changed(uri)) {
                    if sink.notify_resource_updated(uri.clone()).await.is_err() {
                        return false;
                    }
                }
            }
        }
        true
    }
}

/// Hears every message of a stream, and of those that follow it, until nobody listens any more.
async fn follow(
    desk: &dyn Desk,
    from: &Asker,
    mut stream: Option<BoxStream<'static, io::Result<Bytes>>>,
    ear: &Ear,
) {
    loop {
        if let Some(stream) = stream.take() {
            let mut events = SseStream::from_bytes_stream(stream);
            while let Some(Ok(event)) = events.next().await {
                let message: Value = match (event.event.as_deref(), &event.data) {
                    // The coordinator ends, or this stream was too slow: another goes on.
                    (Some("end") | None, _) | (_, None) => continue,
                    (Some(_), Some(data)) => serde_json::from_str(data).unwrap_or_default(),
                };
                if !ear.hear(&message).await {
                    return;
                }
            }
        }
        tokio::time::sleep(AGAIN_AFTER).await;
        stream = desk.listen(from, EVENTS.to_owned()).await.ok();
        if stream.is_some() && !ear.hear_all().await {
            return;
        }
    }
}
