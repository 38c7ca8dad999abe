//! Agents that Baton runs or calls by itself, and what they need around them.
//!
//! What is to be done is in the outbox: an effect is lent, carried out here beside the others, and
//! settled when it is over. A restart lends it again.

mod call;
mod check;
mod child;
mod command;
mod guard;
mod listen;
mod orphan;
mod outcome;
mod output;
mod sign;
mod step;
mod summarise;
pub(crate) mod web;

pub use guard::{Allow, AllowError};
pub use output::LogPage;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use baton_protocol::command::Actor;
use baton_protocol::effect::{Effect, EffectId};
use baton_protocol::id::{AgentId, CommandId, HandoffId};
use baton_protocol::limits::{CHECKS_AT_ONCE, SUMMARISERS_AT_ONCE};
use baton_store::{Hash, LedgerError, Loan};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::task::JoinHandle;

use crate::credentials::Credential;
use crate::engine::Engine;
use crate::query::QueryError;
use crate::token;

pub(crate) use outcome::words;

/// Where agents are run and which addresses may be called.
#[derive(Clone, Debug)]
pub struct Outside {
    /// The folder that holds `.baton`; commands run in it.
    pub workspace: PathBuf,
    /// What may be called beside the public network.
    pub allow: Allow,
}

impl Outside {
    fn data(&self) -> PathBuf {
        self.workspace.join(".baton")
    }
}

/// Everything that is under way.
#[derive(Default)]
pub(crate) struct Runs {
    outside: Option<Outside>,
    data: Option<PathBuf>,
    alive: Mutex<HashMap<EffectId, JoinHandle<()>>>,
    /// The tokens of runs by their digests.
    tokens: Mutex<HashMap<Hash, Credential>>,
    /// Which calls are under way, by whom is called.
    calls: Mutex<HashMap<AgentId, HashMap<HandoffId, EffectId>>>,
    /// Whose turn it is to work on a handoff.
    turns: Mutex<HashMap<HandoffId, Weak<tokio::sync::Mutex<()>>>>,
    grown: watch::Sender<u64>,
    stopping: watch::Sender<bool>,
    summarisers: AtOnce<SUMMARISERS_AT_ONCE>,
    checks: AtOnce<CHECKS_AT_ONCE>,
}

/// Lets so many go on at once; the others wait their turn.
struct AtOnce<const MOST: usize>(Semaphore);

impl<const MOST: usize> Default for AtOnce<MOST> {
    fn default() -> Self {
        Self(Semaphore::new(MOST))
    }
}

impl<const MOST: usize> AtOnce<MOST> {
    /// Waits for a turn, which ends when what is returned is let go.
    async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed, so there is always one in the end.
        self.0.acquire().await.ok()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is in it is whole after every step, also after a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Runs {
    fn data(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// What whoever works on a handoff holds meanwhile.
    fn turn(&self, handoff: HandoffId) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = locked(&self.turns);
        turns.retain(|_, turn| turn.strong_count() > 0);
        let known = turns.get(&handoff).and_then(Weak::upgrade);
        let turn = known.unwrap_or_default();
        turns.insert(handoff, Arc::downgrade(&turn));
        turn
    }

    /// Returns once the coordinator is to end.
    async fn stopped(&self) {
        // An error means that nobody is left who could say so.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// Who acts by this token, if it is one of a run that is under way.
    pub(crate) fn token_of(&self, digest: &Hash) -> Option<Credential> {
        locked(&self.tokens).get(digest).cloned()
    }

    /// A token that is good for as long as it is kept.
    fn lend_token(self: &Arc<Self>, agent: &AgentId) -> Result<RunToken, String> {
        let secret = token::secret(agent).map_err(|error| error.to_string())?;
        let digest = token::digest(&secret);
        let token = CommandId::from_key("run", &digest.to_string()).token();
        let credential = Credential { actor: Actor::Agent(agent.clone()), token, expires_at: None };
        locked(&self.tokens).insert(digest, credential);
        Ok(RunToken { runs: self.clone(), secret })
    }

    /// Whether the call `effect` about a handoff may go out now to an agent that has so much room;
    /// nothing if another call about it is under way.
    fn may_call(
        &self,
        agent: &AgentId,
        handoff: HandoffId,
        effect: EffectId,
        room: usize,
    ) -> Option<bool> {
        let mut calls = locked(&self.calls);
        let under_way = calls.entry(agent.clone()).or_default();
        match under_way.get(&handoff) {
            Some(known) if *known == effect => return Some(true),
            Some(_) => return None,
            None => (),
        }
        let free = under_way.len() < room;
        if free {
            under_way.insert(handoff, effect);
        }
        Some(free)
    }

    fn call_is_over(&self, effect: EffectId) {
        let mut calls = locked(&self.calls);
        calls.values_mut().for_each(|under_way| under_way.retain(|_, known| *known != effect));
        calls.retain(|_, under_way| !under_way.is_empty());
    }
}

/// The token of a run, which ends with it.
struct RunToken {
    runs: Arc<Runs>,
    secret: String,
}

impl RunToken {
    fn secret(&self) -> &str {
        &self.secret
    }
}

impl Drop for RunToken {
    fn drop(&mut self) {
        locked(&self.runs.tokens).remove(&token::digest(&self.secret));
    }
}

impl Engine {
    /// The same engine, able to run and call agents.
    pub fn with_outside(mut self, outside: Outside) -> io::Result<Self> {
        let data = outside.data();
        let mut private = std::fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
        for folder in [data.join("logs"), data.join("run").join("runs")] {
            private.recursive(true).create(&folder)?;
        }
        output::sweep(&data);
        self.runs = Arc::new(Runs { outside: Some(outside), data: Some(data), ..Runs::default() });
        Ok(self)
    }

    /// The secret that signs what is sent to `agent`.
    pub async fn webhook_secret(&self, agent: AgentId) -> Result<String, QueryError> {
        let known = self.agent(Actor::Operator, agent).await?;
        let made = match self.runs.data() {
            Some(data) => sign::secret(data, &known.profile.id),
            None => Err(io::Error::other("there is no workspace")),
        };
        made.map_err(|error| {
            let what = "cannot read the key that signs calls".to_owned();
            QueryError::Failed(LedgerError::Failed { what, source: Box::new(error) })
        })
    }

    /// The folder of the workspace, where commands run.
    pub(crate) fn workspace(&self) -> Option<&Path> {
        self.runs.outside.as_ref().map(|outside| outside.workspace.as_path())
    }

    /// Which addresses may be called beside the public network.
    pub(crate) fn allow(&self) -> Allow {
        self.runs.outside.as_ref().map(|outside| outside.allow.clone()).unwrap_or_default()
    }

    /// Begins to carry out a run or a call, beside everything else. One that is under way goes on.
    pub(crate) fn begin(&self, loan: Loan) {
        let mut alive = locked(&self.runs.alive);
        if *self.runs.stopping.borrow() || alive.contains_key(&loan.id) {
            return;
        }
        let (id, engine) = (loan.id, self.clone());
        let task = tokio::spawn(async move {
            match engine.carry(&loan).await {
                Ok(Some(note)) => {
                    if let Err(error) = engine.submit(crate::outbox::settle(&loan, &note)).await {
                        tracing::warn!(%error, "could not settle a run");
                    }
                }
                Ok(None) => (),
                Err(error) => tracing::warn!(%error, "a run broke off; it is begun again"),
            }
            engine.runs.call_is_over(id);
            locked(&engine.runs.alive).remove(&id);
        });
        alive.insert(id, task);
    }

    async fn carry(&self, loan: &Loan) -> Result<Option<String>, LedgerError> {
        let Some(outside) = self.runs.outside.clone() else {
            return Ok(Some("there is no workspace to run it in".to_owned()));
        };
        // An effect that was there at the start may have been under way before it.
        let from_before = loan.id.seq <= self.ledger.condition().opened;
        match loan.effect.clone() {
            Effect::Run { agent, argv, workflow, handoff, fence } => {
                let held = outcome::Held { agent, workflow, handoff, fence };
                command::run(self, &outside, &argv, &held, from_before).await
            }
            Effect::Check { workflow, handoff, fence } => {
                let what = check::Returned { workflow, handoff, fence };
                check::run(self, &outside, loan, what, from_before).await
            }
            Effect::Call { agent, url, workflow, handoff } => {
                let call = call::Call { effect: loan.id, agent, url, workflow, handoff };
                call::call(self, &outside, &call).await
            }
            Effect::Notify { .. } | Effect::Accept { .. } | Effect::Announce { .. } => Ok(None),
        }
    }

    /// Waits for the next record. Returns false when the coordinator or the ledger ends instead.
    async fn changed(&self, changes: &mut watch::Receiver<u64>) -> bool {
        tokio::select! {
            changed = changes.changed() => changed.is_ok(),
            () = self.runs.stopped() => false,
        }
    }

    /// Ends everything that is under way. The next coordinator goes on with it.
    pub async fn end_runs(&self) {
        self.runs.stopping.send_replace(true);
        let tasks: Vec<_> = locked(&self.runs.alive).drain().collect();
        for (_, task) in tasks {
            // A panic in it has said so itself.
            let _ = task.await;
        }
    }
}

/// Writes a file that nobody else can read.
async fn private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    let opened = options.create(true).write(true).truncate(true).mode(0o600).open(path).await;
    let mut file = opened?;
    file.write_all(bytes).await?;
    file.flush().await
}
