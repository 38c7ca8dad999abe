//! A sheet of characters on which lines join where they meet.

use anstyle::{AnsiColor, Style};

use crate::standing::{Hue, Stroke};
use crate::text::cells;

pub(super) const UP: u8 = 1;
pub(super) const DOWN: u8 = 2;
pub(super) const LEFT: u8 = 4;
pub(super) const RIGHT: u8 = 8;

/// How something looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pen {
    pub(super) stroke: Stroke,
    pub(super) style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    Empty,
    /// A piece of a line, by the sides that it leads to.
    Line(u8, Pen),
    Char(char, Style),
    /// The second half of a wide character.
    Taken,
}

/// A sheet of a fixed size. What lies outside of it is not drawn.
pub(super) struct Canvas {
    width: usize,
    cells: Vec<Cell>,
}

impl Canvas {
    pub(super) fn new(width: i32, height: i32) -> Self {
        let (width, height) = (usize::try_from(width), usize::try_from(height));
        let (width, height) = (width.unwrap_or(0), height.unwrap_or(0));
        Self { width, cells: vec![Cell::Empty; width * height] }
    }

    fn at(&mut self, x: i32, y: i32) -> Option<&mut Cell> {
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        let inside = x < self.width;
        self.cells.get_mut(y * self.width + x).filter(|_| inside)
    }

    /// Leads a line to these sides of a place; lines that meet there are joined.
    pub(super) fn join(&mut self, x: i32, y: i32, sides: u8, pen: Pen) {
        let Some(cell) = self.at(x, y) else { return };
        *cell = match *cell {
            Cell::Line(before, other) if other == pen => Cell::Line(before | sides, pen),
            // Where two lines of different kinds cross, the place belongs to neither.
            Cell::Line(before, _) => {
                Cell::Line(before | sides, Pen { stroke: Stroke::Plain, style: Style::new() })
            }
            Cell::Empty | Cell::Char(..) | Cell::Taken => Cell::Line(sides, pen),
        };
    }

    /// A line down from `top` to `bottom`, both included.
    pub(super) fn down(&mut self, x: i32, top: i32, bottom: i32, pen: Pen) {
        for y in top..=bottom {
            let up = if y > top { UP } else { 0 };
            let down = if y < bottom { DOWN } else { 0 };
            self.join(x, y, up | down, pen);
        }
    }

    /// A line across, both ends included.
    pub(super) fn across(&mut self, y: i32, from: i32, to: i32, pen: Pen) {
        let (left, right) = (from.min(to), from.max(to));
        for x in left..=right {
            let before = if x > left { LEFT } else { 0 };
            let after = if x < right { RIGHT } else { 0 };
            self.join(x, y, before | after, pen);
        }
    }

    /// Puts a character over whatever is there.
    pub(super) fn put(&mut self, x: i32, y: i32, c: char, style: Style) {
        if let Some(cell) = self.at(x, y) {
            *cell = Cell::Char(c, style);
        }
    }

    /// Writes a text from left to right, and returns where it ends.
    pub(super) fn write(&mut self, mut x: i32, y: i32, text: &str, style: Style) -> i32 {
        for c in text.chars() {
            let wide = cells(c);
            if wide == 0 {
                continue;
            }
            self.put(x, y, c, style);
            if wide > 1
                && let Some(cell) = self.at(x + 1, y)
            {
                *cell = Cell::Taken;
            }
            x += i32::try_from(wide).unwrap_or(1);
        }
        x
    }

    /// The sheet as text, without what is empty at the end of a line.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for row in self.cells.chunks(self.width.max(1)) {
            let end = row.iter().rposition(|cell| *cell != Cell::Empty).map_or(0, |at| at + 1);
            let mut style = Style::new();
            for cell in &row[..end] {
                let (c, next) = match cell {
                    Cell::Empty => (' ', Style::new()),
                    Cell::Line(sides, pen) => (piece(*sides, pen.stroke), pen.style),
                    Cell::Char(c, style) => (*c, *style),
                    Cell::Taken => continue,
                };
                if next != style {
                    text.push_str(&format!("{style:#}{next}"));
                    style = next;
                }
                text.push(c);
            }
            text.push_str(&format!("{style:#}\n"));
        }
        text
    }
}

/// The character of a piece of a line.
fn piece(sides: u8, stroke: Stroke) -> char {
    let (across, down) = (sides & (LEFT | RIGHT), sides & (UP | DOWN));
    let light = match (across, down) {
        (0, _) => '│',
        (_, 0) => '─',
        (RIGHT, DOWN) => '╭',
        (LEFT, DOWN) => '╮',
        (RIGHT, UP) => '╰',
        (LEFT, UP) => '╯',
        (RIGHT, _) => '├',
        (LEFT, _) => '┤',
        (_, DOWN) => '┬',
        (_, UP) => '┴',
        (_, _) => '┼',
    };
    match (stroke, light) {
        (Stroke::Dotted, '│') => '┊',
        (Stroke::Dotted, '─') => '┈',
        (Stroke::Dashed, '│') => '╎',
        (Stroke::Dashed, '─') => '╌',
        (Stroke::Heavy, light) => heavy(light),
        (Stroke::Plain | Stroke::Dotted | Stroke::Dashed, light) => light,
    }
}

fn heavy(light: char) -> char {
    match light {
        '│' => '┃',
        '─' => '━',
        '╭' => '┏',
        '╮' => '┓',
        '╰' => '┗',
        '╯' => '┛',
        '├' => '┣',
        '┤' => '┫',
        '┬' => '┳',
        '┴' => '┻',
        other => other,
    }
}

/// The colour of a family of colours, the same that tables use.
pub(super) fn color(hue: Hue) -> Style {
    let color = match hue {
        Hue::Green => AnsiColor::Green,
        Hue::Blue => AnsiColor::Cyan,
        Hue::Violet => AnsiColor::Magenta,
        Hue::Amber => AnsiColor::Yellow,
        Hue::Red => AnsiColor::Red,
        Hue::Grey => return Style::new().dimmed(),
    };
    Style::new().fg_color(Some(color.into()))
}
