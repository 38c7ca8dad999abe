//! Which messages must not be lost: the first instruction, and questions nobody answered.

use crate::message::{Message, Role};

/// The first message of a user, or of anybody but those who set the model up and its tools.
pub(crate) fn first_instruction(list: &[Message]) -> Option<usize> {
    let says = |message: &Message| message.words().next().is_some();
    let user = list.iter().position(|message| message.role == Role::User && says(message));
    user.or_else(|| {
        let set_up = |role| matches!(role, Role::System | Role::Tool);
        list.iter().position(|message| !set_up(message.role) && says(message))
    })
}

/// Questions that are open, in their order.
///
/// A message asks when the last line of its words ends with a question mark, of whatever script. It
/// is answered by any later words of somebody else; where nobody is named, by any later words.
pub(crate) fn open_questions(list: &[Message]) -> Vec<usize> {
    let mut open = Vec::new();
    // Whoever speaks after the message that is looked at: the last speaker, and whether there was
    // another.
    let mut later: Option<Option<&str>> = None;
    let mut others = false;
    for (number, message) in list.iter().enumerate().rev() {
        let speaks = match message.role {
            Role::System | Role::Tool => false,
            Role::User | Role::Assistant | Role::Other => {
                message.words().any(|words| !words.trim().is_empty())
            }
        };
        if !speaks {
            continue;
        }
        let speaker = message.speaker();
        others |= later.is_some_and(|later| later.is_none() || later != speaker);
        later = Some(speaker);
        if others {
            break;
        }
        if asks(message) {
            open.push(number);
        }
    }
    open.reverse();
    open
}

fn asks(message: &Message) -> bool {
    let last = message.words().filter(|words| !words.trim().is_empty()).last();
    // Quotes, brackets and stars may stand around a question.
    let bare = last.unwrap_or_default().trim_end_matches(|c: char| {
        c.is_whitespace() || ['*', '_', '"', '\'', ')', '`', '”', '」', '』', '）'].contains(&c)
    });
    bare.ends_with(['?', '？', '؟', '\u{37e}', '՞', '፧', '⁇', '⁈'])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(list: Value) -> Vec<Message> {
        let list = list.as_array().unwrap().clone();
        list.into_iter().enumerate().map(|(at, it)| Message::read(at, it).unwrap()).collect()
    }

    #[test]
    fn a_question_is_open_until_somebody_else_speaks() {
        let list = read(json!([
            {"role": "user", "content": "Can you fix it?"},
            {"role": "assistant", "content": "Which branch?"},
            {"role": "tool", "tool_call_id": "a", "content": "Really?"},
            {"role": "assistant", "content": "Or both？"},
        ]));
        assert_eq!(open_questions(&list), [1, 3]);
    }

    #[test]
    fn an_answered_question_is_not_open() {
        let list = read(json!([
            {"role": "assistant", "content": "Which branch?"},
            {"role": "user", "content": "main"},
        ]));
        assert_eq!(open_questions(&list), [0; 0]);
        assert_eq!(open_questions(&read(json!(["a?", "b?"]))), [1]);
    }

    #[test]
    fn the_first_instruction_is_the_first_of_a_user() {
        let list = read(json!([
            {"role": "system", "content": "Be kind."},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Fix it."},
        ]));
        assert_eq!(first_instruction(&list), Some(2));
        assert_eq!(first_instruction(&list[..2]), Some(1));
        assert_eq!(first_instruction(&list[..1]), None);
    }
}
