//! All there is to know of one row, from what was read anyway.

use baton_engine::view::{HandoffLine, WorkflowLine};
use baton_protocol::time::Timestamp;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::draw::fitted;
use super::frame::{AgentRow, waits};
use super::keys::{Pane, Shown};
use crate::show::text::Plain;
use crate::show::time::both;
use crate::verbs::word_of;

/// The width of the names of fields.
const NAME_WIDTH: usize = 12;
/// Rows of other lists that belong to this one and are shown with it.
const BELOW_MAX: usize = 8;
/// Lines of one value.
const VALUE_LINES_MAX: usize = 4;

/// What lies over the lists.
pub(super) struct Sheet {
    pub(super) title: String,
    fields: Vec<Field>,
}

impl Sheet {
    /// The lines of it, none wider than `width`. A value goes on below itself.
    pub(super) fn lines(&self, width: usize) -> Vec<Line<'static>> {
        let dim = Style::new().add_modifier(Modifier::DIM);
        let mut lines = Vec::new();
        for Field { name, value } in &self.fields {
            let mut name = *name;
            for part in wrapped(value, width.saturating_sub(NAME_WIDTH)) {
                let before = format!("{:NAME_WIDTH$}", std::mem::take(&mut name));
                lines.push(Line::from(vec![Span::styled(before, dim), Span::raw(part)]));
            }
        }
        lines
    }
}

struct Field {
    name: &'static str,
    value: String,
}

/// What is known of the selected row.
pub(super) fn of_selected(shown: &Shown) -> Sheet {
    let frame = &shown.frame;
    let at = shown.selected().unwrap_or(0);
    let found = match shown.focus {
        Pane::Agents => frame.agents.get(at).map(|row| agent(shown, row)),
        Pane::Handoffs => frame.handoffs.get(at).map(|line| handoff(line, frame.now)),
        Pane::Workflows => frame.workflows.get(at).map(|line| workflow(shown, line)),
    };
    found.unwrap_or_else(|| Sheet {
        title: "Nothing".to_owned(),
        fields: vec![field("", "this list is empty")],
    })
}

/// What the keys do.
pub(super) fn keys() -> Sheet {
    let known = [
        ("q, Ctrl-C", "quit; q and Esc close a sheet first"),
        ("Tab, ← →", "go to the next or the last list"),
        ("↑ ↓, j k", "go along the list"),
        ("PgUp PgDn", "go along it in larger steps"),
        ("g G", "go to its beginning or end"),
        ("Enter", "show all there is to know of the row"),
        ("?", "show or hide this"),
    ];
    let fields = known.map(|(key, what)| field(key, what)).into();
    Sheet { title: "Keys".to_owned(), fields }
}

fn field(name: &'static str, value: &str) -> Field {
    Field { name, value: Plain::line(value).to_string() }
}

/// The text in lines of at most `width`, broken between words where it can be. What is too long to
/// be read here is cut, and that shows.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let wide = |text: &str| Span::raw(text).width();
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let last = lines.last().map_or(0, |line| wide(line));
        if last > 0 && last + wide(word.trim_end()) > width {
            lines.push(String::new());
        }
        for c in word.chars() {
            let full = |line: &String| wide(line) + wide(c.encode_utf8(&mut [0; 4])) > width;
            // The space that a line ends with may stand behind it: nobody sees it.
            if c != ' ' && lines.last().is_some_and(|line| !line.is_empty() && full(line)) {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                line.push(c);
            }
        }
    }
    if lines.len() > VALUE_LINES_MAX {
        let rest = lines.split_off(VALUE_LINES_MAX - 1).concat();
        lines.push(fitted(Span::raw(rest), width).content.into_owned());
    }
    lines
}

fn agent(shown: &Shown, row: &AgentRow) -> Sheet {
    let (view, now) = (&row.view, shown.frame.now);
    let profile = &view.profile;
    let mut fields = vec![
        field("status", &view.status),
        field("role", &word_of(&profile.role)),
        field("load", &format!("{} of {}", view.load, profile.max_concurrent_tasks)),
        field("queue", &row.queue.to_string()),
        field("failures", &format!("{} checks in a row", view.health.failures)),
        field("registered", &both(view.registered_at, now)),
    ];
    if let Some(since) = view.health.unavailable_since {
        fields.push(field("silent", &both(since, now)));
    }
    let known: Vec<_> = profile.capabilities.iter().map(|one| one.id.to_string()).collect();
    if !known.is_empty() {
        fields.push(field("can", &known.join(", ")));
    }
    fields.extend(row.holds.iter().take(BELOW_MAX).map(|title| field("holds", title)));
    let queue = shown.frame.handoffs.iter().filter(|one| one.to_agent == profile.id && waits(one));
    fields.extend(queue.take(BELOW_MAX).map(|one| field("waits", &below(one))));
    Sheet { title: format!("Agent {}", profile.id), fields }
}

fn below(line: &HandoffLine) -> String {
    format!(
        "{} {} {} → {}: {}",
        line.id.short(),
        line.state,
        line.from_agent,
        line.to_agent,
        line.reason
    )
}

fn handoff(line: &HandoffLine, now: Timestamp) -> Sheet {
    let mut fields = vec![
        field("workflow", &format!("{} {}", line.workflow.short(), line.title)),
        field("from", line.from_agent.as_str()),
        field("to", line.to_agent.as_str()),
        field("type", &line.kind),
        field("priority", &line.priority.to_string()),
        field("state", &line.state),
        field("reason", &line.reason),
        field("began", &both(line.initiated_at, now)),
    ];
    if let Some(at) = line.wake_at {
        fields.push(field("due", &both(at, now)));
    }
    if line.resends > 0 || line.reroutes > 0 {
        let tries = format!("sent again {} times, rerouted {}", line.resends, line.reroutes);
        fields.push(field("tries", &tries));
    }
    fields.push(field("more", &format!("baton show {}", line.id.short())));
    Sheet { title: format!("Handoff {}", line.id), fields }
}

fn workflow(shown: &Shown, line: &WorkflowLine) -> Sheet {
    let now = shown.frame.now;
    let owner = line.owner.as_ref().map_or("nobody", |owner| owner.as_str());
    let mut fields = vec![
        field("title", &line.title),
        field("status", &line.status),
        field("owner", owner),
        field("began", &both(line.started_at, now)),
        field("open", &format!("{} handoffs", line.open_handoffs)),
    ];
    let own = shown.frame.handoffs.iter().filter(|one| one.workflow == line.id);
    fields.extend(own.take(BELOW_MAX).map(|one| field("handoff", &below(one))));
    fields.push(field("more", &format!("baton show {}", line.id.short())));
    Sheet { title: format!("Workflow {}", line.id), fields }
}
