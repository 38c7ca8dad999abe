//! Stories about a command that is asked again: it is answered as it was the first time.

use std::sync::Arc;

use baton_protocol::command::Submission;
use serde_json::json;

use super::desk::{begin, command};
use super::{Desk, STOPS, handoff, story, submission, workflow};
use crate::index::Filter;
use crate::ledger::Recorded;

/// Asks everything again, and again after every kind of stop. Nothing new may be recorded.
async fn ask_again(desk: &mut Desk, answers: &[(Submission, Recorded)]) {
    let mut restarts = STOPS.into_iter();
    loop {
        let count = desk.count();
        for (asked, before) in answers {
            let again = desk.submit(asked.clone()).await;
            let again = again.unwrap_or_else(|error| panic!("{:?}: {error}", asked.command));
            assert_eq!(again, *before);
        }
        assert_eq!(desk.count(), count);
        match restarts.next() {
            Some(how) => desk.restart(how),
            None => return,
        }
    }
}

/// While its workflow lives, after that has closed, and after every kind of stop, also while
/// questions about the past have not caught up.
pub async fn a_repeated_command_is_answered_as_before(mut desk: Desk) {
    desk.register().await;
    let mut answers = Vec::new();
    let start = json!({"start": {"title": "alone", "variables": {"x": [0.1, {"y": null}]}}});
    let token = json!({"issue_token": {"agent": "planner", "digest": "a".repeat(64)}});
    let revoke = json!({"revoke_token": {"agent": "planner", "token": command("token").token()}});
    let first = json!({"register": {"id": "planner", "description": "first"}});
    let second = json!({"register": {"id": "planner", "description": "second"}});
    for (key, who, asked) in [
        ("start", "operator", start),
        ("first", "operator", first),
        ("second", "operator", second),
        ("token", "operator", token),
        ("revoke", "operator", revoke),
    ] {
        let asked = submission(key, who, asked);
        answers.push((asked.clone(), desk.submit(asked).await.expect("it is recorded")));
    }
    for number in 0..3 {
        for step in story(number) {
            desk.set_clock(step.at);
            let asked = submission(&step.key, step.who, step.asked);
            let recorded = desk.submit(asked.clone()).await;
            let recorded = recorded.unwrap_or_else(|error| panic!("{}: {error}", step.key));
            assert_eq!(desk.submit(asked.clone()).await.expect("at once"), recorded);
            answers.push((asked, recorded));
        }
    }
    let until = desk.now();
    let loans = desk.ledger().lend(desk.now(), until, 100).await.expect("effects can be lent");
    assert!(!loans.is_empty());
    for loan in loans {
        let settle = json!({"settle": {"effect": loan.id, "note": "told"}});
        let asked = submission(&format!("settle {}", loan.id), "coordinator", settle);
        answers.push((asked.clone(), desk.submit(asked).await.expect("it is settled")));
    }
    assert!(answers.iter().all(|(_, recorded)| recorded.seq.is_some()));
    ask_again(&mut desk, &answers).await;
    let close = json!({"complete": {"workflow": workflow("start")}});
    let asked = submission("close", "operator", close);
    answers.push((asked.clone(), desk.submit(asked).await.expect("it is closed")));
    ask_again(&mut desk, &answers).await;
}

/// The same command from many at once is recorded once, and all hear the same.
pub async fn a_command_that_many_ask_at_once_is_recorded_once(desk: Desk) {
    desk.register().await;
    let desk = Arc::new(desk);
    let before = desk.count();
    for n in 0..6 {
        let key = format!("p{n}");
        let askers = (0..6).map(|_| {
            let (desk, key) = (desk.clone(), key.clone());
            tokio::spawn(async move {
                let begun = desk.told(&key, "operator", begin("planner")).await;
                let accept = json!({"accept": {"handoff": handoff(&key)}});
                let taken = desk.told(&format!("{key} a"), "planner", accept).await;
                let close = json!({"complete": {"workflow": workflow(&key), "fence": 2}});
                (begun, taken, desk.told(&format!("{key} c"), "planner", close).await)
            })
        });
        let mut answers = Vec::new();
        for asker in askers.collect::<Vec<_>>() {
            answers.push(asker.await.expect("an asker comes to an end"));
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]));
    }
    assert_eq!(desk.count(), before + 6 * 5);
}

/// Streams remember their latest commands; older ones are found in the records.
pub async fn a_stream_that_remembers_no_more_still_answers_as_before(mut desk: Desk) {
    const MANY: usize = 1_100;
    desk.register().await;
    let start = submission("start", "operator", json!({"start": {"title": "long"}}));
    let register = |n: usize| {
        let profile = json!({"id": "planner", "description": format!("version {n}")});
        submission(&format!("register {n}"), "operator", json!({"register": profile}))
    };
    let mut answers = Vec::new();
    for asked in [start, register(0)] {
        answers.push((asked.clone(), desk.submit(asked).await.expect("it is recorded")));
    }
    let progress = |n: usize| {
        let progress = json!({"workflow": workflow("start"), "fence": 1, "note": n.to_string()});
        submission(&format!("progress {n}"), "operator", json!({"progress": progress}))
    };
    let desk_now = Arc::new(desk);
    for chunk in (1..MANY).collect::<Vec<_>>().chunks(100) {
        let tasks = chunk.iter().flat_map(|n| [progress(*n), register(*n)]).map(|asked| {
            let desk = desk_now.clone();
            tokio::spawn(async move { (asked.clone(), desk.submit(asked).await) })
        });
        for task in tasks.collect::<Vec<_>>() {
            let (asked, recorded) = task.await.expect("a task comes to an end");
            answers.push((asked, recorded.expect("it is recorded")));
        }
    }
    desk = Arc::into_inner(desk_now).expect("all tasks have ended");
    let some: Vec<_> = answers.iter().step_by(97).cloned().collect();
    assert_eq!(some[0].0.id, command("start"));
    ask_again(&mut desk, &some).await;
    assert_eq!(desk.told("fresh", "operator", begin("planner")).await.seq, Some(desk.count()));
    let kinds = vec!["registered".to_owned()];
    let newest = Filter { kinds, newest_first: true, limit: 1, ..Filter::default() };
    assert_eq!(desk.records(newest).await[0].stream.to_string(), "agent/planner");
}
