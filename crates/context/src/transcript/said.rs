//! Decisions, blockers and next steps in running text, found by the words that announce them.

use super::push_bounded;

/// Words that announce a decision inside a sentence.
const DECIDES: [&str; 12] = [
    "decided to ",
    "decided that ",
    "decided on ",
    "decided against ",
    "we will use ",
    "we'll use ",
    "going with ",
    "go with ",
    "settled on ",
    "we chose ",
    "i chose ",
    "opted for ",
];
/// Before a decision these words make none of it.
const UNDECIDED: [&str; 6] = ["not ", "n't ", "if ", "should we ", "could ", "yet to "];
/// Words that announce what stands in the way inside a sentence.
const BLOCKS: [&str; 5] =
    ["blocked by ", "blocked on ", "cannot proceed", "can't proceed", "cannot continue"];
/// Words that say that nothing stands in the way any more.
const FREES: [&str; 6] = [
    "unblocked",
    "no blockers",
    "no longer blocked",
    "not blocked",
    "blockers: none",
    "n't blocked",
];
/// Words that announce the next step inside a sentence.
const NEXT: [&str; 4] = ["next step is ", "next steps are ", "next, i will ", "next i will "];
/// Characters of a sentence that are kept; an artifact has room for fewer.
const SENTENCE_CHARS_MAX: usize = 400;

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) decisions: Vec<String>,
    pub(super) blockers: Vec<String>,
    pub(super) task: Option<String>,
    /// The next step, and the line that it was said on.
    pub(super) next: Option<(u64, String)>,
}

impl Said {
    /// Listens to a text. What stands in a block of code was not said.
    pub(super) fn hear(&mut self, text: &str, at: u64) {
        let mut in_code = false;
        // Which list the lines below a heading belong to.
        let mut open: Option<Heading> = None;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
                continue;
            }
            if in_code {
                continue;
            }
            let is_item = line.trim_start().starts_with(['-', '*', '+'])
                || line.trim_start().starts_with(|c: char| c.is_ascii_digit());
            let plain = undecorated(line);
            if plain.is_empty() {
                continue;
            }
            if let Some((heading, rest)) = announced(&plain) {
                if rest.is_empty() {
                    open = Some(heading);
                } else {
                    open = None;
                    self.note(heading, rest, at);
                }
                continue;
            }
            match open {
                Some(heading) if is_item => {
                    self.note(heading, &plain, at);
                    // Of a list of next steps the first comes next.
                    if matches!(heading, Heading::Next | Heading::Task) {
                        open = None;
                    }
                    continue;
                }
                _ => open = None,
            }
            for sentence in sentences(&plain) {
                match announced(sentence) {
                    Some((heading, rest)) => self.note(heading, rest, at),
                    None => self.sentence(sentence, at),
                }
            }
        }
    }

    fn sentence(&mut self, sentence: &str, at: u64) {
        let lower = sentence.to_lowercase();
        if FREES.iter().any(|words| lower.contains(words)) {
            self.blockers.clear();
            return;
        }
        if sentence.ends_with('?') {
            return;
        }
        let decided = DECIDES.iter().find_map(|words| lower.find(words));
        if decided.is_some_and(|at| !UNDECIDED.iter().any(|word| lower[..at].contains(word))) {
            self.note(Heading::Decision, sentence, at);
        }
        if BLOCKS.iter().any(|words| lower.contains(words)) {
            self.note(Heading::Blocker, sentence, at);
        }
        // Lower case can be longer or shorter than what it was made from; only plain letters match.
        let next = NEXT.iter().find_map(|words| Some(lower.find(words)? + words.len()));
        if let Some(rest) = next.and_then(|from| sentence.get(from..)) {
            self.note(Heading::Next, rest.strip_prefix("to ").unwrap_or(rest), at);
        }
    }

    fn note(&mut self, heading: Heading, text: &str, at: u64) {
        let text: String = text.trim().chars().take(SENTENCE_CHARS_MAX).collect();
        if text.is_empty() {
            return;
        }
        let is_none = matches!(text.to_lowercase().trim_end_matches('.'), "none" | "n/a" | "-");
        match heading {
            Heading::Blocker if is_none => self.blockers.clear(),
            _ if is_none => (),
            Heading::Decision => push_newest(&mut self.decisions, text),
            Heading::Blocker => push_newest(&mut self.blockers, text),
            Heading::Task => self.task = Some(text),
            Heading::Next => self.next = Some((at, text)),
        }
    }
}

/// What a line announces at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heading {
    Decision,
    Blocker,
    Task,
    Next,
}

/// `Decision: …` and the like: what is announced, and what stands behind it.
fn announced(line: &str) -> Option<(Heading, &str)> {
    let (word, rest) = line.split_once(':')?;
    let heading = match word.trim().to_lowercase().as_str() {
        "decision" | "decisions" | "decided" | "key decision" | "key decisions" => {
            Heading::Decision
        }
        "blocker" | "blockers" | "blocked" => Heading::Blocker,
        "current task" | "working on" | "now working on" => Heading::Task,
        "next" | "next step" | "next steps" | "next action" | "next up" => Heading::Next,
        _ => return None,
    };
    Some((heading, rest.trim()))
}

/// The line without the marks of Markdown around it and around its first words.
fn undecorated(line: &str) -> String {
    let line = line.trim_start_matches([' ', '\t', '-', '*', '+', '#', '>']);
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = match number.strip_prefix(". ").or_else(|| number.strip_prefix(") ")) {
        Some(rest) if number.len() < line.len() => rest,
        _ => line,
    };
    line.replace("**", "").replace("__", "").trim().to_owned()
}

/// Sentences end with `.`, `!` or `?` before a space; a dot inside `main.rs` ends nothing.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(". ")
        .flat_map(|part| part.split_inclusive("? "))
        .flat_map(|part| part.split_inclusive("! "))
        .map(str::trim)
        .filter(|sentence| !sentence.is_empty())
}

/// Each once, where it was said last; capitals and a full stop make no difference.
fn push_newest(list: &mut Vec<String>, text: String) {
    let same = |text: &str| text.trim_end_matches('.').to_lowercase();
    list.retain(|other| same(other) != same(&text));
    push_bounded(list, text);
}
