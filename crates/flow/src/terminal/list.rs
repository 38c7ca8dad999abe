//! What each line of the drawing carried, and what its signs mean.

use anstyle::Style;

use super::canvas::color;
use crate::cards::{card, kind};
use crate::model::{Flow, FlowHandoff, Party};
use crate::picture::{Picture, Words};
use crate::standing::Standing;
use crate::text::{cells, columns, count, cut, wrapped};

/// Up to so many handoffs are told in full.
const FULL_MAX: usize = 24;
/// Of more, so many of the first and so many of the last, a line each.
const FIRST_SHOWN: usize = 8;
const LAST_SHOWN: usize = 16;
/// Lines of one kind of words.
const LINES_MAX: usize = 2;
/// How much people can take in of an agent's name.
const NAME_MAX: usize = 24;

/// The handoffs in order.
pub(super) fn list(flow: &Flow, width: usize) -> String {
    let all = &flow.handoffs;
    let digits = all.len().to_string().len();
    let mut text = String::new();
    if all.len() <= FULL_MAX {
        for (at, handoff) in all.iter().enumerate() {
            // What all copies of a broadcast say is told with the first.
            let same = |before: &FlowHandoff| {
                let of_it = handoff.group.is_some() && before.group == handoff.group;
                of_it && before.reason == handoff.reason && before.artifacts == handoff.artifacts
            };
            let told = all[..at].iter().any(same);
            text.push_str(&head(handoff, digits, width));
            text.push_str(&body(handoff, told, digits + 3, width));
        }
        return text;
    }
    let between = FIRST_SHOWN..all.len() - LAST_SHOWN;
    for handoff in &all[..between.start] {
        text.push_str(&head(handoff, digits, width));
    }
    let left = count(between.len(), "handoff");
    text.push_str(&format!("{:digits$} … {left} between these\n", ""));
    for handoff in &all[between.end..] {
        text.push_str(&head(handoff, digits, width));
    }
    text
}

/// What the lines of any picture carry, in their order.
pub(super) fn cards(picture: &Picture, width: usize) -> String {
    let name = |node: usize| {
        let node = picture.nodes.get(node);
        node.map(|node| cut(&node.name, NAME_MAX, cells)).unwrap_or_default()
    };
    let all = || picture.edges.iter().flat_map(|edge| &edge.cards);
    let digits = all().map(|card| columns(&card.number)).max().unwrap_or(0);
    let mut text = String::new();
    for edge in &picture.edges {
        for card in &edge.cards {
            let (style, sign) = (color(card.standing.hue()), card.standing.sign());
            let (from, to) = (name(edge.from), name(edge.to));
            let rest = format!("{from} → {to}  {} {}", card.kind, card.state);
            let rest = cut(rest.trim_end(), width.saturating_sub(digits + 3), cells);
            let space = " ".repeat(digits.saturating_sub(columns(&card.number)));
            text.push_str(&format!("{space}{} {style}{sign}{style:#} {rest}\n", card.number));
            let indent = digits + 3;
            for words in &card.words {
                let room = width.saturating_sub(indent);
                for line in wrapped(&words.text(), room, LINES_MAX, cells) {
                    text.push_str(&format!("{:indent$}{line}\n", ""));
                }
            }
        }
    }
    text
}

/// What the signs of a picture mean.
pub(super) fn meanings(picture: &Picture, width: usize) -> String {
    let occurs = |standing: &Standing| {
        picture.edges.iter().flat_map(|edge| &edge.cards).any(|card| card.standing == *standing)
    };
    let all = Standing::ALL.into_iter().filter(occurs);
    let meant = |standing: Standing| format!("{} {}", standing.sign(), picture.meaning(standing));
    let all: Vec<String> = all.map(meant).collect();
    let dim = Style::new().dimmed();
    match all.is_empty() {
        true => String::new(),
        false => format!("{dim}{}{dim:#}\n", cut(&all.join("   "), width, cells)),
    }
}

fn head(handoff: &FlowHandoff, digits: usize, width: usize) -> String {
    let number = handoff.number;
    let style = color(handoff.standing.hue());
    let sign = handoff.standing.sign();
    let (from, to) = (cut(handoff.from_agent.as_str(), NAME_MAX, cells), &handoff.to_agent);
    let arrow = if handoff.returned.is_some() { '⇄' } else { '→' };
    let to = cut(to.as_str(), NAME_MAX, cells);
    let state = card(handoff, true).state;
    let rest = format!("{from} {arrow} {to}  {}, {state}", kind(handoff));
    let rest = cut(&rest, width.saturating_sub(digits + 3), cells);
    format!("{number:digits$} {style}{sign}{style:#} {rest}\n")
}

fn body(handoff: &FlowHandoff, told: bool, indent: usize, width: usize) -> String {
    let dim = Style::new().dimmed();
    let room = width.saturating_sub(indent);
    let mut text = String::new();
    for words in card(handoff, told).words {
        let faint = match &words {
            Words::Reason(_) => Style::new(),
            Words::Artifacts(_) | Words::Answer(_) | Words::Tries(_) | Words::Return(_) => dim,
        };
        for line in wrapped(&words.text(), room, LINES_MAX, cells) {
            text.push_str(&format!("{:indent$}{faint}{line}{faint:#}\n", ""));
        }
    }
    for tried in &handoff.tries {
        let why = tried.reason.as_deref().map(|why| format!(": {}", crate::text::plain(why)));
        let said = format!("not by {}{}", tried.agent, why.unwrap_or_default());
        text.push_str(&format!("{:indent$}{dim}{}{dim:#}\n", "", cut(&said, room, cells)));
    }
    text
}

/// The signs that occur.
pub(super) fn legend(flow: &Flow, width: usize) -> String {
    let occurs = |standing: &Standing| flow.handoffs.iter().any(|one| one.standing == *standing);
    let tried = flow.handoffs.iter().any(|one| !one.tries.is_empty());
    let shown =
        |standing: &Standing| occurs(standing) || (tried && *standing == Standing::Rejected);
    let mut entries: Vec<(String, String)> = Standing::ALL
        .into_iter()
        .filter(shown)
        .map(|standing| (standing.sign().to_string(), standing.word().to_owned()))
        .collect();
    if flow.handoffs.iter().any(|one| one.returned.is_some()) {
        entries.push(("△".to_owned(), "came back".to_owned()));
    }
    if flow.agents.iter().any(|agent| agent.party == Party::Person) {
        entries.push(("╔═╗".to_owned(), "a person".to_owned()));
    }
    let dim = Style::new().dimmed();
    let mut lines = vec![String::new()];
    for (sign, word) in entries {
        let entry = format!("{sign} {word}");
        let line = lines.last_mut().map(|line| columns(line)).unwrap_or(0);
        if line > 0 && line + 3 + columns(&entry) > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            let gap = if line.is_empty() { "" } else { "   " };
            line.push_str(&format!("{gap}{entry}"));
        }
    }
    lines.retain(|line| !line.is_empty());
    let lines: Vec<String> = lines.iter().map(|line| format!("{dim}{line}{dim:#}\n")).collect();
    lines.concat()
}
