//! The ledger's records, as they are stored.

use axum::extract::State;
use baton_engine::{AuditQuery, Page, record_types};
use baton_protocol::id::{AgentId, HandoffId, WorkflowId};
use baton_protocol::lock::FilePath;
use baton_protocol::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Shared;
use crate::api::{Api, get};
use crate::caller::Caller;
use crate::wire::{Asked, Here, Paged, Paging, Problem};

/// Records on a page, unless asked for otherwise.
pub(super) const PAGE_ROWS: usize = 100;

pub(super) fn routes(api: Api) -> Api {
    api.section("audit", "The ledger is the audit: every record, and the proof of it.").route(
        get("/v1/audit", "list_records", "Lists records, the oldest first")
            .detail("Agents see those that concern them.")
            .query::<AuditAsked>()
            .answers::<AuditAnswer>(200, "A page of records.")
            .in_pages()
            .refuses(&["unknown-workflow", "unknown-handoff"]),
        list,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuditAsked {
    /// Of this workflow.
    workflow: Option<WorkflowId>,
    /// Of this handoff.
    handoff: Option<HandoffId>,
    /// Passed by this agent.
    from: Option<AgentId>,
    /// Passed to this agent.
    to: Option<AgentId>,
    /// Passed by or to this agent.
    agent: Option<AgentId>,
    /// Of tags in this file of the workspace.
    file: Option<FilePath>,
    /// Of these types, with commas between them.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// From this moment on.
    since: Option<Timestamp>,
    /// Before this moment.
    until: Option<Timestamp>,
    /// With larger numbers.
    after: Option<u64>,
    /// At most so many, up to 1000.
    limit: Option<usize>,
    /// The newest first.
    newest: Option<bool>,
    /// Where the page begins: from the `Link` of the one before.
    cursor: Option<String>,
}

/// Records, and where the next page begins.
#[derive(Serialize, JsonSchema)]
struct AuditAnswer {
    /// The records as they are stored.
    records: Vec<Record>,
    /// The `after` of the next page, if there is one and the oldest come first.
    next: Option<u64>,
}

/// One line of the ledger; docs/proof.md says how its hashes are made.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
struct Record(#[schemars(with = "serde_json::Map<String, Value>")] Value);

async fn list(
    State(app): Shared,
    Caller(viewer): Caller,
    Asked(asked): Asked<AuditAsked>,
    here: Here,
) -> Result<Paged<AuditAnswer>, Problem> {
    let kinds = asked.kind.iter().flat_map(|kinds| kinds.split(','));
    let kinds = kinds.map(kind_of).collect::<Result<Vec<String>, Problem>>()?;
    let newest = asked.newest.unwrap_or(false);
    let cursor: Option<u64> = Paging::cursor(asked.cursor.as_deref())?;
    let query = AuditQuery {
        workflow: asked.workflow,
        handoff: asked.handoff,
        from: asked.from,
        to: asked.to,
        agent: asked.agent,
        file: asked.file,
        kinds,
        since: asked.since,
        until: asked.until,
        after: cursor.filter(|_| !newest).or(asked.after),
        before: cursor.filter(|_| newest),
        limit: Some(asked.limit.unwrap_or(PAGE_ROWS)),
        newest,
    };
    let Page { items, next } = app.engine.audit_page(viewer, query).await?;
    let records = items.into_iter().map(Record).collect();
    let answer = AuditAnswer { records, next: next.filter(|_| !newest) };
    Ok(Paged::new(&here, answer, next))
}

/// The type that a word names. One that there is not would look like an audit with nothing in it.
fn kind_of(word: &str) -> Result<String, Problem> {
    if record_types().any(|known| known == word) {
        return Ok(word.to_owned());
    }
    let known: Vec<_> = record_types().collect();
    let detail = format!("`{word:.40}` is no type of record; expected {}", known.join(", "));
    Err(Problem::bad_input(Some("type".to_owned()), detail))
}
