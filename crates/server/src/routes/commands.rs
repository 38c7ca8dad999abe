//! Any change through one route: the command as JSON.

use axum::Json;
use axum::extract::State;
use baton_engine::view::Answer;
use baton_protocol::command::Command;
use serde_json::json;

use super::{Answered, Shared};
use crate::api::{Api, Operation, post, submit};
use crate::caller::Caller;
use crate::wire::{Input, Key};

/// The names of all commands that a caller can ask.
pub(super) const NAMES: &[&str] = &[
    "start",
    "pass",
    "accept",
    "reject",
    "defer",
    "progress",
    "return",
    "goto",
    "complete",
    "cancel",
    "cancel_workflow",
    "reassign",
    "report_health",
    "set_variables",
    "add_artifact",
    "mark_artifact",
    "lock",
    "unlock",
    "register",
    "issue_token",
    "revoke_token",
    "wake",
    "wake_hold",
    "settle",
    "prune",
    "set_policy",
    "reset_breaker",
    "approve",
    "deny",
    "set_limits",
    "fall_back",
    "report_tag",
    "define",
    "fail_step",
    "raise_signal",
    "move_to",
];

pub(super) fn routes(api: Api) -> Api {
    api.section("commands", "Any change as one command, alone or many at once.").route(
        any(post("/v1/commands", "command", "Asks for any change"))
            .detail("The routes of the things themselves build the same commands.")
            .takes::<Command>()
            .example(json!({ "start": { "title": "Add a login page" } }))
            .answers::<Answer>(200, "What was recorded."),
        take,
    )
}

/// It can be refused as any command can.
pub(super) fn any(operation: Operation) -> Operation {
    NAMES.iter().fold(operation, |operation, name| operation.may_be_refused_as(name)).keyed()
}

async fn take(
    State(app): Shared,
    Caller(actor): Caller,
    key: Key,
    Input(command): Input<Command>,
) -> Answered<Answer> {
    submit(&app, actor, &key, command).await.map(Json)
}
