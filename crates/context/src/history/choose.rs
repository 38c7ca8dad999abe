//! Choosing which messages travel when not all of them may.
//!
//! Messages are chosen in units, a call with its results, so that what is left is a conversation
//! that providers accept.

use std::collections::BTreeSet;

use super::question::{first_instruction, open_questions};
use crate::Tokenizer;
use crate::message::{Message, Part, PartKind, Role};
use crate::pairing::units;
use crate::rank::Query;

/// A text that must stay is not made shorter than this; before that, a less important one goes.
const SHORTEST: usize = 24;
/// How much of the limit messages of the system may take, as one part in so many.
const SYSTEM_SHARE: usize = 4;

/// What the result must stay within.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) messages: usize,
    pub(crate) tokens: usize,
}

impl Limits {
    pub(crate) fn hold(self, list: &[Message]) -> bool {
        list.len() <= self.messages && self.tokens >= total(list)
    }
}

fn total(list: &[Message]) -> usize {
    list.iter().map(Message::tokens).sum()
}

/// All of it, or as much of its end as the limits allow, with what must not be lost.
pub(crate) fn newest(
    list: Vec<Message>,
    limits: Limits,
    tokenizer: Tokenizer,
    notes: &mut Vec<String>,
) -> Vec<Message> {
    if limits.hold(&list) {
        return list;
    }
    let mut choice = Choice::new(list, limits, tokenizer, true);
    choice.keep_what_must(notes);
    for number in (0..choice.list.len()).rev() {
        // The end of a conversation has no holes: the first that does not fit ends it.
        if !choice.try_unit(number) {
            break;
        }
    }
    choice.end()
}

/// What has most to do with the task, in its order, with what must not be lost.
pub(crate) fn relevant(
    list: Vec<Message>,
    limits: Limits,
    query: &Query,
    tokenizer: Tokenizer,
    notes: &mut Vec<String>,
) -> Vec<Message> {
    if limits.hold(&list) {
        return list;
    }
    let scores = query.scores(list.iter().map(|it| it.parts.iter().map(|it| it.text.as_str())));
    let mut choice = Choice::new(list, limits, tokenizer, false);
    choice.keep_what_must(notes);
    let mut best = vec![0.0_f64; scores.len()];
    let mut last = vec![0; scores.len()];
    for (number, score) in scores.iter().enumerate() {
        let unit = choice.unit[number];
        best[unit] = best[unit].max(*score);
        last[unit] = number;
    }
    let mut order: Vec<usize> =
        (0..choice.list.len()).filter(|number| choice.unit[*number] == *number).collect();
    // What is equally near to the task is taken from the end.
    order.sort_by(|a, b| best[*b].total_cmp(&best[*a]).then(last[*b].cmp(&last[*a])));
    for unit in order {
        choice.try_unit(unit);
    }
    choice.end()
}

/// A choice that is being made.
struct Choice {
    list: Vec<Option<Message>>,
    /// The unit of each message, by its first message.
    unit: Vec<usize>,
    /// The messages of each unit.
    members: Vec<Vec<usize>>,
    /// What must not be lost, the most important first: the first instruction, open questions, the
    /// last message where the end of a conversation is wanted, messages of the system.
    must: Vec<usize>,
    taken: BTreeSet<usize>,
    tokenizer: Tokenizer,
    limits: Limits,
    /// What is left of the limits.
    left: Limits,
}

impl Choice {
    fn new(list: Vec<Message>, limits: Limits, tokenizer: Tokenizer, with_last: bool) -> Self {
        let unit = units(&list);
        let mut must: Vec<usize> = first_instruction(&list).into_iter().collect();
        must.extend(open_questions(&list).into_iter().rev());
        must.extend(with_last.then(|| list.len().saturating_sub(1)));
        must.extend((0..list.len()).filter(|number| list[*number].role == Role::System));
        let mut seen = BTreeSet::new();
        must.retain(|number| seen.insert(*number));

        let mut members = vec![Vec::new(); list.len()];
        for (number, unit) in unit.iter().enumerate() {
            members[*unit].push(number);
        }
        let list = list.into_iter().map(Some).collect();
        let taken = BTreeSet::new();
        Self { list, unit, members, must, taken, tokenizer, limits, left: limits }
    }

    fn cost(&self, numbers: &[usize]) -> usize {
        numbers.iter().filter_map(|number| Some(self.list[*number].as_ref()?.tokens())).sum()
    }

    /// Takes the unit of a message if it fits. One that was taken before fits.
    fn try_unit(&mut self, number: usize) -> bool {
        let members = &self.members[self.unit[number]];
        if members.iter().any(|member| self.taken.contains(member)) {
            return true;
        }
        if members.iter().all(|member| self.list[*member].is_none()) {
            return true;
        }
        let (messages, tokens) = (members.len(), self.cost(members));
        if messages > self.left.messages || tokens > self.left.tokens {
            return false;
        }
        self.left.messages -= messages;
        self.left.tokens -= tokens;
        self.taken.extend(members);
        true
    }

    /// Takes what must not be lost: whole units where they fit, otherwise with texts and results
    /// made shorter, and where even that is too much, only the words of the messages themselves.
    fn keep_what_must(&mut self, notes: &mut Vec<String>) {
        let must = std::mem::take(&mut self.must);
        let is_system = |number: &usize| {
            self.list[*number].as_ref().is_some_and(|message| message.role == Role::System)
        };
        let systems: Vec<usize> = must.iter().copied().filter(is_system).collect();
        let share = self.limits.tokens / SYSTEM_SHARE;
        let mut shortened = 0;
        if self.cost(&systems) > share {
            shortened += self.shorten(&systems, share);
            self.drop_empty(&systems);
        }
        let whole: BTreeSet<usize> = must.iter().map(|number| self.unit[*number]).collect();
        let whole: Vec<usize> = whole.iter().flat_map(|unit| self.members[*unit].clone()).collect();
        let texts = self.texts(&whole);
        let words: usize = texts.iter().map(|(.., tokens)| *tokens).sum();
        let cost = self.cost(&whole);
        let least = (cost - words).saturating_add(texts.len().saturating_mul(SHORTEST));
        let few = whole.len() <= self.limits.messages;
        if few && (cost <= self.limits.tokens || least <= self.limits.tokens) {
            if cost > self.limits.tokens {
                shortened += self.shorten(&whole, self.limits.tokens - (cost - words));
            }
            for number in must {
                self.try_unit(number);
            }
        } else {
            shortened += self.keep_words(&must);
        }
        match shortened {
            0 => (),
            1 => notes.push("1 text was shortened to fit the limit".to_owned()),
            many => notes.push(format!("{many} texts were shortened to fit the limit")),
        }
    }

    /// Keeps the words of these messages, the first ones rather than the last, and nothing else of
    /// their units. Returns how many texts became shorter.
    fn keep_words(&mut self, must: &[usize]) -> usize {
        let is_must: BTreeSet<usize> = must.iter().copied().collect();
        let mut kept = Vec::new();
        for &number in must {
            for &member in &self.members[self.unit[number]] {
                if !is_must.contains(&member) {
                    self.list[member] = None;
                }
            }
            let text = |_, part: &Part| part.kind == PartKind::Text && !part.text.is_empty();
            let words = self.list[number].take().and_then(|message| message.keeping(text));
            if let Some(words) = words.filter(|message| message.words().next().is_some())
                && kept.len() < self.limits.messages
            {
                self.list[number] = Some(words);
                kept.push(number);
            }
        }
        // The last are the least important, and what would be left of each says nothing.
        let most = (self.limits.tokens / SHORTEST).max(self.limits.tokens.min(1));
        for number in kept.drain(most.min(kept.len())..) {
            self.list[number] = None;
        }
        let shortened = match self.cost(&kept) > self.limits.tokens {
            true => self.shorten(&kept, self.limits.tokens),
            false => 0,
        };
        self.drop_empty(&kept);
        kept.retain(|number| self.list[*number].is_some());
        self.left.messages -= kept.len();
        self.left.tokens -= self.cost(&kept);
        self.taken.extend(kept);
        shortened
    }

    /// Providers refuse texts that are empty.
    fn drop_empty(&mut self, numbers: &[usize]) {
        let said = |_, part: &Part| part.kind != PartKind::Text || !part.text.is_empty();
        for number in numbers {
            self.list[*number] = self.list[*number].take().and_then(|it| it.keeping(said));
        }
    }

    /// The texts and results of these messages, by message and part, with their tokens.
    fn texts(&self, numbers: &[usize]) -> Vec<(usize, usize, usize)> {
        let held =
            numbers.iter().filter_map(|number| Some((*number, self.list[*number].as_ref()?)));
        held.flat_map(|(number, message)| {
            let parts = message.parts.iter().enumerate();
            let words = parts.filter(|(_, part)| part.kind == PartKind::Text || part.is_result());
            words.map(move |(at, part)| (number, at, part.tokens))
        })
        .collect()
    }

    /// Makes the texts of these messages fit into `room` together: the longest become shorter, all
    /// to the same length. Returns how many.
    fn shorten(&mut self, numbers: &[usize], room: usize) -> usize {
        let texts = self.texts(numbers);
        let most = level(texts.iter().map(|(.., tokens)| *tokens).collect(), room);
        let mut shortened = 0;
        for (number, part, tokens) in texts {
            let Some(message) = self.list[number].as_mut().filter(|_| tokens > most) else {
                continue;
            };
            let short = self.tokenizer.shorten(&message.parts[part].text, most).into_owned();
            message.reword(part, &short, self.tokenizer);
            shortened += 1;
        }
        shortened
    }

    fn end(self) -> Vec<Message> {
        let taken = self.taken;
        let numbered = self.list.into_iter().enumerate();
        numbered.filter(|(number, _)| taken.contains(number)).filter_map(|(_, it)| it).collect()
    }
}

/// The length that nothing may be above so that all fit into `room` together.
fn level(mut sizes: Vec<usize>, room: usize) -> usize {
    sizes.sort_unstable();
    let mut left = room;
    for (at, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - at);
        if *size > share {
            return share;
        }
        left -= size;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_are_shortened_to_one_length() {
        assert_eq!(level(vec![5, 100, 80], 65), 30);
        assert_eq!(level(vec![5, 10], 65), usize::MAX);
        assert_eq!(level(vec![], 0), usize::MAX);
    }
}
