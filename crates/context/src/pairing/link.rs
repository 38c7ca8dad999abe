//! Which result answers which call.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::message::{Message, PartKind};

/// A part of a message, by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct At {
    pub(crate) message: usize,
    pub(crate) part: usize,
}

/// Why a call or a result cannot stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    CalledTwice,
    AnsweredTwice,
    Orphan,
}

impl Why {
    pub(crate) fn subject(self) -> &'static str {
        match self {
            Self::CalledTwice => "the call",
            Self::AnsweredTwice | Self::Orphan => "the result of",
        }
    }

    pub(crate) fn verdict(self) -> &'static str {
        match self {
            Self::CalledTwice => "was there before; the first is kept",
            Self::AnsweredTwice => "was a second one; the first is kept",
            Self::Orphan => "answered no call and was left out",
        }
    }
}

/// All calls of a conversation with what answers them.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// In the order of the calls.
    pub(crate) calls: Vec<(At, Option<At>)>,
    pub(crate) dropped: Vec<(At, Why)>,
    /// Ids that were used for two different calls: the second gets another.
    pub(crate) renamed: Vec<(At, String)>,
}

/// What is known while walking through the messages.
#[derive(Default)]
struct Walk<'a> {
    links: Links,
    /// The last call by each id, as a position in `links.calls`, and the text of it.
    latest: HashMap<&'a str, (usize, &'a str)>,
    /// All ids there are, so that a new one is new.
    taken: HashSet<String>,
    /// The last number that was put behind each id.
    counts: HashMap<&'a str, usize>,
    /// New ids by the call they were given to.
    given: HashMap<usize, String>,
    /// Calls that say again what an answered one said, with that one. Whether they are the same
    /// told twice, only their results can tell.
    repeats: Vec<(usize, usize)>,
    /// Calls without an id that wait for a result, oldest first.
    nameless: VecDeque<(usize, &'a str)>,
    /// Results that came before any call of their id.
    early: Vec<(At, &'a str)>,
}

impl Links {
    /// Finds what belongs together. Of doubles the first counts.
    pub(crate) fn of(messages: &[Message]) -> Self {
        let mut walk = Walk::default();
        let parts = || {
            messages.iter().enumerate().flat_map(|(message, found)| {
                let parts = found.parts.iter().enumerate();
                parts.map(move |(part, found)| (At { message, part }, found))
            })
        };
        for (_, part) in parts() {
            if let PartKind::Call { id: Some(id), .. } = &part.kind {
                walk.taken.insert(id.clone());
            }
        }
        for (at, part) in parts() {
            match &part.kind {
                PartKind::Call { id, name } => {
                    walk.call(at, id.as_deref(), name, &part.text);
                }
                PartKind::Result { id, name } => walk.result(at, id.as_deref(), name.as_deref()),
                PartKind::Text
                | PartKind::Reasoning
                | PartKind::Attachment { .. }
                | PartKind::Hosted
                | PartKind::Unknown => (),
            }
        }
        walk.end(|at| &messages[at.message].parts[at.part].text)
    }

    /// The calls that have a result, with it.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (At, At)> {
        self.calls.iter().filter_map(|(call, result)| Some((*call, (*result)?)))
    }
}

impl<'a> Walk<'a> {
    fn call(&mut self, at: At, id: Option<&'a str>, name: &'a str, text: &'a str) {
        let number = self.links.calls.len();
        let Some(id) = id else {
            self.links.calls.push((at, None));
            self.nameless.push_back((number, name));
            return;
        };
        if let Some(&(before, said)) = self.latest.get(id) {
            // Another call under the same id, once the first was answered, is a call of its own:
            // some models count from zero in every turn.
            if self.links.calls[before].1.is_none() {
                self.links.dropped.push((at, Why::CalledTwice));
                return;
            }
            if said == text {
                self.repeats.push((number, before));
            }
            // Counted on from the last: some use one id for every call.
            let count = self.counts.entry(id).or_insert(1);
            let mut fresh = std::iter::repeat_with(|| {
                *count += 1;
                format!("{id}-{count}")
            });
            let new = fresh.find(|new| !self.taken.contains(new)).unwrap_or_default();
            self.taken.insert(new.clone());
            self.links.renamed.push((at, new.clone()));
            self.given.insert(number, new);
        }
        self.links.calls.push((at, None));
        self.latest.insert(id, (number, text));
    }

    fn result(&mut self, at: At, id: Option<&'a str>, name: Option<&str>) {
        let call = match id {
            Some(id) => match self.latest.get(id) {
                Some(&(call, _)) => call,
                None => return self.early.push((at, id)),
            },
            None => {
                let fits = |called: &str| name.is_none_or(|name| name == called);
                let Some(found) = self.nameless.iter().position(|(_, called)| fits(called)) else {
                    return self.links.dropped.push((at, Why::Orphan));
                };
                match self.nameless.remove(found) {
                    Some((call, _)) => call,
                    None => return,
                }
            }
        };
        self.answer(call, at);
    }

    fn answer(&mut self, call: usize, at: At) {
        if self.links.calls[call].1.is_some() {
            return self.links.dropped.push((at, Why::AnsweredTwice));
        }
        self.links.calls[call].1 = Some(at);
        if let Some(new) = self.given.get(&call) {
            self.links.renamed.push((at, new.clone()));
        }
    }

    fn end(mut self, text: impl Fn(At) -> &'a str) -> Links {
        for (at, id) in std::mem::take(&mut self.early) {
            match self.latest.get(id) {
                Some(&(call, _)) => self.answer(call, at),
                None => self.links.dropped.push((at, Why::Orphan)),
            }
        }
        self.told_twice(text);
        self.links
    }

    /// The same call with the same result, or with none, is one call told twice.
    fn told_twice(&mut self, text: impl Fn(At) -> &'a str) {
        let Links { calls, dropped, renamed } = &mut self.links;
        let mut doubles = HashSet::new();
        let mut gone = HashSet::new();
        for (number, before) in &self.repeats {
            let (call, result) = calls[*number];
            let first = calls[*before].1.map(&text);
            if result.is_some_and(|result| Some(text(result)) != first) {
                continue;
            }
            doubles.insert(*number);
            dropped.push((call, Why::CalledTwice));
            dropped.extend(result.map(|result| (result, Why::AnsweredTwice)));
            gone.extend([Some(call), result].into_iter().flatten());
        }
        renamed.retain(|(at, _)| !gone.contains(at));
        let mut number = 0..;
        calls.retain(|_| number.next().is_some_and(|number| !doubles.contains(&number)));
    }
}
