//! Chance that can be repeated: every choice of a run follows from its seed, and from nothing else.

/// Where the choices of a run come from (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Self(seed);
        // Neighbouring seeds must not begin alike.
        chance.0 = chance.next() ^ seed.rotate_left(32);
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is at least 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The small bias of the remainder harms nothing here.
        (self.next() >> 11) % bound.max(1)
    }

    /// A number between the two, both among them.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// True as often as `percent` of a hundred times.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of them, if there are any.
    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        match all.len() {
            0 => None,
            n => all.get(usize::try_from(self.below(n as u64)).unwrap_or(0)),
        }
    }

    /// One of them, as often as its weight says.
    pub(crate) fn weighed<T: Copy>(&mut self, all: &[(u64, T)]) -> T {
        let mut rest = self.below(all.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in all {
            match rest.checked_sub(*weight) {
                Some(less) => rest = less,
                None => return *choice,
            }
        }
        all[0].1
    }
}
