//! The work items of a text, each under a name that outlives its moves.
//!
//! A line number is no name: lines shift while a worker is busy. So an item inside the text is
//! known by what its line says, without the stage, and the item of the Tags line by its kind.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::document::{Document, Occurrence};
use crate::find::shown;
use crate::name::{Effort, Priority, Stage, Tag, Weight};

/// The most items of one file. A text with more is no list of work, and the rest is not seen.
pub const ITEMS_MAX: usize = 10_000;

/// How many hex digits of a line's hash name its item.
const DIGITS: usize = 8;

/// The name of an item within its file: `#fix` is that of the Tags line, and `#fix@1f2e3d4c.2` the
/// second of those inside the text whose lines say the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemKey {
    kind: String,
    inline: Option<(String, u32)>,
}

impl ItemKey {
    /// Names the item of the Tags line that is of the same kind as `tag`, if that has a kind.
    pub fn of_tags_line(tag: &Tag) -> Option<Self> {
        let (_, kind) = tag.stage()?;
        Some(Self { kind: kind.to_owned(), inline: None })
    }

    /// Returns the kind of work, such as `fix`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Tells whether the item stands on the Tags line.
    pub fn is_on_tags_line(&self) -> bool {
        self.inline.is_none()
    }
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.kind)?;
        match &self.inline {
            None => Ok(()),
            Some((hash, 1)) => write!(f, "@{hash}"),
            Some((hash, turn)) => write!(f, "@{hash}.{turn}"),
        }
    }
}

impl FromStr for ItemKey {
    type Err = ItemKeyError;

    fn from_str(text: &str) -> Result<Self, ItemKeyError> {
        let wrong = || ItemKeyError { found: text.chars().take(Tag::LENGTH_MAX).collect() };
        let name = text.strip_prefix('#').ok_or_else(wrong)?;
        let (kind, inline) = match name.split_once('@') {
            None => (name, None),
            Some((kind, place)) => (kind, Some(place)),
        };
        Stage::Done.of(kind).ok().filter(|tag| tag.stage().is_some()).ok_or_else(wrong)?;
        let inline = match inline {
            None => None,
            Some(place) => Some(inline_place(place).ok_or_else(wrong)?),
        };
        Ok(Self { kind: kind.to_owned(), inline })
    }
}

fn inline_place(text: &str) -> Option<(String, u32)> {
    let (hash, turn) = match text.split_once('.') {
        None => (text, 1),
        Some((hash, turn)) => {
            let turn: u32 = turn.parse().ok().filter(|parsed: &u32| parsed.to_string() == turn)?;
            (hash, Some(turn).filter(|&turn| turn > 1)?)
        }
    };
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (hash.len() == DIGITS && hash.bytes().all(hex)).then(|| (hash.to_owned(), turn))
}

/// The text names no item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found `{found}`, expected an item such as #fix or #fix@1f2e3d4c")]
pub struct ItemKeyError {
    /// What was given, cut to the length of a tag.
    pub found: String,
}

/// One piece of work in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its name within the file.
    pub key: ItemKey,
    /// Its tag as it stands there.
    pub tag: Tag,
    /// Where the work stands.
    pub stage: Stage,
    /// How urgent it is: said beside its tag, or normal.
    pub priority: Priority,
    /// How large it is thought to be. Shown, never scheduled on.
    pub effort: Option<Effort>,
    /// Its line, counted from 1.
    pub line: usize,
    /// What it is about: the file's title for the Tags line, else its own line, cut.
    pub text: String,
}

/// Lists the work items of a text, in the order of the text.
///
/// On the Tags line there is one item of a kind, however often its tags stand there. It counts as
/// claimed when any of them says so, for the other reading could be claimed twice.
pub fn items(text: &[u8]) -> Vec<Item> {
    list(&Document::read(text))
}

/// The same for a text that was read already.
pub(crate) fn list(document: &Document<'_>) -> Vec<Item> {
    located(document).into_iter().map(|(item, _)| item).collect()
}

/// Finds one item and the occurrence that carries it.
pub(crate) fn locate(document: &Document<'_>, key: &ItemKey) -> Option<(Item, Occurrence)> {
    let found = located(document).into_iter().find(|(item, _)| item.key == *key);
    found.map(|(item, at)| (item, at.clone()))
}

fn located<'d>(document: &'d Document<'_>) -> Vec<(Item, &'d Occurrence)> {
    let mut found: Vec<(Item, &Occurrence)> = Vec::new();
    let mut on_tags_line: HashMap<&str, usize> = HashMap::new();
    let mut turns: HashMap<(String, String), u32> = HashMap::new();
    let weights = weights(document);
    let mut last_line: Option<(usize, String)> = None;
    for occurrence in document.occurrences() {
        let Some((stage, kind)) = occurrence.tag.stage() else {
            continue;
        };
        if occurrence.on_tags_line && on_tags_line.contains_key(kind) {
            let (item, at) = &mut found[on_tags_line[kind]];
            if stage == Stage::Claimed {
                (item.stage, item.tag, *at) = (stage, occurrence.tag.clone(), occurrence);
            }
            continue;
        }
        if found.len() == ITEMS_MAX {
            break;
        }
        let inline = if occurrence.on_tags_line {
            on_tags_line.insert(kind, found.len());
            None
        } else {
            let hash = match &last_line {
                Some((line, hash)) if *line == occurrence.line => hash.clone(),
                _ => line_hash(document, occurrence.line),
            };
            last_line = Some((occurrence.line, hash.clone()));
            let turn = turns.entry((kind.to_owned(), hash.clone())).or_default();
            *turn += 1;
            Some((hash, *turn))
        };
        let (priority, effort) = weights.get(&occurrence.line).copied().unwrap_or_default();
        let key = ItemKey { kind: kind.to_owned(), inline };
        let text = about(document, occurrence);
        let (tag, line) = (occurrence.tag.clone(), occurrence.line);
        found.push((Item { key, tag, stage, priority, effort, line, text }, occurrence));
    }
    found
}

/// Collects what each line says about urgency and size. The first word of each counts.
fn weights(document: &Document<'_>) -> HashMap<usize, (Priority, Option<Effort>)> {
    let mut said: HashMap<usize, (Option<Priority>, Option<Effort>)> = HashMap::new();
    for found in document.occurrences() {
        match found.tag.weight() {
            Some(Weight::Priority(priority)) => {
                said.entry(found.line).or_default().0.get_or_insert(priority);
            }
            Some(Weight::Effort(effort)) => {
                said.entry(found.line).or_default().1.get_or_insert(effort);
            }
            None => (),
        }
    }
    let whole = |(line, (priority, effort)): (usize, (Option<Priority>, Option<Effort>))| {
        (line, (priority.unwrap_or_default(), effort))
    };
    said.into_iter().map(whole).collect()
}

fn about(document: &Document<'_>, occurrence: &Occurrence) -> String {
    let title = document.title().filter(|_| occurrence.on_tags_line);
    let line = document.line(occurrence.line).unwrap_or_default();
    title.unwrap_or_else(|| shown(line.trim_ascii()))
}

/// Hashes a line without the stages of its tags, so that a move does not rename its item.
fn line_hash(document: &Document<'_>, number: usize) -> String {
    let line = &document.lines()[number - 1];
    let mut hash = Sha256::new();
    let reduced = reduced(document, line.text.start, line.text.end);
    hash.update(reduced.trim_ascii());
    hex(&hash.finalize())[..DIGITS].to_owned()
}

/// Copies some bytes of a text, with each tag of the life cycle reduced to `#kind`.
pub(crate) fn reduced(document: &Document<'_>, start: usize, end: usize) -> Vec<u8> {
    let text = document.text();
    let mut copy = Vec::with_capacity(end - start);
    let mut copied = start;
    let occurrences = document.occurrences();
    let first = occurrences.partition_point(|found| found.range.start < start);
    for found in occurrences[first..].iter().take_while(|found| found.range.start < end) {
        let Some((_, kind)) = found.tag.stage() else {
            continue;
        };
        copy.extend_from_slice(&text[copied..found.range.start]);
        copy.push(b'#');
        copy.extend_from_slice(kind.as_bytes());
        copied = found.range.end;
    }
    copy.extend_from_slice(&text[copied..end]);
    copy
}

/// Spells bytes in hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|&byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists the items of a text as `line key tag priority text`.
    fn seen(text: &str) -> Vec<String> {
        let show = |item: Item| {
            let Item { key, tag, priority, effort, line, text, .. } = item;
            let effort = effort.map_or(String::new(), |effort| format!(" {effort:?}"));
            format!("{line} {key} {tag} {priority:?}{effort} {text}")
        };
        items(text.as_bytes()).into_iter().map(show).collect()
    }

    #[test]
    fn a_file_may_carry_several_items_each_with_its_weights() {
        let text = "# Plan\n**Tags**: #needs-fix #P1 #chat\n\n\
            1. Auth #delegated-fix #P0 #M\n2. Docs `#needs-fix` #done-chores\n";
        let seen = seen(text);
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert_eq!(seen[0], "2 #fix #needs-fix P1 Plan");
        assert!(seen[1].starts_with("4 #fix@"), "{seen:?}");
        assert!(seen[1].ends_with(" #delegated-fix P0 Medium 1. Auth #delegated-fix #P0 #M"));
        assert!(seen[2].ends_with(" #done-chores P2 2. Docs `#needs-fix` #done-chores"));
    }

    #[test]
    fn an_item_keeps_its_name_when_it_moves_and_when_lines_shift() {
        let key = |text: &str, at: usize| items(text.as_bytes())[at].key.to_string();
        let first = key("fix this #needs-fix and #needs-chores\n", 0);
        assert_eq!(key("new\n\n  fix this #claimed-fix and #done-chores\r\n", 0), first);
        assert_ne!(key("fix that #needs-fix and #needs-chores\n", 0), first);
        assert_eq!(key("x #needs-a\nx #done-a\n", 1), key("x #needs-a\n", 0) + ".2");
        assert_eq!(key("x #needs-a #needs-a\n", 1), key("x #done-a #done-a\n", 0) + ".2");
    }

    #[test]
    fn the_tags_line_has_one_item_of_a_kind_and_a_claim_counts_first() {
        assert_eq!(seen("**Tags**: #delegated-a #claimed-a\n").len(), 1);
        assert_eq!(items(b"**Tags**: #delegated-a #claimed-a\n")[0].stage, Stage::Claimed);
        assert_eq!(items(b"**Tags**: #delegated-a #needs-a\n")[0].stage, Stage::Delegated);
    }

    #[test]
    fn the_name_of_an_item_is_parsed_at_the_door() {
        for good in ["#fix", "#2fa", "#deep-research@0123abcd", "#fix@0123abcd.12"] {
            assert_eq!(good.parse::<ItemKey>().unwrap().to_string(), good);
        }
        for bad in ["fix", "#", "#Fix", "#fix@", "#fix@0123abc", "#fix@0123ABCD", "#fix@0123abcd."]
        {
            assert!(bad.parse::<ItemKey>().is_err(), "{bad}");
        }
        for bad in ["#fix@0123abcd.1", "#fix@0123abcd.02", "#fix@0123abcd.+2", "#a b"] {
            assert!(bad.parse::<ItemKey>().is_err(), "{bad}");
        }
    }
}
