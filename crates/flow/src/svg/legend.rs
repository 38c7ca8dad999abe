//! The legend: only what occurs in the picture.

use super::card::sign;
use super::{Out, pixels, style};
use crate::picture::{NodeKind, Picture};
use crate::standing::Standing;

const ROW: i32 = 24;
const FONT: i32 = 12;

/// What a picture must explain.
pub(super) struct Legend {
    entries: Vec<Entry>,
}

enum Entry {
    Standing(Standing, &'static str),
    Person,
    Returned,
}

impl Entry {
    fn words(&self) -> &'static str {
        match self {
            Self::Standing(_, word) => word,
            Self::Person => "a person",
            Self::Returned => "something came back",
        }
    }

    fn width(&self) -> i32 {
        let before = match self {
            Self::Standing(..) => 58,
            Self::Person => 34,
            Self::Returned => 42,
        };
        before + pixels(self.words(), FONT) + 22
    }
}

impl Legend {
    pub(super) fn of(picture: &Picture) -> Self {
        let cards = || picture.edges.iter().flat_map(|edge| &edge.cards);
        let occurs = |standing: &Standing| cards().any(|card| card.standing == *standing);
        let meant = |standing| Entry::Standing(standing, picture.meaning(standing));
        let mut entries: Vec<Entry> = Standing::ALL.into_iter().filter(occurs).map(meant).collect();
        if cards().any(|card| card.returned) {
            entries.push(Entry::Returned);
        }
        if picture.nodes.iter().any(|node| node.kind == NodeKind::Person) {
            entries.push(Entry::Person);
        }
        Self { entries }
    }

    /// The width below which an entry would not fit.
    pub(super) fn narrowest(&self) -> i32 {
        self.entries.iter().map(Entry::width).max().unwrap_or(0)
    }

    pub(super) fn height(&self, width: i32) -> i32 {
        self.places(width).last().map_or(0, |(_, y)| y + ROW)
    }

    /// Where each entry begins, row by row.
    fn places(&self, width: i32) -> Vec<(i32, i32)> {
        let (mut x, mut y) = (0, 0);
        let mut places = Vec::new();
        for entry in &self.entries {
            if x > 0 && x + entry.width() > width + 22 {
                (x, y) = (0, y + ROW);
            }
            places.push((x, y));
            x += entry.width();
        }
        places
    }

    pub(super) fn draw(&self, out: &mut Out, (left, top): (i32, i32), width: i32) {
        for (entry, (x, y)) in self.entries.iter().zip(self.places(width)) {
            let (x, y) = (left + x, top + y);
            let words = match entry {
                Entry::Standing(standing, _) => {
                    let (hue, middle) = (standing.hue().word(), y + 8);
                    let class = style::stroke_class(standing.stroke());
                    let end = x + 34;
                    out.add(format!(
                        "<path class=\"edge {class} {hue}\" d=\"M{x} {middle}H{end}\"/>"
                    ));
                    sign(out, *standing, (x + 40, y + 2));
                    x + 58
                }
                Entry::Person => {
                    out.add(format!(
                        "<rect class=\"node person\" x=\"{x}\" y=\"{}\" width=\"26\" \
                         height=\"14\" rx=\"7\"/><rect class=\"inner\" x=\"{}\" y=\"{}\" \
                         width=\"21\" height=\"9\" rx=\"4.5\"/>",
                        y + 1,
                        f64::from(x) + 2.5,
                        f64::from(y) + 3.5
                    ));
                    x + 34
                }
                Entry::Returned => {
                    let (middle, from, to) = (y + 8, x + 2, x + 34);
                    out.add(format!(
                        "<path class=\"edge grey\" d=\"M{from} {middle}H{to}\" \
                         marker-start=\"url(#back-grey)\" marker-end=\"url(#to-grey)\"/>"
                    ));
                    x + 42
                }
            };
            out.text((words, y + 12), "words", entry.words());
        }
    }
}
