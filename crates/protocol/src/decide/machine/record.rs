//! What is recorded of a move: where it leads, and what its holder wrote, made and used.

use super::advance::Go;
use super::choice::Choice;
use super::{Said, Stirred};
use crate::artifact::Artifact;
use crate::command::{ContextUpdates, Used};
use crate::decide::guard::limits;
use crate::decide::{artifact, course, variables};
use crate::event::Moved;
use crate::id::AgentId;
use crate::machine::Step;
use crate::policy::Usage;
use crate::refusal::Refusal;
use crate::text::Body;
use crate::variables::Changes;

impl Go<'_> {
    /// The move itself.
    pub(super) fn moved(&self, choice: &Choice) -> Result<Moved, Refusal> {
        let Stirred { workflow, machine, definition, .. } = *self.work;
        let payload = match choice.keeps {
            true => machine.step.payload.clone().filter(|_| machine.state == choice.next),
            false => choice.payload.clone(),
        };
        let tried = match &self.work.said {
            Said::Retry(failure) => failure.attempt.saturating_add(1),
            _ => machine.tried(&choice.next),
        };
        let first = matches!(self.work.said, Said::Begins);
        let mut step = Step::of(definition, &choice.next, choice.rule.clone(), payload, tried);
        step.first = first;
        let ((mut written, artifacts), usage) = match &self.work.said {
            Said::Done(done) => self.written(&done.context_updates, done.used.as_ref())?,
            _ => Default::default(),
        };
        // The definition writes where it likes: it is the operator's own.
        written.extend(choice.set.clone());
        let result: Option<Body> = match &self.work.said {
            Said::Done(done) => done.result.clone(),
            _ => None,
        };
        let report = match &self.work.said {
            Said::Done(done) => done.context_updates.report.clone(),
            _ => None,
        };
        course::fits(Some(workflow), &report)?;
        let asked = self.work.asks().then(|| self.work.signal.clone());
        let by = self.mover();
        Ok(Moved {
            signal: asked,
            reason: choice.reason.clone(),
            result,
            variables: written,
            artifacts,
            report,
            usage,
            completes: matches!(self.work.said, Said::Done(_)),
            ..Moved::ending(machine.state.clone(), Box::new(step), by)
        })
    }

    /// Whose deed it is.
    pub(super) fn mover(&self) -> AgentId {
        match &self.work.said {
            Said::Person(_) => self.ask.actor.agent(),
            _ => self.work.owner(),
        }
    }

    /// What the holder wrote, made and used.
    #[allow(clippy::type_complexity, reason = "taken apart at once by both callers")]
    pub(super) fn written(
        &self,
        updates: &ContextUpdates,
        used: Option<&Used>,
    ) -> Result<((Changes, Vec<Artifact>), Option<Usage>), Refusal> {
        let workflow = self.work.workflow;
        let Some(hold) = workflow.owning() else { return Ok(Default::default()) };
        let profile = &self.world.agent(&hold.agent)?.profile;
        let changed = &updates.variables_changed;
        let changes = variables::changes(workflow, hold, profile, changed, None, self.now)?;
        let made = &updates.artifacts_produced;
        let made = artifact::named(Some(workflow), self.ask, made, &hold.agent, self.now)?;
        let usage = limits::usage(&self.world.policy, used, updates.report.as_deref());
        // Whoever failed has used it all the same.
        if let (Some(usage), true) = (&usage, self.work.is_done()) {
            limits::fits(workflow, workflow.payer(workflow.owner), usage.tokens, usage.cost)?;
        }
        Ok(((changes, made), usage))
    }
}
