//! Judging what is asked by the rules of the policy, before it is decided.
//!
//! What a rule says of a handoff is found on the states that decide it, at the same moment, and
//! goes into the record: nobody who reads the record has to judge again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use baton_protocol::command::{Command, Submission};
use baton_protocol::event::{Decision, Event, StreamId};
use baton_protocol::handoff::{Kind, Terms};
use baton_protocol::id::AgentId;
use baton_protocol::limits::POLICY_STEPS_MAX;
use baton_protocol::policy::{ApprovalRule, Matched, Policy};
use baton_protocol::refusal::Refusal;
use baton_protocol::text::Text;
use baton_protocol::time::Timestamp;
use baton_protocol::workflow::Workflow;
use baton_protocol::{Moves, World, asked_again, decide, plain, stirred};
use baton_rules::approval::{Facts, Rule, RuleError};
use serde_json::Value;

use crate::machine::Machines;

/// The approval rules of a policy, read once.
#[derive(Debug)]
pub(crate) struct Rules(Vec<(ApprovalRule, Result<Rule, RuleError>)>);

impl Rules {
    /// Reads the rules. One that cannot be read is kept as such: it holds for everything.
    pub(crate) fn of(policy: &Policy) -> Self {
        let read = |rule: &ApprovalRule| (rule.clone(), Rule::compile(rule.when.as_str()));
        Self(policy.approval.iter().map(read).collect())
    }

    fn are_of(&self, policy: &Policy) -> bool {
        self.0.iter().map(|(rule, _)| rule).eq(&policy.approval)
    }

    /// The rule by which a handoff waits: the first that holds and that no person has answered for
    /// good, or else the first that holds.
    fn matched(
        &self,
        world: &World,
        facts: &Facts,
        known: &mut Known,
        now: Timestamp,
    ) -> Option<Matched> {
        let mut first = None;
        for (n, (rule, read)) in self.0.iter().enumerate() {
            let why = match read {
                Ok(same) if !same.varies() => {
                    known.entry(n).or_insert_with(|| held(rule, read, facts)).clone()
                }
                Ok(_) | Err(_) => held(rule, read, facts),
            };
            let Some(why) = why else { continue };
            let found = found(rule, why);
            if world.stands(&rule.name, now).is_none() {
                return Some(found);
            }
            first = first.or(Some(found));
        }
        first
    }

    /// The rule by which a handoff that goes to another agent waits: the first that nobody has
    /// answered for good and that holds for whoever gets it, and not for whoever had it. What held
    /// for that one was asked about when that one got it.
    fn moved(
        &self,
        world: &World,
        decision: &Decision,
        moves: Moves<'_>,
        now: Timestamp,
    ) -> Option<Matched> {
        if !is_judged(moves.terms) {
            return None;
        }
        let mut had = facts(world, decision, moves.terms);
        is_for(&mut had, world, moves.from);
        let mut gets = had.clone();
        is_for(&mut gets, world, moves.to);
        let asks = self.0.iter().filter(|(rule, _)| world.stands(&rule.name, now).is_none());
        asks.filter_map(|(rule, read)| Some((rule, read, held(rule, read, &gets)?)))
            .find(|(rule, read, _)| held(rule, read, &had).is_none())
            .map(|(rule, _, why)| found(rule, why))
    }
}

/// What rules that say the same of all recipients came to, by their place.
type Known = BTreeMap<usize, Option<Text>>;

/// Why a rule holds, if it does. What cannot be told needs a person more than anything else.
fn held(rule: &ApprovalRule, read: &Result<Rule, RuleError>, facts: &Facts) -> Option<Text> {
    match read.as_ref().map_err(Clone::clone).and_then(|read| read.holds(facts)) {
        Ok(false) => None,
        Ok(true) => Some(rule.when.clone()),
        Err(error) => Some(error.to_string().parse().unwrap_or_else(|_| rule.when.clone())),
    }
}

fn found(rule: &ApprovalRule, why: Text) -> Matched {
    Matched {
        rule: rule.name.clone(),
        why,
        timeout: rule.timeout,
        unanswered: rule.unanswered,
        denied: rule.denied,
    }
}

/// Refuses a policy that has too much of something, or a rule that cannot be read.
pub fn check_policy(policy: &Policy) -> Result<(), Refusal> {
    policy.check()?;
    let mut steps = 0_usize;
    for rule in &policy.approval {
        match Rule::compile(rule.when.as_str()) {
            Ok(read) => steps = steps.saturating_add(read.steps()),
            Err(error) => {
                let (rule, why) = (rule.name.clone(), error.to_string());
                return Err(Refusal::BadRule { rule, why });
            }
        }
    }
    match steps > POLICY_STEPS_MAX {
        true => Err(Refusal::TooMany { what: "steps of all rules", most: POLICY_STEPS_MAX }),
        false => Ok(()),
    }
}

/// Remembers the rules of the policy that is in force.
#[derive(Default)]
pub(crate) struct Judge {
    latest: Mutex<Option<Arc<Rules>>>,
    pub(crate) machines: Machines,
}

impl Judge {
    /// Decides what `ask` leads to, with what the rules of the world's policy and of the work's
    /// definition say of it. `given` is a result that was too large for a record.
    pub(crate) fn decide(
        &self,
        world: &World,
        ask: &Submission,
        given: Option<&Value>,
        now: Timestamp,
    ) -> Result<Decision, Refusal> {
        // A command object is judged as what it comes to.
        let ask = plain(world, ask, now)?;
        let free = world.policy.approval.is_empty();
        if let Some(work) = stirred(world, &ask, now)? {
            let approval = |decision: &Decision| match free {
                true => BTreeMap::new(),
                false => judged(&self.rules(&world.policy), world, decision, now),
            };
            return self.machines.advanced((world, now), &ask, &work, given, approval);
        }
        match free {
            true => decide(world, &ask, now),
            false => decided(&self.rules(&world.policy), world, &ask, now),
        }
    }

    fn rules(&self, policy: &Policy) -> Arc<Rules> {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = latest.as_ref().filter(|known| known.are_of(policy)) {
            return known.clone();
        }
        let rules = Arc::new(Rules::of(policy));
        *latest = Some(rules.clone());
        rules
    }
}

/// Decides what `ask` leads to. A pass is decided once without rules, which tells who gets it and
/// on what terms; if a rule holds for these, it is decided again with what was found. Whatever is
/// asked, a handoff that goes to another agent by it is judged for that one.
pub(crate) fn decided(
    rules: &Rules,
    world: &World,
    ask: &Submission,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    // A command object is judged as what it comes to.
    let mut ask = plain(world, ask, now)?;
    let mut decision = decide(world, &ask, now)?;
    if let Command::Pass(pass) = &ask.command {
        let matched = judged(rules, world, &decision, now);
        if matched != pass.matched {
            if let Command::Pass(pass) = &mut ask.to_mut().command {
                pass.matched = matched;
            }
            decision = decide(world, &ask, now)?;
        }
    }
    let judge = |decision: &Decision, moves: Moves<'_>| rules.moved(world, decision, moves, now);
    Ok(asked_again(world, decision, now, judge))
}

/// What the rules say of the handoffs that a decision would begin, by who would get them.
fn judged(
    rules: &Rules,
    world: &World,
    decision: &Decision,
    now: Timestamp,
) -> BTreeMap<AgentId, Matched> {
    let begun = decision.events.iter().filter_map(begun).filter(|terms| is_judged(terms));
    let mut judged: BTreeMap<AgentId, Matched> = BTreeMap::new();
    // Most of it is the same for all, and may be long.
    let (mut shared, mut known): (Option<Facts>, Known) = Default::default();
    for terms in begun {
        let facts = shared.get_or_insert_with(|| facts(world, decision, terms));
        is_for(facts, world, &terms.to_agent);
        facts.task = task(terms);
        let Some(found) = rules.matched(world, facts, &mut known, now) else { continue };
        // One agent may get several tasks; what nobody has answered for good asks for all of them.
        match judged.get(&terms.to_agent) {
            Some(known) if world.stands(&known.rule, now).is_none() => (),
            Some(_) | None => drop(judged.insert(terms.to_agent.clone(), found)),
        }
    }
    judged
}

fn begun(event: &Event) -> Option<&Terms> {
    let Event::Initiated { terms, .. } = event else { return None };
    Some(terms)
}

/// Whether rules are about such a handoff. A question to somebody above is how a person gets to
/// hear of something.
fn is_judged(terms: &Terms) -> bool {
    match terms.kind {
        Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => true,
        Kind::Escalation(_) => false,
    }
}

fn task(terms: &Terms) -> String {
    terms.task.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// What is known of a handoff that a decision begins, or sends to another agent.
fn facts(world: &World, decision: &Decision, terms: &Terms) -> Facts {
    let workflow = match &decision.stream {
        StreamId::Workflow(id) => world.workflows.get(id),
        StreamId::Agent(_) | StreamId::Workspace => None,
    };
    let begins = decision.events.iter().find_map(|event| {
        let Event::Started { title, .. } = event else { return None };
        Some(title)
    });
    let title = workflow.map(|workflow| &workflow.title).or(begins);
    let capabilities = terms.required_capabilities.iter();
    let cost = terms.constraints.cost.unwrap_or_default();
    let mut facts = Facts {
        risk: terms.risk_level,
        from: terms.from_agent.to_string(),
        to: String::new(),
        role_of_to: None,
        kind: terms.kind.word(),
        priority: terms.priority,
        reason: terms.reason.to_string(),
        task: task(terms),
        tokens: terms.constraints.budget.unwrap_or(0),
        cost: f64::from(cost),
        paths: paths(workflow, decision, terms),
        capabilities: capabilities.map(|one| one.capability_id.to_string()).collect(),
        handoffs: workflow.map_or(0, |workflow| workflow.handoffs.len() as u64),
        workflow: title.map(ToString::to_string).unwrap_or_default(),
    };
    is_for(&mut facts, world, &terms.to_agent);
    facts
}

/// The files that go along with a handoff, those of before among them, and that its sender has
/// locked.
fn paths(workflow: Option<&Workflow>, decision: &Decision, terms: &Terms) -> Vec<String> {
    // What travels with a broadcast is recorded with its first copy, and goes to all.
    let named = decision.events.iter().flat_map(|event| {
        let Event::Initiated { artifacts, .. } = event else { return [].as_slice() };
        artifacts.as_slice()
    });
    let before = workflow.into_iter().flat_map(|known| known.artifacts.values());
    let held = workflow.and_then(|workflow| workflow.holds.get(&terms.parent));
    let locked = held.into_iter().flat_map(|hold| &hold.locks).map(ToString::to_string);
    let files = named.chain(before).map(|artifact| artifact.produced.path.to_string());
    files.chain(locked).collect()
}

/// Makes these the facts for another receiver.
fn is_for(facts: &mut Facts, world: &World, to: &AgentId) {
    facts.to = to.to_string();
    facts.role_of_to = world.agents.get(to).map(|agent| agent.profile.role);
}
