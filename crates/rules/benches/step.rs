//! What it costs to judge one step of a workflow, and to read and check a definition.
//!
//! `cargo bench -p baton-rules` prints the figures. Files that are named after `--` are read and
//! checked, too, whatever is in them: `cargo bench -p baton-rules -- hostile/*.yaml`.

// The facts of the crate's own tests, which look for the trait where it is in that crate.
#[path = "../src/testing.rs"]
mod testing;

use std::hint::black_box;
use std::time::Duration;

use baton_protocol::definition::Verdict;
use baton_rules::{Compiled, Known, check, expr, read};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::testing::Given;

const CHARTER: &str = include_str!("../tests/data/charter.yaml");
const ROUNDS: usize = 9;
const TIMES: u32 = 2_000;

fn main() {
    println!("best, median and worst of {ROUNDS}, in µs");
    let definition = read(CHARTER).expect("a definition").definition;
    let compiled = Compiled::of(&definition).expect("it compiles");
    let rfp = json!({"from": "ZRH", "to": "GVA", "passengers": 4, "notes": "x".repeat(2_000)});
    let context = json!({"requestId": "rq-1", "rfpData": rfp});
    let large = json!({"clientName": "Ada", "rfpData": rfp, "other": vec!["words"; 2_000]});
    let quotes: Vec<Value> =
        (0..3).map(|n| json!({"rank": n, "price": 1_000 * n, "by": "somebody"})).collect();
    let steps = [
        ("a client, first rule", "analyzing", "orchestrator", "ANALYZING_COMPLETE", large),
        (
            "no client, second rule",
            "analyzing",
            "orchestrator",
            "ANALYZING_COMPLETE",
            json!({"rfpData": rfp, "urgency": "none"}),
        ),
        (
            "three proposals, mapped",
            "analyzing_proposals",
            "proposal-analysis",
            "ANALYZING_PROPOSALS_COMPLETE",
            json!({"topProposals": quotes}),
        ),
    ];
    for (what, state, from, signal, result) in steps {
        let facts = Given::new(result, context.clone());
        let state = state.parse().expect("a state");
        let from = from.parse().expect("an agent");
        let signal = signal.parse().expect("a signal");
        told(what, TIMES, || {
            let verdict = compiled.judge(&definition, &state, &from, &signal, &facts);
            assert!(matches!(black_box(verdict), Verdict::Chosen(_)));
        });
    }
    told("read the definition", 100, || drop(black_box(read(CHARTER))));
    told("compile it", 20, || drop(black_box(Compiled::of(&definition))));
    let read = read(CHARTER).expect("a definition");
    told("check it", 20, || drop(black_box(check(&read, &Known::default()))));
    for name in std::env::args().skip(1).filter(|name| name.ends_with(".yaml")) {
        let text = std::fs::read(&name).expect("a file that can be read");
        let text = String::from_utf8_lossy(&text);
        let short = name.rsplit('/').next().unwrap_or_default();
        told(short, 1, || whole(&text));
    }
}

/// Reads a text and, if it is a definition, checks it.
fn whole(text: &str) {
    if let Ok(read) = baton_rules::read(text) {
        black_box(check(&read, &Known::default()));
    }
}

/// Time that this thread was on a processor: wall time says little on a shared machine.
fn on_processor() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

fn told(what: &str, times: u32, mut run: impl FnMut()) {
    let mut took: Vec<Duration> = Vec::new();
    for _ in 0..ROUNDS {
        let begun = on_processor();
        (0..times).for_each(|_| run());
        took.push((on_processor() - begun) / times);
    }
    took.sort();
    let micros = |at: usize| took[at].as_secs_f64() * 1e6;
    println!("{what:28} {:9.1} {:9.1} {:9.1}", micros(0), micros(ROUNDS / 2), micros(ROUNDS - 1));
}
