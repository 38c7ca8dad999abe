//! Credentials: a secret that is shown once, and the digest that stays.

use baton_protocol::World;
use baton_protocol::agent::{Grant, Token};
use baton_protocol::command::{Actor, Command, IssueToken, Submission};
use baton_protocol::event::Event;
use baton_protocol::id::{AgentId, CommandId, TokenId};
use baton_protocol::refusal::Refusal;
use baton_protocol::time::{Allowance, Timestamp};
use baton_store::{Hash, LedgerError, Scope};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use tokio::sync::watch;

use crate::credentials::Credential;
use crate::engine::{Engine, SubmitError};

/// How every token begins, so that scanners and our own masking know one.
const PREFIX: &str = "bt1_";
const SECRET_BYTES: usize = 32;

/// A token as it is shown, once.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewToken {
    /// The whole secret.
    pub token: String,
    /// Its name, for taking it away.
    pub id: TokenId,
    /// Whose it is.
    pub agent: AgentId,
    /// What it is good for.
    #[serde(default)]
    pub grant: Grant,
    /// Until when, if it ends.
    pub expires_at: Option<Timestamp>,
}

impl Engine {
    /// Makes a token for an agent or the operator, if `actor` may.
    ///
    /// Its secret is in no ledger, so it cannot be shown again: under a key that made a token
    /// before, the refusal names that token, and it can be revoked.
    pub async fn create_token(
        &self,
        actor: Actor,
        agent: AgentId,
        grant: Grant,
        span: Option<Allowance>,
        key: Option<&str>,
    ) -> Result<NewToken, SubmitError> {
        let token = secret(&agent)?;
        let digest = digest(&token).to_string();
        let issue = IssueToken { agent: agent.clone(), digest: digest.clone(), grant, span };
        let command = Command::IssueToken(issue);
        let submission = match key {
            Some(key) => Submission::keyed(actor, key, command),
            None => {
                let id = CommandId::from_key("token", &digest);
                Submission { id, actor, command }
            }
        };
        let id = submission.id;
        let answer = match self.submit(submission).await {
            Err(SubmitError::Refused(Refusal::KeyReused)) => {
                return Err(self.made_before(agent, id.token(), (grant, span)).await?);
            }
            answered => answered?,
        };
        let expires_at = answer.events.iter().find_map(|event| match event {
            Event::TokenIssued { token } => token.expires_at,
            _ => None,
        });
        Ok(NewToken { token, id: id.token(), agent, grant, expires_at })
    }

    /// Why a token is not made again under a key that was used before.
    async fn made_before(
        &self,
        agent: AgentId,
        token: TokenId,
        (grant, span): (Grant, Option<Allowance>),
    ) -> Result<SubmitError, LedgerError> {
        let whose = agent.clone();
        let same = self.look(Scope::Agent(agent.clone()), move |world| {
            let tokens = world.agents.get(&whose).map_or(&[][..], |agent| &agent.tokens);
            let made = tokens.iter().find(|one| one.id == token)?;
            let ends = span.map(|span| span.after(made.issued_at));
            Some(made.expires_at == ends && made.grant == grant)
        });
        Ok(SubmitError::Refused(match same.await? {
            Some(true) => Refusal::TokenShown { agent, token },
            Some(false) | None => Refusal::KeyReused,
        }))
    }

    /// Returns who acts by this token, if it is one that is in force.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Credential>, LedgerError> {
        let name = token.strip_prefix(PREFIX).and_then(|rest| rest.split_once('_'));
        let Some(agent) = name.and_then(|(name, _)| name.parse::<AgentId>().ok()) else {
            return Ok(None);
        };
        let (shown, now) = (digest(token), self.clock.now());
        if let Some(known) = self.runs.token_of(&shown) {
            return Ok(Some(known));
        }
        if let Some(known) = self.credentials.known(&shown, now) {
            self.seen.note(&agent, now);
            return Ok(Some(known));
        }
        let seen = *self.revocations().borrow();
        let wanted = shown.hex();
        let named = agent.clone();
        let found = self.look(Scope::Agent(agent.clone()), move |world| {
            let tokens = world.agents.get(&agent).map_or(&[][..], |agent| &agent.tokens);
            let held = tokens.iter().find(|held| held.digest.as_bytes().ct_eq(&wanted).into())?;
            let (token, expires_at) = (held.id, held.expires_at);
            let actor = match (held.grant, agent.is_operator()) {
                (Grant::View, _) => Actor::Viewer,
                (Grant::Act, true) => Actor::Operator,
                (Grant::Act, false) => Actor::Agent(agent),
            };
            Some(Credential { actor, token, expires_at }).filter(|found| found.lasts(now))
        });
        let found = found.await?;
        if let Some(found) = &found {
            // Whoever does anything is there.
            self.seen.note(&named, now);
            self.credentials.keep(shown, found.clone(), seen);
        }
        Ok(found)
    }

    /// Tells whenever a credential was taken away, so that whoever listens on can look again.
    pub fn revocations(&self) -> watch::Receiver<u64> {
        self.credentials.revocations()
    }

    /// How many tokens are in force.
    pub async fn tokens_in_force(&self) -> Result<usize, LedgerError> {
        let now = self.clock.now();
        let lasts = move |token: &&Token| token.expires_at.is_none_or(|at| at > now);
        let count = move |world: &World| {
            world.agents.values().flat_map(|agent| &agent.tokens).filter(lasts).count()
        };
        self.look(Scope::Agents, count).await
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
pub(crate) fn digest(token: &str) -> Hash {
    Hash::of(token.as_bytes())
}
