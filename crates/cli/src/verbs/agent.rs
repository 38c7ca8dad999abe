//! `baton agent`: who can take work.

use std::path::PathBuf;

use baton_engine::view::{AgentView, Answer};
use baton_protocol::agent::{Autonomy, HealthCheck, Profile, Risk, Role, WriteScope};
use baton_protocol::command::Command;
use baton_protocol::event::Event;
use baton_protocol::id::AgentId;
use baton_protocol::reach::{Reach, Url};
use baton_protocol::text::Text;
use baton_protocol::time::{Allowance, Timestamp};
use clap::{Args, Subcommand};

use crate::client::Reply;
use crate::failure::Failure;
use crate::session::Session;
use crate::show::Page;
use crate::show::table::Table;
use crate::show::time::{both, relative};
use crate::value::{Skill, argv, word};
use crate::verbs::health::{Health, Heartbeat};
use crate::verbs::import::{self, Imported};
use crate::verbs::reached::Secret;
use crate::verbs::rows::word_of;
use crate::verbs::told::told;

/// Make agents known, and see who there is
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton agent add builder --capability rust --capability sql:0.6
  baton agent import .claude/agents
  baton agent list")]
pub(crate) struct Agent {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Add(Box<Add>),
    List(List),
    Show(Show),
    Health(Health),
    Heartbeat(Heartbeat),
    Secret(Secret),
    Import(Import),
}

impl Agent {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        match self.verb {
            Verb::Add(add) => add.run(session),
            Verb::List(list) => list.run(session),
            Verb::Show(show) => show.run(session),
            Verb::Health(health) => health.run(session),
            Verb::Heartbeat(heartbeat) => heartbeat.run(session),
            Verb::Secret(secret) => secret.run(session),
            Verb::Import(import) => import.run(session),
        }
    }
}

/// Make an agent known, or change what is known of it
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton agent add builder --capability rust --capability sql:0.6
  baton agent add reviewer --role reviewer --max-risk high --answer-within 5m
  baton agent add scribe --write-scope 'docs.*' --notify 'notify-send Baton'
  baton agent add linter --command 'cargo clippy --message-format json'
  baton agent add remote --http https://agents.example.org/baton")]
struct Add {
    /// The name it answers to: a-z, 0-9 and -
    #[arg(value_name = "AGENT")]
    id: AgentId,
    /// A name for people
    #[arg(long, value_name = "TEXT")]
    name: Option<Text>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<Text>,
    /// Its place in the escalation chain
    #[arg(
        long,
        value_name = "ROLE",
        default_value = "worker",
        value_parser = word::<Role>(&["worker", "reviewer", "architect", "human"])
    )]
    role: Role,
    /// What it can do, and how well from 0.0 to 1.0
    #[arg(long, value_name = "CAPABILITY[:LEVEL]")]
    capability: Vec<Skill>,
    /// How much it can hold at once
    #[arg(long, value_name = "N", default_value_t = 8)]
    max_tasks: u32,
    /// How long one task may take it
    #[arg(long, value_name = "DURATION")]
    max_time: Option<Allowance>,
    /// How much it may decide by itself, as a number
    #[arg(long, value_name = "NUMBER")]
    autonomy: Option<u64>,
    /// The highest risk it may take
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "medium",
        value_parser = word::<Risk>(&["low", "medium", "high"])
    )]
    max_risk: Risk,
    /// A variable it may write, or a beginning and * [default: all]
    #[arg(long, value_name = "NAME")]
    write_scope: Vec<WriteScope>,
    /// How long it has to answer a handoff [default: as long as a subtask may take, else without
    /// limit]
    #[arg(long, value_name = "DURATION")]
    answer_within: Option<Allowance>,
    /// A command that tells it of news, split at spaces; no shell is involved
    #[arg(long, value_name = "COMMAND")]
    notify: Option<String>,
    /// Run this command for each handoff, split at spaces; no shell is involved
    #[arg(long, value_name = "COMMAND", conflicts_with = "http")]
    command: Option<String>,
    /// Call this address for each handoff
    #[arg(long, value_name = "URL")]
    http: Option<String>,
    /// A command that succeeds, or an address that answers 200, while the agent is well; it is
    /// tried once a minute, for at most 10 s
    #[arg(long, value_name = "COMMAND|URL")]
    health_check: Option<String>,
    /// How often it says that it is there; after three misses it is not well
    #[arg(long, value_name = "DURATION")]
    heartbeat_every: Option<Allowance>,
}

impl Add {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let profile = self.profile()?;
        let id = profile.id.clone();
        let (reply, answer) = session.submit(Command::Register(Box::new(profile)))?;
        registered(session, (&reply, &answer), &id)
    }

    fn profile(self) -> Result<Profile, Failure> {
        let mut profile = Profile::named(self.id);
        profile.name = self.name;
        profile.description = self.description;
        profile.role = self.role;
        profile.capabilities = self.capability.into_iter().map(Into::into).collect();
        profile.autonomy_budget = Autonomy { number: self.autonomy, max_risk: self.max_risk };
        profile.max_concurrent_tasks = self.max_tasks;
        profile.max_execution_time = self.max_time;
        if !self.write_scope.is_empty() {
            profile.write_scopes = self.write_scope;
        }
        profile.answer_within = self.answer_within;
        profile.notify = self.notify.map(|words| argv(&words, "--notify")).transpose()?;
        profile.health_check = self.health_check.map(|words| check(&words)).transpose()?;
        profile.heartbeat_every = self.heartbeat_every;
        profile.reach = match (self.command, self.http) {
            (Some(words), _) => Reach::Command { argv: argv(&words, "--command")? },
            (None, Some(text)) => Reach::Http { url: url(text, "--http")? },
            (None, None) => Reach::Pull,
        };
        Ok(profile)
    }
}

fn registered(
    session: &Session,
    (reply, answer): (&Reply, &Answer),
    id: &AgentId,
) -> Result<(), Failure> {
    if answer.events.is_empty() {
        return session.out.done(reply, id, format!("agent {id} was known already"));
    }
    told(session, (reply, answer), id, |event| match event {
        Event::Registered { profile } => {
            Some((profile.id.to_string(), format!("agent {} is known now", profile.id)))
        }
        _ => None,
    })
}

/// List agents
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton agent list")]
struct List {}

impl List {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        let reply = session.client.read("/v1/agents")?;
        out.answer(&reply, |page| {
            let agents: Vec<AgentView> = reply.read()?;
            if out.quiet {
                agents.iter().for_each(|agent| page.line(&agent.profile.id));
                return Ok(());
            }
            let mut table =
                Table::new(&["AGENT", "ROLE", "STATUS", "HOLDS", "CAPABILITIES", "SINCE"], &[4]);
            for AgentView { profile, registered_at, load, status, .. } in &agents {
                table.row([
                    profile.id.to_string(),
                    word_of(&profile.role),
                    status.clone(),
                    format!("{load} of {}", profile.max_concurrent_tasks),
                    capabilities(profile),
                    since(*registered_at, page.now),
                ]);
            }
            page.table(table);
            Ok(())
        })
    }
}

/// The operator has been there from the beginning, before any clock was read.
fn since(registered_at: Timestamp, now: Timestamp) -> String {
    match registered_at.as_micros() {
        0 => "the start".to_owned(),
        _ => relative(registered_at, now),
    }
}

/// Show what is known of an agent
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton agent show builder")]
struct Show {
    /// Which one
    #[arg(value_name = "AGENT")]
    id: AgentId,
}

impl Show {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let reply = session.client.read(format!("/v1/agents/{}", self.id))?;
        session.out.answer(&reply, |page| {
            let view: AgentView = reply.read()?;
            describe(page, &view);
            Ok(())
        })
    }
}

fn describe(page: &mut Page, view: &AgentView) {
    let profile = &view.profile;
    let scopes: Vec<_> = profile.write_scopes.iter().map(ToString::to_string).collect();
    page.heading(&profile.id);
    page.field_if("name", profile.name.as_ref());
    page.field_if("for", profile.description.as_ref());
    page.field("role", word_of(&profile.role));
    page.field("can", capabilities(profile));
    page.field("holds", format!("{} of {}", view.load, profile.max_concurrent_tasks));
    page.field_if("autonomy", profile.autonomy_budget.number);
    page.field("max risk", word_of(&profile.autonomy_budget.max_risk));
    page.field_if("max time", profile.max_execution_time);
    page.field("may write", scopes.join(", "));
    page.field("reached by", reach(&profile.reach));
    page.field_if("answers in", profile.answer_within());
    page.field_if("notify", profile.notify.as_ref().map(ToString::to_string));
    page.field_if("check", profile.health_check.as_ref().map(ToString::to_string));
    page.field_if("heartbeat", profile.heartbeat_every.map(|span| format!("every {span}")));
    let since_when = view.health.unavailable_since.map(|at| both(at, page.now));
    let since_when = since_when.map(|at| format!(" since {at}")).unwrap_or_default();
    page.field("status", format!("{}{since_when}", view.status));
    page.field("tokens", view.tokens.len());
    page.field("since", since(view.registered_at, page.now));
}

fn url(text: String, option: &str) -> Result<Url, Failure> {
    Url::try_from(text).map_err(|error| {
        Failure::usage(format!("{option}: {error}"), "give an address such as https://example.org")
    })
}

fn check(text: &str) -> Result<HealthCheck, Failure> {
    match text.starts_with("http://") || text.starts_with("https://") {
        true => Ok(HealthCheck::Http { http: url(text.to_owned(), "--health-check")? }),
        false => argv(text, "--health-check").map(HealthCheck::Command),
    }
}

fn reach(reach: &Reach) -> String {
    match reach {
        Reach::Pull => "its inbox".to_owned(),
        Reach::Command { argv } => format!("the command {argv}"),
        Reach::Http { url } | Reach::A2a { url } => url.to_string(),
        Reach::Tmux => "a tmux window".to_owned(),
    }
}

fn capabilities(profile: &Profile) -> String {
    let list: Vec<_> = profile
        .capabilities
        .iter()
        .map(|capability| match f64::from(capability.proficiency) {
            1.0.. => capability.id.to_string(),
            level => format!("{}:{level}", capability.id),
        })
        .collect();
    if list.is_empty() { "-".to_owned() } else { list.join(", ") }
}

/// Make agents known from files
///
/// A YAML file holds one agent, a list of agents, or a list under `agents:`, in the fields that
/// `baton agent show --json` prints under `profile`. A Markdown file is a coding agent's
/// definition with front matter, as in .claude/agents: `name` and `description` are taken, and
/// `role` and `capabilities` if they are there. A folder means all such files in it;
/// a Markdown file without front matter, such as a README, is skipped there. Every file is read
/// before the first agent is made known, so a mistake in one changes nothing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton agent import agents.yaml
  baton agent import .claude/agents

A YAML file:
  agents:
    - id: builder
      capabilities: [rust, {id: sql, proficiency: 0.6}]
    - id: reviewer
      role: reviewer
      max_concurrent_tasks: 2")]
struct Import {
    /// Files or folders
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

impl Import {
    fn run(self, session: &Session) -> Result<(), Failure> {
        let Imported { profiles, skipped } = import::profiles(&self.paths)?;
        for file in skipped {
            session.out.note(&format!("skipped {}: no front matter", file.display()));
        }
        for profile in profiles {
            let id = profile.id.clone();
            let (reply, answer) = session.submit(Command::Register(Box::new(profile)))?;
            registered(session, (&reply, &answer), &id)?;
        }
        Ok(())
    }
}
