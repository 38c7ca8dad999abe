//! Work whose holder died: ended if it was answered, put back before a person if not.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use baton_protocol::tag::TagMover;
use baton_tags::dispatch::Table;
use baton_tags::request::{self, Changed, Recovery, Request, RequestError, RequeueTo};
use baton_tags::state::{Death, Liveness, Proc, State, StateError};
use baton_tags::{FileError, Files, Holding, Item, ItemKey, Stage, Tag};
use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process};

use crate::show::time;
use crate::tagging::spool::{Made, Move, noted};
use crate::tagging::{Ground, alerts};

/// How a claimed item stands.
pub(crate) enum Standing {
    /// Somebody works on it, or a person claimed it by hand.
    Held {
        /// Whether it is a worker of ours.
        by_worker: bool,
    },
    /// Its worker is dead.
    Dead(Dead),
    /// It cannot be told.
    Unclear(String),
}

/// A dead worker's item.
pub(crate) struct Dead {
    pub(crate) holder: Holding,
    pub(crate) reason: String,
    /// Whether it answered before.
    pub(crate) answered: bool,
}

/// What became of it.
pub(crate) enum Outcome {
    Finished,
    Requeued(Tag),
    /// Somebody else recovered it first, or it moved by itself.
    Over,
}

/// Tells how a claimed item stands, from the file and its session alone.
pub(crate) fn standing(ground: &Ground, request: &Request<'_>, item: &Item) -> Standing {
    let Some(holder) = request.session_of(&item.key).cloned() else {
        return Standing::Held { by_worker: false };
    };
    let answered = request.has_response(&item.key);
    let dead = |reason| Standing::Dead(Dead { holder: holder.clone(), reason, answered });
    let state = match State::read(&ground.root().join(holder.session.as_str())) {
        Ok(state) => state,
        Err(StateError::Failed { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return dead("Its session left no state".to_owned());
        }
        Err(error) => return Standing::Unclear(error.to_string()),
    };
    match state.liveness(&Proc, Timestamp::now()) {
        Ok(Liveness::Alive) => Standing::Held { by_worker: true },
        Ok(Liveness::Dead(death)) => dead(said(state.process.pid, death)),
        Err(error) => Standing::Unclear(format!("cannot look at processes: {error}")),
    }
}

fn said(pid: u32, death: Death) -> String {
    format!("Agent PID {pid} died mid-work ({death})")
}

/// Recovers an item, unless somebody else does.
pub(crate) fn recover(
    ground: &Ground,
    table: &Table,
    (path, text, item): (&Path, &[u8], &Item),
    dead: &Dead,
) -> Result<Outcome, FileError> {
    left_behind(&ground.root().join(dead.holder.session.as_str()));
    let files = Files::within(ground.root())?;
    let (key, holder) = (&item.key, Some(&dead.holder));
    let noting = |to: Stage, make: &dyn Fn() -> Result<Changed, FileError>| {
        let about = Move {
            file: path,
            item: key.to_string(),
            to: to.of(key.kind()).ok(),
            mover: TagMover::Daemon,
            session: Some(&dead.holder.session),
            hash: None,
            reason: Some(&dead.reason),
        };
        let fence = Some(dead.holder.fence);
        noted(ground, about, make, |change| Made { from: Some(change.from.clone()), fence })
    };
    if dead.answered {
        let done = noting(Stage::Done, &|| files.finish_answered(path, key, holder));
        return lost(done.map(|_| Outcome::Finished));
    }
    let put_back = |to: RequeueTo, stage: Stage, action: &str| {
        let (reason, action) = (dead.reason.clone(), action.to_owned());
        let recovery = Recovery { at: Timestamp::now(), reason, action };
        noting(stage, &|| files.requeue(path, key, to, holder, &recovery, table.trust))
    };
    let may_go_on = table.route(key.kind()).is_some_and(|route| {
        let approved = request::approval_of(text, key).map(|approval| approval.at);
        // One that is dated ahead covers nothing that was before it.
        let approved = approved.filter(|at| *at <= Timestamp::now()).unwrap_or(Timestamp::MIN);
        let used = request::recoveries_since(text, key, approved);
        route.requeue == RequeueTo::Delegated && (used as u64) < u64::from(table.reuses_max)
    });
    if may_go_on {
        let action = "Re-queued for processing under its approval";
        match put_back(RequeueTo::Delegated, Stage::Delegated, action) {
            // The request is not the one that was approved: a person looks at it again.
            Err(FileError::Refused { .. }) => (),
            tried => return lost(tried.map(|change| Outcome::Requeued(change.to))),
        }
    }
    let back = put_back(RequeueTo::Needs, Stage::Needs, "Re-queued for review");
    let outcome = lost(back.map(|change| Outcome::Requeued(change.to)))?;
    if let Outcome::Requeued(_) = outcome {
        alert(ground, path, key, &dead.reason);
    }
    Ok(outcome)
}

/// Ends what a dead worker's program still does: its successor must not have to share the files.
/// The processes are known by the mark that the worker gave them.
fn left_behind(session: &Path) {
    let mut mark = b"BATON_SESSION=".to_vec();
    mark.extend_from_slice(session.as_os_str().as_bytes());
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for pid in pids {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|entry| entry == mark)
            && let Some(pid) = Pid::from_raw(pid)
        {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Whether an item is not where it was, because somebody else moved it.
pub(crate) fn is_faster(error: &RequestError) -> bool {
    matches!(
        error,
        RequestError::Missing { .. }
            | RequestError::Elsewhere { .. }
            | RequestError::Stale { .. }
            | RequestError::Stands { .. }
    )
}

/// Somebody who was faster is no failure.
fn lost(tried: Result<Outcome, FileError>) -> Result<Outcome, FileError> {
    match tried {
        Err(FileError::Request { source, .. }) if is_faster(&source) => Ok(Outcome::Over),
        tried => tried,
    }
}

/// Says that somebody should have a look.
pub(crate) fn alert(ground: &Ground, path: &Path, item: &ItemKey, reason: &str) {
    let below = ground.seen_from_root(path);
    let text = format!("{item} lost its worker: {reason}");
    let (severity, by) = ("warning", "dispatch");
    let (about, at, mover) = (Some(&*below), time::now(), TagMover::Daemon);
    let draft = alerts::Draft { text: &text, severity, about, by, at, mover };
    // The Recovery section says the same; an alert that cannot be written changes nothing.
    let _ = draft.raise(ground);
}
