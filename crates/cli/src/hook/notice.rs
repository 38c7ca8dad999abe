//! What the model is told by itself: the state of things when a session begins, and what is new
//! when a person speaks. If nothing is new, nothing is said, and nothing is paid.

use std::path::PathBuf;

use baton_engine::view::{AgentView, HandoffLine, Inbox};

use super::client::Said;
use super::holds::{self, Fate, Gone};
use super::memory::Memory;
use super::scene::Scene;
use super::wire::Wire;
use crate::prime::{self, Known, Left, Size};
use crate::shelf::{Shelf, concerns};
use crate::show::time::now;

/// New things that are told at once.
const TOLD_MAX: usize = 5;
/// How much of each.
const SIZE: Size = Size { entries: TOLD_MAX, chars: 100 };

impl Scene {
    /// A session begins, or begins anew after its context was lost.
    pub(super) fn greet(&self) -> Said {
        let mut memory = self.notebook.begin();
        let seen = self.talk(async |wire| {
            let inbox: Inbox = wire.read("/v1/inbox").await?;
            let gone = self.newly_gone(wire, &inbox, &mut memory).await;
            let path = format!("/v1/agents?limit={}", prime::OTHERS_MAX);
            let agents: Vec<AgentView> = wire.read(&path).await.unwrap_or_default();
            Some((inbox, gone, agents))
        });
        let Some((inbox, gone, agents)) = seen else { return Said::Nothing };
        memory.noticed = news(&inbox).map(|(key, _)| key).collect();
        self.notebook.write(&memory);
        let agent = self.identity.agent.clone();
        let (suffix, kept) = (prime::suffix(&agent), self.kept());
        let known = Known { agent, inbox, kept, agents, suffix };
        if known.is_quiet() && gone.is_empty() {
            return Said::Nothing;
        }
        // Counting tokens takes longer than a hook may. No token is less than a byte.
        let lost = told_gone(&gone);
        let room = prime::TOKENS_MAX.saturating_sub(lost.len());
        let page = known.page(now(), |page| page.len() <= room);
        Said::Context(format!("{lost}{page}").trim_end().to_owned())
    }

    /// A person speaks.
    pub(super) fn notify(&self) -> Said {
        let mut memory = self.notebook.read();
        let before = memory.clone();
        let seen = self.talk(async |wire| {
            let inbox: Inbox = wire.read("/v1/inbox").await?;
            let gone = self.newly_gone(wire, &inbox, &mut memory).await;
            Some((inbox, gone))
        });
        let Some((inbox, gone)) = seen else { return Said::Nothing };
        let new: Vec<_> = news(&inbox).filter(|(key, _)| !memory.noticed.contains(key)).collect();
        memory.noticed = news(&inbox).map(|(key, _)| key).collect();
        if memory != before {
            self.notebook.write(&memory);
        }
        let mut text = told_gone(&gone);
        if !new.is_empty() {
            text.push_str(&format!("Baton: {} new for {}\n", new.len(), self.identity.agent));
            for (_, line) in new.iter().take(TOLD_MAX) {
                text.push_str(&format!("- {line}\n"));
            }
            if new.len() > TOLD_MAX {
                text.push_str(&format!("- and {} more: list_inbox\n", new.len() - TOLD_MAX));
            }
        }
        if text.is_empty() { Said::Nothing } else { Said::Context(text.trim_end().to_owned()) }
    }

    /// Holds that were taken away since the session last heard; from now on it knows.
    async fn newly_gone(&self, wire: &mut Wire, inbox: &Inbox, memory: &mut Memory) -> Vec<Gone> {
        let agent = &self.identity.agent;
        let mut held = holds::accepted(&self.workspace, agent);
        held.retain(|held| !memory.known_gone.contains(&held.key()));
        let gone = holds::gone(wire, agent, inbox, held).await;
        memory.known_gone.extend(gone.iter().map(|gone| gone.held.key()));
        gone
    }

    /// What was left on the shelf, by its names: reading it takes longer than a hook may.
    fn kept(&self) -> Vec<Left> {
        let Ok(shelf) = Shelf::of(None, Ok(self.workspace.clone())) else { return Vec::new() };
        let root = self.workspace.root();
        let concerns = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            concerns(&name, &self.identity.agent)
        };
        let left = shelf.names().into_iter().filter(concerns).map(|path| {
            let path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            Left { path, next_action: None }
        });
        left.collect()
    }
}

/// What of an inbox is news, and what each is remembered by.
fn news(inbox: &Inbox) -> impl Iterator<Item = (String, String)> {
    let key = |line: &HandoffLine, what: &str| format!("{} {what}", line.id);
    let came = inbox.waiting.iter().map(move |line| {
        let answer = "accept_handoff, reject_handoff or defer_handoff";
        (key(line, "came"), format!("{} ({answer})", prime::received(line, SIZE)))
    });
    let back = inbox
        .results
        .iter()
        .map(move |line| (key(line, "back"), format!("came back: {}", prime::sent(line, SIZE))));
    came.chain(back)
}

fn told_gone(gone: &[Gone]) -> String {
    gone.iter().map(|gone| format!("Baton: {}\n", lost(gone))).collect()
}

/// That a hold is over, and what became of the work.
pub(super) fn lost(gone: &Gone) -> String {
    let Gone { held, title, fate } = gone;
    let (title, fence) = (SIZE.quoted(title), held.fence);
    let work = held.workflow.short();
    let what = match fate {
        Fate::With(agent) if agent.is_operator() => {
            "a person (operator) has taken it back".to_owned()
        }
        Fate::With(agent) => format!("{agent} has it now"),
        Fate::WaitsAgain => {
            "its time was up; it waits in your inbox to be accepted anew".to_owned()
        }
        Fate::TimedOut => "its time was up, and it is over".to_owned(),
        Fate::CalledOff => "it was called off".to_owned(),
    };
    format!("you no longer hold {title} (workflow {work}, fence {fence}): {what}")
}
