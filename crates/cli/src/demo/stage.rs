//! The stage: a temporary workspace, agents with their own tokens, and a narrator.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use baton_engine::NewToken;
use baton_engine::view::{Answer, HandoffView, Status};
use baton_protocol::command::Command;
use baton_protocol::id::AgentId;
use clap::Parser;
use hyper::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::DemoArgs;
use crate::args::Cli;
use crate::caller::Caller;
use crate::client::Client;
use crate::failure::Failure;
use crate::line::Line;
use crate::verbs;
use crate::workspace::Workspace;

/// How long a reader gets for an act's title.
const PAUSE: Duration = Duration::from_millis(900);
/// How long a reader gets for a line.
const BREATH: Duration = Duration::from_millis(350);

/// Where the story is played.
pub(super) struct Stage {
    folder: Option<tempfile::TempDir>,
    root: PathBuf,
    workspace: Workspace,
    operator: Client,
    begun: Instant,
    fast: bool,
}

/// An agent in the story, who acts with a token of its own.
pub(super) struct Actor {
    name: &'static str,
    client: Client,
}

impl Actor {
    /// What it is called.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Asks for something and gets it.
    pub(super) fn does(&self, command: Value) -> Result<Answer, Failure> {
        self.client.command(&read(command)?)?.read()
    }

    /// Asks for something and is refused, which is what the story is about.
    pub(super) fn is_refused(&self, command: Value) -> Result<Failure, Failure> {
        match self.client.command(&read(command)?) {
            Err(refusal) => Ok(refusal),
            Ok(_) => Err(Failure::failed(
                format!("{} should have been refused, and was not", self.name),
                "this is a bug in Baton: please report it",
            )),
        }
    }
}

fn read(command: Value) -> Result<Command, Failure> {
    serde_json::from_value(command).map_err(|error| {
        Failure::failed(format!("the demo asks for nonsense: {error}"), "please report it")
    })
}

impl Stage {
    /// Makes the workspace.
    pub(super) fn set(args: &DemoArgs) -> Result<Self, Failure> {
        let made = tempfile::Builder::new().prefix("baton-demo-").tempdir();
        let folder = made.map_err(|error| {
            Failure::failed(format!("cannot make a temporary folder: {error}"), "check TMPDIR")
        })?;
        let root = folder.path().to_owned();
        let (workspace, _) = Workspace::create(&root)?;
        let operator = Client::new(Line::Socket(workspace.clone()), Caller::Operator, None)?;
        let (begun, fast) = (Instant::now(), args.fast);
        // Whoever wants to look around afterwards gets a folder that nobody removes.
        let folder = if args.keep {
            drop(folder.keep());
            None
        } else {
            Some(folder)
        };
        let stage = Self { folder, root, workspace, operator, begun, fast };
        stage.say(&format!("a workspace in {}", stage.root.display()));
        Ok(stage)
    }

    /// Makes agents known and gives each a token.
    pub(super) fn cast<const N: usize>(
        &self,
        cast: [(&'static str, Value); N],
    ) -> Result<[Actor; N], Failure> {
        let mut actors = Vec::with_capacity(N);
        for (name, mut profile) in cast {
            profile["id"] = json!(name);
            self.operator.command(&read(json!({ "register": profile }))?)?;
            let made: NewToken =
                self.operator.post("/v1/tokens", &json!({ "agent": name }))?.read()?;
            let caller = Caller::Bearer { on_behalf: None, token: made.token };
            actors.push(Actor {
                name,
                client: Client::new(Line::Socket(self.workspace.clone()), caller, None)?,
            });
        }
        let pid = self.status()?.pid;
        self.say(&format!("{} agents with a token each; coordinator is process {pid}", N));
        actors.try_into().map_err(|_| Failure::failed("the cast is incomplete", "please report it"))
    }

    /// Asks for something as the operator.
    pub(super) fn asks(&self, command: Value) -> Result<Answer, Failure> {
        self.operator.command(&read(command)?)?.read()
    }

    /// The same on behalf of an agent.
    pub(super) fn asks_as(&self, agent: &AgentId, command: Value) -> Result<Answer, Failure> {
        let line = Line::Socket(self.workspace.clone());
        let client = Client::new(line, Caller::OperatorAs(agent.clone()), None)?;
        client.command(&read(command)?)?.read()
    }

    /// Asks a question as the operator.
    pub(super) fn reads<T: DeserializeOwned>(&self, path: impl Into<String>) -> Result<T, Failure> {
        self.operator.read(path)?.read()
    }

    /// Tells what happens outside.
    pub(super) fn says(&self, words: &str) {
        self.say(words);
    }

    /// Sets the rules, as the operator.
    pub(super) fn rules(&self, policy: Value) -> Result<(), Failure> {
        self.operator.command(&read(json!({ "set_policy": policy }))?).map(drop)
    }

    /// Announces an act.
    pub(super) fn act(&self, title: &str) -> Result<(), Failure> {
        let bold = Style::new().bold();
        anstream::println!("\n{bold}{title}{bold:#}");
        self.pause(PAUSE);
        Ok(())
    }

    /// Tells what an agent does.
    pub(super) fn tell(&self, actor: &Actor, deed: &str) {
        self.line(actor.name, AnsiColor::Cyan, deed);
    }

    /// Tells what the coordinator does.
    pub(super) fn coordinator(&self, deed: &str) {
        self.line("baton", AnsiColor::Magenta, deed);
    }

    /// Tells why somebody was refused.
    pub(super) fn refused(&self, refusal: &Failure) {
        let words = format!("refused [{}]: {}", refusal.code, refusal.sentence);
        self.line("baton", AnsiColor::Yellow, &words);
    }

    fn say(&self, words: &str) {
        self.line("", AnsiColor::White, words);
    }

    fn line(&self, who: &str, color: AnsiColor, words: &str) {
        let (dim, name) = (Style::new().dimmed(), color.on_default().bold());
        let at = self.begun.elapsed().as_secs_f64();
        anstream::println!("{dim}{at:5.1}s{dim:#}  {name}{who:<9}{name:#} {words}");
        self.pause(BREATH);
    }

    fn pause(&self, span: Duration) {
        if !self.fast {
            std::thread::sleep(span);
        }
    }

    /// Waits until the handoff stands there, by asking like anybody else.
    pub(super) fn until(&self, handoff: &str, state: &str, most: Duration) -> Result<(), Failure> {
        let deadline = Instant::now() + most;
        while Instant::now() < deadline {
            let view = self.handoff(handoff)?;
            if view.line.state == state {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let sentence = format!("handoff {handoff} did not become {state} in time");
        Err(Failure::failed(sentence, "the machine may be very busy: try again"))
    }

    /// How a handoff stands.
    pub(super) fn handoff(&self, id: &str) -> Result<HandoffView, Failure> {
        self.operator.read(format!("/v1/handoffs/{id}"))?.read()
    }

    /// How the coordinator is.
    pub(super) fn status(&self) -> Result<Status, Failure> {
        self.operator.read("/v1/status")?.read()
    }

    /// Kills the coordinator of this stage, which this stage started.
    pub(super) fn kill(&self, pid: u32) -> Result<(), Failure> {
        let named = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
        let killed =
            named.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
        match killed {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => {
                Err(Failure::failed(format!("cannot kill process {pid}"), "try again"))
            }
        }
    }

    /// Runs a verb as a person would, in this workspace.
    pub(super) fn runs(&self, words: &[&str]) -> Result<(), Failure> {
        let dim = Style::new().dimmed();
        anstream::println!("\n{dim}$ baton {}{dim:#}", shortened(words));
        let root = self.root.display().to_string();
        let line = ["baton", "--workspace", &root].into_iter().chain(words.iter().copied());
        let cli = Cli::try_parse_from(line).map_err(|error| {
            Failure::failed(format!("the demo runs a verb wrongly: {error}"), "please report it")
        })?;
        verbs::run(cli)
    }

    /// Ends the coordinator, and removes the workspace unless it is kept.
    pub(super) fn leave(self) -> Result<(), Failure> {
        self.operator.peek(Method::POST, "/v1/stop")?;
        match self.folder {
            Some(_) => anstream::println!("\nnext: `baton init` in a folder of your own"),
            None => anstream::println!("\nlook around: cd {}", self.root.display()),
        }
        Ok(())
    }
}

/// Ids as people type them.
fn shortened(words: &[&str]) -> String {
    let short =
        |word: &&str| if word.len() == 36 { word[..8].to_owned() } else { (*word).to_owned() };
    words.iter().map(short).collect::<Vec<_>>().join(" ")
}
