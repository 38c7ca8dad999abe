//! What goes into a compact artifact: what is typed, and what git and a transcript tell.

use std::path::{Path, PathBuf};

use baton_context::{Compact, Cut, Door, Draft, Found, Story, Tokenizer, TooLong};
use baton_protocol::id::AgentId;
use baton_protocol::time::Timestamp;
use clap::Args;
use serde::Serialize;

use crate::evidence::git::{self, Repository};
use crate::evidence::transcripts;
use crate::failure::Failure;
use crate::shelf::{Inventory, Kept, Shelf};

/// What can be said about the work. What is typed counts; the rest may be found.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The work")]
pub(super) struct Given {
    /// What the work is called, such as SHOP-12
    #[arg(long, value_name = "ID")]
    story: Option<String>,
    /// Where it is written down
    #[arg(long, value_name = "PATH")]
    story_path: Option<String>,
    /// How far it is, such as "Ready for Review"
    #[arg(long, value_name = "TEXT")]
    status: Option<String>,
    /// What was being worked on last
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,
    /// The branch; otherwise the one that git says
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// A decision that was made; may be given again, the oldest first
    #[arg(long, value_name = "TEXT")]
    decision: Vec<String>,
    /// A file that was created or changed; may be given again, the oldest first
    #[arg(long, value_name = "PATH")]
    file: Vec<String>,
    /// What stands in the way; may be given again
    #[arg(long, value_name = "TEXT")]
    blocker: Vec<String>,
    /// What the next agent should do
    #[arg(long, value_name = "TEXT")]
    next: Option<String>,
}

/// What is there anyway.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Evidence {
    pub(super) git: Option<Repository>,
    /// As it is shown; a name need not be UTF-8.
    pub(super) transcript: Option<String>,
    pub(super) found: Option<Found>,
}

impl Evidence {
    /// Looks at git alone.
    pub(super) fn of_git(folder: &Path) -> Self {
        Self { git: git::repository(folder), ..Self::default() }
    }

    /// Looks at git and the named transcript, or else the newest of work in `folder`.
    pub(super) fn of_all(folder: &Path, transcript: Option<&Path>) -> Result<Self, Failure> {
        let evidence = Self::of_git(folder);
        let root = evidence.git.as_ref().map(|git| git.root.as_path());
        let folders: Vec<_> = [Some(folder), root].into_iter().flatten().collect();
        let path = transcript.map(Path::to_owned).or_else(|| transcripts::newest(&folders));
        evidence.and_transcript(path.as_deref())
    }

    /// Looks at git and the named transcript, and at no other.
    pub(super) fn of_named(folder: &Path, transcript: Option<&Path>) -> Result<Self, Failure> {
        Self::of_git(folder).and_transcript(transcript)
    }

    fn and_transcript(self, path: Option<&Path>) -> Result<Self, Failure> {
        let found = path.map(transcripts::read).transpose()?.unwrap_or_default();
        let transcript = path.map(|path| path.display().to_string());
        Ok(Self { transcript, found: Some(found), ..self })
    }

    /// Where it looked, one sentence each.
    pub(super) fn sources(&self) -> Vec<String> {
        let mut told = Vec::new();
        match &self.git {
            None => told.push("no git repository here".to_owned()),
            Some(git) => {
                let state = match (git.diff_stat.as_str(), git.committed) {
                    (_, true) => "nothing that is not committed".to_owned(),
                    ("", false) => format!("{} new files", git.files.len()),
                    (stat, false) => stat.to_owned(),
                };
                told.push(format!("git: {}, {state}", git.branch));
                told.extend(git.commits.iter().map(|commit| format!("commit {commit}")));
            }
        }
        match (&self.transcript, &self.found) {
            (Some(path), Some(found)) => {
                let (lines, skipped) = (found.lines, found.skipped);
                told.push(format!("transcript {path}: {lines} lines, {skipped} not understood"));
            }
            _ => told.push("no transcript of this folder was found".to_owned()),
        }
        told
    }
}

/// A draft and what it lacks.
pub(super) struct Gathered {
    draft: Draft,
    given: Draft,
}

impl Given {
    /// Whether the work was named on the command line.
    pub(super) fn names_a_story(&self) -> bool {
        self.story.is_some() || self.story_path.is_some()
    }

    /// Fills a draft: what was typed, then what was found, then the story that goes on.
    pub(super) fn gather(
        self,
        between: Draft,
        evidence: &Evidence,
        before: Option<&Story>,
    ) -> Gathered {
        let goes_on = !self.names_a_story();
        let typed = |text: Option<String>| text.unwrap_or_default();
        let mut given = between;
        given.story_context = Story {
            story_id: typed(self.story),
            story_path: typed(self.story_path),
            story_status: typed(self.status),
            current_task: typed(self.task),
            branch: typed(self.branch),
        };
        given.decisions = self.decision;
        given.files_modified = self.file;
        given.blockers = self.blocker;
        given.next_action = typed(self.next);

        let mut draft = given.clone();
        let found = evidence.found.as_ref();
        let story = &mut draft.story_context;
        if let Some(before) = before.filter(|_| goes_on) {
            fill(&mut story.story_id, Some(&before.story_id));
            fill(&mut story.story_path, Some(&before.story_path));
        }
        fill(&mut story.branch, evidence.git.as_ref().map(|git| &git.branch));
        fill(&mut story.branch, found.and_then(|found| found.branch.as_ref()));
        fill(&mut story.current_task, found.and_then(|found| found.current_task.as_ref()));
        fill(&mut draft.next_action, found.and_then(|found| found.next_action.as_ref()));
        if let Some(found) = found {
            fill_list(&mut draft.decisions, &found.decisions);
            fill_list(&mut draft.blockers, &found.blockers);
            fill_list(&mut draft.files_modified, &files(evidence, found));
        }
        Gathered { draft, given }
    }
}

/// What git says is changed, and then what the transcript says was written: that has an order.
fn files(evidence: &Evidence, found: &Found) -> Vec<String> {
    let mut files = Vec::new();
    if let Some(git) = &evidence.git {
        // The files of the last commit are only a guess, for want of a better one.
        if !git.committed || found.files.is_empty() {
            files.extend(git.files.iter().cloned());
        }
    }
    let root = evidence.git.as_ref().map(|git| git.root.as_path());
    let written: Vec<_> = found.files.iter().map(|file| from_root(file, found, root)).collect();
    files.retain(|file| !written.contains(file));
    // What was written and is gone again was not left to anybody. If the folder itself is not here,
    // the transcript is from elsewhere and is believed.
    let folder = found.folder.as_deref().map(Path::new).filter(|folder| folder.is_dir());
    let is_there =
        |file: &str| folder.is_none_or(|folder| folder.join(file).symlink_metadata().is_ok());
    let named = found.files.iter().zip(written);
    files.extend(named.filter(|(file, _)| is_there(file)).map(|(_, written)| written));
    files
}

/// A file of a transcript as git names it: from the top of the repository, not from the folder that
/// was worked in.
fn from_root(file: &str, found: &Found, root: Option<&Path>) -> String {
    let folder = found.folder.as_deref().map(Path::new);
    let below = folder.zip(root).and_then(|(folder, root)| folder.strip_prefix(root).ok());
    match below.and_then(Path::to_str) {
        Some(below) if !below.is_empty() && Path::new(file).is_relative() => {
            format!("{below}/{file}")
        }
        _ => file.to_owned(),
    }
}

fn fill(text: &mut String, with: Option<&String>) {
    if let (true, Some(with)) = (text.is_empty(), with) {
        text.clone_from(with);
    }
}

fn fill_list(list: &mut Vec<String>, with: &[String]) {
    if list.is_empty() {
        list.extend_from_slice(with);
    }
}

impl Gathered {
    /// What an artifact should say and this one does not.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let (draft, story) = (&self.draft, &self.draft.story_context);
        let lacks = [
            ("story_id", story.story_id.is_empty()),
            ("story_path", story.story_path.is_empty()),
            ("story_status", story.story_status.is_empty()),
            ("current_task", story.current_task.is_empty()),
            ("branch", story.branch.is_empty()),
            ("decisions", draft.decisions.is_empty()),
            ("files_modified", draft.files_modified.is_empty()),
            ("next_action", draft.next_action.is_empty()),
        ];
        lacks.into_iter().filter_map(|(name, lacks)| lacks.then_some(name)).collect()
    }

    /// Makes the artifact. Whoever typed too much hears so; what was found is shortened.
    pub(super) fn compact(&self, at: Timestamp, tokenizer: Tokenizer) -> Result<Compact, Failure> {
        let wrong = |error: TooLong| {
            Failure::usage(error.to_string(), "say it in fewer words; nothing was written")
        };
        self.given.clone().compact(at, Door::Refuse, tokenizer).map_err(wrong)?;
        self.draft.clone().compact(at, Door::Shorten, tokenizer).map_err(wrong)
    }

    /// Makes the artifact, keeps it, and drops the oldest if there are too many.
    pub(super) fn place(
        &self,
        shelf: &Shelf,
        now: Timestamp,
        tokenizer: Tokenizer,
    ) -> Result<Placed, Failure> {
        self.place_over(shelf, now, tokenizer, |_| false)
    }

    /// The same; kept ones that are `stale` go first, so that they do not push others out.
    pub(super) fn place_over(
        &self,
        shelf: &Shelf,
        now: Timestamp,
        tokenizer: Tokenizer,
        stale: impl Fn(&Kept) -> bool,
    ) -> Result<Placed, Failure> {
        // What is wrong with it is told before the folder is even made.
        self.compact(now, tokenizer)?;
        let _lock = shelf.lock()?;
        let at = after(shelf.read(tokenizer)?.kept.last(), now);
        let compact = self.compact(at, tokenizer)?;
        let written = shelf.put(&compact, at)?;
        let Inventory { mut kept, notes } = shelf.read(tokenizer)?;
        let loaded = agents(&kept);
        let mut dropped = shelf.drop_those(&mut kept, |one| one.path != written && stale(one))?;
        dropped.extend(shelf.drop_oldest(&mut kept)?);
        Ok(Placed { compact, written, kept, dropped, loaded, notes })
    }
}

/// An artifact where it is kept, and the others there.
pub(super) struct Placed {
    pub(super) compact: Compact,
    pub(super) written: PathBuf,
    pub(super) kept: Vec<Kept>,
    pub(super) dropped: Vec<PathBuf>,
    /// Everybody whose profile was loaded on the way here, as far as the artifacts tell.
    pub(super) loaded: Vec<AgentId>,
    pub(super) notes: Vec<String>,
}

/// The time of a new artifact. It is the newest even if a kept one is from the future: a clock that
/// was set back must not make it the one that is dropped.
fn after(newest: Option<&Kept>, now: Timestamp) -> Timestamp {
    let next = newest.map(|newest| Timestamp::from_micros(newest.at.as_micros() + 1));
    next.map_or(now, |next| next.max(now))
}

fn agents(kept: &[Kept]) -> Vec<AgentId> {
    let contents = kept.iter().map(|kept| kept.artifact.content());
    let agents = contents.flat_map(|content| [&content.from_agent, &content.to_agent]);
    let mut agents: Vec<_> = agents.cloned().collect();
    agents.sort();
    agents.dedup();
    agents
}

/// What was cut, as sentences.
pub(super) fn told(cuts: &[Cut]) -> impl Iterator<Item = String> {
    cuts.iter().map(ToString::to_string)
}
