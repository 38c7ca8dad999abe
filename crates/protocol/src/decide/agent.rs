//! Making agents known, and their credentials. A person does this, never an agent.

use crate::agent::{Grant, Profile, Token};
use crate::command::{IssueToken, RevokeToken, Submission};
use crate::decide::holder;
use crate::event::{Decision, Event, StreamId};
use crate::id::AgentId;
use crate::limits::{AGENTS_MAX, CAPABILITIES_MAX, CONCURRENT_TASKS_MAX, SCOPES_MAX, TOKENS_MAX};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::World;

/// Decides whether an agent becomes known. The same profile again changes nothing.
pub(super) fn register(
    world: &World,
    ask: &Submission,
    profile: &Profile,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "register agents")?;
    if profile.id.is_reserved() {
        return Err(Refusal::ReservedName { agent: profile.id.clone() });
    }
    let known = world.agents.get(&profile.id);
    let concurrent = usize::try_from(profile.max_concurrent_tasks).unwrap_or(usize::MAX);
    let tasks_most = usize::try_from(CONCURRENT_TASKS_MAX).unwrap_or(usize::MAX);
    let counts = [
        ("capabilities", profile.capabilities.len(), CAPABILITIES_MAX),
        ("write scopes", profile.write_scopes.len(), SCOPES_MAX),
        ("concurrent tasks", concurrent, tasks_most),
        ("agents", world.agents.len() + usize::from(known.is_none()), AGENTS_MAX),
    ];
    for (what, found, most) in counts {
        if found > most {
            return Err(Refusal::TooMany { what, most });
        }
    }
    let unchanged = known.is_some_and(|agent| agent.profile == *profile);
    let event = Event::Registered { profile: Box::new(profile.clone()) };
    let events = if unchanged { Vec::new() } else { vec![event] };
    Ok(Decision { stream: StreamId::Agent(profile.id.clone()), events, effects: Vec::new() })
}

/// Decides whether an agent gets a credential.
pub(super) fn issue_token(
    world: &World,
    ask: &Submission,
    issue: &IssueToken,
    now: Timestamp,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "create tokens")?;
    if issue.agent == AgentId::error_monitor() {
        return Err(Refusal::ReservedName { agent: issue.agent.clone() });
    }
    let agent = world.agent(&issue.agent)?;
    match issue.grant {
        Grant::View if !issue.agent.is_operator() => return Err(Refusal::ViewOfAgent),
        Grant::View | Grant::Act => (),
    }
    let lower_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if issue.digest.len() != 64 || !issue.digest.bytes().all(lower_hex) {
        return Err(Refusal::BadDigest);
    }
    let lives = |token: &&Token| token.expires_at.is_none_or(|at| at > now);
    if agent.tokens.iter().filter(lives).count() >= TOKENS_MAX {
        return Err(Refusal::TooMany { what: "tokens of one agent", most: TOKENS_MAX });
    }
    let token = Token {
        id: ask.id.token(),
        digest: issue.digest.clone(),
        grant: issue.grant,
        issued_at: now,
        expires_at: issue.span.map(|span| span.after(now)),
    };
    let events = vec![Event::TokenIssued { token }];
    Ok(Decision { stream: StreamId::Agent(issue.agent.clone()), events, effects: Vec::new() })
}

/// Decides whether a credential is taken away.
pub(super) fn revoke_token(
    world: &World,
    ask: &Submission,
    revoke: &RevokeToken,
) -> Result<Decision, Refusal> {
    holder::operator_only(ask, "revoke tokens")?;
    let agent = world.agent(&revoke.agent)?;
    if !agent.tokens.iter().any(|token| token.id == revoke.token) {
        let (agent, token) = (revoke.agent.clone(), revoke.token);
        return Err(Refusal::UnknownToken { agent, token });
    }
    let events = vec![Event::TokenRevoked { token: revoke.token }];
    Ok(Decision { stream: StreamId::Agent(revoke.agent.clone()), events, effects: Vec::new() })
}
