//! A coordinator on the network, and plain connections to it.
//!
//! They are blocking and ask nothing by themselves, so that a test sees what really went over the
//! wire.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::desk::{Desk, Ran};

/// How long anything may take before the test gives it up.
const WITHIN: Duration = Duration::from_secs(60);

/// A workspace whose coordinator listens on the network. It ends with the test.
pub(crate) struct Service {
    pub(crate) desk: Desk,
    pub(crate) address: String,
    child: Child,
}

impl Service {
    /// A fresh workspace with these agents, served on this machine.
    pub(crate) fn with(agents: &[&str]) -> Self {
        Self::on(Desk::with(agents), &["--listen", "127.0.0.1:0"])
    }

    /// The same, where each token has so many requests a second; 0 means any number.
    pub(crate) fn paced(agents: &[&str], requests_per_second: u32) -> Self {
        let desk = Desk::with(agents);
        let config = format!("requests_per_second = {requests_per_second}\n");
        std::fs::write(desk.path().join(".baton/config.toml"), config).expect("a file");
        Self::on(desk, &["--listen", "127.0.0.1:0"])
    }

    /// Serves a workspace.
    pub(crate) fn on(desk: Desk, how: &[&str]) -> Self {
        desk.run(&["stop"]).ok();
        let child = serve(&desk, how);
        let mut service = Self { desk, child, address: String::new() };
        service.address = service.listening();
        service
    }

    /// Waits until it answers, and returns its address.
    fn listening(&self) -> String {
        let begun = Instant::now();
        loop {
            let status = self.desk.json(&["status"]);
            if let Some(url) = status["url"].as_str() {
                return url.split_once("://").expect("a URL").1.to_owned();
            }
            assert!(begun.elapsed() < WITHIN, "it does not listen: {status}");
            // Nothing tells when a socket begins to listen; this only paces the looking.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it without warning and starts it again at the same address.
    pub(crate) fn kill_and_restart(&mut self) {
        self.child.kill().expect("a process to kill");
        self.child.wait().expect("a process that ended");
        self.child = serve(&self.desk, &["--listen", &self.address]);
        self.listening();
    }

    /// A token, as `baton token create` makes one.
    pub(crate) fn token(&self, whose: &[&str]) -> String {
        let words = [&["token", "create", "--quiet"], whose].concat();
        self.desk.run(&words).ok().trim().to_owned()
    }

    /// Runs the binary against the address, as whoever has this token.
    pub(crate) fn run(&self, token: &str, args: &[&str]) -> Ran {
        let url = format!("http://{}", self.address);
        self.desk.run_with(args, &[("BATON_TOKEN", token), ("BATON_URL", &url)])
    }

    /// Asks on a connection of its own.
    pub(crate) fn ask(&self, request: &Request<'_>) -> Answer {
        request.send(&self.address).unwrap_or_else(|error| panic!("{error}: {request:?}"))
    }

    /// Reads a view as whoever has this token.
    pub(crate) fn read(&self, token: &str, path: &str) -> Value {
        let answer = self.ask(&Request::get(path).by(token));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Sends a command as whoever has this token.
    pub(crate) fn command(&self, token: &str, command: Value) -> Answer {
        self.ask(&Request::post("/v1/commands", &command.to_string()).by(token))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Without `expect`: a second panic would hide the first one.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(desk: &Desk, how: &[&str]) -> Child {
    let words = [&["serve"], how].concat();
    let mut command = desk.baton(&words);
    command.stdout(Stdio::null()).stderr(Stdio::null()).env("BATON_LOG", "off");
    command.spawn().expect("the binary runs")
}

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Request<'a> {
    method: &'a str,
    path: &'a str,
    headers: Vec<(&'a str, String)>,
    body: &'a str,
}

impl<'a> Request<'a> {
    pub(crate) fn new(method: &'a str, path: &'a str, body: &'a str) -> Self {
        Self { method, path, headers: Vec::new(), body }
    }

    pub(crate) fn get(path: &'a str) -> Self {
        Self::new("GET", path, "")
    }

    pub(crate) fn post(path: &'a str, body: &'a str) -> Self {
        Self::new("POST", path, body)
    }

    pub(crate) fn by(self, token: &str) -> Self {
        self.with("authorization", format!("Bearer {token}"))
    }

    pub(crate) fn with(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Sends it on a new connection, which then still has the answer to read.
    pub(crate) fn open(&self, address: &str) -> std::io::Result<BufReader<TcpStream>> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(WITHIN))?;
        let Self { method, path, headers, body } = self;
        // Of this version an answer ends with its connection, and is never in pieces.
        let mut text = format!("{method} {path} HTTP/1.0\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            text += &format!("host: {address}\r\n");
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() && !headers.iter().any(|(name, _)| *name == "content-type") {
            text += "content-type: application/json\r\n";
        }
        text += "\r\n";
        text += body;
        stream.write_all(text.as_bytes())?;
        Ok(BufReader::new(stream))
    }

    /// Sends it and reads how the answer begins.
    pub(crate) fn begun(&self, address: &str) -> Answer {
        let mut stream = self.open(address).expect("a connection");
        let (status, headers) = head(&mut stream).expect("an answer");
        Answer { status, headers, body: String::new() }
    }

    /// Sends it and reads the whole answer. After an error nobody knows whether it was heard.
    pub(crate) fn send(&self, address: &str) -> std::io::Result<Answer> {
        let mut stream = self.open(address)?;
        let (status, headers) = head(&mut stream)?;
        let mut body = String::new();
        stream.read_to_string(&mut body)?;
        Ok(Answer { status, headers, body })
    }
}

fn head(stream: &mut impl BufRead) -> std::io::Result<(u16, Vec<String>)> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let status = lines.first().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    Ok((status.ok_or(std::io::ErrorKind::InvalidData)?, lines.split_off(1)))
}

/// What was answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Its status and the code of its problem.
    pub(crate) fn problem(&self) -> (u16, String) {
        let json: Value = serde_json::from_str(&self.body).unwrap_or_default();
        (self.status, json["code"].as_str().unwrap_or_default().to_owned())
    }
}

/// One server-sent event.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Heard {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

/// A stream of events.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    /// Begins to listen; the test fails if that is refused.
    pub(crate) fn listen(service: &Service, request: &Request<'_>) -> Self {
        let mut stream = request.open(&service.address).expect("a connection");
        let (status, _) = head(&mut stream).expect("an answer");
        assert_eq!(status, 200);
        let mut events = Self(stream);
        // The first thing that comes is a comment: from here on everything is heard.
        let mut line = String::new();
        while line.trim() != ": listening" && line.trim() != ":listening" {
            line.clear();
            assert_ne!(events.0.read_line(&mut line).expect("a line"), 0, "it ended");
        }
        events
    }

    /// The next event; none at the end.
    pub(crate) fn next(&mut self) -> Option<Heard> {
        let mut heard = Heard::default();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).expect("a line in time") == 0 {
                return None;
            }
            let line = line.trim_end();
            match line.split_once(": ").or_else(|| line.split_once(':')) {
                Some(("id", id)) => heard.id = id.to_owned(),
                Some(("event", kind)) => heard.kind = kind.to_owned(),
                Some(("data", data)) => heard.data = serde_json::from_str(data).expect("JSON"),
                Some(_) => (),
                None if heard.kind.is_empty() => (),
                None => return Some(heard),
            }
        }
    }

    pub(crate) fn take(&mut self, count: usize) -> Vec<Heard> {
        (0..count).map(|_| self.next().expect("another event")).collect()
    }
}
