//! What agents do, by their temper: answer, work, pass on, forget and lie.

use baton_protocol::command::{Actor, Command, Submission};
use baton_protocol::handoff::{Kind, State};
use baton_protocol::id::{AgentId, Fence, HandoffId, WorkflowId};
use baton_protocol::refusal::Refusal;
use serde_json::{Value, json};

use crate::cast::{FILES, NAMES, Player, Temper};
use crate::invariants::must;
use crate::passes;
use crate::stage::{Stage, Went};

/// Something that an agent holds.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) workflow: WorkflowId,
    pub(crate) fence: Fence,
    /// The handoff that must come back, if there is one.
    pub(crate) handoff: Option<HandoffId>,
    pub(crate) owner: bool,
    pub(crate) suspended: bool,
}

/// Who asks in the name of `agent`.
pub(crate) fn actor(agent: &AgentId) -> Actor {
    if agent.is_operator() { Actor::Operator } else { Actor::Agent(agent.clone()) }
}

/// What waits for the agent's answer.
pub(crate) fn inbox(stage: &Stage, agent: &AgentId) -> Vec<HandoffId> {
    let all = stage.world.workflows.values().flat_map(|workflow| workflow.handoffs.values());
    let waits = all.filter(|handoff| {
        let asked = matches!(handoff.state, State::Initiated { .. } | State::Deferred { .. });
        handoff.to == *agent && asked
    });
    let mut ids: Vec<_> = waits.map(|handoff| handoff.terms.id).collect();
    ids.sort_unstable();
    ids
}

/// What the agent holds.
pub(crate) fn holds(stage: &Stage, agent: &AgentId) -> Vec<Held> {
    let Some(known) = stage.world.agents.get(agent) else { return Vec::new() };
    let held = |(id, fence): &(WorkflowId, Fence)| {
        let workflow = stage.world.workflows.get(id)?;
        let hold = workflow.holds.get(fence)?;
        let handoff = hold.handoff.and_then(|id| workflow.handoffs.get(&id));
        let returns = handoff.filter(|handoff| !handoff.state.is_over());
        Some(Held {
            workflow: *id,
            fence: *fence,
            handoff: returns.map(|handoff| handoff.terms.id),
            owner: workflow.owner == *fence,
            suspended: hold.suspended.is_some(),
        })
    };
    known.holds.iter().filter_map(held).collect()
}

/// One turn of the player `n`.
pub(crate) async fn turn(stage: &mut Stage, n: usize) -> Went<()> {
    let player = stage.own.players[n].clone();
    if stage.own.step < player.down_until {
        return Ok(());
    }
    let chance = &mut stage.own.chance;
    match player.temper {
        Temper::Slow if chance.percent(75) => return Ok(()),
        Temper::Lying if chance.percent(50) => return lie(stage, &player).await,
        Temper::Crashing if chance.percent(20) => {
            let span = u32::try_from(chance.between(5, 30)).unwrap_or(5);
            stage.own.players[n].down_until = stage.own.step + span;
            // It comes back with what it remembers from before.
            return old_ways(stage, &player).await;
        }
        Temper::Diligent
        | Temper::Slow
        | Temper::Crashing
        | Temper::Lying
        | Temper::Doubling
        | Temper::Picky => (),
    }
    let strange = stage.own.chance.below(100);
    match strange {
        0..2 => return lie(stage, &player).await,
        2..4 => return old_ways(stage, &player).await,
        4..8 => return again(stage).await,
        _ if player.temper == Temper::Doubling && strange < 40 => return again(stage).await,
        _ => (),
    }
    let waiting = inbox(stage, &player.id);
    if !waiting.is_empty() && stage.own.chance.percent(65) {
        let handoff = *stage.own.chance.pick(&waiting).expect("one waits");
        return answer(stage, &player, handoff).await;
    }
    let held = holds(stage, &player.id);
    match stage.own.chance.pick(&held).cloned() {
        Some(held) if stage.own.chance.percent(85) => work(stage, &player, &held).await,
        _ => begin(stage, &player).await,
    }
}

async fn answer(stage: &mut Stage, player: &Player, handoff: HandoffId) -> Went<()> {
    let picky = if player.temper == Temper::Picky { 4 } else { 1 };
    let chance = &mut stage.own.chance;
    let command = match chance.weighed(&[(70, 0), (12 * picky, 1), (8 * picky, 2)]) {
        0 => json!({ "accept": { "handoff": handoff } }),
        1 => json!({ "reject": { "handoff": handoff, "reason": "not mine" } }),
        _ => {
            let span = format!("{}s", chance.between(1, 30));
            json!({ "defer": { "handoff": handoff, "reason": "later", "for": span } })
        }
    };
    stage.ask(actor(&player.id), command).await?;
    Ok(())
}

async fn begin(stage: &mut Stage, player: &Player) -> Went<()> {
    // Few workflows at a time, so that they meet.
    if stage.world.workflows.len() >= 5 {
        return Ok(());
    }
    let command = match stage.own.chance.percent(30) {
        true => json!({ "start": { "title": "work", "priority": passes::priority(stage) } }),
        false => passes::any(stage, None),
    };
    stage.ask(actor(&player.id), command).await?;
    Ok(())
}

/// One thing that a holder does with what it holds.
async fn work(stage: &mut Stage, player: &Player, held: &Held) -> Went<()> {
    let returns = if held.handoff.is_some() { 40 } else { 0 };
    let ends = if held.owner { 12 } else { 0 };
    let kinds = [
        (returns, "return"),
        (ends, "complete"),
        (if held.owner { 12 } else { 2 }, "sequential"),
        (16, "delegation"),
        (9, "broadcast"),
        (if is_question(stage, held) { 60 } else { 12 }, "escalation"),
        (8, "variables"),
        (8, "lock"),
        (3, "unlock"),
        (5, "progress"),
        (2, "artifact"),
        (4, "cancel"),
        (1, "cancel_workflow"),
    ];
    let kind = stage.own.chance.weighed(&kinds);
    let Some(command) = deed(stage, kind, held) else { return Ok(()) };
    // A person at a terminal need not show a number, nor one who asks on behalf of an agent.
    let mut actor = actor(&player.id);
    if stage.own.chance.percent(3) && actor != Actor::Operator {
        actor = Actor::OperatorAs(player.id.clone());
    }
    stage.ask(actor, command).await?;
    Ok(())
}

/// Whether what is held is a question from below, which likes to climb.
fn is_question(stage: &Stage, held: &Held) -> bool {
    let workflow = stage.world.workflows.get(&held.workflow);
    let handoff = held.handoff.and_then(|id| workflow?.handoffs.get(&id));
    handoff.is_some_and(|handoff| matches!(handoff.terms.kind, Kind::Escalation(_)))
}

/// The command of this kind under this hold, if there is one.
pub(crate) fn deed(stage: &mut Stage, kind: &str, held: &Held) -> Option<Value> {
    let (workflow, fence) = (held.workflow, held.fence);
    let chance = &mut stage.own.chance;
    let file = FILES[chance.below(3) as usize];
    Some(match kind {
        "return" => give_back(stage, held.handoff?, fence),
        "complete" => json!({ "complete": { "workflow": workflow, "fence": fence } }),
        "variables" => {
            let changes = changes(stage);
            json!({ "set_variables": { "workflow": workflow, "fence": fence, "changes": changes } })
        }
        "lock" => {
            let mode = chance.weighed(&[(2, "exclusive"), (1, "shared")]);
            let span = chance.weighed(&[(1, "5s"), (1, "60s"), (1, "10m")]);
            json!({ "lock": { "workflow": workflow, "fence": fence, "paths": [file],
                "mode": mode, "for": span } })
        }
        "unlock" => json!({ "unlock": { "workflow": workflow, "fence": fence } }),
        "progress" => {
            let percent = chance.below(101);
            json!({ "progress": { "workflow": workflow, "fence": fence, "percent": percent } })
        }
        "artifact" => json!({ "add_artifact": { "workflow": workflow, "fence": fence,
            "artifact": { "path": file } } }),
        "cancel" => {
            let open: Vec<_> = stage
                .world
                .workflows
                .get(&workflow)?
                .open_under(fence)
                .map(|h| h.terms.id)
                .collect();
            let handoff = stage.own.chance.pick(&open)?;
            json!({ "cancel": { "handoff": handoff, "reason": "no longer needed" } })
        }
        "cancel_workflow" => {
            json!({ "cancel_workflow": { "workflow": workflow, "reason": "called off" } })
        }
        kind => passes::of_kind(stage, kind, Some(held)),
    })
}

pub(crate) fn changes(stage: &mut Stage) -> Value {
    let name = NAMES[stage.own.chance.below(4) as usize];
    let value = match name {
        "task_status" => json!(stage.own.chance.weighed(&[(1, "blocked"), (1, "in_progress")])),
        "decisions_made" => json!("we go on"),
        _ => json!(stage.own.chance.below(1_000)),
    };
    json!({ name: value })
}

fn give_back(stage: &mut Stage, handoff: HandoffId, fence: Fence) -> Value {
    let chance = &mut stage.own.chance;
    let weights = [(60, "success"), (10, "partial"), (20, "failed"), (3, "timeout")];
    let status = chance.weighed(&weights);
    let mut give = json!({ "handoff": handoff, "fence": fence, "status": status });
    if chance.percent(40) {
        give["context_updates"] = json!({ "variables_changed": changes(stage) });
    }
    if stage.own.chance.percent(30) {
        let tokens = stage.own.chance.below(1_000);
        give["audit"] = json!({ "tokens_consumed": tokens });
        give["result"] = json!({ "content_type": "text", "body": "it is done" });
    }
    json!({ "return": give })
}

/// Something under a fence that is not in force, is another's, or was made up; or an answer to what
/// was never asked.
async fn lie(stage: &mut Stage, player: &Player) -> Went<()> {
    let given = stage.own.given.clone();
    let Some(known) = stage.own.chance.pick(&given).cloned() else { return Ok(()) };
    let handoffs = stage.own.handoffs.clone();
    let handoff = stage.own.chance.pick(&handoffs).copied();
    let fence = match stage.own.chance.below(4) {
        0 => Fence(known.fence.0 + stage.own.chance.between(1, 9)),
        1 => Fence(0),
        _ => known.fence,
    };
    let held = Held {
        workflow: known.workflow,
        fence,
        handoff: if stage.own.chance.percent(50) { known.handoff } else { handoff },
        owner: true,
        suspended: false,
    };
    act_on(stage, player, &held, handoff).await
}

/// What an agent does that still believes in an old holding of its own.
async fn old_ways(stage: &mut Stage, player: &Player) -> Went<()> {
    let own: Vec<_> = stage.own.given.iter().filter(|g| g.agent == player.id).cloned().collect();
    let Some(known) = stage.own.chance.pick(&own).cloned() else { return Ok(()) };
    let (workflow, fence, handoff) = (known.workflow, known.fence, known.handoff);
    let held = Held { workflow, fence, handoff, owner: true, suspended: false };
    act_on(stage, player, &held, handoff).await
}

async fn act_on(
    stage: &mut Stage,
    player: &Player,
    held: &Held,
    handoff: Option<HandoffId>,
) -> Went<()> {
    let kinds = [
        "return",
        "return",
        "complete",
        "variables",
        "lock",
        "progress",
        "unlock",
        "artifact",
        "delegation",
        "sequential",
        "escalation",
        "answer",
        "answer",
        "cancel_workflow",
    ];
    let kind = *stage.own.chance.pick(&kinds).expect("there are some");
    if kind == "answer" {
        return match handoff {
            Some(handoff) => answer(stage, player, handoff).await,
            None => Ok(()),
        };
    }
    if let Some(command) = deed(stage, kind, held) {
        stage.ask(actor(&player.id), command).await?;
    }
    Ok(())
}

/// Asks again for what was asked before: it must be answered as it was. The same key for something
/// else must be refused.
pub(crate) async fn again(stage: &mut Stage) -> Went<()> {
    let count = stage.own.heard.len() as u64;
    if count == 0 {
        return Ok(());
    }
    // Mostly something recent.
    let back = match stage.own.chance.percent(70) {
        true => stage.own.chance.below(count.min(4)),
        false => stage.own.chance.below(count),
    };
    let at = usize::try_from(count - 1 - back).unwrap_or(0);
    let (submission, before) = stage.own.heard[at].clone();
    stage.repeating = true;
    let other = altered(&submission.command).filter(|_| stage.own.chance.percent(30));
    match other {
        None => {
            let after = stage.submit(submission).await?;
            let same = after.as_ref() == Ok(&before);
            must(same, "I23", || format!("{before:?}\nbecame {after:?}"))?;
        }
        Some(command) => {
            let other = Submission { command, ..submission };
            let after = stage.submit(other).await?;
            let refused = matches!(after, Err(Refusal::KeyReused));
            must(refused, "I23", || format!("a key for two things was answered {after:?}"))?;
        }
    }
    stage.repeating = false;
    Ok(())
}

/// The same command with other content, if it has any to change.
fn altered(command: &Command) -> Option<Command> {
    let other = "something else".parse().ok()?;
    let mut command = command.clone();
    match &mut command {
        Command::Start(start) => start.title = other,
        Command::Pass(pass) => pass.reason = other,
        Command::Reject(reject) => reject.reason = other,
        Command::Defer(defer) => defer.reason = other,
        Command::Progress(progress) => progress.note = Some(other),
        Command::Return(give) => give.audit.notes = Some(other),
        Command::Complete(complete) => complete.note = Some(other),
        Command::Cancel(cancel) => cancel.reason = other,
        Command::CancelWorkflow(cancel) => cancel.reason = other,
        Command::Reassign(reassign) => reassign.reason = other,
        _ => return None,
    }
    Some(command)
}
