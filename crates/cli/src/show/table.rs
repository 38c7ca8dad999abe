//! Tables that fit their terminal: one line a row, cut with … where a column is too narrow.

use comfy_table::{Attribute, Cell, ColumnConstraint, ContentArrangement, Row, presets};
use comfy_table::{Color, Table as Grid};

use super::text::Plain;

/// Rows under a header. Only the columns named as loose give way when room is short.
pub(crate) struct Table {
    grid: Grid,
    columns: usize,
    loose: &'static [usize],
}

impl Table {
    pub(crate) fn new(header: &[&str], loose: &'static [usize]) -> Self {
        let mut grid = Grid::new();
        grid.load_style(presets::NOTHING);
        grid.set_content_arrangement(ContentArrangement::Dynamic);
        grid.force_no_tty();
        // Whether colour is shown is decided where the page is written, not here.
        grid.enforce_styling();
        grid.style_text_only();
        // A character that is never shown: a cell is cut where the column ends, not at a word.
        grid.set_delimiter('\u{1f}');
        grid.set_header(header.iter().map(|name| Cell::new(name).add_attribute(Attribute::Bold)));
        Self { grid, columns: header.len(), loose }
    }

    /// Adds a row; words that tell a state are coloured by what they mean.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        let cells = cells.iter().map(|text| {
            let shown = Plain::line(text).to_string();
            match meaning(&shown) {
                Some(color) => Cell::new(shown).fg(color),
                None => Cell::new(shown),
            }
        });
        let mut row = Row::from(cells.collect::<Vec<_>>());
        row.max_height(1);
        self.grid.add_row(row);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.grid.is_empty()
    }

    /// The table as text, at most `width` columns wide where its loose columns allow it.
    pub(crate) fn text(mut self, width: u16) -> String {
        self.grid.set_width(width);
        for index in 0..self.columns {
            let last = index + 1 == self.columns;
            if let Some(column) = self.grid.column_mut(index) {
                column.set_padding((0, if last { 0 } else { 2 }));
                if !self.loose.contains(&index) {
                    column.set_constraint(ColumnConstraint::ContentWidth);
                }
            }
        }
        let mut text = self.grid.trim_fmt();
        text.push('\n');
        text
    }
}

/// The colour of a word that tells how something stands.
fn meaning(word: &str) -> Option<Color> {
    Some(match word {
        "completed" | "success" | "final" => Color::Green,
        "failed" | "rejected" | "timeout" | "timed_out" | "cancelled" | "unavailable" => Color::Red,
        "initiated" | "deferred" | "queued" | "awaiting_approval" | "reminded" => Color::Yellow,
        "accepted" | "open" | "started" => Color::Cyan,
        "critical" | "high" => Color::Magenta,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_table_cuts_only_what_may_be_cut() {
        let mut table = Table::new(&["ID", "TITLE", "STATE"], &[1]);
        let row = |id: &str, title: &str| [id.to_owned(), title.to_owned(), "open".to_owned()];
        table.row(row("3f2a91c0", "short"));
        table.row(row("9b1c77e2", "a title that goes on and on beyond every terminal"));
        table.row(row("77e29b1c", "日本語のタイトルがとても長いので切られる"));
        let text = anstream::adapter::strip_str(&table.text(40)).to_string();
        expect![[r#"
            ID        TITLE                    STATE
            3f2a91c0  short                    open
            9b1c77e2  a title that goes on a…  open
            77e29b1c  日本語のタイトルがとて…  open
        "#]]
        .assert_eq(&text);
    }
}
