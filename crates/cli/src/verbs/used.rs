//! What a holder says it used: the same options on every verb that takes them.

use baton_protocol::command;
use baton_protocol::policy::ModelName;
use clap::Args;

/// What was used.
#[derive(Debug, Args)]
#[command(next_help_heading = "What it used")]
pub(crate) struct Used {
    /// Tokens that it cost
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u64>,
    /// Those of them that the model wrote
    #[arg(long, value_name = "N", requires = "tokens")]
    pub(crate) output_tokens: Option<u64>,
    /// The model, for its price
    #[arg(long, value_name = "NAME", requires = "tokens")]
    pub(crate) model: Option<ModelName>,
}

impl Used {
    /// As a command says it; nothing if nothing was said.
    pub(crate) fn said(self) -> Option<command::Used> {
        let tokens_consumed = Some(self.tokens?);
        let (output_tokens, model) = (self.output_tokens, self.model);
        Some(command::Used { tokens_consumed, output_tokens, model })
    }
}
