//! Which row of the space between two layers each line goes across on.

use crate::layout::{Layout, Link};

/// The tracks of one space: for each link that goes aside, its row, from 0.
pub(super) struct Tracks {
    pub(super) rows: Vec<(usize, i32)>,
    pub(super) count: i32,
}

/// One line on its way from a column to another.
struct Aside {
    link: usize,
    from: i32,
    to: i32,
}

impl Aside {
    fn overlaps(&self, other: &Self) -> bool {
        let (low, high) = (self.from.min(self.to), self.from.max(self.to));
        let (other_low, other_high) = (other.from.min(other.to), other.from.max(other.to));
        low <= other_high && other_low <= high
    }
}

/// Gives every link below `layer` that goes aside a row of its own where it would lie on another.
pub(super) fn tracks(layout: &Layout, layer: usize) -> Tracks {
    let place = |(number, link): (usize, &Link)| Aside {
        link: number,
        from: layout.leaves(link),
        to: layout.reaches(link),
    };
    let here = |(_, link): &(usize, &Link)| layout.items[link.upper].layer == layer;
    let all = layout.links.iter().enumerate().filter(here).map(place);
    let mut waiting: Vec<Aside> = all.filter(|aside| aside.from != aside.to).collect();
    // In this order, lines that fan out to one side do not cross each other.
    waiting.sort_by_key(|aside| if aside.to > aside.from { -aside.from } else { aside.from });
    let mut rows = Vec::new();
    let mut count = 0;
    while !waiting.is_empty() {
        let mut taken: Vec<Aside> = Vec::new();
        let mut at = 0;
        while at < waiting.len() {
            // A line that begins in the column where this one ends must turn above it.
            let aside = &waiting[at];
            let below = |other: &Aside| other.from == aside.to && other.link != aside.link;
            let blocked = waiting.iter().any(below) || taken.iter().any(below);
            if blocked || taken.iter().any(|other| other.overlaps(aside)) {
                at += 1;
            } else {
                taken.push(waiting.remove(at));
            }
        }
        if taken.is_empty() {
            // They wait for each other in a circle; one has to go.
            taken.push(waiting.remove(0));
        }
        rows.extend(taken.iter().map(|aside| (aside.link, count)));
        count += 1;
    }
    Tracks { rows, count }
}
