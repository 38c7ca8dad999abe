//! A connection to the coordinator: HTTP/1.1 on its Unix socket, one request after the other.
//!
//! Plain blocking reads and writes, because a test must see a broken connection as what it is. It
//! never asks again by itself: whether to do that is what the tests are about.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// How long an answer may take before the test gives the coordinator up as hanging.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Lines of an answer's head.
const HEAD_LINES_MAX: usize = 64;

/// Who asks, as one header says it; without it, the person who runs the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) header: Option<(&'static str, String)>,
}

impl Caller {
    pub(crate) const OPERATOR: Self = Self { header: None };

    pub(crate) fn agent(token: &str) -> Self {
        Self { header: Some(("authorization", format!("Bearer {token}"))) }
    }
}

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    pub(crate) path: &'a str,
    pub(crate) caller: &'a Caller,
    pub(crate) key: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

impl<'a> Request<'a> {
    /// A command under a key.
    pub(crate) fn command(caller: &'a Caller, key: &'a str, body: &'a [u8]) -> Self {
        Self { method: "POST", path: "/v1/commands", caller, key: Some(key), body }
    }

    /// The operator reads a view.
    pub(crate) fn read(path: &'a str) -> Self {
        Self { method: "GET", path, caller: &Caller::OPERATOR, key: None, body: b"" }
    }

    fn head(&self) -> String {
        let Self { method, path, .. } = self;
        let length = self.body.len();
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: baton\r\n");
        head += &format!("content-type: application/json\r\ncontent-length: {length}\r\n");
        if let Some(key) = self.key {
            head += &format!("idempotency-key: {key}\r\n");
        }
        if let Some((name, value)) = &self.caller.header {
            head += &format!("{name}: {value}\r\n");
        }
        head + "\r\n"
    }
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The answer as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// The answer as JSON; the test fails unless it was granted.
    #[track_caller]
    pub(crate) fn granted(&self) -> Value {
        assert!((200..300).contains(&self.status), "{self}");
        self.json()
    }
}

impl std::fmt::Display for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.status, String::from_utf8_lossy(&self.body))
    }
}

/// An open connection.
pub(crate) struct Wire {
    stream: BufReader<UnixStream>,
}

impl Wire {
    pub(crate) fn connect(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.set_write_timeout(Some(ANSWER_WITHIN))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// Asks, and reads the whole answer. After an error nobody knows whether it was heard.
    pub(crate) fn ask(&mut self, request: &Request<'_>) -> io::Result<Reply> {
        let mut bytes = request.head().into_bytes();
        bytes.extend_from_slice(request.body);
        let sent = self.stream.get_mut().write_all(&bytes);
        // A request that is refused before its end breaks the sending, and still has an answer.
        match self.answer() {
            Ok(reply) => Ok(reply),
            Err(error) => Err(sent.err().unwrap_or(error)),
        }
    }

    fn answer(&mut self) -> io::Result<Reply> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let status = status.ok_or_else(|| broken("no status"))?;
        let mut length = None;
        for _ in 0..HEAD_LINES_MAX {
            let line = self.line()?.to_ascii_lowercase();
            if line.is_empty() {
                let mut body = vec![0; length.unwrap_or(0)];
                self.stream.read_exact(&mut body)?;
                return Ok(Reply { status, body });
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = Some(value.trim().parse().map_err(|_| broken("no length"))?);
            }
        }
        Err(broken("a head without end"))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let line = line.strip_suffix("\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(line.to_owned())
    }
}

fn broken(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
