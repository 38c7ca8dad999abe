//! Escalations that Baton itself raises, because a holder is over its time.

use std::collections::BTreeSet;

use crate::agent::Role;
use crate::decide::arrival::{self, Arrival};
use crate::decide::route::{self, Wanted};
use crate::decide::{news, pass};
use crate::effect::Effect;
use crate::event::Event;
use crate::handoff::{Assessment, Delegation, Escalation, Handoff, Kind, Matter, Terms, Trigger};
use crate::id::{AgentId, Fence, HandoffId, WorkflowId};
use crate::limits::ESCALATION_LEVELS_MAX;
use crate::text::Text;
use crate::time::Timestamp;
use crate::trace::TraceParent;
use crate::workflow::Workflow;
use crate::world::World;

/// What Baton raises.
pub(super) struct Raise<'a> {
    pub(super) world: &'a World,
    pub(super) id: WorkflowId,
    pub(super) workflow: &'a Workflow,
    /// The handoff that is to carry it.
    pub(super) handoff: HandoffId,
    /// Who is late.
    pub(super) late: &'a AgentId,
    /// In whose name it is asked, and under which hold.
    pub(super) from: (AgentId, Fence),
    pub(super) matter: Matter,
    /// What the late one had, if that came by a handoff which ends now.
    pub(super) about: Option<&'a Handoff>,
    pub(super) reason: Text,
}

/// The events of raising it, and whom to tell.
pub(super) type Raised = (Vec<Event>, Vec<Effect>);

impl Raise<'_> {
    /// Raises it; nothing comes of it if nobody stands above.
    pub(super) fn decide(&self, now: Timestamp) -> Option<Raised> {
        let role = self.world.agents.get(self.late).map_or(Role::Worker, |late| late.profile.role);
        let asked = self.about.and_then(|about| match &about.terms.kind {
            Kind::Escalation(asked) => Some(asked),
            Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => None,
        });
        let mut trail = asked.map(|asked| asked.trail.clone()).unwrap_or_default();
        let (by, words) = (self.late.clone(), self.reason.clone());
        trail.push(Assessment { by, role, words, at: now });
        let level = asked.map_or(0, |asked| asked.level) + 1;
        let person = level >= ESCALATION_LEVELS_MAX || self.matter == Matter::Failure;
        let least = if person { role.max(Role::Architect) } else { role };

        let mut except: BTreeSet<_> = trail.iter().map(|step| step.by.clone()).collect();
        except.insert(self.from.0.clone());
        except.extend(self.about.iter().flat_map(|about| about.tried.iter().cloned()));
        let to = route::above(self.world, least, &self.wanted(now), &except)?;
        let back = self.back(to.profile.role);
        let level = level.min(ESCALATION_LEVELS_MAX);
        let blocking = self.about.is_some_and(|about| about.terms.kind.is_blocking());
        let matter = self.matter;
        let kind = Kind::Escalation(Escalation { level, matter, trail, back, blocking });
        let to_agent = to.profile.id.clone();
        let told = news::arrived(self.world, &to_agent, self.id, self.handoff);
        let terms = Box::new(self.terms(to_agent, kind));
        let arrival = arrival::at(self.world, Some(self.workflow), to, &terms, now);
        let Arrival { answer_by, queued } = arrival;
        let (variables, artifacts, report) = Default::default();
        let mut events = Vec::new();
        if self.matter == Matter::Question {
            // The one who asked goes on waiting, now for this.
            events.push(pass::waits(self.workflow, self.from.1, self.handoff));
        }
        let guarded = Default::default();
        events.push(Event::Initiated {
            terms,
            variables,
            artifacts,
            report,
            answer_by,
            queued,
            guarded,
        });
        Some((events, if queued { Vec::new() } else { told }))
    }

    fn wanted(&self, now: Timestamp) -> Wanted<'_> {
        let terms = self.about.map(|about| &about.terms);
        Wanted {
            required: &[],
            risk: terms.map(|terms| terms.risk_level).unwrap_or_default(),
            autonomy: terms.and_then(|terms| terms.autonomy_budget),
            priority: terms.map_or(self.workflow.priority, |terms| terms.priority),
            now,
            only: None,
            question: true,
        }
    }

    /// How it comes back: as what was late, but nobody waits for a mere look, and people have no
    /// clock held to them.
    fn back(&self, role: Role) -> Option<Delegation> {
        let timed = role != Role::Human && !self.matter.is_a_look();
        self.about.filter(|_| timed)?.terms.kind.back().cloned()
    }

    fn terms(&self, to_agent: AgentId, kind: Kind) -> Terms {
        let before = self.about.map(|about| &about.terms);
        let reason = before.map_or(&self.workflow.title, |terms| &terms.reason).clone();
        Terms {
            kind,
            trigger: Trigger::Timeout,
            priority: before.map_or(self.workflow.priority, |terms| terms.priority),
            task: before.and_then(|terms| terms.task.clone()),
            custom: before.map(|terms| terms.custom.clone()).unwrap_or_default(),
            history: before.and_then(|terms| terms.history.clone()),
            transferred: before.and_then(|terms| terms.transferred.clone()),
            constraints: before.map(|terms| terms.constraints.clone()).unwrap_or_default(),
            autonomy_budget: before.and_then(|terms| terms.autonomy_budget),
            decision_rationale: Some(self.reason.clone()),
            risk_level: before.map(|terms| terms.risk_level).unwrap_or_default(),
            traceparent: before.and_then(|terms| {
                let given = terms.traceparent?;
                Some(TraceParent::of_handoff(Some(given), self.id, terms.id))
            }),
            ..Terms::plain(self.handoff, self.from.clone(), to_agent, reason)
        }
    }
}
