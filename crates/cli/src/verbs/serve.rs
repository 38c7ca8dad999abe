//! `baton serve`, `status` and `stop`: the coordinator's life. Verbs start it by themselves.

use std::io::IsTerminal;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use baton_engine::{causes, view};
use baton_server::{Listen, Network, ServeError, Tls};
use clap::{Args, ValueEnum};
use hyper::Method;
use serde_json::json;
use tracing_subscriber::EnvFilter;

use crate::failure::Failure;
use crate::session::Session;
use crate::show::time::both;
use crate::workspace::{Workspace, idle};

/// Where it listens unless it is told otherwise.
const PORT: u16 = 7800;
/// How long a coordinator that was told to stop may take to write everything down.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// Run the coordinator in the foreground
///
/// There is one coordinator per workspace, and verbs start it when they need it; run it yourself
/// to watch its log, to put it under a supervisor, or to let agents on other hosts call it. It
/// listens on the workspace's socket and, in the foreground, at 127.0.0.1:7800 (or another port if
/// that is taken; `baton status` tells). On the network every caller needs a token. It stops on
/// Ctrl-C, SIGTERM and `baton stop`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton serve
  baton serve --idle-after 10m
  baton serve --listen 0.0.0.0:7800 --tls-cert cert.pem --tls-key key.pem
  BATON_LOG=debug baton serve
  BATON_LOG=baton_server=debug baton serve --log-format json")]
pub(crate) struct Serve {
    /// Run as verbs start it: in a session of its own, giving way if a coordinator runs already
    #[arg(long)]
    background: bool,
    /// Where to listen on the network [default: 127.0.0.1:7800 in the foreground]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,
    /// Listen on the workspace's socket only
    #[arg(long, conflicts_with = "listen")]
    no_listen: bool,
    /// The certificate by which callers know this coordinator, as a PEM file
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "listen"])]
    tls_cert: Option<PathBuf>,
    /// Its private key, as a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Speak clear text to other hosts, because something else protects the tokens on the way
    #[arg(long, requires = "listen", conflicts_with = "tls_cert")]
    clear_text: bool,
    /// A name by which callers may ask for this coordinator, besides addresses and localhost
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Stop after this long without a request, or never [default: never in the foreground]
    #[arg(long, value_name = "DURATION", value_parser = idle_after)]
    idle_after: Option<IdleAfter>,
    /// Start although records are missing that a checkpoint was signed over, and have every
    /// `baton audit verify` tell of it from then on
    #[arg(long)]
    accept_loss: bool,
    /// How the log on standard error is written: for people, or as one JSON object a line
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    log_format: LogFormat,
}

/// How the log is written. BATON_LOG says how much of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    #[default]
    Human,
    Json,
}

impl LogFormat {
    fn begin(self) {
        let filter = EnvFilter::try_from_env("BATON_LOG").unwrap_or_else(|_| "info".into());
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
        match self {
            Self::Human => log.with_ansi(std::io::stderr().is_terminal()).init(),
            Self::Json => log.json().flatten_event(true).init(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct IdleAfter(Option<Duration>);

fn idle_after(text: &str) -> Result<IdleAfter, String> {
    idle(text).map(IdleAfter)
}

impl Serve {
    pub(crate) fn run(self, workspace: &Workspace) -> Result<(), Failure> {
        let settings = workspace.settings()?;
        // Before the ledger is opened: reading it parses texts.
        workspace.set_secret_rules()?;
        let configured = settings.idle_after;
        let idle_after = match (self.idle_after, self.background) {
            (Some(IdleAfter(after)), _) => after,
            (None, true) => configured,
            (None, false) => None,
        };
        if self.background {
            // A session of its own: Ctrl-C in the terminal of the verb that started it must not
            // end it. It fails only for a process that leads its group, which is detached enough.
            let _ = rustix::process::setsid();
        }
        self.log_format.begin();

        let root = workspace.root().to_owned();
        let network = self.network();
        let options = baton_server::Options {
            workspace: root,
            idle_after,
            retention: settings.retention,
            packing: settings.packing,
            audit_dir: settings.audit_dir,
            outgoing: settings.outgoing,
            accept_loss: self.accept_loss,
            network,
            requests_per_second: settings.requests_per_second,
            otlp: settings.otlp,
        };
        match baton_server::serve(&options) {
            Ok(()) => Ok(()),
            // Somebody serves this workspace, which is all that was wanted.
            Err(ServeError::AlreadyRunning { .. }) if self.background => Ok(()),
            Err(error) => Err(not_served(&error)),
        }
    }
}

impl Serve {
    /// How it is reached over the network, if it is.
    fn network(&self) -> Option<Network> {
        let listen = match self.listen {
            Some(address) => Listen::At(address),
            None if self.background || self.no_listen => return None,
            None => Listen::Near(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))),
        };
        let files = self.tls_cert.clone().zip(self.tls_key.clone());
        let tls = files.map(|(certificate, key)| Tls { certificate, key });
        let (clear_text, hosts) = (self.clear_text, self.hosts.clone());
        Some(Network { listen, tls, clear_text, hosts })
    }
}

fn not_served(error: &ServeError) -> Failure {
    let why = causes(error);
    let hint = match error {
        ServeError::AlreadyRunning { .. } => {
            "verbs start one by themselves: `baton stop` ends it, then start this one"
        }
        ServeError::Io { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
            "another program listens there: choose another port with --listen"
        }
        ServeError::Ledger { why } if why.contains("a checkpoint is signed over") => {
            "nothing was changed; restore `.baton` from a `baton backup`, or run `baton serve \
             --accept-loss` once to go on without the records that are gone"
        }
        ServeError::Ledger { why } if why.contains(" is damaged") => {
            "nothing was changed; restore `.baton/ledger` and `.baton/blobs` from a `baton backup` \
             into an empty .baton"
        }
        ServeError::Ledger { .. } => "check the permissions of .baton/ledger and its disk",
        ServeError::Unsafe { hint, .. } => hint,
        ServeError::Stopped | ServeError::Io { .. } => "check the disk, then start it again",
    };
    Failure::failed(why, hint)
}

/// What is known of a coordinator that has the ledger and cannot be asked.
const UNREACHABLE: &str = "a coordinator runs, but its socket is not there: it is just starting, \
                           or its socket was removed and it will end within seconds";

/// Tell whether the coordinator runs, and how it is
///
/// With --quiet only its process id is printed, and nothing when there is none.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton status
  kill -9 $(baton status -q)")]
pub(crate) struct Status {}

impl Status {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        let Some(reply) = session.client.peek(Method::GET, "/v1/status")? else {
            return nobody(session);
        };
        if out.quiet && !out.json {
            let status: view::Status = reply.read()?;
            return out.page(|page| {
                page.line(status.pid);
                Ok(())
            });
        }
        out.answer(&reply, |page| {
            let status: view::Status = reply.read()?;
            page.line(format!("the coordinator runs as process {}", status.pid));
            page.field("version", &status.version);
            let workspace = session.client.workspace();
            page.field_if("workspace", workspace.map(|found| found.root().display()));
            page.field_if("listens at", status.url.as_ref());
            page.field("since", both(status.started_at, page.now));
            page.field("records", format!("{} ({} indexed)", status.records, status.indexed));
            page.field("signed", signed(&status));
            page.field("workflows", format!("{} open", status.open_workflows));
            page.field("agents", status.agents);
            page.field("outbox", status.outbox);
            page.field_if("cut at start", status.cut_at_start.as_ref());
            Ok(())
        })
    }
}

fn signed(status: &view::Status) -> String {
    match &status.unsigned {
        Some(why) => format!("{} records; no more: {why}", status.signed),
        None => format!("{} records", status.signed),
    }
}

fn nobody(session: &Session) -> Result<(), Failure> {
    let out = session.out;
    elsewhere(session)?;
    let held = session.client.workspace().is_some_and(Workspace::is_held);
    if out.json {
        return out.value(&json!({"running": held, "reachable": false}));
    }
    if out.quiet {
        return Ok(());
    }
    out.page(|page| {
        let none = "no coordinator runs here; the next verb starts one";
        page.line(if held { UNREACHABLE } else { none });
        Ok(())
    })
}

/// Whoever names a coordinator on the network, and gets no answer, hears so as from any verb:
/// nothing that is asked next starts it.
fn elsewhere(session: &Session) -> Result<(), Failure> {
    match session.client.workspace() {
        Some(_) => Ok(()),
        None => session.client.read("/v1/status").map(drop),
    }
}

/// Stop the coordinator
///
/// Nothing is lost: work, timers and results are in the ledger, and the next verb starts it again.
/// Returns when it has gone.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton stop")]
pub(crate) struct Stop {}

impl Stop {
    pub(crate) fn run(self, session: &Session) -> Result<(), Failure> {
        let out = session.out;
        let status = session.client.peek(Method::GET, "/v1/status")?;
        let running: Option<view::Status> = status.map(|reply| reply.read()).transpose()?;
        if let Some(running) = &running {
            session.client.peek(Method::POST, "/v1/stop")?;
            if let Some(workspace) = session.client.workspace() {
                gone(workspace, running.pid)?;
            }
        }
        let stopped = running.is_some();
        if !stopped {
            elsewhere(session)?;
        }
        if !stopped && session.client.workspace().is_some_and(Workspace::is_held) {
            return Err(Failure::failed(UNREACHABLE, "run `baton stop` again in a moment"));
        }
        if out.json {
            return out.value(&json!({"stopped": stopped}));
        }
        if out.quiet {
            return Ok(());
        }
        out.page(|page| {
            page.line(if stopped { "stopped" } else { "no coordinator runs here" });
            Ok(())
        })
    }
}

/// Waits until the process has ended: only then is the ledger free for whoever comes next.
fn gone(workspace: &Workspace, pid: u32) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    while is_alive(pid) {
        if begun.elapsed() > STOP_WITHIN {
            let sentence = format!("process {pid} still runs after it was told to stop");
            let hint = format!("see {}", workspace.log().display());
            return Err(Failure::failed(sentence, hint));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
    Ok(())
}

fn is_alive(pid: u32) -> bool {
    // Where nobody collects ended processes their names stay, yet they hold nothing any more.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with('Z'));
    let named = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let there = named.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok());
    there && state != Some(true)
}
