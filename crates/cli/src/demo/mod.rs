//! `baton demo`: half a minute in which a newcomer sees what Baton is for.
//!
//! Nothing is faked. A temporary workspace is made, agents get tokens and act through the same
//! socket as any other, and the coordinator that is killed is a real process with kill -9.

pub(crate) mod charter;
mod guards;
mod several;
mod stage;

use std::cell::Cell;
use std::time::Duration;

use serde_json::json;

use crate::failure::Failure;
use stage::{Actor, Stage};

/// How the demo runs.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct DemoArgs {
    /// Keep the temporary workspace, to look around in it afterwards
    #[arg(long)]
    pub(crate) keep: bool,
    /// Do not pause for the reader between the acts
    #[arg(long)]
    pub(crate) fast: bool,
}

/// Plays the whole story.
pub(crate) fn play(args: &DemoArgs) -> Result<(), Failure> {
    let stage = Stage::set(args)?;
    let [planner, builder, tester, ann, bob, cleo] = stage.cast([
        ("planner", json!({})),
        ("builder", json!({})),
        ("tester", json!({})),
        ("ann", json!({ "role": "reviewer", "capabilities": ["review"] })),
        ("bob", json!({ "capabilities": [{ "id": "review", "proficiency": 0.8 }] })),
        ("cleo", json!({ "capabilities": [{ "id": "review", "proficiency": 0.5 }] })),
    ])?;
    let workflow = pipeline(&stage, &planner, &builder)?;
    silent_tester(&stage, &workflow, &builder, &tester)?;
    several::majority(&stage, &workflow, &builder, [&ann, &bob, &cleo])?;
    let handoff = guards::approved(&stage, &workflow, &builder)?;
    several::rerouted(&stage, &workflow, &handoff, [&ann, &bob])?;
    several::escalation(&stage, &workflow, &bob, &ann)?;
    plug_pulled(&stage, &workflow, &bob)?;
    curtain(stage, &workflow)
}

/// A workflow as the demo passes it round, and the latest fence that owns it.
struct Work {
    id: String,
    owner: Cell<u64>,
}

impl Work {
    fn fence(&self) -> u64 {
        self.owner.get()
    }
}

fn pipeline(stage: &Stage, planner: &Actor, builder: &Actor) -> Result<Work, Failure> {
    stage.act("1. Work is passed on, and exactly one holds it")?;
    let started = planner.does(json!({ "start": { "title": "Add a login page" } }))?;
    let id = started.workflow.map(|id| id.to_string()).unwrap_or_default();
    stage.tell(planner, "starts \"Add a login page\" and holds it with fence 1");
    let passed = planner.does(json!({ "pass": {
        "workflow": id, "fence": 1, "to_agent": "builder",
        "reason": "the design is done, build it",
        "context": { "context_variables": { "design": "docs/login.md" } },
    }}))?;
    stage.tell(planner, "passes it to builder for good");
    builder.does(json!({ "accept": { "handoff": passed.handoff } }))?;
    stage.tell(builder, "accepts: fence 2, the work is builder's now");
    let stale = planner.is_refused(json!({ "set_variables": {
        "workflow": id, "fence": 1, "changes": { "design": "something else" },
    }}))?;
    stage.tell(planner, "changes its mind and writes with its old fence");
    stage.refused(&stale);
    Ok(Work { id, owner: Cell::new(2) })
}

fn silent_tester(
    stage: &Stage,
    work: &Work,
    builder: &Actor,
    tester: &Actor,
) -> Result<(), Failure> {
    stage.act("2. A delegate falls silent, is replaced, and comes back too late")?;
    let passed = builder.does(json!({ "pass": {
        "workflow": work.id, "fence": 2, "to_agent": "tester", "type": "delegation",
        "reason": "I need tests", "context": { "task_id": "write the login tests" },
        "return_protocol": { "timeout": "2s", "on_timeout": "retry" },
    }}))?;
    let handoff = passed.handoff.map(|id| id.to_string()).unwrap_or_default();
    stage.tell(builder, "delegates \"write the login tests\" to tester, back within 2 s");
    let accept = json!({ "accept": { "handoff": handoff } });
    tester.does(accept.clone())?;
    stage.tell(tester, "accepts with fence 3 … and hangs");
    stage.until(&handoff, "queued", Duration::from_secs(10))?;
    stage.coordinator("reminds, waits, and takes it back: fence 3 is dead");
    stage.until(&handoff, "initiated", Duration::from_secs(10))?;
    stage.coordinator("sends it to tester again, 2 s later");
    tester.does(accept)?;
    stage.tell(tester, "accepts in a new session: fence 4");
    let give = |fence: u64, body: &str| {
        json!({ "return": {
            "handoff": handoff, "fence": fence, "status": "success",
            "result": { "content_type": "text", "body": body },
            "context_updates": { "artifacts_produced": [
                { "type": "test_result", "path": "tests/login.rs", "status": "final" },
            ]},
            "audit": { "tokens_consumed": 5_420 },
        }})
    };
    let stale = tester.is_refused(give(3, "half of it"))?;
    stage.tell(tester, "the hung session wakes up and returns half a result");
    stage.refused(&stale);
    tester.does(give(4, "12 tests, all green"))?;
    stage.tell(tester, "the new session returns: 12 tests, all green");
    Ok(())
}

fn plug_pulled(stage: &Stage, work: &Work, holder: &Actor) -> Result<(), Failure> {
    stage.act("7. kill -9")?;
    let before = stage.status()?;
    stage.kill(before.pid)?;
    stage.coordinator(&format!("process {} is killed with SIGKILL", before.pid));
    holder.does(json!({ "complete": {
        "workflow": work.id, "fence": work.fence(), "note": "reviewed and merged",
    }}))?;
    let after = stage.status()?;
    stage.coordinator(&format!(
        "the next command starts process {}: {} records before, {} now, nothing lost",
        after.pid, before.records, after.records
    ));
    stage.tell(holder, "completes the work as if nothing had happened");
    Ok(())
}

fn curtain(stage: Stage, work: &Work) -> Result<(), Failure> {
    stage.act("The flow, the trail, and its proof")?;
    stage.runs(&["show", &work.id])?;
    stage.runs(&["audit", "log", "--workflow", &work.id])?;
    stage.runs(&["audit", "verify"])?;
    stage.leave()
}
