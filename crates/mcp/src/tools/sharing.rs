//! Who is there, and what those who work on the same thing share.

use rmcp::model::{JsonObject, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Call, Done, Nature, Taken, tool};
use crate::desk::{Said, Unheard};

/// Agents that one answer names.
const AGENTS_MAX: usize = 50;

pub(super) fn list() -> Vec<Tool> {
    vec![
        tool::<Find, Found>("find_agents", Nature::Reads, "Who can take work, by capability."),
        tool::<Lock, Locked>(
            "lock_files",
            Nature::Adds,
            "Lock files, all or none, before you edit what others may edit too.",
        ),
        tool::<Unlock, Done>("unlock_files", Nature::Ends, "Give locks back (default: all)."),
        tool::<Set, Done>("set_variables", Nature::Adds, "Write variables of the work you hold."),
        tool::<Add, Done>("add_artifact", Nature::Adds, "Make a file or URL known to the others."),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Find {
    capability: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Found {
    agents: Vec<Agent>,
    /// Those left out
    more: usize,
}

#[derive(Serialize, JsonSchema)]
struct Agent {
    agent: String,
    role: String,
    capabilities: Vec<String>,
    /// healthy, unavailable or unhealthy
    status: String,
    holds: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

pub(super) async fn agents(call: &Call<'_>, taken: Taken) -> Result<Found, Said> {
    let Find { capability } = taken.read()?;
    let all = call.talk.read("/v1/agents").await?;
    let all = all.as_array().into_iter().flatten().map(agent);
    let can = |agent: &Agent| capability.as_ref().is_none_or(|id| agent.capabilities.contains(id));
    let mut agents: Vec<_> = all.filter(can).collect();
    let more = agents.len().saturating_sub(AGENTS_MAX);
    agents.truncate(AGENTS_MAX);
    Ok(Found { agents, more })
}

fn agent(view: &Value) -> Agent {
    let profile = &view["profile"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let capabilities = profile["capabilities"].as_array().into_iter().flatten();
    Agent {
        agent: text(&profile["id"]),
        role: text(&profile["role"]),
        capabilities: capabilities.map(|known| text(&known["id"])).collect(),
        status: text(&view["status"]),
        holds: view["load"].as_u64().unwrap_or_default(),
        description: profile["description"].as_str().map(str::to_owned),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Lock {
    paths: Vec<String>,
    /// Others may read meanwhile
    shared: Option<bool>,
    work: Option<String>,
    fence: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Locked {
    locked: Vec<String>,
    workflow: String,
}

pub(super) async fn lock(call: &Call<'_>, taken: Taken) -> Result<Locked, Said> {
    let ask: Lock = taken.read()?;
    let hold = call.held(ask.work.as_deref(), ask.fence).await?;
    let paths = files(call, &ask.paths)?;
    if paths.is_empty() {
        return Err(Said::new("bad-input", "no file is named", "name at least one in `paths`"));
    }
    let mode = if ask.shared.unwrap_or(false) { "shared" } else { "exclusive" };
    let body = json!({
        "workflow": hold.workflow, "fence": hold.fence, "paths": paths, "mode": mode
    });
    call.talk.command("lock", body).await?;
    Ok(Locked { locked: paths, workflow: hold.workflow })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Unlock {
    paths: Option<Vec<String>>,
    work: Option<String>,
    fence: Option<u64>,
}

pub(super) async fn unlock(call: &Call<'_>, taken: Taken) -> Result<Done, Said> {
    let ask: Unlock = taken.read()?;
    let hold = call.held(ask.work.as_deref(), ask.fence).await?;
    let paths = files(call, &ask.paths.unwrap_or_default())?;
    let body = json!({ "workflow": hold.workflow, "fence": hold.fence, "paths": paths });
    Ok(Done::of("unlocked", &call.talk.command("unlock", body).await?))
}

/// The names that the files have in the workspace.
fn files(call: &Call<'_>, paths: &[String]) -> Result<Vec<String>, Said> {
    let named = paths.iter().map(|path| call.talk.desk.file(path));
    let bad = |why: Unheard| Said::new("bad-input", why.sentence, why.hint);
    named.collect::<Result<_, _>>().map_err(bad)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Set {
    variables: JsonObject,
    work: Option<String>,
    fence: Option<u64>,
}

pub(super) async fn set(call: &Call<'_>, taken: Taken) -> Result<Done, Said> {
    let ask: Set = taken.read()?;
    let hold = call.held(ask.work.as_deref(), ask.fence).await?;
    let body = json!({
        "workflow": hold.workflow, "fence": hold.fence, "changes": ask.variables
    });
    Ok(Done::of("written", &call.talk.command("set_variables", body).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Add {
    /// Path or URL
    path: String,
    description: Option<String>,
    kind: Option<Kind>,
    work: Option<String>,
    fence: Option<u64>,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    File,
    Code,
    Document,
    TestResult,
    ReviewComment,
}

pub(super) async fn add(call: &Call<'_>, taken: Taken) -> Result<Done, Said> {
    let ask: Add = taken.read()?;
    let hold = call.held(ask.work.as_deref(), ask.fence).await?;
    let mut artifact = json!({ "path": ask.path, "type": ask.kind.unwrap_or_default() });
    if let Some(description) = ask.description {
        artifact["description"] = json!(description);
    }
    let body = json!({ "workflow": hold.workflow, "fence": hold.fence, "artifact": artifact });
    Ok(Done::of("added", &call.talk.command("add_artifact", body).await?))
}
