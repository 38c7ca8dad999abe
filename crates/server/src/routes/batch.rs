//! Many commands at once: a command a line in, an answer a line out, each for itself.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use baton_engine::QueryError;
use baton_engine::view::Answer;
use baton_protocol::command::Command;
use baton_protocol::limits::{
    BATCH_AT_ONCE_MAX, BATCH_BYTES_MAX, BATCH_LINES_MAX, REQUEST_BYTES_MAX,
};
use futures_util::stream::{self, Stream, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use super::{App, Shared};
use crate::api::{Api, post, submit};
use crate::caller::Known;
use crate::tenure;
use crate::wire::{BODY_WITHIN, Key, Problem, ProblemDetails, json_only, read};

const NDJSON: &str = "application/x-ndjson";

/// How long a whole batch may take to arrive.
const BATCH_WITHIN: Duration = Duration::from_secs(600);

pub(super) fn routes(api: Api) -> Api {
    api.route(
        post("/v1/batch", "batch", "Asks for many changes, a command a line")
            .detail(
                "Each line is decided for itself, and its answer is on the line of the same \
                 number. Lines do not wait for each other: what must come after another goes \
                 into the next batch. A line that is wrong gets a problem in its place and the \
                 rest goes on. At most 10000 lines, 8 MiB a line and 16 MiB in all; what is \
                 beyond is not read, and the last answer says so.",
            )
            .takes_lines::<Line>()
            .example(json!({ "key": "k1", "command": { "start": { "title": "Add a page" } } }))
            .answers_as::<Outcome>(200, NDJSON, "The answers, a line each."),
        batch,
    )
}

/// One command of a batch.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BatchLine")]
struct Line {
    /// Its idempotency key.
    #[serde(default)]
    key: Option<String>,
    /// What is asked, as `POST /v1/commands` takes it.
    command: Command,
}

/// What one command came to: an answer, or a problem.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BatchOutcome")]
struct Outcome {
    /// The number of its line, from 1.
    line: usize,
    /// The status that it would have had alone.
    status: u16,
    /// What was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    /// What stands in the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemDetails>,
}

async fn batch(State(app): Shared, known: Known, request: Request) -> Result<Response, Problem> {
    json_only(request.headers(), &[NDJSON, "application/ndjson", "application/jsonl"])?;
    if request.headers().contains_key("idempotency-key") {
        let detail = "a batch has no key of its own; expected a `key` in each line";
        return Err(Problem::bad_input(Some("Idempotency-Key".to_owned()), detail));
    }
    let answers = lines(request.into_body())
        .map(move |(n, line)| outcome(app.clone(), known.clone(), n, line))
        .buffered(BATCH_AT_ONCE_MAX)
        .map(|outcome| {
            let mut line = serde_json::to_vec(&outcome).map_err(std::io::Error::other)?;
            line.push(b'\n');
            Ok::<_, std::io::Error>(Bytes::from(line))
        });
    Ok(([(header::CONTENT_TYPE, NDJSON)], Body::from_stream(answers)).into_response())
}

async fn outcome(
    app: Arc<App>,
    known: Known,
    line: usize,
    bytes: Result<Vec<u8>, Problem>,
) -> Outcome {
    let answer = async {
        // A batch may take long, and its token may end meanwhile.
        if let Some((token, credential)) = &known.credential {
            if app.engine.authenticate(token).await.map_err(QueryError::from)?.is_none() {
                return Err(tenure::ended());
            }
            // A line is a request like any other; only nobody has to ask again.
            while let Err(pause) = app.rates.take(credential.token, Instant::now().into_std()) {
                tokio::time::sleep(pause).await;
            }
        }
        let Line { key, command } = read(&bytes?)?;
        let key = key.as_deref().map(Key::checked).transpose()?.unwrap_or_default();
        submit(&app, known.actor, &key, command).await
    };
    match answer.await {
        Ok(answer) => Outcome { line, status: 200, answer: Some(answer), problem: None },
        Err(problem) => {
            let problem = problem.into_details();
            Outcome { line, status: problem.status(), answer: None, problem: Some(problem) }
        }
    }
}

/// What was read of a body and not yet told.
struct Reader {
    body: BodyDataStream,
    /// What was read; lines were made of it up to `told`, and no line ends before `looked`.
    rest: Vec<u8>,
    told: usize,
    looked: usize,
    /// Which line was told last, and how many of them asked for something.
    number: usize,
    lines: usize,
    bytes: usize,
    over: bool,
    /// When nothing more is read.
    until: Instant,
}

/// The lines of a body that are not blank with their numbers, each within its limits.
fn lines(body: Body) -> impl Stream<Item = (usize, Result<Vec<u8>, Problem>)> {
    let body = body.into_data_stream();
    let (rest, over, until) = (Vec::new(), false, Instant::now() + BATCH_WITHIN);
    let (told, looked, number, lines, bytes) = (0, 0, 0, 0, 0);
    let reader = Reader { body, rest, told, looked, number, lines, bytes, over, until };
    stream::unfold(reader, |mut reader| async move {
        let line = reader.next().await?;
        Some(((reader.number, line), reader))
    })
}

impl Reader {
    async fn next(&mut self) -> Option<Result<Vec<u8>, Problem>> {
        while !self.over {
            if let Some(line) = self.line() {
                self.number += 1;
                let blank = line.iter().all(u8::is_ascii_whitespace);
                if blank && self.bytes <= BATCH_BYTES_MAX {
                    continue;
                }
                self.lines += 1;
                return Some(self.within(line));
            }
            let by = self.until.min(Instant::now() + BODY_WITHIN);
            let read = tokio::time::timeout_at(by, self.body.next());
            let Ok(read) = read.await else {
                self.number += 1;
                let code = (StatusCode::REQUEST_TIMEOUT, "too-slow");
                return Some(Err(self.cut(code, "a batch that stopped")));
            };
            match read {
                Some(Ok(bytes)) => {
                    self.bytes += bytes.len();
                    self.rest.drain(..self.told);
                    self.looked -= self.told;
                    self.told = 0;
                    self.rest.extend_from_slice(&bytes);
                }
                Some(Err(_)) => {
                    self.number += 1;
                    let code = (StatusCode::UNPROCESSABLE_ENTITY, "bad-input");
                    return Some(Err(self.cut(code, "a batch that broke off")));
                }
                None => {
                    self.over = true;
                    let line = self.rest.split_off(self.told);
                    if line.iter().all(u8::is_ascii_whitespace) {
                        return None;
                    }
                    (self.number, self.lines) = (self.number + 1, self.lines + 1);
                    return Some(self.within(line));
                }
            }
            // A line without an end is not read without an end.
            if self.looked > REQUEST_BYTES_MAX {
                self.number += 1;
                return Some(Err(self.end("a line that is too long")));
            }
        }
        None
    }

    /// The next whole line, without its end.
    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.rest[self.looked..].iter().position(|byte| *byte == b'\n');
        let Some(end) = end.map(|end| end + self.looked) else {
            self.looked = self.rest.len();
            return None;
        };
        let line = self.rest[self.told..end].to_vec();
        self.told = end + 1;
        self.looked = self.told;
        Some(line)
    }

    fn within(&mut self, line: Vec<u8>) -> Result<Vec<u8>, Problem> {
        match () {
            () if self.lines > BATCH_LINES_MAX => Err(self.end("a batch of too many lines")),
            () if self.bytes > BATCH_BYTES_MAX => Err(self.end("a batch that is too large")),
            () if line.len() > REQUEST_BYTES_MAX => Err(self.end("a line that is too long")),
            () => Ok(line),
        }
    }

    /// Says why nothing after this is read.
    /// No more comes although there was more to come.
    fn cut(&mut self, (status, code): (StatusCode, &'static str), what: &str) -> Problem {
        self.over = true;
        let hint = "send the rest again; what is above this line was done";
        Problem::new(status, code, format!("{what}; expected its end"), hint)
    }

    fn end(&mut self, what: &str) -> Problem {
        self.over = true;
        let detail = format!(
            "{what}; expected at most {BATCH_LINES_MAX} lines, {REQUEST_BYTES_MAX} bytes a line \
             and {BATCH_BYTES_MAX} in all"
        );
        let hint = "send the rest in another batch; what is above this line was done";
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail, hint)
    }
}
