//! Credentials.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use baton_engine::NewToken;
use baton_protocol::agent::Grant;
use baton_protocol::command::RevokeToken;
use baton_protocol::id::{AgentId, TokenId};
use baton_protocol::time::Allowance;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Shared;
use crate::api::{Api, Change, delete, post};
use crate::caller::Caller;
use crate::wire::{Input, Key, Problem};

pub(super) fn routes(api: Api) -> Api {
    api.section(
        "tokens",
        "Credentials of agents, operators and viewers. Only operators make and revoke them.",
    )
    .route(
        post("/v1/tokens", "create_token", "Makes a token; its secret is in this answer only")
            .detail(
                "The secret is kept nowhere, so it cannot be answered twice: under a key that \
                     made a token before, the answer is 409 `token-shown` with the token's id, \
                     and nothing is made.",
            )
            .takes::<TokenInput>()
            .changes("issue_token")
            .refuses(&["token-shown"])
            .answers::<NewToken>(201, "The token."),
        create,
    )
    .change(
        delete("/v1/agents/{id}/tokens/{token}", "revoke_token", "Takes a credential away")
            .path::<AgentId>("id", "Whose.")
            .path::<TokenId>("token", "Which one."),
        Change::of::<RevokeToken>("revoke_token")
            .placed(&[("id", &["agent"]), ("token", &["token"])])
            .bare(),
    )
}

/// Asks for a token.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TokenInput {
    /// Whose.
    agent: AgentId,
    /// What it is good for.
    #[serde(default)]
    grant: Grant,
    /// For how long; absent means until revoked.
    #[serde(default, rename = "for")]
    span: Option<Allowance>,
}

async fn create(
    State(app): Shared,
    Caller(actor): Caller,
    key: Key,
    Input(input): Input<TokenInput>,
) -> Result<(StatusCode, Json<NewToken>), Problem> {
    let TokenInput { agent, grant, span } = input;
    let made = app.engine.create_token(actor, agent, grant, span, key.as_str()).await?;
    Ok((StatusCode::CREATED, Json(made)))
}
