//! What the daemon says: one line for each decision, or one JSON object.

use std::path::Path;

use baton_tags::dispatch::Skill;
use baton_tags::{ItemKey, Tag};
use serde_json::json;

use crate::show::Output;
use crate::tagging::shown;

/// A decision about one item.
pub(super) enum Told<'a> {
    Started { skill: &'a Skill, name: &'a str },
    Would { skill: &'a Skill },
    Waits,
    Unrouted,
    NotApproved { why: &'a str },
    NotStarted { why: &'a str },
    Finished,
    Requeued { to: &'a Tag, reason: &'a str },
    Dead { reason: &'a str },
    Unclear { why: &'a str },
}

impl Told<'_> {
    /// The word that programs match on.
    fn word(&self) -> &'static str {
        match self {
            Self::Started { .. } => "started",
            Self::Would { .. } => "would-start",
            Self::Waits => "waits",
            Self::Unrouted => "unrouted",
            Self::NotApproved { .. } => "not-approved",
            Self::NotStarted { .. } => "not-started",
            Self::Finished => "finished",
            Self::Requeued { .. } => "requeued",
            Self::Dead { .. } => "dead",
            Self::Unclear { .. } => "unclear",
        }
    }

    /// It as a sentence.
    pub(super) fn line(&self, file: &Path, item: &ItemKey) -> String {
        let what = format!("{} {item}", shown(file));
        match self {
            Self::Started { skill, name } => format!("{what}: {skill} in {name}"),
            Self::Would { skill } => format!("{what}: would start {skill}"),
            Self::Waits => format!("{what}: waits until an agent is free"),
            Self::Unrouted => format!("{what}: no skill does work of the kind {}", item.kind()),
            Self::NotApproved { why } => format!("{what}: not approved: {why}"),
            Self::NotStarted { why } => format!("{what}: could not be started: {why}"),
            Self::Finished => format!("{what}: its worker died after it answered; it is done"),
            Self::Requeued { to, reason } => format!("{what}: back at {to}: {reason}"),
            Self::Dead { reason } => format!("{what}: would be recovered: {reason}"),
            Self::Unclear { why } => format!("{what}: left alone: {why}"),
        }
    }

    pub(super) fn print(&self, file: &Path, item: &ItemKey, line: &str, dry: bool, out: Output) {
        let skill = match self {
            Self::Started { skill, .. } | Self::Would { skill } => Some(skill.as_str()),
            _ => None,
        };
        // A reader that has gone away does not end the daemon.
        let _ = match out.json {
            true => out.value(&json!({
                "file": file.to_string_lossy(),
                "item": item.to_string(),
                "decision": self.word(),
                "skill": skill,
                "dry_run": dry,
                "said": line,
            })),
            false => out.page(|page| {
                page.line(line);
                Ok(())
            }),
        };
    }
}
