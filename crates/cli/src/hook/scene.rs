//! What a hook does at each moment of a session.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use baton_engine::view::Inbox;
use baton_protocol::command::{Command, Progress};
use baton_protocol::text::Text;
use serde_json::json;

use super::client::{Moment, Said, Told};
use super::memory::Notebook;
use super::wire::{Wire, talk};
use super::{Session, is_traced, trace};
use crate::identity::Identity;
use crate::show::time::now;
use crate::verbs::keep_own;
use crate::workspace::{Workspace, current_folder};

/// Bytes of a transcript from which on a program may want to compact it; that begins at some
/// hundred thousand tokens.
const LONG_BYTES: u64 = 512 * 1024;

/// Set for the process that stays and keeps a packet.
const STAYS: &str = "BATON_HOOK_STAYS";

/// Whose session it is, where, and what just happened in it.
pub(super) struct Scene {
    pub(super) moment: Moment,
    pub(super) told: Told,
    pub(super) workspace: Workspace,
    pub(super) identity: Identity,
    pub(super) notebook: Notebook,
}

impl Scene {
    /// Nothing if there is no workspace, or nobody who could act in it.
    pub(super) fn at(moment: Moment, told: Told, session: &Session) -> Option<Self> {
        let Some(workspace) = session.workspace(told.folder.as_deref()) else {
            trace("there is no workspace");
            return None;
        };
        let identity = Identity::known(&workspace, session.agent.as_ref());
        let identity = identity.inspect_err(|failure| trace(&failure.sentence)).ok()?;
        let Some(identity) = identity else {
            trace("the agent has no token yet");
            return None;
        };
        let notebook = Notebook::of(&workspace, &identity.agent, told.session.as_deref());
        Some(Self { moment, told, workspace, identity, notebook })
    }

    /// Does what the moment asks for.
    pub(super) fn play(&self) -> Said {
        match (self.moment, self.told.end) {
            (Moment::SessionStart, _) => self.greet(),
            // Only what a person says is heard by the one whom they speak to.
            (Moment::UserPrompt, _) if self.told.unspoken => self.live(),
            (Moment::UserPrompt, _) => self.notify(),
            (Moment::PreToolUse, _) => self.guard(),
            (Moment::PostToolUse, _) => self.note_act(),
            (Moment::PreCompact, _) if self.told.perhaps && !self.is_worth_it() => self.live(),
            (Moment::PreCompact, _) => self.save(),
            (Moment::Stop, None) => self.stop(),
            (Moment::Stop, Some(end)) => self.end(end),
            (Moment::SubagentStart, _) => self.subagent("began"),
            (Moment::SubagentStop, _) => self.subagent("ended"),
        }
    }

    /// Talks to the coordinator; the agent is seen to be there by the way.
    pub(super) fn talk<T>(&self, say: impl AsyncFnOnce(&mut Wire) -> Option<T>) -> Option<T> {
        let beats = self.notebook.beats();
        talk(&self.workspace, &self.identity, async |wire| {
            if beats {
                wire.beat(&self.identity).await;
            }
            say(wire).await
        })
    }

    /// Says that the agent is there, if that was not said of late.
    pub(super) fn beat(&self) {
        if self.notebook.beats() {
            talk(&self.workspace, &self.identity, async |wire| {
                wire.beat(&self.identity).await;
                Some(())
            });
        }
    }

    fn live(&self) -> Said {
        self.beat();
        Said::Nothing
    }

    fn note_act(&self) -> Said {
        if self.told.acts {
            let mut memory = self.notebook.read();
            if !memory.begun {
                memory.begun = true;
                self.notebook.write(&memory);
            }
        }
        self.beat();
        Said::Nothing
    }

    /// Keeps a packet: what the model is about to forget is still in its transcript.
    ///
    /// Git and the transcript take longer than a person should wait, so it is a process of its own
    /// that gathers them; whoever wants to see why it fails waits for it.
    pub(super) fn save(&self) -> Said {
        self.beat();
        let folder = self.folder();
        let transcript = self.told.transcript.as_deref().filter(|path| path.is_file());
        let stays = std::env::var_os(STAYS).is_some() || is_traced();
        if !stays && self.leave_behind(&folder, transcript).is_ok() {
            return Said::Nothing;
        }
        match keep_own(&self.workspace, &folder, &self.identity.agent, transcript, now()) {
            Ok(path) => trace(&format!("kept {}", path.display())),
            Err(failure) => trace(&failure.sentence),
        }
        Said::Nothing
    }

    /// Whether there is enough to forget, and none was kept of late.
    fn is_worth_it(&self) -> bool {
        let transcript = self.told.transcript.as_deref().and_then(|path| path.metadata().ok());
        let bytes = transcript.map(|data| data.len());
        bytes.is_none_or(|bytes| bytes >= LONG_BYTES) && self.notebook.packs()
    }

    /// Starts the same once more as a process that stays when this one has answered.
    fn leave_behind(&self, folder: &Path, transcript: Option<&Path>) -> io::Result<()> {
        let mut child = Process::new(std::env::current_exe()?)
            .args(["hook", "pre-compact", "--client", "claude-code", "--agent"])
            .arg(self.identity.agent.as_str())
            .arg("--workspace")
            .arg(self.workspace.root())
            .env(STAYS, "1")
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let form = json!({ "cwd": folder, "transcript_path": transcript }).to_string();
        match child.stdin.take() {
            Some(mut stdin) => stdin.write_all(form.as_bytes()),
            None => Ok(()),
        }
    }

    /// Where the program works.
    pub(super) fn folder(&self) -> PathBuf {
        let told = self.told.folder.clone().filter(|folder| folder.is_dir());
        told.or_else(|| current_folder().ok()).unwrap_or_else(|| self.workspace.root().to_owned())
    }

    /// A subagent is progress of the work that its agent has in hand, if it is clear which.
    fn subagent(&self, what: &str) -> Said {
        let Some(name) = &self.told.subagent else {
            return self.live();
        };
        let name: String = name.chars().take(80).collect();
        let note = format!("subagent {name} {what}").parse::<Text>().ok();
        self.talk(async |wire| {
            let inbox: Inbox = wire.read("/v1/inbox").await?;
            let [hold] = inbox.holding.as_slice() else { return None };
            hold.handoff?;
            let (workflow, fence) = (hold.workflow, hold.fence);
            let key = super::key()?;
            let progress = Progress { workflow, fence, note, percent: None };
            wire.command(&Command::Progress(progress), &key).await.then_some(())
        });
        Said::Nothing
    }
}
