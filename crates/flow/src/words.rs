//! What the drawings for a page have in common: how much of a flow they show, and, for those that
//! other programs lay out, their lines of text and the order of our own layout, so that all of them
//! tell the same story from top to bottom.

use crate::layout::{What, layout};
use crate::model::Flow;
use crate::picture::{Card, Node, Picture, Room, Words};
use crate::svg::{AIR, measured};
use crate::text::{cells, cut, wrapped};

/// Wider than this, a page in a report cannot be read.
const PAGE_WIDTH: i32 = 1_700;
/// Columns of one line of words.
const COLUMNS: usize = 36;
/// Lines of one kind of words.
const LINES_MAX: usize = 2;

/// What of a flow is drawn on a page.
pub(crate) fn page(flow: &Flow) -> Picture {
    let picture = Picture::of(flow, Room::PAGE);
    match layout(&measured(&picture), AIR).width > PAGE_WIDTH {
        true => Picture::of(flow, Room::CROWDED),
        false => picture,
    }
}

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
