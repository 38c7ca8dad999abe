//! Submitting: the one way in.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use baton_protocol::command::{Actor, Command, History, Messages, Submission, Wake};
use baton_protocol::event::{Event, StreamId};
use baton_protocol::id::{AgentId, CommandId, Fence, HandoffId};
use baton_protocol::limits::BODY_INLINE_BYTES_MAX;
use baton_protocol::refusal::Refusal;
use baton_protocol::retention::Retention;
use baton_protocol::text::{BlobRef, Body};
use baton_protocol::time::Timestamp;
use baton_store::{
    Asking, Embedded, Ledger, LedgerError, Observer, Recorded, Request, Synced, TransactError,
};
use serde_json::Value;
use tokio::sync::watch;

use crate::clock::{Clock, SystemClock};
use crate::credentials::Credentials;
use crate::heartbeat::Seen;
use crate::judge::{Judge, check_policy};
use crate::machine::{Stirring, check_definition, may_stir};
use crate::meter::Meter;
use crate::names::Names;
use crate::pack::{Packing, brings_one};
use crate::query::QueryError;
use crate::run::Runs;
use crate::view::Answer;

/// How long after the end of the ledger it may be noticed by those who only wait for that.
const STOPPED_LOOK: Duration = Duration::from_millis(100);

/// Decides, records, and answers questions about what was recorded. A clone is the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) started_at: Timestamp,
    pub(crate) retention: Retention,
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) runs: Arc<Runs>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) judge: Arc<Judge>,
    pub(crate) packing: Arc<Packing>,
    pub(crate) stirring: Arc<Stirring>,
    pub(crate) names: Arc<Names>,
}

/// Why a command came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// The rules say no; nothing was recorded.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The ledger could not; the same command may be asked again.
    #[error(transparent)]
    Failed(#[from] LedgerError),
}

impl From<TransactError> for SubmitError {
    fn from(error: TransactError) -> Self {
        match error {
            TransactError::Refused(refusal) => Self::Refused(refusal),
            TransactError::Failed(failure) => Self::Failed(failure),
        }
    }
}

impl Engine {
    /// The engine of the workspace whose data lie in `folder`, on the machine's clock.
    pub fn open(folder: &Path) -> Result<Self, LedgerError> {
        Self::open_observed(folder, drop)
    }

    /// The same on another clock, for stories that take months.
    pub fn open_at(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, LedgerError> {
        Ok(Self::on(Arc::new(Embedded::open(folder)?), clock))
    }

    /// The same, although records are missing that a checkpoint was signed over.
    pub fn open_accepting_loss(folder: &Path) -> Result<Self, LedgerError> {
        let meter = Arc::new(Meter::default());
        let ledger = Embedded::open_accepting_loss(folder, Some(hearing(&meter, drop)))?;
        Ok(Self { meter, ..Self::on(Arc::new(ledger), Arc::new(SystemClock)) })
    }

    /// The same, with an observer that hears what each sync made durable.
    pub fn open_observed(
        folder: &Path,
        observer: impl FnMut(Synced) + Send + 'static,
    ) -> Result<Self, LedgerError> {
        let meter = Arc::new(Meter::default());
        let ledger = Embedded::open_observed(folder, Some(hearing(&meter, observer)))?;
        Ok(Self { meter, ..Self::on(Arc::new(ledger), Arc::new(SystemClock)) })
    }

    /// An engine on any ledger and any clock.
    pub fn on(ledger: Arc<dyn Ledger>, clock: Arc<dyn Clock>) -> Self {
        let started_at = clock.now();
        let (retention, credentials, runs, seen, meter, judge, packing, stirring, names) =
            Default::default();
        Self {
            ledger,
            clock,
            started_at,
            retention,
            credentials,
            runs,
            seen,
            meter,
            judge,
            packing,
            stirring,
            names,
        }
    }

    /// Takes a command from any entry, decides it, and records what was decided.
    ///
    /// When this returns `Ok`, the decision is durable. Its effects have not run yet: the outbox
    /// runs them from the ledger, so a crash here loses nothing.
    pub async fn submit(&self, submission: Submission) -> Result<Answer, SubmitError> {
        self.submit_as(submission, Asking::MayRepeat).await
    }

    /// Takes a command that its asker gave no name to. It gets one that nobody had before, so
    /// nobody needs to look whether it was asked already.
    pub async fn submit_new(&self, actor: Actor, command: Command) -> Result<Answer, SubmitError> {
        let submission = Submission { id: self.names.draw()?, actor, command };
        self.submit_as(submission, Asking::First).await
    }

    async fn submit_as(
        &self,
        mut submission: Submission,
        asking: Asking,
    ) -> Result<Answer, SubmitError> {
        // Also when it repeats what somebody else asked: no answer is for one who only looks.
        if submission.actor == Actor::Viewer {
            return Err(Refusal::ViewOnly.into());
        }
        let (asked, mut masks) = submission.command.asked();
        let accepting = match &submission.command {
            Command::Accept(accept) => Some((submission.id, accept.handoff)),
            _ => None,
        };
        if brings_one(&submission.command) {
            submission = Box::pin(self.pack(submission)).await?;
            // Before large bodies go beside the ledger, where they would not be seen.
            masks = submission.command.asked().1;
        }
        let large = self.stow(&mut submission).await?;
        self.look_up(&mut submission).await?;
        // The clock is read here, once, and handed in: a decision that is run again after a
        // conflict must not find itself at another time than the first.
        let (actor, target) = (submission.actor.clone(), submission.target());
        let depth = match &submission.command {
            Command::Stir(stir) => stir.depth + 1,
            _ => 0,
        };
        let (judge, pending) = (self.judge.clone(), self.stirring.clone());
        let may = Arc::new(AtomicBool::new(false));
        let stirs = may.clone();
        let request = Request {
            target: target.clone(),
            command: submission.id,
            asking,
            asked,
            by: by(&submission.actor),
            now: self.clock.now(),
            decide: Box::new(move |world, now| {
                let decision = judge.decide(world, &submission, large.as_ref(), now)?;
                // It may be decided again after a conflict; the last word counts.
                let stirring = may_stir(world, &decision);
                stirs.store(stirring, Ordering::Relaxed);
                if let (true, StreamId::Workflow(id)) = (stirring, &decision.stream) {
                    pending.note(*id);
                }
                Ok(decision)
            }),
        };
        let recorded = match self.ledger.transact(request).await {
            Err(TransactError::Refused(refusal)) => {
                self.meter.refused(&refusal);
                let refusal = Box::pin(self.veiled(actor, &target, refusal)).await?;
                return Box::pin(self.refused(refusal, accepting)).await;
            }
            other => other?,
        };
        self.credentials.note(&recorded.events);
        self.meter.used(&actor.agent(), &recorded.events);
        self.meter.masked(masks);
        if recorded.asked != asked {
            return Err(Refusal::KeyReused.into());
        }
        if let (true, StreamId::Workflow(id)) = (may.load(Ordering::Relaxed), &recorded.stream) {
            Box::pin(self.stir(*id, recorded.seq.unwrap_or_default(), depth)).await?;
        }
        Ok(answer(recorded, &actor.agent()))
    }

    /// Adds what only history knows to a command that is about what is over, and reads the rules of
    /// a policy.
    async fn look_up(&self, submission: &mut Submission) -> Result<(), SubmitError> {
        if let (Command::SetPolicy(policy), Actor::Operator) =
            (&submission.command, &submission.actor)
        {
            check_policy(policy)?;
        }
        if let (Command::Define(definition), Actor::Operator) =
            (&submission.command, &submission.actor)
        {
            Box::pin(check_definition((**definition).clone())).await?;
        }
        if let (Command::Prune(prune), Actor::Operator) =
            (&mut submission.command, &submission.actor)
        {
            prune.retention = self.retention;
            prune.past = Box::pin(self.past_work()).await.map_err(|error| match error {
                QueryError::Refused(refusal) => SubmitError::Refused(refusal),
                QueryError::Failed(failure) => SubmitError::Failed(failure),
                QueryError::NotFound { .. }
                | QueryError::Ambiguous { .. }
                | QueryError::Unusable { .. } => {
                    let why = error.to_string();
                    SubmitError::Failed(LedgerError::Stopped { why })
                }
            })?;
        }
        Ok(())
    }

    /// Passes a refusal on. Work that its receiver wanted and has no room for does not just lie
    /// there: it waits for room or goes to another, as its terms say.
    async fn refused(
        &self,
        refusal: Refusal,
        accepting: Option<(CommandId, HandoffId)>,
    ) -> Result<Answer, SubmitError> {
        if let (Refusal::AtCapacity { .. }, Some((asked, handoff))) = (&refusal, accepting) {
            let id = CommandId::from_key("coordinator", &format!("full {handoff} {asked}"));
            let command = Command::Wake(Wake { handoff });
            let wake = Submission { id, actor: Actor::Coordinator, command };
            match Box::pin(self.submit(wake)).await {
                Ok(_) | Err(SubmitError::Refused(_)) => (),
                Err(SubmitError::Failed(failure)) => return Err(failure.into()),
            }
        }
        Err(refusal.into())
    }

    /// Keeps large bodies beside the ledger, so that the record can name them.
    /// Returns what was so large, for rules that look at it.
    async fn stow(&self, submission: &mut Submission) -> Result<Option<Value>, LedgerError> {
        let mut large = None;
        let body = match &mut submission.command {
            Command::Pass(pass) => match &mut pass.context.conversation_history {
                Some(History { messages: Messages::Packed(body), .. }) => Some(body),
                Some(History { messages: Messages::Given(_), .. }) | None => None,
            },
            Command::Return(give) => give.result.as_mut().map(|result| &mut result.body),
            Command::Complete(complete) => complete.result.as_mut(),
            Command::Goto(goto) => goto.result.as_mut(),
            _ => None,
        };
        if let Some(body) = body
            && let Body::Inline(json) = &*body
            && json.weight() > BODY_INLINE_BYTES_MAX
        {
            let bytes = json.as_value().to_string().into_bytes();
            let size = bytes.len() as u64;
            let hash = self.ledger.put_blob(bytes).await?;
            let blob = Body::Blob(BlobRef { sha256: hash.to_string(), bytes: size });
            if let Body::Inline(json) = std::mem::replace(body, blob) {
                large = Some(json.into());
            }
        }
        Ok(large)
    }

    /// Tells whenever something was recorded. It closes when the ledger stops, which is for good.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.ledger.committed()
    }

    /// Returns once nothing will be recorded any more, or a little later.
    pub async fn stopped(&self) {
        let mut changes = self.changes();
        // Under load every sync is news, and none of it is what is waited for here.
        while changes.changed().await.is_ok() {
            tokio::time::sleep(STOPPED_LOOK).await;
        }
    }
}

/// An observer that measures, and passes on what it hears.
fn hearing(meter: &Arc<Meter>, mut next: impl FnMut(Synced) + Send + 'static) -> Observer {
    let meter = meter.clone();
    Box::new(move |synced| {
        meter.synced(&synced);
        next(synced);
    })
}

/// Who asked, for the record.
fn by(actor: &Actor) -> String {
    match actor {
        Actor::Operator => "operator".to_owned(),
        Actor::Agent(agent) => agent.to_string(),
        Actor::OperatorAs(agent) => format!("operator as {agent}"),
        Actor::Viewer => "viewer".to_owned(),
        Actor::Coordinator => "coordinator".to_owned(),
    }
}

fn answer(recorded: Recorded, asker: &AgentId) -> Answer {
    let handoff = recorded.events.iter().find_map(Event::handoff);
    let workflow = match &recorded.stream {
        StreamId::Workflow(id) => Some(*id),
        StreamId::Agent(_) | StreamId::Workspace => None,
    };
    let fence = fence(&recorded.events, handoff, asker);
    Answer { seq: recorded.seq, workflow, handoff, fence, events: recorded.events }
}

/// The number that the asker shows from now on.
fn fence(events: &[Event], handoff: Option<HandoffId>, asker: &AgentId) -> Option<Fence> {
    events.iter().find_map(|event| match event {
        Event::Accepted { fence, by, .. } if by == asker => Some(*fence),
        Event::Reclaimed { fence, .. } => Some(*fence),
        Event::Moved(moved) => moved.fence,
        Event::Started { follows: None, .. } if handoff.is_none() => Some(Fence::default().next()),
        _ => None,
    })
}
