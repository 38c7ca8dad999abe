//! Credentials: a secret that is shown once, and the digest that stays.

use baton_protocol::agent::Token;
use baton_protocol::command::{Actor, Command, IssueToken, Submission};
use baton_protocol::event::Event;
use baton_protocol::id::{AgentId, CommandId, TokenId};
use baton_protocol::time::{Allowance, Timestamp};
use baton_store::{Hash, LedgerError, Scope};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use crate::engine::{Engine, SubmitError};

/// How every token begins, so that scanners and our own masking know one.
const PREFIX: &str = "bt1_";
const SECRET_BYTES: usize = 32;

/// A token as it is shown, once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewToken {
    /// The whole secret.
    pub token: String,
    /// Its name, for taking it away.
    pub id: TokenId,
    /// Whose it is.
    pub agent: AgentId,
    /// Until when, if it ends.
    pub expires_at: Option<Timestamp>,
}

impl Engine {
    /// Makes a token for an agent, if `actor` may.
    pub async fn create_token(
        &self,
        actor: Actor,
        agent: AgentId,
        span: Option<Allowance>,
    ) -> Result<NewToken, SubmitError> {
        let token = secret(&agent)?;
        let id = CommandId::from_key("token", &digest(&token));
        let issue = IssueToken { agent: agent.clone(), digest: digest(&token), span };
        let command = Command::IssueToken(issue);
        let answer = self.submit(Submission { id, actor, command }).await?;
        let expires_at = answer.events.iter().find_map(|event| match event {
            Event::TokenIssued { token } => token.expires_at,
            _ => None,
        });
        Ok(NewToken { token, id: id.token(), agent, expires_at })
    }

    /// Returns whose token this is, if it is one that is in force.
    pub async fn authenticate(&self, token: &str) -> Result<Option<AgentId>, LedgerError> {
        let name = token.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
        let Some(agent) = name.and_then(|(name, _)| name.parse::<AgentId>().ok()) else {
            return Ok(None);
        };
        let (shown, now) = (digest(token), self.clock.now());
        if let Some(agent) = self.runs.token_of(&shown) {
            return Ok(Some(agent));
        }
        let known = self.look(Scope::Agent(agent.clone()), move |world| {
            let tokens = world.agents.get(&agent).map_or(&[][..], |agent| &agent.tokens);
            let fits = |held: &Token| {
                let same: bool = held.digest.as_bytes().ct_eq(shown.as_bytes()).into();
                same && held.expires_at.is_none_or(|at| at > now)
            };
            tokens.iter().any(fits).then_some(agent)
        });
        let known = known.await?;
        // Whoever does anything is there.
        known.iter().for_each(|agent| self.seen.note(agent, now));
        Ok(known)
    }
}

/// A token for `agent` that nobody had before.
pub(crate) fn secret(agent: &AgentId) -> Result<String, LedgerError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| LedgerError::Failed {
        what: "cannot draw a secret".to_owned(),
        source: error.to_string().into(),
    })?;
    Ok(format!("{PREFIX}{agent}_{}", Hash::from_bytes(bytes)))
}

/// What the ledger may know of a token.
pub(crate) fn digest(token: &str) -> String {
    Hash::of(token.as_bytes()).to_string()
}
