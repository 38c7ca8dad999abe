//! The rules of a workspace that its operator sets: what agents may use, what waits for a person,
//! when an agent is left alone, and what tokens cost.
//!
//! It is recorded like everything else, so a decision can be repeated under the rules of its day.

mod approval;
mod breaker;
mod class;
mod money;

pub use approval::{ApprovalRule, Matched, OnDenied, Unanswered};
pub use breaker::{Breaker, BreakerRules};
pub use class::{Asked, Class, Classes, Effort, classify};
pub use money::{ModelName, ModelNameError, Money, MoneyError, Price, Usage};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::limits::{
    ALLOWED_CHECKS_MAX, APPROVAL_RULES_MAX, HANDOFFS_ALLOWED_MAX, HANDOFFS_PER_WORKFLOW,
    NOTIFIERS_MAX, PRICES_MAX,
};
use crate::reach::{Argv, Url};
use crate::refusal::Refusal;

/// The rules of a workspace.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Whether agents may pass work on at all.
    pub mode: Mode,
    /// Handoffs that the agents of one workflow may begin, where no class says otherwise.
    pub max_handoffs: u32,
    /// What work of each class may use.
    pub classes: Classes,
    /// When an agent gets no new work for a while.
    pub breaker: BreakerRules,
    /// Which handoffs wait for a person.
    pub approval: Vec<ApprovalRule>,
    /// Whether a person may approve what it passed on itself. Who works alone has to.
    pub approve_own: bool,
    /// What a million tokens of each model cost.
    pub prices: BTreeMap<ModelName, Price>,
    /// Who is told when something waits for a person.
    pub notify: Vec<Notifier>,
    /// Commands that agents may ask to have run as checks. Operators may ask for any: a check runs
    /// as the coordinator does.
    pub checks: Vec<Argv>,
}

/// Whether agents may pass work on.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// They may.
    #[default]
    Handoffs,
    /// Each does its own work, unless a workflow enables handoffs.
    Independent,
}

/// How people are told that something waits for them.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Notifier {
    /// A program that is started; the words are its last argument.
    Command(Argv),
    /// An address that is called.
    Url(Url),
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            max_handoffs: HANDOFFS_PER_WORKFLOW,
            classes: Classes::default(),
            breaker: BreakerRules::default(),
            approval: Vec::new(),
            approve_own: false,
            prices: BTreeMap::new(),
            notify: Vec::new(),
            checks: Vec::new(),
        }
    }
}

impl Policy {
    /// Refuses rules that are too many, or of which two have one name.
    pub fn check(&self) -> Result<(), Refusal> {
        let most = [
            ("approval rules", self.approval.len(), APPROVAL_RULES_MAX),
            ("prices", self.prices.len(), PRICES_MAX),
            ("notifiers", self.notify.len(), NOTIFIERS_MAX),
            ("checks", self.checks.len(), ALLOWED_CHECKS_MAX),
        ];
        if self.max_handoffs > HANDOFFS_ALLOWED_MAX {
            let most = HANDOFFS_ALLOWED_MAX as usize;
            return Err(Refusal::TooMany { what: "handoffs of a workflow", most });
        }
        if let Some((what, _, most)) = most.into_iter().find(|(_, found, most)| found > most) {
            return Err(Refusal::TooMany { what, most });
        }
        for (n, rule) in self.approval.iter().enumerate() {
            if self.approval[..n].iter().any(|other| other.name == rule.name) {
                return Err(Refusal::RuleTwice { rule: rule.name.clone() });
            }
        }
        Ok(())
    }

    /// What `tokens` cost, if there is a price for the model that used them.
    ///
    /// Without a model, or one that has no price, the dearest price there is counts: a limit that
    /// can be passed by leaving out a name is none.
    pub fn cost(&self, tokens: u64, output: Option<u64>, model: Option<&ModelName>) -> Money {
        match model.and_then(|model| self.prices.get(model)) {
            Some(price) => price.of(tokens, output),
            None => {
                let dearest = self.prices.values().map(|price| price.of(tokens, output));
                dearest.max().unwrap_or_default()
            }
        }
    }
}
