//! What time brings. The times themselves are part of the ledger's state, so a restart forgets
//! none; here is only who looks at them.

use std::time::Duration;

use baton_protocol::Timer;
use baton_protocol::command::{Actor, Command, Submission, Wake, WakeHold};
use baton_protocol::id::CommandId;
use baton_protocol::time::Timestamp;
use baton_store::{LedgerError, Scope};

use crate::engine::{Engine, SubmitError};

/// Handoffs and holds that one look wakes.
const WAKES_MAX: usize = 256;
/// How long answers may still come in after a start before timers fire.
const START_GRACE: Duration = Duration::from_secs(1);
/// How long the engine sleeps at most, so that a clock that jumps is noticed.
const SLEEP_MAX: Duration = Duration::from_secs(5);
/// How long it sleeps at least, so that what cannot be woken does not spin.
const SLEEP_MIN: Duration = Duration::from_millis(5);

/// The least time between two looks that news bring.
const PACE: Duration = Duration::from_millis(20);

impl Engine {
    /// Wakes whatever has its time come, or room at last. Returns how many there were.
    pub async fn wake_due(&self) -> Result<usize, LedgerError> {
        let now = self.clock.now();
        let due: Vec<Timer> = self
            .look(Scope::Everything, move |world| world.due(now).take(WAKES_MAX).collect())
            .await?;
        for timer in &due {
            match self.submit(wake(*timer, now)).await {
                // Somebody answered in between: then there is nothing to wake.
                Ok(_) | Err(SubmitError::Refused(_)) => (),
                Err(SubmitError::Failed(failure)) => return Err(failure),
            }
        }
        Ok(due.len())
    }

    /// When the next time comes, if anything waits for one.
    pub async fn next_wake(&self) -> Result<Option<Timestamp>, LedgerError> {
        self.look(Scope::Everything, baton_protocol::World::next_wake).await
    }

    /// Wakes what is due until the ledger stops.
    pub async fn run_timers(&self) {
        let mut changes = self.changes();
        // Whoever could not reach us while we were gone gets a word in before its time is up.
        tokio::time::sleep(START_GRACE).await;
        if let Err(failure) = self.stir_all().await {
            tracing::warn!(%failure, "could not look at work that waits");
        }
        loop {
            if let Err(failure) = self.wake_due().await {
                tracing::warn!(%failure, "could not wake what is due");
            }
            if let Err(failure) = self.stir_left().await {
                tracing::warn!(%failure, "could not look at work that may go on");
            }
            let Ok(next) = self.next_wake().await else { return };
            let pause = next.map_or(SLEEP_MAX, |at| {
                let micros = at.as_micros().saturating_sub(self.clock.now().as_micros());
                Duration::from_micros(u64::try_from(micros).unwrap_or(0))
            });
            // Whatever is recorded may bring the next time forward.
            let changed =
                tokio::time::timeout(pause.clamp(SLEEP_MIN, SLEEP_MAX), changes.changed());
            match changed.await {
                Ok(Err(_)) => return,
                // Under load every sync is news; a look at each would slow down what it looks at.
                Ok(Ok(())) => tokio::time::sleep(PACE).await,
                Err(_) => (),
            }
        }
    }
}

/// The same waking at the same time is one command, however many nodes ask.
fn wake(timer: Timer, now: Timestamp) -> Submission {
    let (key, command) = match timer {
        Timer::Handoff(handoff) => {
            (format!("wake {handoff} {now}"), Command::Wake(Wake { handoff }))
        }
        Timer::Hold(workflow, fence) => {
            let command = Command::WakeHold(WakeHold { workflow, fence });
            (format!("wake {workflow} {fence} {now}"), command)
        }
    };
    Submission { id: CommandId::from_key("coordinator", &key), actor: Actor::Coordinator, command }
}
