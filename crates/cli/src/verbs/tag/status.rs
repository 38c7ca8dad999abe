//! `baton tag status`: where all work in files stands, and whether those who hold it are alive.

use std::path::{Path, PathBuf};

use baton_tags::state::{Liveness, Proc, State};
use baton_tags::{Holding, Stage};
use clap::Args;
use serde_json::{Value, json};

use super::list::{as_json, end_of, place};
use crate::failure::Failure;
use crate::show::table::Table;
use crate::show::time::span;
use crate::show::{Output, Page, width};
use crate::tagging::work::{self, Work, priority_shown};
use crate::tagging::{Ground, told};

/// What the other columns of the table need, and a title's first words.
const OTHERS_WIDTH: usize = 76;
/// The least that is shown of a place.
const PLACE_WIDTH_MIN: usize = 18;

/// Show where all work in files stands, and who holds it
///
/// By stage, then by priority, then by age, which is that of the file's last change.
/// Of claimed work it tells the session and the process that hold it; of a holder that
/// is not there any more it says `dead:` and how that is known.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  baton tag status
  baton tag status sessions/
  baton tag status --json | jq '.items[] | select(.holder.alive == false)'")]
pub(super) struct Status {
    /// A folder or a file; otherwise as `baton tag find`
    path: Option<PathBuf>,
}

/// What is known of a holder.
struct Holder<'a> {
    holding: &'a Holding,
    state: Option<State>,
    /// Alive, or how it died; nothing if the system does not say.
    liveness: Option<Liveness>,
}

impl<'a> Holder<'a> {
    fn of(root: &Path, holding: &'a Holding) -> Self {
        let state = State::read(&root.join(holding.session.as_str())).ok();
        let alive = |state: &State| state.liveness(&Proc, jiff::Timestamp::now()).ok();
        let liveness = state.as_ref().and_then(alive);
        Self { holding, state, liveness }
    }

    fn is_dead(&self) -> bool {
        matches!(self.liveness, Some(Liveness::Dead(_)))
    }

    fn shown(&self) -> String {
        let session = self.holding.session.as_str();
        let session = session.strip_prefix("sessions/").unwrap_or(session);
        let pid = self.state.as_ref().map(|state| format!(" pid {}", state.process.pid));
        match &self.liveness {
            Some(Liveness::Dead(how)) => format!("dead: {how} ({session})"),
            Some(Liveness::Alive) => format!("{session}{}", pid.unwrap_or_default()),
            None => format!("{session} (no sign)"),
        }
    }

    fn as_json(&self) -> Value {
        let state = self.state.as_ref();
        let (alive, death) = match &self.liveness {
            Some(Liveness::Alive) => (Some(true), None),
            Some(Liveness::Dead(how)) => (Some(false), Some(how.to_string())),
            None => (None, None),
        };
        json!({
            "session": self.holding.session.as_str(),
            "fence": self.holding.fence.0,
            "pid": state.map(|state| state.process.pid),
            "skill": state.map(|state| state.skill.as_str()),
            "phase": state.map(|state| state.phase),
            "alive": alive,
            "death": death,
        })
    }
}

impl Status {
    pub(super) fn run(self, ground: &Ground, out: Output) -> Result<(), Failure> {
        let tree = ground.tree(self.path);
        let (mut all, skipped) = work::list(&tree, true)?;
        // The list is in the order of what is due; of one stage it stays so.
        all.sort_by_key(|work| work.item.stage);
        let root = ground.root();
        let holder = |holding| Holder::of(root, holding);
        let all: Vec<(&Work, Option<Holder<'_>>)> =
            all.iter().map(|work| (work, work.holding.as_ref().map(holder))).collect();
        if out.json {
            let item = |(work, holder): &(&Work, Option<Holder<'_>>)| {
                let mut value = as_json(work, ground);
                value["holder"] = json!(holder.as_ref().map(Holder::as_json));
                value
            };
            let items: Vec<_> = all.iter().map(item).collect();
            let totals = Stage::ALL.map(|stage| (stage.family().to_owned(), count(&all, stage)));
            let totals: serde_json::Map<_, _> =
                totals.into_iter().map(|(name, count)| (name, json!(count))).collect();
            let skipped = skipped.iter();
            let skipped =
                skipped.map(|it| json!({"path": it.path.to_string_lossy(), "reason": it.reason}));
            let skipped: Vec<_> = skipped.collect();
            return out.value(&json!({"items": items, "totals": totals, "skipped": skipped}));
        }
        out.page(|page| {
            if out.quiet {
                all.iter().for_each(|(work, _)| page.line(place(work, ground)));
                return Ok(());
            }
            fill(page, &all, ground);
            Ok(())
        })?;
        told::warn_of(&skipped, out);
        Ok(())
    }
}

fn fill(page: &mut Page, all: &[(&Work, Option<Holder<'_>>)], ground: &Ground) {
    if all.is_empty() {
        page.line("there is no work in files");
        return;
    }
    let header = ["STATE", "KIND", "PRIO", "AGE", "HOLDER", "WHERE", "TITLE"];
    let room = usize::from(width()).saturating_sub(OTHERS_WIDTH).max(PLACE_WIDTH_MIN);
    let mut table = Table::new(&header, &[4, 6]);
    for (work, holder) in all {
        let now = page.now.as_micros();
        let age = work.changed.map(|at| span((now - at.as_micros()).max(0)));
        table.row([
            work.item.stage.family().to_owned(),
            work.item.key.kind().to_owned(),
            priority_shown(work.item.priority).to_owned(),
            age.unwrap_or_else(|| "-".to_owned()),
            holder.as_ref().map_or_else(|| "-".to_owned(), Holder::shown),
            end_of(&place(work, ground), room),
            work.title.clone(),
        ]);
    }
    page.table(table);
    let totals = Stage::ALL.map(|stage| format!("{} {}", count(all, stage), stage.family()));
    let dead = all.iter().filter(|(_, holder)| holder.as_ref().is_some_and(Holder::is_dead));
    let dead = match dead.count() {
        0 => String::new(),
        dead => format!("; {dead} with a dead holder"),
    };
    page.line(format!("{}{dead}", totals.join(", ")));
}

fn count(all: &[(&Work, Option<Holder<'_>>)], stage: Stage) -> usize {
    all.iter().filter(|(work, _)| work.item.stage == stage).count()
}
