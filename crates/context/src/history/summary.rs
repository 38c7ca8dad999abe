//! A summary that is made of what was said: no model is needed, and the same words come out of the
//! same conversation every time.
//!
//! It tells what users and agents said to each other. What set the model up is the business of
//! whoever receives it, and what tools answered matters as far as somebody spoke about it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

use serde_json::json;

use super::choose::Limits;
use super::question::{first_instruction, open_questions};
use super::{About, Plan};
use crate::Tokenizer;
use crate::message::{Message, PartKind, Role};

/// The longest sentence that is picked. Longer ones are cut here and marked.
const SENTENCE_BYTES_MAX: usize = 400;
/// What a line costs beside its words.
const LINE_TOKENS: usize = 4;
/// How many sentences in a row may be too long for what is left before no other is tried.
const MISSES_MAX: usize = 200;
/// How much more the first sentence of a message weighs: it says what the rest is about.
const FIRST_WEIGHT: f64 = 1.2;

/// Makes one message of a conversation: of the words that a summariser gave, or of its own.
pub(crate) fn make(
    list: Vec<Message>,
    limits: Limits,
    about: &About<'_>,
    given: Option<String>,
    plan: &Plan,
    notes: &mut Vec<String>,
) -> Vec<Message> {
    if list.is_empty() || limits.messages == 0 || limits.tokens == 0 {
        return Vec::new();
    }
    let given = given.map(|text| text.trim().to_owned());
    let text = match given {
        Some(text) if !text.is_empty() => cut(text, limits, plan.tokenizer, notes),
        Some(_) | None => {
            if given.is_some() {
                let said = "the summariser answered nothing; the summary is an extract";
                notes.push(said.to_owned());
            }
            // One message that is short enough is its own summary.
            let plain = |message: &Message| message.parts.iter().all(|p| p.kind == PartKind::Text);
            if list.len() == 1 && plain(&list[0]) && limits.hold(&list) {
                return list;
            }
            extract(&list, limits.tokens, about, plan.tokenizer)
        }
    };
    let message = Message::read(0, json!({"role": "user", "content": text}));
    let counted = message.map(|mut message| {
        message.count(plan.tokenizer);
        message
    });
    counted.into_iter().collect()
}

fn cut(text: String, limits: Limits, tokenizer: Tokenizer, notes: &mut Vec<String>) -> String {
    let short = tokenizer.cut(&text, limits.tokens);
    if short.len() == text.len() {
        return text;
    }
    let (before, after) = (tokenizer.count(&text), tokenizer.count(short));
    notes.push(format!("the summary was cut from {before} to {after} tokens"));
    short.to_owned()
}

/// Where a piece of the summary stood: message, part, position in it.
type Stood = (usize, usize, usize);

/// A sentence in the order of choice.
struct Ranked {
    weight: f64,
    stood: Stood,
    /// Its number among the sentences.
    at: usize,
}

impl Ord for Ranked {
    /// What is nearer to the task; then what opens a message; then what was said last.
    fn cmp(&self, other: &Self) -> Ordering {
        let rest = |it: &Self| (it.stood.2 == 0, it.stood);
        self.weight.total_cmp(&other.weight).then_with(|| rest(self).cmp(&rest(other)))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

fn extract(list: &[Message], limit: usize, about: &About<'_>, tokenizer: Tokenizer) -> String {
    let mut pieces = must(list, limit, tokenizer);
    let whole: HashSet<usize> = pieces.keys().map(|(message, ..)| *message).collect();
    let sentences = sentences(list, &whole);
    let scores = about.query().scores(sentences.iter().map(|(_, text)| [*text]));
    let weigh = |(stood, score): (Stood, f64)| match stood {
        (_, 0, 0) => score * FIRST_WEIGHT,
        (..) => score,
    };
    // Few of many are looked at, so they are not sorted all.
    let mut order: BinaryHeap<Ranked> = (sentences.iter().zip(scores).enumerate())
        .map(|(at, ((stood, _), score))| Ranked {
            weight: weigh((*stood, score)),
            stood: *stood,
            at,
        })
        .collect();

    let heading = format!("Summary of a conversation of {} messages", list.len());
    let line = |text: &str| tokenizer.count(text) + LINE_TOKENS;
    let spent: usize = pieces.values().map(|text| line(text)).sum();
    let spent = spent + tokenizer.count(&heading);
    let mut left = limit.saturating_sub(spent);
    let (mut picked, mut misses, mut seen) = (Vec::new(), 0, HashSet::new());
    while let Some(Ranked { at, .. }) = order.pop() {
        if left <= LINE_TOKENS || misses > MISSES_MAX {
            break;
        }
        let (stood, text) = &sentences[at];
        if !seen.insert(text) {
            continue;
        }
        let text = short(text);
        let cost = line(&text);
        if cost > left {
            misses += 1;
            continue;
        }
        left -= cost;
        pieces.insert(*stood, text);
        picked.push(*stood);
    }
    loop {
        let text = told(&heading, list, &pieces);
        if tokenizer.count(&text) <= limit {
            return text;
        }
        // Lines together can be more than the sum of what was counted; the last picked goes.
        match picked.pop() {
            Some(stood) => pieces.remove(&stood),
            None => return tokenizer.shorten(&text, limit).into_owned(),
        };
    }
}

/// What no summary may lack: the first instruction, the last state, open questions.
fn must(list: &[Message], limit: usize, tokenizer: Tokenizer) -> BTreeMap<Stood, String> {
    let says = |message: &Message| match message.role {
        Role::Assistant | Role::Other | Role::User => message.words().any(|it| !it.is_empty()),
        Role::System | Role::Tool => false,
    };
    let first = first_instruction(list);
    let last = list.iter().rposition(|message| says(message) && message.role != Role::User);
    let last = last.or_else(|| list.iter().rposition(says));
    let questions = open_questions(list);
    let each = limit / 5 / questions.len().max(1);
    let questions = questions.into_iter().map(|number| (number, each));
    let chosen =
        questions.chain(last.map(|it| (it, limit / 4))).chain(first.map(|it| (it, limit * 2 / 5)));
    let mut pieces = BTreeMap::new();
    for (number, room) in chosen {
        let words: Vec<&str> = list[number].words().collect();
        let text = tokenizer.shorten(words.join("\n").trim(), room).into_owned();
        if !text.is_empty() {
            pieces.insert((number, 0, 0), text);
        }
    }
    pieces
}

/// All sentences that users and agents said, except in those messages.
fn sentences<'a>(list: &'a [Message], except: &HashSet<usize>) -> Vec<(Stood, &'a str)> {
    let mut found = Vec::new();
    for (number, message) in list.iter().enumerate() {
        let speaks = match message.role {
            Role::User | Role::Assistant | Role::Other => !except.contains(&number),
            Role::System | Role::Tool => false,
        };
        if !speaks {
            continue;
        }
        for (part, words) in message.words().enumerate() {
            for (at, sentence) in split(words).enumerate() {
                found.push(((number, part, at), sentence));
            }
        }
    }
    found
}

fn short(sentence: &str) -> String {
    if sentence.len() <= SENTENCE_BYTES_MAX {
        return sentence.to_owned();
    }
    let end = sentence.floor_char_boundary(SENTENCE_BYTES_MAX);
    format!("{}…", &sentence[..end])
}

/// Splits at ends of lines and behind what ends a sentence.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let sentence = |line: &str| {
        let ends = line.match_indices(['.', '!', '?', '。', '！', '？', '।']);
        let mut ends = ends.map(|(at, mark)| (at + mark.len(), mark));
        let end = ends.find(|(end, mark)| {
            // A dot may stand within a name; the marks of other scripts do not.
            !mark.is_ascii() || line[*end..].chars().next().is_none_or(char::is_whitespace)
        });
        end.map_or(line.len(), |(end, _)| end)
    };
    let of_line = move |line| {
        let mut rest: &str = line;
        std::iter::from_fn(move || {
            let (piece, after) = rest.split_at_checked(sentence(rest))?;
            rest = after;
            (!piece.is_empty()).then(|| piece.trim())
        })
    };
    text.lines().flat_map(of_line).filter(|piece| piece.chars().any(char::is_alphanumeric))
}

fn told(heading: &str, list: &[Message], pieces: &BTreeMap<Stood, String>) -> String {
    let mut text = heading.to_owned();
    if pieces.is_empty() {
        text.push_str(", in which nothing was said.");
        return text;
    }
    text.push_str(":\n");
    let mut speaking = None;
    for ((number, ..), said) in pieces {
        match speaking == Some(number) {
            true => text.push(' '),
            false => {
                let speaker = list[*number].speaker().unwrap_or("somebody");
                text.push_str(&format!("\n{speaker}: "));
            }
        }
        text.push_str(said);
        speaking = Some(number);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_they_end_in_any_script() {
        let found: Vec<_> =
            split("Read a.rs first. Then go!\n\n- one\n読んだ。次は？はい").collect();
        assert_eq!(found, ["Read a.rs first.", "Then go!", "- one", "読んだ。", "次は？", "はい"]);
    }
}
