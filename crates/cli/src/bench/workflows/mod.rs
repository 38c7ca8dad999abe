//! `baton bench workflows`: charter flights that are all live at once, on the embedded ledger.
//!
//! A quarter of them is begun and moved up to the last state first, then the rest; only then do
//! they end. So what one workflow costs in memory is read twice in the same process, with nothing
//! freed in between that the second reading could hide in.

mod crew;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use baton_engine::{Engine, Reading};
use baton_protocol::limits::CONCURRENT_TASKS_MAX;
use serde::Serialize;

use super::{BenchError, load, memory_mb, share};
use crew::{Crew, Work};

/// Workflows that run to their end before anything is measured: then the caches of the index, the
/// threads and the first segment are there and do not count as a workflow's. Few, as what they
/// leave is used again and counts as nobody's.
const WARM_UP: usize = 50;

/// How many workflows, and how many callers.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct WorkflowsArgs {
    /// How many workflows are live at once
    #[arg(long, value_name = "N", default_value_t = CONCURRENT_TASKS_MAX)]
    #[arg(value_parser = clap::value_parser!(u32).range(4..=i64::from(CONCURRENT_TASKS_MAX)))]
    pub(crate) count: u32,
    /// How many callers move them on at once, each waiting for its answers
    #[arg(long, value_name = "N", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub(crate) concurrent: u32,
    /// The folder in which a temporary workspace is made; it must lie on a real disk
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: std::path::PathBuf,
}

/// Memory with so many workflows live.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Memory {
    /// How many are live.
    pub(crate) live: usize,
    /// Memory of the process.
    pub(crate) rss_mb: f64,
    /// What it grew by since before, for each that is live.
    pub(crate) bytes_per_workflow: f64,
}

/// How long rules took for a step.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Judging {
    /// Steps that rules were asked about.
    pub(crate) steps: u64,
    /// The mean.
    pub(crate) mean_us: f64,
    /// Half of the steps took no longer.
    pub(crate) p50_at_most_us: f64,
    /// All but a hundredth took no longer.
    pub(crate) p99_at_most_us: f64,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// How it was done, in words.
    pub(crate) method: &'static str,
    /// Where the files lay.
    pub(crate) file_system: String,
    /// How many workflows ended as completed: all of them.
    pub(crate) completed: usize,
    /// Those for which a step was tried again.
    pub(crate) retried: usize,
    /// Callers at once.
    pub(crate) concurrent: u32,
    /// From the first start to the last end, memory readings apart.
    pub(crate) seconds: f64,
    /// Workflows from start to end.
    pub(crate) workflows_per_s: f64,
    /// Moves from one state to the next, failures and retries among them.
    pub(crate) steps_per_s: f64,
    /// Half of the calls by which an agent completes its step were answered within this time.
    pub(crate) complete_p50_us: u64,
    /// All but a hundredth were.
    pub(crate) complete_p99_us: u64,
    /// What the rules took of that.
    pub(crate) judging: Judging,
    /// Memory before, with nothing live.
    pub(crate) rss_before_mb: f64,
    /// Memory with a quarter of them live.
    pub(crate) quarter: Memory,
    /// Memory with all of them live.
    pub(crate) all: Memory,
    /// Bytes per workflow with all live, by those with a quarter live: flat is 1 or less.
    pub(crate) bytes_ratio: f64,
    /// Memory when all are over.
    pub(crate) rss_after_mb: f64,
}

const METHOD: &str = "in one process, on the embedded ledger, timers running; examples/charter, \
    five agents that pull; each step is an accept and a complete, each durable and waited for; one \
    in ten without a client, for one in ten the spreadsheet fails once and the error monitor waits \
    2 s; all are brought to the last state before any ends, a quarter of them first; rules are \
    timed inside the engine, where they decide: what they look at is gathered, and they are tried \
    until one holds; memory is the process's resident set, index caught up";

/// Measures.
pub(super) async fn measure(
    args: &WorkflowsArgs,
    file_system: String,
    folder: &Path,
    mut say: impl FnMut(&str),
) -> Result<Report, BenchError> {
    let engine = Engine::open(folder)
        .map_err(|failure| BenchError::Baton(baton_engine::causes(&failure)))?;
    let timers = engine.clone();
    tokio::spawn(async move { timers.run_timers().await });
    let crew = Crew::new(engine, args.concurrent as usize).await?;
    let count = args.count as usize;
    let warm = crew.begin(vec![1; WARM_UP.min(count)]).await?;
    crew.end(crew.bring(warm).await?).await?;

    let before = crew.memory().await?;
    let judged = crew.engine.judging();
    say(&format!("{} workflows…", count / 4));
    let mut clock = Clock::default();
    let mut works = clock.time(wave(&crew, 0..count / 4)).await?;
    let quarter = Memory::read(&crew, before, works.len()).await?;
    say(&format!("{count} workflows…"));
    works.extend(clock.time(wave(&crew, count / 4..count)).await?);
    let all = Memory::read(&crew, before, works.len()).await?;
    say("ending them…");
    let works = clock.time(crew.end(works)).await?;
    crew.nothing_left().await?;
    let rss_after_mb = crew.memory().await?;

    let seconds = clock.0.as_secs_f64().max(1e-9);
    let mut latencies: Vec<u64> =
        works.iter().flat_map(|work| work.latencies.iter().copied()).collect();
    latencies.sort_unstable();
    let steps: usize = works.iter().map(|work| work.steps).sum();
    Ok(Report {
        method: METHOD,
        file_system,
        completed: works.len(),
        retried: works.iter().filter(|work| work.retried).count(),
        concurrent: args.concurrent,
        seconds,
        workflows_per_s: works.len() as f64 / seconds,
        steps_per_s: steps as f64 / seconds,
        complete_p50_us: share(&latencies, 0.5),
        complete_p99_us: share(&latencies, 0.99),
        judging: Judging::between(&judged, &crew.engine.judging()),
        rss_before_mb: before,
        bytes_ratio: all.bytes_per_workflow / quarter.bytes_per_workflow.max(1.0),
        quarter,
        all,
        rss_after_mb,
    })
}

/// Begins these and brings them to the last state.
async fn wave(crew: &Crew, which: std::ops::Range<usize>) -> Result<Vec<Work>, BenchError> {
    let works = crew.begin(which.collect()).await?;
    crew.bring(works).await
}

/// Time that the work took.
#[derive(Default)]
struct Clock(Duration);

impl Clock {
    async fn time<T>(&mut self, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let done = work.await;
        self.0 += begun.elapsed();
        done
    }
}

impl Memory {
    async fn read(crew: &Crew, before: f64, live: usize) -> Result<Self, BenchError> {
        let rss_mb = crew.memory().await?;
        let bytes_per_workflow = (rss_mb - before) * 1024.0 * 1024.0 / live.max(1) as f64;
        Ok(Self { live, rss_mb, bytes_per_workflow })
    }
}

impl Crew {
    /// Memory of the process, the index caught up.
    async fn memory(&self) -> Result<f64, BenchError> {
        load::caught_up(&self.engine).await?;
        Ok(memory_mb("self"))
    }
}

impl Judging {
    /// What was judged between two readings.
    fn between(before: &Reading, after: &Reading) -> Self {
        let steps = after.count.saturating_sub(before.count);
        let sum = after.sum.saturating_sub(before.sum);
        let counts = before.buckets.iter().zip(&after.buckets);
        let buckets: Vec<(u64, u64)> =
            counts.map(|((_, old), (bound, new))| (*bound, new.saturating_sub(*old))).collect();
        let at_most = |share: f64| {
            let mut left = (steps as f64 * share) as u64;
            let bucket = buckets.iter().find(|(_, count)| {
                let here = left < *count;
                left = left.saturating_sub(*count);
                here
            });
            bucket.map_or(0.0, |(bound, _)| *bound as f64 / 1_000.0)
        };
        Self {
            steps,
            mean_us: sum as f64 / 1_000.0 / steps.max(1) as f64,
            p50_at_most_us: at_most(0.5),
            p99_at_most_us: at_most(0.99),
        }
    }
}

/// The report for people.
pub(super) fn table(report: &Report) -> String {
    let Report { file_system, completed, retried, concurrent, seconds, judging, .. } = report;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "file system {file_system}, {concurrent} callers\n\
         {completed} workflows completed in {seconds:.1} s, {retried} of them after a retry\n"
    );
    let mut row = |what: &str, value: String| {
        let _ = writeln!(text, "{what:<34} {value:>12}");
    };
    row("workflows/s", format!("{:.0}", report.workflows_per_s));
    row("steps/s", format!("{:.0}", report.steps_per_s));
    row("complete p50 µs", report.complete_p50_us.to_string());
    row("complete p99 µs", report.complete_p99_us.to_string());
    row("rules of a step, mean µs", format!("{:.1}", judging.mean_us));
    row("rules of a step, p50 at most µs", format!("{:.1}", judging.p50_at_most_us));
    row("rules of a step, p99 at most µs", format!("{:.1}", judging.p99_at_most_us));
    row("MB before", format!("{:.1}", report.rss_before_mb));
    for memory in [&report.quarter, &report.all] {
        row(&format!("MB with {} live", memory.live), format!("{:.1}", memory.rss_mb));
        row("  bytes per workflow", format!("{:.0}", memory.bytes_per_workflow));
    }
    row("  ratio of the two", format!("{:.2}", report.bytes_ratio));
    row("MB when all are over", format!("{:.1}", report.rss_after_mb));
    let _ = writeln!(text, "\n{}", report.method);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_what_was_judged_are_read_from_the_buckets_since_before() {
        let reading = |count, sum, small, large| Reading {
            count,
            sum,
            buckets: vec![(5_000, small), (50_000, large), (u64::MAX, 0)],
        };
        let judging = Judging::between(&reading(10, 90_000, 0, 10), &reading(110, 590_000, 90, 20));
        assert_eq!((judging.steps, judging.mean_us), (100, 5.0));
        assert_eq!((judging.p50_at_most_us, judging.p99_at_most_us), (5.0, 50.0));
    }
}
