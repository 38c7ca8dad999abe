//! Making artifacts known, and saying whether they can be relied on.

use crate::artifact::{Artifact, Produced};
use crate::command::{AddArtifact, MarkArtifact, Submission};
use crate::decide::holder;
use crate::event::{Decision, Event, StreamId};
use crate::id::AgentId;
use crate::limits::ARTIFACTS_MAX;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::workflow::Workflow;
use crate::world::World;

/// Decides whether a holder may add an artifact to its workflow.
pub(super) fn add(
    world: &World,
    ask: &Submission,
    add: &AddArtifact,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let workflow = world.workflow(add.workflow)?;
    let (_, hold) = holder::hold(add.workflow, workflow, ask, add.fence)?;
    let mut made =
        named(Some(workflow), ask, std::slice::from_ref(&add.artifact), &hold.agent, now)?;
    let events = made.drain(..).map(|artifact| Event::ArtifactAdded { artifact }).collect();
    let stream = StreamId::Workflow(add.workflow);
    Ok(Decision { stream, events, effects: Vec::new() })
}

/// Decides whether a holder may change an artifact's status.
pub(super) fn mark(
    world: &World,
    ask: &Submission,
    mark: &MarkArtifact,
) -> Result<Decision, Refusal> {
    let workflow = world.workflow(mark.workflow)?;
    holder::hold(mark.workflow, workflow, ask, mark.fence)?;
    let unknown = Refusal::UnknownArtifact { artifact: mark.artifact };
    let artifact = workflow.artifacts.get(&mark.artifact).ok_or(unknown)?;
    let event = Event::ArtifactMarked { artifact: mark.artifact, status: mark.status };
    let events = if artifact.produced.status == mark.status { Vec::new() } else { vec![event] };
    let stream = StreamId::Workflow(mark.workflow);
    Ok(Decision { stream, events, effects: Vec::new() })
}

/// Gives what was produced its ids, its maker and its time.
pub(super) fn named(
    workflow: Option<&Workflow>,
    ask: &Submission,
    produced: &[Produced],
    by: &AgentId,
    now: Timestamp,
) -> Result<Vec<Artifact>, Refusal> {
    let known = workflow.map_or(0, |workflow| workflow.artifacts.len());
    if known + produced.len() > ARTIFACTS_MAX {
        return Err(Refusal::TooMany { what: "artifacts", most: ARTIFACTS_MAX });
    }
    let name = |(n, produced): (usize, &Produced)| Artifact {
        id: ask.id.artifact(n),
        produced: produced.clone(),
        created_by: by.clone(),
        created_at: now,
    };
    Ok(produced.iter().enumerate().map(name).collect())
}
