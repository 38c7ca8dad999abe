//! What texts from outside must not do to whoever reads them.

use std::time::{Duration, Instant};

/// What reading and judging one expression may take on a slow machine without optimization.
const WITHIN: Duration = Duration::from_secs(10);
/// A quarter of what threads of the coordinator have.
const STACK: usize = 512 * 1024;

/// Runs what reads a text, on a small stack, and fails if it takes long.
pub(crate) fn bounded(text: String, run: fn(&str)) {
    let run = move || {
        let begun = Instant::now();
        run(&text);
        let took = begun.elapsed();
        assert!(took < WITHIN, "{text} took {took:?}");
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run).expect("a thread");
    thread.join().expect("it goes well");
}
