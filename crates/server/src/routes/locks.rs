//! Locks on files of the workspace.

use axum::Json;
use axum::extract::State;
use baton_engine::view::{Answer, LockView};
use baton_protocol::command::{Command, LockFiles, UnlockFiles};
use baton_protocol::id::{Fence, WorkflowId};
use baton_protocol::lock::FilePath;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answered, Shared};
use crate::api::{Api, Change, delete, get, post, submit};
use crate::caller::Caller;
use crate::wire::{Asked, Key};

pub(super) fn routes(api: Api) -> Api {
    api.section("locks", "Who may write which file, until when.")
        .route(
            get("/v1/locks", "list_locks", "Lists all locks")
                .detail("An agent hears of the work behind a lock if it has or had a part in it.")
                .answers::<Vec<LockView>>(200, "The locks."),
            list,
        )
        .change(
            post("/v1/locks", "lock", "Locks files, all or none, or renews their locks"),
            Change::of::<LockFiles>("lock"),
        )
        .route(
            delete("/v1/locks", "unlock", "Gives a lock back, or all locks of a hold")
                .query::<UnlockAsked>()
                .changes("unlock")
                .answers::<Answer>(200, "What was recorded."),
            unlock,
        )
}

async fn list(State(app): Shared, Caller(viewer): Caller) -> Answered<Vec<LockView>> {
    Ok(Json(app.engine.locks(viewer).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UnlockAsked {
    /// Under which work.
    workflow: WorkflowId,
    /// The holder's number. Only the operator may leave it out.
    fence: Option<Fence>,
    /// Which file; absent means all that this holding locked.
    path: Option<FilePath>,
}

async fn unlock(
    State(app): Shared,
    Caller(actor): Caller,
    key: Key,
    Asked(asked): Asked<UnlockAsked>,
) -> Answered<Answer> {
    let UnlockAsked { workflow, fence, path } = asked;
    let unlock = UnlockFiles { workflow, fence, paths: path.into_iter().collect() };
    submit(&app, actor, &key, Command::Unlock(unlock)).await.map(Json)
}
