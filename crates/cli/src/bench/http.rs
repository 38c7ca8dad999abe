//! `baton bench --http`: the same life cycles over the network, beside a route that does nothing.
//!
//! The coordinator is a process of its own. This one is the load: connections that are kept, one
//! request for each step, every answer read whole. Slices of life cycles and of the empty route
//! alternate, so that whatever else the machine does hits both.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_engine::view;
use baton_protocol::command::Command;
use baton_protocol::id::{Fence, HandoffId, WorkflowId};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpStream;

use super::{BenchArgs, BenchError, io, load, memory_mb, raw, share};
use crate::caller::Caller;
use crate::client::Client;
use crate::failure::Failure;
use crate::line::Line;
use crate::workspace::Workspace;

/// How long the coordinator may take to answer for the first time.
const START_WITHIN: Duration = Duration::from_secs(30);
/// Syncs of the bare disk beside each slice with one connection.
const SYNCS: usize = 200;
/// Bytes of such a sync: what one command writes, roughly.
const SYNC_BYTES: usize = 1_024;

/// What was measured with one number of connections.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    /// Connections at once.
    pub(crate) connections: usize,
    /// Requests of life cycles, each a durable command.
    pub(crate) requests_per_s: f64,
    /// Requests to the route that does nothing.
    pub(crate) noop_requests_per_s: f64,
    /// What Baton reaches of that.
    pub(crate) ratio: f64,
    /// Half of the commands were answered within this time.
    pub(crate) p50_us: u64,
    /// All but a hundredth were.
    pub(crate) p99_us: u64,
    /// Half of the bare disk's syncs took no longer, between the slices.
    pub(crate) sync_p50_us: u64,
    /// Memory of the coordinator after the run.
    pub(crate) rss_mb: f64,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// How it was done, in words.
    pub(crate) method: &'static str,
    /// Where the files lay.
    pub(crate) file_system: String,
    /// From the start of the coordinator to its first answer.
    pub(crate) start_ms: f64,
    /// Memory of the coordinator before any load.
    pub(crate) idle_rss_mb: f64,
    /// One for each number of connections.
    pub(crate) runs: Vec<Run>,
}

const METHOD: &str = "the coordinator is a second process on 127.0.0.1, every caller a connection \
    that is kept and has its own agents and tokens; a life cycle is 4 requests to /v1/commands \
    with Prefer: return=minimal, no batch, no TLS; the empty route is GET /v1/ping, asked by the \
    same generator in slices of a second that alternate; sync is 1 KiB written to a pre-written \
    file and fdatasync, between the slices";

fn broken(why: impl std::fmt::Display) -> BenchError {
    BenchError::Baton(why.to_string())
}

fn refused(failure: Failure) -> BenchError {
    BenchError::Baton(failure.sentence)
}

/// The coordinator that is measured. It ends with the measurement.
struct Server {
    child: Child,
    address: String,
    start_ms: f64,
}

impl Drop for Server {
    fn drop(&mut self) {
        // What it did is thrown away with its folder.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(workspace: &Workspace, client: &Client) -> Result<Self, BenchError> {
        let begun = Instant::now();
        let program = std::env::current_exe().map_err(io("find this program"))?;
        let child = Process::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--workspace"])
            .arg(workspace.root())
            .env("BATON_LOG", "warn")
            .env_remove("BATON_TOKEN")
            .env_remove("BATON_AGENT")
            .env_remove("BATON_URL")
            .stdin(Stdio::null())
            .spawn()
            .map_err(io("start the coordinator"))?;
        let mut server = Self { child, address: String::new(), start_ms: 0.0 };
        while begun.elapsed() < START_WITHIN {
            let Some(reply) = client.peek(Method::GET, "/v1/status").map_err(refused)? else {
                // Nothing tells when a socket begins to listen; this only paces the looking.
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            server.start_ms = begun.elapsed().as_secs_f64() * 1_000.0;
            let status: view::Status = reply.read().map_err(refused)?;
            let url = status.url.unwrap_or_default();
            server.address = url.trim_start_matches("http://").to_owned();
            return Ok(server);
        }
        Err(broken("the coordinator does not answer"))
    }

    fn memory_mb(&self) -> f64 {
        memory_mb(&self.child.id().to_string())
    }
}

/// Measures.
pub(crate) fn bench(
    args: &BenchArgs,
    file_system: String,
    folder: &Path,
    mut say: impl FnMut(&str),
) -> Result<Report, BenchError> {
    let (workspace, _) = Workspace::create(folder).map_err(refused)?;
    let config = workspace.root().join(".baton/config.toml");
    std::fs::write(config, "requests_per_second = 0\n").map_err(io("write the configuration"))?;
    let line = Line::Socket(workspace.clone());
    let client = Client::new(line, Caller::Operator, None).map_err(refused)?;
    let server = Server::start(&workspace, &client)?;
    let idle_rss_mb = server.memory_mb();
    let most = args.callers.iter().copied().max().unwrap_or(1);
    say(&format!("making agents for {most} connections…"));
    let pairs: Vec<Pair> = (0..most).map(|n| Pair::new(&client, n)).collect::<Result<_, _>>()?;
    let pairs = Arc::new(pairs);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(io("start the runtime"))?;
    let mut disk = raw::Raw::create(folder).map_err(io("make the raw file"))?;
    let mut runs = Vec::new();
    for &connections in &args.callers {
        say(&format!("{connections} connections…"));
        let load = Load { server: &server, pairs: &pairs, connections };
        runs.push(runtime.block_on(load.run(args.seconds, &mut disk))?);
    }
    let start_ms = server.start_ms;
    Ok(Report { method: METHOD, file_system, start_ms, idle_rss_mb, runs })
}

/// Who works on one connection. What their requests have in common is made once: it is the
/// coordinator that is measured, and not how fast this process writes headers.
struct Pair {
    sender: HeaderMap,
    worker: HeaderMap,
    pass: Bytes,
}

impl Pair {
    fn new(client: &Client, n: usize) -> Result<Self, BenchError> {
        let token = |role: &str| {
            let name = load::agent(role, n);
            let register = Command::Register(load::profile(&name));
            client.command(&register).map_err(refused)?;
            let made = client.post("/v1/tokens", &json!({ "agent": name })).map_err(refused)?;
            let made: baton_engine::NewToken = made.read().map_err(refused)?;
            let token = HeaderValue::try_from(format!("Bearer {}", made.token)).map_err(broken)?;
            let head = [
                (AUTHORIZATION, token),
                (HeaderName::from_static("prefer"), HeaderValue::from_static("return=minimal")),
                (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            ];
            Ok::<_, BenchError>(HeaderMap::from_iter(head))
        };
        let (sender, worker) = (token("sender")?, token("worker")?);
        let pass = serde_json::to_vec(&load::pass(&load::agent("worker", n))).map_err(broken)?;
        Ok(Self { sender, worker, pass: pass.into() })
    }
}

struct Load<'a> {
    server: &'a Server,
    pairs: &'a Arc<Vec<Pair>>,
    connections: usize,
}

#[derive(Clone, Copy)]
enum What {
    Cycles,
    Nothing,
}

impl Load<'_> {
    async fn run(&self, seconds: u64, disk: &mut raw::Raw) -> Result<Run, BenchError> {
        let (mut ours, mut noop) = ((0, Duration::ZERO), (0, Duration::ZERO));
        let (mut latencies, mut syncs) = (Vec::new(), Vec::new());
        for _ in 0..seconds {
            let start = Instant::now();
            let answered = self.slice(What::Cycles).await?;
            ours.0 += answered.len();
            ours.1 += start.elapsed();
            latencies.extend(answered);
            let start = Instant::now();
            noop.0 += self.slice(What::Nothing).await?.len();
            noop.1 += start.elapsed();
            for _ in 0..SYNCS {
                let took = disk.replay(&[SYNC_BYTES]).map_err(io("write raw"))?;
                syncs.push(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            }
        }
        latencies.sort_unstable();
        syncs.sort_unstable();
        let rate = |(count, time): (usize, Duration)| count as f64 / time.as_secs_f64().max(1e-9);
        Ok(Run {
            connections: self.connections,
            requests_per_s: rate(ours),
            noop_requests_per_s: rate(noop),
            ratio: rate(ours) / rate(noop),
            p50_us: share(&latencies, 0.5),
            p99_us: share(&latencies, 0.99),
            sync_p50_us: share(&syncs, 0.5),
            rss_mb: self.server.memory_mb(),
        })
    }

    /// All connections for about a second. Returns how long each request took, in microseconds.
    async fn slice(&self, what: What) -> Result<Vec<u64>, BenchError> {
        let mut lines = Vec::new();
        for _ in 0..self.connections {
            lines.push(Connection::open(&self.server.address).await?);
        }
        let until = Instant::now() + Duration::from_secs(1);
        let work = lines.into_iter().enumerate().map(|(n, mut line)| {
            let pairs = self.pairs.clone();
            tokio::spawn(async move {
                while Instant::now() < until {
                    match what {
                        What::Cycles => line.cycle(&pairs[n]).await?,
                        What::Nothing => line.nothing().await?,
                    }
                }
                Ok::<Vec<u64>, BenchError>(line.latencies)
            })
        });
        let mut all = Vec::new();
        for task in work.collect::<Vec<_>>() {
            all.extend(task.await.map_err(|_| broken("a caller panicked"))??);
        }
        Ok(all)
    }
}

/// What of an answer the next step needs.
#[derive(Deserialize)]
struct Brief {
    workflow: Option<WorkflowId>,
    handoff: Option<HandoffId>,
    fence: Option<Fence>,
}

/// A connection that is kept.
struct Connection {
    host: HeaderValue,
    sender: SendRequest<Full<Bytes>>,
    latencies: Vec<u64>,
}

impl Connection {
    async fn open(address: &str) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await.map_err(io("connect"))?;
        stream.set_nodelay(true).map_err(io("connect"))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        tokio::spawn(connection);
        let host = HeaderValue::try_from(address).map_err(broken)?;
        Ok(Self { host, sender, latencies: Vec::new() })
    }

    async fn nothing(&mut self) -> Result<(), BenchError> {
        let mut request = Request::new(Full::new(Bytes::new()));
        *request.uri_mut() = Uri::from_static("/v1/ping");
        self.ask(request).await.map(drop)
    }

    /// One life cycle: four requests, five records.
    async fn cycle(&mut self, pair: &Pair) -> Result<(), BenchError> {
        let passed = self.command(&pair.sender, pair.pass.clone()).await?;
        let (Some(handoff), Some(workflow)) = (passed.handoff, passed.workflow) else {
            return Err(broken("a pass made no handoff"));
        };
        let accepted = self.command(&pair.worker, body(&load::accept(handoff))?).await?;
        let fence = accepted.fence.unwrap_or_default();
        self.command(&pair.worker, body(&load::give_back(handoff, fence))?).await?;
        let complete = load::complete(workflow, Fence::default().next());
        self.command(&pair.sender, body(&complete)?).await.map(drop)
    }

    async fn command(&mut self, head: &HeaderMap, body: Bytes) -> Result<Brief, BenchError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static("/v1/commands");
        head.clone_into(request.headers_mut());
        let answer = self.ask(request).await?;
        serde_json::from_slice(&answer).map_err(broken)
    }

    async fn ask(&mut self, mut request: Request<Full<Bytes>>) -> Result<Bytes, BenchError> {
        request.headers_mut().insert(HOST, self.host.clone());
        let start = Instant::now();
        self.sender.ready().await.map_err(broken)?;
        let answer = self.sender.send_request(request).await.map_err(broken)?;
        let status = answer.status();
        let bytes = answer.into_body().collect().await.map_err(broken)?.to_bytes();
        self.latencies.push(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX));
        match status.is_success() {
            true => Ok(bytes),
            false => Err(broken(String::from_utf8_lossy(&bytes))),
        }
    }
}

fn body(command: &Command) -> Result<Bytes, BenchError> {
    serde_json::to_vec(command).map(Bytes::from).map_err(broken)
}

/// The report for people.
pub(crate) fn table(report: &Report) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "file system {}", report.file_system);
    let _ = writeln!(text, "first answer after {:.0} ms", report.start_ms);
    let _ = writeln!(text, "idle memory {:.1} MB\n", report.idle_rss_mb);
    let _ = writeln!(
        text,
        "{:>11} {:>11} {:>11} {:>6} {:>8} {:>8} {:>8} {:>7}",
        "connections", "requests/s", "no-op/s", "ratio", "p50 µs", "p99 µs", "sync µs", "MB"
    );
    for run in &report.runs {
        let _ = writeln!(
            text,
            "{:>11} {:>11.0} {:>11.0} {:>6.2} {:>8} {:>8} {:>8} {:>7.1}",
            run.connections,
            run.requests_per_s,
            run.noop_requests_per_s,
            run.ratio,
            run.p50_us,
            run.p99_us,
            run.sync_p50_us,
            run.rss_mb
        );
    }
    let _ = writeln!(text, "\n{}", report.method);
    text
}
