//! `baton switch`: another agent takes over, with its own profile and what it needs to know.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::path::{Path, PathBuf};

use baton_context::{AgentProfile, Artifact, Compact, Draft, Tokenizer, agent_named};
use baton_protocol::count_masks;
use baton_protocol::id::AgentId;
use baton_protocol::limits::PROFILE_BYTES_MAX;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::draft::{Evidence, Given, Placed, told};
use super::secrets::told as masks_told;
use crate::failure::{Exit, Failure};
use crate::shelf::{Kept, Shelf};
use crate::show::Output;
use crate::workspace::{Workspace, current_folder};

/// Where profiles are looked for, seen from the workspace, unless --profile says where.
const PROFILES: [&str; 5] = [
    ".claude/agents",
    ".claude/commands/AIOS/agents",
    ".aios-core/development/agents",
    ".aios-core/agents",
    ".baton/agents",
];
/// Files of one folder that are looked at.
const FILES_MAX: usize = 1_000;

/// Switch to another agent, with a compact handoff for it
///
/// Writes what the outgoing agent leaves as an artifact of at most 500 tokens,
/// keeps the newest three, and prints what the incoming agent should get: its own
/// full profile, then the kept artifacts, and nothing else. Says on stderr how
/// many tokens that saves against keeping every profile. Needs no coordinator.
///
/// Profiles are .md files with front matter or an AIOS block, or .yaml files as
/// `baton agent import` takes them, in .claude/agents, the folders of AIOS or
/// .baton/agents.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton switch @dev --from sm --story SHOP-12 --next \"Build task 1\"
  baton switch @qa --packet
  baton switch /AIOS:agents:qa --decision \"Keys live in the database\"
  baton switch dev --handoffs .aios/handoffs --json | jq .tokens")]
pub(crate) struct Switch {
    /// Who takes over: dev, @dev or /AIOS:agents:dev
    #[arg(value_name = "AGENT", value_parser = agent_named)]
    to: AgentId,
    /// Who hands over; otherwise whoever the newest kept artifact is for
    #[arg(long, value_name = "AGENT", value_parser = agent_named)]
    from: Option<AgentId>,
    /// Where the agents' profiles are; may be given again
    #[arg(long, value_name = "DIR")]
    profile: Vec<PathBuf>,
    /// Where artifacts are kept; otherwise as the configuration says
    #[arg(long, value_name = "DIR")]
    handoffs: Option<PathBuf>,
    /// Find in git and the newest transcript what is not given
    #[arg(long)]
    packet: bool,
    /// Find it in this transcript
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    #[command(flatten)]
    given: Given,
}

/// How many tokens the context is, with and without all profiles that were loaded so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct Account {
    before: usize,
    after: usize,
    saved_percent: i64,
}

impl Switch {
    pub(crate) fn run(
        self,
        workspace: Result<Workspace, Failure>,
        out: Output,
    ) -> Result<(), Failure> {
        if let Ok(workspace) = &workspace {
            workspace.set_secret_rules()?;
        }
        let tokenizer = Tokenizer::default();
        let here = current_folder()?;
        let root = workspace.as_ref().map_or(here.clone(), |found| found.root().to_owned());
        let shelf = Shelf::of(self.handoffs.as_deref(), workspace)?;
        let profiles = Profiles::find(&root, &self.profile);
        // Before anything is written: a switch to nobody changes nothing.
        let profile = profiles.of(&self.to)?;
        let evidence = match self.packet || self.transcript.is_some() {
            true => Evidence::of_all(&here, self.transcript.as_deref())?,
            false => Evidence::of_git(&here),
        };
        let looked = self.packet || self.transcript.is_some();
        let sources = if looked { evidence.sources() } else { Vec::new() };
        let inventory = shelf.read(tokenizer)?;
        let newest = inventory.kept.last().map(|newest| newest.artifact.content());
        let between = Draft::between(active(self.from, newest, &self.to)?, self.to);
        let story = newest.map(|newest| &newest.story_context);
        let gathered = self.given.gather(between, &evidence, story);
        let missing = gathered.missing();
        let placed = gathered.place(&shelf, out.begun, tokenizer)?;
        let Placed { compact, written, mut kept, dropped, loaded, mut notes } = placed;
        let to = compact.artifact.content().to_agent.clone();
        kept.retain(|kept| kept.concerns(&to));
        let account = account(profile, &kept, &loaded, &profiles, tokenizer);
        let unknown = loaded.iter().filter(|agent| !profiles.found.contains_key(agent));
        notes.extend(unknown.map(|agent| format!("no profile of {agent}: it is not counted")));
        notes.extend(profiles.doubles.iter().cloned());
        notes.extend(sources);
        notes.extend(dropped.iter().map(|path| format!("dropped {}", path.display())));
        notes.extend(told(&compact.cuts));
        notes.extend(masks_told(&count_masks(&compact.yaml)));
        if !missing.is_empty() {
            notes.push(format!("left empty: {}", missing.join(", ")));
        }
        let done = Done { profile, kept: &kept, compact: &compact, written: &written, account };
        if out.json {
            out.value(&done.json(&notes, &dropped, tokenizer))?;
        } else {
            out.foreign(&done.text())?;
            notes.iter().for_each(|note| out.note(note));
            out.note(&format!("kept as {}", written.display()));
            out.note(&done.summary());
        }
        // They were shown: whoever looks into the folder for news need not show them again.
        let theirs = |kept: &Kept| kept.artifact.content().to_agent == to;
        for kept in kept.into_iter().filter(theirs).filter(|kept| !kept.artifact.is_consumed()) {
            shelf.mark_consumed(&kept.path, kept.artifact)?;
        }
        Ok(())
    }
}

/// Who is active now.
fn active(
    named: Option<AgentId>,
    newest: Option<&Draft>,
    to: &AgentId,
) -> Result<AgentId, Failure> {
    let Some(from) = named.or_else(|| newest.map(|newest| newest.to_agent.clone())) else {
        let sentence = "nothing says which agent is active: no artifact is kept yet";
        return Err(Failure::usage(sentence, "name the one that hands over with --from AGENT"));
    };
    if from == *to {
        let sentence = format!("{to} is active already");
        return Err(Failure::usage(sentence, "name another agent, or who hands over with --from"));
    }
    Ok(from)
}

fn account(
    profile: &AgentProfile,
    kept: &[Kept],
    loaded: &[AgentId],
    profiles: &Profiles,
    tokenizer: Tokenizer,
) -> Account {
    let tokens = |agent| profiles.found.get(agent).map_or(0, |it| tokenizer.count(&it.text));
    let before: usize = loaded.iter().map(tokens).sum();
    let artifacts = kept.iter().map(|kept| tokenizer.count(&kept.artifact.to_yaml()));
    let after = tokenizer.count(&profile.text) + artifacts.sum::<usize>();
    let signed = |tokens: usize| i64::try_from(tokens).unwrap_or(i64::MAX);
    let saved_percent = (signed(before) - signed(after)) * 100 / signed(before.max(1));
    Account { before, after, saved_percent }
}

/// The profiles that were found, by agent. The first folder that has one counts.
struct Profiles {
    found: BTreeMap<AgentId, AgentProfile>,
    looked: Vec<PathBuf>,
    /// What is told of agents that have more than one.
    doubles: Vec<String>,
    /// Files that look like profiles and tell of no agent, with the reason.
    unusable: Vec<(PathBuf, &'static str)>,
}

impl Profiles {
    fn find(root: &Path, named: &[PathBuf]) -> Self {
        let looked: Vec<_> = match named {
            [] => PROFILES.iter().map(|folder| root.join(folder)).collect(),
            named => named.to_vec(),
        };
        let (mut found, mut doubles, mut unusable) = (BTreeMap::new(), Vec::new(), Vec::new());
        for folder in &looked {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(FILES_MAX);
            let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
            files.sort();
            for file in files {
                let profiles = match read(&file) {
                    Ok(profiles) => profiles,
                    Err(why) => {
                        unusable.push((file, why));
                        continue;
                    }
                };
                for profile in profiles {
                    match found.entry(profile.id.clone()) {
                        Entry::Vacant(free) => drop(free.insert(profile)),
                        Entry::Occupied(taken) => doubles.push(format!(
                            "{} is a second profile of {}, and not the one that counts",
                            file.display(),
                            taken.key(),
                        )),
                    }
                }
            }
        }
        Self { found, looked, doubles, unusable }
    }

    fn of(&self, agent: &AgentId) -> Result<&AgentProfile, Failure> {
        self.found.get(agent).ok_or_else(|| {
            let looked: Vec<_> = self.looked.iter().map(|it| it.display().to_string()).collect();
            let sentence = format!("there is no profile of {agent} in {}", looked.join(", "));
            let named = |(file, _): &&(PathBuf, _)| {
                let stem = file.file_stem().and_then(|stem| stem.to_str());
                stem.is_some_and(|stem| stem.eq_ignore_ascii_case(agent.as_str()))
            };
            let hint = match self.unusable.iter().find(named) {
                Some((file, why)) => format!("{} is none: {why}", file.display()),
                None => {
                    "name the folder that has it with --profile DIR; nothing was written".into()
                }
            };
            Failure::new(Exit::NotFound, "no-profile", sentence, hint)
        })
    }
}

/// The agents of a file, or why there are none.
fn read(file: &Path) -> Result<Vec<AgentProfile>, &'static str> {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let data = fs::metadata(file).map_err(|_| "it cannot be read")?;
    if !data.is_file() {
        return Err("it is no file");
    }
    if data.len() > PROFILE_BYTES_MAX as u64 {
        return Err("it is larger than 1 MiB");
    }
    let text = fs::read_to_string(file).map_err(|_| "it is no text that can be read")?;
    match AgentProfile::read(name, &text) {
        none if none.is_empty() => {
            Err("it has no front matter with a `name`, no AIOS block and no YAML of an agent")
        }
        profiles => Ok(profiles),
    }
}

/// What a switch came to.
struct Done<'a> {
    profile: &'a AgentProfile,
    kept: &'a [Kept],
    compact: &'a Compact,
    written: &'a Path,
    account: Account,
}

impl Done<'_> {
    /// What the incoming agent should get: its own profile, the kept artifacts, and nothing else.
    fn text(&self) -> String {
        let mut text = self.profile.text.trim_end().to_owned();
        text.push('\n');
        for kept in self.kept {
            text.push('\n');
            text.push_str(&kept.artifact.to_yaml());
        }
        text
    }

    fn summary(&self) -> String {
        let Account { before, after, saved_percent } = self.account;
        match after.checked_sub(before) {
            None => format!("{after} tokens instead of {before}: {saved_percent} % saved"),
            Some(more) => format!("{after} tokens, {more} more than the profiles alone"),
        }
    }

    fn json(
        &self,
        notes: &[String],
        dropped: &[PathBuf],
        tokenizer: Tokenizer,
    ) -> serde_json::Value {
        let artifact = |path: &Path, artifact: &Artifact| {
            let yaml = artifact.to_yaml();
            let file = path.display().to_string();
            json!({"file": file, "tokens": tokenizer.count(&yaml), "yaml": yaml})
        };
        let kept = self.kept.iter().map(|kept| artifact(&kept.path, &kept.artifact));
        let content = self.compact.artifact.content();
        json!({
            "from": content.from_agent,
            "to": content.to_agent,
            "profile": {
                "id": self.profile.id,
                "name": self.profile.name,
                "tokens": tokenizer.count(&self.profile.text),
                "text": self.profile.text,
            },
            "artifacts": kept.collect::<Vec<_>>(),
            "written": self.written.display().to_string(),
            "dropped": dropped.iter().map(|it| it.display().to_string()).collect::<Vec<_>>(),
            "cuts": self.compact.cuts,
            "masked": count_masks(&self.compact.yaml),
            "notes": notes,
            "tokenizer": tokenizer.to_string(),
            "tokens": self.account,
        })
    }
}
