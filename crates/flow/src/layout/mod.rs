//! One layered layout for all drawings (after Sugiyama): rank, order, place.
//!
//! Nodes stand on even layers by when they came to the work, what edges carry stands on the odd
//! layers between them. So a label is placed like a node and can never lie on anything else. An
//! edge that goes back is laid out downwards like any other and only drawn the other way round.
//! Units are whole: pixels for one drawing, columns and rows for another.

mod order;
mod place;
mod rank;

/// How large something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) w: i32,
    pub(crate) h: i32,
}

/// What is to be placed: nodes in the order in which they came, and edges between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<Size>,
    pub(crate) edges: Vec<Join>,
}

/// An edge and the size of what it carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) label: Size,
}

/// How much air there is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spacing {
    /// Between two things of one layer.
    pub(crate) between: i32,
    /// Between two lines that leave the same side of a node.
    pub(crate) port: i32,
    /// The width of a line that only passes by.
    pub(crate) bend: i32,
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A node.
    Node(usize),
    /// What an edge carries.
    Label(usize),
    /// An edge that passes by.
    Bend(usize),
}

/// Something in its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) what: What,
    /// The middle.
    pub(crate) x: i32,
    /// The upper end.
    pub(crate) y: i32,
    pub(crate) size: Size,
    /// The layer, from 0 at the top.
    pub(crate) layer: usize,
}

/// A piece of an edge, from a thing of one layer to a thing of the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    pub(crate) edge: usize,
    pub(crate) upper: usize,
    pub(crate) lower: usize,
    /// Where it leaves the upper thing, from its middle.
    pub(crate) leaves: i32,
    /// Where it reaches the lower thing, from its middle.
    pub(crate) reaches: i32,
    /// Whether it is the way back of a loop.
    pub(crate) back: bool,
}

/// Everything in its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) items: Vec<Item>,
    /// The things of each layer, from left to right.
    pub(crate) layers: Vec<Vec<usize>>,
    pub(crate) links: Vec<Link>,
    pub(crate) width: i32,
    pub(crate) height: i32,
    /// Where each layer begins.
    pub(crate) tops: Vec<i32>,
}

/// Places a graph from left to right. Call [`Layout::stack`] to place it from top to bottom.
pub(crate) fn layout(graph: &Graph, spacing: Spacing) -> Layout {
    let mut layout = rank::layered(graph, spacing);
    order::ordered(&mut layout);
    place::ported(&mut layout, spacing);
    place::placed(&mut layout, spacing);
    layout
}

impl Layout {
    /// Places the layers below each other, with `gap` of a layer's number under each.
    pub(crate) fn stack(&mut self, gap: impl Fn(&Self, usize) -> i32) {
        let mut y = 0;
        let mut tops = Vec::new();
        for layer in 0..self.layers.len() {
            tops.push(y);
            let height = self.height_of(layer);
            for item in &self.layers[layer] {
                let item = &mut self.items[*item];
                if let What::Bend(_) = item.what {
                    item.size.h = height;
                }
                item.y = y + (height - item.size.h) / 2;
            }
            y += height;
            if layer + 1 < self.layers.len() {
                y += gap(self, layer);
            }
        }
        (self.tops, self.height) = (tops, y);
    }

    /// How high a layer is.
    pub(crate) fn height_of(&self, layer: usize) -> i32 {
        self.layers[layer].iter().map(|item| self.items[*item].size.h).max().unwrap_or(0)
    }

    /// The links between a layer and the next.
    pub(crate) fn below(&self, layer: usize) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(move |link| self.items[link.upper].layer == layer)
    }

    /// Where a link leaves its upper thing.
    pub(crate) fn leaves(&self, link: &Link) -> i32 {
        self.items[link.upper].x + link.leaves
    }

    /// Where a link reaches its lower thing.
    pub(crate) fn reaches(&self, link: &Link) -> i32 {
        self.items[link.lower].x + link.reaches
    }
}

#[cfg(test)]
mod tests;
