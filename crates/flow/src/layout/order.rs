//! The order within each layer, so that few lines cross.

use super::Layout;

/// Sweeps over the layers from one beginning.
const SWEEPS_MAX: usize = 12;
/// Beginnings: the order in which things came, and then others.
const BEGINNINGS_MAX: usize = 24;
/// Above so many links, one beginning has to do.
const LINKS_SMALL: usize = 400;

/// Orders every layer by where its neighbours stand, down and up in turn, and keeps the best.
///
/// Sweeping gets stuck where a whole branch would have to change sides, so it begins again from
/// other orders. Those are mixed by arithmetic: the same graph always has the same picture.
pub(super) fn ordered(layout: &mut Layout) {
    let near = Neighbours::of(layout);
    let begun = layout.layers.clone();
    let mut best: Option<(usize, Vec<Vec<usize>>)> = None;
    let beginnings = if layout.links.len() > LINKS_SMALL { 1 } else { BEGINNINGS_MAX };
    for beginning in 0..beginnings {
        layout.layers.clone_from(&begun);
        mix(layout, beginning);
        for sweep in 0..SWEEPS_MAX {
            let down = sweep % 2 == 0;
            let count = layout.layers.len();
            for step in 0..count {
                let layer = if down { step } else { count - 1 - step };
                sort(layout, &near, layer, down, sweep % 4 > 1);
            }
            swap(layout, &near);
            let found = crossings(layout);
            if best.as_ref().is_none_or(|(fewest, _)| found < *fewest) {
                best = Some((found, layout.layers.clone()));
            }
        }
        if best.as_ref().is_some_and(|(fewest, _)| *fewest == 0) {
            break;
        }
    }
    if let Some((_, layers)) = best {
        layout.layers = layers;
    }
}

/// Another order to begin with; the first one is left as it is.
fn mix(layout: &mut Layout, beginning: usize) {
    if beginning == 0 {
        return;
    }
    for layer in &mut layout.layers {
        layer.sort_by_key(|item| (item + 1) * 7_919 * (beginning * 2 + 1) % 10_007);
    }
}

/// What each thing is joined to, above and below.
struct Neighbours {
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
}

impl Neighbours {
    fn of(layout: &Layout) -> Self {
        let none = vec![Vec::new(); layout.items.len()];
        let mut near = Self { above: none.clone(), below: none };
        for link in &layout.links {
            near.below[link.upper].push(link.lower);
            near.above[link.lower].push(link.upper);
        }
        near
    }
}

fn positions(layout: &Layout) -> Vec<usize> {
    let mut at = vec![0; layout.items.len()];
    for layer in &layout.layers {
        for (place, item) in layer.iter().enumerate() {
            at[*item] = place;
        }
    }
    at
}

/// Sorts one layer by the middle of what its things are joined to. Those with nothing on that side
/// keep their place; equals are turned round if `turned`, because either may be better.
fn sort(layout: &mut Layout, near: &Neighbours, layer: usize, by_above: bool, turned: bool) {
    let at = positions(layout);
    let wanted = |item: usize| {
        let others = if by_above { &near.above[item] } else { &near.below[item] };
        let sum: usize = others.iter().map(|other| at[*other]).sum();
        match others.len() {
            0 => at[item] * 1_000,
            count => sum * 1_000 / count,
        }
    };
    if turned {
        layout.layers[layer].reverse();
    }
    layout.layers[layer].sort_by_key(|item| wanted(*item));
}

/// Swaps neighbours of a layer where that uncrosses lines.
fn swap(layout: &mut Layout, near: &Neighbours) {
    for layer in 0..layout.layers.len() {
        let at = positions(layout);
        for place in 1..layout.layers[layer].len() {
            let (left, right) = (layout.layers[layer][place - 1], layout.layers[layer][place]);
            let now = between(near, &at, left, right);
            if between(near, &at, right, left) < now {
                layout.layers[layer].swap(place - 1, place);
            }
        }
    }
}

/// The crossings of the lines of two neighbours that stand in this order.
fn between(near: &Neighbours, at: &[usize], left: usize, right: usize) -> usize {
    let crossed = |of: &[Vec<usize>]| -> usize {
        let wrong = |a: &usize| of[right].iter().filter(|b| at[**b] < at[*a]).count();
        of[left].iter().map(wrong).sum()
    };
    crossed(&near.above) + crossed(&near.below)
}

fn crossings(layout: &Layout) -> usize {
    let at = positions(layout);
    let mut crossed = 0;
    for layer in 0..layout.layers.len() {
        let mut ends: Vec<(usize, usize)> =
            layout.below(layer).map(|link| (at[link.upper], at[link.lower])).collect();
        ends.sort_unstable();
        for (place, (upper, lower)) in ends.iter().enumerate() {
            let later = &ends[place + 1..];
            crossed += later.iter().filter(|(u, l)| u > upper && l < lower).count();
        }
    }
    crossed
}
