//! Live events: the messages of the ledger as server-sent events, from any point of history on.
//!
//! Each listener reads the ledger at its own pace, so a slow one slows nobody; one that does not
//! take anything for a while is cut off, and finds as its last event where to go on.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use baton_engine::view::Message;
use baton_engine::{MessageQuery, Page};
use baton_protocol::command::Actor;
use baton_protocol::id::{AgentId, TokenId, WorkflowId};
use baton_protocol::limits::{STREAMS_MAX, STREAMS_PER_TOKEN_MAX};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::App;
use super::messages::{ears, kind_of};
use crate::api::{Api, get};
use crate::caller::Known;
use crate::idle::Present;
use crate::tenure::EndsItself;
use crate::wire::{Asked, Problem};

/// Messages read at once.
const PAGE: usize = 64;
/// How long a listener may take nothing before it is cut off. Every sign of life makes room for one
/// more event, taken or not, so this must be the shorter time.
const SLOW: Duration = Duration::from_secs(10);
/// The least time between two looks at the ledger: under load, events come in small groups.
const PACE: Duration = Duration::from_millis(20);
/// How often a credential is looked at although nothing happens.
const LOOK: Duration = Duration::from_secs(1);
/// How often a quiet stream shows that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
const _: () = assert!(SLOW.as_secs() < SIGN_OF_LIFE.as_secs());
/// How long a listener that lost us waits before it comes back.
const RETRY: Duration = Duration::from_secs(1);

pub(super) fn routes(api: Api) -> Api {
    api.section("events", "What happens, as it happens.").route(
        get("/v1/events", "listen", "Tells messages as server-sent events, as they come")
            .detail(
                "Each event has the number of its record as `id`, the message's type as `event` \
                 and the message as `data`. Whoever comes back with `Last-Event-ID` misses nothing \
                 and hears nothing twice. The last event of a stream that Baton ends is `end`, \
                 with `code`, `detail` and the number to go on `after`.",
            )
            .query::<EventsAsked>()
            .header("Last-Event-ID", "The last event that was heard.")
            .answers_as::<String>(200, "text/event-stream", "A stream without end.")
            .refuses(&["unknown-workflow", "too-many-streams"]),
        events,
    )
}

/// How many listen, by token.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<HashMap<Option<TokenId>, usize>>);

impl Listeners {
    fn enter(&self, token: Option<TokenId>) -> Result<(), Problem> {
        let mut listening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = listening.get(&token).copied().unwrap_or(0);
        let most = if token.is_some() { STREAMS_PER_TOKEN_MAX } else { STREAMS_MAX };
        if own >= most || listening.values().sum::<usize>() >= STREAMS_MAX {
            let detail = format!("{own} streams are open already");
            let hint = "close one first; one stream can carry many types, or all workflows";
            let status = StatusCode::TOO_MANY_REQUESTS;
            let problem = Problem::new(status, "too-many-streams", detail, hint);
            return Err(problem.with_header(header::RETRY_AFTER, "1".to_owned()));
        }
        *listening.entry(token).or_default() += 1;
        Ok(())
    }

    fn leave(&self, token: Option<TokenId>) {
        let mut listening = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = listening.get_mut(&token) {
            *count -= 1;
            if *count == 0 {
                listening.remove(&token);
            }
        }
    }
}

/// Which events are asked for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EventsAsked {
    /// Only of this workflow.
    workflow: Option<WorkflowId>,
    /// Only from or to this agent.
    agent: Option<AgentId>,
    /// Only of these types, separated by commas.
    #[serde(rename = "type")]
    types: Option<String>,
    /// Only of records after this number; 0 means all of history. Absent: only what comes.
    after: Option<u64>,
}

async fn events(
    State(app): State<Arc<App>>,
    mut known: Known,
    headers: HeaderMap,
    Asked(asked): Asked<EventsAsked>,
) -> Result<impl IntoResponse, Problem> {
    known.actor = ears(known.actor);
    let named = asked.types.iter().flat_map(|text| text.split(','));
    let durable = *app.engine.changes().borrow();
    let query = MessageQuery {
        types: named.map(kind_of).collect::<Result<_, _>>()?,
        agent: asked.agent,
        workflow: asked.workflow,
        // Whoever heard of more than there is, from before a restored backup, goes on from here.
        after: Some(after(&headers, asked.after)?.unwrap_or(durable).min(durable)),
        limit: Some(PAGE),
    };
    // Whoever may not see the workflow hears so now, not as the first event.
    app.engine
        .messages(known.actor.clone(), MessageQuery { limit: Some(1), ..query.clone() })
        .await?;
    let token = known.credential.as_ref().map(|(_, credential)| credential.token);
    app.listeners.enter(token)?;
    let (to, from) = mpsc::channel(PAGE);
    let last_word = LastWord::default();
    let listener = Listener { _present: Present::new(&app), app, token, known, query, to };
    tokio::spawn(listener.run(last_word.clone()));
    let stream = futures_util::stream::unfold((from, last_word), |(mut from, word)| async {
        let event = match from.recv().await {
            Some(event) => event,
            None => word.lock().unwrap_or_else(PoisonError::into_inner).take()?,
        };
        Some((Ok::<_, Infallible>(event), (from, word)))
    });
    let stream = Sse::new(stream).keep_alive(KeepAlive::new().interval(SIGN_OF_LIFE));
    Ok((Extension(EndsItself), stream))
}

/// Where to begin: where the listener left off, or where it says.
fn after(headers: &HeaderMap, asked: Option<u64>) -> Result<Option<u64>, Problem> {
    let Some(last) = headers.get("last-event-id") else { return Ok(asked) };
    match last.to_str().ok().and_then(|text| text.parse().ok()) {
        Some(last) => Ok(Some(last)),
        None => {
            let detail = "not the id of an event; expected a number as an earlier event had it";
            Err(Problem::bad_input(Some("Last-Event-ID".to_owned()), detail))
        }
    }
}

/// What a listener hears last. It does not go through the channel, which may be full.
type LastWord = Arc<Mutex<Option<Event>>>;

/// One who listens.
struct Listener {
    app: Arc<App>,
    _present: Present,
    token: Option<TokenId>,
    known: Known,
    query: MessageQuery,
    to: mpsc::Sender<Event>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.app.listeners.leave(self.token);
    }
}

/// Why a stream ends.
enum End {
    /// The listener went away.
    Gone,
    /// It is told so, and where it can go on.
    Told { code: &'static str, why: String },
}

impl Listener {
    async fn run(mut self, last_word: LastWord) {
        if let End::Told { code, why } = self.listen().await {
            let data = json!({ "code": code, "detail": why, "after": self.query.after });
            let word = Event::default().event("end").data(data.to_string());
            *last_word.lock().unwrap_or_else(PoisonError::into_inner) = Some(word);
        }
    }

    /// Tells what there is, and then what comes, until there is a reason to end.
    async fn listen(&mut self) -> End {
        let mut changes = self.app.engine.changes();
        let mut stopping = self.app.stopping.subscribe();
        let mut revocations = self.app.engine.revocations();
        if let Err(end) = self.send(Event::default().retry(RETRY).comment("listening")).await {
            return end;
        }
        loop {
            if *stopping.borrow_and_update() {
                let why = "the coordinator is about to end".to_owned();
                return End::Told { code: "stopping", why };
            }
            if let Err(end) = self.still_known().await {
                return end;
            }
            let begun = Instant::now();
            changes.mark_unchanged();
            match self.tell().await {
                Ok(true) => continue,
                Ok(false) => (),
                Err(end) => return end,
            }
            tokio::select! {
                // Without a ledger there is nothing more to tell.
                changed = changes.changed() => if changed.is_err() {
                    let why = "the ledger stopped".to_owned();
                    return End::Told { code: "stopped", why };
                },
                _ = stopping.changed() => continue,
                _ = revocations.changed() => continue,
                () = self.to.closed() => return End::Gone,
                () = tokio::time::sleep(LOOK) => continue,
            }
            tokio::time::sleep_until(begun + PACE).await;
        }
    }

    /// Sends one page. Returns whether there may be more.
    async fn tell(&mut self) -> Result<bool, End> {
        let durable = *self.app.engine.changes().borrow();
        let viewer: Actor = self.known.actor.clone();
        let page = self.app.engine.messages(viewer, self.query.clone()).await;
        let Page { items, next } = page.map_err(|error| {
            let why = error.to_string();
            End::Told { code: "failed", why }
        })?;
        for message in &items {
            self.send(event(message)).await?;
            self.query.after = Some(message.seq);
        }
        // What is between these and the end of the page, or of the ledger, was not asked for.
        let looked = next.unwrap_or(durable);
        self.query.after = self.query.after.max(Some(looked));
        Ok(next.is_some())
    }

    async fn send(&self, event: Event) -> Result<(), End> {
        match tokio::time::timeout(SLOW, self.to.send(event)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Gone),
            Err(_) => {
                let why = "events came faster than they were taken".to_owned();
                Err(End::Told { code: "too-slow", why })
            }
        }
    }

    /// Makes sure that the credential is in force.
    async fn still_known(&self) -> Result<(), End> {
        let Some((token, _)) = &self.known.credential else { return Ok(()) };
        match self.app.engine.authenticate(token).await {
            Ok(Some(_)) => Ok(()),
            Ok(None) => {
                let why = "this token is revoked or expired".to_owned();
                Err(End::Told { code: "unauthorized", why })
            }
            Err(failure) => Err(End::Told { code: "failed", why: failure.to_string() }),
        }
    }
}

fn event(message: &Message) -> Event {
    let kind = json!(message.kind);
    let text = serde_json::to_string(message).unwrap_or_default();
    Event::default()
        .id(message.seq.to_string())
        .event(kind.as_str().unwrap_or("message"))
        .data(text)
}
