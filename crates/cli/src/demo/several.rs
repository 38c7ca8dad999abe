//! The acts with several agents: a broadcast, a rejection that goes to another, an escalation.

use baton_engine::view::Answer;
use baton_protocol::event::Event;
use serde_json::json;

use super::Work;
use super::stage::{Actor, Stage};
use crate::failure::Failure;

/// Three are asked at once, and two of them are enough.
pub(super) fn majority(
    stage: &Stage,
    work: &Work,
    builder: &Actor,
    [ann, bob, cleo]: [&Actor; 3],
) -> Result<(), Failure> {
    stage.act("3. Three are asked at once, and a majority decides")?;
    let asked = builder.does(json!({ "pass": {
        "workflow": work.id, "fence": work.fence(), "type": "broadcast",
        "to_agents": ["ann", "bob", "cleo"], "aggregation": "majority",
        "reason": "is a login without a captcha good enough?",
        "return_protocol": { "timeout": "10m" },
    }}))?;
    stage.tell(builder, "asks ann, bob and cleo; each gets a copy of its own");
    for (actor, status, word) in
        [(ann, "success", "yes"), (cleo, "failed", "no"), (bob, "success", "yes")]
    {
        let copy = copy_for(&asked, actor)?;
        let fence = fence(&actor.does(json!({ "accept": { "handoff": copy } }))?);
        let said = actor.does(json!({ "return": {
            "handoff": copy, "fence": fence, "status": status,
            "result": { "content_type": "text", "body": word },
        }}))?;
        stage.tell(actor, &format!("returns: {word}"));
        let decided = said.events.iter().find_map(|event| match event {
            Event::Aggregated { success, successes, failures, .. } => {
                Some((*success, *successes, *failures))
            }
            _ => None,
        });
        if let Some((success, yes, no)) = decided {
            let how = if success { "succeeded" } else { "failed" };
            stage.coordinator(&format!("{yes} for, {no} against: the broadcast has {how}"));
        }
    }
    Ok(())
}

/// A reviewer says no, and another that can do it is asked.
pub(super) fn rerouted(
    stage: &Stage,
    work: &Work,
    handoff: &str,
    [ann, bob]: [&Actor; 2],
) -> Result<(), Failure> {
    stage.act("5. A reviewer says no, and the next best is asked")?;
    let said = ann.does(json!({ "reject": {
        "handoff": handoff, "reason": "I am on holiday from today",
    }}))?;
    stage.tell(ann, "rejects: I am on holiday from today");
    let next = said.events.iter().find_map(|event| match event {
        Event::Rerouted { to, .. } => Some(to.to_string()),
        _ => None,
    });
    let next = next.unwrap_or_default();
    stage.coordinator(&format!("routes it to {next}, who reviews nearly as well (1 of 3 tries)"));
    let accepted = bob.does(json!({ "accept": { "handoff": handoff } }))?;
    let fence = fence(&accepted);
    work.owner.set(fence);
    stage.tell(bob, &format!("accepts: fence {fence}, the work is bob's now"));
    Ok(())
}

/// A question climbs to somebody above, and the decision comes back down.
pub(super) fn escalation(
    stage: &Stage,
    work: &Work,
    bob: &Actor,
    ann: &Actor,
) -> Result<(), Failure> {
    stage.act("6. A question climbs to a person, and the decision comes back down")?;
    let asked = bob.does(json!({ "pass": {
        "workflow": work.id, "fence": work.fence(), "type": "escalation",
        "reason": "may the old accounts be deleted?",
        "audit": { "decision_rationale": "the migration cannot keep both", "risk_level": "medium" },
    }}))?;
    let first = carried(&asked);
    stage.tell(bob, "escalates \"may the old accounts be deleted?\" and is suspended");
    let fence = fence(&ann.does(json!({ "accept": { "handoff": first } }))?);
    let climbs = ann.does(json!({ "pass": {
        "workflow": work.id, "fence": fence, "type": "escalation",
        "reason": "may the old accounts be deleted?",
        "audit": { "decision_rationale": "sound, but deleting data needs a person" },
    }}))?;
    let second = carried(&climbs);
    stage.tell(ann, "is a reviewer and may not decide it either: it climbs to you");
    let decision = "keep them for a month, then delete";
    stage.runs(&["decide", &second, decision])?;
    stage.coordinator("sends the decision down, level by level, to the one who asked");
    stage.tell(bob, "goes on, with the fence it always had");
    Ok(())
}

/// The copy of a broadcast that is for `actor`.
fn copy_for(asked: &Answer, actor: &Actor) -> Result<String, Failure> {
    let copy = asked.events.iter().find_map(|event| match event {
        Event::Initiated { terms, .. } if terms.to_agent.as_str() == actor.name() => {
            Some(terms.id.to_string())
        }
        _ => None,
    });
    copy.ok_or_else(|| {
        Failure::failed(format!("there is no copy for {}", actor.name()), "please report it")
    })
}

/// The handoff that an answer began.
fn carried(answer: &Answer) -> String {
    let begun = answer.events.iter().find_map(|event| match event {
        Event::Initiated { terms, .. } => Some(terms.id.to_string()),
        _ => None,
    });
    begun.unwrap_or_default()
}

fn fence(answer: &Answer) -> u64 {
    answer.fence.map_or(0, |fence| fence.0)
}
