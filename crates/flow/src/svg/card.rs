//! Cards: what an edge carries, one card a handoff.

use super::{Out, corner, escaped, pixels, room, style};
use crate::layout::{Item, Size};
use crate::picture::{Card, Words};
use crate::standing::Standing;
use crate::text::{thousandths, wrapped};

const PADDING: i32 = 10;
const FONT: i32 = 12;
const HEADER: i32 = 18;
const LINE: i32 = 16;
/// Between two cards on one line.
const STACKED: i32 = 7;
/// The widest text in a card.
const TEXT_MAX: i32 = 214;
/// What stands before a line that is not a reason.
const ICON: i32 = 17;
/// Lines of one kind of words.
const LINES_MAX: usize = 2;

/// How large the cards of one edge are together.
pub(super) fn size(cards: &[Card]) -> Size {
    if cards.is_empty() {
        return Size::default();
    }
    let w = cards.iter().map(width).max().unwrap_or(0);
    let h: i32 = cards.iter().map(height).sum();
    let gaps = STACKED * (i32::try_from(cards.len()).unwrap_or(1) - 1);
    Size { w, h: h + gaps }
}

/// Draws the cards of one edge below each other.
pub(super) fn draw(out: &mut Out, cards: &[Card], item: &Item) {
    let (x, mut y, size) = corner(item);
    for card in cards {
        one(out, card, (x, y), size.w);
        y += height(card) + STACKED;
    }
}

/// The lines under the header, each with the words that it is of.
fn lines(card: &Card) -> Vec<(&Words, bool, String)> {
    body(&card.words)
}

/// Words as lines that fit; the flag says which is the first of its words.
pub(super) fn body(words: &[Words]) -> Vec<(&Words, bool, String)> {
    let mut lines = Vec::new();
    for words in words {
        let (text, icon) = match words {
            Words::Reason(text) => (text, 0),
            Words::Artifacts(text)
            | Words::Answer(text)
            | Words::Tries(text)
            | Words::Return(text) => (text, ICON),
        };
        let fitting = wrapped(text, room(TEXT_MAX - icon, FONT), LINES_MAX, thousandths);
        lines.extend(fitting.into_iter().enumerate().map(|(at, line)| (words, at == 0, line)));
    }
    lines
}

/// How wide such lines are.
pub(super) fn body_width(words: &[Words]) -> i32 {
    let wide = |(words, _, line): &(&Words, bool, String)| {
        pixels(line, FONT) + if matches!(words, Words::Reason(_)) { 0 } else { ICON }
    };
    body(words).iter().map(wide).max().unwrap_or(0)
}

/// Draws such lines, and returns where they end.
pub(super) fn draw_body(out: &mut Out, words: &[Words], (x, mut y): (i32, i32)) -> i32 {
    for (words, first, line) in body(words) {
        let at = if matches!(words, Words::Reason(_)) { x } else { x + ICON };
        if first {
            icon(out, words, (x, y));
        }
        out.text((at, y + FONT), "words", &line);
        y += LINE;
    }
    y
}

fn width(card: &Card) -> i32 {
    let header = badge(card) + 8 + pixels(&card.kind, FONT) + 16 + 14 + pixels(&card.state, FONT);
    // Words are bold in the header, and so a little wider.
    (header + header / 24).max(body_width(&card.words)) + 2 * PADDING
}

fn height(card: &Card) -> i32 {
    let lines = i32::try_from(lines(card).len()).unwrap_or(0);
    let body = if lines == 0 { 0 } else { 3 + LINE * lines };
    HEADER + body + 2 * PADDING - 6
}

fn badge(card: &Card) -> i32 {
    pixels(&card.number, 11).max(8) + 12
}

fn one(out: &mut Out, card: &Card, (x, y): (i32, i32), w: i32) {
    let hue = card.standing.hue().word();
    let (h, stroke) = (height(card), style::stroke_class(card.standing.stroke()));
    let all: Vec<String> = card.words.iter().map(Words::text).collect();
    let (number, kind, state) = (&card.number, &card.kind, &card.state);
    let full = escaped(&format!("{number} {kind}, {state}\n{}", all.join("\n")));
    // A card's border is as its line, but never so heavy that it drowns the words.
    let border = if stroke == "heavy" { "" } else { stroke };
    out.add(format!("<g><title>{full}</title>"));
    out.add(format!(
        "<rect class=\"card {border} {hue}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" \
         rx=\"8\"/>"
    ));
    let (inner, top) = (x + PADDING, y + PADDING - 3);
    let b = badge(card);
    out.add(format!(
        "<rect class=\"f-{hue}\" x=\"{inner}\" y=\"{top}\" width=\"{b}\" height=\"18\" rx=\"9\"/>"
    ));
    let middle = inner + b / 2;
    out.add(format!(
        "<text x=\"{middle}\" y=\"{}\" class=\"small strong middle white\">{}</text>",
        top + 13,
        escaped(number)
    ));
    out.text((inner + b + 8, top + 13), "strong", kind);
    let state_x = x + w - PADDING - pixels(state, FONT) - pixels(state, FONT) / 24;
    sign(out, card.standing, (state_x - 16, top + 3));
    out.text((state_x, top + 13), &format!("strong f-{hue}"), state);
    draw_body(out, &card.words, (inner, top + HEADER + 3));
    out.add("</g>".to_owned());
}

/// The sign of a standing, drawn, because no font is sure to have it. It is 12 by 12.
pub(super) fn sign(out: &mut Out, standing: Standing, (x, y): (i32, i32)) {
    let hue = standing.hue().word();
    let path = match standing {
        Standing::Completed => "M1.5 6.5L4.8 9.8L10.5 2.5",
        Standing::Held => "M6 1.5A4.5 4.5 0 1 0 6 10.5A4.5 4.5 0 1 0 6 1.5M6 5.9L6 6.1",
        Standing::Suspended => "M4 2L4 10M8 2L8 10",
        Standing::Waiting => "M6 1.5A4.5 4.5 0 1 0 6 10.5A4.5 4.5 0 1 0 6 1.5M6 4L6 6.2L7.8 7.4",
        Standing::Approval => "M3.5 4A2.5 2.5 0 1 1 6 6.5L6 7.8M6 10.6L6 10.7",
        Standing::Rejected => "M2.5 2.5L9.5 9.5M9.5 2.5L2.5 9.5",
        Standing::Failed => "M6 1.5L6 7M6 10.3L6 10.4",
        Standing::PassedOn => "M6 10.5L6 2M2.5 5.5L6 2L9.5 5.5",
        Standing::Cancelled => "M6 1.5A4.5 4.5 0 1 0 6 10.5A4.5 4.5 0 1 0 6 1.5M3 9L9 3",
    };
    out.add(format!("<path class=\"sign {hue}\" transform=\"translate({x} {y})\" d=\"{path}\"/>"));
}

/// What stands before a line: a sheet, what was said, an arrow that goes round, or one that comes
/// back.
fn icon(out: &mut Out, words: &Words, (x, y): (i32, i32)) {
    let path = match words {
        Words::Reason(_) => return,
        Words::Artifacts(_) => "M1 .5H6.5L9.5 3.5V11.5H1ZM6.5 .5V3.5H9.5",
        Words::Answer(_) => "M1 1.5H10.5V8.5H5.5L3 11V8.5H1Z",
        Words::Tries(_) => "M9.5 3.5A4.6 4.6 0 1 0 10.2 7M9.8 .8V3.8H6.8",
        Words::Return(_) => "M4 1.5L1 4.5L4 7.5M1 4.5H7.5A2.7 2.7 0 0 1 7.5 10H4.5",
    };
    let y = y + 2;
    out.add(format!("<path class=\"mark\" transform=\"translate({x} {y})\" d=\"{path}\"/>"));
}
