//! Saying how it goes, which also shows that the holder is alive.

use crate::command::{Progress, Submission};
use crate::decide::holder;
use crate::event::{Decision, Event, StreamId};
use crate::limits::LOCK_LEASE;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::World;

/// Decides whether the asker may report on the work. Its locks last longer by it.
pub(super) fn decide(
    world: &World,
    ask: &Submission,
    progress: &Progress,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let workflow = world.workflow(progress.workflow)?;
    let (fence, _) = holder::alive(progress.workflow, workflow, ask, Some(progress.fence))?;
    let events = vec![Event::Progressed {
        fence,
        note: progress.note.clone(),
        percent: progress.percent.map(|share| share.0),
        locks_until: LOCK_LEASE.after(now),
    }];
    let stream = StreamId::Workflow(progress.workflow);
    Ok(Decision { stream, events, effects: Vec::new() })
}
