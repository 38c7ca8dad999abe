//! Problems as people like to read them: the line of the text, the place in it, and a way out.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::definition::{Problem, Severity, Span};

/// Columns of a line of the text that are shown at most.
const WIDTH: usize = 100;

/// All problems of the text `text` of the file `name`, one below the other.
pub fn render(problems: &[Problem], name: &str, text: &str, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(WIDTH);
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    for problem in problems {
        let level = match problem.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let span = problem.span.unwrap_or(Span { line: 1, column: 1, length: 1 });
        let line = lines.get(span.line.saturating_sub(1)).copied().unwrap_or_default();
        let (from, to) = bytes(line, span);
        let snippet = Snippet::source(line)
            .line_start(span.line)
            .path(name)
            .annotation(AnnotationKind::Primary.span(from..to));
        let title = level.primary_title(problem.message.as_str()).id(problem.code);
        let mut group: Group<'_> = title.element(snippet);
        if let Some(hint) = &problem.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        out.push_str(&renderer.render(&[group]));
        out.push_str("\n\n");
    }
    out
}

/// The part of a line that a span covers.
fn bytes(line: &str, span: Span) -> (usize, usize) {
    let at = |column: usize| {
        let byte = line.char_indices().map(|(byte, _)| byte).nth(column.saturating_sub(1));
        byte.unwrap_or(line.len())
    };
    (at(span.column), at(span.column + span.length))
}
