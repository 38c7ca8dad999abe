//! The conversation that a sender passes on, and how it wants it to travel.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::PassKind;
use crate::handoff::{Transfer, TransferMode, Transferred};
use crate::limits::HISTORY_MESSAGES_MAX;
use crate::text::{Body, BodyJson, HistoryJson, body_on_the_wire};

/// A conversation on its way: a list of messages, or `{messages, transfer_mode, max_messages,
/// max_tokens, include}`.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// What was said.
    pub messages: Messages,
    /// How it is to travel.
    pub transfer: Transfer,
    /// What was made of it. The engine says so; nobody can send it.
    pub transferred: Option<Transferred>,
}

/// The messages of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Messages {
    /// As they came.
    Given(HistoryJson),
    /// As they travel.
    Packed(Body),
}

impl PassKind {
    /// What usually becomes of a conversation: a question needs all there is, a subtask only what
    /// led to it.
    pub fn transfer_mode(self) -> TransferMode {
        match self {
            Self::Sequential => TransferMode::RelevantOnly,
            Self::Escalation => TransferMode::Full,
            Self::Delegation | Self::Broadcast => TransferMode::Summary,
        }
    }
}

impl History {
    /// A conversation that travels as is usual.
    pub fn of(messages: HistoryJson) -> Self {
        let (transfer, transferred) = Default::default();
        Self { messages: Messages::Given(messages), transfer, transferred }
    }

    /// A conversation that travels as it is.
    pub fn packed(body: Body, transferred: Option<Transferred>) -> Self {
        Self { messages: Messages::Packed(body), transfer: Transfer::default(), transferred }
    }

    /// What travels. Without an engine that packs it, that is what was given.
    pub(crate) fn body(&self) -> Option<Body> {
        match &self.messages {
            Messages::Packed(body) => Some(body.clone()),
            Messages::Given(json) => {
                BodyJson::try_from(json.as_value().clone()).ok().map(Body::Inline)
            }
        }
    }
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Said<'a> {
            messages: &'a HistoryJson,
            #[serde(flatten)]
            transfer: &'a Transfer,
        }
        match &self.messages {
            Messages::Packed(body) => body_on_the_wire::serialize(body, to),
            Messages::Given(messages) if self.transfer == Transfer::default() => {
                messages.serialize(to)
            }
            Messages::Given(messages) => Said { messages, transfer: &self.transfer }.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for History {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let json = HistoryJson::deserialize(from)?;
        let (messages, transfer) = match Value::from(json) {
            messages @ Value::Array(_) => (messages, Transfer::default()),
            Value::Object(mut fields) => {
                let messages = fields.remove("messages").unwrap_or(Value::Null);
                flattened(&mut fields);
                let transfer = serde_json::from_value(Value::Object(fields));
                (messages, transfer.map_err(D::Error::custom)?)
            }
            other => (other, Transfer::default()),
        };
        let Some(found) = messages.as_array().map(Vec::len) else {
            return Err(D::Error::custom(
                "not a list; expected a list of messages, or an object with `messages`",
            ));
        };
        if found > HISTORY_MESSAGES_MAX {
            let words = format!("{found} messages; expected at most {HISTORY_MESSAGES_MAX}");
            return Err(D::Error::custom(words));
        }
        let messages = HistoryJson::try_from(messages).map_err(D::Error::custom)?;
        Ok(Self { messages: Messages::Given(messages), transfer, transferred: None })
    }
}

/// `include` may be written as a list of single flags, as the specification does.
fn flattened(fields: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(flags)) = fields.get_mut("include") else { return };
    if !flags.iter().all(Value::is_object) {
        return;
    }
    let mut all = serde_json::Map::new();
    for flag in std::mem::take(flags) {
        if let Value::Object(flag) = flag {
            all.extend(flag);
        }
    }
    fields.insert("include".to_owned(), Value::Object(all));
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for History {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "History".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut whole = Transfer::json_schema(generator);
        let messages = schemars::json_schema!({ "type": "array", "items": true });
        if let Some(fields) = whole.get_mut("properties").and_then(Value::as_object_mut) {
            fields.insert("messages".to_owned(), messages.clone().to_value());
        }
        whole.insert("required".to_owned(), serde_json::json!(["messages"]));
        schemars::json_schema!({ "anyOf": [messages, whole] })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_history_is_a_list_or_says_how_it_travels() {
        let read = |json: Value| serde_json::from_value::<History>(json);
        let list = json!([{ "role": "user", "content": "hi" }]);
        let plain = read(list.clone()).expect("a list");
        assert_eq!(serde_json::to_value(&plain).expect("JSON"), list);
        let flags = json!([{ "tool_calls": false }, { "agent_reasoning": true }]);
        let said = json!({
            "messages": list, "transfer_mode": "full", "max_messages": 3, "include": flags,
        });
        let said = read(said).expect("an object");
        assert_eq!(said.transfer.transfer_mode, Some(TransferMode::Full));
        assert!(said.transfer.include.agent_reasoning && !said.transfer.include.tool_calls);
        let again = serde_json::to_value(&said).expect("JSON");
        assert_eq!(read(again).expect("the same"), said);
        for bad in [json!({}), json!("words"), json!({ "messages": [], "mode": "full" })] {
            assert!(read(bad.clone()).is_err(), "{bad} was taken");
        }
    }
}
