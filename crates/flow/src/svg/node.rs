//! Nodes: agents, people, broadcasts, and where the work begins and ends.

use super::card::{body, body_width, draw_body, sign};
use super::{Out, corner, escaped, pixels, room};
use crate::layout::{Item, Size};
use crate::picture::{Node, NodeKind};
use crate::standing::Standing;
use crate::text::{cut, thousandths};

const NAME_FONT: i32 = 14;
const NOTE_FONT: i32 = 11;
const NAME_MAX: i32 = 240;
const NOTE_MAX: i32 = 260;

pub(super) fn size(node: &Node) -> Size {
    let (name, note) = (pixels(&name(node), NAME_FONT) + 8, pixels(&note(node), NOTE_FONT));
    let noted = if node.note.is_some() { 15 } else { 0 };
    match node.kind {
        NodeKind::Begin | NodeKind::Completed | NodeKind::Cancelled | NodeKind::Failed => {
            Size { w: (name.max(note) + 52).max(96), h: 34 + noted }
        }
        NodeKind::Agent | NodeKind::Several | NodeKind::State => {
            Size { w: (name.max(note) + 36).max(110), h: 40 + noted }
        }
        NodeKind::Person => Size { w: (name + 22).max(note) + 44, h: 40 + noted },
        NodeKind::Broadcast(_) => {
            let lines = i32::try_from(body(&node.words).len()).unwrap_or(0);
            let w = (name + 20).max(note).max(body_width(&node.words)) + 56;
            let words = if lines == 0 { 0 } else { 4 + 16 * lines };
            Size { w, h: 36 + noted + words }
        }
    }
}

fn name(node: &Node) -> String {
    cut(&node.name, room(NAME_MAX, NAME_FONT), thousandths)
}

fn note(node: &Node) -> String {
    let note = node.note.as_deref().unwrap_or_default();
    cut(note, room(NOTE_MAX, NOTE_FONT), thousandths)
}

pub(super) fn draw(out: &mut Out, node: &Node, item: &Item) {
    let said = match &node.note {
        Some(note) => format!("{}: {note}", node.name),
        None => node.name.clone(),
    };
    out.add(format!("<g><title>{}</title>", escaped(&said)));
    match node.kind {
        NodeKind::Begin | NodeKind::Completed | NodeKind::Cancelled | NodeKind::Failed => {
            end(out, node, item);
        }
        NodeKind::State => agent(out, node, item, 3),
        NodeKind::Agent => agent(out, node, item, 10),
        NodeKind::Person => person(out, node, item),
        NodeKind::Several => several(out, node, item),
        NodeKind::Broadcast(standing) => broadcast(out, node, item, standing),
    }
    out.add("</g>".to_owned());
}

fn boxed(out: &mut Out, class: &str, (x, y): (i32, i32), size: Size, radius: i32) {
    let Size { w, h } = size;
    out.add(format!(
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{radius}\"/>"
    ));
}

/// The name, and the note below it. With an icon before the name, the two together are centred.
/// Returns where the icon goes.
fn names(out: &mut Out, node: &Node, item: &Item, icon: i32) -> (i32, i32) {
    let noted = node.note.is_some();
    let y = item.y + item.size.h / 2 + if noted { -3 } else { 5 };
    if noted {
        centred(out, (item.x, y + 17), "small", &note(node));
    }
    let left = item.x - (pixels(&name(node), NAME_FONT) + icon) / 2;
    match icon {
        0 => centred(out, (item.x, y), "name", &name(node)),
        _ => out.text((left + icon, y), "name", &name(node)),
    }
    (left, y - 11)
}

fn centred(out: &mut Out, (x, y): (i32, i32), class: &str, text: &str) {
    out.text((x, y), &format!("{class} middle"), text);
}

/// A full dot where it begins; a ring around the sign where it ends.
fn end(out: &mut Out, node: &Node, item: &Item) {
    let (x, y, size) = corner(item);
    boxed(out, "node", (x, y), size, 17);
    let at = names(out, node, item, 18);
    let ended = match node.kind {
        NodeKind::Completed => Standing::Completed,
        NodeKind::Cancelled => Standing::Cancelled,
        NodeKind::Failed => Standing::Failed,
        NodeKind::Begin
        | NodeKind::Agent
        | NodeKind::State
        | NodeKind::Person
        | NodeKind::Several
        | NodeKind::Broadcast(_) => {
            let (x, y) = (at.0 + 6, at.1 + 6);
            return out.add(format!("<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"5\"/>"));
        }
    };
    let inside = Size { w: size.w - 6, h: size.h - 6 };
    boxed(out, "inner", (x + 3, y + 3), inside, 14);
    sign(out, ended, at);
}

/// An agent, or with sharper corners a state.
fn agent(out: &mut Out, node: &Node, item: &Item, radius: i32) {
    let (x, y, size) = corner(item);
    boxed(out, "node", (x, y), size, radius);
    names(out, node, item, 0);
}

/// A person: rounder, twice framed, and with a head.
fn person(out: &mut Out, node: &Node, item: &Item) {
    let (x, y, size) = corner(item);
    boxed(out, "node person", (x, y), size, size.h / 2);
    let inside = Size { w: size.w - 6, h: size.h - 6 };
    boxed(out, "inner", (x + 3, y + 3), inside, size.h / 2 - 3);
    let (x, y) = names(out, node, item, 21);
    let y = y - 2;
    out.add(format!(
        "<path class=\"icon\" transform=\"translate({x} {y})\" \
         d=\"M7 0A3.6 3.6 0 1 1 7 7.2A3.6 3.6 0 1 1 7 0ZM0 15.5C0 6.5 14 6.5 14 15.5Z\"/>"
    ));
}

/// Several: a box on a box on a box.
fn several(out: &mut Out, node: &Node, item: &Item) {
    let (x, y, size) = corner(item);
    let sheet = Size { w: size.w - 8, h: size.h - 8 };
    for away in [8, 4, 0] {
        boxed(out, "node", (x + away, y + 8 - away), sheet, 10);
    }
    let shifted = Item { y: item.y + 4, x: item.x - 4, ..*item };
    names(out, node, &shifted, 0);
}

/// A broadcast: six-sided, with what it came to.
fn broadcast(out: &mut Out, node: &Node, item: &Item, standing: Standing) {
    let (x, y, Size { w, h }) = corner(item);
    let (hue, slope) = (standing.hue().word(), 14);
    let (right, middle, bottom) = (x + w, y + h / 2, y + h);
    out.add(format!(
        "<path class=\"node {hue}\" d=\"M{x} {middle}L{} {y}L{} {y}L{right} {middle}\
         L{} {bottom}L{} {bottom}Z\"/>",
        x + slope,
        right - slope,
        right - slope,
        x + slope
    ));
    let left = item.x - (pixels(&name(node), NAME_FONT) + 18) / 2;
    out.text((left + 18, y + 23), "name", &name(node));
    sign(out, standing, (left, y + 12));
    let mut top = y + 31;
    if node.note.is_some() {
        centred(out, (item.x, y + 39), "small", &note(node));
        top += 15;
    }
    draw_body(out, &node.words, (item.x - body_width(&node.words) / 2, top));
}
