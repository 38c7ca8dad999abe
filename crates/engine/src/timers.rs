//! What time brings. The times themselves are part of the ledger's state, so a restart forgets
//! none; here is only who looks at them.

use std::time::Duration;

use baton_protocol::command::{Actor, Command, Submission, Wake};
use baton_protocol::id::{CommandId, HandoffId};
use baton_protocol::time::Timestamp;
use baton_store::{LedgerError, Scope};

use crate::engine::{Engine, SubmitError};

/// Handoffs that one look wakes.
const WAKES_MAX: usize = 256;
/// How long the engine sleeps at most, so that a clock that jumps is noticed.
const SLEEP_MAX: Duration = Duration::from_secs(5);
/// How long it sleeps at least, so that a handoff that cannot be woken does not spin.
const SLEEP_MIN: Duration = Duration::from_millis(5);

impl Engine {
    /// Wakes every handoff whose time has come. Returns how many there were.
    pub async fn wake_due(&self) -> Result<usize, LedgerError> {
        let now = self.clock.now();
        let due: Vec<HandoffId> = self
            .look(Scope::Everything, move |world| world.due(now).take(WAKES_MAX).collect())
            .await?;
        for handoff in &due {
            match self.submit(wake(*handoff, now)).await {
                // Somebody answered in between: then there is nothing to wake.
                Ok(_) | Err(SubmitError::Refused(_)) => (),
                Err(SubmitError::Failed(failure)) => return Err(failure),
            }
        }
        Ok(due.len())
    }

    /// When the next handoff's time comes, if any waits.
    pub async fn next_wake(&self) -> Result<Option<Timestamp>, LedgerError> {
        self.look(Scope::Everything, baton_protocol::World::next_wake).await
    }

    /// Wakes handoffs until the ledger stops.
    pub async fn run_timers(&self) {
        let mut changes = self.changes();
        loop {
            if let Err(failure) = self.wake_due().await {
                tracing::warn!(%failure, "could not wake what is due");
            }
            let Ok(next) = self.next_wake().await else { return };
            let pause = next.map_or(SLEEP_MAX, |at| {
                let micros = at.as_micros().saturating_sub(self.clock.now().as_micros());
                Duration::from_micros(u64::try_from(micros).unwrap_or(0))
            });
            // Whatever is recorded may bring the next time forward.
            let changed =
                tokio::time::timeout(pause.clamp(SLEEP_MIN, SLEEP_MAX), changes.changed());
            if let Ok(Err(_)) = changed.await {
                return;
            }
        }
    }
}

/// The same waking at the same time is one command, however many nodes ask.
fn wake(handoff: HandoffId, now: Timestamp) -> Submission {
    let id = CommandId::from_key("coordinator", &format!("wake {handoff} {now}"));
    Submission { id, actor: Actor::Coordinator, command: Command::Wake(Wake { handoff }) }
}
