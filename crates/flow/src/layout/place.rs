//! Where everything stands from left to right: lines as straight as the order allows.

use super::{Layout, Spacing, What};

/// Rounds of moving things to where their lines want them.
const ROUNDS: usize = 24;
/// Passes of making chains straight, up and down in turn.
const STRAIGHTENED_MAX: usize = 12;

/// Gives each line its own place at both its ends, and each node the width that this takes.
pub(super) fn ported(layout: &mut Layout, spacing: Spacing) {
    let mut at = vec![0; layout.items.len()];
    for layer in &layout.layers {
        for (place, item) in layer.iter().enumerate() {
            at[*item] = place;
        }
    }
    for item in 0..layout.items.len() {
        let mut leaving: Vec<usize> = Vec::new();
        let mut reaching: Vec<usize> = Vec::new();
        for (number, link) in layout.links.iter().enumerate() {
            if link.upper == item {
                leaving.push(number);
            }
            if link.lower == item {
                reaching.push(number);
            }
        }
        leaving.sort_by_key(|link| (at[layout.links[*link].lower], *link));
        reaching.sort_by_key(|link| (at[layout.links[*link].upper], *link));
        let most = leaving.len().max(reaching.len());
        let needed = spacing.port * i32::try_from(most).unwrap_or(i32::MAX / 2);
        if let What::Node(_) = layout.items[item].what {
            // An odd width has a middle.
            layout.items[item].size.w = layout.items[item].size.w.max((needed + spacing.port) | 1);
        }
        for (place, link) in leaving.iter().enumerate() {
            layout.links[*link].leaves = port(place, leaving.len(), spacing.port);
        }
        for (place, link) in reaching.iter().enumerate() {
            layout.links[*link].reaches = port(place, reaching.len(), spacing.port);
        }
    }
}

/// How far from the middle the line at `place` of `count` is.
fn port(place: usize, count: usize, gap: i32) -> i32 {
    let (place, count) = (i32::try_from(place).unwrap_or(0), i32::try_from(count).unwrap_or(1));
    (2 * place - (count - 1)) * gap / 2
}

/// Places everything.
pub(super) fn placed(layout: &mut Layout, spacing: Spacing) {
    for layer in 0..layout.layers.len() {
        let mut x = 0;
        for place in 0..layout.layers[layer].len() {
            let item = layout.layers[layer][place];
            if place > 0 {
                let before = layout.layers[layer][place - 1];
                x += apart(layout, before, item, spacing);
            }
            layout.items[item].x = x;
        }
    }
    for round in 0..ROUNDS {
        let count = layout.layers.len();
        for step in 0..count {
            let layer = if round % 2 == 0 { step } else { count - 1 - step };
            settle(layout, layer, spacing);
        }
    }
    for pass in 0..STRAIGHTENED_MAX {
        let count = layout.layers.len();
        for step in 0..count {
            let (layer, towards) = match pass % 2 {
                0 => (count - 1 - step, Side::Below),
                _ => (step, Side::Above),
            };
            straighten(layout, layer, towards, spacing);
        }
    }
    let left = layout.items.iter().map(|item| item.x - item.size.w / 2).min().unwrap_or(0);
    layout.items.iter_mut().for_each(|item| item.x -= left);
    let right = |item: &super::Item| item.x - item.size.w / 2 + item.size.w;
    layout.width = layout.items.iter().map(right).max().unwrap_or(0);
}

/// How far apart the middles of two neighbours must be.
fn apart(layout: &Layout, left: usize, right: usize, spacing: Spacing) -> i32 {
    let (left, right) = (layout.items[left], layout.items[right]);
    let bends = matches!((left.what, right.what), (What::Bend(_), What::Bend(_)));
    let air = if bends { spacing.bend } else { spacing.between };
    left.size.w - left.size.w / 2 + right.size.w / 2 + air
}

/// Where the lines of a thing want it, and how much.
fn wanted(layout: &Layout, item: usize) -> (i64, i64) {
    let (mut sum, mut weight) = (0, 0);
    for link in &layout.links {
        let (want, other) = match item {
            _ if link.upper == item => (layout.reaches(link) - link.leaves, link.lower),
            _ if link.lower == item => (layout.leaves(link) - link.reaches, link.upper),
            _ => continue,
        };
        let pull = stiffness(layout, item, other);
        sum += i64::from(want) * pull;
        weight += pull;
    }
    (sum, weight)
}

/// How much a line wants to be straight: most where it only passes by.
fn stiffness(layout: &Layout, one: usize, other: usize) -> i64 {
    let free = |item: usize| match layout.items[item].what {
        What::Node(_) => 0,
        What::Label(_) | What::Bend(_) => 1,
    };
    match free(one) + free(other) {
        0 => 1,
        1 => 2,
        _ => 8,
    }
}

/// Moves the things of a layer to where they are wanted, as near as their order and width allow:
/// those that would overlap move as one block.
fn settle(layout: &mut Layout, layer: usize, spacing: Spacing) {
    let items = layout.layers[layer].clone();
    // In a block, `offsets` turn each wish into a wish for the first thing of the layer.
    let mut offset = 0_i64;
    let mut blocks: Vec<(i64, i64, usize)> = Vec::new();
    let mut offsets = Vec::new();
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            offset += i64::from(apart(layout, items[place - 1], *item, spacing));
        }
        offsets.push(offset);
        let (sum, weight) = match wanted(layout, *item) {
            (_, 0) => (i64::from(layout.items[*item].x), 1),
            wanted => wanted,
        };
        blocks.push((sum - offset * weight, weight, 1));
        while let [.., (sum, weight, count), (next, heavy, more)] = blocks.as_slice() {
            if sum * heavy <= next * weight {
                break;
            }
            let merged = (sum + next, weight + heavy, count + more);
            blocks.truncate(blocks.len() - 2);
            blocks.push(merged);
        }
    }
    let mut place = 0;
    for (sum, weight, count) in blocks {
        let start = (2 * sum + weight).div_euclid(2 * weight);
        for _ in 0..count {
            let x = i32::try_from(start + offsets[place]).unwrap_or(0);
            layout.items[items[place]].x = x;
            place += 1;
        }
    }
}

/// Which way a thing looks for something to stand in line with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

/// Moves single things in line with what is on one side, where there is room and the lines bend no
/// more than before. Going from one end to the other, that makes whole chains straight.
fn straighten(layout: &mut Layout, layer: usize, towards: Side, spacing: Spacing) {
    let items = layout.layers[layer].clone();
    for (place, item) in items.iter().copied().enumerate() {
        let low = place.checked_sub(1).map(|before| {
            layout.items[items[before]].x + apart(layout, items[before], item, spacing)
        });
        let high = items
            .get(place + 1)
            .map(|after| layout.items[*after].x - apart(layout, item, *after, spacing));
        let fits = |x: &i32| low.is_none_or(|low| low <= *x) && high.is_none_or(|high| *x <= high);
        let wishes = wishes(layout, item, towards).into_iter().filter(fits);
        let best = wishes.map(|x| (bent(layout, item, x), x)).min();
        if let Some((cost, x)) = best
            && cost <= bent(layout, item, layout.items[item].x)
        {
            layout.items[item].x = x;
        }
    }
}

/// The places in which one of its lines on that side would be straight.
fn wishes(layout: &Layout, item: usize, towards: Side) -> Vec<i32> {
    let wish = |link: &super::Link| match towards {
        Side::Below if link.upper == item => Some(layout.reaches(link) - link.leaves),
        Side::Above if link.lower == item => Some(layout.leaves(link) - link.reaches),
        Side::Above | Side::Below => None,
    };
    layout.links.iter().filter_map(wish).collect()
}

/// How much the lines of a thing bend if it stands at `x`.
fn bent(layout: &Layout, item: usize, x: i32) -> i64 {
    let bend = |link: &super::Link| match item {
        _ if link.upper == item => {
            let off = layout.reaches(link) - link.leaves - x;
            i64::from(off.abs()) * stiffness(layout, item, link.lower)
        }
        _ if link.lower == item => {
            let off = layout.leaves(link) - link.reaches - x;
            i64::from(off.abs()) * stiffness(layout, item, link.upper)
        }
        _ => 0,
    };
    layout.links.iter().map(bend).sum()
}
