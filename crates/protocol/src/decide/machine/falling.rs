//! Steps that fail: what went wrong goes to the error monitor.

use super::advance::Go;
use super::monitor::Fallen;
use super::{Said, Stirred};
use crate::definition::{Chosen, StateName};
use crate::effect::Effect;
use crate::event::{Decision, Event, StreamId};
use crate::id::AgentId;
use crate::machine::ErrorReport;
use crate::policy::Usage;
use crate::refusal::Refusal;
use crate::text::Text;

impl Go<'_> {
    /// What went wrong, in the agent's words or in ours.
    pub(super) fn error(&self, reason: &Text) -> ErrorReport {
        match &self.work.said {
            Said::Failed(fail) => fail.error.clone(),
            Said::TimeUp(error) => error.clone(),
            Said::Retry(failure) => failure.error.clone(),
            Said::Done(_) | Said::Signal(_) | Said::Waited | Said::Begins | Said::Person(_) => {
                ErrorReport::found("error", reason.as_str(), false)
            }
        }
    }

    /// The step failed: the monitor has it.
    pub(super) fn fails(
        &self,
        error: ErrorReport,
        chosen: Option<&Chosen>,
    ) -> Result<Decision, Refusal> {
        let Stirred { id, workflow, machine, definition, .. } = *self.work;
        let (agent, back_to) = match &self.work.said {
            Said::Retry(failure) => (failure.agent.clone(), Some(&failure.back_to)),
            _ => (self.work.from.clone(), None),
        };
        let (handoff, state, ended) = (self.ask.id.handoff(), &machine.state, None);
        let world = self.world;
        // What it wrote and used counts, whatever became of it.
        let (written, usage) = match &self.work.said {
            Said::Failed(fail) => self.written(&fail.context_updates, fail.used.as_ref())?,
            _ => Default::default(),
        };
        let mut events = Vec::new();
        if !written.0.is_empty() {
            let (fence, by) = (workflow.owner, self.work.owner());
            events.push(Event::VariablesSet { fence, by, changes: written.0 });
        }
        events.extend(written.1.into_iter().map(|artifact| Event::ArtifactAdded { artifact }));
        let fallen = Fallen {
            world,
            id,
            workflow,
            machine,
            definition,
            error,
            state,
            back_to,
            agent,
            ended,
            chosen,
            handoff,
        };
        let (more, effects) = fallen.outcome(self.now);
        events.extend(more);
        charged(&mut events, usage);
        Ok(Decision { stream: StreamId::Workflow(id), events, effects })
    }

    /// The next step cannot begin now: the monitor tries it.
    pub(super) fn later(
        &self,
        state: &StateName,
        agent: AgentId,
        why: &Refusal,
    ) -> (Vec<Event>, Vec<Effect>) {
        let Stirred { id, workflow, machine, definition, .. } = *self.work;
        let fallen = Fallen {
            world: self.world,
            id,
            workflow,
            machine,
            definition,
            error: ErrorReport::found("handoff_refused", &why.to_string(), true),
            state,
            back_to: None,
            agent,
            ended: None,
            chosen: None,
            handoff: self.ask.id.handoff(),
        };
        fallen.outcome(self.now)
    }
}

/// Charges what a holder used to the handoff by which its step ends.
fn charged(events: &mut [Event], usage: Option<Usage>) {
    for event in events {
        if let Event::Initiated { guarded, .. } = event {
            guarded.usage = usage;
            return;
        }
    }
}
