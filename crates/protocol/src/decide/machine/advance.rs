//! What becomes of work that something stirred: what was said and what the rules came to decide
//! together whether it goes on, fails or stays where it is.

use std::collections::BTreeMap;

use super::choice::Choice;
use super::{Said, Stirred};
use crate::command::{Command, Submission};
use crate::definition::{StateName, Verdict};
use crate::event::Decision;
use crate::id::AgentId;
use crate::limits::MOVES_AT_ONCE_MAX;
use crate::machine::{ErrorReport, fixed};
use crate::policy::Matched;
use crate::refusal::{Refusal, Unmoved};
use crate::time::Timestamp;
use crate::world::World;

/// What was judged before a move is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What the definition's rules came to.
    pub verdict: Verdict,
    /// The policy's rules by which the handoff waits for a person.
    pub matched: BTreeMap<AgentId, Matched>,
}

/// Decides what becomes of work with a definition.
pub fn advance(
    world: &World,
    ask: &Submission,
    work: &Stirred<'_>,
    judged: &Judged,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    let go = Go { world, ask, work, matched: &judged.matched, now };
    let definition = || work.machine.definition.clone();
    let state = || work.machine.state.clone();
    match (&work.said, &judged.verdict) {
        (Said::Begins, _) => go.again(&go.first()?),
        (Said::Person(to), _) => go.to(&Choice::of_person(to)),
        (Said::Waited, _) if depth(ask) >= MOVES_AT_ONCE_MAX => {
            let words = format!("{MOVES_AT_ONCE_MAX} moves followed from each other at once");
            go.fails(ErrorReport::found("endless_moves", &words, false), None)
        }
        (_, Verdict::Chosen(chosen)) if chosen.to == Some(AgentId::error_monitor()) => {
            go.fails(go.error(&chosen.reason), Some(chosen))
        }
        (Said::Retry(_), Verdict::Chosen(chosen)) => go.again(&Choice::of_rule(chosen)),
        (Said::Waited | Said::TimeUp(_), Verdict::Chosen(chosen)) => {
            go.again(&Choice::of_rule(chosen))
        }
        (_, Verdict::Chosen(chosen)) => go.to(&Choice::of_rule(chosen)),
        (Said::Retry(failure), Verdict::None { .. }) => {
            let words = format!("try {} again: {}", failure.state, failure.error.error_message);
            let short: String = words.chars().take(1_000).collect();
            let reason = short.parse().unwrap_or_else(|_| fixed("try again"));
            go.again(&Choice::plain(go.back_to(&failure.back_to), reason))
        }
        (Said::Failed(_) | Said::TimeUp(_), Verdict::None { .. }) => {
            go.fails(go.error(&fixed("a step failed")), None)
        }
        // Nobody is there who could correct it.
        (Said::Retry(_) | Said::Failed(_) | Said::TimeUp(_), Verdict::Broken { rule, why }) => {
            let error = go.error(&fixed("a step failed"));
            let words = format!("rule {rule}: {why} (after {})", error.error_message);
            go.fails(ErrorReport::found("rule_broken", &words, false), None)
        }
        (Said::Waited, Verdict::Broken { rule, why }) => {
            let words = format!("rule {rule}: {why}");
            go.fails(ErrorReport::found("rule_broken", &words, false), None)
        }
        (Said::Waited, Verdict::None { .. }) => {
            let words = format!("no rule holds for {} in {}", work.signal, work.machine.state);
            go.fails(ErrorReport::found("no_rule_holds", &words, false), None)
        }
        (Said::Done(_) | Said::Signal(_), Verdict::Broken { rule, why }) => {
            let (rule, why) = (rule.clone(), why.to_string());
            Err(Unmoved::RuleBroken { definition: definition(), rule, why }.into())
        }
        (Said::Done(_) | Said::Signal(_), Verdict::None { tried }) => {
            let (signal, tried) = (work.signal.clone(), tried.clone());
            let (definition, state) = (definition(), state());
            Err(Unmoved::NoRuleHolds { definition, state, signal, tried }.into())
        }
    }
}

/// How many moves went before that followed from each other.
fn depth(ask: &Submission) -> usize {
    match &ask.command {
        Command::Stir(stir) => stir.depth,
        _ => 0,
    }
}

/// One move that is being decided.
pub(super) struct Go<'a> {
    pub(super) world: &'a World,
    pub(super) ask: &'a Submission,
    pub(super) work: &'a Stirred<'a>,
    pub(super) matched: &'a BTreeMap<AgentId, Matched>,
    pub(super) now: Timestamp,
}

impl Go<'_> {
    /// Where work begins: the first state that somebody is responsible for.
    fn first(&self) -> Result<Choice, Refusal> {
        let definition = self.work.definition;
        let Some(first) = definition.first() else {
            let why = format!("no state after {} has an agent", definition.start);
            let definition = self.work.machine.definition.clone();
            return Err(Unmoved::BadDefinition { definition, why }.into());
        };
        Ok(Choice::plain(first, self.work.workflow.title.clone()))
    }

    /// Where trying again begins: nobody would do anything in a state that nobody is responsible
    /// for.
    fn back_to<'s>(&'s self, state: &'s StateName) -> &'s StateName {
        let definition = self.work.definition;
        let owned = definition.states.get(state).is_some_and(|spec| spec.agent.is_some());
        if owned { state } else { definition.first().unwrap_or(state) }
    }
}
