//! Judging what is asked by the rules of the policy, before it is decided.
//!
//! What a rule says of a handoff is found on the states that decide it, at the same moment, and
//! goes into the record: nobody who reads the record has to judge again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use baton_protocol::command::{Command, Submission};
use baton_protocol::event::{Decision, Event, StreamId};
use baton_protocol::handoff::{Kind, Terms};
use baton_protocol::id::{AgentId, CapabilityId};
use baton_protocol::policy::{ApprovalRule, Matched, Policy};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::Timestamp;
use baton_protocol::{World, decide, plain};

use crate::rules::{Facts, Rule, RuleError};

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
    fn matched(&self, world: &World, facts: &Facts, now: Timestamp) -> Option<Matched> {
        let mut first = None;
        for (rule, read) in &self.0 {
            let why = match read.as_ref().map_err(Clone::clone).and_then(|read| read.holds(facts)) {
                Ok(false) => continue,
                Ok(true) => rule.when.clone(),
                // What cannot be told needs a person more than anything else.
                Err(error) => error.to_string().parse().unwrap_or_else(|_| rule.when.clone()),
            };
            let found = Matched {
                rule: rule.name.clone(),
                why,
                timeout: rule.timeout,
                unanswered: rule.unanswered,
                denied: rule.denied,
            };
            if !stands(world, &rule.name, now) {
                return Some(found);
            }
            first = first.or(Some(found));
        }
        first
    }
}

/// Refuses a policy that has too much of something, or a rule that cannot be read.
pub fn check_policy(policy: &Policy) -> Result<(), Refusal> {
    policy.check()?;
    for rule in &policy.approval {
        if let Err(error) = Rule::compile(rule.when.as_str()) {
            let (rule, why) = (rule.name.clone(), error.to_string());
            return Err(Refusal::BadRule { rule, why });
        }
    }
    Ok(())
}

/// Remembers the rules of the policy that is in force.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    latest: Mutex<Option<Arc<Rules>>>,
}

impl Judge {
    /// Decides what `ask` leads to, with what the rules of the world's policy say of it.
    pub(crate) fn decide(
        &self,
        world: &World,
        ask: &Submission,
        now: Timestamp,
    ) -> Result<Decision, Refusal> {
        match world.policy.approval.is_empty() {
            true => decide(world, ask, now),
            false => decided(&self.rules(&world.policy), world, ask, now),
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
/// on what terms; if a rule holds for these, it is decided again with what was found.
pub(crate) fn decided(
    rules: &Rules,
    world: &World,
    ask: &Submission,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    // A command object is judged as what it comes to.
    let ask = plain(world, ask, now)?;
    let decision = decide(world, &ask, now)?;
    let Command::Pass(pass) = &ask.command else { return Ok(decision) };
    let matched = judged(rules, world, &decision, now);
    if matched == pass.matched {
        return Ok(decision);
    }
    let mut ask = ask.into_owned();
    if let Command::Pass(pass) = &mut ask.command {
        pass.matched = matched;
    }
    decide(world, &ask, now)
}

/// What the rules say of the handoffs that a decision would begin, by who would get them.
fn judged(
    rules: &Rules,
    world: &World,
    decision: &Decision,
    now: Timestamp,
) -> BTreeMap<AgentId, Matched> {
    let begun = decision.events.iter().filter_map(|event| match event {
        Event::Initiated { terms, .. } => Some(terms),
        _ => None,
    });
    let mut judged: BTreeMap<AgentId, Matched> = BTreeMap::new();
    for terms in begun {
        match terms.kind {
            Kind::Sequential | Kind::Delegation(_) | Kind::Broadcast(_) => (),
            // A question to somebody above is how a person gets to hear of something.
            Kind::Escalation(_) => continue,
        }
        let Some(found) = rules.matched(world, &facts(world, decision, terms), now) else {
            continue;
        };
        // One agent may get several tasks; what nobody has answered for good asks for all of them.
        match judged.get(&terms.to_agent) {
            Some(known) if !stands(world, &known.rule, now) => (),
            Some(_) | None => drop(judged.insert(terms.to_agent.clone(), found)),
        }
    }
    judged
}

/// Whether a person said that this rule need not ask for now.
fn stands(world: &World, rule: &CapabilityId, now: Timestamp) -> bool {
    world.standing.get(rule).is_some_and(|until| *until > now)
}

/// What is known of a handoff that a decision would begin.
fn facts(world: &World, decision: &Decision, terms: &Terms) -> Facts {
    let workflow = match &decision.stream {
        StreamId::Workflow(id) => world.workflows.get(id),
        StreamId::Agent(_) | StreamId::Workspace => None,
    };
    let begins = decision.events.iter().find_map(|event| match event {
        Event::Started { title, .. } => Some(title),
        _ => None,
    });
    // What travels with a broadcast is recorded with its first copy, and goes to all.
    let artifacts = decision.events.iter().flat_map(|event| match event {
        Event::Initiated { artifacts, .. } => artifacts.as_slice(),
        _ => &[],
    });
    let mut paths: Vec<String> =
        artifacts.map(|artifact| artifact.produced.path.to_string()).collect();
    let held = workflow.and_then(|workflow| workflow.holds.get(&terms.parent));
    let locked = held.into_iter().flat_map(|hold| &hold.locks);
    paths.extend(locked.map(ToString::to_string));
    let capabilities = terms.required_capabilities.iter();
    let cost = terms.constraints.cost.unwrap_or_default();
    Facts {
        risk: terms.risk_level,
        from: terms.from_agent.to_string(),
        to: terms.to_agent.to_string(),
        role_of_to: world.agents.get(&terms.to_agent).map(|agent| agent.profile.role),
        kind: terms.kind.word(),
        priority: terms.priority,
        reason: terms.reason.to_string(),
        task: terms.task.as_ref().map(ToString::to_string).unwrap_or_default(),
        tokens: terms.constraints.budget.unwrap_or(0),
        cost: f64::from(cost),
        paths,
        capabilities: capabilities.map(|one| one.capability_id.to_string()).collect(),
        handoffs: workflow.map_or(0, |workflow| workflow.handoffs.len() as u64),
        workflow: workflow
            .map(|w| &w.title)
            .or(begins)
            .map(ToString::to_string)
            .unwrap_or_default(),
    }
}
