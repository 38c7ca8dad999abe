//! Where work with a definition stands, on a page.

use baton_engine::view::MachineView;
use baton_protocol::machine::{Failure, Step};

use crate::show::Page;
use crate::show::time::both;
use crate::verbs::rows::readable;

/// Where it stands, what it waits for, and what has failed.
pub(crate) fn standing(page: &mut Page, machine: &MachineView) {
    let now = page.now;
    page.field("follows", &machine.definition);
    let who = machine.agent.as_ref().map(|agent| format!(", {agent}")).unwrap_or_default();
    page.field("state", format!("{}{who}, since {}", machine.state, both(machine.since, now)));
    if let Some(wait) = &machine.waits_for {
        let until = wait.until.as_ref().map(|until| format!(" until {until}")).unwrap_or_default();
        page.field("waits for", format!("{}{until}", wait.signal));
        page.field_if("at most", wait.at_most_until.map(|at| both(at, now)));
    }
    page.field_if("rule", machine.step.rule.as_ref());
    page.field_if("payload", machine.step.payload.as_ref().map(|json| readable(json.as_value())));
    for failure in &machine.failures {
        page.field("failed", failed(failure, page.now));
    }
}

/// The task that a rule made of a handoff.
pub(crate) fn step(page: &mut Page, step: &Step) {
    page.field("step", format!("{} ({})", step.state, step.task));
    page.field_if("rule", step.rule.as_ref());
    if step.attempt > 0 {
        page.field("tried again", format!("{} times", step.attempt));
    }
    page.field_if("payload", step.payload.as_ref().map(|json| readable(json.as_value())));
}

fn failed(failure: &Failure, now: baton_protocol::time::Timestamp) -> String {
    let Failure { error, state, agent, at, attempt, retry_at, .. } = failure;
    let service = error.service.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
    let tried = if *attempt > 0 { format!(", try {}", attempt + 1) } else { String::new() };
    let next = match retry_at {
        Some(at) => format!("tried again {}", both(*at, now)),
        None => "not tried again".to_owned(),
    };
    let (kind, words) = (&error.error_type, &error.error_message);
    format!("{} {state} ({agent}{tried}): {kind}{service}: {words}; {next}", both(*at, now))
}
