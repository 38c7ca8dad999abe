//! What a session of a coding agent should know when it begins: who it is, what waits for it, what
//! it holds, what others left, and who else is there.
//!
//! It is read by a model and paid for by the token, so it is short, and what is too much is counted
//! instead of told. Words of others stand in quotation marks on one line: they are no headings.

use std::fmt::Write;

use baton_engine::view::{AgentView, HandoffLine, HoldView, Inbox};
use baton_protocol::id::AgentId;
use baton_protocol::time::Timestamp;

use crate::show::text::Plain;
use crate::show::time::relative;

/// Tokens that the page may have.
pub(crate) const TOKENS_MAX: usize = 1_500;
/// Agents that are asked for.
pub(crate) const OTHERS_MAX: usize = 100;
/// How many entries of a list, and how many characters of a word, are tried, until it fits.
const SIZES: [(usize, usize); 7] =
    [(12, 160), (8, 120), (5, 100), (5, 60), (3, 60), (1, 40), (0, 24)];

/// What there is to know.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) agent: AgentId,
    pub(crate) inbox: Inbox,
    pub(crate) kept: Vec<Left>,
    /// All agents, this one among them.
    pub(crate) agents: Vec<AgentView>,
    /// How its commands say who asks, such as ` --as coder`.
    pub(crate) suffix: String,
}

/// An artifact that somebody left.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Left {
    /// The file, seen from the workspace.
    pub(crate) path: String,
    /// What the one who takes over should do, if it was read.
    pub(crate) next_action: Option<String>,
}

/// How the commands of an agent's session say who asks: its own token does, or else the person does
/// on its behalf.
pub(crate) fn suffix(agent: &AgentId) -> String {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let itself = set("BATON_TOKEN") || set("BATON_AGENT");
    if itself { String::new() } else { format!(" --as {agent}") }
}

impl Known {
    /// Whether there is nothing that a session would do something about.
    pub(crate) fn is_quiet(&self) -> bool {
        let Inbox { agent: _, waiting, queued, holding, passed, results } = &self.inbox;
        waiting.is_empty()
            && queued.is_empty()
            && holding.is_empty()
            && passed.is_empty()
            && results.is_empty()
            && self.kept.is_empty()
    }

    /// The page as Markdown, as much of it as `fits`.
    pub(crate) fn page(&self, now: Timestamp, fits: impl Fn(&str) -> bool) -> String {
        let mut page = String::new();
        for (entries, chars) in SIZES {
            page = self.written(now, Size { entries, chars });
            if fits(&page) {
                break;
            }
        }
        page
    }

    fn written(&self, now: Timestamp, size: Size) -> String {
        let inbox = &self.inbox;
        let mut page = Page { text: format!("# Baton: you are {}\n", self.agent), size };
        if self.is_quiet() {
            page.text.push_str("Nothing waits for you, and you hold nothing.\n");
        }
        page.list("Waits for your answer", &inbox.waiting, received);
        page.list("Waits until you have room", &inbox.queued, received);
        page.list("You hold", &inbox.holding, |hold, size| held(hold, now, size));
        page.list("Came back to you", &inbox.results, sent);
        page.list("Passed on, still open", &inbox.passed, sent);
        page.list("Kept artifacts, the newest first", &self.kept, |left, size| {
            let next = left.next_action.as_deref().filter(|next| !next.is_empty());
            let next = next.map(|next| format!(": next {}", size.quoted(next)));
            format!("{}{}", size.word(&left.path), next.unwrap_or_default())
        });
        page.others(&self.agent, &self.agents);
        if !self.is_quiet() {
            page.text.push_str(&self.how(size));
        }
        page.text
    }

    /// How to go on, by the tools, and by the command line if there is room for it.
    fn how(&self, size: Size) -> String {
        let (waits, holds) = (!self.inbox.waiting.is_empty(), !self.inbox.holding.is_empty());
        let suffix = &self.suffix;
        let mut how = String::new();
        if waits {
            how.push_str("Answer with accept_handoff, reject_handoff or defer_handoff.\n");
        }
        if holds {
            how.push_str(
                "Go on under your fence: report_progress, then return_handoff for a part or \
                 handoff_to_agent for the whole. If your fence is refused, stop: another has it.\n",
            );
        }
        if (waits || holds) && size.entries > 1 {
            let _ = writeln!(
                how,
                "Without these tools: `baton accept HANDOFF{suffix}`, `baton return HANDOFF \
                 --fence N{suffix}`, `baton complete WORKFLOW --fence N{suffix}`."
            );
        }
        how
    }
}

/// How much of a list, and of a word, is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) entries: usize,
    pub(crate) chars: usize,
}

impl Size {
    /// Words of somebody on one line, cut where they are too long.
    pub(crate) fn word(self, text: &str) -> String {
        let line = Plain::line(text.trim()).to_string();
        match line.char_indices().nth(self.chars) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    pub(crate) fn quoted(self, text: &str) -> String {
        format!("\"{}\"", self.word(text).replace('"', "'"))
    }
}

/// A handoff that comes to the agent.
pub(crate) fn received(line: &HandoffLine, size: Size) -> String {
    let HandoffLine { id, from_agent, kind, priority, reason, title, .. } = line;
    let about = line.task.as_deref().unwrap_or(title);
    let (reason, about) = (size.quoted(reason), size.quoted(about));
    format!("{} from {from_agent}, {kind}, {priority}: {about}, because {reason}", id.short())
}

/// A handoff that the agent passed on.
pub(crate) fn sent(line: &HandoffLine, size: Size) -> String {
    let HandoffLine { id, to_agent, kind, state, detail, title, .. } = line;
    let about = size.quoted(line.task.as_deref().unwrap_or(title));
    let detail = detail.as_deref().map(|detail| format!(" ({})", size.word(detail)));
    let detail = detail.unwrap_or_default();
    format!("{} to {to_agent}, {kind}: {about}, {state}{detail}", id.short())
}

/// What the agent has in hand.
pub(crate) fn held(hold: &HoldView, now: Timestamp, size: Size) -> String {
    let title = size.quoted(&hold.title);
    let mut text = format!("workflow {} {title}, fence {}", hold.workflow.short(), hold.fence);
    if let Some(handoff) = hold.handoff {
        let _ = write!(text, ", handoff {}", handoff.short());
    }
    if let Some(due) = hold.due {
        let _ = write!(text, ", due {}", relative(due, now));
    }
    if let Some(progress) = hold.progress.as_deref() {
        let _ = write!(text, ", so far {}", size.quoted(progress));
    }
    if hold.waits_for.is_some() {
        text.push_str(", suspended until a decision comes back");
    }
    match hold.locks.len() {
        0 => (),
        1 => text.push_str(", 1 file locked"),
        many => {
            let _ = write!(text, ", {many} files locked");
        }
    }
    text
}

struct Page {
    text: String,
    size: Size,
}

impl Page {
    fn list<T>(&mut self, title: &str, all: &[T], line: impl Fn(&T, Size) -> String) {
        if all.is_empty() {
            return;
        }
        let _ = writeln!(self.text, "## {title}: {}", all.len());
        for one in all.iter().take(self.size.entries) {
            let _ = writeln!(self.text, "- {}", line(one, self.size));
        }
        match all.len().saturating_sub(self.size.entries) {
            0 => (),
            all if self.size.entries == 0 => {
                let _ = writeln!(self.text, "- {all}, too many to tell: list_inbox shows them");
            }
            more => {
                let _ = writeln!(self.text, "- and {more} more");
            }
        }
    }

    /// One line for all the others: what they can, and whether they get new work.
    fn others(&mut self, own: &AgentId, agents: &[AgentView]) {
        let others: Vec<_> = agents.iter().filter(|agent| agent.profile.id != *own).collect();
        if others.is_empty() {
            return;
        }
        // The page is cut at so many, so there may be more of them.
        let plus = if agents.len() >= OTHERS_MAX { "+" } else { "" };
        let _ = writeln!(self.text, "## Others here: {}{plus}", others.len());
        let told = self.size.entries.max(1);
        let mut names: Vec<_> = others.iter().take(told).map(|agent| named(agent)).collect();
        if others.len() > told {
            names.push(format!("and {}{plus} more", others.len() - told));
        }
        let _ = writeln!(self.text, "{}", names.join("; "));
    }
}

/// Capabilities of one agent that are told.
const CAPABILITIES_TOLD: usize = 3;

fn named(agent: &AgentView) -> String {
    let profile = &agent.profile;
    let mut said: Vec<_> = profile
        .capabilities
        .iter()
        .take(CAPABILITIES_TOLD)
        .map(|capability| capability.id.to_string())
        .collect();
    if agent.status != "healthy" {
        said.push(agent.status.clone());
    }
    match said.is_empty() {
        true => profile.id.to_string(),
        false => format!("{} ({})", profile.id, said.join(", ")),
    }
}

#[cfg(test)]
#[path = "prime/tests.rs"]
mod tests;
