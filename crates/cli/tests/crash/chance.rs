//! Chance that can be repeated: every choice of a run follows from one number.
//!
//! The same seed makes the same choices. How the threads and processes meet is the machine's own,
//! so a replay comes close to the run that failed and is not its copy.

use std::time::{SystemTime, UNIX_EPOCH};

/// Where the choices of a run come from (xorshift64*).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds must not make neighbouring choices, and zero would stay zero.
        let mixed = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self((mixed ^ (mixed >> 32)).max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The high bits are the better ones; the small bias of the remainder harms nothing here.
        (self.next() >> 16) % bound.max(1)
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

/// Says how to repeat a run if it fails.
pub(crate) struct Seed {
    pub(crate) number: u64,
    test: &'static str,
}

impl Seed {
    /// The seed that `BATON_SEED` names, or one that nobody had before.
    pub(crate) fn of(test: &'static str) -> Self {
        let named = std::env::var("BATON_SEED").ok();
        let number = match named {
            Some(text) => text.parse().expect("BATON_SEED is a number"),
            None => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, fresh),
        };
        Self { number, test }
    }
}

/// Few enough digits to be copied by hand.
fn fresh(since: std::time::Duration) -> u64 {
    u64::from(since.subsec_nanos()) ^ since.as_secs() & 0xFFFF_FFFF
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { number, test } = self;
            eprintln!("replay: BATON_SEED={number} cargo test -p baton-cli --test {test}");
        }
    }
}

/// The size that the variable `name` asks for, or the usual one.
pub(crate) fn size(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}
