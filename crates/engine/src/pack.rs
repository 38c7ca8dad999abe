//! What travels of a conversation: packed before it is decided, so that what is recorded, approved
//! and received is the same.

use baton_context::Tokenizer;
use baton_context::history::{self, About, Plan};
use baton_context::message::NotAMessage;
use baton_protocol::command::{Command, History, Messages, Pass, Submission};
use baton_protocol::count_masks_in;
use baton_protocol::handoff::{Include, TransferMode};
use baton_protocol::limits::SUMMARISER_WITHIN;
use baton_protocol::reach::Argv;
use baton_protocol::refusal::Refusal;
use baton_protocol::text::{Body, BodyJson};
use baton_protocol::time::Allowance;
use baton_store::{LedgerError, Scope};
use serde_json::Value;

use crate::engine::{Engine, SubmitError};

/// How conversations are packed in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packing {
    /// What tokens are counted with.
    pub tokenizer: Tokenizer,
    /// A program that makes a summary: the conversation in, a text out.
    pub summariser: Option<Argv>,
    /// How long it has.
    pub within: Allowance,
}

impl Default for Packing {
    fn default() -> Self {
        let (tokenizer, summariser) = Default::default();
        Self { tokenizer, summariser, within: SUMMARISER_WITHIN }
    }
}

/// Whether a command brings a conversation that is not packed yet.
pub(crate) fn brings_one(command: &Command) -> bool {
    let Command::Pass(pass) = command else { return false };
    let history = pass.context.conversation_history.as_ref();
    history.is_some_and(|history| matches!(history.messages, Messages::Given(_)))
}

impl Engine {
    /// The same engine, packing conversations so.
    #[must_use]
    pub fn with_packing(mut self, packing: Packing) -> Self {
        self.packing = packing.into();
        self
    }

    /// Packs the conversation of a pass that [`brings_one`].
    pub(crate) async fn pack(&self, mut submission: Submission) -> Result<Submission, SubmitError> {
        let Command::Pass(pass) = &submission.command else { return Ok(submission) };
        let Some(History { messages: Messages::Given(given), transfer, .. }) =
            &pass.context.conversation_history
        else {
            return Ok(submission);
        };
        let about = Words::of(pass);
        let plan = Plan::new(transfer, pass.kind.transfer_mode(), self.packing.tokenizer);
        let messages = given.as_value().as_array().cloned().unwrap_or_default();
        let masked = count_masks_in(given.as_value()).values().sum();
        let (summary, note) = match plan.mode {
            TransferMode::Summary => self.summarised(&submission, &messages, plan.include).await?,
            TransferMode::Full | TransferMode::RelevantOnly => (None, None),
        };
        // The first time, the vocabulary is unpacked; a long conversation takes its time as well.
        let packed = tokio::task::spawn_blocking(move || {
            history::pack(messages, &plan, &about.borrowed(), summary)
        });
        let mut packed = packed.await.map_err(broken)?.map_err(refused)?;
        packed.transferred.notes.extend(note);
        packed.transferred.masked = masked;
        let json = BodyJson::try_from(Value::Array(packed.messages)).map_err(|error| {
            let why = format!("what would travel of the conversation is {error}");
            Refusal::BadHistory { why: why + "; set max_tokens, or transfer_mode relevant_only" }
        })?;
        let history = History::packed(Body::Inline(json), Some(packed.transferred));
        if let Command::Pass(pass) = &mut submission.command {
            pass.context.conversation_history = Some(history);
        }
        Ok(submission)
    }

    /// What the configured summariser makes of a conversation, or what to note of why it did not.
    ///
    /// It is asked only about a pass that would be taken as things are: it may cost money.
    async fn summarised(
        &self,
        submission: &Submission,
        messages: &[Value],
        include: Include,
    ) -> Result<(Option<String>, Option<String>), SubmitError> {
        let Some(argv) = &self.packing.summariser else { return Ok((None, None)) };
        let told = history::told(messages, include).map_err(refused)?;
        if !self.would_be_taken(submission).await? {
            return Ok((None, None));
        }
        Ok(match self.summary(argv, self.packing.within, told).await {
            Ok(summary) => (Some(summary), None),
            Err(why) => (None, Some(format!("the summariser {why}; this is an extract"))),
        })
    }

    /// Whether the rules would say yes if they were asked now.
    async fn would_be_taken(&self, submission: &Submission) -> Result<bool, LedgerError> {
        let (judge, now, submission) = (self.judge.clone(), self.clock.now(), submission.clone());
        self.look(Scope::Everything, move |world| {
            judge.decide(world, &submission, None, now).is_ok()
        })
        .await
    }
}

/// What a handoff is about, kept for another thread.
struct Words {
    task: String,
    reason: String,
    files: Vec<String>,
}

impl Words {
    fn of(pass: &Pass) -> Self {
        let context = &pass.context;
        Self {
            task: context.task_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            reason: pass.reason.to_string(),
            files: context.artifacts.iter().map(|made| made.path.to_string()).collect(),
        }
    }

    fn borrowed(&self) -> About<'_> {
        About { task: &self.task, reason: &self.reason, files: &self.files }
    }
}

fn refused(error: NotAMessage) -> SubmitError {
    Refusal::BadHistory { why: format!("conversation_history: {error}") }.into()
}

fn broken(error: tokio::task::JoinError) -> SubmitError {
    let what = "packing a conversation broke off".to_owned();
    SubmitError::Failed(LedgerError::Failed { what, source: Box::new(error) })
}
