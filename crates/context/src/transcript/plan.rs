//! The list of things to do that an agent keeps with its tools.

/// Tasks of one plan that are remembered.
const TASKS_MAX: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Pending,
    UnderWay,
    Over,
}

impl Standing {
    fn of(word: &str) -> Self {
        match word {
            "in_progress" => Self::UnderWay,
            "completed" | "deleted" | "cancelled" => Self::Over,
            _ => Self::Pending,
        }
    }
}

/// The newest plan.
#[derive(Debug, Default)]
pub(super) struct Plan {
    tasks: Vec<(String, Standing)>,
    /// The line on which it was changed last.
    pub(super) changed_at: u64,
}

impl Plan {
    /// The whole list anew, as `TodoWrite` and `update_plan` give it.
    pub(super) fn set<'a>(&mut self, tasks: impl Iterator<Item = (&'a str, &'a str)>, at: u64) {
        let tasks = tasks.take(TASKS_MAX);
        self.tasks = tasks.map(|(text, word)| (text.to_owned(), Standing::of(word))).collect();
        self.changed_at = at;
    }

    /// One more, as `TaskCreate` gives it.
    pub(super) fn add(&mut self, text: &str, at: u64) {
        if self.tasks.len() < TASKS_MAX {
            self.tasks.push((text.to_owned(), Standing::Pending));
        }
        self.changed_at = at;
    }

    /// One goes on, as `TaskUpdate` says. Tasks are counted from 1.
    pub(super) fn update(&mut self, number: usize, word: &str, at: u64) {
        if let Some((_, standing)) = number.checked_sub(1).and_then(|n| self.tasks.get_mut(n)) {
            *standing = Standing::of(word);
        }
        self.changed_at = at;
    }

    /// What is being done.
    pub(super) fn under_way(&self) -> Option<String> {
        self.first(Standing::UnderWay)
    }

    /// What comes next: the first that nobody began, or else what is not finished yet.
    pub(super) fn ahead(&self) -> Option<String> {
        self.first(Standing::Pending).or_else(|| self.under_way())
    }

    fn first(&self, wanted: Standing) -> Option<String> {
        let found = self.tasks.iter().find(|(_, standing)| *standing == wanted);
        found.map(|(text, _)| text.clone())
    }
}
