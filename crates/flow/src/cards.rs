//! What is told of one handoff, or of several that are told as one.

use baton_protocol::handoff::{Aggregation, Matter, ReturnStatus};

use crate::model::{FlowBroadcast, FlowHandoff, FlowKind, FlowReturn, FlowTry};
use crate::picture::{Card, NAMES_SHOWN, Words};
use crate::standing::Standing;
use crate::text::{listed, name_of, plain};

pub(crate) fn outcome(broadcast: &FlowBroadcast) -> (Standing, Option<String>) {
    let FlowBroadcast { expected, successes, failures, .. } = broadcast;
    let wanted = match broadcast.aggregation {
        Aggregation::All => "all",
        Aggregation::Any => "any",
        Aggregation::Majority => "majority",
    };
    let (standing, word) = match broadcast.success {
        Some(true) => (Standing::Completed, "succeeded"),
        Some(false) => (Standing::Failed, "failed"),
        None if *expected == 0 => return (Standing::Completed, None),
        None => (Standing::Held, "undecided"),
    };
    let said = format!("{wanted} of {expected}: {successes} ✓ {failures} ✗, {word}");
    (standing, Some(said))
}

pub(crate) fn artifacts(paths: &[String]) -> Option<Words> {
    let names: Vec<String> = paths.iter().map(|path| name_of(path)).collect();
    (!names.is_empty()).then(|| Words::Artifacts(listed(&names, NAMES_SHOWN)))
}

/// The card of somebody who had it and did not do it.
pub(crate) fn asked(handoff: &FlowHandoff, tried: &FlowTry) -> Card {
    let words = tried.reason.iter().map(|reason| Words::Answer(plain(reason))).collect();
    Card {
        number: handoff.number.to_string(),
        count: 1,
        kind: "asked before".to_owned(),
        standing: Standing::Rejected,
        state: plain(&tried.ended.replace('_', " ")),
        words,
        returned: false,
    }
}

/// The card of a handoff; `told` means that its broadcast says why and with what.
pub(crate) fn card(handoff: &FlowHandoff, told: bool) -> Card {
    let mut words = Vec::new();
    if !told {
        words.push(Words::Reason(plain(&handoff.reason)));
        words.extend(artifacts(&handoff.artifacts));
    }
    words.extend(tries(handoff));
    words.extend(answer(handoff));
    words.extend(handoff.returned.as_ref().map(returned));
    Card {
        number: handoff.number.to_string(),
        count: 1,
        kind: kind(handoff),
        standing: handoff.standing,
        state: state(handoff),
        words,
        returned: handoff.returned.is_some(),
    }
}

pub(crate) fn kind(handoff: &FlowHandoff) -> String {
    match (handoff.kind, handoff.matter, handoff.level) {
        (FlowKind::Escalation, Some(Matter::Takeover), _) => "takeover".to_owned(),
        (FlowKind::Escalation, Some(Matter::Overdue | Matter::Failure), _) => {
            "look from above".to_owned()
        }
        (FlowKind::Escalation, _, Some(level)) => format!("escalation, level {level}"),
        (kind, _, _) => kind.word().to_owned(),
    }
}

fn state(handoff: &FlowHandoff) -> String {
    let said = match handoff.standing {
        // The word says more than that it failed, or waits.
        Standing::Failed => handoff.detail.as_deref().unwrap_or("failed"),
        Standing::Waiting => match handoff.state.as_str() {
            "initiated" => "not answered yet",
            other => other,
        },
        other => other.word(),
    };
    match said.split(':').next().unwrap_or(said) {
        "error" => "failed".to_owned(),
        word => plain(&word.replace('_', " ")),
    }
}

/// What was said when it was turned away; a return tells it by itself.
fn answer(handoff: &FlowHandoff) -> Option<Words> {
    let (_, why) = handoff.detail.as_deref()?.split_once(':')?;
    let why = plain(why);
    (handoff.returned.is_none() && !why.is_empty()).then_some(Words::Answer(why))
}

fn tries(handoff: &FlowHandoff) -> Option<Words> {
    let times = |times: u8, what: &str| (times > 0).then(|| format!("{what} {times}×"));
    let all = [times(handoff.resends, "sent again"), times(handoff.reroutes, "rerouted")];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| Words::Tries(all.join(", ")))
}

fn returned(back: &FlowReturn) -> Words {
    let status = match back.status {
        ReturnStatus::Success => "success",
        ReturnStatus::Partial => "partial",
        ReturnStatus::Failed => "failed",
        ReturnStatus::Timeout => "out of time",
    };
    let names: Vec<String> = back.artifacts.iter().map(|path| name_of(path)).collect();
    let with = match names.is_empty() {
        true => String::new(),
        false => format!(" with {}", listed(&names, NAMES_SHOWN)),
    };
    let said = back.words.as_deref().map(plain).filter(|words| !words.is_empty());
    let said = said.map(|words| format!(": {words}")).unwrap_or_default();
    Words::Return(format!("{status}{with}{said}"))
}

/// Many cards as few: one for each kind and standing.
pub(crate) fn folded(cards: Vec<Card>) -> Vec<Card> {
    let mut kinds: Vec<Card> = Vec::new();
    for card in cards {
        let same = |one: &&mut Card| one.kind == card.kind && one.standing == card.standing;
        match kinds.iter_mut().find(same) {
            Some(one) => {
                let first = one.number.split('–').next().unwrap_or_default().to_owned();
                let last = card.number.split('–').next_back().unwrap_or_default();
                one.number = format!("{first}–{last}");
                one.count += card.count;
                one.returned |= card.returned;
                one.words.clear();
                one.state = card.standing.word().to_owned();
            }
            None => kinds.push(card),
        }
    }
    for one in kinds.iter_mut().filter(|one| one.count > 1) {
        one.kind = format!("{} × {}", one.count, one.kind);
    }
    kinds
}
