//! Keeps every call of a tool together with its one result.
//!
//! Providers refuse a conversation in which a call has no result, a result has no call, or the two
//! stand apart. Chats want the results directly behind the message that calls; content blocks want
//! them at the start of the message that follows the agent's turn; Responses want them anywhere
//! later. What is not so is mended here, and each mending is told in one sentence.

mod link;
mod place;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::Tokenizer;
use crate::message::{Message, PartKind, Place, Role};
use link::{At, Links};

/// How many repairs are told; the rest is counted.
pub const REPAIRS_MAX: usize = 20;
/// How much of a call's id is shown in a repair.
const SHOWN_MAX: usize = 64;

/// What was mended, by the message it was found in.
#[derive(Debug, Default)]
pub(crate) struct Repairs(Vec<(usize, String)>);

impl Repairs {
    fn add(&mut self, message: &Message, said: std::fmt::Arguments<'_>) {
        let index = message.index;
        self.0.push((index, format!("messages[{index}]: {said}")));
    }

    /// The sentences in the order of the messages. A long list ends with how many there were more.
    pub(crate) fn told(mut self) -> Vec<String> {
        self.0.sort_by_key(|(index, _)| *index);
        let more = self.0.len().saturating_sub(REPAIRS_MAX);
        let mut told: Vec<_> = self.0.into_iter().take(REPAIRS_MAX).map(|(_, said)| said).collect();
        if more > 0 {
            told.push(format!("and {more} more"));
        }
        told
    }
}

/// Mends a conversation so that every call has exactly one result, in the right place.
pub(crate) fn mend(
    mut messages: Vec<Message>,
    tokenizer: Tokenizer,
    repairs: &mut Repairs,
) -> Vec<Message> {
    let links = Links::of(&messages);
    for &(at, ref new) in &links.renamed {
        let message = &mut messages[at.message];
        let old = shown(message, at.part);
        message.rename(at.part, new);
        if message.parts[at.part].is_call() {
            let message = &messages[at.message];
            let said = format_args!("the id of the call {old} was taken; it is now `{new}`");
            repairs.add(message, said);
        }
    }
    for &(at, why) in &links.dropped {
        let message = &messages[at.message];
        let what = shown(message, at.part);
        repairs.add(message, format_args!("{} {what} {}", why.subject(), why.verdict()));
    }
    let mut gone: BTreeSet<At> = links.dropped.iter().map(|(at, _)| *at).collect();
    let answers = place::answers(&messages, &links, &mut gone, repairs);
    let kept: Vec<Option<Message>> = messages
        .into_iter()
        .enumerate()
        .map(|(number, message)| without(message, number, &gone))
        .collect();
    place::put(kept, answers, tokenizer)
}

fn without(message: Message, number: usize, gone: &BTreeSet<At>) -> Option<Message> {
    let at = |part| At { message: number, part };
    if gone.range(at(0)..=at(usize::MAX)).next().is_none() {
        return Some(message);
    }
    let message = message.keeping(|part, _| !gone.contains(&at(part)))?;
    // Only thoughts are left of a message whose calls went: nobody can use those alone.
    let thoughts = message.parts.iter().all(|part| part.kind == PartKind::Reasoning);
    (!thoughts).then_some(message)
}

/// Which messages belong together: for each message the number of its unit, the first message of
/// it. Whoever takes one message of a unit takes all.
pub(crate) fn units(messages: &[Message]) -> Vec<usize> {
    let mut unit: Vec<usize> = (0..messages.len()).collect();
    for (call, result) in Links::of(messages).pairs() {
        join(&mut unit, call.message, result.message);
    }
    for (number, pair) in messages.windows(2).enumerate() {
        // A thought that is an item of its own is refused without the item that it led to.
        let whole = pair[0].parts.iter().all(|part| part.place == Place::Whole);
        let thought = pair[0].parts.iter().all(|part| part.kind == PartKind::Reasoning);
        if whole && thought && pair[1].role == Role::Assistant {
            join(&mut unit, number, number + 1);
        }
    }
    for number in 0..unit.len() {
        unit[number] = root(&unit, number);
    }
    unit
}

fn root(unit: &[usize], mut number: usize) -> usize {
    while unit[number] != number {
        number = unit[number];
    }
    number
}

fn join(unit: &mut [usize], one: usize, other: usize) {
    let (one, other) = (root(unit, one), root(unit, other));
    let (first, second) = (one.min(other), one.max(other));
    unit[second] = first;
}

/// How a call or result is named in a sentence.
fn shown(message: &Message, part: usize) -> String {
    let (id, name) = match &message.parts[part].kind {
        PartKind::Call { id, name } => (id.as_deref(), Some(name.as_str())),
        PartKind::Result { id, name } => (id.as_deref(), name.as_deref()),
        PartKind::Text
        | PartKind::Reasoning
        | PartKind::Attachment { .. }
        | PartKind::Hosted
        | PartKind::Unknown => (None, None),
    };
    let name = id.or(name).unwrap_or("without a name");
    format!("`{}`", name.chars().take(SHOWN_MAX).collect::<String>())
}
