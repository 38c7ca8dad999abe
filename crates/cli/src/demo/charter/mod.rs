//! `baton demo charter`: the charter flight of examples/charter, with agents that Baton runs.
//!
//! The definition and what the agents answer are the files of the example, inside the binary. All
//! else is real: a coordinator, a process for each step, the rules, and the error monitor's waits.

mod actor;

pub(crate) use actor::act;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use baton_engine::view::{Message, MessageType, WorkflowView};
use baton_protocol::definition::Definition;
use serde::Deserialize;
use serde_json::{Value, json};

use super::DemoArgs;
use super::stage::Stage;
use crate::client::Query;
use crate::failure::Failure;

/// The variable that tells the scripted agents what to answer.
const SCRIPT: &str = "demo_answers";
pub(crate) const DEFINITION: &str =
    include_str!("../../../../../examples/charter/workflows/charter.yaml");
const PARTS: &str = include_str!("../../../../../examples/charter/demo.yaml");
/// How long one request may take at most.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often the bus is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// One request, and what the agents answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Part {
    name: String,
    pub(crate) title: String,
    quotes: usize,
    /// By state; where there are several, each try gets the next.
    pub(crate) answers: BTreeMap<String, Vec<Value>>,
}

/// The requests of the example.
pub(crate) fn parts() -> Result<Vec<Part>, String> {
    serde_saphyr::from_str(PARTS).map_err(|error| format!("the demo: {error}"))
}

/// Plays the charter flight.
pub(crate) fn play(args: &DemoArgs) -> Result<(), Failure> {
    let broken = |what: &str| Failure::failed(what.to_owned(), "please report it");
    let read = baton_rules::read(DEFINITION).map_err(|_| broken("the example is broken"))?;
    let parts = parts().map_err(|why| broken(&why))?;
    let stage = Stage::set(args)?;
    cast(&stage, &read.definition)?;
    for part in &parts {
        stage.act(&part.name)?;
        perform(&stage, part)?;
    }
    stage.runs(&["stats"])?;
    stage.leave()
}

/// Makes the agents known, each a command, and the definition.
fn cast(stage: &Stage, definition: &Definition) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| {
        Failure::failed(format!("cannot find this program: {error}"), "start it by its path")
    })?;
    let argv = json!([program.display().to_string(), "demo-actor"]);
    for agent in definition.agents.keys() {
        let reach = json!({ "command": { "argv": argv } });
        stage.asks(json!({ "register": { "id": agent, "reach": reach } }))?;
    }
    stage.asks(json!({ "define": definition }))?;
    let count = definition.agents.len();
    stage
        .coordinator(&format!("knows {} and {count} agents, a process each time", definition.id()));
    Ok(())
}

fn perform(stage: &Stage, part: &Part) -> Result<(), Failure> {
    let started = stage.asks(json!({ "start": {
        "title": part.title,
        "definition": { "name": "charter" },
        "variables": { SCRIPT: part.answers },
    }}))?;
    let id = started.workflow.map(|id| id.to_string()).unwrap_or_default();
    let (mut after, mut quoted) = (0, false);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let path = Query::new("/v1/messages").with("workflow", Some(&id));
        let mut told: Vec<Message> = stage.reads(path)?;
        told.retain(|message| message.seq > after);
        for message in &told {
            after = message.seq;
            if let Some(line) = line(message) {
                stage.coordinator(&line);
            }
        }
        let view: WorkflowView = stage.reads(format!("/v1/workflows/{id}"))?;
        let machine = view.machine.as_ref();
        if machine.is_some_and(|machine| machine.waits_for.is_some()) && !quoted {
            quoted = true;
            quotes(stage, part, &view)?;
        }
        if view.ending.is_some() && told.is_empty() {
            return stage.runs(&["flow", &id]);
        }
        std::thread::sleep(LOOK);
    }
    let sentence = format!("\"{}\" was not over in time", part.title);
    Err(Failure::failed(sentence, "the machine may be very busy: try again"))
}

/// Operators send their quotes, one after the other.
fn quotes(stage: &Stage, part: &Part, view: &WorkflowView) -> Result<(), Failure> {
    let holder = view.holds.iter().find(|hold| hold.owner);
    let Some(holder) = holder else { return Ok(()) };
    for count in 1..=part.quotes {
        let quotes: Vec<Value> =
            (1..=count).map(|n| json!({ "quoteId": format!("q-{n}") })).collect();
        stage.says(&format!("an operator sends a quote: {count}"));
        let write = json!({ "set_variables": {
            "workflow": view.line.id, "fence": holder.fence, "changes": { "quotes": quotes },
        }});
        match stage.asks_as(&holder.agent, write) {
            Ok(_) => (),
            // Three were enough, and the work has gone on.
            Err(refusal) if refusal.code == "stale-fence" || refusal.code == "not-holder" => break,
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

/// A message of the bus as a line, if a reader wants to see it.
fn line(message: &Message) -> Option<String> {
    let event = &message.payload.event;
    let handoff = message.payload.handoff.as_ref();
    let words = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
    Some(match message.kind {
        MessageType::AgentHandoff => {
            let one = handoff?;
            let rule = match words("/terms/step/rule") {
                "" => String::new(),
                rule => format!(" [rule {rule}]"),
            };
            let priority = one.task.priority?;
            let (from, to, reason) = (&one.from_agent, &one.to_agent, &one.reason);
            format!("AGENT_HANDOFF {from} → {to}{rule} {priority}: {reason}")
        }
        MessageType::TaskAssigned => {
            format!("TASK_ASSIGNED {}: {}", handoff?.to_agent, words("/terms/reason"))
        }
        MessageType::TaskFailed if event["type"] == "step_failed" => {
            let (state, kind) = (words("/state"), words("/error/errorType"));
            format!("TASK_FAILED {state}: {kind}, {}", words("/error/errorMessage"))
        }
        MessageType::TaskFailed if event["type"] == "closed" => {
            format!("TASK_FAILED the whole work: {}", words("/ending/reason"))
        }
        MessageType::TaskCompleted if event["type"] == "closed" => {
            format!("TASK_COMPLETED {}", words("/ending/note"))
        }
        MessageType::StateChanged | MessageType::TaskCompleted if event["type"] == "moved" => {
            format!("{} {} → {}", name(message.kind), words("/from"), words("/step/state"))
        }
        _ => return None,
    })
}

fn name(kind: MessageType) -> String {
    crate::verbs::word_of(&kind)
}
