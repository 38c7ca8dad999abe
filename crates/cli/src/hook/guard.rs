//! Edits that are refused: of a file that another agent has locked, and by a session whose hold was
//! taken away.
//!
//! Only what is certain is refused. Files outside the workspace are nobody's; a lock that lapsed is
//! none.

use baton_engine::view::{Inbox, LockView};
use baton_protocol::lock::{FilePath, LockMode};
use baton_protocol::time::Timestamp;

use super::client::Said;
use super::holds::{self, Gone};
use super::notice::lost;
use super::scene::Scene;
use super::wire::Wire;
use crate::place::Place;
use crate::show::time::{now, relative};

impl Scene {
    /// A tool is about to run.
    pub(super) fn guard(&self) -> Said {
        let files = self.files();
        if files.is_empty() {
            self.beat();
            return Said::Nothing;
        }
        let why = self.talk(async |wire| match self.taken_away(wire).await {
            Some(why) => Some(why),
            None => self.locked(wire, &files).await,
        });
        why.map_or(Said::Nothing, Said::Deny)
    }

    /// The files of the workspace that the tool writes.
    fn files(&self) -> Vec<FilePath> {
        let place = Place::seen_from(self.workspace.root(), &self.folder());
        self.told.edit.files.iter().filter_map(|file| place.file(file).ok()).collect()
    }

    async fn locked(&self, wire: &mut Wire, files: &[FilePath]) -> Option<String> {
        let locks: Vec<LockView> = wire.read("/v1/locks").await?;
        let (now, agent) = (now(), &self.identity.agent);
        let counts = |lock: &&LockView| lock.until > now && files.contains(&lock.path);
        let (own, others): (Vec<_>, Vec<_>) =
            locks.iter().filter(counts).partition(|lock| lock.by == *agent);
        // Who shares a file may write it as the others may.
        let shares = |path: &FilePath| own.iter().any(|lock| lock.path == *path);
        let mut in_the_way = others.iter().filter(|lock| !shares(&lock.path));
        let first = in_the_way.next()?;
        let more = in_the_way.filter(|lock| lock.path != first.path).count();
        Some(refusal(first, more, now))
    }

    /// Why no file may be written, if the work was taken from the session.
    ///
    /// Nobody can tell for which work an edit is. A session that has nothing else in hand is kept
    /// from writing until a person has spoken to it; one that has is told once.
    async fn taken_away(&self, wire: &mut Wire) -> Option<String> {
        let agent = &self.identity.agent;
        let mut held = holds::accepted(&self.workspace, agent);
        if held.is_empty() {
            return None;
        }
        let mut memory = self.notebook.read();
        held.retain(|held| !memory.known_gone.contains(&held.key()));
        if held.is_empty() {
            return None;
        }
        let inbox: Inbox = wire.read("/v1/inbox").await?;
        let gone = holds::gone(wire, agent, &inbox, held).await;
        let first = gone.first()?;
        if !inbox.holding.is_empty() {
            memory.known_gone.extend(gone.iter().map(|gone| gone.held.key()));
            self.notebook.write(&memory);
        }
        Some(stale(first, inbox.holding.is_empty()))
    }
}

fn refusal(lock: &LockView, more: usize, now: Timestamp) -> String {
    let LockView { path, by, mode, workflow, fence, until } = lock;
    let more = if more == 0 { String::new() } else { format!(" (and {more} more files)") };
    let shared = match mode {
        LockMode::Exclusive => "",
        LockMode::Shared => "a shared lock; ",
    };
    let ends = relative(*until, now);
    let work = match (workflow, fence) {
        (Some(workflow), Some(fence)) => format!("workflow {}, fence {fence}, ", workflow.short()),
        (None, _) | (_, None) => String::new(),
    };
    format!(
        "{path}{more} is locked by {by}: {shared}{work}lapses {ends}. Do \
         not write it by other means. Ask {by} for it with handoff_to_agent (`baton pass --to {by} \
         --reason \"I need {path}\"`), ask somebody above with escalate_handoff (`baton \
         escalate`), or do other work until it is unlocked."
    )
}

fn stale(gone: &Gone, idle: bool) -> String {
    let what = lost(gone);
    let how = match idle {
        true => {
            "Stop, and tell the person what is left undone; edits are refused until they answer"
        }
        false => "Undo nothing and write no more for it; edits for what you still hold may go on",
    };
    format!("{what}. {how}. `list_inbox` shows what is yours.")
}
