//! The four drawings of a picture that somebody else has made, such as that of a definition.

use crate::picture::{Picture, Words};

/// A picture for a terminal of so many columns.
pub fn terminal(picture: &Picture, width: usize) -> String {
    crate::terminal::of(picture, width)
}

/// A picture as a Mermaid flowchart.
pub fn mermaid(picture: &Picture) -> String {
    crate::mermaid::of(picture)
}

/// A picture in the DOT language.
pub fn dot(picture: &Picture) -> String {
    crate::dot::of(picture)
}

/// A picture as an SVG.
pub fn svg(picture: &Picture) -> String {
    let mut told = format!("{}.", picture.summary);
    for edge in &picture.edges {
        let ends = (picture.nodes.get(edge.from), picture.nodes.get(edge.to));
        let (Some(from), Some(to)) = ends else { continue };
        for card in &edge.cards {
            let words: Vec<String> = card.words.iter().map(Words::text).collect();
            let words = words.join("; ");
            told.push_str(&format!(" {}: {} to {}, {words}.", card.number, from.name, to.name));
        }
    }
    crate::svg::of(picture, &told)
}
