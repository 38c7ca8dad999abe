//! What is shown of a frame, and how keys change that.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::widgets::TableState;

use super::frame::{Frame, Rate};

/// How far the keys for a page move.
const PAGE: usize = 10;

/// The lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pane {
    #[default]
    Agents,
    Handoffs,
    Workflows,
}

impl Pane {
    pub(crate) const ALL: [Self; 3] = [Self::Agents, Self::Handoffs, Self::Workflows];

    fn rows(self, frame: &Frame) -> usize {
        match self {
            Self::Agents => frame.agents.len(),
            Self::Handoffs => frame.handoffs.len(),
            Self::Workflows => frame.workflows.len(),
        }
    }

    fn step(self, by: usize) -> Self {
        let at = Self::ALL.iter().position(|pane| *pane == self).unwrap_or(0);
        Self::ALL[(at + by) % Self::ALL.len()]
    }
}

/// What lies over the lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Over {
    #[default]
    Nothing,
    Details,
    Keys,
}

/// What is shown.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) frame: Frame,
    pub(crate) rate: Option<Rate>,
    pub(crate) trouble: Option<String>,
    pub(crate) focus: Pane,
    pub(crate) over: Over,
    /// The selected row of each list, and how far it is scrolled.
    pub(crate) tables: [TableState; 3],
    /// Whether keys are of any use; on paper they are not.
    pub(crate) live: bool,
    pub(crate) color: bool,
}

impl Shown {
    pub(crate) fn new(frame: Frame, live: bool, color: bool) -> Self {
        let selected = TableState::default().with_selected(live.then_some(0));
        let tables = [selected, selected, selected];
        let (rate, trouble, focus, over) = Default::default();
        Self { frame, rate, trouble, focus, over, tables, live, color }
    }

    /// Shows a newer frame. Rows that went away take the selection to the last one that is left.
    pub(crate) fn renew(&mut self, frame: Frame, rate: Option<Rate>) {
        (self.frame, self.rate, self.trouble) = (frame, rate, None);
        for pane in Pane::ALL {
            self.select(pane, |at| at);
        }
    }

    /// The selected row of the list that has the focus.
    pub(crate) fn selected(&self) -> Option<usize> {
        self.tables[self.focus as usize].selected()
    }

    /// Does what a key says. Returns whether to go on.
    pub(crate) fn press(&mut self, key: KeyEvent) -> bool {
        if key.kind == KeyEventKind::Release {
            return true;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return false,
            KeyCode::Char('q') | KeyCode::Esc if self.over != Over::Nothing => {
                self.over = Over::Nothing;
            }
            KeyCode::Char('q') => return false,
            KeyCode::Char('?') | KeyCode::Char('h') => self.turn(Over::Keys),
            KeyCode::Enter => self.turn(Over::Details),
            KeyCode::Tab | KeyCode::Right => self.focus = self.focus.step(1),
            KeyCode::BackTab | KeyCode::Left => self.focus = self.focus.step(2),
            KeyCode::Down | KeyCode::Char('j') => self.select(self.focus, |at| at + 1),
            KeyCode::Up | KeyCode::Char('k') => self.select(self.focus, |at| at.saturating_sub(1)),
            KeyCode::PageDown => self.select(self.focus, |at| at + PAGE),
            KeyCode::PageUp => self.select(self.focus, |at| at.saturating_sub(PAGE)),
            KeyCode::Home | KeyCode::Char('g') => self.select(self.focus, |_| 0),
            KeyCode::End | KeyCode::Char('G') => self.select(self.focus, |_| usize::MAX),
            _ => (),
        }
        true
    }

    fn turn(&mut self, over: Over) {
        self.over = if self.over == over { Over::Nothing } else { over };
    }

    fn select(&mut self, pane: Pane, to: impl Fn(usize) -> usize) {
        let table = &mut self.tables[pane as usize];
        let last = pane.rows(&self.frame).saturating_sub(1);
        table.select(Some(to(table.selected().unwrap_or(0)).min(last)));
    }
}
