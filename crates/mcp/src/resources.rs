//! Resources: what can be looked at, by its address.

use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::Value;

use crate::desk::{Said, Talk};

/// The agent's inbox.
pub(crate) const INBOX: &str = "baton://inbox";
const AGENTS: &str = "baton://agents";
const JSON: &str = "application/json";
/// Messages that tell of an agent.
const OF_AGENTS: [&str; 4] = ["AGENT_REGISTERED", "AGENT_HEALTHY", "BREAKER_RESET", "ERROR"];

/// Something that has an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thing {
    Inbox,
    Agents,
    Agent(String),
    Handoff(String),
    Package(String),
    Audit(String),
    Workflow(String),
}

impl Thing {
    /// What an address names.
    pub(crate) fn at(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix("baton://")?;
        let named = |name: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            let fits = !name.is_empty() && name.len() <= 64 && name.bytes().all(fits);
            fits.then(|| name.to_owned())
        };
        match path.split('/').collect::<Vec<_>>().as_slice() {
            ["inbox"] => Some(Self::Inbox),
            ["agents"] => Some(Self::Agents),
            ["agents", name] => named(name).map(Self::Agent),
            ["handoffs", id] => named(id).map(Self::Handoff),
            ["handoffs", id, "package"] => named(id).map(Self::Package),
            ["handoffs", id, "audit"] => named(id).map(Self::Audit),
            ["workflows", id] => named(id).map(Self::Workflow),
            _ => None,
        }
    }

    /// The route that shows it.
    fn path(&self) -> String {
        match self {
            Self::Inbox => "/v1/inbox".to_owned(),
            Self::Agents => "/v1/agents".to_owned(),
            Self::Agent(name) => format!("/v1/agents/{name}"),
            Self::Handoff(id) => format!("/v1/handoffs/{id}"),
            Self::Package(id) => format!("/v1/handoffs/{id}/package"),
            Self::Audit(id) => format!("/v1/audit?handoff={id}&limit=1000"),
            Self::Workflow(id) => format!("/v1/workflows/{id}"),
        }
    }
}

/// What there is to look at now: the inbox, the agents, and what concerns this one.
pub(crate) async fn list(talk: &Talk<'_>) -> Vec<Resource> {
    let mut all = vec![
        resource(INBOX, "inbox", "What waits for you, what you hold, what came back"),
        resource(AGENTS, "agents", "Who can take work"),
    ];
    // Without an inbox there is still something to list.
    let inbox = talk.read("/v1/inbox").await.unwrap_or_default();
    for (part, what) in [("waiting", "waits for you"), ("holding", "you hold it")] {
        for one in inbox[part].as_array().into_iter().flatten() {
            let title = one["title"].as_str().unwrap_or_default();
            let about = format!("{title}: {what}");
            let id = one["handoff"].as_str().or_else(|| one["id"].as_str());
            match (id, one["workflow"].as_str()) {
                (Some(id), _) => {
                    all.push(resource(&format!("baton://handoffs/{id}"), title, &about));
                }
                (None, Some(id)) => {
                    all.push(resource(&format!("baton://workflows/{id}"), title, &about));
                }
                (None, None) => (),
            }
        }
    }
    all
}

fn resource(uri: &str, name: &str, about: &str) -> Resource {
    Resource::new(uri, name).with_description(about).with_mime_type(JSON)
}

/// The addresses that can be made.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, about: &str| {
        ResourceTemplate::new(uri, name).with_description(about).with_mime_type(JSON)
    };
    vec![
        template("baton://handoffs/{handoff}", "handoff", "A handoff and where it stands"),
        template("baton://handoffs/{handoff}/package", "package", "All that travels with it"),
        template("baton://handoffs/{handoff}/audit", "audit", "Its records in the ledger"),
        template("baton://workflows/{workflow}", "workflow", "A piece of work and its handoffs"),
        template("baton://agents/{agent}", "agent", "An agent"),
    ]
}

/// Shows one.
pub(crate) async fn read(talk: &Talk<'_>, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let Some(thing) = Thing::at(uri) else {
        return Err(nothing_at(uri));
    };
    let view = talk.read(thing.path()).await.map_err(|said| {
        let mut error = missing(&said);
        if let Some(Value::Object(data)) = &mut error.data {
            data.insert("uri".to_owned(), uri.into());
        }
        error
    })?;
    let text = serde_json::to_string_pretty(&view).unwrap_or_default();
    let contents = ResourceContents::text(text, uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// What is said of an address that names nothing.
pub(crate) fn nothing_at(uri: &str) -> ErrorData {
    let data = serde_json::json!({ "uri": uri });
    ErrorData::resource_not_found(format!("there is nothing at {uri}"), Some(data))
}

/// What the coordinator refused to show, as MCP says it.
fn missing(said: &Said) -> ErrorData {
    let data = serde_json::json!({ "code": said.code, "hint": said.hint });
    let unknown = said.code.starts_with("unknown-") || said.code == "not-found";
    match unknown || said.code == "bad-input" {
        true => ErrorData::resource_not_found(said.message.clone(), Some(data)),
        false => ErrorData::internal_error(said.message.clone(), Some(data)),
    }
}

/// Whether a message tells of a change to what lies at an address.
pub(crate) fn touches(message: &Value, uri: &str) -> bool {
    let handoff = message["payload"]["handoff"]["id"].as_str();
    let workflow = message["context"]["requestId"].as_str();
    let kind = message["type"].as_str().unwrap_or_default();
    match Thing::at(uri) {
        Some(Thing::Inbox) => workflow.is_some(),
        Some(Thing::Agents | Thing::Agent(_)) => OF_AGENTS.contains(&kind),
        Some(Thing::Handoff(id) | Thing::Package(id) | Thing::Audit(id)) => {
            handoff == Some(id.as_str())
        }
        Some(Thing::Workflow(id)) => workflow == Some(id.as_str()),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_names_one_thing_or_nothing() {
        assert_eq!(Thing::at(INBOX), Some(Thing::Inbox));
        let package = Some(Thing::Package("ab-1".to_owned()));
        assert_eq!(Thing::at("baton://handoffs/ab-1/package"), package);
        for nothing in [
            "",
            "baton://",
            "file:///etc/passwd",
            "baton://handoffs/",
            "baton://handoffs/a/b/c",
            "baton://handoffs/../agents",
            "baton://workflows/a?b",
            "baton://agents/a%2fb",
        ] {
            assert_eq!(Thing::at(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_change_is_told_to_those_who_look_at_it() {
        let message = json!({
            "type": "AGENT_HANDOFF",
            "payload": { "handoff": { "id": "h1" } },
            "context": { "requestId": "w1" },
        });
        for touched in [INBOX, "baton://handoffs/h1/package", "baton://workflows/w1"] {
            assert!(touches(&message, touched), "{touched}");
        }
        for other in ["baton://handoffs/h2", "baton://workflows/h1", "baton://agents", "nowhere"] {
            assert!(!touches(&message, other), "{other}");
        }
    }
}
