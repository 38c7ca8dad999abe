//! What a rule about a handoff sees.

use baton_protocol::agent::{Risk, Role};
use baton_protocol::handoff::Priority;
use baton_protocol::limits::RULE_LIST_MAX;
use cel::{Context, Value};

use super::RuleError;
use super::check::Uses;

/// The names that a rule may use, in the order in which people read them.
pub const KNOWN: [&str; 15] = [
    "risk",
    "risk_level",
    "from",
    "to",
    "role_of_to",
    "type",
    "priority",
    "reason",
    "task",
    "tokens",
    "cost",
    "paths",
    "capabilities",
    "handoffs",
    "workflow",
];

/// What is not the same for all recipients of a broadcast.
pub(super) const OF_ONE: [&str; 3] = ["to", "role_of_to", "task"];

/// Whether this fact is a list.
pub(super) fn is_list(fact: &str) -> bool {
    matches!(fact, "paths" | "capabilities")
}

/// Whether this fact is a text that others write.
pub(super) fn is_text(fact: &str) -> bool {
    matches!(fact, "reason" | "task" | "workflow")
}

/// What is known of a handoff that is about to begin.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// How much can go wrong: `risk`, and `risk_level` as a number from 1.
    pub risk: Risk,
    /// Who passes.
    pub from: String,
    /// To whom; empty where nobody is known yet.
    pub to: String,
    /// What that agent is; empty where nobody is known yet.
    pub role_of_to: Option<Role>,
    /// How it is passed: `type`.
    pub kind: &'static str,
    /// How urgent it is.
    pub priority: Priority,
    /// Why.
    pub reason: String,
    /// The subtask; empty when the whole work moves.
    pub task: String,
    /// Tokens that it may use; 0 when it asks for no budget.
    pub tokens: u64,
    /// What it may cost; 0 when it says nothing.
    pub cost: f64,
    /// Files: artifacts that it names, and what the sender has locked.
    pub paths: Vec<String>,
    /// What the receiver must be able to do.
    pub capabilities: Vec<String>,
    /// Handoffs of the workflow so far.
    pub handoffs: u64,
    /// The workflow's title.
    pub workflow: String,
}

impl Facts {
    /// Facts of every kind there is, to try a rule on.
    pub(super) fn sample() -> Self {
        Self {
            risk: Risk::High,
            from: "planner".to_owned(),
            to: "builder".to_owned(),
            role_of_to: Some(Role::Worker),
            kind: "sequential",
            priority: Priority::Normal,
            reason: "a reason".to_owned(),
            task: "a task".to_owned(),
            tokens: 1_000,
            cost: 1.5,
            paths: vec!["src/main.rs".to_owned()],
            capabilities: vec!["rust".to_owned()],
            handoffs: 1,
            workflow: "a title".to_owned(),
        }
    }

    /// Refuses lists that are longer than was reckoned with.
    pub(super) fn bounded(&self, uses: &Uses) -> Result<(), RuleError> {
        for (what, list) in [("paths", &self.paths), ("capabilities", &self.capabilities)] {
            if uses.contains(what) && list.len() > RULE_LIST_MAX {
                let (found, most) = (list.len(), RULE_LIST_MAX);
                return Err(RuleError::TooMuch { what, found, most });
            }
        }
        Ok(())
    }

    /// Makes known what the rule uses.
    pub(super) fn fill(&self, context: &mut Context<'_, '_>, uses: &Uses) {
        for name in uses {
            let value = match *name {
                "risk" => word(&self.risk),
                "risk_level" => Value::Int(level(self.risk)),
                "from" => text(&self.from),
                "to" => text(&self.to),
                "role_of_to" => self.role_of_to.as_ref().map_or_else(|| text(""), word),
                "type" => text(self.kind),
                "priority" => text(&self.priority.to_string()),
                "reason" => text(&self.reason),
                "task" => text(&self.task),
                // Left to itself the interpreter makes them unsigned, and `tokens + 1` fails.
                "tokens" => Value::Int(signed(self.tokens)),
                "handoffs" => Value::Int(signed(self.handoffs)),
                "cost" => Value::Float(self.cost),
                "paths" => list(&self.paths),
                "capabilities" => list(&self.capabilities),
                "workflow" => text(&self.workflow),
                other => unreachable!("{other} is not among the known"),
            };
            context.add_variable_from_value(*name, value);
        }
    }
}

fn level(risk: Risk) -> i64 {
    match risk {
        Risk::Low => 1,
        Risk::Medium => 2,
        Risk::High => 3,
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn text(text: &str) -> Value {
    Value::from(text)
}

/// The word that the protocol writes for it.
fn word(value: &impl serde::Serialize) -> Value {
    let word = serde_json::to_value(value).unwrap_or_default();
    text(word.as_str().unwrap_or_default())
}

fn list(texts: &[String]) -> Value {
    let all: Vec<Value> = texts.iter().map(|one| text(one)).collect();
    Value::from(all)
}
