//! Speaks to the coordinator, and has it started when it should be on this machine and is not.
//!
//! A request that dies with its coordinator is sent once more under the same key, which the
//! ledger answers as it did the first time: asking twice is safe, so nobody has to wonder. Only a
//! token is asked for once: its secret is in no ledger, so a second answer would be a second token.

mod listen;
mod remote;

pub(crate) use listen::{Heard, Listened};
pub(crate) use remote::Remote;

use std::cell::Cell;
use std::time::Duration;

use baton_protocol::command::Command;
use hyper::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Runtime;

use self::remote::{Answered, Ask};
use crate::caller::Caller;
use crate::failure::Failure;
use crate::line::{Line, Lost};
use crate::workspace::Workspace;

/// How long an ordinary question may take.
const REPLY_WITHIN: Duration = Duration::from_secs(60);
/// How long a question about the whole ledger may take.
const WHOLE_LEDGER_WITHIN: Duration = Duration::from_secs(3_600);
/// Where tokens are made.
const TOKENS: &str = "/v1/tokens";

/// A way to ask one coordinator.
pub(crate) struct Client {
    runtime: Runtime,
    remote: Remote,
    key: Option<String>,
    /// How many commands went out under `key`: a verb may send several, each of its own.
    sent: Cell<u32>,
}

/// What the coordinator said, exactly as it said it.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) json: String,
    /// Where the list goes on, if this is a page of one.
    pub(crate) next: Option<String>,
}

impl Reply {
    /// Reads it as a view.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_str(&self.json).map_err(|error| {
            Failure::failed(
                format!("cannot read what the coordinator answered: {error}"),
                "another version of baton may be running here: `baton stop`, then try again",
            )
        })
    }
}

/// Why the coordinator was not told.
#[derive(Debug)]
pub(crate) enum Untold {
    /// Nobody is there, or it is not known what became of it.
    Lost,
    /// It said no, with this status.
    Refused(u16),
}

impl Client {
    pub(crate) fn new(line: Line, caller: Caller, key: Option<String>) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Failure::failed(format!("cannot set up I/O: {error}"), "close some programs")
        })?;
        Ok(Self { runtime, remote: Remote::new(line, caller), key, sent: Cell::new(0) })
    }

    /// Whether a person asks in its own name.
    pub(crate) fn is_operator(&self) -> bool {
        self.remote.caller.is_operator()
    }

    /// The workspace, if it is on this machine.
    pub(crate) fn workspace(&self) -> Option<&Workspace> {
        self.remote.workspace()
    }

    /// Whether the caller named the command, so that asking again is the same asking.
    pub(crate) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// Asks for a change.
    pub(crate) fn command(&self, command: &Command) -> Result<Reply, Failure> {
        self.post("/v1/commands", command)
    }

    /// Sends `body`, under a key that makes sending it twice the same as once.
    pub(crate) fn post(&self, path: &str, body: &impl Serialize) -> Result<Reply, Failure> {
        let body = serde_json::to_string(body).map_err(|error| {
            Failure::usage(format!("cannot write this as JSON: {error}"), "check what was given")
        })?;
        let whole = ["/v1/backup", "/v1/audit/export", "/v1/what-if"].contains(&path);
        let within = if whole { WHOLE_LEDGER_WITHIN } else { REPLY_WITHIN };
        let key = Some(self.next_key()?);
        self.ask(&Ask {
            method: Method::POST,
            path: path.to_owned(),
            body: Some(body),
            key,
            within,
            repeatable: path != TOKENS && path != "/v1/audit/export",
        })
    }

    /// Reads a view.
    pub(crate) fn read(&self, path: impl Into<String>) -> Result<Reply, Failure> {
        self.read_waiting(path, Duration::ZERO)
    }

    /// Reads a view that the coordinator may hold back for up to `wait`.
    pub(crate) fn read_waiting(
        &self,
        path: impl Into<String>,
        wait: Duration,
    ) -> Result<Reply, Failure> {
        self.ask(&reading(path.into(), wait))
    }

    /// Asks a coordinator that is already there; nothing if there is none.
    pub(crate) fn peek(&self, method: Method, path: &str) -> Result<Option<Reply>, Failure> {
        let ask = Ask { method, ..reading(path.to_owned(), Duration::ZERO) };
        match self.once(&ask) {
            Ok(answered) => answered.granted().map(Some),
            Err(Lost::NobodyThere) => Ok(None),
            Err(lost) => Err(self.remote.told(lost, &ask)),
        }
    }

    /// Tells a coordinator that is already there of something that was done; starts none. Under the
    /// same key, telling twice is the same as once.
    pub(crate) fn tell(
        &self,
        command: &Command,
        key: String,
        within: Duration,
    ) -> Result<(), Untold> {
        let body = serde_json::to_string(command).map_err(|_| Untold::Refused(400))?;
        let path = "/v1/commands".to_owned();
        let ask = Ask {
            method: Method::POST,
            path,
            body: Some(body),
            key: Some(key),
            within,
            repeatable: true,
        };
        match self.once(&ask) {
            Ok(Answered { status: 200..=299, .. }) => Ok(()),
            Ok(Answered { status, .. }) => Err(Untold::Refused(status)),
            Err(_) => Err(Untold::Lost),
        }
    }

    /// Asks, has the coordinator started if need be, and asks once more if it died meanwhile.
    fn ask(&self, ask: &Ask) -> Result<Reply, Failure> {
        self.runtime.block_on(self.remote.asked(ask))?.granted()
    }

    fn once(&self, ask: &Ask) -> Result<Answered, Lost> {
        self.runtime.block_on(self.remote.once(ask))
    }

    fn next_key(&self) -> Result<String, Failure> {
        let sent = self.sent.replace(self.sent.get() + 1);
        match (&self.key, sent) {
            (Some(key), 0) => Ok(key.clone()),
            (Some(key), later) => Ok(format!("{key}-{later}")),
            (None, _) => {
                let mut bytes = [0; 16];
                getrandom::fill(&mut bytes).map_err(|error| {
                    let sentence = format!("the system gives no random numbers: {error}");
                    Failure::failed(sentence, "name the command yourself with --key")
                })?;
                Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
            }
        }
    }
}

fn reading(path: String, wait: Duration) -> Ask {
    let whole = path.starts_with("/v1/audit/verify") || path == "/v1/audit/prune";
    let within = if whole { WHOLE_LEDGER_WITHIN } else { REPLY_WITHIN };
    let within = within + wait;
    Ask { method: Method::GET, path, body: None, key: None, within, repeatable: true }
}

/// A path with its query, every value made safe to be part of it.
pub(crate) struct Query {
    text: String,
    first: bool,
}

impl Query {
    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self { text: path.into(), first: true }
    }

    /// Adds `name=value` if there is a value.
    pub(crate) fn with(mut self, name: &str, value: Option<impl ToString>) -> Self {
        let Some(value) = value else { return self };
        self.text.push(if self.first { '?' } else { '&' });
        self.first = false;
        self.text.push_str(name);
        self.text.push('=');
        for byte in value.to_string().bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b':' => {
                    self.text.push(char::from(byte));
                }
                other => self.text.push_str(&format!("%{other:02X}")),
            }
        }
        self
    }
}

impl From<Query> for String {
    fn from(query: Query) -> Self {
        query.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_carries_any_value_safely() {
        let query = Query::new("/v1/audit").with("type", Some("a b&c=ü")).with("to", None::<&str>);
        let text = String::from(query.with("since", Some("2026-03-01T12:00:00Z")));
        assert_eq!(text, "/v1/audit?type=a%20b%26c%3D%C3%BC&since=2026-03-01T12:00:00Z");
    }

    /// Answers `calls` callers by hanging up, and returns whether another one is waiting.
    fn hung_up_on(path: &str, calls: usize) -> (Failure, bool) {
        let folder = tempfile::tempdir().expect("a folder");
        let (workspace, _) = Workspace::create(folder.path()).expect("a workspace");
        std::fs::create_dir(workspace.run()).expect("a folder");
        let socket = workspace.socket().expect("a name");
        let listener = std::os::unix::net::UnixListener::bind(socket.path()).expect("a socket");
        let server = std::thread::spawn(move || {
            for _ in 0..calls {
                drop(listener.accept().expect("a caller"));
            }
            listener.set_nonblocking(true).expect("a socket");
            listener
        });
        let client =
            Client::new(Line::Socket(workspace), Caller::Operator, None).expect("a client");
        let failure = client.post(path, &serde_json::json!({})).expect_err("hung up");
        let listener = server.join().expect("a server");
        (failure, listener.accept().is_ok())
    }

    #[test]
    fn a_broken_command_is_sent_once_more_and_a_token_is_never_asked_for_twice() {
        let (failure, another) = hung_up_on("/v1/commands", 2);
        assert!(failure.hint.contains("--key is safe") && !another, "{failure:?}");
        let (failure, another) = hung_up_on(TOKENS, 1);
        assert!(failure.hint.contains("it was not asked again") && !another, "{failure:?}");
    }

    #[test]
    fn each_command_of_a_verb_has_its_own_key() {
        let folder = tempfile::tempdir().expect("a folder");
        let (workspace, _) = Workspace::create(folder.path()).expect("a workspace");
        let keys = |key: Option<&str>| {
            let key = key.map(str::to_owned);
            let line = Line::Socket(workspace.clone());
            let client = Client::new(line, Caller::Operator, key).expect("a client");
            [client.next_key().expect("a key"), client.next_key().expect("a key")]
        };
        assert_eq!(keys(Some("k")), ["k", "k-1"]);
        let [first, second] = keys(None);
        assert_ne!(first, second);
    }
}
