//! The dispatch table: which skill does which kind of work, how, and what comes first.
//!
//! Pure but for [`discover`], which looks for request templates. A table may come from a file that
//! an agent could write, so a command is an argument vector and never a shell line, and what is
//! filled in stays inside its argument.

mod read;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::Timestamp;

use crate::item::Item;
use crate::moves::Trust;
use crate::name::Stage;
use crate::request::{Request, RequeueTo};

pub use read::{DispatchError, Template, discover};

/// The largest table, in bytes.
pub const TABLE_BYTES_MAX: usize = 256 * 1024;

/// The most kinds of work.
pub const KINDS_MAX: usize = 200;

/// The most words of a command.
pub const ARGUMENTS_MAX: usize = 64;

/// The longest word of a command, or name of a skill, in bytes.
pub const WORD_MAX: usize = 4096;

/// How often one approval may be used again after a crash, at most.
pub const REUSES_MAX: u32 = 3;

/// Where and how each kind of work is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    routes: BTreeMap<String, Route>,
    /// Whose word counts as an approval (`strict_approval`).
    pub trust: Trust,
    /// How often one approval may be used again after a crash (`approvals`).
    pub reuses_max: u32,
}

/// How one kind of work is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The skill, such as `/fix`.
    pub skill: Skill,
    /// The ways in which it can be run; the first is the usual one.
    pub modes: Vec<Mode>,
    /// Its place among kinds of the same weight.
    pub rank: Rank,
    /// What to start, if the table says so.
    pub command: Option<Command>,
    /// Where it goes when its worker dies.
    pub requeue: RequeueTo,
}

/// How a skill is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// With a person at the terminal.
    Interactive,
    /// Started now and looked for later.
    Async,
    /// By itself, without a terminal.
    Agent,
}

impl Mode {
    const ALL: [Self; 3] = [Self::Interactive, Self::Async, Self::Agent];

    /// Returns the name in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Async => "async",
            Self::Agent => "agent",
        }
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        found.ok_or_else(|| format!("found `{}`, expected interactive, async or agent", cut(text)))
    }
}

/// The name of a skill, with its slash: `/deep-research`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Skill(String);

impl Skill {
    /// The longest name, with its slash.
    pub const LENGTH_MAX: usize = 64;

    /// Returns the name with its slash.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Skill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.strip_prefix('/').unwrap_or(text);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let fits = name.len() < Self::LENGTH_MAX && name.starts_with(|c: char| c.is_alphanumeric());
        match fits && name.chars().all(plain) {
            true => Ok(Self(format!("/{name}"))),
            false => Err(format!("found `{}`, expected a skill such as /fix", cut(text))),
        }
    }
}

impl fmt::Display for Skill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The place of a kind of work among others. It may be 4.5, so it is kept in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(u32);

impl Rank {
    /// Behind every other: kinds that only a template made known.
    pub const LAST: Self = Self(1_000_000);

    /// Takes a number from 0 to 1000.
    pub fn new(number: f64) -> Option<Self> {
        let fits = (0.0..=1000.0).contains(&number);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to a million"
        )]
        fits.then(|| Self((number * 1000.0).round() as u32))
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (f64::from(self.0) / 1000.0).fmt(f)
    }
}

/// A program and its arguments, with places to fill in: `{file}`, `{item}`, `{session}`, `{skill}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command(Vec<String>);

/// What is filled into a command.
#[derive(Clone, Copy, Debug)]
pub struct Filling<'a> {
    /// The request file.
    pub file: &'a str,
    /// Which item of it.
    pub item: &'a str,
    /// The folder of the worker's session.
    pub session: &'a str,
    /// The skill.
    pub skill: &'a str,
}

impl Command {
    /// Takes an argument vector. The program itself has nothing to fill in.
    pub fn parse(words: Vec<String>) -> Result<Self, String> {
        if !(1..=ARGUMENTS_MAX).contains(&words.len()) {
            return Err(format!("found {} words, expected 1 to {ARGUMENTS_MAX}", words.len()));
        }
        for (at, word) in words.iter().enumerate() {
            if word.len() > WORD_MAX || word.contains('\0') || (at == 0 && word.is_empty()) {
                return Err(format!("word {} is empty, too long or has a zero byte", at + 1));
            }
            for (_, name) in places(word) {
                let known = matches!(name, "file" | "item" | "session" | "skill");
                if !known || at == 0 {
                    let expected = "{file}, {item}, {session} or {skill} behind the program";
                    return Err(format!("found `{{{}}}`, expected {expected}", cut(name)));
                }
            }
        }
        Ok(Self(words))
    }

    /// Returns the words with everything filled in. What is filled in is never looked at again.
    ///
    /// A file that begins with `-` becomes `./-…`, or the program would take it for an option.
    pub fn filled(&self, with: &Filling<'_>) -> Vec<String> {
        let fill = |word: &String| {
            let mut filled = String::new();
            let mut copied = 0;
            for (at, name) in places(word) {
                filled.push_str(&word[copied..at]);
                copied = at + name.len() + 2;
                let value = match name {
                    "file" => with.file,
                    "item" => with.item,
                    "session" => with.session,
                    _ => with.skill,
                };
                if filled.is_empty() && value.starts_with('-') {
                    filled.push_str("./");
                }
                filled.push_str(value);
            }
            filled.push_str(&word[copied..]);
            filled
        };
        self.0.iter().map(fill).collect()
    }
}

/// Finds the `{names}` of a word, with their places. Other braces are text.
fn places(word: &str) -> Vec<(usize, &str)> {
    let name = |(at, _): (usize, &str)| {
        let (name, _) = word[at + 1..].split_once('}')?;
        let fits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
        fits.then_some((at, name))
    };
    word.match_indices('{').filter_map(name).collect()
}

impl Default for Table {
    /// The table of the handoff document.
    fn default() -> Self {
        use Mode::{Agent, Async, Interactive};
        let known: [(&str, &str, &[Mode], u32); 7] = [
            ("brainstorm", "brainstorm", &[Interactive], 1_000),
            ("research", "research", &[Async], 2_000),
            ("fix", "fix", &[Interactive, Agent], 3_000),
            ("implementation", "implement", &[Interactive, Agent], 4_000),
            ("loop", "loop", &[Interactive], 4_500),
            ("chores", "chores", &[Interactive], 5_000),
            ("documentation", "document", &[Interactive], 6_000),
        ];
        let route = |(kind, skill, modes, rank): (&str, &str, &[Mode], u32)| {
            let skill = Skill(format!("/{skill}"));
            let (modes, rank) = (modes.to_vec(), Rank(rank));
            let requeue = RequeueTo::Needs;
            (kind.to_owned(), Route { skill, modes, rank, command: None, requeue })
        };
        let routes = known.into_iter().map(route).collect();
        Self { routes, trust: Trust::ByHand, reuses_max: REUSES_MAX }
    }
}

impl Table {
    /// Returns how work of this kind is done, if anybody does it.
    pub fn route(&self, kind: &str) -> Option<&Route> {
        self.routes.get(kind)
    }

    /// Returns all kinds in the order of their ranks.
    pub fn routes(&self) -> Vec<(&str, &Route)> {
        let mut routes: Vec<_> =
            self.routes.iter().map(|(kind, route)| (kind.as_str(), route)).collect();
        routes.sort_by_key(|(_, route)| route.rank);
        routes
    }

    /// Makes a kind known by its request template. A kind that is known keeps its route.
    ///
    /// Returns whether it is new. Two templates that send one kind to two skills are a mistake.
    pub fn learn(&mut self, template: &Template) -> Result<bool, DispatchError> {
        let Template { kind, skill, path } = template;
        if let Some(known) = self.routes.get(kind) {
            let by_template = known.rank == Rank::LAST;
            return match by_template && known.skill != *skill {
                true => Err(DispatchError::Twice {
                    kind: kind.clone(),
                    first: known.skill.clone(),
                    second: skill.clone(),
                    path: path.clone(),
                }),
                false => Ok(false),
            };
        }
        if self.routes.len() == KINDS_MAX {
            return Err(DispatchError::TooMany);
        }
        let (modes, requeue) = (vec![Mode::Interactive], RequeueTo::Needs);
        let route = Route { skill: skill.clone(), modes, rank: Rank::LAST, command: None, requeue };
        self.routes.insert(kind.clone(), route);
        Ok(true)
    }

    /// Tells which of two pieces of work comes first: weight, rank, first seen, then the place.
    pub fn compare(&self, a: &Queued, b: &Queued) -> Ordering {
        let rank = |queued: &Queued| {
            self.routes.get(queued.item.key.kind()).map_or(Rank::LAST, |route| route.rank)
        };
        let place = |queued: &Queued| (queued.item.priority, rank(queued), queued.first_seen);
        let order = place(a).cmp(&place(b)).then_with(|| a.path.cmp(&b.path));
        // Two of one line stand in the order of their names.
        order.then_with(|| (a.item.line, &a.item.key).cmp(&(b.item.line, &b.item.key)))
    }

    /// Puts work in the order in which it is to be started.
    pub fn order(&self, queue: &mut [Queued]) {
        queue.sort_by(|a, b| self.compare(a, b));
    }
}

/// A piece of work that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The file.
    pub path: PathBuf,
    /// The item of it.
    pub item: Item,
    /// Since when it waits, as far as that is known.
    pub first_seen: Timestamp,
}

impl Queued {
    /// Lists the work of a text that waits for the daemon. `modified` is when the file was last
    /// changed, which is the best guess for what was approved by hand.
    pub fn of(path: &Path, text: &[u8], modified: Timestamp) -> Vec<Self> {
        let request = Request::read(text);
        let waits = |item: &&Item| item.stage == Stage::Delegated;
        let queued = |item: &Item| {
            let approved = request.approval_of(&item.key).map(|approval| approval.at);
            let first_seen = approved.unwrap_or(modified);
            Self { path: path.to_owned(), item: item.clone(), first_seen }
        };
        request.items().iter().filter(waits).map(queued).collect()
    }
}

fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests;
