//! What the drawings that other programs lay out have in common: their lines of text, and the order
//! of our own layout, so that all drawings tell the same story from top to bottom.

use crate::layout::{What, layout};
use crate::picture::{Card, Node, Picture, Words};
use crate::svg::{AIR, measured};
use crate::text::{cells, cut, wrapped};

/// Columns of one line of words.
const COLUMNS: usize = 36;
/// Lines of one kind of words.
const LINES_MAX: usize = 2;

/// The nodes of each layer, from top to bottom and left to right.
pub(crate) fn layers(picture: &Picture) -> Vec<Vec<usize>> {
    let placed = layout(&measured(picture), AIR);
    let node = |item: &usize| match placed.items[*item].what {
        What::Node(node) => Some(node),
        What::Label(_) | What::Bend(_) => None,
    };
    let nodes = |layer: &Vec<usize>| layer.iter().filter_map(node).collect::<Vec<_>>();
    placed.layers.iter().map(nodes).filter(|layer| !layer.is_empty()).collect()
}

/// What a card says, line by line.
pub(crate) fn card_lines(card: &Card) -> Vec<String> {
    let Card { number, kind, state, .. } = card;
    let sign = card.standing.sign();
    let mut lines = vec![cut(&format!("{number} {kind} {sign} {state}"), COLUMNS + 12, cells)];
    lines.extend(body_lines(&card.words));
    lines
}

/// What a node says, line by line.
pub(crate) fn node_lines(node: &Node) -> Vec<String> {
    let mut lines = vec![cut(&node.name, COLUMNS + 12, cells)];
    lines.extend(node.note.as_ref().map(|note| cut(note, COLUMNS + 12, cells)));
    lines.extend(body_lines(&node.words));
    lines
}

fn body_lines(words: &[Words]) -> impl Iterator<Item = String> {
    words.iter().flat_map(|words| wrapped(&words.text(), COLUMNS, LINES_MAX, cells))
}
