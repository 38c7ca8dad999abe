//! Where the work is: finds the folder that holds `.baton/`, and makes one.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_context::Tokenizer;
use baton_engine::{Allow, Packing};
use baton_protocol::Rules;
use baton_protocol::id::AgentId;
use baton_protocol::limits::SUMMARISER_WITHIN;
use baton_protocol::reach::Argv;
use baton_protocol::retention::Retention;
use baton_protocol::time::Allowance;
use baton_server::Socket;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::failure::{Exit, Failure};
use crate::show::text::cut;

/// The folder inside a workspace that holds configuration and data.
const FOLDER: &str = Workspace::FOLDER;

/// How long a coordinator that a verb started stays without being asked anything.
const IDLE_AFTER: Duration = Duration::from_secs(30 * 60);
/// How many requests one token may send in a second unless the configuration says otherwise.
const REQUESTS_PER_SECOND: u32 = 200;
/// Bytes of a file with rules for secrets.
const RULES_BYTES_MAX: u64 = 256 * 1024;

const CONFIG: &str = r#"# Settings of this workspace. Everything here is optional; what is
# commented out shows the value that holds without it.

# How long the coordinator that a verb started stays when nobody asks it anything. Work, timers
# and results outlive it. "never" keeps it until `baton stop`.
# idle_after = "30m"

# Write the audit of every handoff to files as well, one line a record, one file a day. The path is
# seen from the workspace; <project> is the name of its folder. Without this it is not written.
# audit_dir = "core/logs/<project>/handoff-audit"

# Where `baton switch` keeps compact artifacts, seen from the workspace; agents of AIOS look into
# .aios/handoffs.
# handoffs_dir = ".baton/handoffs"

# Which agent a session is that does not say so itself (`baton mcp`, `baton hook`, `baton prime`).
# agent = "claude-code"

# How many requests one token may send in a second; 0 means any number.
# requests_per_second = 200

# Send a span for every handoff to an OpenTelemetry collector, by OTLP over HTTP. Without this, and
# without OTEL_EXPORTER_OTLP_ENDPOINT in the environment, nothing is sent.
# [telemetry]
# otlp = "http://127.0.0.1:4318"

# For how many days the records of work that is over are kept before `baton audit prune` drops them.
# These are minimums: more is allowed, less is not.
# [retention]
# closed_days = 30
# completed_days = 90
# escalated_days = 180

# How much of a conversation travels is counted in tokens: of o200k_base, or of cl100k_base. A
# summary is an extract, unless a program makes it: the conversation in, a text out.
# [context]
# tokenizer = "o200k_base"
# summariser = ["llm", "-s", "Summarise this for a colleague who takes over."]
# summariser_within = "30s"

# Which further secrets are masked, seen from the workspace; docs/secrets.md tells what it may say.
# [secrets]
# rules = ".baton/secrets.toml"

# Which addresses agents may be called at beside the public network: addresses, ranges, or a host
# with its port.
# [outgoing]
# allow = ["127.0.0.0/8", "10.1.2.3", "build.example.internal:8080"]
"#;

/// A folder with a `.baton/` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The folder inside it that holds configuration and data.
    pub(crate) const FOLDER: &str = ".baton";

    /// Finds the workspace: the one that was named, or the nearest above the current folder.
    pub(crate) fn find(named: Option<&Path>) -> Result<Self, Failure> {
        let here = current_folder()?;
        match named {
            Some(folder) => {
                let root = here.join(folder);
                if root.join(FOLDER).is_dir() {
                    Ok(Self { root: resolved(&root)? })
                } else {
                    Err(missing(&format!("{} is not a workspace", cut(&folder.to_string_lossy()))))
                }
            }
            None => Self::above(&here)?
                .ok_or_else(|| missing("there is no workspace in this folder or above it")),
        }
    }

    /// The nearest at `folder` or above it, if there is any.
    pub(crate) fn above(folder: &Path) -> Result<Option<Self>, Failure> {
        let root = folder.ancestors().find(|folder| folder.join(FOLDER).is_dir());
        root.map(|root| Ok(Self { root: resolved(root)? })).transpose()
    }

    /// Makes `folder` a workspace. Returns false when it was one already.
    pub(crate) fn create(folder: &Path) -> Result<(Self, bool), Failure> {
        let unwritable = |error: io::Error| {
            let sentence = format!("cannot make a workspace in {}: {error}", folder.display());
            Failure::failed(sentence, "choose a folder that you may write to")
        };
        let root = current_folder()?.join(folder);
        let inside = root.join(FOLDER);
        if inside.is_dir() {
            return Ok((Self { root: resolved(&root)? }, false));
        }
        fs::create_dir_all(&root).map_err(unwritable)?;
        // What agents say to each other is nobody else's business.
        DirBuilder::new().mode(0o700).create(&inside).map_err(unwritable)?;
        fs::write(inside.join("config.toml"), CONFIG).map_err(unwritable)?;
        fs::write(inside.join(".gitignore"), "*\n").map_err(unwritable)?;
        Ok((Self { root: resolved(&root)? }, true))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder for what only a running coordinator needs.
    pub(crate) fn run(&self) -> PathBuf {
        self.root.join(FOLDER).join("run")
    }

    /// The folder for moves of tags that the ledger has not heard of.
    pub(crate) fn spool(&self) -> PathBuf {
        self.root.join(FOLDER).join("spool")
    }

    /// Where the token lies by which sessions act as `agent`.
    pub(crate) fn agent_token(&self, agent: &AgentId) -> PathBuf {
        self.root.join(FOLDER).join("sessions").join(format!("{agent}.token"))
    }

    /// Where its coordinator listens.
    pub(crate) fn socket(&self) -> io::Result<Socket> {
        Socket::of(&self.root.join(FOLDER))
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.run().join("coordinator.log")
    }

    /// Whether a process has the ledger open, be it reachable or not.
    pub(crate) fn is_held(&self) -> bool {
        let ledger = File::open(self.root.join(FOLDER).join("ledger"));
        // Shared, and let go at once: two who look do not see each other as holders.
        ledger.is_ok_and(|held| matches!(held.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Which secrets are masked beside those that Baton knows. No file means no more.
    pub(crate) fn secret_rules(&self) -> Result<Rules, Failure> {
        let named = self.config()?.secrets.rules;
        let usual = self.root.join(FOLDER).join("secrets.toml");
        let path = named.as_ref().map_or(usual, |named| self.root.join(named));
        let text = match read_limited(&path) {
            Ok(text) => text,
            // One that was named must be there, or what it says would be left unmasked in silence.
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => {
                return Ok(Rules::default());
            }
            Err(error) => {
                let sentence = format!("cannot read {}: {error}", path.display());
                return Err(Failure::failed(sentence, "correct `rules` under [secrets]"));
            }
        };
        parse(&text).map_err(|why| {
            let hint = "correct that rule; docs/secrets.md tells what it may say";
            Failure::usage(format!("{}: {why}", path.display()), hint)
        })
    }

    /// Has these rules hold for this process.
    pub(crate) fn set_secret_rules(&self) -> Result<(), Failure> {
        let rules = self.secret_rules()?;
        rules.set().map_err(|error| Failure::failed(error.to_string(), "this is a bug; tell us"))
    }

    /// What its configuration says.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let config = self.config()?;
        let project = self.root.file_name().unwrap_or_default().to_string_lossy();
        let from_root = |dir: String| self.root.join(dir.replace("<project>", &project));
        Ok(Settings {
            idle_after: config.idle_after.map_or(Some(IDLE_AFTER), |Idle(after)| after),
            retention: config.retention.map_or_else(Retention::default, |Kept(kept)| kept),
            audit_dir: config.audit_dir.map(from_root),
            handoffs_dir: match config.handoffs_dir {
                Some(dir) => self.root.join(dir),
                None => self.root.join(FOLDER).join("handoffs"),
            },
            agent: config.agent,
            requests_per_second: match config.requests_per_second {
                None => Some(REQUESTS_PER_SECOND),
                Some(0) => None,
                Some(most) => Some(most),
            },
            outgoing: config.outgoing.map_or_else(Allow::default, |Outgoing(allow)| allow),
            packing: config.context.into(),
            otlp: config.telemetry.otlp.map(|Collector(address)| address),
        })
    }

    fn config(&self) -> Result<Config, Failure> {
        let path = self.root.join(FOLDER).join("config.toml");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                let sentence = format!("cannot read {}: {error}", path.display());
                return Err(Failure::failed(sentence, "check the file's permissions"));
            }
        };
        parse(&text).map_err(|why| {
            Failure::usage(
                format!("{}: {why}", path.display()),
                "correct that line, or remove it: every setting is optional",
            )
        })
    }
}

/// A file of a size that a person would write.
fn read_limited(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let mut text = String::new();
    file.take(RULES_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > RULES_BYTES_MAX {
        return Err(io::Error::other(format!("it is larger than {RULES_BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// The code of a failure to find a workspace.
pub(crate) const NO_WORKSPACE: &str = "no-workspace";

fn missing(sentence: &str) -> Failure {
    let hint = "run `baton init` to make one here, or name one with --workspace DIR";
    Failure::new(Exit::NotFound, NO_WORKSPACE, sentence, hint)
}

/// Where the caller stands.
pub(crate) fn current_folder() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| {
        Failure::failed(format!("cannot tell the current folder: {error}"), "cd somewhere else")
    })
}

/// One spelling for each folder, so that two verbs never think of two sockets.
pub(crate) fn resolved(root: &Path) -> Result<PathBuf, Failure> {
    root.canonicalize().map_err(|error| {
        let sentence = format!("cannot read {}: {error}", root.display());
        Failure::failed(sentence, "check the folder's permissions")
    })
}

/// The settings that a person may write into `config.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    idle_after: Option<Idle>,
    audit_dir: Option<String>,
    handoffs_dir: Option<PathBuf>,
    agent: Option<AgentId>,
    retention: Option<Kept>,
    requests_per_second: Option<u32>,
    outgoing: Option<Outgoing>,
    #[serde(default)]
    telemetry: Telemetry,
    #[serde(default)]
    context: Context,
    #[serde(default)]
    secrets: Secrets,
}

/// How conversations travel.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Context {
    tokenizer: Tokenizer,
    summariser: Option<Argv>,
    summariser_within: Option<Allowance>,
}

impl From<Context> for Packing {
    fn from(context: Context) -> Self {
        let Context { tokenizer, summariser, summariser_within } = context;
        let within = summariser_within.unwrap_or(SUMMARISER_WITHIN);
        Self { tokenizer, summariser, within }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Secrets {
    rules: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Telemetry {
    otlp: Option<Collector>,
}

/// The address of a collector.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Collector(String);

impl TryFrom<String> for Collector {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.parse::<hyper::Uri>() {
            Ok(uri) if matches!(uri.scheme_str(), Some("http" | "https")) => Ok(Self(text)),
            Ok(_) | Err(_) => {
                let found = cut(&text);
                Err(format!("`{found}` is no address of a collector; expected http://HOST:PORT"))
            }
        }
    }
}

/// What holds in a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// How long an unasked coordinator stays; nothing means for ever.
    pub(crate) idle_after: Option<Duration>,
    /// How long records are kept.
    pub(crate) retention: Retention,
    /// Where the audit is also written as files.
    pub(crate) audit_dir: Option<PathBuf>,
    /// Where compact artifacts are kept.
    pub(crate) handoffs_dir: PathBuf,
    /// Which agent a session is that does not say so.
    pub(crate) agent: Option<AgentId>,
    /// Requests of one token in a second; nothing means any number.
    pub(crate) requests_per_second: Option<u32>,
    /// How conversations are packed.
    pub(crate) packing: Packing,
    /// Where spans go, if anywhere.
    pub(crate) otlp: Option<String>,
    /// Which addresses agents may be called at, beside the public network.
    pub(crate) outgoing: Allow,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Addresses")]
struct Outgoing(Allow);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Addresses {
    #[serde(default)]
    allow: Vec<String>,
}

impl TryFrom<Addresses> for Outgoing {
    type Error = String;

    fn try_from(addresses: Addresses) -> Result<Self, String> {
        Allow::of(&addresses.allow).map(Self).map_err(|error| error.to_string())
    }
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Days")]
struct Kept(Retention);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Days {
    closed_days: Option<u32>,
    completed_days: Option<u32>,
    escalated_days: Option<u32>,
}

impl TryFrom<Days> for Kept {
    type Error = String;

    fn try_from(days: Days) -> Result<Self, String> {
        let Days { closed_days, completed_days, escalated_days } = days;
        let kept = Retention::of_days(closed_days, completed_days, escalated_days);
        kept.map(Self).map_err(|error| error.to_string())
    }
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Idle(Option<Duration>);

impl TryFrom<String> for Idle {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        idle(&text).map(Self)
    }
}

/// Reads a span of time, or `never`.
pub(crate) fn idle(text: &str) -> Result<Option<Duration>, String> {
    if text == "never" {
        return Ok(None);
    }
    let span: Allowance = text.parse().map_err(|error| format!("{error}, or never"))?;
    Ok(Some(span.as_duration()))
}

/// Reads the settings; what is wrong is told on one line, with its line number.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        let said = error.message().lines().collect::<Vec<_>>().join(" ");
        format!("line {line}: {said}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_configuration_means_the_defaults() {
        let config = parse::<Config>(CONFIG).expect("our own configuration");
        assert_eq!(config.idle_after, None);
        let uncommented = CONFIG.replace("# idle_after", "idle_after");
        let config = parse::<Config>(&uncommented).expect("our own configuration");
        assert_eq!(config.idle_after, Some(Idle(Some(IDLE_AFTER))));
        let uncommented = uncommented.replace("# [ret", "[ret").replace("# clo", "clo");
        let config = parse::<Config>(&uncommented).expect("our own configuration");
        assert_eq!(config.retention, Some(Kept(Retention::default())));
        let never = parse::<Config>("idle_after = \"never\"").expect("a setting");
        assert_eq!(never.idle_after, Some(Idle(None)));
    }

    #[test]
    fn a_wrong_setting_is_named_with_its_line() {
        let said = |text: &str| parse::<Config>(text).expect_err("a wrong setting");
        let unknown = said("\nidle_afer = \"1m\"\n");
        let expected = "line 2: unknown field `idle_afer`, expected one of `idle_after`, ";
        assert!(unknown.starts_with(expected), "{unknown}");
        let short = said("[retention]\ncompleted_days = 89\n");
        assert!(short.ends_with("completed_days is at least 90 days, found 89"), "{short}");
        let nowhere = said("[outgoing]\nallow = [\"localhost\"]\n");
        assert!(nowhere.contains("`localhost` is not an address, a range"), "{nowhere}");
        let soon = said("idle_after = \"soon\"");
        assert!(soon.starts_with("line 1: `soon` is not a duration; expected"), "{soon}");
        assert!(soon.ends_with("or never"), "{soon}");
        let collector = said("[telemetry]\notlp = \"collector:4318\"");
        assert!(collector.contains("expected http://HOST:PORT"), "{collector}");
    }

    #[test]
    fn a_ledger_that_is_held_is_told_from_one_that_is_free() {
        let folder = tempfile::tempdir().expect("a folder");
        let (workspace, _) = Workspace::create(folder.path()).expect("a workspace");
        assert!(!workspace.is_held());
        let ledger = folder.path().join(".baton/ledger");
        fs::create_dir(&ledger).expect("a folder");
        let holder = File::open(&ledger).expect("a folder");
        holder.try_lock().expect("a lock");
        assert!(workspace.is_held());
        drop(holder);
        assert!(!workspace.is_held());
    }

    #[test]
    fn a_workspace_is_made_once_and_found_from_below() {
        let folder = tempfile::tempdir().expect("a folder");
        let (made, new) = Workspace::create(folder.path()).expect("a workspace");
        assert!(new);
        let (again, new) = Workspace::create(folder.path()).expect("the same");
        assert_eq!((again, new), (made.clone(), false));
        assert_eq!(Workspace::find(Some(folder.path())), Ok(made));
        let nowhere = folder.path().join("nowhere");
        let failure = Workspace::find(Some(&nowhere)).expect_err("nothing there");
        assert_eq!((failure.exit, failure.code.as_str()), (Exit::NotFound, "no-workspace"));
    }
}
