//! Which layer everything stands on.

use super::{Graph, Item, Layout, Link, Size, Spacing, What};

/// Puts nodes on even layers, below all that came before them and are joined to them, and edges on
/// every layer in between.
pub(super) fn layered(graph: &Graph, spacing: Spacing) -> Layout {
    let ranks = ranks(graph);
    let deepest = ranks.iter().max().map_or(0, |rank| rank * 2);
    let loops =
        graph.edges.iter().any(|join| join.from == join.to && ranks[join.from] * 2 == deepest);
    let mut layout = Layout {
        layers: vec![Vec::new(); if graph.nodes.is_empty() { 0 } else { deepest + 1 }],
        ..Layout::default()
    };
    if loops {
        layout.layers.push(Vec::new());
    }
    for (node, size) in graph.nodes.iter().enumerate() {
        add(&mut layout, What::Node(node), *size, ranks[node] * 2);
    }
    for edge in 0..graph.edges.len() {
        thread(&mut layout, graph, &ranks, edge, spacing);
    }
    layout
}

/// The longest way from the beginning. Nodes are in the order in which they came, and every edge
/// counts from the earlier to the later one, so there is no circle.
fn ranks(graph: &Graph) -> Vec<usize> {
    let mut ranks = vec![0; graph.nodes.len()];
    let mut joins: Vec<(usize, usize)> =
        graph.edges.iter().map(|join| (join.from.min(join.to), join.from.max(join.to))).collect();
    joins.sort_unstable_by_key(|(_, later)| *later);
    for (earlier, later) in joins {
        if earlier != later {
            ranks[later] = ranks[later].max(ranks[earlier] + 1);
        }
    }
    ranks
}

fn add(layout: &mut Layout, what: What, size: Size, layer: usize) -> usize {
    let at = layout.items.len();
    layout.items.push(Item { what, x: 0, y: 0, size, layer });
    layout.layers[layer].push(at);
    at
}

/// Leads an edge from its upper node to its lower one, with its label on the emptiest odd layer.
fn thread(layout: &mut Layout, graph: &Graph, ranks: &[usize], edge: usize, spacing: Spacing) {
    let join = graph.edges[edge];
    let (upper, lower) = (join.from.min(join.to), join.from.max(join.to));
    let (first, last) = (ranks[upper] * 2 + 1, ranks[lower] * 2);
    let link = |upper, lower, back| Link { edge, upper, lower, leaves: 0, reaches: 0, back };
    if upper == lower {
        let label = add(layout, What::Label(edge), join.label, first);
        layout.links.push(link(upper, label, false));
        layout.links.push(link(upper, label, true));
        return;
    }
    let used = |layer: usize| -> i32 {
        layout.layers[layer].iter().map(|item| layout.items[*item].size.w + spacing.between).sum()
    };
    let home = (first..last).step_by(2).min_by_key(|layer| used(*layer));
    let mut above = upper;
    for layer in first..last {
        let here = match home == Some(layer) && join.label.w > 0 {
            true => add(layout, What::Label(edge), join.label, layer),
            false => add(layout, What::Bend(edge), Size { w: spacing.bend, h: 0 }, layer),
        };
        layout.links.push(link(above, here, false));
        above = here;
    }
    layout.links.push(link(above, lower, false));
}
