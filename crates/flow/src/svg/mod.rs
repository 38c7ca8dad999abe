//! The drawing as SVG: for reports and pages. It has no scripts, loads nothing, escapes every text,
//! and can be read on light and dark pages, and without colour.

mod card;
mod legend;
mod node;
mod style;

use std::fmt::Write;

use crate::layout::{Graph, Item, Join, Layout, Link, Size, Spacing, What, layout};
use crate::model::Flow;
use crate::picture::{Edge, Picture};
use crate::standing::{Hue, Stroke};
use crate::text::{cut, thousandths, width};
use crate::words::page;

/// Around everything.
const MARGIN: i32 = 32;
/// For the title and the line under it.
const HEAD: i32 = 76;
/// The narrowest page.
const WIDTH_MIN: i32 = 420;
/// Handoffs that the description tells of, for those who hear it.
const TOLD_MAX: usize = 50;

/// The air on a page.
pub(crate) const AIR: Spacing = Spacing { between: 26, port: 26, bend: 18 };

/// A flow as an SVG document.
pub fn svg(flow: &Flow) -> String {
    let picture = page(flow);
    of(&picture, &told(flow, &picture))
}

/// A picture as an SVG, and in words for those who do not see it.
pub(crate) fn of(picture: &Picture, words: &str) -> String {
    let mut layout = layout(&measured(picture), AIR);
    layout.stack(gap);
    let legend = legend::Legend::of(picture);
    let notes = i32::try_from(picture.notes.len()).unwrap_or(0) * 18;
    let inner = layout.width.max(WIDTH_MIN).max(legend.narrowest());
    let legend_top = HEAD + layout.height + 34 + notes;
    let (w, h) = (inner + 2 * MARGIN, legend_top + legend.height(inner) + MARGIN);
    let shift = (MARGIN + (inner - layout.width) / 2, HEAD);

    let mut out = Out::default();
    out.add(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
         viewBox=\"0 0 {w} {h}\" role=\"img\" aria-labelledby=\"flow-title flow-desc\">"
    ));
    out.add(format!("<title id=\"flow-title\">{}</title>", escaped(&picture.title)));
    out.add(format!("<desc id=\"flow-desc\">{}</desc>", escaped(words)));
    out.add(style::sheet());
    out.add(style::markers());
    out.add(format!("<rect class=\"page\" width=\"{w}\" height=\"{h}\"/>"));
    head(&mut out, picture, inner);
    out.add(format!("<g transform=\"translate({} {})\">", shift.0, shift.1));
    for (number, edge) in picture.edges.iter().enumerate() {
        out.add(line(&layout, edge, number));
    }
    for item in &layout.items {
        match item.what {
            What::Node(number) => node::draw(&mut out, &picture.nodes[number], item),
            What::Label(number) => card::draw(&mut out, &picture.edges[number].cards, item),
            What::Bend(_) => (),
        }
    }
    out.add("</g>".to_owned());
    for (number, note) in (0..).zip(&picture.notes) {
        let y = HEAD + layout.height + 34 + number * 18;
        out.text((MARGIN, y), "small", note);
    }
    legend.draw(&mut out, (MARGIN, legend_top), inner);
    out.add("</svg>".to_owned());
    out.text
}

/// What is drawn so far.
#[derive(Default)]
struct Out {
    text: String,
}

impl Out {
    fn add(&mut self, element: String) {
        self.text.push_str(&element);
        self.text.push('\n');
    }

    /// A line of words whose baseline begins at `at`.
    fn text(&mut self, at: (i32, i32), class: &str, words: &str) {
        let (x, y) = at;
        let words = escaped(words);
        self.add(format!("<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{words}</text>"));
    }
}

/// A text that is only text, wherever it stands in a document.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// About how many pixels a text takes at a font's size.
fn pixels(text: &str, font: i32) -> i32 {
    let thousandths = i32::try_from(width(text, thousandths)).unwrap_or(i32::MAX / 1_000);
    thousandths.saturating_mul(font) / 1_000
}

/// The thousandths of a font's size that go into so many pixels.
fn room(pixels: i32, font: i32) -> usize {
    usize::try_from(pixels * 1_000 / font).unwrap_or(0)
}

/// A picture with the sizes that it has on a page.
pub(crate) fn measured(picture: &Picture) -> Graph {
    let nodes = picture.nodes.iter().map(node::size).collect();
    let join = |edge: &Edge| Join { from: edge.from, to: edge.to, label: card::size(&edge.cards) };
    Graph { nodes, edges: picture.edges.iter().map(join).collect() }
}

/// Lines that go far to the side need more room to do it gently.
fn gap(layout: &Layout, layer: usize) -> i32 {
    let aside = |link: &Link| (layout.reaches(link) - layout.leaves(link)).abs();
    let most = layout.below(layer).map(aside).max().unwrap_or(0);
    (26 + most / 9).min(64)
}

fn head(out: &mut Out, picture: &Picture, inner: i32) {
    out.text((MARGIN, 38), "title", &cut(&picture.title, room(inner, 20), thousandths));
    out.text((MARGIN, 60), "summary", &cut(&picture.summary, room(inner, 13), thousandths));
}

/// The line of an edge, from its upper end to its lower one, with its arrows.
fn line(layout: &Layout, edge: &Edge, number: usize) -> String {
    let (out, back): (Vec<&Link>, Vec<&Link>) =
        layout.links.iter().filter(|link| link.edge == number).partition(|link| !link.back);
    let hue = edge.standing().map_or(Hue::Grey, |standing| standing.hue());
    let stroke = edge.standing().map_or(Stroke::Plain, |standing| standing.stroke());
    let class = format!("edge {} {}", style::stroke_class(stroke), hue.word());
    let (head, tail) = (format!("url(#to-{})", hue.word()), format!("url(#back-{})", hue.word()));
    if !back.is_empty() {
        // A loop goes down to what it carries and up again.
        let (down, up) = (path(layout, &out), path(layout, &back));
        return format!(
            "<path class=\"{class}\" d=\"{down}\"/>\
             <path class=\"{class}\" d=\"{up}\" marker-start=\"{head}\"/>"
        );
    }
    let (start, end) = match edge.from < edge.to {
        true => (tail, head),
        false => (head, tail),
    };
    let (at_start, at_end) = match (edge.returned(), edge.from < edge.to) {
        (true, _) => (true, true),
        (false, true) => (false, true),
        (false, false) => (true, false),
    };
    let mut markers = String::new();
    if at_start {
        let _ = write!(markers, " marker-start=\"{start}\"");
    }
    if at_end {
        let _ = write!(markers, " marker-end=\"{end}\"");
    }
    format!("<path class=\"{class}\" d=\"{}\"{markers}/>", path(layout, &out))
}

/// Straight through its layers, in gentle curves between them.
fn path(layout: &Layout, links: &[&Link]) -> String {
    let mut path = String::new();
    for link in links {
        let (upper, lower) = (layout.items[link.upper], layout.items[link.lower]);
        let (x1, x2) = (layout.leaves(link), layout.reaches(link));
        let bottom = layout.tops[upper.layer] + layout.height_of(upper.layer);
        let top = layout.tops[lower.layer];
        let begin = end_of(&upper);
        if path.is_empty() {
            let _ = write!(path, "M{x1} {begin}");
        } else {
            let _ = write!(path, "L{x1} {begin}");
        }
        if begin != bottom {
            let _ = write!(path, "L{x1} {bottom}");
        }
        if x1 == x2 {
            let _ = write!(path, "L{x2} {top}");
        } else {
            let middle = (bottom + top) / 2;
            let _ = write!(path, "C{x1} {middle} {x2} {middle} {x2} {top}");
        }
        if lower.y != top {
            let _ = write!(path, "L{x2} {}", lower.y);
        }
    }
    path
}

/// The lower end of a thing.
fn end_of(item: &Item) -> i32 {
    item.y + item.size.h
}

/// The same in words, for those who hear a picture.
fn told(flow: &Flow, picture: &Picture) -> String {
    let mut told = format!("{}. Begun by {}.", picture.summary, flow.started_by);
    for handoff in flow.handoffs.iter().take(TOLD_MAX) {
        let (from, to, kind) = (&handoff.from_agent, &handoff.to_agent, handoff.kind.word());
        let (number, state) = (handoff.number, handoff.standing.word());
        let _ = write!(told, " {number}: {from} to {to}, {kind}, {state}.");
    }
    if flow.handoffs.len() > TOLD_MAX {
        let _ = write!(told, " And {} more.", flow.handoffs.len() - TOLD_MAX);
    }
    if let Some(end) = &flow.ended {
        let _ = write!(told, " {} by {}.", flow.status.word(), end.by);
    }
    told
}

/// A box with its upper left corner, for things that are drawn in one.
fn corner(item: &Item) -> (i32, i32, Size) {
    (item.x - item.size.w / 2, item.y, item.size)
}
