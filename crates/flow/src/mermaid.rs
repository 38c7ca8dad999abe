//! The drawing for Mermaid: for Markdown pages that draw it themselves.

use std::fmt::Write;

use crate::model::Flow;
use crate::picture::{Edge, Node, NodeKind, Picture};
use crate::standing::{Hue, Stroke};
use crate::words::{card_lines, layers, node_lines, page};

/// A flow as a Mermaid flowchart.
pub fn mermaid(flow: &Flow) -> String {
    of(&page(flow))
}

/// A picture as a Mermaid flowchart.
pub(crate) fn of(picture: &Picture) -> String {
    // In YAML, and without a sign that could make it a directive.
    let title = picture.title.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "\\x25");
    let config = "config:\n  flowchart:\n    wrappingWidth: 360";
    let mut out = format!("---\ntitle: \"{title}\"\n{config}\n---\nflowchart TD\n");
    for note in std::iter::once(&picture.summary).chain(&picture.notes) {
        // A comment ends with its line, and must not look like a directive.
        let _ = writeln!(out, "  %% {}", note.replace(['{', '}', '%'], " "));
    }
    for node in layers(picture).into_iter().flatten() {
        let _ = writeln!(out, "  n{node}{}", shape(&picture.nodes[node]));
    }
    let mut hues = Vec::new();
    for edge in &picture.edges {
        let _ = writeln!(out, "  {}", line(edge));
        hues.push(edge.standing().map_or(Hue::Grey, |standing| standing.hue()));
    }
    styles(&mut out, picture, &hues);
    out
}

fn shape(node: &Node) -> String {
    let label = quoted(&node_lines(node));
    match node.kind {
        NodeKind::Begin => format!("(({label}))"),
        NodeKind::State => format!("[{label}]"),
        NodeKind::Agent => format!("({label})"),
        NodeKind::Person => format!("([{label}])"),
        NodeKind::Several => format!("[[{label}]]"),
        NodeKind::Broadcast(_) => format!("{{{{{label}}}}}"),
        NodeKind::Completed | NodeKind::Cancelled | NodeKind::Failed => {
            format!("((({label})))")
        }
    }
}

/// All that went between two, on one line: Mermaid would lay the labels of several on each other.
fn line(edge: &Edge) -> String {
    let stroke = edge.standing().map_or(Stroke::Plain, |standing| standing.stroke());
    let arrow = match (stroke, edge.returned()) {
        (Stroke::Plain, false) => "-->",
        (Stroke::Plain, true) => "<-->",
        (Stroke::Heavy, false) => "==>",
        (Stroke::Heavy, true) => "<==>",
        (Stroke::Dotted, false) => "-.->",
        (Stroke::Dotted, true) => "<-.->",
        (Stroke::Dashed, false) => "--x",
        (Stroke::Dashed, true) => "x--x",
    };
    let lines: Vec<String> = edge.cards.iter().flat_map(card_lines).collect();
    match lines.is_empty() {
        true => format!("n{} {arrow} n{}", edge.from, edge.to),
        false => format!("n{} {arrow}|{}| n{}", edge.from, quoted(&lines), edge.to),
    }
}

fn styles(out: &mut String, picture: &Picture, hues: &[Hue]) {
    for hue in Hue::ALL {
        let of_it = hues.iter().enumerate().filter(|(_, one)| **one == hue);
        let numbers: Vec<String> = of_it.map(|(number, _)| number.to_string()).collect();
        if !numbers.is_empty() {
            let color = hue.on_light();
            let _ = writeln!(out, "  linkStyle {} stroke:{color}", numbers.join(","));
        }
    }
    out.push_str("  classDef person stroke-width:3px\n");
    let people = picture.nodes.iter().enumerate().filter(|(_, n)| n.kind == NodeKind::Person);
    let people: Vec<String> = people.map(|(number, _)| format!("n{number}")).collect();
    if !people.is_empty() {
        let _ = writeln!(out, "  class {} person", people.join(","));
    }
}

/// Lines as one quoted text. Whatever could mean something to Mermaid, or to the page it draws on,
/// is written by its number.
fn quoted(lines: &[String]) -> String {
    let mut text = String::from("\"");
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            text.push_str("<br>");
        }
        for c in line.chars() {
            match c {
                '"' | '#' | '&' | '<' | '>' | '`' | '|' | '%' | '\\' | '{' | '}' | '[' | ']'
                | '(' | ')' | ';' | '*' | '_' | '~' | '$' => {
                    let _ = write!(text, "#{};", u32::from(c));
                }
                c => text.push(c),
            }
        }
    }
    text.push('"');
    text
}
