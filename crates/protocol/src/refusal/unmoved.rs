//! Why work with a definition does not move, or does not begin.

use super::words::listed;
use crate::definition::{DefinitionId, RuleId, SignalName, StateName, Tried};
use crate::id::WorkflowId;

/// Why work with a definition does not move, or does not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unmoved {
    /// There is no such definition.
    #[error("there is no definition {name}")]
    UnknownDefinition {
        /// Its name, with the version if one was asked for.
        name: String,
    },
    /// The work follows no definition.
    #[error("workflow {workflow} follows no definition, so it has no states")]
    WithoutDefinition {
        /// Which one.
        workflow: WorkflowId,
    },
    /// Another text is known under that version.
    #[error("{definition} is known already, and says something else")]
    VersionTaken {
        /// Which one.
        definition: DefinitionId,
    },
    /// A definition that does not hold together.
    #[error("{definition} does not hold together: {why}")]
    BadDefinition {
        /// Which one.
        definition: DefinitionId,
        /// What is wrong first.
        why: String,
    },
    /// No rule holds for what came.
    #[error("no rule of {definition} holds for {signal} in {state}{}", tried_words(tried))]
    NoRuleHolds {
        /// Whose rules.
        definition: DefinitionId,
        /// In which state.
        state: StateName,
        /// The signal.
        signal: SignalName,
        /// The rules that were looked at, and what each saw.
        tried: Vec<Tried>,
    },
    /// A rule cannot be judged, or makes something that does not fit.
    #[error("rule {rule} of {definition}: {why}")]
    RuleBroken {
        /// Whose rule.
        definition: DefinitionId,
        /// Which one.
        rule: RuleId,
        /// Why.
        why: String,
    },
    /// The state does not follow.
    #[error("{from} does not lead to {to}; from {from} it goes to {}", listed(allowed))]
    UndeclaredTransition {
        /// Where the work is.
        from: StateName,
        /// Where it was to go.
        to: StateName,
        /// Where it may go.
        allowed: Vec<StateName>,
    },
    /// The signal brings nothing about where the work is.
    #[error("{signal} brings nothing about in {state} of {definition}")]
    UnheardSignal {
        /// Whose signals.
        definition: DefinitionId,
        /// Where the work is.
        state: StateName,
        /// What was asked.
        signal: SignalName,
        /// The signals that mean something in this state.
        known: Vec<SignalName>,
    },
    /// What the state waits for is not there yet.
    #[error("{state} waits until {until}; it saw {saw}")]
    StillWaiting {
        /// Which state.
        state: StateName,
        /// The condition.
        until: String,
        /// What it saw.
        saw: String,
    },
    /// Agents do not choose who goes on.
    #[error("the rules of {definition} decide who goes on from {state}")]
    RulesDecide {
        /// Whose rules.
        definition: DefinitionId,
        /// Where the work is.
        state: StateName,
    },
}

impl Unmoved {
    /// The next step for whoever was refused.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::UnknownDefinition { .. } => {
                "`baton workflow list` shows them; `baton workflow define FILE` adds one".into()
            }
            Self::WithoutDefinition { .. } => {
                "`baton pass` and `baton complete` say where such work goes".into()
            }
            Self::VersionTaken { definition } => {
                format!("give the file `version: {}`", definition.version.saturating_add(1))
            }
            Self::BadDefinition { .. } => "`baton workflow check FILE` shows every place".into(),
            Self::NoRuleHolds { .. } => {
                "correct the result, or say `baton fail` if there is none".into()
            }
            Self::RuleBroken { .. } => {
                "correct the result; `baton workflow test` tries rules without agents".into()
            }
            Self::UndeclaredTransition { .. } => {
                "choose one of these, or declare it under `transitions` in a new version".into()
            }
            Self::UnheardSignal { known, .. } if known.is_empty() => {
                "it waits for no signal there; `baton show ID` tells where it is".into()
            }
            Self::UnheardSignal { known, .. } => format!("there it hears {}", listed(known)),
            Self::StillWaiting { .. } => {
                "write what is missing with `baton vars`, then it goes on by itself".into()
            }
            Self::RulesDecide { .. } => {
                "report the result with `baton complete`; a person can `baton workflow move` it"
                    .into()
            }
        }
    }
}

/// What was looked at, rule by rule.
fn tried_words(tried: &[Tried]) -> String {
    if tried.is_empty() {
        return "; none is about that".to_owned();
    }
    let each = |one: &Tried| format!("\n  {}: {} (saw {})", one.rule, one.when, one.saw);
    format!("; tried were{}", tried.iter().map(each).collect::<String>())
}
