//! The drawing for a terminal: boxes and lines, and below them what each line carried.
//!
//! Lines have only a number and a sign, so that much fits 80 columns; the list tells the rest. It
//! comes with colours, which whoever prints it may strip: nothing is told by colour alone.

mod canvas;
mod list;
mod route;

use anstyle::Style;

use self::canvas::{Canvas, DOWN, Pen, UP, color};
use self::route::{Tracks, tracks};
use crate::layout::{Graph, Item, Join, Layout, Link, Size, Spacing, What, layout};
use crate::model::Flow;
use crate::picture::{Card, Edge, Node, NodeKind, Picture, Room};
use crate::standing::{Hue, Stroke};
use crate::text::{cells, columns, cut};

const AIR: Spacing = Spacing { between: 2, port: 4, bend: 1 };
/// Columns of a name in a box.
const NAME_MAX: usize = 24;
/// Columns of what is said below it.
const NOTE_MAX: usize = 34;
/// Columns of the names of several.
const NAMES_MAX: usize = 18;
/// Cards that share one row of a line's label.
const ROW_CARDS: usize = 3;

/// From much to little; the first that fits the width is drawn.
const ROOMS: [Room; 10] = [
    Room { agents: 16, cards: 6, pairs: 36, broadcasts: 6 },
    Room { agents: 12, cards: 6, pairs: 30, broadcasts: 4 },
    Room { agents: 10, cards: 3, pairs: 24, broadcasts: 3 },
    Room { agents: 8, cards: 3, pairs: 20, broadcasts: 2 },
    Room { agents: 7, cards: 3, pairs: 18, broadcasts: 2 },
    Room { agents: 6, cards: 2, pairs: 16, broadcasts: 2 },
    Room { agents: 5, cards: 2, pairs: 12, broadcasts: 1 },
    Room { agents: 4, cards: 2, pairs: 10, broadcasts: 0 },
    Room { agents: 3, cards: 2, pairs: 8, broadcasts: 0 },
    Room { agents: 2, cards: 1, pairs: 4, broadcasts: 0 },
];

/// A flow for a terminal of so many columns.
pub fn terminal(flow: &Flow, width: usize) -> String {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let drawn = ROOMS.iter().find_map(|room| fitting(flow, *room, width));
    let picture = drawn.as_ref().map(|(picture, _)| picture);
    let whole = Picture::of(flow, Room::PAGE);
    let title = cut(&whole.title, width, cells);
    let summary = cut(&whole.summary, width, cells);
    let mut parts = vec![format!("{bold}{title}{bold:#}\n{dim}{summary}{dim:#}\n")];
    parts.extend(drawn.as_ref().map(|(picture, layout)| draw(picture, layout, width)));
    parts.push(list::list(flow, width));
    let mut end = String::new();
    for note in picture.map(|picture| picture.notes.as_slice()).unwrap_or_default() {
        end.push_str(&format!("{dim}{}{dim:#}\n", cut(note, width, cells)));
    }
    end.push_str(&list::legend(flow, width));
    parts.push(end);
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// A picture for a terminal of so many columns; what does not fit is only told in the list.
pub(crate) fn of(picture: &Picture, width: usize) -> String {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let title = cut(&picture.title, width, cells);
    let summary = cut(&picture.summary, width, cells);
    let mut parts = vec![format!("{bold}{title}{bold:#}\n{dim}{summary}{dim:#}\n")];
    parts.extend(placed(picture, width).map(|layout| draw(picture, &layout, width)));
    parts.push(list::cards(picture, width));
    parts.push(list::meanings(picture, width));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn fitting(flow: &Flow, room: Room, width: usize) -> Option<(Picture, Layout)> {
    let picture = Picture::of(flow, room);
    let layout = placed(&picture, width)?;
    Some((picture, layout))
}

/// Where everything stands, if it fits.
fn placed(picture: &Picture, width: usize) -> Option<Layout> {
    let mut layout = layout(&measured(picture), AIR);
    if usize::try_from(layout.width).unwrap_or(usize::MAX) > width {
        return None;
    }
    layout.stack(gap);
    Some(layout)
}

fn measured(picture: &Picture) -> Graph {
    let join = |edge: &Edge| Join { from: edge.from, to: edge.to, label: label_size(edge) };
    let nodes = picture.nodes.iter().map(node_size).collect();
    Graph { nodes, edges: picture.edges.iter().map(join).collect() }
}

fn cells_of(text: &str) -> i32 {
    i32::try_from(columns(text)).unwrap_or(0)
}

fn node_size(node: &Node) -> Size {
    let (name, note) = (cells_of(&name(node)), cells_of(&note(node)));
    match node.kind {
        NodeKind::Begin | NodeKind::Completed | NodeKind::Cancelled | NodeKind::Failed => {
            Size { w: name, h: 1 }
        }
        NodeKind::Agent
        | NodeKind::Person
        | NodeKind::Several
        | NodeKind::Broadcast(_)
        | NodeKind::State => {
            // An odd width has a middle.
            Size { w: (name.max(note) + 4) | 1, h: if note > 0 { 4 } else { 3 } }
        }
    }
}

fn name(node: &Node) -> String {
    let sign = match node.kind {
        NodeKind::Begin => "● ",
        NodeKind::Completed => "◉ ",
        NodeKind::Cancelled => "∅ ",
        NodeKind::Failed => "✗ ",
        NodeKind::Broadcast(_) => "◇ ",
        NodeKind::Agent | NodeKind::Person | NodeKind::Several | NodeKind::State => "",
    };
    format!("{sign}{}", cut(&node.name, NAME_MAX, cells))
}

fn note(node: &Node) -> String {
    match node.kind {
        NodeKind::Begin | NodeKind::Completed | NodeKind::Cancelled | NodeKind::Failed => {
            String::new()
        }
        NodeKind::Several => cut(node.note.as_deref().unwrap_or_default(), NAMES_MAX, cells),
        NodeKind::Agent | NodeKind::Person | NodeKind::Broadcast(_) | NodeKind::State => {
            cut(node.note.as_deref().unwrap_or_default(), NOTE_MAX, cells)
        }
    }
}

/// A card in as few characters as can be.
fn tag(card: &Card) -> String {
    let times = if card.count > 1 { format!(" ×{}", card.count) } else { String::new() };
    format!("{}{}{times}", card.number, card.standing.sign())
}

/// The rows of a label; those that stand for several have one each.
fn rows(edge: &Edge) -> Vec<&[Card]> {
    let several = edge.cards.iter().any(|card| card.count > 1);
    edge.cards.chunks(if several { 1 } else { ROW_CARDS }).collect()
}

fn label_size(edge: &Edge) -> Size {
    let wide = |row: &&[Card]| row.iter().map(|card| cells_of(&tag(card)) + 1).sum::<i32>() - 1;
    let rows = rows(edge);
    let h = i32::try_from(rows.len()).unwrap_or(0);
    Size { w: rows.iter().map(wide).max().unwrap_or(0), h }
}

/// The rows between two layers: for arrows above and below, and for lines that go aside.
fn gap(layout: &Layout, layer: usize) -> i32 {
    let tracks = tracks(layout, layer).count;
    let at_node = |item: usize| matches!(layout.items[item].what, What::Node(_));
    let above = layout.below(layer).any(|link| at_node(link.upper));
    let below = layout.below(layer).any(|link| at_node(link.lower));
    // A line that turns at once beside a box would seem to be a part of it.
    let turning = i32::from(tracks > 0);
    (tracks + turning * (i32::from(above) + i32::from(below))).max(1)
}

fn draw(picture: &Picture, layout: &Layout, width: usize) -> String {
    let spare = i32::try_from(width).unwrap_or(0) - layout.width;
    let left = (spare / 2).clamp(0, 4);
    let mut canvas = Canvas::new(layout.width + left, layout.height);
    let mut layout = layout.clone();
    layout.items.iter_mut().for_each(|item| item.x += left);
    for layer in 0..layout.layers.len().saturating_sub(1) {
        let tracks = tracks(&layout, layer);
        lines(&mut canvas, picture, &layout, layer, &tracks);
    }
    for item in &layout.items {
        match item.what {
            What::Node(number) => node(&mut canvas, &picture.nodes[number], item),
            What::Label(number) => label(&mut canvas, &picture.edges[number], item),
            What::Bend(number) => {
                let pen = pen(&picture.edges[number]);
                canvas.down(item.x, item.y - 1, item.y + item.size.h, pen);
            }
        }
    }
    for link in &layout.links {
        ends(&mut canvas, picture, &layout, link);
    }
    canvas.text()
}

fn pen(edge: &Edge) -> Pen {
    match edge.standing() {
        Some(standing) => Pen { stroke: standing.stroke(), style: color(standing.hue()) },
        None => Pen { stroke: Stroke::Plain, style: color(Hue::Grey) },
    }
}

/// Draws the lines between two layers.
fn lines(
    canvas: &mut Canvas,
    picture: &Picture,
    layout: &Layout,
    layer: usize,
    Tracks { rows, .. }: &Tracks,
) {
    let top = layout.tops[layer] + layout.height_of(layer);
    let at_node = |item: usize| matches!(layout.items[item].what, What::Node(_));
    let above = layout.below(layer).any(|link| at_node(link.upper));
    for (number, link) in layout.links.iter().enumerate() {
        let (upper, lower) = (layout.items[link.upper], layout.items[link.lower]);
        if upper.layer != layer {
            continue;
        }
        let pen = pen(&picture.edges[link.edge]);
        let (from, to) = (layout.leaves(link), layout.reaches(link));
        let (begin, end) = (upper.y + upper.size.h, lower.y - 1);
        match rows.iter().find(|(one, _)| *one == number) {
            None => canvas.down(from, begin, end, pen),
            Some((_, row)) => {
                let turn = top + row + i32::from(above);
                canvas.down(from, begin, turn, pen);
                canvas.across(turn, from, to, pen);
                canvas.down(to, turn, end, pen);
                canvas.join(from, turn, UP, pen);
                canvas.join(to, turn, DOWN, pen);
            }
        }
    }
}

/// Arrows where something arrived, and openings in the boxes where something leaves.
fn ends(canvas: &mut Canvas, picture: &Picture, layout: &Layout, link: &Link) {
    let edge = &picture.edges[link.edge];
    let style = pen(edge).style;
    let down = edge.from < edge.to;
    let (upper, lower) = (layout.items[link.upper], layout.items[link.lower]);
    if let What::Node(node) = upper.what {
        let (x, y) = (layout.leaves(link), upper.y + upper.size.h);
        let arrow = match (down, edge.returned(), link.back || edge.from != edge.to) {
            (false, _, true) => Some('▲'),
            (true, true, _) => Some('△'),
            (true, false, _) | (false, _, false) => None,
        };
        match arrow {
            Some(arrow) => canvas.put(x, y, arrow, style),
            None => open(canvas, &picture.nodes[node], (x, y - 1), false),
        }
    }
    if let What::Node(node) = lower.what {
        let (x, y) = (layout.reaches(link), lower.y - 1);
        match (down, edge.returned()) {
            (true, _) => canvas.put(x, y, '▼', style),
            (false, true) => canvas.put(x, y, '▽', style),
            (false, false) => open(canvas, &picture.nodes[node], (x, y + 1), true),
        }
    }
}

fn open(canvas: &mut Canvas, node: &Node, (x, y): (i32, i32), top: bool) {
    let c = match (node.kind, top) {
        (NodeKind::Person, false) => '╤',
        (NodeKind::Person, true) => '╧',
        (NodeKind::Begin | NodeKind::Completed | NodeKind::Cancelled | NodeKind::Failed, _) => {
            return;
        }
        (NodeKind::Agent | NodeKind::Several | NodeKind::Broadcast(_) | NodeKind::State, top) => {
            if top {
                '┴'
            } else {
                '┬'
            }
        }
    };
    canvas.put(x, y, c, frame(node));
}

fn frame(node: &Node) -> Style {
    match node.kind {
        NodeKind::Broadcast(standing) => color(standing.hue()),
        NodeKind::Completed => color(Hue::Green),
        NodeKind::Cancelled => color(Hue::Grey),
        NodeKind::Failed => color(Hue::Red),
        NodeKind::Begin
        | NodeKind::Agent
        | NodeKind::Person
        | NodeKind::Several
        | NodeKind::State => Style::new(),
    }
}

fn node(canvas: &mut Canvas, node: &Node, item: &Item) {
    let (style, bold) = (frame(node), Style::new().bold());
    let (x, y, Size { w, h }) = (item.x - item.size.w / 2, item.y, item.size);
    let centred = |text: &str| item.x - cells_of(text) / 2;
    let [left_top, right_top, left_end, right_end, across, down] = match node.kind {
        NodeKind::Begin | NodeKind::Completed | NodeKind::Cancelled | NodeKind::Failed => {
            let text = name(node);
            canvas.write(centred(&text), y, &text, style.bold());
            return;
        }
        NodeKind::Agent => ['╭', '╮', '╰', '╯', '─', '│'],
        NodeKind::Person => ['╔', '╗', '╚', '╝', '═', '║'],
        NodeKind::Several => ['╭', '╖', '╘', '╝', '─', '│'],
        NodeKind::Broadcast(_) | NodeKind::State => ['┌', '┐', '└', '┘', '─', '│'],
    };
    let (right, bottom) = (x + w - 1, y + h - 1);
    let several = node.kind == NodeKind::Several;
    for column in x..=right {
        canvas.put(column, y, across, style);
        canvas.put(column, bottom, if several { '═' } else { across }, style);
    }
    for row in y + 1..bottom {
        canvas.write(x, row, &" ".repeat(usize::try_from(w).unwrap_or(0)), Style::new());
        canvas.put(x, row, down, style);
        canvas.put(right, row, if several { '║' } else { down }, style);
    }
    for (column, row, c) in
        [(x, y, left_top), (right, y, right_top), (x, bottom, left_end), (right, bottom, right_end)]
    {
        canvas.put(column, row, c, style);
    }
    let (name, note) = (name(node), note(node));
    canvas.write(centred(&name), y + 1, &name, bold);
    canvas.write(centred(&note), y + 2, &note, Style::new().dimmed());
}

/// The numbers and signs of an edge, on its line.
fn label(canvas: &mut Canvas, edge: &Edge, item: &Item) {
    for (y, row) in (item.y..).zip(rows(edge)) {
        let wide = row.iter().map(|card| cells_of(&tag(card)) + 1).sum::<i32>() - 1;
        let mut x = item.x - wide / 2;
        for (place, card) in row.iter().enumerate() {
            if place > 0 {
                x = canvas.write(x, y, " ", Style::new());
            }
            x = canvas.write(x, y, &tag(card), color(card.standing.hue()));
        }
    }
}
