//! Completions: names of agents, ids of handoffs and of work, from the letters typed so far.

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData};
use serde_json::Value;

use crate::desk::Talk;
use crate::prompts::refused;

/// What the argument may be, best first.
pub(crate) async fn complete(
    talk: &Talk<'_>,
    request: &CompleteRequestParams,
) -> Result<CompleteResult, ErrorData> {
    let known = match request.argument.name.as_str() {
        "agent" => {
            let agents = talk.read("/v1/agents").await.map_err(|said| refused(&said))?;
            ids(&agents, "/profile/id")
        }
        "handoff" => {
            let inbox = talk.read("/v1/inbox").await.map_err(|said| refused(&said))?;
            let mut all = ids(&inbox["waiting"], "/id");
            all.extend(ids(&inbox["holding"], "/handoff"));
            all.extend(ids(&inbox["results"], "/id"));
            all.extend(ids(&inbox["passed"], "/id"));
            all
        }
        "workflow" => {
            let inbox = talk.read("/v1/inbox").await.map_err(|said| refused(&said))?;
            let parts = ["holding", "waiting", "passed", "results"];
            parts.iter().flat_map(|part| ids(&inbox[*part], "/workflow")).collect()
        }
        _ => Vec::new(),
    };
    let typed = request.argument.value.to_ascii_lowercase();
    let mut values: Vec<String> = Vec::new();
    for id in known.into_iter().filter(|id| id.starts_with(&typed)) {
        if !values.contains(&id) {
            values.push(id);
        }
    }
    let total = u32::try_from(values.len()).unwrap_or(u32::MAX);
    let more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    let info = CompletionInfo::with_pagination(values, Some(total), more);
    Ok(CompleteResult::new(info.map_err(|why| ErrorData::internal_error(why, None))?))
}

fn ids(list: &Value, place: &str) -> Vec<String> {
    let all = list.as_array().into_iter().flatten();
    all.filter_map(|one| one.pointer(place)?.as_str().map(str::to_owned)).collect()
}
