//! The tools: what a model can do. Each takes one small object, asks the coordinator, and answers
//! with one small object.

mod passing;
mod sharing;
mod taking;

use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock};
use rmcp::model::{ErrorData, JsonObject, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::desk::{Said, Talk};
use crate::holds::{Hold, Holds};
use crate::log::Weight;
use crate::schema;
use crate::server::Server;

/// Characters of one text of a line.
const LINE_CHARS_MAX: usize = 400;

/// What one call has at hand.
pub(crate) struct Call<'a> {
    pub(crate) talk: Talk<'a>,
    pub(crate) holds: &'a Holds,
    pub(crate) context: &'a RequestContext<RoleServer>,
}

impl Call<'_> {
    /// Remembers what was taken.
    fn took(&self, hold: Hold) {
        self.talk.desk.note(&self.holds.took(hold));
    }

    /// Forgets what is over.
    fn ended(&self, hold: &Hold) {
        self.talk.desk.note(&self.holds.ended(hold));
    }

    /// The hold under which something is done.
    async fn held(&self, work: Option<&str>, fence: Option<u64>) -> Result<Hold, Said> {
        self.holds.find(&self.talk, work, fence).await
    }
}

/// What a change came to.
#[derive(Debug, Serialize, JsonSchema)]
struct Done {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handoff: Option<String>,
}

impl Done {
    fn of(status: &'static str, answer: &Value) -> Self {
        let id = |name: &str| answer[name].as_str().map(str::to_owned);
        Self { status, workflow: id("workflow"), handoff: id("handoff") }
    }
}

/// How a tool treats the world.
#[derive(Clone, Copy)]
enum Nature {
    Reads,
    Adds,
    Ends,
}

/// The tools as a client lists them.
pub(crate) fn list() -> Vec<Tool> {
    let mut tools = passing::list();
    tools.extend(taking::list());
    tools.extend(sharing::list());
    tools
}

/// One tool, with the schemas of what it takes and gives.
fn tool<I: JsonSchema, O: JsonSchema>(
    name: &'static str,
    nature: Nature,
    text: &'static str,
) -> Tool {
    let annotations = match nature {
        Nature::Reads => ToolAnnotations::new().read_only(true),
        Nature::Adds => ToolAnnotations::new().destructive(false),
        Nature::Ends => ToolAnnotations::new().destructive(true),
    };
    Tool::new(name, text, schema::of::<I>())
        .with_raw_output_schema(schema::of::<O>())
        .with_annotations(annotations)
}

/// Calls one by its name.
pub(crate) async fn call(
    server: &Server,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let talk = Talk { desk: server.desk(), from: &context.extensions };
    let call = Call { talk, holds: server.holds(), context };
    let taken = Taken(request.arguments.unwrap_or_default());
    let tool = request.name.clone();
    let answered = match request.name.as_ref() {
        "handoff_to_agent" => {
            let round = (request.input_responses, request.request_state);
            match passing::hand_off(&call, taken, server.questions(), round).await {
                Ok(passing::Passed::Done(handed)) => given(handed),
                Ok(passing::Passed::Asks(question)) => return Ok(question.into()),
                Err(said) => Err(said),
            }
        }
        "escalate_handoff" => passing::escalate(&call, taken).await.and_then(given),
        "await_handoff" => passing::wait(&call, taken).await.and_then(given),
        "get_handoff" => passing::get(&call, taken).await.and_then(given),
        "cancel_handoff" => passing::cancel(&call, taken).await.and_then(given),
        "list_inbox" => taking::inbox(&call, taken).await.and_then(given),
        "accept_handoff" => taking::accept(&call, taken).await.and_then(given),
        "reject_handoff" => taking::reject(&call, taken).await.and_then(given),
        "defer_handoff" => taking::defer(&call, taken).await.and_then(given),
        "report_progress" => taking::progress(&call, taken).await.and_then(given),
        "return_handoff" => taking::give_back(&call, taken).await.and_then(given),
        "find_agents" => sharing::agents(&call, taken).await.and_then(given),
        "lock_files" => sharing::lock(&call, taken).await.and_then(given),
        "unlock_files" => sharing::unlock(&call, taken).await.and_then(given),
        "set_variables" => sharing::set(&call, taken).await.and_then(given),
        "add_artifact" => sharing::add(&call, taken).await.and_then(given),
        other => {
            let message = format!("there is no tool `{other}`");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let (weight, about) = course(server, &tool, answered.as_ref().err());
    server.log().say(weight, about, context).await;
    Ok(match answered {
        Ok(result) => result.into(),
        // The model reads it and can act on it, which a protocol error does not allow.
        Err(said) => {
            call.holds.doubt();
            CallToolResult::error(vec![ContentBlock::text(said.text())]).into()
        }
    })
}

/// What the log says of a call: the person at the client follows it there, and reads no answers.
fn course(server: &Server, tool: &str, said: Option<&Said>) -> (Weight, Value) {
    match said {
        None => {
            let hints = server.get_tool(tool).and_then(|tool| tool.annotations);
            let reads = hints.and_then(|hints| hints.read_only_hint) == Some(true);
            let weight = if reads { Weight::Detail } else { Weight::News };
            (weight, json!({ "tool": tool, "message": "done" }))
        }
        Some(said) => {
            let weight = if said.is_broken() { Weight::Broken } else { Weight::Refused };
            let Said { code, message, .. } = said;
            (weight, json!({ "tool": tool, "message": message, "code": code }))
        }
    }
}

/// What a call brought along, not yet looked at.
struct Taken(JsonObject);

impl Taken {
    fn read<I: DeserializeOwned>(self) -> Result<I, Said> {
        serde_json::from_value(Value::Object(self.0)).map_err(|error| {
            Said::new("bad-input", error.to_string(), "tools/list shows what this tool takes")
        })
    }
}

fn given(output: impl Serialize) -> Result<CallToolResult, Said> {
    let value = serde_json::to_value(output);
    let value = value.map_err(|error| Said::new("failed", error.to_string(), "tell us"))?;
    Ok(CallToolResult::structured(value))
}

/// A handoff in one line, without what the reader knows.
fn line(view: &Value) -> Line {
    let text = |name: &str| cut(view[name].as_str().unwrap_or_default());
    let task = view["task"].as_str().map(cut);
    Line {
        handoff: text("id"),
        workflow: text("workflow"),
        title: text("title"),
        from: text("from_agent"),
        to: text("to_agent"),
        state: text("state"),
        detail: view["detail"].as_str().map(cut),
        priority: text("priority"),
        task,
        reason: text("reason"),
    }
}

/// A text as far as a line has room for it.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A handoff in one line.
#[derive(Debug, Serialize, JsonSchema)]
struct Line {
    handoff: String,
    workflow: String,
    title: String,
    from: String,
    to: String,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    priority: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    reason: String,
}

/// Leaves out what says nothing: a model pays for every word.
fn without_nothing(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(without_nothing);
            fields.retain(|_, value| match value {
                Value::Null => false,
                Value::Array(all) => !all.is_empty(),
                Value::Object(all) => !all.is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            });
        }
        Value::Array(all) => all.iter_mut().for_each(without_nothing),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}
