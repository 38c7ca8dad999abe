//! Makes an artifact of a draft of any size.
//!
//! What is cut, and in which order: of lists with too many entries the oldest; texts over their
//! limit, if nobody can be asked; and then, while the whole is over its limit, the oldest file, the
//! oldest decision, and at last the longest text of those two lists, shortened. One file and one
//! decision always stay. Story id, path, status, current task, branch, blockers, and the next
//! action are never cut to make room for others.

use baton_protocol::limits::COMPACT_TOKENS_MAX;
use baton_protocol::time::Timestamp;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::clean::{clean, shortened, weight, weight_up_to};
use super::{Artifact, Draft, Field};
use crate::Tokenizer;

/// The shortest that a decision or a file is made, in tokens.
const SHORTEST_TOKENS: usize = 10;

/// What becomes of a text that is over its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Whoever gave it hears so and can say it in fewer words.
    Refuse,
    /// It was found and not given, so nobody can be asked: it is shortened, with a mark.
    Shorten,
}

/// An artifact, and what it took to make it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compact {
    /// The artifact.
    pub artifact: Artifact,
    /// As it is written.
    pub yaml: String,
    /// How many tokens that is.
    pub tokens: usize,
    /// What is not in it although it was in the draft, in the order in which it was cut.
    pub cuts: Vec<Cut>,
}

/// Something that did not fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "cut")]
pub enum Cut {
    /// An entry of a list, left out whole.
    #[error("left out of {field}: {text}")]
    Dropped {
        /// The list.
        field: Field,
        /// What it said.
        text: String,
    },
    /// A text, of which a part is left.
    #[error("shortened {field} from {found} to {kept} tokens: {text}")]
    Shortened {
        /// Where it stands.
        field: Field,
        /// How many tokens it was; of a very long text, of its beginning.
        found: usize,
        /// How many it is now.
        kept: usize,
        /// What it says now.
        text: String,
    },
}

/// Why no artifact can be made. Nothing was cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooLong {
    /// A text over its limit.
    #[error("{field} is {found} tokens long; expected at most {allowed}")]
    Text {
        /// Which.
        field: Field,
        /// How long it is; of a very long text, how long its beginning is.
        found: usize,
        /// How long it may be.
        allowed: usize,
    },
    /// A list that may not be cut, with too many entries.
    #[error("{field} has {found} entries; expected at most {allowed}")]
    List {
        /// Which.
        field: Field,
        /// How many it has.
        found: usize,
        /// How many it may have.
        allowed: usize,
    },
    /// Each text is within its limit, and all that may not be cut are too long together.
    #[error("what may not be cut is {found} tokens long; expected at most {allowed}")]
    Whole {
        /// How long it is.
        found: usize,
        /// How long it may be.
        allowed: usize,
    },
}

impl Draft {
    /// Makes the artifact. The same draft at the same moment gives the same bytes.
    pub fn compact(
        mut self,
        at: Timestamp,
        door: Door,
        tokenizer: Tokenizer,
    ) -> Result<Compact, TooLong> {
        for (_, text) in self.singles() {
            *text = clean(text);
        }
        for (_, texts) in self.lists() {
            *texts = distinct(texts);
        }
        let source = fingerprint(&self);
        let mut cuts = Vec::new();
        self.bound_lists(door, &mut cuts)?;
        self.bound_texts(door, tokenizer, &mut cuts)?;
        let artifact =
            Artifact { draft: self, timestamp: Some(at), consumed: false, source: Some(source) };
        artifact.fit(tokenizer, cuts)
    }

    fn bound_lists(&mut self, door: Door, cuts: &mut Vec<Cut>) -> Result<(), TooLong> {
        for (field, texts) in self.lists() {
            let (found, allowed) = (texts.len(), field.entries_max());
            // What stands in the way is never left out behind the back of whoever said it.
            if found > allowed && field == Field::Blockers && door == Door::Refuse {
                return Err(TooLong::List { field, found, allowed });
            }
            let over = found.saturating_sub(allowed);
            cuts.extend(texts.drain(..over).map(|text| Cut::Dropped { field, text }));
        }
        Ok(())
    }

    fn bound_texts(
        &mut self,
        door: Door,
        tokenizer: Tokenizer,
        cuts: &mut Vec<Cut>,
    ) -> Result<(), TooLong> {
        let names = [(Field::FromAgent, &self.from_agent), (Field::ToAgent, &self.to_agent)];
        for (field, name) in names {
            // Half a name is another agent's.
            let (found, allowed) = (weight(name.as_str(), tokenizer), field.tokens_max());
            if found > allowed {
                return Err(TooLong::Text { field, found, allowed });
            }
        }
        let mut bound = |field: Field, text: &mut String| {
            let allowed = field.tokens_max();
            let found = weight_up_to(text, allowed, tokenizer);
            match door {
                _ if found <= allowed => (),
                Door::Refuse => return Err(TooLong::Text { field, found, allowed }),
                Door::Shorten => cuts.push(shorten(field, text, allowed, tokenizer)),
            }
            Ok(())
        };
        for (field, text) in self.singles() {
            bound(field, text)?;
        }
        for (field, texts) in self.lists() {
            for text in texts {
                bound(field, text)?;
            }
        }
        Ok(())
    }
}

impl Artifact {
    fn fit(mut self, tokenizer: Tokenizer, mut cuts: Vec<Cut>) -> Result<Compact, TooLong> {
        loop {
            let yaml = self.to_yaml();
            let tokens = tokenizer.count(&yaml);
            if tokens <= COMPACT_TOKENS_MAX {
                return Ok(Compact { artifact: self, yaml, tokens, cuts });
            }
            let (files, decisions) = (&mut self.draft.files_modified, &mut self.draft.decisions);
            if files.len() > 1 {
                let text = files.remove(0);
                cuts.push(Cut::Dropped { field: Field::FilesModified, text });
                continue;
            }
            if decisions.len() > 1 {
                let text = decisions.remove(0);
                cuts.push(Cut::Dropped { field: Field::Decisions, text });
                continue;
            }
            let left = [(Field::Decisions, decisions), (Field::FilesModified, files)];
            let left = left.into_iter().filter_map(|(field, texts)| {
                let text = texts.first_mut()?;
                let weight = weight(text, tokenizer);
                (weight > SHORTEST_TOKENS).then_some((weight, field, text))
            });
            let Some((weight, field, text)) = left.max_by_key(|(weight, ..)| *weight) else {
                return Err(TooLong::Whole { found: tokens, allowed: COMPACT_TOKENS_MAX });
            };
            let allowed = weight.saturating_sub(tokens - COMPACT_TOKENS_MAX).max(SHORTEST_TOKENS);
            cuts.push(shorten(field, text, allowed.min(weight - 1), tokenizer));
        }
    }
}

fn shorten(field: Field, text: &mut String, allowed: usize, tokenizer: Tokenizer) -> Cut {
    let found = weight_up_to(text, field.tokens_max(), tokenizer);
    *text = shortened(text, allowed, field.keeps_its_end(), tokenizer);
    Cut::Shortened { field, found, kept: weight(text, tokenizer), text: text.clone() }
}

/// The texts that say something, each once, where it was said last.
fn distinct(texts: &[String]) -> Vec<String> {
    let cleaned: Vec<_> = texts.iter().map(|text| clean(text)).collect();
    let mut kept: Vec<String> = Vec::new();
    for text in cleaned.into_iter().rev() {
        if !text.is_empty() && !kept.contains(&text) {
            kept.push(text);
        }
    }
    kept.reverse();
    kept
}

/// The SHA-256 of a draft, secrets masked and nothing cut: who has the same draft can tell that an
/// artifact was made from it.
fn fingerprint(draft: &Draft) -> String {
    let json = serde_json::to_vec(draft).expect("texts can always be written");
    Sha256::digest(json).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
