//! Stories about what a command is answered, and when.

use std::collections::HashMap;
use std::sync::Arc;

use baton_protocol::event::Event;
use baton_protocol::id::{HandoffId, WorkflowId};
use serde_json::{Value, json};

use super::desk::{accept, begin, complete, delegate, give_back};
use super::{Desk, STOPS, Stop, handoff, request, submission, workflow};
use crate::hash::Hash;
use crate::index::Filter;
use crate::ledger::{Against, Scope, TransactError};

/// All records of a command, or none; side by side, in the order of its events.
pub async fn a_command_is_recorded_whole_and_in_order(mut desk: Desk) {
    desk.register().await;
    let before = desk.count();
    let passed = desk.told("p", "operator", begin("planner")).await;
    let words: Vec<_> = passed.events.iter().map(Event::word).collect();
    assert_eq!(words, ["started", "initiated"]);
    assert_eq!(passed.seq, Some(before + 2));
    desk.told("a", "planner", accept(handoff("p"))).await;
    desk.restart(Stop::PowerCut);
    let filter = Filter { after_seq: Some(before), ..Filter::default() };
    let lines: Vec<Value> =
        desk.lines(filter.clone()).await.iter().map(|line| read(line)).collect();
    let parts: Vec<_> = lines.iter().map(|line| line["part"].clone()).collect();
    assert_eq!(parts, [json!([0, 2]), json!([1, 2]), json!([0, 2]), json!([1, 2])]);
    let records = desk.records(filter).await;
    let seqs: Vec<_> = records.iter().map(|record| record.seq - before).collect();
    assert_eq!(seqs, [1, 2, 3, 4]);
    assert!(records[..2].iter().all(|record| record.command == super::desk::command("p")));
    assert_eq!(records[..2].iter().map(|r| r.event.clone()).collect::<Vec<_>>(), passed.events);
}

fn read(line: &[u8]) -> Value {
    serde_json::from_slice(line).expect("a line is JSON")
}

/// Whatever was answered is there after any kind of stop.
pub async fn an_answer_is_durable(mut desk: Desk) {
    desk.register().await;
    for (n, how) in STOPS.into_iter().cycle().take(6).enumerate() {
        let key = format!("p{n}");
        let recorded = desk.told(&key, "operator", begin("planner")).await;
        let state = desk.state().await;
        desk.restart(how);
        assert_eq!(Some(desk.count()), recorded.seq, "{how:?}");
        assert_eq!(desk.state().await, state, "{how:?}");
        let workflow = Some(*workflow(&key).as_bytes());
        let found = desk.records(Filter { workflow, ..Filter::default() }).await;
        let events: Vec<_> = found.into_iter().map(|record| record.event).collect();
        assert_eq!(events, recorded.events, "{how:?}");
    }
}

/// A refusal leaves everything as it was, and so does an answer that there is nothing to do.
pub async fn a_refusal_records_nothing(desk: Desk) {
    desk.register().await;
    desk.told("p", "operator", begin("planner")).await;
    let (count, state) = (desk.count(), desk.state().await);
    assert_eq!(desk.refused("x", "builder", accept(handoff("p"))).await, "for-another");
    assert_eq!(desk.refused("y", "operator", begin("nobody")).await, "unknown-agent");
    let known = json!({"register": {"id": "rival"}});
    assert_eq!(desk.refused("z", "planner", known).await, "operator-only");
    let same = json!({"register": {"id": "planner", "max_concurrent_tasks": 100}});
    let nothing = desk.told("again", "operator", same).await;
    assert_eq!((nothing.seq, nothing.events.len()), (None, 0));
    assert_eq!((desk.count(), desk.state().await), (count, state));
    // What was refused may be asked again under the same id, and decided then.
    desk.told("x", "planner", accept(handoff("p"))).await;
}

/// What is over is told apart from what never was, also after a restart.
pub async fn what_is_over_or_unknown_is_refused_by_its_name(mut desk: Desk) {
    desk.register().await;
    desk.told("p", "operator", begin("planner")).await;
    desk.told("a", "planner", accept(handoff("p"))).await;
    desk.told("d", "planner", delegate(workflow("p"), 2, "builder")).await;
    desk.told("b", "builder", accept(handoff("d"))).await;
    desk.told("r", "builder", give_back(handoff("d"), 3)).await;
    assert_eq!(desk.refused("b2", "builder", accept(handoff("d"))).await, "handoff-over");
    desk.told("c", "planner", complete(workflow("p"), 2)).await;
    let mut restarts = STOPS.into_iter();
    loop {
        let count = desk.count();
        let over = "workflow-closed";
        assert_eq!(desk.refused("1", "planner", complete(workflow("p"), 2)).await, over);
        assert_eq!(desk.refused("2", "builder", accept(handoff("d"))).await, over);
        assert_eq!(desk.refused("3", "builder", give_back(handoff("d"), 3)).await, over);
        let unknown = complete(WorkflowId::from_bytes([7; 16]), 1);
        assert_eq!(desk.refused("4", "planner", unknown).await, "unknown-workflow");
        let unknown = accept(HandoffId::from_bytes([7; 16]));
        assert_eq!(desk.refused("5", "planner", unknown).await, "unknown-handoff");
        let token = json!({"issue_token": {"agent": "nobody", "digest": "0".repeat(64)}});
        assert_eq!(desk.refused("6", "operator", token).await, "unknown-agent");
        assert_eq!(desk.count(), count);
        match restarts.next() {
            Some(how) => desk.restart(how),
            None => break,
        }
    }
}

/// Records never go back in time, whatever clocks say, before and after a restart.
pub async fn time_never_runs_back_in_the_record(mut desk: Desk) {
    desk.register().await;
    for (n, seconds) in [100, 50, 200, 0].into_iter().enumerate() {
        desk.set_clock(seconds);
        desk.told(&format!("p{n}"), "operator", begin("planner")).await;
        desk.restart(STOPS[n % STOPS.len()]);
    }
    let records = desk.records(Filter::default()).await;
    assert!(records.is_sorted_by_key(|record| record.at));
    let started = |record: &&crate::record::Record| matches!(record.event, Event::Started { .. });
    let times: Vec<_> = records.iter().filter(started).map(|record| record.at).collect();
    desk.set_clock(100);
    assert_eq!(times[..2], [desk.now(); 2]);
    desk.set_clock(200);
    assert_eq!(times[2..], [desk.now(); 2]);
}

/// Each record names the hash of the one before it in its stream, and counts on from it.
pub async fn streams_are_chained_each_by_itself(mut desk: Desk) {
    desk.register().await;
    for n in 0..6 {
        for step in super::story(n) {
            desk.told(&step.key, step.who, step.asked).await;
        }
        desk.restart(STOPS[n % STOPS.len()]);
    }
    let mut heads: HashMap<_, (u64, Hash)> = HashMap::new();
    for line in desk.lines(Filter::default()).await {
        let record = crate::record::Record::read(&line).expect("a line is a record");
        let (version, prev) = heads.get(&record.stream).copied().unwrap_or_default();
        assert_eq!((record.version, record.prev), (version + 1, prev), "record {}", record.seq);
        let hash = crate::line::check(&line).expect("a line is sealed");
        heads.insert(record.stream, (record.version, hash));
    }
    assert_eq!(heads.len(), 3 + 6);
    let checked = desk.ledger().check(Against::default()).await.expect("a ledger can be checked");
    let found = (checked.records, checked.streams, checked.problem);
    assert_eq!(found, (desk.count(), 9, None));
}

/// Of any number who ask at once, exactly one gets the work; all others are told who did.
pub async fn of_many_who_accept_exactly_one_does(desk: Desk) {
    desk.register().await;
    let desk = Arc::new(desk);
    for round in 0..8 {
        let pass = format!("p{round}");
        desk.told(&pass, "operator", begin("planner")).await;
        let claimants = (0..8).map(|n| {
            let (desk, key, ask) = (desk.clone(), format!("{round}/{n}"), accept(handoff(&pass)));
            tokio::spawn(async move { desk.ask(&key, "planner", ask).await })
        });
        let mut winners = 0;
        for claimant in claimants.collect::<Vec<_>>() {
            match claimant.await.expect("a claimant comes to an end") {
                Ok(recorded) => winners += usize::from(recorded.seq.is_some()),
                Err(TransactError::Refused(no)) => assert_eq!(no.code(), "already-accepted"),
                Err(TransactError::Failed(failure)) => panic!("{failure}"),
            }
        }
        assert_eq!(winners, 1);
    }
}

/// Whoever was answered sees it, however many others are at work.
pub async fn a_look_sees_every_answered_command(desk: Desk) {
    desk.register().await;
    let desk = Arc::new(desk);
    let tasks = (0..4).map(|task| {
        let desk = desk.clone();
        tokio::spawn(async move {
            for n in 0..8 {
                let key = format!("{task}/{n}");
                desk.told(&key, "operator", begin("planner")).await;
                let id = workflow(&key);
                assert!(desk.see(move |world| world.workflows.contains_key(&id)).await);
                desk.told(&format!("{key} a"), "planner", accept(handoff(&key))).await;
                desk.told(&format!("{key} c"), "planner", complete(id, 2)).await;
                assert!(!desk.see(move |world| world.workflows.contains_key(&id)).await);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("every look sees what was answered");
    }
}

/// A panic in a decision or a look is its asker's: nothing is recorded, and all others go on.
pub async fn a_decision_that_panics_harms_nobody_else(desk: Desk) {
    desk.register().await;
    let (count, state) = (desk.count(), desk.state().await);
    let mut asked = request(submission("p", "operator", begin("planner")), desk.now());
    asked.decide = Box::new(|_, _| panic!("as the story wants it"));
    let error = desk.ledger().transact(asked).await.expect_err("nothing was decided");
    assert!(matches!(error, TransactError::Failed(_)), "{error}");
    let look = Box::new(|_: &baton_protocol::World| panic!("as the story wants it"));
    desk.ledger().look(Scope::Everything, look).await.expect_err("nothing was seen");
    assert_eq!((desk.count(), desk.state().await), (count, state));
    desk.told("p", "operator", begin("planner")).await;
}

/// A record that would be too large to be read back is refused while nothing has happened yet.
pub async fn what_is_too_large_to_record_is_refused(mut desk: Desk) {
    desk.register().await;
    desk.told("p", "operator", json!({"start": {"title": "many numbers"}})).await;
    let id = workflow("p");
    let (count, state) = (desk.count(), desk.state().await);
    // Numbers may take more room than they were given: `1e15` has seventeen digits.
    let value: Value =
        serde_json::from_str(&format!("[{}1]", "1e15,".repeat(1_200))).expect("JSON");
    let changes: serde_json::Map<String, Value> =
        (0..250).map(|n| (format!("v{n}"), value.clone())).collect();
    let set = json!({"set_variables": {"workflow": id, "changes": changes}});
    assert_eq!(desk.refused("v", "operator", set).await, "too-many");
    assert_eq!((desk.count(), desk.state().await), (count, state.clone()));
    desk.restart(Stop::PowerCut);
    assert_eq!((desk.count(), desk.state().await), (count, state));
    desk.told("c", "operator", json!({"complete": {"workflow": id}})).await;
}
