//! How much a text has to do with a task (BM25), in any language and without a dictionary.

use std::collections::HashMap;

/// How quickly more of the same word stops to matter.
const SATURATION: f64 = 1.2;
/// How much a long text must have more of a word than a short one.
const LENGTH: f64 = 0.75;

/// What is looked for: the words of a task, its reason and the names of its files.
#[derive(Debug)]
pub(crate) struct Query {
    /// Position of each word, by its hash. Only looked up in, never walked through.
    words: HashMap<u64, usize>,
    /// Whether any word has this end of its hash: nearly all words of a text are ruled out by it,
    /// and never looked up.
    near: Vec<bool>,
}

/// How many ends of hashes are told apart.
const NEAR: usize = 4_096;

fn end_of(term: u64) -> usize {
    // The upper half is mixed better than the lower.
    (term >> 32) as usize % NEAR
}

impl Query {
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words = HashMap::new();
        for text in texts {
            terms(text, |term| {
                let next = words.len();
                words.entry(term).or_insert(next);
            });
        }
        let mut near = vec![false; NEAR];
        for term in words.keys() {
            near[end_of(*term)] = true;
        }
        Self { words, near }
    }

    /// The score of each text; those without any of the words have zero.
    pub(crate) fn scores<'a, T>(&self, texts: impl Iterator<Item = T>) -> Vec<f64>
    where
        T: IntoIterator<Item = &'a str>,
    {
        let mut found: Vec<(Vec<(usize, u32)>, usize)> = Vec::new();
        let mut holders = vec![0_usize; self.words.len()];
        let mut counts = vec![0_u32; self.words.len()];
        for text in texts {
            let mut length = 0;
            let mut seen = Vec::new();
            for piece in text {
                terms(piece, |term| {
                    length += 1;
                    if self.near[end_of(term)]
                        && let Some(&word) = self.words.get(&term)
                    {
                        if counts[word] == 0 {
                            seen.push(word);
                        }
                        counts[word] += 1;
                    }
                });
            }
            // Sums of fractions depend on their order, so it is always the same.
            seen.sort_unstable();
            let take = |word: usize| (word, std::mem::take(&mut counts[word]));
            let seen: Vec<_> = seen.into_iter().map(take).collect();
            for (word, _) in &seen {
                holders[*word] += 1;
            }
            found.push((seen, length));
        }
        let total: usize = found.iter().map(|(_, length)| length).sum();
        let (number, mean) = (found.len() as f64, total as f64 / found.len().max(1) as f64);
        let weigh = |holders: &usize| {
            let holders = *holders as f64;
            (1.0 + (number - holders + 0.5) / (holders + 0.5)).ln()
        };
        let weights: Vec<f64> = holders.iter().map(weigh).collect();
        let score = |(seen, length): &(Vec<(usize, u32)>, usize)| {
            let long = 1.0 - LENGTH + LENGTH * (*length as f64) / mean.max(1.0);
            let of = |&(word, count): &(usize, u32)| {
                let count = f64::from(count);
                weights[word] * count * (SATURATION + 1.0) / (count + SATURATION * long)
            };
            seen.iter().map(of).sum()
        };
        found.iter().map(score).collect()
    }
}

/// Tells the words of a text as hashes of their lower case.
///
/// An identifier or path is told in its pieces (`readFile`, `read_file` and `read/file` are `read`
/// and `file`), and one of several pieces as a whole, too. Scripts without spaces are told in pairs
/// of neighbours.
pub(crate) fn terms(text: &str, mut tell: impl FnMut(u64)) {
    let mut word = Word::default();
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        // Nearly all of nearly every text is ASCII, and is not decoded.
        if byte.is_ascii() {
            word.end_pairs(&mut tell);
            at += 1;
            match byte {
                b'a'..=b'z' => word.add_small(byte),
                b'A'..=b'Z' => {
                    let next_lower = text[at..].chars().next().is_some_and(char::is_lowercase);
                    word.add(char::from(byte), true, next_lower, &mut tell);
                }
                b'0'..=b'9' => word.add(char::from(byte), false, false, &mut tell),
                b'_' => word.end_piece(&mut tell),
                _ => word.end(&mut tell),
            }
            continue;
        }
        let mut rest = text[at..].chars();
        let Some(found) = rest.next() else { break };
        at += found.len_utf8();
        if unspaced(found) {
            word.end(&mut tell);
            word.pair(found, &mut tell);
            continue;
        }
        word.end_pairs(&mut tell);
        if found.is_alphanumeric() {
            let upper = found.is_uppercase();
            let next_lower = upper && rest.next().is_some_and(char::is_lowercase);
            word.add(found, upper, next_lower, &mut tell);
        } else {
            word.end(&mut tell);
        }
    }
    word.end(&mut tell);
    word.end_pairs(&mut tell);
}

/// FNV-1a: the words themselves are not needed, only whether two are the same.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, found: char) {
        self.0 = (self.0 ^ u64::from(u32::from(found))).wrapping_mul(0x0100_0000_01b3);
    }
}

struct Word {
    piece: Hash,
    piece_length: usize,
    /// All pieces so far as one; kept from the second piece on.
    whole: Hash,
    pieces: usize,
    after_lower: bool,
    last_unspaced: Option<char>,
    paired: bool,
}

impl Default for Word {
    fn default() -> Self {
        Self {
            piece: Hash::EMPTY,
            piece_length: 0,
            whole: Hash::EMPTY,
            pieces: 0,
            after_lower: false,
            last_unspaced: None,
            paired: false,
        }
    }
}

impl Word {
    fn add(&mut self, found: char, upper: bool, next_lower: bool, tell: &mut impl FnMut(u64)) {
        // `readFile` and `HTTPServer`: a new piece begins with a capital after a small letter, or
        // before one.
        if upper && (self.after_lower || (next_lower && self.piece_length > 0)) {
            self.end_piece(tell);
        }
        self.after_lower = !upper;
        self.piece_length += 1;
        for lower in found.to_lowercase() {
            self.add_lower(lower);
        }
    }

    /// Adds a small ASCII letter, which never begins a new piece.
    fn add_small(&mut self, byte: u8) {
        self.after_lower = true;
        self.piece_length += 1;
        self.add_lower(char::from(byte));
    }

    fn add_lower(&mut self, found: char) {
        self.piece.add(found);
        if self.pieces > 0 {
            self.whole.add(found);
        }
    }

    fn end_piece(&mut self, tell: &mut impl FnMut(u64)) {
        if self.piece_length > 0 {
            tell(self.piece.0);
            if self.pieces == 0 {
                self.whole = self.piece;
            }
            self.pieces += 1;
            self.piece = Hash::EMPTY;
            self.piece_length = 0;
        }
        self.after_lower = false;
    }

    fn end(&mut self, tell: &mut impl FnMut(u64)) {
        self.end_piece(tell);
        if self.pieces > 1 {
            tell(self.whole.0);
        }
        self.pieces = 0;
        self.whole = Hash::EMPTY;
    }

    fn pair(&mut self, found: char, tell: &mut impl FnMut(u64)) {
        if let Some(last) = self.last_unspaced.replace(found) {
            let mut pair = Hash::EMPTY;
            pair.add(last);
            pair.add(found);
            tell(pair.0);
            self.paired = true;
        }
    }

    fn end_pairs(&mut self, tell: &mut impl FnMut(u64)) {
        if let Some(last) = self.last_unspaced.take()
            && !self.paired
        {
            let mut single = Hash::EMPTY;
            single.add(last);
            tell(single.0);
        }
        self.paired = false;
    }
}

/// Whether a script writes words without spaces between them: Chinese, Japanese and its neighbours,
/// Thai, Lao, Burmese and Khmer. Korean has spaces, but its words carry endings.
fn unspaced(found: char) -> bool {
    matches!(u32::from(found),
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff
        | 0x3005..=0x3007 | 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xff66..=0xff9f | 0x2_0000..=0x3_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<u64> {
        let mut told = Vec::new();
        terms(text, |term| told.push(term));
        told
    }

    fn scores(query: &str, texts: &[&str]) -> Vec<f64> {
        Query::new([query]).scores(texts.iter().map(|text| [*text]))
    }

    #[test]
    fn identifiers_and_paths_are_the_words_they_are_made_of() {
        assert_eq!(told("readFile"), told("read_file"));
        assert_eq!(told("read/file"), told("READ file"));
        assert_eq!(told("HTTPServer")[..2], told("http server"));
        // The pieces, and the whole.
        assert_eq!(told("read_file").len(), 3);
        assert_eq!(told("Größe"), told("GRÖSSE größe")[1..]);
    }

    #[test]
    fn scripts_without_spaces_are_told_in_pairs() {
        assert_eq!(told("引き継ぎ").len(), 3);
        assert_eq!(told("字").len(), 1);
        assert_eq!(told("字 abc").len(), 2);
    }

    #[test]
    fn rare_words_of_the_task_weigh_more_than_usual_ones() {
        let found = scores("fix the parser", &["the cat", "the parser fails", "the dog", "none"]);
        assert!(found[1] > found[0] && found[0] > found[3]);
        assert_eq!(found[3], 0.0);
    }

    #[test]
    fn a_file_is_found_by_its_name_in_any_spelling() {
        let found = scores("crates/context/src/rank.rs", &["see RankContext", "see the docs"]);
        assert!(found[0] > 0.0 && found[1] == 0.0);
    }
}
