//! Waits until a file rests. Pure: the caller says what time it is.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Files that changed, each held back until it has rested for a while.
///
/// Editors and agents save in bursts. One that never rests is let through now and then, or its
/// work would never be seen.
#[derive(Clone, Debug)]
pub struct Debounce {
    quiet: Duration,
    longest: Duration,
    waiting: HashMap<PathBuf, Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    first: Instant,
    last: Instant,
}

impl Debounce {
    /// How many files may wait at once.
    pub const FILES_MAX: usize = 100_000;

    /// Holds a file back until it has not changed for `quiet`, but not for more than `longest`.
    pub fn new(quiet: Duration, longest: Duration) -> Self {
        Self { quiet, longest, waiting: HashMap::new() }
    }

    /// Notes that a file has changed. Returns whether there was room for it.
    pub fn touch(&mut self, path: PathBuf, now: Instant) -> bool {
        if let Some(waiting) = self.waiting.get_mut(&path) {
            waiting.last = now;
            return true;
        }
        let room = self.waiting.len() < Self::FILES_MAX;
        if room {
            self.waiting.insert(path, Waiting { first: now, last: now });
        }
        room
    }

    /// Takes out the files that need not wait any longer, in the order of their paths.
    pub fn ready(&mut self, now: Instant) -> Vec<PathBuf> {
        let (quiet, longest) = (self.quiet, self.longest);
        let is_ready = |waiting: &Waiting| waiting.due(quiet, longest) <= now;
        let ready = self.waiting.extract_if(|_, waiting| is_ready(waiting));
        let mut ready: Vec<_> = ready.map(|(path, _)| path).collect();
        ready.sort();
        ready
    }

    /// Returns when the next file need not wait any longer, if none changes until then.
    pub fn due(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.due(self.quiet, self.longest)).min()
    }
}

impl Waiting {
    fn due(&self, quiet: Duration, longest: Duration) -> Instant {
        (self.last + quiet).min(self.first + longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_let_through_once_it_rests_or_has_waited_long_enough() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let mut debounce = Debounce::new(Duration::from_secs(3), Duration::from_secs(30));
        assert_eq!(debounce.due(), None);
        assert!(debounce.touch("a".into(), at(0)));
        assert!(debounce.touch("b".into(), at(1)));
        assert!(debounce.touch("a".into(), at(2)));
        assert_eq!(debounce.due(), Some(at(4)));
        assert!(debounce.ready(at(3)).is_empty());
        assert_eq!(debounce.ready(at(4)), [PathBuf::from("b")]);
        assert_eq!(debounce.ready(at(5)), [PathBuf::from("a")]);
        assert!(debounce.ready(at(100)).is_empty());

        let mut seen = Vec::new();
        for second in 100..170 {
            debounce.touch("restless".into(), at(second));
            if !debounce.ready(at(second)).is_empty() {
                seen.push(second);
            }
        }
        assert_eq!(seen, [130, 161]);
    }

    #[test]
    fn there_is_room_for_so_many() {
        let now = Instant::now();
        let mut debounce = Debounce::new(Duration::ZERO, Duration::ZERO);
        for at in 0..Debounce::FILES_MAX {
            assert!(debounce.touch(at.to_string().into(), now));
        }
        assert!(!debounce.touch("one more".into(), now));
        assert!(debounce.touch("0".into(), now));
        assert_eq!(debounce.ready(now).len(), Debounce::FILES_MAX);
    }
}
