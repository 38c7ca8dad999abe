//! Questions about history, page by page: the audit, and the same as messages.

use baton_protocol::command::Actor;
use baton_protocol::event::Event;
use baton_protocol::id::{AgentId, HandoffId, WorkflowId};
use baton_protocol::limits::PAGE_ROWS_MAX;
use baton_protocol::lock::FilePath;
use baton_protocol::time::Timestamp;
use baton_store::Filter;
use serde_json::Value;

use crate::engine::Engine;
use crate::query::{QueryError, unreadable};
use crate::view::{Hidden, Message, MessageType, message};

/// Records that are read at once to find the newest messages, however few are asked for.
const LATEST_ROWS_MIN: usize = 64;

/// Which audit records are asked for.
#[derive(Clone, Debug, Default)]
pub struct AuditQuery {
    /// Of this workflow.
    pub workflow: Option<WorkflowId>,
    /// Of this handoff.
    pub handoff: Option<HandoffId>,
    /// Passed by this agent.
    pub from: Option<AgentId>,
    /// Passed to this agent.
    pub to: Option<AgentId>,
    /// Passed by or to this agent.
    pub agent: Option<AgentId>,
    /// Of tags in this file of the workspace.
    pub file: Option<FilePath>,
    /// Of these types; none means any.
    pub kinds: Vec<String>,
    /// From this moment on.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub until: Option<Timestamp>,
    /// With larger numbers.
    pub after: Option<u64>,
    /// With smaller numbers.
    pub before: Option<u64>,
    /// At most so many.
    pub limit: Option<usize>,
    /// The newest first.
    pub newest: bool,
}

/// Every type of record that can be asked for: what happened, and the stubs that a prune left.
pub fn record_types() -> impl Iterator<Item = &'static str> {
    Event::WORDS.into_iter().chain(["stub"])
}

/// Which messages are asked for, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct MessageQuery {
    /// Of these types; none means any.
    pub types: Vec<MessageType>,
    /// From or to this agent.
    pub agent: Option<AgentId>,
    /// Of this workflow.
    pub workflow: Option<WorkflowId>,
    /// Of records with larger numbers.
    pub after: Option<u64>,
    /// At most so many.
    pub limit: Option<usize>,
}

/// Part of a list, and where it goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T, Next = u64> {
    /// The rows. There may be fewer than were asked for although the list goes on: what the asker
    /// may not see is left out after the page was read.
    pub items: Vec<T>,
    /// Where the next page begins; absent on the last one.
    pub next: Option<Next>,
}

impl Engine {
    /// Ledger records, as they are stored. Agents see those that concern them.
    pub async fn audit(&self, viewer: Actor, query: AuditQuery) -> Result<Vec<Value>, QueryError> {
        Ok(self.audit_page(viewer, query).await?.items)
    }

    /// The same with the number of the last record that was looked at, if there may be more.
    pub async fn audit_page(
        &self,
        viewer: Actor,
        query: AuditQuery,
    ) -> Result<Page<Value>, QueryError> {
        let mut filter = Filter {
            workflow: query.workflow.map(|id| *id.as_bytes()),
            handoff: query.handoff.map(|id| *id.as_bytes()),
            from: query.from.map(String::from),
            to: query.to.map(String::from),
            agent: query.agent.clone().map(String::from),
            file: query.file.map(String::from),
            kinds: query.kinds,
            since: query.since.map(Timestamp::as_micros),
            until: query.until.map(Timestamp::as_micros),
            after_seq: query.after,
            before_seq: query.before,
            newest_first: query.newest,
            ..Filter::default()
        };
        let most = query.limit.unwrap_or(PAGE_ROWS_MAX).clamp(1, PAGE_ROWS_MAX);
        filter.limit = u32::try_from(most).unwrap_or(u32::MAX);
        let mut hidden = Hidden::default();
        let sees_all = match &viewer {
            Actor::Operator | Actor::OperatorAs(_) | Actor::Coordinator => true,
            Actor::Agent(_) | Actor::Viewer => false,
        };
        if let Actor::Agent(agent) = &viewer {
            match (query.handoff, query.workflow) {
                (Some(id), _) => drop(self.handoff(viewer.clone(), id).await?),
                (None, Some(id)) => hidden = self.hidden(viewer.clone(), id).await?,
                (None, None) => filter.agent = Some(agent.to_string()),
            }
        }
        let lines = self.ledger.history(filter).await?;
        let full = lines.len() == most;
        let records = lines.iter().map(|line| serde_json::from_slice(line).map_err(unreadable));
        let mut records = records.collect::<Result<Vec<Value>, _>>()?;
        let last = records.last().and_then(|record| record["seq"].as_u64());
        records.retain(|record| !hidden.covers(record));
        if let (Actor::Agent(_), Some(asked)) = (&viewer, &query.agent) {
            // The index was asked about the one who asks.
            records.retain(|record| concerns(record, asked.as_str()));
        }
        if !sees_all {
            records.retain_mut(|record| veil(&viewer, record));
        }
        Ok(Page { items: records, next: last.filter(|_| full) })
    }

    /// History as messages. Whoever may not see a record does not hear of it.
    pub async fn messages(
        &self,
        viewer: Actor,
        query: MessageQuery,
    ) -> Result<Page<Message>, QueryError> {
        let asked = AuditQuery { after: query.after, limit: query.limit, ..query.records() };
        let Page { items, next } = self.audit_page(viewer, asked).await?;
        let told = items.iter().filter_map(message).filter(|one| query.fits(one));
        Ok(Page { items: told.collect(), next })
    }

    /// The newest `most` messages, the oldest of them first.
    pub async fn latest_messages(
        &self,
        viewer: Actor,
        query: MessageQuery,
        most: usize,
    ) -> Result<Vec<Message>, QueryError> {
        let most = most.min(PAGE_ROWS_MAX);
        let page = most.saturating_mul(2).clamp(LATEST_ROWS_MIN, PAGE_ROWS_MAX);
        let mut found = Vec::new();
        let mut before = None;
        // Not every record is a message that was asked for, so one page may not be enough. Each
        // begins further back than the one before, and the first record is the end.
        while found.len() < most {
            let (newest, limit) = (true, Some(page));
            let asked = AuditQuery { before, newest, limit, ..query.records() };
            let Page { items, next } = self.audit_page(viewer.clone(), asked).await?;
            let told = items.iter().filter_map(message).filter(|one| query.fits(one));
            found.extend(told.take(most - found.len()));
            match next {
                Some(seq) => before = Some(seq),
                None => break,
            }
        }
        found.reverse();
        Ok(found)
    }
}

impl MessageQuery {
    /// The records that such messages may be made of.
    fn records(&self) -> AuditQuery {
        let kinds = self.types.iter().flat_map(|one| one.record_types());
        AuditQuery {
            workflow: self.workflow,
            agent: self.agent.clone(),
            kinds: kinds.map(|kind| (*kind).to_owned()).collect(),
            ..AuditQuery::default()
        }
    }

    /// Whether a message is asked for.
    fn fits(&self, message: &Message) -> bool {
        let typed = self.types.is_empty() || self.types.contains(&message.kind);
        typed && self.agent.as_ref().is_none_or(|agent| message.concerns(agent))
    }
}

/// Takes out of a record what only the operator sees: how agents are started and called. Whether
/// anything is left to show: of credentials, nothing is.
///
/// What waits for a person has not reached its receiver, and may never do. Its beginning stays
/// hidden from it afterwards, too: what it may know, it gets with the handoff itself.
fn veil(viewer: &Actor, record: &mut Value) -> bool {
    let agent = match viewer {
        Actor::Agent(agent) => Some(agent.as_str()),
        Actor::Operator | Actor::OperatorAs(_) | Actor::Viewer | Actor::Coordinator => None,
    };
    let audit = &record["audit"];
    let sides = [&audit["to_agent"], &audit["from_agent"]].map(Value::as_str);
    if audit["withheld"] == true && agent.is_some() && agent == sides[0] && agent != sides[1] {
        return false;
    }
    let event = &mut record["event"];
    match event["type"].as_str() {
        Some("token_issued" | "token_revoked") => return false,
        // Rules are no use to those whom they hold for.
        Some("policy_set") if agent.is_some() => return false,
        Some("initiated") if is_others(event, agent) => {
            // What two agents said to each other is theirs, also inside one workflow.
            if let Some(terms) = event.get_mut("terms").and_then(Value::as_object_mut) {
                terms.remove("history");
            }
            if let Some(guarded) = event.get_mut("guarded").and_then(Value::as_object_mut) {
                guarded.remove("approval");
            }
        }
        Some("initiated") if !event["guarded"]["approval"]["waits"].is_null() => {
            let from = event["terms"]["from_agent"].as_str();
            let to = event["terms"]["to_agent"].as_str();
            if agent.is_some() && agent == to && agent != from {
                return false;
            }
            if let (Some(_), Some(guarded)) = (agent, event["guarded"].as_object_mut()) {
                guarded.remove("approval");
            }
        }
        Some("policy_set") => {
            if let Some(policy) = event.get_mut("policy").and_then(Value::as_object_mut) {
                policy.remove("notify");
            }
        }
        Some("registered") => {
            if let Some(profile) = event.get_mut("profile").and_then(Value::as_object_mut) {
                for secret in ["reach", "notify", "health_check"] {
                    profile.remove(secret);
                }
            }
        }
        Some(_) | None => (),
    }
    if let Some(record) = record.as_object_mut() {
        // They name commands and addresses as they were then.
        record.remove("effects");
    }
    true
}

/// Whether a handoff is between two others than the agent who looks.
fn is_others(event: &Value, agent: Option<&str>) -> bool {
    let terms = &event["terms"];
    let sides = [terms["from_agent"].as_str(), terms["to_agent"].as_str()];
    agent.is_some() && !sides.contains(&agent)
}

/// Whether a record is from or to an agent, or says what it did.
fn concerns(record: &Value, agent: &str) -> bool {
    let audit = &record["audit"];
    [&audit["from_agent"], &audit["to_agent"], &record["by"]].contains(&&Value::from(agent))
}
