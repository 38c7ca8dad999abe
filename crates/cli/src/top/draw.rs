//! Drawing: the same for a terminal and for paper.

use baton_engine::view::{HandoffLine, WorkflowLine};
use baton_protocol::time::Timestamp;
use ratatui::Frame as Canvas;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, HighlightSpacing, Paragraph, Row, Table, Wrap};

use super::details::{self, Sheet};
use super::frame::{AgentRow, waits};
use super::keys::{Over, Pane, Shown};
use crate::show::text::Plain;
use crate::show::time::{relative, span};

/// Rows of a list on paper.
const PAPER_ROWS_MAX: usize = 200;
/// Lines around the rows of a list: two of its frame and one of its header.
const AROUND: u16 = 3;
/// From this width on names have more room.
const WIDE: u16 = 110;
/// Lines at the top.
const HEAD: u16 = 2;
/// Stands before the selected row, which colours alone would not tell everybody.
const MARK: &str = ">";
const MARK_WIDTH: u16 = 1;
/// The smallest terminal in which a list can be read: one row of one list, and enough of it.
const LEAST: (u16, u16) = (40, HEAD + AROUND + 2);
/// What the frame of a sheet takes of its width, and of its height.
const SHEET_FRAME: u16 = 2;

/// Draws everything.
pub(crate) fn draw(canvas: &mut Canvas<'_>, shown: &mut Shown) {
    let (width, height) = (canvas.area().width, canvas.area().height);
    if shown.live && (width < LEAST.0 || height < LEAST.1) {
        let words = format!("Too small: {width}x{height}. Needs {}x{}. q quits", LEAST.0, LEAST.1);
        canvas.render_widget(Paragraph::new(words).wrap(Wrap { trim: true }), canvas.area());
        return;
    }
    let [agents, handoffs, workflows] = heights(shown, canvas.area().height);
    let [head, first, second, third, foot] = Layout::vertical([
        Constraint::Length(HEAD),
        Constraint::Length(agents),
        Constraint::Length(handoffs),
        Constraint::Length(workflows),
        Constraint::Length(u16::from(shown.live)),
    ])
    .areas(canvas.area());
    canvas.render_widget(Paragraph::new(headlines(shown)), head);
    for (pane, area) in Pane::ALL.into_iter().zip([first, second, third]) {
        let table = table(shown, pane, area.width);
        canvas.render_stateful_widget(table, area, &mut shown.tables[pane as usize]);
    }
    if shown.live {
        canvas.render_widget(footer(shown), foot);
    }
    match shown.over {
        Over::Nothing => (),
        Over::Details => over(canvas, shown, details::of_selected(shown)),
        Over::Keys => over(canvas, shown, details::keys()),
    }
}

/// Everything as plain text, with all rows.
pub(crate) fn text(mut shown: Shown, width: u16) -> String {
    let rows = |rows: usize| AROUND + u16::try_from(rows.clamp(1, PAPER_ROWS_MAX)).unwrap_or(1);
    let frame = &mut shown.frame;
    let height =
        HEAD + rows(frame.agents.len()) + rows(frame.handoffs.len()) + rows(frame.workflows.len());
    let mut terminal = match Terminal::new(TestBackend::new(width, height)) {
        Ok(terminal) => terminal,
        Err(never) => match never {},
    };
    match terminal.draw(|canvas| draw(canvas, &mut shown)) {
        Ok(_) => (),
        Err(never) => match never {},
    }
    lines(terminal.backend().buffer())
}

/// What stands in a buffer, without the spaces at the ends of its lines.
fn lines(buffer: &Buffer) -> String {
    let mut text = String::new();
    for row in buffer.content.chunks(usize::from(buffer.area.width).max(1)) {
        let mut line = String::new();
        let mut covered = 0;
        for cell in row {
            // A wide character covers the cell behind it.
            if covered > 0 {
                covered -= 1;
                continue;
            }
            line.push_str(cell.symbol());
            covered = Span::raw(cell.symbol()).width().saturating_sub(1);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// How high each list is: as it needs, and if that is too much, a fair share. Where not every list
/// would have a row, the one that has the focus is alone.
fn heights(shown: &Shown, whole: u16) -> [u16; 3] {
    let frame = &shown.frame;
    let rows = [frame.agents.len(), frame.handoffs.len(), frame.workflows.len()];
    let needs =
        rows.map(|rows| u16::try_from(rows.max(1)).unwrap_or(u16::MAX).saturating_add(AROUND));
    let room = whole.saturating_sub(HEAD + u16::from(shown.live));
    if room / 3 <= AROUND {
        return Pane::ALL.map(|pane| if pane == shown.focus { room } else { 0 });
    }
    let mut heights = [room / 3, room - 2 * (room / 3), room / 3];
    // What one does not need goes to the next that does; what nobody needs, to the handoffs.
    let mut spare = 0;
    for (height, need) in heights.iter_mut().zip(needs) {
        let over = height.saturating_sub(need);
        *height -= over;
        spare += over;
    }
    for pane in [1, 0, 2] {
        let more = needs[pane].saturating_sub(heights[pane]).min(spare);
        heights[pane] += more;
        spare -= more;
    }
    heights[1] += spare;
    heights
}

fn headlines(shown: &Shown) -> Vec<Line<'static>> {
    let frame = &shown.frame;
    let up = frame.now.as_micros() - frame.status.started_at.as_micros();
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let rate = |text: Option<String>| text.map(|text| format!(" ({text})")).unwrap_or_default();
    let records = rate(shown.rate.map(|rate| format!("{:.1}/s", rate.records)));
    let passed = rate(shown.rate.map(|rate| format!("{:.1}/min", rate.handoffs)));
    let (stats, status) = (&frame.stats, &frame.status);
    let waiting = frame.handoffs.iter().filter(|one| waits(one)).count();
    // An agent hears of live work only, which tells nothing about what there ever was.
    let (whole, ever) = match stats.records {
        Some(_) => {
            let ever = format!(", {} ever{passed}", stats.total_handoffs);
            (format!(" of {}", stats.total_workflows), ever)
        }
        None => Default::default(),
    };
    vec![
        Line::from(vec![
            Span::styled("baton", bold),
            Span::raw(format!(" {}  up {}  ", status.version, span(up.max(0)))),
            Span::raw(format!("records {}{records}  outbox {}", status.records, status.outbox)),
        ]),
        Line::raw(format!(
            "workflows {} open{whole}  handoffs {} open, {waiting} waiting{ever}",
            stats.open_workflows, stats.pending_handoffs,
        )),
    ]
}

fn footer(shown: &Shown) -> Paragraph<'static> {
    match &shown.trouble {
        Some(trouble) => {
            let words = format!("{}; trying again", Plain::line(trouble));
            Paragraph::new(words).style(colored(shown, Color::Red).add_modifier(Modifier::BOLD))
        }
        None => Paragraph::new("q quit  Tab list  ↑↓ row  Enter details  ? keys")
            .style(Style::new().add_modifier(Modifier::DIM)),
    }
}

fn colored(shown: &Shown, color: Color) -> Style {
    if shown.color { Style::new().fg(color) } else { Style::new() }
}

fn table(shown: &Shown, pane: Pane, width: u16) -> Table<'static> {
    let frame = &shown.frame;
    // Names have more room where there is more.
    let name = if width < WIDE { 12 } else { 24 };
    let (title, header, fixed, rows): (_, &[&'static str], &[u16], Vec<Cells>) = match pane {
        Pane::Agents => (
            format!(" Agents {} ", frame.agents.len()),
            &["AGENT", "STATUS", "LOAD", "QUEUE", "HOLDS"],
            &[name + 8, 11, 7, 5],
            frame.agents.iter().map(|row| agent(shown, row)).collect(),
        ),
        Pane::Handoffs => (
            format!(" Handoffs {} ", frame.stats.pending_handoffs),
            &["ID", "STATE", "FROM", "TO", "AGE", "DUE", "TITLE"],
            &[8, 10, name, name, 4, 8],
            frame.handoffs.iter().map(|one| handoff(shown, one)).collect(),
        ),
        Pane::Workflows => (
            format!(" Workflows {} ", frame.stats.open_workflows),
            &["ID", "OWNER", "OPEN", "AGE", "TITLE"],
            &[8, name + 8, 4, 4],
            frame.workflows.iter().map(|one| workflow(frame.now, one)).collect(),
        ),
    };
    let focused = shown.live && shown.focus == pane;
    let border = if focused { BorderType::Thick } else { BorderType::Plain };
    let empty = rows.is_empty();
    // On paper nothing is selected.
    let mark = if shown.live { MARK_WIDTH } else { 0 };
    let widths = widths(fixed, width.saturating_sub(mark));
    let fitted = |cells: Cells| {
        Row::new(
            cells.into_iter().zip(&widths).map(|(cell, width)| fitted(cell, usize::from(*width))),
        )
    };
    let rows =
        if empty { vec![Row::new(["none"])] } else { rows.into_iter().map(fitted).collect() };
    let mut table = Table::new(rows, widths.iter().map(|width| Constraint::Length(*width)))
        .header(Row::new(header.to_vec()).style(Style::new().add_modifier(Modifier::BOLD)))
        .block(Block::bordered().border_type(border).title(title));
    if shown.live {
        // Every list keeps room for the mark, so that nothing moves when the focus does.
        table = table.highlight_spacing(HighlightSpacing::Always).highlight_symbol(" ");
    }
    if focused && !empty {
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        table = table.row_highlight_style(reversed).highlight_symbol(MARK);
    }
    table
}

/// What stands in the columns of a row.
type Cells = Vec<Span<'static>>;

/// The columns of these widths, and one that takes the rest.
fn widths(fixed: &[u16], whole: u16) -> Vec<u16> {
    // A frame on both sides, and a space behind each column but the last. What there is no room for
    // at all is left out, with its space.
    let mut left = whole.saturating_sub(2);
    let mut widths = Vec::new();
    for wanted in fixed.iter().copied().chain([u16::MAX]) {
        if left == 0 {
            break;
        }
        let width = wanted.min(left);
        widths.push(width);
        left = left.saturating_sub(width).saturating_sub(1);
    }
    widths
}

/// As much of it as there is room for; what is missing shows.
pub(super) fn fitted(cell: Span<'static>, width: usize) -> Span<'static> {
    if cell.width() <= width {
        return cell;
    }
    let mut text = String::new();
    for c in cell.content.chars() {
        let more = Span::raw(format!("{text}{c}…")).width();
        if more > width {
            break;
        }
        text.push(c);
    }
    text.push('…');
    Span::styled(text, cell.style)
}

fn plain(words: &str) -> Span<'static> {
    Span::raw(Plain::line(words).to_string())
}

fn agent(shown: &Shown, row: &AgentRow) -> Cells {
    let view = &row.view;
    let status = match view.status.as_str() {
        "healthy" => Color::Green,
        "unavailable" => Color::Yellow,
        _ => Color::Red,
    };
    let most = view.profile.max_concurrent_tasks;
    // People hold as much as they want; their limit is a number that says nothing.
    let load = if most >= 1_000 { view.load.to_string() } else { format!("{}/{most}", view.load) };
    vec![
        plain(view.profile.id.as_str()),
        Span::styled(view.status.clone(), colored(shown, status)),
        Span::raw(load),
        Span::raw(row.queue.to_string()),
        plain(&row.holds.join(", ")),
    ]
}

fn handoff(shown: &Shown, line: &HandoffLine) -> Cells {
    let now = shown.frame.now;
    let late = line.wake_at.is_some_and(|at| at < now);
    let (state, color) = match line.state.as_str() {
        "accepted" => ("accepted", Color::Green),
        "awaiting_approval" => ("approval", Color::Magenta),
        "suspended" => ("suspended", Color::Magenta),
        other => (other, Color::Yellow),
    };
    let due_color = if late { colored(shown, Color::Red) } else { Style::new() };
    vec![
        Span::raw(line.id.short()),
        Span::styled(state.to_owned(), colored(shown, color)),
        plain(line.from_agent.as_str()),
        plain(line.to_agent.as_str()),
        Span::raw(age(line.initiated_at, now)),
        Span::styled(due(line.wake_at, now), due_color),
        plain(&line.title),
    ]
}

fn workflow(now: Timestamp, line: &WorkflowLine) -> Cells {
    vec![
        Span::raw(line.id.short()),
        plain(line.owner.as_ref().map_or("-", |owner| owner.as_str())),
        Span::raw(line.open_handoffs.to_string()),
        Span::raw(age(line.started_at, now)),
        plain(&line.title),
    ]
}

fn age(since: Timestamp, now: Timestamp) -> String {
    match now.as_micros() - since.as_micros() {
        ..1_000_000 => "0s".to_owned(),
        age => span(age),
    }
}

fn due(at: Option<Timestamp>, now: Timestamp) -> String {
    match at {
        None => "-".to_owned(),
        Some(at) if at < now => format!("late {}", age(at, now)),
        Some(at) => relative(at, now),
    }
}

/// Draws a sheet over everything else. What does not fit on it is told by dots.
fn over(canvas: &mut Canvas<'_>, shown: &Shown, sheet: Sheet) {
    let area = canvas.area();
    let width = area.width.saturating_sub(6).min(100);
    let room = usize::from(area.height.saturating_sub(SHEET_FRAME));
    let mut lines = sheet.lines(usize::from(width.saturating_sub(SHEET_FRAME)));
    if lines.len() > room {
        lines.truncate(room.saturating_sub(1));
        lines.push(Line::raw("…"));
    }
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(SHEET_FRAME);
    let height = height.min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    let block = Block::bordered().border_type(BorderType::Thick);
    let block = block.title(format!(" {} ", sheet.title));
    let block = block.border_style(colored(shown, Color::Cyan));
    canvas.render_widget(Clear, place);
    canvas.render_widget(Paragraph::new(lines).block(block), place);
}

#[cfg(test)]
mod tests;
