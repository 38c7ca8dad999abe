//! Command objects: an agent answers with where the work goes next and what it learnt, and that
//! becomes one ordinary command.
//!
//! Everything is parsed here, once. Where a shape is open it is read key by key, because deriving
//! it would lose the path of the field that is wrong.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::artifact::Location;
use crate::course::{Graph, MetricsReport, Report, StateReport};
use crate::handoff::Aggregation;
use crate::id::{AgentId, Fence, WorkflowId};
use crate::limits::{ARTIFACTS_MAX, RECIPIENTS_MAX};
use crate::open::{Label, OpenKeys};
use crate::text::{Body, BodyJson, Text, VariableValue};
use crate::time::Allowance;
use crate::variables::Changes;

/// Says where the work goes next. It becomes a pass, a broadcast, a return or a completion, as the
/// asker's hold allows.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "GotoForm")]
pub struct Goto {
    /// Which work.
    pub workflow: WorkflowId,
    /// The asker's hold. Only the operator may leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// What it says.
    #[serde(flatten)]
    pub object: CommandObject,
    /// The update as what comes of it, if this is the end.
    ///
    /// It follows from the object; it is kept because a large one is laid beside the ledger before
    /// anything is decided.
    #[serde(skip)]
    pub result: Option<Body>,
}

/// What an agent answers with.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandObject {
    /// Where the work goes next.
    pub goto: Next,
    /// What the agent learnt and made.
    #[serde(default, deserialize_with = "or_nothing", skip_serializing_if = "Update::is_empty")]
    pub update: Update,
    /// Which graph it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Graph>,
    /// How long what it sends out may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Allowance>,
    /// When what it sends out has succeeded.
    #[serde(default)]
    pub aggregation: Aggregation,
}

/// A command object as it stands beside the work that it is about. Flattening it would lose the
/// paths of wrong fields.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GotoForm {
    /// Which work.
    workflow: WorkflowId,
    /// The asker's hold. Only the operator may leave it out.
    #[serde(default)]
    fence: Option<Fence>,
    /// Where the work goes next.
    goto: Next,
    /// What the agent learnt and made.
    #[serde(default, deserialize_with = "or_nothing")]
    update: Update,
    /// Which graph it means.
    #[serde(default)]
    graph: Option<Graph>,
    /// How long what it sends out may take.
    #[serde(default)]
    timeout: Option<Allowance>,
    /// When what it sends out has succeeded.
    #[serde(default)]
    aggregation: Aggregation,
}

impl From<GotoForm> for Goto {
    fn from(form: GotoForm) -> Self {
        let GotoForm { workflow, fence, goto, update, graph, timeout, aggregation } = form;
        CommandObject { goto, update, graph, timeout, aggregation }.about(workflow, fence)
    }
}

/// Programs write nothing as null.
fn or_nothing<'de, D: Deserializer<'de>>(from: D) -> Result<Update, D::Error> {
    Ok(Option::<Update>::deserialize(from)?.unwrap_or_default())
}

/// A command object that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", .path.as_ref().map(|path| format!("{path}: ")).unwrap_or_default())]
pub struct ObjectError {
    /// The path of the bad field; absent when it is the whole.
    pub path: Option<String>,
    /// What is wrong with it.
    pub why: String,
}

impl CommandObject {
    /// Whether this JSON means to be a command object.
    pub fn is_meant(json: &Value) -> bool {
        json.as_object().is_some_and(|fields| fields.contains_key("goto"))
    }

    /// Reads a command object, or tells which field is wrong.
    pub fn read(json: Value) -> Result<Self, ObjectError> {
        if !json.is_object() {
            let why = "not an object; expected {goto, update, graph, timeout, aggregation}";
            return Err(ObjectError { path: None, why: why.to_owned() });
        }
        serde_path_to_error::deserialize(json).map_err(|error| {
            let path = Some(error.path().to_string()).filter(|path| path != ".");
            ObjectError { path, why: error.into_inner().to_string() }
        })
    }

    /// The command that this is, said about this work under this hold.
    pub fn about(self, workflow: WorkflowId, fence: Option<Fence>) -> Goto {
        let result = match &self.goto {
            Next::End => self.update.result(),
            Next::Agent(_) | Next::Sends(_) => None,
        };
        Goto { workflow, fence, object: self, result }
    }

    /// What it reports about the whole work.
    pub(crate) fn report(&self) -> Option<Box<Report>> {
        let (workflow_state, metrics) =
            (self.update.workflow_state.clone(), self.update.metrics.clone());
        Report { workflow_state, metrics, graph: self.graph }.told()
    }
}

/// Where the work goes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Nowhere: this was the last step.
    End,
    /// To one agent.
    Agent(AgentId),
    /// To several, or several times to one, each with a task of its own.
    Sends(Sends),
}

/// What is sent out at once: something, and not too much.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sends(Vec<Send>);

impl Sends {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Send> {
        self.0.iter()
    }
}

/// One of several tasks that are sent out at once.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Send {
    /// To whom.
    pub agent: AgentId,
    /// What to do.
    pub task: Text,
    /// Whatever else it should know.
    #[serde(flatten)]
    pub custom: OpenKeys,
}

/// The word for the end.
const END: &str = "END";

impl Serialize for Next {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::End => to.serialize_str(END),
            Self::Agent(agent) => agent.serialize(to),
            Self::Sends(sends) => sends.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Next {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Next;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an agent's name, a list of sends, or \"END\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Next, E> {
                match text {
                    END | "__end__" => Ok(Next::End),
                    name => name.parse().map(Next::Agent).map_err(E::custom),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Next, A::Error> {
                let mut sends = Vec::new();
                while let Some(send) = list.next_element()? {
                    sends.push(send);
                    if sends.len() > RECIPIENTS_MAX {
                        let words = format!("too many sends; expected at most {RECIPIENTS_MAX}");
                        return Err(A::Error::custom(words));
                    }
                }
                match sends.is_empty() {
                    true => Err(A::Error::custom("an empty list; expected at least one send")),
                    false => Ok(Next::Sends(Sends(sends))),
                }
            }
        }
        from.deserialize_any(Reader)
    }
}

/// What stands beside the agent's name in a send.
struct Argument {
    agent: Option<AgentId>,
    task: Text,
    custom: OpenKeys,
}

impl Argument {
    fn read<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let (mut agent, mut task, mut custom) = (None, None, OpenKeys::default());
        while let Some(key) = map.next_key::<Label>()? {
            match key.as_str() {
                "agent" => agent = Some(map.next_value()?),
                "task" => task = Some(map.next_value()?),
                _ => {
                    let value = map.next_value()?;
                    custom.insert(key, value).map_err(A::Error::custom)?;
                }
            }
        }
        let task = task.ok_or_else(|| A::Error::missing_field("task"))?;
        Ok(Self { agent, task, custom })
    }
}

impl<'de> Deserialize<'de> for Argument {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Argument;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with a task")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Argument, A::Error> {
                let argument = Argument::read(map)?;
                match argument.agent {
                    // Two names for one receiver: one of them would be dropped.
                    Some(_) => Err(A::Error::custom("an agent here; expected it before the task")),
                    None => Ok(argument),
                }
            }
        }
        from.deserialize_map(Reader)
    }
}

impl<'de> Deserialize<'de> for Send {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Send;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("{agent, task} or [agent, {task}]")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Send, A::Error> {
                let Argument { agent, task, custom } = Argument::read(map)?;
                let agent = agent.ok_or_else(|| A::Error::missing_field("agent"))?;
                Ok(Send { agent, task, custom })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Send, A::Error> {
                let short = |found| A::Error::invalid_length(found, &"[agent, {task}]");
                let agent = pair.next_element()?.ok_or_else(|| short(0))?;
                let argument: Argument = pair.next_element()?.ok_or_else(|| short(1))?;
                match pair.next_element::<IgnoredAny>()? {
                    Some(_) => Err(short(3)),
                    None => Ok(Send { agent, task: argument.task, custom: argument.custom }),
                }
            }
        }
        from.deserialize_any(Reader)
    }
}

/// What an agent learnt and made.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Update {
    /// Variables of the workflow.
    #[serde(skip_serializing_if = "Changes::is_empty")]
    pub context: Changes,
    /// Products by name; null is one that is not made yet.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub artifacts: BTreeMap<Label, Option<Location>>,
    /// How far the whole work is.
    #[serde(skip_serializing_if = "is_default")]
    pub workflow_state: StateReport,
    /// What it has cost.
    #[serde(skip_serializing_if = "is_default")]
    pub metrics: MetricsReport,
    /// Whatever else the next one should know.
    #[serde(flatten)]
    pub custom: OpenKeys,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Update {
    fn is_empty(&self) -> bool {
        is_default(self)
    }

    /// The update as what comes of the work, if it says anything.
    fn result(&self) -> Option<Body> {
        let json = serde_json::to_value(self).ok().filter(|_| !self.is_empty())?;
        // Reading it has seen to it that it fits.
        BodyJson::try_from(json).ok().map(Body::Inline)
    }

    fn read<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut update = Self::default();
        while let Some(key) = map.next_key::<Label>()? {
            match key.as_str() {
                "context" => update.context = map.next_value()?,
                "artifacts" => update.artifacts = map.next_value::<Products>()?.0,
                "workflow_state" => update.workflow_state = map.next_value()?,
                "metrics" => update.metrics = map.next_value()?,
                // These become words of the handoff, so they must be some.
                "reason" | "next_task" => {
                    let words: Text = map.next_value()?;
                    let value = Value::String(words.to_string());
                    let value = VariableValue::try_from(value).map_err(A::Error::custom)?;
                    update.custom.insert(key, value).map_err(A::Error::custom)?;
                }
                _ => {
                    let value = map.next_value()?;
                    update.custom.insert(key, value).map_err(A::Error::custom)?;
                }
            }
        }
        let whole = serde_json::to_value(&update).map_err(A::Error::custom)?;
        BodyJson::try_from(whole).map_err(A::Error::custom)?;
        Ok(update)
    }
}

impl<'de> Deserialize<'de> for Update {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Update;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object: context, artifacts, workflow_state, metrics and other keys")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Update, A::Error> {
                Update::read(map)
            }
        }
        from.deserialize_map(Reader)
    }
}

/// Products by name, not too many.
#[derive(Deserialize)]
#[serde(try_from = "BTreeMap<Label, Option<Location>>")]
struct Products(BTreeMap<Label, Option<Location>>);

impl TryFrom<BTreeMap<Label, Option<Location>>> for Products {
    type Error = String;

    fn try_from(products: BTreeMap<Label, Option<Location>>) -> Result<Self, String> {
        match products.len() {
            found if found > ARTIFACTS_MAX => {
                Err(format!("{found} artifacts; expected at most {ARTIFACTS_MAX}"))
            }
            _ => Ok(Self(products)),
        }
    }
}

#[cfg(test)]
mod tests;
