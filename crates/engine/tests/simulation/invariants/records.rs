//! What a record may say, given the world before it: who asked, under which fence, and when.

use baton_protocol::World;
use baton_protocol::event::{Event, StreamId};
use baton_protocol::handoff::{Due, Handoff, State};
use baton_protocol::id::{Fence, HandoffId, WorkflowId};
use baton_protocol::time::Timestamp;
use baton_protocol::variables::{Changes, Meaning};
use baton_protocol::workflow::{Hold, Workflow};

use super::{Checked, Facts, Tale, Tally, Told, must};

/// Numbers and times go on where the record before left off.
pub(super) fn order(facts: &Facts, told: &Told<'_>) -> Checked {
    let record = told.record;
    let (seq, at) = (record.seq, record.at);
    must(seq == facts.last_seq + 1, "I24", || format!("{seq} follows {}", facts.last_seq))?;
    must(at >= facts.last_at, "I24", || format!("{seq} is of {at}, before {}", facts.last_at))?;
    let version = facts.versions.get(&record.stream).copied().unwrap_or(0) + 1;
    must(record.version == version, "I24", || {
        format!("{} is version {} of {}, not {version}", seq, record.version, record.stream)
    })
}

/// Takes note of what a record tells.
pub(super) fn note(facts: &mut Facts, told: &Told<'_>) {
    let record = told.record;
    facts.last_seq = record.seq;
    facts.last_at = record.at;
    facts.versions.insert(record.stream.clone(), record.version);
    if let StreamId::Workflow(id) = record.stream {
        match &record.event {
            Event::Started { .. } => {
                facts.fences.insert(id, Fence(1));
            }
            Event::Accepted { fence, .. } => {
                facts.fences.insert(id, *fence);
            }
            Event::Reclaimed { fence, .. } => {
                facts.fences.insert(id, *fence);
                facts.reclaimed = Some(record.command);
            }
            _ => (),
        }
    }
    if let Event::GroupOpened { group, aggregation, expected } = &record.event {
        let tally = Tally { aggregation: *aggregation, expected: expected.clone(), outcome: None };
        facts.groups.insert(*group, tally);
    }
    if let Event::Aggregated { group, success, .. } = &record.event
        && let Some(tally) = facts.groups.get_mut(group)
    {
        tally.outcome = Some(*success);
    }
    if let Event::Settled { effect, .. } = &record.event {
        facts.settled.insert(*effect);
    }
    if let Some(handoff) = record.event.handoff() {
        let tale = facts.tales.entry(handoff).or_default();
        tell(tale, &record.event);
        if matches!(record.event, Event::Initiated { .. } | Event::Rerouted { .. }) {
            tale.asked_by = record.seq;
        }
        // With the whole work its first pass is a person's choice, too.
        tale.reassigned |= facts.reclaimed == Some(record.command);
    }
    if let (StreamId::Agent(id), Event::Registered { .. }) = (&record.stream, &record.event) {
        facts.changed.insert(id.clone(), record.seq);
    }
}

fn tell(tale: &mut Tale, event: &Event) {
    match event {
        Event::Initiated { terms, .. } => {
            tale.group = terms.kind.group();
            tale.receivers.push(terms.to_agent.clone());
        }
        Event::Accepted { .. } => tale.accepted += 1,
        Event::Rerouted { to, .. } => {
            tale.reroutes += 1;
            tale.receivers.push(to.clone());
        }
        Event::Reassigned { to, .. } => {
            tale.reassigned = true;
            tale.receivers.push(to.clone());
        }
        Event::TimedOut { resend_at: Some(_), .. } => tale.resends += 1,
        Event::Completed { .. } => {
            tale.ended += 1;
            tale.succeeded = true;
        }
        Event::Failed { .. } => tale.ended += 1,
        _ => (),
    }
}

/// Judges who asked, under which fence, and when.
pub(super) fn judge(facts: &Facts, world: &World, told: &Told<'_>) -> Checked {
    let StreamId::Workflow(id) = told.record.stream else {
        return settled(facts, world, told);
    };
    let workflow = world.workflows.get(&id);
    new_fence(facts, id, told)?;
    let Some(workflow) = workflow else {
        let begins = matches!(told.record.event, Event::Started { .. });
        return must(begins, "I19", || format!("{} is about work that is over", told.record.seq));
    };
    under_fence(workflow, told)?;
    answers(workflow, world, told)?;
    timely(workflow, told)
}

fn settled(facts: &Facts, world: &World, told: &Told<'_>) -> Checked {
    let Event::Settled { effect, .. } = &told.record.event else { return Ok(()) };
    let open = world.outbox.contains_key(effect) && !facts.settled.contains(effect);
    must(open, "I31", || format!("effect {effect} was settled although it is not open"))
}

fn new_fence(facts: &Facts, id: WorkflowId, told: &Told<'_>) -> Checked {
    let given = match &told.record.event {
        Event::Accepted { fence, .. } | Event::Reclaimed { fence, .. } => *fence,
        Event::Started { .. } => {
            return must(!facts.fences.contains_key(&id), "I3", || format!("{id} began twice"));
        }
        _ => return Ok(()),
    };
    let last = facts.fences.get(&id).copied().unwrap_or_default();
    must(given == last.next(), "I3", || format!("fence {given} was given after {last}"))
}

/// Whatever is done under a fence is done by the one who holds it, and not while it waits.
fn under_fence(workflow: &Workflow, told: &Told<'_>) -> Checked {
    let event = &told.record.event;
    let fence = match event {
        Event::Progressed { fence, .. }
        | Event::VariablesSet { fence, .. }
        | Event::Locked { fence, .. }
        | Event::Unlocked { fence, .. } => *fence,
        Event::Initiated { terms, .. } => return passed(workflow, told, terms.parent),
        Event::Completed { handoff, result: Some(result), .. } => {
            return returned(workflow, told, *handoff, result.fence);
        }
        Event::Failed {
            handoff,
            detail: baton_protocol::handoff::Detail::Error { result },
            ..
        } => return returned(workflow, told, *handoff, result.fence),
        _ => return Ok(()),
    };
    let hold = in_force(workflow, fence, event.word())?;
    let asker = told.asker();
    must(asker.as_ref() == Some(&hold.agent), "I4", || {
        format!("{} under fence {fence} of {} by {asker:?}", event.word(), hold.agent)
    })?;
    let waits = hold.suspended.is_some() && !matches!(event, Event::Progressed { .. });
    must(!waits, "I16", || format!("{} under the suspended fence {fence}", event.word()))?;
    match event {
        Event::VariablesSet { changes, .. } => written(workflow, hold, changes),
        _ => Ok(()),
    }
}

fn in_force<'a>(
    workflow: &'a Workflow,
    fence: Fence,
    word: &str,
) -> Result<&'a Hold, super::Broken> {
    let hold = workflow.holds.get(&fence);
    let how = || format!("{word} under fence {fence}, which is not in force");
    hold.ok_or_else(|| super::Broken { id: "I4", how: how() })
}

/// A handoff begins under a hold of its sender, who does not wait.
fn passed(workflow: &Workflow, told: &Told<'_>, parent: Fence) -> Checked {
    let Event::Initiated { terms, .. } = &told.record.event else { return Ok(()) };
    let hold = in_force(workflow, parent, "initiated")?;
    must(hold.agent == terms.from_agent, "I4", || {
        format!("{} passed under fence {parent} of {}", terms.from_agent, hold.agent)
    })?;
    let Some(asker) = told.asker() else { return Ok(()) };
    let own = asker == terms.from_agent || told.by_operator();
    must(own, "I4", || format!("{asker} passed in the name of {}", terms.from_agent))?;
    let waits = hold.suspended.is_some_and(|on| on.escalation != terms.id);
    must(!waits, "I16", || format!("{asker} passed on under the suspended fence {parent}"))
}

/// A result comes from whoever holds the handoff; what flows down comes with one from above.
fn returned(workflow: &Workflow, told: &Told<'_>, id: HandoffId, fence: Fence) -> Checked {
    let Some(handoff) = workflow.handoffs.get(&id) else { return Ok(()) };
    let held = handoff.state.fence();
    must(held == Some(fence), "I4", || format!("{id} is held as {held:?}, returned as {fence}"))?;
    let first = told.part.0 == 0;
    let asker = told.asker();
    must(!first || asker.as_ref() == Some(&handoff.to), "I4", || {
        format!("{asker:?} returned {id}, which {} holds", handoff.to)
    })?;
    let waits = matches!(handoff.state, State::Suspended { .. });
    must(!(first && waits), "I16", || format!("{id} came back while its holder waits"))
}

/// Variables are written over what the writer has seen; lists only grow.
fn written(workflow: &Workflow, hold: &Hold, changes: &Changes) -> Checked {
    for (name, value) in changes {
        let Some(known) = workflow.variables.find(name) else { continue };
        if name.meaning() == Meaning::List {
            let (before, after) = (known.value.as_value(), value.as_value());
            let kept = match (before.as_array(), after.as_array()) {
                (Some(before), Some(after)) => after.starts_with(before),
                _ => false,
            };
            must(kept, "I30", || format!("{name} lost something: {before} became {after}"))?;
            continue;
        }
        let seen = known.version <= hold.seen || known.by == hold.agent;
        must(seen, "I30", || format!("{} wrote {name} without having seen it", hold.agent))?;
    }
    Ok(())
}

/// Answers come from whoever was asked, while an answer is awaited.
fn answers(workflow: &Workflow, world: &World, told: &Told<'_>) -> Checked {
    let event = &told.record.event;
    let handoff = event.handoff().and_then(|id| workflow.handoffs.get(&id));
    let Some(handoff) = handoff else { return Ok(()) };
    let id = handoff.terms.id;
    let ended = handoff.state.is_over();
    must(!ended, "I5", || format!("{} about {id}, which is over", event.word()))?;
    match event {
        Event::Accepted { by, .. } => {
            held(handoff, event)?;
            let asker = told.asker();
            let right = asker.as_ref() == Some(by) && handoff.to == *by;
            must(right, "I2", || format!("{asker:?} accepted {id}, meant for {}", handoff.to))?;
            let agent = world.agents.get(by);
            let most = agent.map_or(0, |agent| agent.profile.max_concurrent_tasks as usize);
            let load = agent.map_or(0, |agent| agent.holds.len());
            must(load < most, "I7", || format!("{by} accepted {id} while it held {load} of {most}"))
        }
        Event::Rejected { by, cause, .. } if cause.is_answer() => {
            held(handoff, event)?;
            let asker = told.asker();
            let right = asker.as_ref() == Some(by) && handoff.to == *by;
            must(right, "I2", || format!("{asker:?} rejected {id}, meant for {}", handoff.to))
        }
        Event::Deferred { by, .. } => {
            held(handoff, event)?;
            must(handoff.to == *by, "I2", || format!("{by} deferred {id} of {}", handoff.to))
        }
        Event::Rejected { .. }
        | Event::Resent { .. }
        | Event::Queued { .. }
        | Event::Rerouted { .. } => held(handoff, event),
        Event::Reassigned { .. } => must(told.by_operator(), "I2", || {
            format!("{} reassigned {id}, which only a person may", told.record.by)
        }),
        _ => Ok(()),
    }
}

/// What is held is no longer waited for: the acceptance was recorded first.
fn held(handoff: &Handoff, event: &Event) -> Checked {
    let fence = handoff.state.fence();
    must(fence.is_none(), "I32", || {
        format!("{} of {} while it is held as {fence:?}", event.word(), handoff.terms.id)
    })
}

/// What time brings comes when its time has come, and not before.
fn timely(workflow: &Workflow, told: &Told<'_>) -> Checked {
    let (event, at) = (&told.record.event, told.record.at);
    let state = event.handoff().and_then(|id| workflow.handoffs.get(&id)).map(|h| &h.state);
    let due: Option<Timestamp> = match (event, state) {
        (Event::Rejected { cause, .. }, Some(State::Initiated { answer_by, .. }))
            if *cause == baton_protocol::handoff::Cause::Unavailable =>
        {
            Some(answer_by.unwrap_or(Timestamp::from_micros(i64::MAX)))
        }
        (Event::Resent { .. }, Some(State::Deferred { until, .. })) => Some(*until),
        (Event::Resent { .. }, Some(State::Queued { until, .. })) => *until,
        (Event::Reminded { .. }, Some(State::Accepted { due, .. })) => {
            let late = matches!(due, Some(Due::Return(_)));
            must(late, "I22", || format!("reminded although {due:?} is due"))?;
            due.map(Due::at)
        }
        (Event::TimedOut { fence, .. }, Some(State::Accepted { due, fence: held, .. })) => {
            must(fence == held, "I4", || format!("fence {fence} timed out, {held} is held"))?;
            let late = matches!(due, Some(Due::Timeout(_)));
            must(late, "I22", || format!("timed out although {due:?} is due"))?;
            due.map(Due::at)
        }
        (Event::TimedOut { .. } | Event::Reminded { .. }, state) => {
            return must(false, "I22", || format!("{} while {state:?}", event.word()));
        }
        (Event::Overdue { fence }, _) => workflow.holds.get(fence).and_then(|hold| hold.due),
        _ => None,
    };
    let early = due.is_some_and(|due| due > at);
    must(!early, "I22", || format!("{} at {at}, due at {due:?}", event.word()))
}
