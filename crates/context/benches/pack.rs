//! How long packing takes, and whether counting stays linear.
//!
//! `cargo bench -p baton-context` prints the figures. With `count FILE` it counts that file and
//! prints tokens and milliseconds, for `scripts/bench-tokens`, which compares with Python.

use std::path::Path;
use std::time::{Duration, Instant};

use baton_context::Tokenizer;
use baton_context::history::{About, Plan, pack};
use baton_protocol::handoff::{Include, TransferMode};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

const ROUNDS: usize = 9;
const HISTORY_BYTES: usize = 5_000_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    match words.as_slice() {
        [verb, file] if verb == "count" => count(file),
        [verb, file] if verb == "text" => {
            std::fs::write(file, prose(HISTORY_BYTES)).expect("the text can be written");
        }
        other => {
            assert!(other.is_empty(), "expected nothing, `count FILE` or `text FILE`");
            println!("best, median and worst of {ROUNDS}, in ms");
            packs();
            long_words();
        }
    }
}

/// Time that this thread was on a processor. The counter in `/proc` only moves every few
/// milliseconds, so the clock is asked.
fn on_processor() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// Milliseconds on a processor and on the wall, each in order.
struct Times {
    processor: Vec<f64>,
    wall: Vec<f64>,
}

fn timed(rounds: usize, mut run: impl FnMut()) -> Times {
    let mut times = Times { processor: Vec::new(), wall: Vec::new() };
    for _ in 0..rounds {
        let (start, began) = (on_processor(), Instant::now());
        run();
        times.wall.push(began.elapsed().as_secs_f64() * 1e3);
        times.processor.push((on_processor() - start).as_secs_f64() * 1e3);
    }
    times.processor.sort_by(f64::total_cmp);
    times.wall.sort_by(f64::total_cmp);
    times
}

fn show(what: &str, times: &Times) {
    let told = |times: &[f64]| {
        let (last, middle) = (times[times.len() - 1], times[times.len() / 2]);
        format!("{:>6.1} {middle:>6.1} {last:>7.1}", times[0])
    };
    println!("{what:<32} cpu {}   wall {}", told(&times.processor), told(&times.wall));
}

fn count(file: &str) {
    let text = std::fs::read_to_string(file).expect("the text can be read");
    // The vocabulary is unpacked before; the text itself is seen for the first time.
    Tokenizer::default().count("ready");
    let mut tokens = 0;
    let times = timed(1, || tokens = Tokenizer::default().count(&text));
    println!("{tokens} {:.3}", times.processor[0]);
}

fn packs() {
    let history = history();
    let bytes = serde_json::to_vec(&history).expect("JSON").len();
    println!("history: {} messages, {bytes} bytes as JSON", history.len());
    Tokenizer::default().count("the vocabulary is unpacked before anything is timed");
    let files = ["src/record/header.rs".to_owned()];
    let about = About {
        task: "Fix the parser of record headers",
        reason: "the second format fails",
        files: &files,
    };
    for (mode, max_tokens) in [
        (TransferMode::Full, None),
        (TransferMode::Full, Some(20_000)),
        (TransferMode::RelevantOnly, None),
        (TransferMode::RelevantOnly, Some(100_000)),
        (TransferMode::Summary, None),
    ] {
        let (tokenizer, include) = (Tokenizer::default(), Include::default());
        let plan = Plan { mode, max_messages: None, max_tokens, include, tokenizer };
        let mut copies: Vec<_> = (0..ROUNDS).map(|_| history.clone()).collect();
        let times = timed(ROUNDS, || {
            let packed = pack(copies.pop().expect("one a round"), &plan, &about, None);
            std::hint::black_box(packed.expect("these are messages"));
        });
        show(&format!("pack {mode:?} {max_tokens:?}"), &times);
    }
    let texts: Vec<String> = history.iter().map(ToString::to_string).collect();
    let times = timed(ROUNDS, || {
        let count = |text: &String| Tokenizer::default().count(text);
        std::hint::black_box(texts.iter().map(count).sum::<usize>());
    });
    show("counting the JSON alone", &times);
}

fn long_words() {
    let mut seed = 1;
    let letters: String =
        (0..1_000_000).map(|_| char::from(b'a' + random(&mut seed, 26))).collect();
    let cases = [
        ("one letter", "a".repeat(1_000_000)),
        ("letters", letters),
        ("capitals", "AB".repeat(500_000)),
        ("alternating case", "aB".repeat(500_000)),
        ("digits", "1234567890".repeat(100_000)),
        ("signs", "=".repeat(1_000_000)),
        ("spaces", " ".repeat(1_000_000)),
        ("line ends", "\n".repeat(1_000_000)),
        ("kanji", "構文解析".repeat(83_333)),
        ("emoji", "👩‍👩‍👧‍👦".repeat(40_000)),
        ("accents", "é".repeat(500_000)),
        ("combining marks", "e\u{301}".repeat(333_333)),
    ];
    println!("1 MB without a break: cpu ms; a quarter of it; ratio; the library in one piece");
    let library = tiktoken::get_encoding("o200k_base").expect("it is inside");
    for (name, text) in cases {
        let quarter = &text[..text.floor_char_boundary(text.len() / 4)];
        let (mut whole, mut part, mut plain) = (f64::MAX, f64::MAX, f64::MAX);
        let (mut ours, mut theirs) = (0, 0);
        // In turns, so that a busy moment hits all of them.
        for _ in 0..3 {
            whole = whole.min(timed(1, || ours = Tokenizer::default().count(&text)).processor[0]);
            let quartered = timed(1, || {
                std::hint::black_box(Tokenizer::default().count(quarter));
            });
            part = part.min(quartered.processor[0]);
            plain = plain.min(timed(1, || theirs = library.count(&text)).processor[0]);
        }
        let ratio = whole / part;
        println!(
            "{name:<18} {whole:>7.1} {part:>7.1} {ratio:>5.1} {plain:>8.1}   tokens {ours} {theirs}"
        );
    }
}

/// Numbers that look random and are the same every time.
fn random(seed: &mut u64, below: u8) -> u8 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*seed >> 33) % u64::from(below)) as u8
}

/// The sources and documents of this workspace, as often as it takes. Sentences that repeat would
/// flatter us: the library remembers pieces that it has seen.
fn prose(bytes: usize) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("crates"), root.join("docs")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let kind = path.extension().and_then(|kind| kind.to_str());
            match kind {
                _folder if path.is_dir() => folders.push(path),
                Some("rs" | "md" | "json" | "toml") => files.push(path),
                Some(_) | None => (),
            }
        }
    }
    files.sort();
    let mut text = String::with_capacity(bytes);
    for file in files.iter().cycle() {
        text.push_str(&std::fs::read_to_string(file).expect("a text"));
        if text.len() >= bytes {
            break;
        }
    }
    text.truncate(text.floor_char_boundary(bytes));
    text
}

fn history() -> Vec<Value> {
    let text = prose(HISTORY_BYTES);
    let mut list = vec![
        json!({"role": "system", "content": "You are a careful programmer."}),
        json!({"role": "user", "content": "Fix the parser of record headers."}),
    ];
    let (mut rest, mut turn) = (text.as_str(), 0);
    while !rest.is_empty() {
        let mut take = |bytes: usize| {
            let (taken, left) = rest.split_at(rest.floor_char_boundary(bytes.min(rest.len())));
            rest = left;
            taken
        };
        let id = format!("call_{turn}");
        let call = json!({"id": id, "type": "function",
            "function": {"name": "read", "arguments": json!({"text": take(800)}).to_string()}});
        list.push(json!({"role": "assistant", "content": take(1_200), "tool_calls": [call]}));
        list.push(json!({"role": "tool", "tool_call_id": id, "content": take(6_000)}));
        list.push(json!({"role": "user", "content": take(500)}));
        turn += 1;
    }
    list
}
