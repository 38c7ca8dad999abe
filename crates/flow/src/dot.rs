//! The drawing for Graphviz: `dot -Tsvg flow.dot > flow.svg`.

use std::fmt::Write;

use crate::model::Flow;
use crate::picture::{Card, Edge, Node, NodeKind, Picture};
use crate::standing::{Hue, Stroke};
use crate::words::{card_lines, layers, node_lines, page};

/// A flow in the DOT language.
pub fn dot(flow: &Flow) -> String {
    of(&page(flow))
}

/// A picture in the DOT language.
pub(crate) fn of(picture: &Picture) -> String {
    let heading: Vec<&str> = [picture.title.as_str(), picture.summary.as_str()]
        .into_iter()
        .chain(picture.notes.iter().map(String::as_str))
        .collect();
    let mut out = String::from("digraph flow {\n");
    let _ = writeln!(out, "  graph [label={}, labelloc=t,", quoted(&heading));
    out.push_str("    fontname=\"Helvetica\", rankdir=TB, nodesep=0.5, ranksep=0.6];\n");
    out.push_str("  node [fontname=\"Helvetica\", fontsize=12, margin=\"0.2,0.1\"];\n");
    out.push_str("  edge [fontname=\"Helvetica\", fontsize=10];\n");
    for layer in layers(picture) {
        for node in &layer {
            let _ = writeln!(out, "  n{node} [{}];", node_style(&picture.nodes[*node]));
        }
        let names: Vec<String> = layer.iter().map(|node| format!("n{node}")).collect();
        let _ = writeln!(out, "  {{ rank=same; {}; }}", names.join("; "));
    }
    for edge in &picture.edges {
        if edge.cards.is_empty() {
            let _ = writeln!(out, "  {} [color=\"{}\"];", ends(edge), Hue::Grey.on_light());
        }
        for card in &edge.cards {
            let _ = writeln!(out, "  {} [{}];", ends(edge), edge_style(edge, card));
        }
    }
    out.push_str("}\n");
    out
}

/// Every edge leads downwards, also one that is drawn the other way round: so the layers stay ours.
fn ends(edge: &Edge) -> String {
    let (upper, lower) = (edge.from.min(edge.to), edge.from.max(edge.to));
    format!("n{upper} -> n{lower}")
}

fn node_style(node: &Node) -> String {
    let lines = node_lines(node);
    let label = quoted(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    match node.kind {
        NodeKind::Begin => {
            format!("label={label}, shape=ellipse, style=filled, fillcolor=\"#e8ebf0\"")
        }
        NodeKind::State => format!("label={label}, shape=box"),
        NodeKind::Agent => format!("label={label}, shape=box, style=rounded"),
        NodeKind::Person => {
            let fill = "style=\"rounded,filled\", fillcolor=\"#fff7e8\"";
            format!("label={label}, shape=box, {fill}, peripheries=2")
        }
        NodeKind::Several => format!("label={label}, shape=box3d"),
        NodeKind::Broadcast(standing) => {
            let color = standing.hue().on_light();
            format!("label={label}, shape=octagon, color=\"{color}\"")
        }
        NodeKind::Completed => {
            let color = Hue::Green.on_light();
            format!("label={label}, shape=ellipse, peripheries=2, color=\"{color}\"")
        }
        NodeKind::Failed => {
            let color = Hue::Red.on_light();
            format!("label={label}, shape=ellipse, peripheries=2, style=dashed, color=\"{color}\"")
        }
        NodeKind::Cancelled => {
            let color = Hue::Grey.on_light();
            format!("label={label}, shape=ellipse, peripheries=2, style=dashed, color=\"{color}\"")
        }
    }
}

fn edge_style(edge: &Edge, card: &Card) -> String {
    let lines = card_lines(card);
    let label = quoted(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let color = card.standing.hue().on_light();
    let line = match card.standing.stroke() {
        Stroke::Plain => "style=solid",
        Stroke::Heavy => "style=solid, penwidth=3",
        Stroke::Dotted => "style=dotted, penwidth=2",
        Stroke::Dashed => "style=dashed",
    };
    let arrows = match (edge.from <= edge.to, card.returned) {
        (true, false) => "dir=forward",
        (true, true) => "dir=both, arrowtail=empty",
        (false, false) => "dir=back",
        (false, true) => "dir=both, arrowhead=empty",
    };
    format!("label={label}, color=\"{color}\", fontcolor=\"{color}\", {line}, {arrows}")
}

/// Lines as one quoted text. The lines are plain, so only three characters mean anything in it.
fn quoted(lines: &[&str]) -> String {
    let safe = |line: &&str| line.replace('\\', "\\\\").replace('&', "&amp;").replace('"', "\\\"");
    let lines: Vec<String> = lines.iter().map(safe).collect();
    format!("\"{}\"", lines.join("\\n"))
}
