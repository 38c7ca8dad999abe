//! Waiting for news inside one request.

use std::time::Duration;

use baton_engine::QueryError;
use baton_protocol::limits::WAIT_MAX;
use baton_protocol::time::Allowance;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::App;
use crate::wire::Problem;

/// The least time between two looks.
const PACE: Duration = Duration::from_millis(5);

/// How long to wait.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Waiting {
    /// Answers as soon as it is over, and after so long at the latest; at most a minute.
    pub(super) wait: Option<Allowance>,
}

/// Asks again with every change until `done`, or until the time is up.
pub(super) async fn until<T, F: Future<Output = Result<T, QueryError>>>(
    app: &App,
    wait: Option<Allowance>,
    done: impl Fn(&T) -> bool,
    ask: impl Fn() -> F,
) -> Result<T, Problem> {
    let wait = wait.map_or(Duration::ZERO, |span| {
        Duration::from_micros(u64::try_from(span.min(WAIT_MAX).as_micros()).unwrap_or(0))
    });
    let mut changes = app.engine.changes();
    let mut stopping = app.stopping.subscribe();
    let deadline = Instant::now() + wait;
    loop {
        changes.mark_unchanged();
        let answer = ask().await?;
        if done(&answer) || *stopping.borrow_and_update() {
            return Ok(answer);
        }
        tokio::select! {
            changed = changes.changed() => match changed {
                // Many may wait, and each look is work for the one thread that decides.
                Ok(()) => tokio::time::sleep(PACE.min(deadline - Instant::now())).await,
                Err(_) => return Ok(answer),
            },
            _ = stopping.changed() => (),
            () = tokio::time::sleep_until(deadline) => return Ok(answer),
        }
    }
}
