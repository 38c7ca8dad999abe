//! Packs a conversation for a handoff: all of it, what has to do with the task, or a summary.

mod choose;
mod question;
mod summary;
#[cfg(test)]
mod tests;

use baton_protocol::handoff::{Include, Transfer, TransferMode, Transferred};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Tokenizer;
use crate::message::{Message, NotAMessage, Part, PartKind, Role};
use crate::pairing::{self, Repairs};
use crate::rank::Query;
use choose::Limits;

/// How many tokens the relevant messages are at most, unless the sender says otherwise.
pub const RELEVANT_TOKENS: u32 = 8_000;
/// How many tokens a summary is at most, unless the sender says otherwise.
pub const SUMMARY_TOKENS: u32 = 1_000;
/// What stands for a result that does not travel though its call does.
const LEFT_OUT: &str = "(left out)";

/// How a conversation is to be packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// What becomes of it.
    pub mode: TransferMode,
    /// How many messages travel at most.
    pub max_messages: Option<u32>,
    /// How many tokens they are at most. All of a conversation has no limit of its own; the other
    /// modes have [`RELEVANT_TOKENS`] and [`SUMMARY_TOKENS`].
    pub max_tokens: Option<u32>,
    /// Which parts travel.
    pub include: Include,
    /// What tokens are counted with.
    pub tokenizer: Tokenizer,
}

impl Plan {
    /// What the sender wants, and what is usual for the type of the handoff where it does not say.
    pub fn new(transfer: &Transfer, usual: TransferMode, tokenizer: Tokenizer) -> Self {
        Self {
            mode: transfer.transfer_mode.unwrap_or(usual),
            max_messages: transfer.max_messages,
            max_tokens: transfer.max_tokens,
            include: transfer.include,
            tokenizer,
        }
    }

    fn limits(&self) -> Limits {
        let usual = match self.mode {
            TransferMode::Full => None,
            TransferMode::RelevantOnly => Some(RELEVANT_TOKENS),
            TransferMode::Summary => Some(SUMMARY_TOKENS),
        };
        let most = |limit: Option<u32>| limit.map_or(usize::MAX, |limit| limit as usize);
        Limits { messages: most(self.max_messages), tokens: most(self.max_tokens.or(usual)) }
    }
}

/// What the handoff is about: messages are ranked by what they have to do with it.
#[derive(Debug, Clone, Copy, Default)]
pub struct About<'a> {
    /// What is to be done.
    pub task: &'a str,
    /// Why it is passed on.
    pub reason: &'a str,
    /// Names of the files that it touches.
    pub files: &'a [String],
}

impl About<'_> {
    fn query(&self) -> Query {
        let texts = [self.task, self.reason];
        Query::new(texts.into_iter().chain(self.files.iter().map(String::as_str)))
    }
}

/// A conversation that is ready to travel.
#[derive(Debug, Clone, PartialEq)]
pub struct Packed {
    /// The messages that travel, each in the shape it came in.
    pub messages: Vec<Value>,
    /// What was made of it.
    pub transferred: Transferred,
}

/// Packs a conversation.
///
/// `summary` is the answer of a summariser, if there was one; only [`TransferMode::Summary`] uses
/// it. Calls and results stay paired whatever is left out, and both limits hold for what comes out.
///
/// # Errors
///
/// When something in the list is no message.
pub fn pack(
    messages: Vec<Value>,
    plan: &Plan,
    about: &About<'_>,
    summary: Option<String>,
) -> Result<Packed, NotAMessage> {
    let source = digest(&messages);
    let mut list = Vec::with_capacity(messages.len());
    for (index, value) in messages.into_iter().enumerate() {
        let mut message = Message::read(index, value)?;
        message.count(plan.tokenizer);
        list.push(message);
    }
    let mut transferred = Transferred {
        mode: plan.mode,
        messages_before: number(list.len()),
        messages: 0,
        tokens_before: tokens(&list),
        tokens: 0,
        masked: 0,
        source,
        repairs: Vec::new(),
        notes: Vec::new(),
    };
    let mut repairs = Repairs::default();
    let included = list.into_iter().filter_map(|message| including(message, plan.include));
    let list = pairing::mend(included.collect(), plan.tokenizer, &mut repairs);
    let limits = plan.limits();
    let notes = &mut transferred.notes;
    let list = match plan.mode {
        TransferMode::Full => choose::newest(stubbed(list, plan), limits, plan.tokenizer, notes),
        TransferMode::RelevantOnly => {
            let list = stubbed(list, plan);
            choose::relevant(list, limits, &about.query(), plan.tokenizer, notes)
        }
        TransferMode::Summary => summary::make(list, limits, about, summary, plan, notes),
    };
    transferred.repairs = repairs.told();
    transferred.messages = number(list.len());
    transferred.tokens = tokens(&list);
    Ok(Packed { messages: list.into_iter().map(Message::into_value).collect(), transferred })
}

/// A conversation as plain text, for a program that summarises: who said what, of what may travel.
///
/// # Errors
///
/// When something in the list is no message.
pub fn told(messages: &[Value], include: Include) -> Result<String, NotAMessage> {
    let mut text = String::new();
    for (index, value) in messages.iter().enumerate() {
        let read = Message::read(index, value.clone())?;
        let Some(message) = including(read, include) else { continue };
        let heard =
            |part: &&Part| !part.text.is_empty() && (include.tool_results || !part.is_result());
        for part in message.parts.iter().filter(heard) {
            text.push_str(&format!("{}: {}\n\n", message.role, part.text));
        }
    }
    Ok(text)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn tokens(list: &[Message]) -> u64 {
    list.iter().map(|message| message.tokens() as u64).sum()
}

/// SHA-256 of the canonical JSON (RFC 8785), as hexadecimal digits.
fn digest(messages: &[Value]) -> String {
    // Lists of JSON values always serialise; the fallback would only weaken an audit hash.
    let bytes = serde_json_canonicalizer::to_vec(&messages).unwrap_or_default();
    Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What of a message may travel. A result never travels without its call.
fn including(message: Message, include: Include) -> Option<Message> {
    if message.role == Role::System && !include.system_messages {
        return None;
    }
    message.keeping(|_, part| match part.kind {
        PartKind::Reasoning => include.agent_reasoning,
        PartKind::Call { .. } | PartKind::Result { .. } => include.tool_calls,
        PartKind::Hosted => include.tool_calls && include.tool_results,
        PartKind::Text | PartKind::Attachment { .. } | PartKind::Unknown => true,
    })
}

/// Leaves results empty that are not to travel: their calls would not be accepted without any.
fn stubbed(mut list: Vec<Message>, plan: &Plan) -> Vec<Message> {
    if plan.include.tool_results {
        return list;
    }
    for message in &mut list {
        for part in 0..message.parts.len() {
            if message.parts[part].is_result() {
                message.reword(part, LEFT_OUT, plan.tokenizer);
            }
        }
    }
    list
}
