//! Carrying out effects: lent from the ledger, done, settled. At least once, never lost.

use std::time::Duration;

use baton_protocol::command::{Accept, Actor, Command, Settle, Submission};
use baton_protocol::effect::Effect;
use baton_protocol::id::CommandId;
use baton_protocol::time::Allowance;
use baton_store::{LedgerError, Loan};

use crate::engine::{Engine, SubmitError};
use crate::process;
use crate::run::words;

/// Effects that are carried out at once.
const LOANS_MAX: usize = 16;
/// How long a loan lasts before another may try.
const LOAN_LASTS: Allowance = Allowance::from_secs(60);
/// How long a `notify` command may take.
const NOTIFY_TIME_MAX: Duration = Duration::from_secs(10);
/// How often the outbox is looked at even if nothing was recorded, for loans that ran out.
const SLEEP_MAX: Duration = Duration::from_secs(15);

/// The least time between two looks that news bring.
const PACE: Duration = Duration::from_millis(5);

/// Effects that are being carried out.
type Running = tokio::task::JoinSet<Result<(), LedgerError>>;

impl Engine {
    /// Carries out what waits in the outbox. Returns how many effects there were.
    pub async fn run_effects(&self) -> Result<usize, LedgerError> {
        let mut running = Running::new();
        let count = self.begin_effects(&mut running, LOANS_MAX).await?;
        while let Some(done) = running.join_next().await {
            // A panic in one leaves its effect unsettled, and it is lent again.
            done.unwrap_or(Ok(()))?;
        }
        Ok(count)
    }

    /// Begins to carry out up to `limit` effects. Returns how many there were.
    ///
    /// Each is settled by itself: one command that hangs must not hold up the others' news.
    async fn begin_effects(
        &self,
        running: &mut Running,
        limit: usize,
    ) -> Result<usize, LedgerError> {
        let now = self.clock.now();
        let loans = self.ledger.lend(now, LOAN_LASTS.after(now), limit).await?;
        let count = loans.len();
        for loan in loans {
            if matches!(
                loan.effect,
                Effect::Run { .. } | Effect::Call { .. } | Effect::Check { .. }
            ) {
                // These may take hours and are settled by whoever carries them out. A loan that
                // runs out meanwhile is lent again, and what is under way goes on.
                self.begin(loan);
                continue;
            }
            let engine = self.clone();
            running.spawn(async move {
                let Some(note) = engine.carry_out(&loan).await else { return Ok(()) };
                match engine.submit(settle(&loan, &note)).await {
                    Ok(_) | Err(SubmitError::Refused(_)) => Ok(()),
                    Err(SubmitError::Failed(failure)) => Err(failure),
                }
            });
        }
        Ok(count)
    }

    /// Carries out effects until the ledger stops.
    pub async fn run_outbox(&self) {
        let mut changes = self.changes();
        let mut running = Running::new();
        loop {
            let room = LOANS_MAX.saturating_sub(running.len());
            let begun = match room {
                0 => Ok(0),
                room => self.begin_effects(&mut running, room).await,
            };
            match begun {
                Ok(0) => (),
                Ok(_) => continue,
                Err(failure) => tracing::warn!(%failure, "could not carry out effects"),
            }
            tokio::select! {
                changed = changes.changed() => match changed {
                    Err(_) => return,
                    // Under load every sync is news; a look at each would slow down what it looks
                    // at.
                    Ok(()) => tokio::time::sleep(PACE).await,
                },
                Some(done) = running.join_next() => if let Ok(Err(failure)) = done {
                    tracing::warn!(%failure, "could not settle an effect");
                },
                () = tokio::time::sleep(SLEEP_MAX) => (),
            }
        }
    }
}

impl Engine {
    /// Does what the effect says, and returns what to note of it; nothing if it must be done again.
    /// A notice that fails is not sent again: the inbox has it anyway.
    async fn carry_out(&self, loan: &Loan) -> Option<String> {
        match &loan.effect {
            Effect::Notify { agent, argv, workflow, handoff, news } => {
                let facts = [
                    ("BATON_WORKFLOW", workflow.to_string()),
                    ("BATON_HANDOFF", handoff.to_string()),
                    ("BATON_NEWS", news.to_string()),
                ];
                Some(
                    match process::run(
                        argv,
                        None,
                        agent,
                        &facts,
                        (self.workspace(), NOTIFY_TIME_MAX),
                    )
                    .await
                    {
                        Ok(status) => format!("told {agent}: {status}"),
                        Err(why) => format!("could not tell {agent}: {why}"),
                    },
                )
            }
            Effect::Accept { agent, handoff, .. } => {
                let id = CommandId::from_key("coordinator", &format!("accept {}", loan.id));
                let accept = Accept::of(*handoff);
                let (actor, command) = (Actor::Agent(agent.clone()), Command::Accept(accept));
                match self.submit(Submission { id, actor, command }).await {
                    Ok(_) => Some(format!("accepted for {agent}")),
                    // Without room it waits, and is accepted when it is sent again.
                    Err(SubmitError::Refused(refusal)) => Some(refusal.to_string()),
                    Err(SubmitError::Failed(failure)) => {
                        tracing::warn!(%failure, "could not accept for an agent");
                        None
                    }
                }
            }
            Effect::Announce { by, workflow, handoff, words } => {
                Some(self.announce(by, (*workflow, *handoff), words).await)
            }
            Effect::Run { .. } | Effect::Call { .. } | Effect::Check { .. } => None,
        }
    }
}

/// The command by which an effect counts as carried out.
pub(crate) fn settle(loan: &Loan, note: &str) -> Submission {
    let id = CommandId::from_key("coordinator", &format!("settle {}", loan.id));
    let note = words(note).unwrap_or_else(|| "done".parse().expect("a fixed text"));
    let command = Command::Settle(Settle { effect: loan.id, note });
    Submission { id, actor: Actor::Coordinator, command }
}
