//! All there is to know of one row, from what was read anyway.

use baton_engine::view::{HandoffLine, WorkflowLine};
use baton_protocol::time::Timestamp;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::frame::{AgentRow, waits};
use super::keys::{Pane, Shown};
use crate::show::text::Plain;
use crate::show::time::both;
use crate::verbs::word_of;

/// The width of the names of fields.
const NAME_WIDTH: usize = 12;
/// Rows of other lists that belong to this one and are shown with it.
const BELOW_MAX: usize = 8;

/// A title and lines.
pub(super) type Sheet = (String, Vec<Line<'static>>);

/// What is known of the selected row.
pub(super) fn of_selected(shown: &Shown) -> Sheet {
    let frame = &shown.frame;
    let at = shown.selected().unwrap_or(0);
    let found = match shown.focus {
        Pane::Agents => frame.agents.get(at).map(|row| agent(shown, row)),
        Pane::Handoffs => frame.handoffs.get(at).map(|line| handoff(line, frame.now)),
        Pane::Workflows => frame.workflows.get(at).map(|line| workflow(shown, line)),
    };
    found.unwrap_or_else(|| ("Nothing".to_owned(), vec![Line::raw("This list is empty.")]))
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
    ("Keys".to_owned(), known.map(|(key, what)| field(key, what)).to_vec())
}

fn field(name: &str, value: &str) -> Line<'static> {
    let dim = Style::new().add_modifier(Modifier::DIM);
    Line::from(vec![
        Span::styled(format!("{name:NAME_WIDTH$}"), dim),
        Span::raw(Plain::line(value).to_string()),
    ])
}

fn agent(shown: &Shown, row: &AgentRow) -> Sheet {
    let (view, now) = (&row.view, shown.frame.now);
    let profile = &view.profile;
    let mut lines = vec![
        field("status", &view.status),
        field("role", &word_of(&profile.role)),
        field("load", &format!("{} of {}", view.load, profile.max_concurrent_tasks)),
        field("queue", &row.queue.to_string()),
        field("failures", &format!("{} checks in a row", view.health.failures)),
        field("registered", &both(view.registered_at, now)),
    ];
    if let Some(since) = view.health.unavailable_since {
        lines.push(field("silent", &both(since, now)));
    }
    let known: Vec<_> = profile.capabilities.iter().map(|one| one.id.to_string()).collect();
    if !known.is_empty() {
        lines.push(field("can", &known.join(", ")));
    }
    lines.extend(row.holds.iter().take(BELOW_MAX).map(|title| field("holds", title)));
    let queue = shown.frame.handoffs.iter().filter(|one| one.to_agent == profile.id && waits(one));
    lines.extend(queue.take(BELOW_MAX).map(|one| field("waits", &below(one))));
    (format!("Agent {}", profile.id), lines)
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
    let mut lines = vec![
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
        lines.push(field("due", &both(at, now)));
    }
    if line.resends > 0 || line.reroutes > 0 {
        let tries = format!("sent again {} times, rerouted {}", line.resends, line.reroutes);
        lines.push(field("tries", &tries));
    }
    lines.push(field("more", &format!("baton show {}", line.id.short())));
    (format!("Handoff {}", line.id), lines)
}

fn workflow(shown: &Shown, line: &WorkflowLine) -> Sheet {
    let now = shown.frame.now;
    let owner = line.owner.as_ref().map_or("nobody", |owner| owner.as_str());
    let mut lines = vec![
        field("title", &line.title),
        field("status", &line.status),
        field("owner", owner),
        field("began", &both(line.started_at, now)),
        field("open", &format!("{} handoffs", line.open_handoffs)),
    ];
    let own = shown.frame.handoffs.iter().filter(|one| one.workflow == line.id);
    lines.extend(own.take(BELOW_MAX).map(|one| field("handoff", &below(one))));
    lines.push(field("more", &format!("baton show {}", line.id.short())));
    (format!("Workflow {}", line.id), lines)
}
