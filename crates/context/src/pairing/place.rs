//! Where results stand, and bringing them there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::link::{At, Links};
use super::{Repairs, shown};
use crate::Tokenizer;
use crate::message::{Answer, Message, Part, Place, Role};

/// Results that must be brought to their call, by the message that calls.
pub(crate) type Answers = BTreeMap<usize, Vec<Answer>>;

/// Finds what must be brought where: results that stand elsewhere, and new ones for calls that
/// nobody answered. What is taken away for it joins `gone`.
pub(crate) fn answers(
    messages: &[Message],
    links: &Links,
    gone: &mut BTreeSet<At>,
    repairs: &mut Repairs,
) -> Answers {
    let mut answers = Answers::new();
    // How many results each message begins with.
    let leads = |message: &Message| message.parts.iter().take_while(|it| it.is_result()).count();
    let leading: Vec<usize> = messages.iter().map(leads).collect();
    for &(call, result) in &links.calls {
        let message = &messages[call.message];
        let what = shown(message, call.part);
        let part = &message.parts[call.part];
        let fits = result.is_none_or(|result| {
            let holder = &messages[result.message];
            message.fits(part, holder, &holder.parts[result.part])
        });
        let answer = match result {
            Some(result) if !fits => {
                let from = &messages[result.message];
                let now = "came in another shape and was rewritten";
                repairs.add(from, format_args!("the result of {what} {now}"));
                gone.insert(result);
                message.answered(part, &from.parts[result.part].text, false)
            }
            Some(result)
                if {
                    result.part < leading[result.message] && in_place(messages, gone, call, result)
                } =>
            {
                continue;
            }
            Some(result) => {
                let from = &messages[result.message];
                repairs.add(from, format_args!("the result of {what} was moved to its call"));
                gone.insert(result);
                match from.block(&from.parts[result.part]) {
                    Some(block) => Some(Answer::Block(block.clone())),
                    None => Some(Answer::Message(from.original.clone())),
                }
            }
            None => {
                let answer = message.interrupted(part);
                let now = match answer {
                    Some(_) => "got one that says it was interrupted",
                    None => "was left out",
                };
                repairs.add(message, format_args!("the call {what} had no result and {now}"));
                answer
            }
        };
        match answer {
            Some(answer) => answers.entry(call.message).or_default().push(answer),
            None => {
                gone.insert(call);
            }
        }
    }
    answers
}

/// Whether a result stands where the shape of its call wants it.
fn in_place(messages: &[Message], gone: &BTreeSet<At>, call: At, result: At) -> bool {
    let calling = &messages[call.message];
    let part = &calling.parts[call.part];
    let place = part.place;
    if result.message <= call.message {
        return false;
    }
    if place == Place::Whole {
        return true;
    }
    // A message of which nothing is left is not in between.
    let stays = |number: usize| {
        let mut parts = (0..messages[number].parts.len()).map(|part| At { message: number, part });
        messages[number].parts.is_empty() || parts.any(|at| !gone.contains(&at))
    };
    let between = &messages[call.message + 1..result.message];
    let mut answering = false;
    for (number, message) in (call.message + 1..).zip(between) {
        if !stays(number) {
            continue;
        }
        if alike(calling, part, message) {
            answering = true;
            continue;
        }
        if answering || !blocks(place) || !goes_on(message) {
            return false;
        }
    }
    let holder = &messages[result.message];
    blocks(place) || holder.only_results()
}

/// Whether a message is nothing but results, in the shape of those of this call.
fn alike(calling: &Message, call: &Part, message: &Message) -> bool {
    message.only_results() && message.parts.iter().all(|part| calling.fits(call, message, part))
}

fn blocks(place: Place) -> bool {
    match place {
        Place::Block(list, _) => list != "tool_calls",
        Place::Whole | Place::Field(_) => false,
    }
}

/// Whether a message goes on with the agent's turn: where results come in blocks, one may be told
/// in several messages. A call of another shape ends it, because that wants its results at once.
fn goes_on(message: &Message) -> bool {
    let own = |part: &Part| {
        part.place != Place::Whole && !part.is_result() && (!part.is_call() || blocks(part.place))
    };
    message.role == Role::Assistant && message.parts.iter().all(own)
}

/// Puts the answers where they belong.
pub(crate) fn put(
    mut messages: Vec<Option<Message>>,
    answers: Answers,
    tokenizer: Tokenizer,
) -> Vec<Message> {
    // What stands before which message, in the end.
    let mut before: BTreeMap<usize, Vec<Message>> = BTreeMap::new();
    for (caller, answers) in answers {
        let Some(calling) = &messages[caller] else { continue };
        let index = calling.index;
        let mut read = |place: usize, value: Value| {
            if let Ok(mut message) = Message::read(index, value) {
                message.count(tokenizer);
                before.entry(place).or_default().push(message);
            }
        };
        let (mut whole, mut loose) = (Vec::new(), Vec::new());
        for answer in answers {
            match answer {
                Answer::Message(value) => whole.push(value),
                Answer::Block(block) => loose.push(block),
            }
        }
        let direct = calling.parts.iter().any(|part| part.is_call() && part.place == Place::Whole);
        let in_blocks = calling.parts.iter().any(|part| part.is_call() && blocks(part.place));
        let next = match direct {
            true => caller + 1,
            false => behind(&messages, caller, in_blocks),
        };
        for value in whole {
            read(next, value);
        }
        if loose.is_empty() {
            continue;
        }
        let follower = messages.get(next).and_then(Option::as_ref);
        let follower = follower.filter(|message| in_blocks && message.role == Role::User);
        match follower.and_then(|message| message.with_results(&loose, tokenizer)) {
            Some(message) => messages[next] = Some(message),
            None => read(next, json!({"role": "user", "content": loose})),
        }
    }
    let mut list = Vec::with_capacity(messages.len());
    for (number, message) in messages.into_iter().enumerate() {
        list.extend(before.remove(&number).into_iter().flatten());
        list.extend(message);
    }
    list.extend(before.into_values().flatten());
    list
}

/// The first message behind a call that is not part of the same turn, and for chats none of the
/// results that stand there already.
fn behind(messages: &[Option<Message>], caller: usize, in_blocks: bool) -> usize {
    let calling = messages[caller].as_ref();
    let call = calling
        .and_then(|calling| Some((calling, calling.parts.iter().find(|part| part.is_call())?)));
    let same = |message: &Option<Message>| match message {
        None => true,
        Some(message) if in_blocks => goes_on(message),
        Some(message) => call.is_some_and(|(calling, call)| alike(calling, call, message)),
    };
    let after = &messages[caller + 1..];
    caller + 1 + after.iter().position(|message| !same(message)).unwrap_or(after.len())
}
