//! What a person decides about how work is guarded, and what a holder says when it goes on alone.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::course::Report;
use crate::id::{AgentId, Fence, HandoffId, WorkflowId};
use crate::limits::TOKENS_USED_MAX;
use crate::policy::{ModelName, Money};
use crate::text::Text;
use crate::time::Allowance;

/// Lets an agent have new work again at once.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResetBreaker {
    /// Who.
    pub agent: AgentId,
}

/// Says yes to a handoff that waits for a person.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// Which one.
    #[serde(alias = "handoff_id")]
    pub handoff: HandoffId,
    /// The hash of what the person saw. If it is something else by now, nothing is approved.
    pub hash: String,
    /// For how long its rule does not ask again; absent means it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remember: Option<Allowance>,
}

/// Says no to a handoff that waits for a person.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deny {
    /// Which one.
    #[serde(alias = "handoff_id")]
    pub handoff: HandoffId,
    /// Why.
    pub reason: Text,
}

/// Changes what a workflow may use. What is absent stays as it is.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetLimits {
    /// Which one.
    pub workflow: WorkflowId,
    /// Handoffs that agents begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoffs: Option<u32>,
    /// Agents that take part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<u32>,
    /// Tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Money>,
}

/// Says that a holder goes on alone, because passing on failed it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FallBack {
    /// Which work.
    pub workflow: WorkflowId,
    /// The holder's number. Only the operator may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Why.
    pub reason: Text,
}

/// What a holder says it used.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Used {
    /// Tokens in all.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "token_count")]
    pub tokens_consumed: Option<u64>,
    /// Those of them that the model wrote.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "token_count")]
    pub output_tokens: Option<u64>,
    /// Of which model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
}

/// How many tokens were used by all that is said of it, a report about the whole work included:
/// whatever says most counts, so that nobody stays below a limit by saying it elsewhere.
pub(crate) fn tokens_said(
    consumed: Option<u64>,
    output: Option<u64>,
    report: Option<&Report>,
) -> Option<u64> {
    let reported = report.and_then(|report| report.metrics.tokens_used);
    consumed.max(output).max(reported)
}

/// Reads how many tokens were used. Records are read without a limit: what is there has happened.
pub(super) fn token_count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let count = Option::<u64>::deserialize(from)?;
    match count.filter(|count| *count > TOKENS_USED_MAX) {
        Some(count) => {
            let words = format!("{count} tokens used; expected at most {TOKENS_USED_MAX}");
            Err(D::Error::custom(words))
        }
        None => Ok(count),
    }
}
