//! Where work with a definition stands, as it is shown.

use baton_protocol::World;
use baton_protocol::definition::{DefinitionId, SignalName, StateName};
use baton_protocol::handoff::{Handoff, Kind};
use baton_protocol::id::AgentId;
use baton_protocol::machine::{Failure, Step};
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::Workflow;
use serde::{Deserialize, Serialize};

/// Where work with a definition stands.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineView {
    /// The version that it follows.
    pub definition: DefinitionId,
    /// The state it is in.
    pub state: StateName,
    /// Since when.
    pub since: Timestamp,
    /// Who is responsible there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The task at hand.
    pub step: Step,
    /// What it waits for, if nobody works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitView>,
    /// What failed so far, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// The states it was in before, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<StateName>,
}

/// What a state waits for.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitView {
    /// The signal.
    pub signal: SignalName,
    /// The condition, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// When it waits no longer, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_until: Option<Timestamp>,
}

/// Where it stands; nothing for work without a definition.
pub(crate) fn view(world: &World, workflow: &Workflow, over: bool) -> Option<MachineView> {
    let machine = workflow.machine.as_deref()?;
    let definition = world.definitions.get(&machine.definition);
    let spec = definition.and_then(|definition| definition.states.get(&machine.state));
    let waits_for =
        spec.and_then(|spec| spec.wait.as_ref()).filter(|_| !over).map(|wait| WaitView {
            signal: wait.signal.clone(),
            until: wait.until.as_ref().map(ToString::to_string),
            at_most_until: workflow.owning().and_then(|hold| hold.due),
        });
    Some(MachineView {
        definition: machine.definition.clone(),
        state: machine.state.clone(),
        since: machine.since,
        agent: spec.and_then(|spec| spec.agent.clone()),
        step: machine.step.clone(),
        waits_for,
        failures: machine.failures.clone(),
        path: machine.path.clone(),
    })
}

/// The task of a handoff: for whoever holds the work by it, the one that is at hand now.
pub(crate) fn step(workflow: &Workflow, handoff: &Handoff) -> Option<Step> {
    // Until the next one has taken it, the work is still with whoever did the step before.
    let passed = workflow.open().any(|open| open.terms.kind == Kind::Sequential);
    let holds = workflow.owning().is_some_and(|hold| hold.handoff == Some(handoff.terms.id));
    let holds = holds && !passed;
    let now = workflow.machine.as_ref().filter(|_| holds).map(|machine| machine.step.clone());
    now.or_else(|| handoff.terms.step.as_deref().cloned())
}
