//! Where requests go: the coordinator, in the name of the agent that a session is.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use rmcp::model::Extensions;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::holds::Hold;

/// How often a coordinator that is not heard is asked, and the first pause in between.
const ASKED_MAX: u32 = 4;
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// Whoever was silent for as long is not asked again: it hangs, and clients give up on a call after
/// a minute.
const SILENT_FOR: Duration = Duration::from_secs(5);

/// What the transport knows of whoever sent a message; over HTTP, its credential is in there.
pub type Asker = Extensions;

/// A request to the coordinator's routes.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The path with its query.
    pub path: String,
    /// What is sent; nothing means that a view is read.
    pub body: Option<Value>,
    /// The name under which asking twice is asking once, for changes.
    pub key: Option<String>,
}

/// What the coordinator said.
#[derive(Clone, Debug)]
pub struct Told {
    /// The HTTP status.
    pub status: u16,
    /// The answer, or the problem.
    pub body: Value,
}

/// Why nothing was heard: a sentence, and what can be done.
#[derive(Clone, Debug)]
pub struct Unheard {
    /// What stands in the way.
    pub sentence: String,
    /// The next step.
    pub hint: String,
}

/// A body as it comes in.
pub type Pieces = BoxStream<'static, std::io::Result<Bytes>>;

/// A way to the coordinator's routes, as one agent.
///
/// There is one server for all desks: a server of its own for each would be as much code again, and
/// lie in the memory of every session.
pub trait Desk: Send + Sync + 'static {
    /// Asks once, and waits for the whole answer.
    fn ask<'a>(&'a self, from: &'a Asker, ask: Ask) -> BoxFuture<'a, Result<Told, Unheard>>;

    /// Hears the events of `path`, as server-sent events, until the stream ends.
    fn listen<'a>(
        &'a self,
        from: &'a Asker,
        path: String,
    ) -> BoxFuture<'a, Result<Pieces, Unheard>>;

    /// Decides on a handoff with the authority of the person who started this session; nothing
    /// where no person can have done so.
    fn as_person(&self, ask: Ask) -> BoxFuture<'_, Option<Result<Told, Unheard>>>;

    /// Whether a person started this session.
    fn has_person(&self) -> bool;

    /// The one name that a file has in the workspace, however it was written.
    fn file(&self, path: &str) -> Result<String, Unheard>;

    /// Takes note of what this session holds, for those who ask beside it.
    fn note(&self, holds: &[Hold]);

    /// Whether another session of the same agent that lives has taken this handoff, as far as that
    /// can be told.
    fn held_beside(&self, handoff: &str) -> bool;

    /// Ends the stream on which a request is answered, while it is worked on; a client that asks
    /// for the rest gets it. Only a fixture of the conformance suite wants that, over HTTP.
    #[cfg(feature = "conformance")]
    fn hang_up(&self, from: &Asker) {
        let _ = from;
    }
}

/// What a tool has to say when it did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Said {
    pub(crate) fn new(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), hint: hint.into() }
    }

    /// As the model reads it.
    pub(crate) fn text(&self) -> String {
        let Self { code, message, hint } = self;
        let hint = if hint.is_empty() { String::new() } else { format!("\nhint: {hint}") };
        format!("{message}\ncode: {code}{hint}")
    }

    /// Whether something is broken, and nobody said no.
    pub(crate) fn is_broken(&self) -> bool {
        let broken = ["unheard", "unexpected", "failed", "stopped", "stopping", "disk-full"];
        broken.contains(&self.code.as_str())
    }

    /// What the coordinator's problem says.
    fn of_problem(told: &Told) -> Self {
        let field = |name: &str| told.body[name].as_str().unwrap_or_default().to_owned();
        match told.body["code"].as_str() {
            Some(code) => Self::new(code, field("detail"), field("hint")),
            None => Self::new(
                "unexpected",
                format!("the coordinator answered {}", told.status),
                "see its log",
            ),
        }
    }
}

impl From<Unheard> for Said {
    fn from(Unheard { sentence, hint }: Unheard) -> Self {
        Self::new("unheard", sentence, hint)
    }
}

/// One conversation: the desk, and whoever asks at it.
pub(crate) struct Talk<'a> {
    pub(crate) desk: &'a dyn Desk,
    pub(crate) from: &'a Asker,
}

impl Talk<'_> {
    /// Reads a view.
    pub(crate) async fn read(&self, path: impl Into<String>) -> Result<Value, Said> {
        granted(self.ask(Ask { path: path.into(), body: None, key: None }).await?)
    }

    /// Asks for a change, under a name of its own.
    pub(crate) async fn command(&self, name: &str, body: Value) -> Result<Value, Said> {
        let ask = Ask {
            path: "/v1/commands".to_owned(),
            body: Some(json!({ name: body })),
            key: Some(fresh()?),
        };
        granted(self.ask(ask).await?)
    }

    /// Asks until it is heard. A change goes by its name, so asking again is asking once; a model
    /// could not do that, because it does not know the name.
    async fn ask(&self, ask: Ask) -> Result<Told, Unheard> {
        let mut pause = AGAIN_AFTER;
        for _ in 1..ASKED_MAX {
            let begun = Instant::now();
            match self.desk.ask(self.from, ask.clone()).await {
                Ok(told) => return Ok(told),
                Err(unheard) if begun.elapsed() >= SILENT_FOR => return Err(unheard),
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause *= 2;
        }
        self.desk.ask(self.from, ask).await
    }

    /// The whole id of a handoff, of which a beginning was given.
    pub(crate) async fn handoff(&self, id: &str) -> Result<String, Said> {
        if uuid::Uuid::try_parse(id).is_ok() {
            return Ok(id.to_owned());
        }
        let found = self.read(format!("/v1/find/{}", part(id)?)).await?;
        match found["handoff"].as_str() {
            Some(handoff) => Ok(handoff.to_owned()),
            None => {
                let message = format!("{id} does not name a handoff");
                Err(Said::new("not-found", message, "list_inbox shows the handoffs you can name"))
            }
        }
    }
}

/// Something that may stand in a path: ids and names have no other characters.
pub(crate) fn part(text: &str) -> Result<&str, Said> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !text.is_empty() && text.len() <= 64 && text.bytes().all(fits) {
        Ok(text)
    } else {
        Err(Said::new("bad-input", "this is no id or name", "use one that list_inbox shows"))
    }
}

pub(crate) fn granted(told: Told) -> Result<Value, Said> {
    match told.status {
        200..=299 => Ok(told.body),
        _ => Err(Said::of_problem(&told)),
    }
}

/// A name that no other command has.
pub(crate) fn fresh() -> Result<String, Said> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let message = format!("the system gives no random numbers: {error}");
        Said::new("failed", message, "try again")
    })?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}
