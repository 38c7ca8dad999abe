//! The table as a file, and the templates that make kinds known.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::{Command, KINDS_MAX, Mode, REUSES_MAX, Rank, Route, Skill, TABLE_BYTES_MAX, Table};
use crate::document::Document;
use crate::moves::Trust;
use crate::name::Stage;
use crate::plain::open_plain;
use crate::request::RequeueTo;

/// The most templates that are looked at, and folders of skills.
const TEMPLATES_MAX: usize = 1_000;

/// How much of a template is read. Its Tags line stands in its head.
const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DispatchError {
    /// The disk or the system failed.
    #[error("{}: cannot read it", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// Over the limit.
    #[error("the table is too large, expected at most {TABLE_BYTES_MAX} bytes")]
    TooLarge,

    /// Over the limit.
    #[error("found too many kinds of work, expected at most {KINDS_MAX}")]
    TooMany,

    /// Not a table.
    #[error("line {line}: {field}: {why}")]
    Wrong {
        /// The line of the mistake, counted from 1.
        line: u64,
        /// The field that is wrong; `.` when it is the whole.
        field: String,
        /// What is wrong with it.
        why: String,
    },

    /// One kind of work has one skill.
    #[error("{}: {kind} belongs to {first}, and cannot be for {second} too", path.display())]
    Twice {
        /// The kind.
        kind: String,
        /// The skill that has it.
        first: Skill,
        /// The skill that wants it.
        second: Skill,
        /// The template that says so.
        path: PathBuf,
    },
}

/// The file's own form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    strict_approval: bool,
    #[serde(default)]
    requeue: Option<Back>,
    #[serde(default)]
    approvals: Option<Reuses>,
    #[serde(default)]
    kinds: BTreeMap<Kind, WrittenRoute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRoute {
    #[serde(default)]
    skill: Option<Skill>,
    #[serde(default)]
    mode: Option<Modes>,
    #[serde(default)]
    rank: Option<Rank>,
    #[serde(default)]
    command: Option<Command>,
    #[serde(default)]
    requeue: Option<Back>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Back {
    Needs,
    Delegated,
}

impl From<Back> for RequeueTo {
    fn from(back: Back) -> Self {
        match back {
            Back::Needs => Self::Needs,
            Back::Delegated => Self::Delegated,
        }
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Kind(String);

struct Modes(Vec<Mode>);

struct Reuses(u32);

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let kind = String::deserialize(from)?;
        let fits = Stage::Delegated.of(&kind).is_ok_and(|tag| tag.stage().is_some());
        let wrong = || D::Error::custom(format!("found `{}`, expected a kind", super::cut(&kind)));
        if fits { Ok(Self(kind)) } else { Err(wrong()) }
    }
}

impl<'de> Deserialize<'de> for Modes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let modes = String::deserialize(from)?;
        let modes: Result<Vec<_>, _> = modes.split('/').map(|mode| mode.trim().parse()).collect();
        modes.map(Self).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Reuses {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = u32::deserialize(from)?;
        let wrong = || D::Error::custom(format!("found {found}, expected at most {REUSES_MAX}"));
        if found <= REUSES_MAX { Ok(Self(found)) } else { Err(wrong()) }
    }
}

impl<'de> Deserialize<'de> for Skill {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Rank {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = f64::deserialize(from)?;
        let wrong = || D::Error::custom(format!("found {found}, expected a rank from 0 to 1000"));
        Self::new(found).ok_or_else(wrong)
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(Vec::deserialize(from)?).map_err(D::Error::custom)
    }
}

impl Table {
    /// Reads a table over the default one: what it does not say stays as it is there.
    pub fn parse(text: &str) -> Result<Self, DispatchError> {
        if text.len() > TABLE_BYTES_MAX {
            return Err(DispatchError::TooLarge);
        }
        let mut table = Self::default();
        if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
            return Ok(table);
        }
        let written: Written = serde_saphyr::from_str(text).map_err(|error| {
            let line = error.location().map_or(1, |location| location.line().max(1));
            let said = error.without_snippet().to_string();
            let why = said.split(" at line ").next().unwrap_or(&said).lines().next().unwrap_or("");
            let why = why.trim_start_matches("error: ").to_owned();
            DispatchError::Wrong { line, field: field_on(text, line), why }
        })?;
        if written.strict_approval {
            table.trust = Trust::Recorded;
        }
        table.reuses_max = written.approvals.map_or(REUSES_MAX, |reuses| reuses.0);
        if let Some(back) = written.requeue {
            table.routes.values_mut().for_each(|route| route.requeue = back.into());
        }
        let requeue = written.requeue.map_or(RequeueTo::Needs, RequeueTo::from);
        for (Kind(kind), said) in written.kinds {
            let new = || Self::new_route(&kind, &said, requeue);
            let route = match table.routes.remove(&kind) {
                Some(known) => known,
                None => new().map_err(|why| {
                    let (line, field) = (line_of(text, &kind), format!("kinds.{kind}.skill"));
                    DispatchError::Wrong { line, field, why }
                })?,
            };
            let route = said.over(route);
            table.routes.insert(kind, route);
        }
        match table.routes.len() > KINDS_MAX {
            true => Err(DispatchError::TooMany),
            false => Ok(table),
        }
    }

    /// Reads a table from a file. One that is not there is the default.
    pub fn read(path: &Path) -> Result<Self, DispatchError> {
        let failed = |source| DispatchError::Failed { path: path.to_owned(), source };
        let mut text = String::new();
        match open_plain(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error)),
            Ok(file) => {
                let mut limited = file.take(TABLE_BYTES_MAX as u64 + 1);
                limited.read_to_string(&mut text).map_err(failed)?;
            }
        }
        Self::parse(&text)
    }

    fn new_route(kind: &str, said: &WrittenRoute, requeue: RequeueTo) -> Result<Route, String> {
        let skill = match &said.skill {
            Some(skill) => skill.clone(),
            None => return Err(format!("{kind} is new, expected its skill")),
        };
        let (modes, rank) = (vec![Mode::Interactive], Rank::LAST);
        Ok(Route { skill, modes, rank, command: None, requeue })
    }
}

impl WrittenRoute {
    fn over(self, route: Route) -> Route {
        Route {
            skill: self.skill.unwrap_or(route.skill),
            // A command that was named gets its request and is heard, unless it wants a terminal.
            modes: match (self.mode, &self.command) {
                (Some(modes), _) => modes.0,
                (None, Some(_)) => vec![Mode::Agent],
                (None, None) => route.modes,
            },
            rank: self.rank.unwrap_or(route.rank),
            command: self.command.or(route.command),
            requeue: self.requeue.map_or(route.requeue, RequeueTo::from),
        }
    }
}

/// Names the field that a line is about: the parser tells places, people think in names.
fn field_on(text: &str, line: u64) -> String {
    let key = |line: &str| {
        let (key, _) = line.trim().split_once(':')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        (!key.is_empty() && key.chars().all(plain)).then(|| key.to_owned())
    };
    let at = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let lines: Vec<_> = text.lines().take(at.saturating_add(1)).collect();
    let mut names: Vec<String> = Vec::new();
    let mut depth = usize::MAX;
    for line in lines.iter().rev() {
        let indent = line.len() - line.trim_start().len();
        if line.trim().is_empty() || indent >= depth {
            continue;
        }
        let Some(key) = key(line) else {
            continue;
        };
        names.insert(0, key);
        depth = indent;
        if depth == 0 {
            break;
        }
    }
    if names.is_empty() { ".".to_owned() } else { names.join(".") }
}

fn line_of(text: &str, kind: &str) -> u64 {
    let key = |line: &str| line.trim().trim_matches(['"', '\'']).starts_with(kind);
    text.lines().position(key).map_or(1, |at| at as u64 + 1)
}

/// A request template, which makes a kind of work known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The kind on its Tags line.
    pub kind: String,
    /// The skill that it belongs to.
    pub skill: Skill,
    /// The file.
    pub path: PathBuf,
}

/// Looks for request templates below a workspace, in the order of their paths.
///
/// In `.baton/templates/` the skill is named by the file, in `.claude/skills/NAME/assets/` by the
/// folder. What is no template is passed over.
pub fn discover(workspace: &Path) -> Vec<Template> {
    let mut found = in_folder(&workspace.join(".baton/templates"), None);
    for skill in listed(&workspace.join(".claude/skills")) {
        let name = skill.file_name().and_then(|name| name.to_str()).map(str::to_owned);
        found.extend(in_folder(&skill.join("assets"), name.as_deref()));
    }
    found
}

fn in_folder(folder: &Path, skill: Option<&str>) -> Vec<Template> {
    let template = |path: PathBuf| {
        let stem = path.file_stem()?.to_str()?;
        let is_request = path.extension()? == "md" && stem.contains("REQUEST");
        let kind = kind_of(&path).filter(|_| is_request)?;
        let stem = stem.replace("TEMPLATE_", "").replace("_REQUEST", "").replace("REQUEST", "");
        let own = stem.trim_matches('_').to_lowercase().replace('_', "-");
        let skill = skill.map_or(own, str::to_owned).parse().or_else(|_| kind.parse()).ok()?;
        Some(Template { kind, skill, path })
    };
    listed(folder).into_iter().filter_map(template).collect()
}

/// Returns the kind whose `#needs` stands on a file's Tags line.
fn kind_of(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    open_plain(path).ok()?.take(HEAD_BYTES_MAX).read_to_end(&mut head).ok()?;
    let document = Document::read(&head);
    let mut on_line = document.occurrences().iter().filter(|found| found.on_tags_line);
    on_line.find_map(|found| match found.tag.stage()? {
        (Stage::Needs, kind) => Some(kind.to_owned()),
        _ => None,
    })
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(TEMPLATES_MAX);
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}
