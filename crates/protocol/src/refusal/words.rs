//! Words that several refusals share.

use std::fmt;

use crate::id::{AgentId, Fence};

pub(super) fn now_held(current: &Option<(AgentId, Fence)>) -> String {
    match current {
        Some((agent, fence)) => format!("; {agent} holds the work with fence {fence}"),
        None => "; nobody holds the work now".to_owned(),
    }
}

pub(super) fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

pub(super) fn listed<T: fmt::Display>(items: &[T]) -> String {
    const SHOWN_MAX: usize = 5;
    let mut text: Vec<String> = items.iter().take(SHOWN_MAX).map(ToString::to_string).collect();
    if items.len() > SHOWN_MAX {
        text.push(format!("and {} more", items.len() - SHOWN_MAX));
    }
    text.join(", ")
}
