//! Confirms a change from what was recorded, never from what was typed.
//!
//! A key that was used before is answered as the first time, whatever stands beside it now: only
//! the answer's events know what was done.

use std::fmt::Display;

use baton_engine::view::Answer;
use baton_protocol::event::Event;

use crate::client::Reply;
use crate::failure::Failure;
use crate::session::Session;

/// What an event comes to: its id, which `--quiet` prints alone, and a sentence.
pub(crate) type Said = (String, String);

/// Prints what `tell` makes of the first event that it knows.
pub(crate) fn told(
    session: &Session,
    (reply, answer): (&Reply, &Answer),
    asked: impl Display,
    tell: impl FnMut(&Event) -> Option<Said>,
) -> Result<(), Failure> {
    let said = answer.events.iter().find_map(tell);
    let (id, sentence) = said.unwrap_or_else(|| otherwise(answer, asked.to_string()));
    session.out.done(reply, id, sentence)
}

/// Nothing had to be recorded, or the key once stood for something else.
fn otherwise(answer: &Answer, asked: String) -> Said {
    if answer.events.is_empty() {
        return (asked, "nothing new: it was so already".to_owned());
    }
    let words: Vec<_> = answer.events.iter().map(Event::word).collect();
    let handoff = answer.handoff.map(|id| (id.to_string(), format!("handoff {}", id.short())));
    let workflow = answer.workflow.map(|id| (id.to_string(), format!("workflow {}", id.short())));
    let (id, about) = handoff.or(workflow).unwrap_or_default();
    let sentence = format!("this key was used before, for {about}: {}", words.join(", "));
    (id, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_stood_for_something_else_is_told_as_it_was() {
        let json = r#"{"seq": 7, "handoff": null, "fence": null,
            "workflow": "3f2a91c0-0000-4000-8000-000000000000",
            "events": [{"type": "token_revoked",
                "token": "3f2a91c0-0000-4000-8000-000000000000"}]}"#;
        let mut answer: Answer = serde_json::from_str(json).expect("an answer");
        let (id, sentence) = otherwise(&answer, "asked".to_owned());
        assert!(id.starts_with("3f2a91c0-"), "{id}");
        assert_eq!(sentence, "this key was used before, for workflow 3f2a91c0: token_revoked");
        answer.events.clear();
        assert_eq!(otherwise(&answer, "asked".to_owned()).0, "asked");
    }
}
