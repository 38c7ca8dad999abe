//! `baton setup`: makes coding agents work with Baton, and takes that back.

use baton_protocol::id::AgentId;
use clap::Args;
use serde_json::{Value, json};

use crate::args::Global;
use crate::failure::{Exit, Failure};
use crate::identity::Identity;
use crate::setup::{self, Client, Done, Fate, Homes, Planned, Scope, Site, Wish, Word};
use crate::show::Output;
use crate::show::table::Table;
use crate::workspace::{Workspace, current_folder, resolved};

/// Make a coding agent work with Baton
///
/// Writes the MCP server, hooks, a short block in CLAUDE.md, AGENTS.md or GEMINI.md and a skill
/// into the client's files, and makes its agent known. What else is in those files stays as it
/// is, comments too; what they were before is kept, and --remove brings it back byte for byte.
/// Asking again changes nothing. In a folder without a workspace, it makes one.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton setup claude-code
  baton setup codex --agent reviewer
  baton setup gemini --global
  baton setup opencode --check
  baton setup claude-code --remove
  baton setup --list")]
pub(crate) struct Setup {
    /// The client
    #[arg(value_enum, required_unless_present = "list", conflicts_with = "list")]
    client: Option<Client>,
    /// For this workspace: files that go with the project [default]
    #[arg(long, conflicts_with_all = ["global", "list"])]
    project: bool,
    /// For everything that you do: files in your home
    #[arg(long, conflicts_with = "list")]
    global: bool,
    /// The agent that its sessions are [default: as it was set up, or the client's name]
    #[arg(long, value_name = "AGENT", conflicts_with = "list")]
    agent: Option<AgentId>,
    /// Tell what is missing, and write nothing; ends with 1 if anything is
    #[arg(long, conflicts_with_all = ["remove", "list"])]
    check: bool,
    /// Take everything back
    #[arg(long, conflicts_with_all = ["list", "agent"])]
    remove: bool,
    /// List the clients: which are here, and which are set up
    #[arg(long)]
    list: bool,
}

impl Setup {
    pub(crate) fn run(self, global: &Global, out: Output) -> Result<(), Failure> {
        let homes = Homes::of_user()?;
        let found = Workspace::find(global.workspace.as_deref());
        let Some(client) = self.client else {
            return list(&homes, found.ok().as_ref(), out);
        };
        if self.agent.as_ref().is_some_and(AgentId::is_operator) {
            let hint = "a session is never the operator: give it a name of its own";
            return Err(Failure::usage("--agent: operator is no agent's name", hint));
        }
        let (mut workspace, is_missing) = match found {
            Ok(workspace) => (Some(workspace), false),
            Err(failure) if failure.exit != Exit::NotFound => return Err(failure),
            Err(_) if self.global => (None, false),
            Err(failure) if self.remove || global.workspace.is_some() => return Err(failure),
            Err(_) => (None, true),
        };
        let here = workspace.as_ref().map(|workspace| workspace.root().to_owned());
        let scope = match (self.global, &here) {
            (true, _) => Scope::Global,
            (false, Some(root)) => Scope::Project(root.clone()),
            (false, None) => Scope::Project(resolved(&current_folder()?)?),
        };
        let site = Site { client, scope, homes, here };
        let mut wish = site.wish()?;
        wish.agent = self.agent.clone().unwrap_or(wish.agent);
        if self.remove {
            return remove(&site, &wish, out);
        }
        if self.check {
            return check(&site, &wish, workspace.is_some(), out);
        }
        // Where a file is in the way, not even a workspace is made.
        if let Some(failure) = setup::check(&site, &wish)?.into_iter().find_map(|(_, why)| why) {
            return Err(failure);
        }
        if is_missing {
            workspace = Some(Workspace::create(".".as_ref())?.0);
        }
        wish.word = Word::of(&site.scope);
        Made { workspace, created: is_missing }.run(&site, &wish, out)
    }
}

fn word_of(scope: &Scope) -> &'static str {
    match scope {
        Scope::Project(_) => "project",
        Scope::Global => "global",
    }
}

/// The workspace that a client is set up in.
struct Made {
    workspace: Option<Workspace>,
    created: bool,
}

impl Made {
    fn run(self, site: &Site, wish: &Wish, out: Output) -> Result<(), Failure> {
        let done = setup::setup(site, wish)?;
        let mut warnings: Vec<_> = wish.word.warning.iter().cloned().collect();
        warnings.extend(done.iter().filter_map(|it| it.unread.clone()));
        // The first session would do the same; a person who sets up hears at once if it cannot be.
        let known = self.workspace.as_ref().map(|it| Identity::made(it, Some(&wish.agent)));
        if let Some(Err(failure)) = known {
            let why = failure.sentence;
            warnings.push(format!("{} is not known here yet: {why}", wish.agent));
        }
        let root = self.workspace.as_ref().map(|it| it.root().display().to_string());
        if out.json {
            let files: Vec<_> = done.iter().map(|it| row(site, it, said(it.planned))).collect();
            return out.value(&json!({
                "client": site.client.name(),
                "scope": word_of(&site.scope),
                "agent": wish.agent,
                "workspace": root,
                "workspace_created": self.created,
                "files": files,
                "warnings": warnings,
            }));
        }
        out.page(|page| {
            if let (true, Some(root)) = (self.created, &root) {
                page.line(format!("{root} is a workspace now"));
            }
            for it in &done {
                let (word, what) = (said(it.planned), what(it));
                page.line(format!("{word:6} {}  ({what})", site.shown(&it.path)));
            }
            Ok(())
        })?;
        warnings.iter().for_each(|warning| out.warn(warning));
        let name = site.client.name();
        let also = match (&site.scope, site.client) {
            (_, Client::Codex) => "trust the hooks of baton when it asks, or type /hooks",
            (Scope::Project(_), Client::ClaudeCode) => "say yes when it asks about baton",
            (_, Client::ClaudeCode | Client::Gemini | Client::OpenCode) => {
                "ask it what waits in its inbox"
            }
        };
        let global = if matches!(site.scope, Scope::Global) { " --global" } else { "" };
        let mut next = Vec::new();
        if self.workspace.is_none() {
            next.push("baton init    # in each project that Baton is for".to_owned());
        }
        next.extend([
            site.client.program().to_owned(),
            also.to_owned(),
            format!("baton setup {name}{global} --remove    # takes it all back"),
        ]);
        out.next(&next);
        Ok(())
    }
}

fn said(planned: Planned) -> &'static str {
    match planned {
        Planned::Write => "wrote",
        Planned::Same => "same",
        Planned::Kept => "kept",
    }
}

fn what(done: &Done) -> &'static str {
    match done.planned {
        Planned::Write | Planned::Same => done.what,
        Planned::Kept => "it is your own",
    }
}

fn row(site: &Site, done: &Done, word: &str) -> Value {
    json!({"path": done.path.display().to_string(), "shown": site.shown(&done.path),
           "what": done.what, "done": word})
}

const TAKE_OUT: &str = "take out what the line above names";

fn check(site: &Site, wish: &Wish, is_workspace: bool, out: Output) -> Result<(), Failure> {
    let (mut missing, mut unread, mut writes) = (Vec::new(), false, false);
    if !is_workspace && matches!(site.scope, Scope::Project(_)) {
        missing.push(json!({"shown": ".baton", "what": "the workspace", "done": "missing"}));
        writes = true;
    }
    for (done, why) in setup::check(site, wish)? {
        if done.planned == Planned::Write || done.unread.is_some() {
            let lacks = done.planned == Planned::Write;
            let mut row = row(site, &done, if lacks { "missing" } else { "unread" });
            unread |= done.unread.is_some();
            writes |= lacks;
            row["why"] = json!(why.map(|failure| failure.sentence).or(done.unread));
            missing.push(row);
        }
    }
    let (name, scope) = (site.client.name(), word_of(&site.scope));
    if out.json {
        let complete = missing.is_empty();
        out.value(&json!({"client": name, "scope": scope, "complete": complete,
                          "missing": missing}))?;
    } else {
        out.page(|page| {
            for row in &missing {
                let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
                let why = match row["why"].as_str() {
                    Some(why) => format!("; {why}"),
                    None => String::new(),
                };
                let (word, shown, what) = (text("done"), text("shown"), text("what"));
                page.line(format!("{word:7} {shown}  ({what}{why})"));
            }
            if missing.is_empty() {
                page.line(format!("{name} is set up"));
            }
            Ok(())
        })?;
    }
    if missing.is_empty() {
        return Ok(());
    }
    let global = if scope == "global" { " --global" } else { "" };
    Err(Failure::new(
        Exit::Failure,
        "not-set-up",
        match writes {
            true => format!("{name} is not set up: {} of its files lack something", missing.len()),
            false => format!("{name} is set up, and cannot read {} of its files", missing.len()),
        },
        match (writes, unread) {
            (_, false) => format!("run `baton setup {name}{global}`"),
            (false, true) => format!("{TAKE_OUT}; then it reads the file again"),
            (true, true) => format!("run `baton setup {name}{global}`; then {TAKE_OUT}"),
        },
    ))
}

fn remove(site: &Site, wish: &Wish, out: Output) -> Result<(), Failure> {
    let removed = setup::remove(site, wish)?;
    let told = |fate: &Fate| match fate {
        Fate::Restored => ("restored", "as it was before".to_owned()),
        Fate::Before => {
            let why = "it named Baton before this setup; take that out by hand if you want to";
            ("kept", why.to_owned())
        }
        Fate::Deleted => ("deleted", "it was not there before".to_owned()),
        Fate::TakenOut => ("changed", "ours is out; what you changed since stays".to_owned()),
        Fate::Kept => ("kept", "you changed it; delete it if you do not need it".to_owned()),
        Fate::Shared(other) => ("kept", format!("{} needs it", other.name())),
    };
    if out.json {
        let files: Vec<_> = removed
            .iter()
            .map(|it| {
                let (done, _) = told(&it.fate);
                json!({"path": it.path.display().to_string(), "shown": site.shown(&it.path),
                       "done": done})
            })
            .collect();
        let (name, scope) = (site.client.name(), word_of(&site.scope));
        return out.value(&json!({"client": name, "scope": scope, "files": files}));
    }
    out.page(|page| {
        for it in &removed {
            let (word, why) = told(&it.fate);
            page.line(format!("{word:8} {}  ({why})", site.shown(&it.path)));
        }
        if removed.is_empty() {
            page.line(format!("{} was not set up; nothing was changed", site.client.name()));
        }
        Ok(())
    })
}

fn list(homes: &Homes, workspace: Option<&Workspace>, out: Output) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for client in Client::ALL {
        let state = |scope: Scope| -> Result<(bool, Vec<String>), Failure> {
            let here = workspace.map(|it| it.root().to_owned());
            let site = Site { client, scope, homes: homes.clone(), here };
            let wish = site.wish()?;
            let found = setup::check(&site, &wish)?;
            let complete = found.iter().all(|(it, why)| {
                it.planned != Planned::Write && why.is_none() && it.unread.is_none()
            });
            Ok((complete, found.iter().map(|(it, _)| site.shown(&it.path)).collect()))
        };
        let project = workspace.map(|it| state(Scope::Project(it.root().to_owned())));
        let (project, files) = match project.transpose()? {
            Some((complete, files)) => (Some(complete), files),
            None => (None, state(Scope::Global)?.1),
        };
        let (global, _) = state(Scope::Global)?;
        let found = setup::in_path(client.program()).is_some() || homes.of(client).is_dir();
        rows.push(json!({"client": client.name(), "found": found, "project": project,
                         "global": global, "files": files}));
    }
    if out.json {
        return out.value(&rows);
    }
    out.page(|page| {
        let mut table = Table::new(&["CLIENT", "HERE", "PROJECT", "GLOBAL", "FILES"], &[4]);
        let word = |value: &Value| match value.as_bool() {
            Some(true) => "yes".to_owned(),
            Some(false) => "no".to_owned(),
            None => "-".to_owned(),
        };
        for row in &rows {
            let files = row["files"].as_array().into_iter().flatten();
            let files: Vec<_> = files.filter_map(Value::as_str).collect();
            let name = row["client"].as_str().unwrap_or_default().to_owned();
            let [found, project, global] =
                ["found", "project", "global"].map(|key| word(&row[key]));
            table.row([name, found, project, global, files.join(" ")]);
        }
        page.table(table);
        Ok(())
    })
}
