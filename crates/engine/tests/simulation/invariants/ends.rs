//! How things end: broadcasts, late returns, handoffs and whole workflows; and what audits ask for.

use baton_protocol::World;
use baton_protocol::event::{Event, StreamId};
use baton_protocol::handoff::Aggregation;
use baton_protocol::id::HandoffId;
use baton_protocol::workflow::{Ending, Workflow};
use serde::Deserialize;

use super::{Checked, Facts, Tally, Told, must};

/// Judges the end of something.
pub(super) fn judge(facts: &Facts, world: &World, told: &Told<'_>) -> Checked {
    audited(told)?;
    let StreamId::Workflow(id) = told.record.stream else { return Ok(()) };
    match &told.record.event {
        Event::Aggregated { group, success, successes, failures } => {
            let Some(tally) = facts.groups.get(group) else {
                return must(false, "I17", || format!("{group} was decided and never opened"));
            };
            must(tally.outcome.is_none(), "I17", || format!("{group} was decided twice"))?;
            let found = count(facts, tally);
            must(found == (*successes, *failures), "I17", || {
                format!("{group} was decided on {successes} and {failures}, there are {found:?}")
            })?;
            let right = reference(tally, found);
            must(right == Some(*success), "I17", || {
                format!(
                    "{group} came to {success}, {:?} of {found:?} is {right:?}",
                    tally.aggregation
                )
            })
        }
        Event::Completed { handoff, late, variables, artifacts, .. } => {
            let tale = facts.tales.get(handoff);
            must(tale.is_some_and(|tale| tale.accepted > 0), "I19", || {
                format!("{handoff} completed and was never accepted")
            })?;
            let group = tale.and_then(|tale| facts.groups.get(&tale.group?));
            let counted = group.filter(|group| group.expected.contains(handoff));
            let decided = counted.is_some_and(|tally| tally.outcome.is_some());
            must(decided == *late, "I18", || format!("{handoff} says late: {late}"))?;
            let quiet = variables.is_empty() && artifacts.is_empty();
            must(!late || quiet, "I18", || format!("{handoff} was late and changed something"))
        }
        Event::Closed { ending, .. } => {
            let Some(workflow) = world.workflows.get(&id) else { return Ok(()) };
            closed(facts, workflow, ending)
        }
        _ => Ok(()),
    }
}

/// Nothing is left open behind a workflow that is over.
fn closed(facts: &Facts, workflow: &Workflow, ending: &Ending) -> Checked {
    for id in workflow.handoffs.keys() {
        let ends = facts.tales.get(id).map_or(0, |tale| tale.ended);
        must(ends == 1, "I19", || format!("{id} has {ends} ends on record, {ending:?}"))?;
    }
    Ok(())
}

/// Each handoff that is over has its end on record once, and stays as it is.
pub(super) fn freeze(facts: &mut Facts, world: &World) -> Checked {
    for workflow in world.workflows.values() {
        for (id, handoff) in &workflow.handoffs {
            let ends = facts.tales.get(id).map_or(0, |tale| tale.ended);
            let over = handoff.state.is_over();
            must(ends == u32::from(over), "I19", || {
                format!("{id} has {ends} ends on record and is {}", handoff.state.word())
            })?;
            match facts.over.get(id) {
                Some(before) => must(before == handoff, "I5", || {
                    format!("{id} was {before:?}\nand is {handoff:?}")
                })?,
                None if over => {
                    facts.over.insert(*id, handoff.clone());
                }
                None => (),
            }
        }
    }
    Ok(())
}

/// What the records tell of a broadcast: successes and failures.
pub(super) fn count(facts: &Facts, tally: &Tally) -> (usize, usize) {
    let ended = |id: &&HandoffId| facts.tales.get(id).is_some_and(|tale| tale.ended > 0);
    let succeeded = |id: &&HandoffId| facts.tales.get(id).is_some_and(|tale| tale.succeeded);
    let all = tally.expected.iter().filter(ended).count();
    let successes = tally.expected.iter().filter(succeeded).count();
    (successes, all - successes)
}

/// What a tally comes to, said another way than the rules say it: whatever the rest would bring.
pub(super) fn reference(tally: &Tally, (successes, failures): (usize, usize)) -> Option<bool> {
    let expected = tally.expected.len();
    let open = expected.saturating_sub(successes + failures);
    let comes_to = |successes: usize| match tally.aggregation {
        Aggregation::All => successes == expected,
        Aggregation::Any => successes > 0 || expected == 0,
        Aggregation::Majority => 2 * successes > expected || expected == 0,
    };
    let (worst, best) = (comes_to(successes), comes_to(successes + open));
    (worst == best).then_some(worst)
}

/// The audit fields of a record, as s0 asks for them.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    audit: Option<Audit<'a>>,
}

#[derive(Deserialize)]
struct Audit<'a> {
    handoff_id: HandoffId,
    timestamp: baton_protocol::time::Timestamp,
    event_type: &'a str,
    from_agent: &'a str,
    to_agent: &'a str,
    handoff_type: &'a str,
    reason: String,
    context_snapshot: Snapshot<'a>,
    risk_level: &'a str,
    duration_ms: Option<u64>,
    outcome: Option<&'a str>,
    trace_id: &'a str,
    span_id: &'a str,
}

#[derive(Deserialize)]
struct Snapshot<'a> {
    task_id: String,
    task_status: &'a str,
    context_variables_hash: &'a str,
    #[serde(rename = "artifact_count")]
    _artifact_count: usize,
}

fn audited(told: &Told<'_>) -> Checked {
    let event = &told.record.event;
    let Some(handoff) = event.handoff() else { return Ok(()) };
    let line: Line<'_> = match serde_json::from_slice(told.line) {
        Ok(line) => line,
        Err(error) => return must(false, "I20", || format!("{}: {error}", told.record.seq)),
    };
    let Some(audit) = line.audit else {
        return must(false, "I20", || format!("{} has no audit fields", told.record.seq));
    };
    let context = &audit.context_snapshot;
    let words = [audit.from_agent, audit.to_agent, audit.handoff_type, audit.risk_level];
    let texts = [audit.reason.as_str(), context.task_id.as_str(), context.task_status];
    let ends = matches!(event, Event::Completed { .. } | Event::Failed { .. });
    let whole = audit.handoff_id == handoff
        && audit.timestamp == told.record.at
        && audit.event_type == event.word()
        && words.iter().chain(&texts).all(|word| !word.is_empty())
        && context.context_variables_hash.len() == 64
        && (audit.trace_id.len(), audit.span_id.len()) == (32, 16)
        && ends == audit.outcome.is_some()
        && (!ends || audit.duration_ms.is_some());
    must(whole, "I20", || String::from_utf8_lossy(told.line).into_owned())
}
