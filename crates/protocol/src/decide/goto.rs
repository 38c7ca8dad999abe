//! Command objects: what one means depends on what its sender holds. It becomes one ordinary
//! command and is decided as that, so it happens whole or not at all, by the rules that hold for
//! everybody.

use std::borrow::Cow;

use crate::artifact::Produced;
use crate::command::{
    Command, Complete, ContextUpdates, GiveBack, Goto, Next, Pass, PassAudit, PassContext,
    PassKind, Recipient, ResultContent, ReturnAudit, ReturnProtocol, Sends, Submission, Used,
};
use crate::course::Graph;
use crate::decide::holder;
use crate::event::Decision;
use crate::handoff::{ContentType, Due, OnTimeout, ReturnStatus, State};
use crate::id::{AgentId, Fence, HandoffId};
use crate::limits::{GOTO_WITHIN, TOKENS_USED_MAX};
use crate::refusal::Refusal;
use crate::text::Text;
use crate::time::{Allowance, Timestamp};
use crate::variables::VariableName;
use crate::workflow::{Hold, Workflow};
use crate::world::World;

/// The ordinary command that is asked for: what a command object comes to, any other as it is.
pub fn plain<'a>(
    world: &World,
    ask: &'a Submission,
    now: Timestamp,
) -> Result<Cow<'a, Submission>, Refusal> {
    let Command::Goto(goto) = &ask.command else { return Ok(Cow::Borrowed(ask)) };
    let workflow = world.workflow(goto.workflow)?;
    let (fence, hold) = holder::hold(goto.workflow, workflow, ask, goto.fence)?;
    let said = Said { goto, workflow, fence, hold, now };
    let (id, actor, command) = (ask.id, ask.actor.clone(), said.command()?);
    Ok(Cow::Owned(Submission { id, actor, command }))
}

/// Decides what the object asks for.
pub(super) fn decide(world: &World, ask: &Submission, now: Timestamp) -> Result<Decision, Refusal> {
    super::ruled(world, &*plain(world, ask, now)?, now)
}

/// A command object, and what its sender holds.
struct Said<'a> {
    goto: &'a Goto,
    workflow: &'a Workflow,
    fence: Fence,
    hold: &'a Hold,
    now: Timestamp,
}

impl Said<'_> {
    /// The ordinary command that it is.
    fn command(&self) -> Result<Command, Refusal> {
        if self.tokens().is_some_and(|tokens| tokens > TOKENS_USED_MAX) {
            let most = usize::try_from(TOKENS_USED_MAX).unwrap_or(usize::MAX);
            return Err(Refusal::TooMany { what: "tokens used", most });
        }
        let part = self.hold.handoff.filter(|_| self.workflow.owner != self.fence);
        Ok(match (&self.goto.object.goto, part) {
            (Next::End, None) => self.completes(),
            (Next::End, Some(handoff)) => self.returns(handoff),
            (Next::Agent(agent), None) => {
                self.passes(PassKind::Sequential, Some(agent), Vec::new())
            }
            (Next::Agent(agent), Some(_)) => {
                self.has_own_graph()?;
                self.passes(PassKind::Delegation, Some(agent), Vec::new())
            }
            (Next::Sends(sends), None) => self.sends(sends),
            (Next::Sends(sends), Some(_)) => {
                self.has_own_graph()?;
                self.sends(sends)
            }
        })
    }

    /// A delegate's own graph is its part of the work; the one around it is another's.
    fn has_own_graph(&self) -> Result<(), Refusal> {
        match (self.goto.object.graph, self.workflow.owning()) {
            (Some(Graph::Parent), Some(owning)) => {
                let (agent, owner) = (self.hold.agent.clone(), owning.agent.clone());
                Err(Refusal::ParentGoto { agent, owner })
            }
            (Some(Graph::Parent) | None, _) => Ok(()),
        }
    }

    fn completes(&self) -> Command {
        Command::Complete(Complete {
            workflow: self.goto.workflow,
            fence: Some(self.fence),
            result: self.goto.result.clone(),
            note: self.words(&["reason"]),
            context_updates: self.updates(),
            used: self.used(),
        })
    }

    fn returns(&self, handoff: HandoffId) -> Command {
        let content_type = ContentType::Json;
        let result = self.goto.result.clone().map(|body| ResultContent { content_type, body });
        Command::Return(Box::new(GiveBack {
            handoff,
            fence: self.fence,
            status: ReturnStatus::Success,
            result,
            context_updates: self.updates(),
            audit: ReturnAudit {
                tokens_consumed: self.tokens(),
                notes: self.words(&["reason"]),
                ..ReturnAudit::default()
            },
        }))
    }

    fn sends(&self, sends: &Sends) -> Command {
        let recipient = |send: &crate::command::Send| Recipient {
            task: Some(send.task.clone()),
            custom: send.custom.clone(),
            ..Recipient::of(send.agent.clone(), true)
        };
        self.passes(PassKind::Broadcast, None, sends.iter().map(recipient).collect())
    }

    fn passes(&self, kind: PassKind, to: Option<&AgentId>, to_agents: Vec<Recipient>) -> Command {
        let object = &self.goto.object;
        let back = match kind {
            PassKind::Sequential | PassKind::Escalation => ReturnProtocol::default(),
            // Whoever says where the work goes next has said all it has to say until it is back.
            PassKind::Delegation | PassKind::Broadcast => ReturnProtocol {
                expected: Some(true),
                timeout: Some(self.within()),
                on_timeout: OnTimeout::default(),
                blocking: true,
                checks: Vec::new(),
            },
        };
        let task_id = match kind {
            PassKind::Delegation => self.words(&["next_task", "task"]),
            PassKind::Sequential | PassKind::Broadcast | PassKind::Escalation => None,
        };
        let passed_on = || "passed on".parse().expect("a fixed text within its limits");
        Command::Pass(Box::new(Pass {
            workflow: Some(self.goto.workflow),
            fence: Some(self.fence),
            to_agent: to.cloned(),
            to_agents,
            aggregation: object.aggregation,
            peers_visible: false,
            kind,
            reason: self.words(&["reason", "next_task", "task"]).unwrap_or_else(passed_on),
            trigger: None,
            priority: None,
            context: PassContext {
                task_id,
                context_variables: object.update.context.clone(),
                share: self.known(),
                artifacts: self.artifacts(),
                custom: object.update.custom.clone(),
                report: object.report(),
                ..PassContext::default()
            },
            validation: Default::default(),
            return_protocol: back,
            audit: self.audit(),
            routing: Default::default(),
            matched: Default::default(),
            step: None,
        }))
    }

    /// The variables that the sender may see: whoever goes on for it sees as much, and no more.
    fn known(&self) -> Vec<VariableName> {
        let brought = self.hold.handoff.and_then(|id| self.workflow.handoffs.get(&id));
        let shared = brought.and_then(|handoff| handoff.terms.shared.as_ref());
        let seen = |name: &&VariableName| shared.is_none_or(|names| names.contains(name));
        self.workflow.variables.iter().map(|(name, _)| name).filter(seen).cloned().collect()
    }

    /// What the audit should know of a pass.
    fn audit(&self) -> PassAudit {
        PassAudit { used: self.used(), ..PassAudit::default() }
    }

    /// What the sender used.
    fn used(&self) -> Option<Used> {
        let tokens_consumed = Some(self.tokens()?);
        Some(Used { tokens_consumed, ..Used::default() })
    }

    /// Tokens that the sender used.
    fn tokens(&self) -> Option<u64> {
        self.goto.object.update.metrics.tokens_used
    }

    fn updates(&self) -> ContextUpdates {
        ContextUpdates {
            variables_changed: self.goto.object.update.context.clone(),
            artifacts_produced: self.artifacts(),
            report: self.goto.object.report(),
        }
    }

    /// The products that the work does not know yet: objects name what was made before again and
    /// again, and what is not made yet.
    fn artifacts(&self) -> Vec<Produced> {
        let named = &self.goto.object.update.artifacts;
        let made = named.iter().filter_map(|(name, path)| Some((name.text(), path.clone()?)));
        let made = made.map(|(description, path)| Produced {
            kind: Default::default(),
            path,
            description,
            status: Default::default(),
        });
        let is_new = |new: &Produced| {
            let mut known = self.workflow.artifacts.values().map(|known| &known.produced);
            !known.any(|known| (&known.path, &known.description) == (&new.path, &new.description))
        };
        made.filter(is_new).collect()
    }

    /// The words under the first of these keys that has any.
    fn words(&self, keys: &[&str]) -> Option<Text> {
        let custom = &self.goto.object.update.custom;
        keys.iter().find_map(|key| custom.words(key)?.parse().ok())
    }

    /// How long what is sent out may take: as the object says, but not longer than the sender has.
    fn within(&self) -> Allowance {
        let asked = self.goto.object.timeout;
        match (asked, self.left()) {
            (Some(asked), Some(left)) => asked.min(left),
            (Some(span), None) | (None, Some(span)) => span,
            (None, None) => GOTO_WITHIN,
        }
    }

    /// How long the sender still has, if there is a limit.
    fn left(&self) -> Option<Allowance> {
        let brought = self.hold.handoff.and_then(|id| self.workflow.handoffs.get(&id));
        let due = match brought.map(|handoff| &handoff.state) {
            Some(State::Accepted { due: Some(Due::Return(at) | Due::Timeout(at)), .. }) => {
                Some(*at)
            }
            Some(_) | None => None,
        };
        due.or(self.hold.due).map(|at| Allowance::until(at, self.now))
    }
}
