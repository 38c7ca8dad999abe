//! `baton bench`: how fast work is passed, beside what the disk alone could do.
//!
//! A life cycle is four commands (pass, accept, return, complete) and five durable records. Slices
//! of Baton and of raw writing alternate in one run: after each slice the very bytes that Baton
//! wrote are written again to another pre-written file and synced at the same boundaries, with
//! nothing else going on. The ratio of the two is what Baton adds.

mod hooks;
mod http;
mod load;
mod raw;
mod workflows;

pub(crate) use hooks::HooksArgs;
pub(crate) use workflows::WorkflowsArgs;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use baton_engine::Engine;
use serde::Serialize;

/// What to measure.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct BenchArgs {
    /// Callers that work at once, each waiting for its answers; may be given several times
    #[arg(long, value_name = "N", default_values_t = [1, 16, 256], value_delimiter = ',')]
    pub(crate) callers: Vec<usize>,
    /// How long Baton runs for each number of callers
    #[arg(long, value_name = "S", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
    /// Records that are there before anything is measured
    #[arg(long, value_name = "EVENTS", default_value_t = 0)]
    pub(crate) preload: u64,
    /// The folder in which a temporary workspace is made; it must lie on a real disk
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: std::path::PathBuf,
    /// Measure over the network instead: a coordinator of its own, a connection for each caller
    #[arg(long, conflicts_with = "preload")]
    pub(crate) http: bool,
}

/// What was measured with one number of callers.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    /// Callers at once.
    pub(crate) callers: usize,
    /// Whole life cycles, index caught up.
    pub(crate) lifecycles_per_s: f64,
    /// Half of the commands were answered within this time.
    pub(crate) p50_us: u64,
    /// All but a hundredth were.
    pub(crate) p99_us: u64,
    /// The same bytes, written and synced raw at the same boundaries.
    pub(crate) raw_lifecycles_per_s: f64,
    /// What Baton reaches of the raw rate.
    pub(crate) ratio: f64,
    /// Bytes of an average sync.
    pub(crate) bytes_per_sync: u64,
    /// Memory after the run.
    pub(crate) rss_mb: f64,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// How it was done, in words.
    pub(crate) method: &'static str,
    /// Where the files lay.
    pub(crate) file_system: String,
    /// Records that were there before.
    pub(crate) preloaded: u64,
    /// Memory before any load.
    pub(crate) idle_rss_mb: f64,
    /// One for each number of callers.
    pub(crate) runs: Vec<Run>,
}

const METHOD: &str = "in one process; a life cycle is pass (delegation), accept, return, complete: \
    4 durable commands, 5 records; times are those of single commands; raw is the same bytes \
    written to a pre-written file and synced (fdatasync) at the same boundaries, in slices of a \
    second that alternate with Baton's; the index is caught up before the clock stops";

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// Memory is not a disk.
    #[error("{place} lies on {found}, where a sync costs nothing")]
    NotADisk {
        /// The folder.
        place: String,
        /// Its file system.
        found: String,
    },
    /// Baton itself failed.
    #[error("{0}")]
    Baton(String),
    /// The system failed.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

impl BenchError {
    /// The next step.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::NotADisk { .. } => "name a folder on a real disk with --dir",
            Self::Baton(_) | Self::Io { .. } => "see that the folder can be written and has room",
        }
    }
}

fn io(doing: &'static str) -> impl Fn(std::io::Error) -> BenchError {
    move |source| BenchError::Io { doing, source }
}

/// What was measured, one way or the other.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Measured {
    /// In this process.
    Here(Report),
    /// Over the network.
    Http(http::Report),
    /// Work with a definition.
    Workflows(Box<workflows::Report>),
    /// Hooks of coding agents.
    Hooks(hooks::Report),
}

impl Measured {
    /// The report for people.
    pub(crate) fn table(&self) -> String {
        match self {
            Self::Here(report) => table(report),
            Self::Http(report) => http::table(report),
            Self::Workflows(report) => workflows::table(report),
            Self::Hooks(report) => hooks::table(report),
        }
    }
}

/// Measures how fast work is passed.
pub(crate) fn bench(args: &BenchArgs, mut say: impl FnMut(&str)) -> Result<Measured, BenchError> {
    let (file_system, folder) = ground(&args.dir)?;
    if args.http {
        return http::bench(args, file_system, folder.path(), say).map(Measured::Http);
    }
    let measured = measure(args, file_system, folder.path(), &mut say);
    runtime()?.block_on(measured).map(Measured::Here)
}

/// Measures work with a definition.
pub(crate) fn bench_workflows(
    args: &WorkflowsArgs,
    say: impl FnMut(&str),
) -> Result<Measured, BenchError> {
    let (file_system, folder) = ground(&args.dir)?;
    let measured = workflows::measure(args, file_system, folder.path(), say);
    let report = runtime()?.block_on(measured)?;
    Ok(Measured::Workflows(Box::new(report)))
}

/// Measures hooks of coding agents.
pub(crate) fn bench_hooks(args: &HooksArgs) -> Result<Measured, BenchError> {
    let (_, folder) = ground(&args.dir)?;
    hooks::measure(args, folder.path()).map(Measured::Hooks)
}

/// A temporary folder on a real disk, and the file system that it lies on.
fn ground(dir: &Path) -> Result<(String, tempfile::TempDir), BenchError> {
    let file_system = raw::file_system(dir).map_err(io("look at the file system"))?;
    if matches!(file_system.as_str(), "tmpfs" | "ramfs") {
        let place = dir.display().to_string();
        return Err(BenchError::NotADisk { place, found: file_system });
    }
    let folder = tempfile::Builder::new()
        .prefix(".baton-bench-")
        .tempdir_in(dir)
        .map_err(io("make a folder"))?;
    Ok((file_system, folder))
}

fn runtime() -> Result<tokio::runtime::Runtime, BenchError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(io("start the runtime"))
}

async fn measure(
    args: &BenchArgs,
    file_system: String,
    folder: &Path,
    say: &mut impl FnMut(&str),
) -> Result<Report, BenchError> {
    let syncs: Arc<Mutex<Vec<usize>>> = Arc::default();
    let heard = syncs.clone();
    let hear = move |synced: baton_engine::Synced| {
        heard.lock().unwrap_or_else(PoisonError::into_inner).push(synced.bytes);
    };
    let engine = Engine::open_observed(folder, hear)
        .map_err(|failure| BenchError::Baton(baton_engine::causes(&failure)))?;
    let engine = Arc::new(engine);
    let most = args.callers.iter().copied().max().unwrap_or(1);
    load::register(&engine, most).await?;
    let idle_rss_mb = memory_mb("self");
    if args.preload > 0 {
        say(&format!("writing {} records first…", args.preload));
        load::preload(&engine, args.preload, most.max(64)).await?;
    }
    let mut raw = raw::Raw::create(folder).map_err(io("make the raw file"))?;
    let mut runs = Vec::new();
    for &callers in &args.callers {
        say(&format!("{callers} callers…"));
        let syncs = Syncs { all: &syncs, raw: &mut raw };
        runs.push(run(&engine, callers, args.seconds, syncs).await?);
    }
    let preloaded = args.preload;
    Ok(Report { method: METHOD, file_system, preloaded, idle_rss_mb, runs })
}

struct Syncs<'a> {
    all: &'a Mutex<Vec<usize>>,
    raw: &'a mut raw::Raw,
}

async fn run(
    engine: &Arc<Engine>,
    callers: usize,
    seconds: u64,
    syncs: Syncs<'_>,
) -> Result<Run, BenchError> {
    let (mut cycles, mut latencies) = (0_u64, Vec::new());
    let (mut ours, mut theirs) = (Duration::ZERO, Duration::ZERO);
    let (mut count, mut bytes) = (0_u64, 0_u64);
    for _ in 0..seconds {
        syncs.all.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let start = Instant::now();
        let slice = load::slice(engine, callers, Duration::from_secs(1)).await?;
        load::caught_up(engine).await?;
        ours += start.elapsed();
        cycles += slice.cycles;
        latencies.extend(slice.latencies);
        let boundaries =
            std::mem::take(&mut *syncs.all.lock().unwrap_or_else(PoisonError::into_inner));
        count += boundaries.len() as u64;
        bytes += boundaries.iter().map(|size| *size as u64).sum::<u64>();
        theirs += syncs.raw.replay(&boundaries).map_err(io("write raw"))?;
    }
    latencies.sort_unstable();
    let rate = |time: Duration| cycles as f64 / time.as_secs_f64().max(1e-9);
    Ok(Run {
        callers,
        lifecycles_per_s: rate(ours),
        p50_us: share(&latencies, 0.5),
        p99_us: share(&latencies, 0.99),
        raw_lifecycles_per_s: rate(theirs),
        ratio: rate(ours) / rate(theirs),
        bytes_per_sync: bytes / count.max(1),
        rss_mb: memory_mb("self"),
    })
}

/// The value that so much of a sorted list is not above.
fn share(sorted: &[u64], share: f64) -> u64 {
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
}

/// Memory of a process now.
fn memory_mb(process: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "file system {}, {} records there before",
        report.file_system, report.preloaded
    );
    let _ = writeln!(text, "idle memory {:.1} MB\n", report.idle_rss_mb);
    let _ = writeln!(
        text,
        "{:>7} {:>12} {:>12} {:>6} {:>8} {:>8} {:>10} {:>7}",
        "callers", "cycles/s", "raw/s", "ratio", "p50 µs", "p99 µs", "bytes/sync", "MB"
    );
    for run in &report.runs {
        let _ = writeln!(
            text,
            "{:>7} {:>12.0} {:>12.0} {:>6.2} {:>8} {:>8} {:>10} {:>7.1}",
            run.callers,
            run.lifecycles_per_s,
            run.raw_lifecycles_per_s,
            run.ratio,
            run.p50_us,
            run.p99_us,
            run.bytes_per_sync,
            run.rss_mb
        );
    }
    let _ = writeln!(text, "\n{}", report.method);
    text
}
