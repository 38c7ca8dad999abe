//! What a verb prints: data on standard output, talk on standard error, JSON when asked for.

pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod time;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use baton_protocol::time::Timestamp;
use serde::Serialize;

use self::table::Table;
use self::text::{Plain, indented};
use crate::client::Reply;
use crate::failure::Failure;

/// How wide a table is when nobody says: what every terminal has.
const WIDTH: u16 = 80;
/// Narrower than this, nothing can be told apart.
const WIDTH_MIN: u16 = 60;
/// Wider than this, the eye loses the line.
const WIDTH_MAX: u16 = 140;
/// The width of the names in a list of fields.
const FIELD_WIDTH: usize = 12;

/// How this verb prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) color: ColorChoice,
    /// When the verb began: what was typed as a span counts from here.
    pub(crate) begun: Timestamp,
}

impl Output {
    /// Prints the coordinator's answer: as it is for programs, as `page` has it for people.
    pub(crate) fn answer(
        &self,
        reply: &Reply,
        page: impl FnOnce(&mut Page) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.json {
            return self.raw(&reply.json);
        }
        self.page(page)
    }

    /// Says that a change was made: its JSON, its id alone, or a sentence.
    pub(crate) fn done(
        &self,
        reply: &Reply,
        id: impl Display,
        sentence: impl Display,
    ) -> Result<(), Failure> {
        self.answer(reply, |page| {
            if self.quiet {
                page.line(id)
            } else {
                page.line(sentence)
            }
            Ok(())
        })
    }

    /// Prints JSON: spread over lines for a terminal, on one line for a program.
    pub(crate) fn raw(&self, json: &str) -> Result<(), Failure> {
        let text = if io::stdout().is_terminal() { indented(json) } else { json.to_owned() };
        self.write(&format!("{}\n", text.trim_end()))
    }

    /// Prints JSON of our own making.
    pub(crate) fn value(&self, value: &impl Serialize) -> Result<(), Failure> {
        let json = serde_json::to_string(value).map_err(|error| {
            Failure::failed(format!("cannot write JSON: {error}"), "try it without --json")
        })?;
        self.raw(&json)
    }

    /// Prints a page for people.
    pub(crate) fn page(
        &self,
        fill: impl FnOnce(&mut Page) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut page = Page { text: String::new(), now: time::now(), width: width() };
        fill(&mut page)?;
        self.write(&page.text)
    }

    /// Prints what others wrote: byte for byte to a program, and to a terminal without anything
    /// that it would obey.
    pub(crate) fn foreign(&self, text: &str) -> Result<(), Failure> {
        if io::stdout().is_terminal() {
            return self.write(&Plain::lines(text).to_string());
        }
        Self { color: ColorChoice::Always, ..*self }.write(text)
    }

    /// Writes all at once. A reader that has gone away, such as `head`, has read enough.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        self.stream(text).map(|_| ())
    }

    /// Writes one part of many, and says whether anybody still reads.
    pub(crate) fn stream(&self, text: &str) -> Result<bool, Failure> {
        self.put(AutoStream::new(io::stdout(), self.color), text.as_bytes())
    }

    /// Writes bytes as they are: a path need not be UTF-8.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.put(io::stdout().lock(), bytes).map(|_| ())
    }

    fn put(&self, mut out: impl Write, bytes: &[u8]) -> Result<bool, Failure> {
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let sentence = format!("cannot write the answer: {error}");
                Err(Failure::failed(sentence, "check where the output goes"))
            }
            Ok(()) => Ok(true),
            Err(_) => Ok(false),
        }
    }

    /// Suggests what to run next, unless nobody wants to hear it.
    pub(crate) fn next(&self, commands: &[String]) {
        let word = [" next: ", "       "].into_iter().chain(std::iter::repeat("       "));
        for (word, command) in word.zip(commands) {
            self.talk(word, AnsiColor::Cyan, command);
        }
    }

    /// Says what was left out on purpose.
    pub(crate) fn note(&self, sentence: &str) {
        self.talk("note: ", AnsiColor::Cyan, sentence);
    }

    /// Says what should not be overlooked, although it is no error.
    pub(crate) fn warn(&self, sentence: &str) {
        self.talk("warning: ", AnsiColor::Yellow, sentence);
    }

    fn talk(&self, word: &str, color: AnsiColor, sentence: &str) {
        if self.quiet || self.json {
            return;
        }
        let style = Style::new().bold().fg_color(Some(color.into()));
        let mut err = AutoStream::new(io::stderr(), self.color);
        // Talk is not worth failing for.
        let _ = writeln!(err, "{style}{word}{style:#}{}", Plain::line(sentence));
    }
}

/// How wide what people read may be.
pub(crate) fn width() -> u16 {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    readable(said.or_else(|| comfy_table::Table::new().width()))
}

/// A width that can be read, whatever the terminal says; some say 0 when they do not know.
fn readable(said: Option<u16>) -> u16 {
    said.filter(|columns| *columns > 0).unwrap_or(WIDTH).clamp(WIDTH_MIN, WIDTH_MAX)
}

/// What people read, put together before anything is written.
pub(crate) struct Page {
    text: String,
    /// When it is written, which is after the coordinator answered.
    pub(crate) now: Timestamp,
    width: u16,
}

impl Page {
    /// One line.
    pub(crate) fn line(&mut self, line: impl Display) {
        self.text.push_str(&Plain::line(&line.to_string()).to_string());
        self.text.push('\n');
    }

    /// A line that stands out, with room above it.
    pub(crate) fn heading(&mut self, words: impl Display) {
        let bold = Style::new().bold();
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let words = words.to_string();
        self.text.push_str(&format!("{bold}{}{bold:#}\n", Plain::line(&words)));
    }

    /// A name and what it is; more lines of it stand under the first.
    pub(crate) fn field(&mut self, name: &str, value: impl Display) {
        let value = value.to_string();
        let mut lines = value.lines();
        let first = lines.next().unwrap_or_default();
        let dim = Style::new().dimmed();
        let shown = Plain::line(first);
        self.text.push_str(&format!("  {dim}{name:FIELD_WIDTH$}{dim:#}{shown}\n"));
        for line in lines {
            self.text.push_str(&format!("  {:FIELD_WIDTH$}{}\n", "", Plain::line(line)));
        }
    }

    /// A name and what it is, if it is anything.
    pub(crate) fn field_if(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.field(name, value);
        }
    }

    /// A table.
    pub(crate) fn table(&mut self, table: Table) {
        self.text.push_str(&table.text(self.width));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_can_always_be_read() {
        let widths = [None, Some(0), Some(1), Some(59), Some(60), Some(100), Some(9_999)];
        assert_eq!(widths.map(readable), [80, 80, 60, 60, 60, 100, 140]);
    }
}
