//! Telling people that something waits for them: by a program, such as a desktop notifier, or by a
//! call over the web.

use std::time::Duration;

use baton_protocol::id::{AgentId, HandoffId, WorkflowId};
use baton_protocol::policy::Notifier;
use baton_protocol::text::Text;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::json;

use crate::engine::Engine;
use crate::process;
use crate::run::web::{self, Asked, Unanswered};

/// How long a notifier may take.
const ANNOUNCE_TIME_MAX: Duration = Duration::from_secs(10);

impl Engine {
    /// Tells people, and returns what to note of it. It is not tried again: `baton approvals` lists
    /// what waits anyway.
    pub(crate) async fn announce(
        &self,
        by: &Notifier,
        (workflow, handoff): (WorkflowId, HandoffId),
        words: &Text,
    ) -> String {
        match by {
            Notifier::Command(argv) => {
                let facts = [
                    ("BATON_WORKFLOW", workflow.to_string()),
                    ("BATON_HANDOFF", handoff.to_string()),
                    ("BATON_NEWS", "approval".to_owned()),
                ];
                // A process that Baton starts is never the operator.
                let name: AgentId = "notifier".parse().expect("a fixed name");
                let words = Some(words.as_str());
                match process::run(
                    argv,
                    words,
                    &name,
                    &facts,
                    (self.workspace(), ANNOUNCE_TIME_MAX),
                )
                .await
                {
                    Ok(status) => format!("told people: {status}"),
                    Err(why) => format!("could not tell people: {why}"),
                }
            }
            Notifier::Url(url) => {
                let body = json!({
                    "text": words.as_str(), "workflow": workflow, "handoff": handoff,
                });
                let json = HeaderValue::from_static("application/json");
                let asked = Asked {
                    method: Method::POST,
                    url: url.to_string(),
                    headers: HeaderMap::from_iter([(CONTENT_TYPE, json)]),
                    body: body.to_string().into_bytes(),
                };
                match web::ask(&asked, &self.allow(), ANNOUNCE_TIME_MAX).await {
                    Ok(answer) => format!("told people: {}", answer.status),
                    Err(Unanswered::Forbidden(why) | Unanswered::Failed(why)) => {
                        format!("could not tell people: {why}")
                    }
                }
            }
        }
    }
}
