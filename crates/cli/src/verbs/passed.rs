//! What became of a pass, as the one who passed is told.

use baton_engine::view::Answer;
use baton_protocol::event::Event;
use baton_protocol::handoff::{Kind, Terms};
use baton_protocol::id::{AgentId, GroupId, HandoffId};
use baton_protocol::text::Text;

use crate::client::Reply;
use crate::failure::{Exit, Failure};
use crate::session::Session;

/// Tells what became of it. A handoff that was turned away at once is recorded, yet not passed.
pub(crate) fn told(session: &Session, reply: &Reply, answer: &Answer) -> Result<(), Failure> {
    let out = session.out;
    let passed: Vec<&Terms> = answer.events.iter().filter_map(initiated).collect();
    let [first, ..] = passed.as_slice() else {
        return super::told::told(session, (reply, answer), "", |_| None);
    };
    let copies = matches!(first.kind, Kind::Broadcast(_));
    if passed.iter().all(|terms| is_over(answer, terms))
        && let Some((by, reason)) = turned_away(answer, first)
    {
        if out.json {
            out.raw(&reply.json)?;
        }
        return Err(not_taken(answer, by, reason));
    }
    match first.kind.group() {
        Some(group) => told_broadcast(session, reply, answer, &passed, group)?,
        None => told_single(session, reply, answer, first)?,
    }
    for terms in &passed {
        warn(session, answer, terms);
    }
    let about = match (copies, answer.workflow) {
        (true, Some(workflow)) => workflow.short(),
        (true | false, _) => first.id.short(),
    };
    let wait = first.kind.group().map_or_else(|| first.id.short(), |group| short(&group));
    session.next(&[format!("baton wait {wait}"), format!("baton show {about}")]);
    Ok(())
}

fn told_single(
    session: &Session,
    reply: &Reply,
    answer: &Answer,
    terms: &Terms,
) -> Result<(), Failure> {
    let to = receiver(answer, terms);
    let how = if queued(answer, terms.id) { "queued for" } else { "passed to" };
    let of = answer.workflow.map(|id| format!(" (workflow {})", id.short())).unwrap_or_default();
    session.out.done(reply, terms.id, format!("{how} {to} as handoff {}{of}", terms.id.short()))
}

/// A broadcast is told copy by copy; `--quiet` prints its id, which `baton wait` takes.
fn told_broadcast(
    session: &Session,
    reply: &Reply,
    answer: &Answer,
    copies: &[&Terms],
    group: GroupId,
) -> Result<(), Failure> {
    session.out.answer(reply, |page| {
        if session.out.quiet {
            page.line(group);
            return Ok(());
        }
        let of = answer.workflow.map(|id| format!(" (workflow {})", id.short()));
        let many = copies.len();
        page.line(format!("broadcast {} to {many}{}", short(&group), of.unwrap_or_default()));
        for copy in copies {
            let waits = if queued(answer, copy.id) { " (queued)" } else { "" };
            page.line(format!("  {} {}{waits}", copy.id.short(), copy.to_agent));
        }
        Ok(())
    })
}

fn short(group: &GroupId) -> String {
    group.to_string().chars().take(8).collect()
}

fn initiated(event: &Event) -> Option<&Terms> {
    match event {
        Event::Initiated { terms, .. } => Some(terms),
        _ => None,
    }
}

/// Who has it after all: the first that was meant, or whoever was asked instead.
fn receiver<'a>(answer: &'a Answer, terms: &'a Terms) -> &'a AgentId {
    let rerouted = answer.events.iter().rev().find_map(|event| match event {
        Event::Rerouted { handoff, to, .. } if *handoff == terms.id => Some(to),
        _ => None,
    });
    rerouted.unwrap_or(&terms.to_agent)
}

/// Whether it waits until its receiver has room.
fn queued(answer: &Answer, id: HandoffId) -> bool {
    answer.events.iter().any(|event| match event {
        Event::Initiated { terms, queued, .. } => terms.id == id && *queued,
        Event::Queued { handoff, .. } => *handoff == id,
        _ => false,
    })
}

/// The last to turn it away, and why.
fn turned_away<'a>(answer: &'a Answer, terms: &Terms) -> Option<(&'a AgentId, &'a Text)> {
    answer.events.iter().rev().find_map(|event| match event {
        Event::Rejected { handoff, by, reason, .. } if *handoff == terms.id => Some((by, reason)),
        _ => None,
    })
}

/// Whether it failed at once.
fn is_over(answer: &Answer, terms: &Terms) -> bool {
    let over =
        |event: &Event| matches!(event, Event::Failed { handoff, .. } if *handoff == terms.id);
    answer.events.iter().any(over)
}

/// Nobody took it, and a workflow that it began is there all the same.
fn not_taken(answer: &Answer, by: &AgentId, reason: &Text) -> Failure {
    let began = answer.has("started").then_some(answer.workflow).flatten();
    let hint = match began {
        Some(id) => {
            let id = id.short();
            format!("workflow {id} is yours: `baton pass {id}` to another, or `baton cancel {id}`")
        }
        None => format!("`baton agent show {by}` lists what it can do"),
    };
    let sentence = format!("{by} cannot take it: {reason}");
    Failure::new(Exit::Refused, "rejected", sentence, hint)
}

/// Says what the sender should know of one handoff that was passed.
fn warn(session: &Session, answer: &Answer, terms: &Terms) {
    if let Some((by, reason)) = turned_away(answer, terms) {
        session.out.warn(&format!("{by} cannot take it: {reason}"));
    }
    let gap: Vec<_> = terms.gap.iter().map(ToString::to_string).collect();
    if !gap.is_empty() {
        let (to, gap) = (&terms.to_agent, gap.join(", "));
        session.out.warn(&format!("{to} lacks {gap}; the gap is recorded"));
    }
}
