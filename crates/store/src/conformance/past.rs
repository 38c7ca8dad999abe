//! Stories about what is kept beside the answers: states, effects, bodies, and the past.

use std::collections::BTreeSet;

use baton_protocol::event::Event;
use baton_protocol::time::Allowance;
use serde_json::json;

use super::desk::{accept, begin, complete, delegate};
use super::{Desk, STOPS, Stop, handoff, story, workflow};
use crate::hash::Hash;
use crate::index::{Filter, WorkflowPage};
use crate::ledger::{Against, LedgerError, Loan};

/// Tells the whole story of `workflows` workflows.
async fn tell(desk: &Desk, workflows: usize) {
    desk.register().await;
    for number in 0..workflows {
        for step in story(number) {
            desk.set_clock(step.at + 100 * i64::try_from(number).unwrap_or(0));
            desk.told(&step.key, step.who, step.asked).await;
        }
    }
}

/// Whatever is live comes back as it was: holds, locks, variables, artifacts, timers, effects.
pub async fn a_state_comes_back_as_it_was(mut desk: Desk) {
    tell(&desk, 6).await;
    let again = json!({"register": {"id": "planner", "capabilities": ["rust"], "name": "P"}});
    desk.told("more", "operator", again).await;
    let token = json!({"issue_token": {"agent": "planner", "digest": "b".repeat(64), "for": "1d"}});
    desk.told("token", "operator", token).await;
    let state = desk.state().await;
    assert_eq!(state["due"].as_array().map(Vec::len), Some(2), "two are deferred");
    for how in STOPS.into_iter().chain(STOPS) {
        desk.restart(how);
        assert_eq!(desk.state().await, state, "{how:?}");
    }
}

async fn lend(desk: &Desk, seconds: i64, limit: usize) -> Vec<Loan> {
    desk.set_clock(seconds);
    let until = Allowance::from_secs(60).after(desk.now());
    desk.ledger().lend(desk.now(), until, limit).await.expect("effects can be lent")
}

/// A loan that is not settled in time is lent again; a settled effect never.
pub async fn an_effect_is_lent_to_one_at_a_time_and_never_lost(mut desk: Desk) {
    desk.register().await;
    for n in 0..3 {
        desk.told(&format!("p{n}"), "operator", begin("builder")).await;
    }
    let ids = |loans: &[Loan]| loans.iter().map(|loan| loan.id).collect::<Vec<_>>();
    let first = lend(&desk, 0, 2).await;
    assert!(first.is_sorted_by_key(|loan| loan.id) && first.len() == 2, "the oldest first");
    let rest = lend(&desk, 10, 10).await;
    assert_eq!(rest.len(), 1);
    assert_eq!(lend(&desk, 59, 10).await, []);
    let settle = |loan: &Loan| json!({"settle": {"effect": loan.id, "note": "told"}});
    desk.told("s1", "coordinator", settle(&first[0])).await;
    assert_eq!(ids(&lend(&desk, 60, 10).await), ids(&first[1..]), "its time is over");
    let twice = desk.told("s2", "coordinator", settle(&first[0])).await;
    assert_eq!((twice.seq, twice.events.len()), (None, 0), "settled is settled");
    for how in STOPS {
        desk.restart(how);
        let again = ids(&lend(&desk, 61, 10).await);
        assert_eq!(again, ids(&[&first[1..], &rest].concat()), "{how:?}");
        assert_eq!(lend(&desk, 61, 10).await, []);
    }
    desk.told("s3", "coordinator", settle(&first[1])).await;
    desk.told("s4", "coordinator", settle(&rest[0])).await;
    assert_eq!(lend(&desk, 1_000, 10).await, []);
    desk.restart(Stop::PowerCut);
    assert_eq!(lend(&desk, 1_000, 10).await, []);
}

/// Every filter finds what reading all records would find, up to the one just answered.
pub async fn history_sees_what_was_just_written(desk: Desk) {
    tell(&desk, 4).await;
    let all = desk.records(Filter::default()).await;
    assert_eq!(all.len() as u64, desk.count());
    let last = desk.told("p", "operator", begin("planner")).await;
    let newest = Filter { newest_first: true, limit: 1, ..Filter::default() };
    assert_eq!(desk.records(newest).await[0].seq, desk.count());
    assert_eq!(last.seq, Some(desk.count()));

    let of = |seqs: Vec<u64>| seqs;
    let found = async |filter: Filter| -> Vec<u64> {
        of(desk.records(filter).await.iter().map(|record| record.seq).collect())
    };
    let base = Filter::default;
    let text = |text: &str| Some(text.to_owned());
    let part = handoff("1 delegate");
    let about: Vec<u64> =
        all.iter().filter(|r| r.event.handoff() == Some(part)).map(|r| r.seq).collect();
    assert_eq!(found(Filter { handoff: Some(*part.as_bytes()), ..base() }).await, about);
    let one = baton_protocol::event::StreamId::Workflow(workflow("1 pass"));
    let its: Vec<u64> = all.iter().filter(|r| r.stream == one).map(|r| r.seq).collect();
    let its_filter = Filter { workflow: Some(*workflow("1 pass").as_bytes()), ..base() };
    assert_eq!(found(its_filter.clone()).await, its);
    let command = Some(*super::desk::command("1 pass").as_bytes());
    assert_eq!(found(Filter { command, ..its_filter.clone() }).await, its[..2]);
    let after_seq = Some(its[1]);
    let before_seq = Some(its[4]);
    assert_eq!(
        found(Filter { after_seq, before_seq, ..base() }).await.len() as u64,
        its[4] - its[1] - 1
    );
    let paged = Filter { limit: 3, newest_first: true, ..its_filter };
    let backwards: Vec<u64> = its.iter().rev().take(3).copied().collect();
    assert_eq!(found(paged).await, backwards);
    let kinds = vec!["locked".to_owned(), "closed".to_owned()];
    let wanted = |event: &Event| matches!(event, Event::Locked { .. } | Event::Closed { .. });
    let of_kinds: Vec<u64> = all.iter().filter(|r| wanted(&r.event)).map(|r| r.seq).collect();
    assert_eq!(found(Filter { kinds, ..base() }).await, of_kinds);
    let (since, until) = (Some(all[20].at.as_micros()), Some(all[30].at.as_micros()));
    let between = |at: i64| Some(at) >= since && Some(at) < until;
    let then: Vec<u64> = all.iter().filter(|r| between(r.at.as_micros())).map(|r| r.seq).collect();
    assert_eq!(found(Filter { since, until, ..base() }).await, then);
    let both = Filter { from: text("planner"), to: text("builder"), ..base() };
    assert_eq!(found(both).await.len(), 4 * about.len());
    assert_eq!(found(Filter { agent: text("reviewer"), ..base() }).await.len(), 2);
    assert_eq!(found(Filter { from: text("nobody"), ..base() }).await, [0; 0]);
}

/// The beginning of an id finds what it names, live or closed; what is no beginning is an error.
pub async fn what_an_id_begins_with_finds_it(desk: Desk) {
    tell(&desk, 4).await;
    let ledger = desk.ledger();
    for number in 0..4 {
        let key = format!("{number} pass");
        let (id, part) = (workflow(&key).to_string(), handoff(&key).to_string());
        for length in [8, 13, 36] {
            let found = ledger.find_workflows(id[..length].to_owned()).await;
            let found = found.expect("an id is found");
            assert_eq!(found.len(), 1, "{id}");
            assert_eq!(found[0].uuid, *workflow(&key).as_bytes());
            assert_eq!(found[0].title.as_deref(), Some(format!("work {number}").as_str()));
            let ended = [Some("completed"), Some("cancelled"), None][number % 3];
            assert_eq!(found[0].outcome.as_deref(), ended);
            let found = ledger.find_handoffs(part[..length].to_uppercase()).await;
            let found = found.expect("an id is found");
            assert_eq!(found[0].uuid, *handoff(&key).as_bytes());
            assert_eq!(found[0].workflow, Some(*workflow(&key).as_bytes()));
            assert_eq!(found[0].state.as_deref(), Some("completed"));
        }
    }
    let nothing = ledger.find_workflows("0".repeat(32)).await.expect("it may find nothing");
    assert_eq!(nothing, []);
    let mut all = BTreeSet::new();
    for digit in "0123456789abcdef".chars() {
        let found = ledger.find_handoffs(digit.to_string()).await.expect("handoffs are found");
        assert!(found.is_sorted_by_key(|row| row.uuid[..8].to_vec()));
        all.extend(found.into_iter().map(|row| row.uuid));
    }
    assert_eq!(all.len(), 4 * 2 + 1);
    for wrong in ["", "xyz", &"0".repeat(33)] {
        ledger.find_workflows(wrong.to_owned()).await.expect_err("it is no beginning of an id");
        ledger.find_handoffs(wrong.to_owned()).await.expect_err("it is no beginning of an id");
    }
}

/// Workflows are listed, the newest first, page by page.
pub async fn workflows_are_listed_live_and_closed(mut desk: Desk) {
    tell(&desk, 6).await;
    desk.restart(Stop::WithoutIndex);
    let titles = async |page: WorkflowPage| -> Vec<String> {
        let rows = desk.ledger().workflows(page).await.expect("workflows are listed");
        rows.into_iter().filter_map(|row| row.title).collect()
    };
    let page = WorkflowPage::default;
    let all = ["work 5", "work 4", "work 3", "work 2", "work 1", "work 0"];
    assert_eq!(titles(page()).await, all);
    assert_eq!(titles(WorkflowPage { open: Some(true), ..page() }).await, ["work 5", "work 2"]);
    let closed = WorkflowPage { open: Some(false), limit: 2, ..page() };
    assert_eq!(titles(closed).await, ["work 4", "work 3"]);
    let rows = desk.ledger().workflows(closed).await.expect("workflows are listed");
    let next = WorkflowPage { before: Some(rows[1].first_seq), ..closed };
    assert_eq!(titles(next).await, ["work 1", "work 0"]);
    let records = desk.records(Filter { workflow: Some(rows[0].uuid), ..Filter::default() }).await;
    assert_eq!(rows[0].first_seq, records[0].seq);
    assert_eq!(Some(rows[0].head_seq), records.last().map(|record| record.seq));
    assert_eq!(rows[0].started, records[0].at.as_micros());
    assert_eq!(rows[0].closed, records.last().map(|record| record.at.as_micros()));
}

/// Counts tell how often what went from whom to whom.
pub async fn records_are_counted_by_type_and_pair(mut desk: Desk) {
    tell(&desk, 5).await;
    desk.restart(Stop::PowerCut);
    desk.told("p", "operator", begin("reviewer")).await;
    let counts = desk.ledger().counts().await.expect("records are counted");
    assert!(counts.is_sorted());
    assert_eq!(counts.iter().map(|tally| tally.count).sum::<u64>(), desk.count());
    let count = |kind: &str, from: Option<&str>, to: Option<&str>| {
        let mut same = counts.iter().filter(|tally| {
            (tally.kind.as_str(), tally.from.as_deref(), tally.to.as_deref()) == (kind, from, to)
        });
        same.next().map_or(0, |tally| tally.count)
    };
    assert_eq!(count("initiated", Some("operator"), Some("planner")), 5);
    assert_eq!(count("initiated", Some("operator"), Some("reviewer")), 1);
    assert_eq!(count("initiated", Some("planner"), Some("builder")), 5);
    assert_eq!(count("accepted", Some("planner"), Some("builder")), 5);
    assert_eq!(count("registered", None, None), 3);
    assert_eq!(count("closed", None, None), 4);
}

/// A body is found by its hash, before and after any stop; one that was never kept is missing.
pub async fn a_body_comes_back_as_it_was(mut desk: Desk) {
    let bodies = [Vec::new(), b"small".to_vec(), vec![7; 300_000]];
    for body in &bodies {
        let hash = desk.ledger().put_blob(body.clone()).await.expect("a body is kept");
        assert_eq!(hash, Hash::of(body));
        let again = desk.ledger().put_blob(body.clone()).await.expect("a body is kept");
        assert_eq!(hash, again);
    }
    for how in STOPS {
        for body in &bodies {
            let found = desk.ledger().blob(Hash::of(body)).await.expect("a body is there");
            assert!(found == *body, "{how:?}");
        }
        let missing = desk.ledger().blob(Hash::of(b"other")).await.expect_err("it is not there");
        assert!(matches!(missing, LedgerError::NoBlob { .. }), "{missing}");
        desk.restart(how);
    }
}

/// A check finds a changed record and says which, and what was sound before it.
pub async fn a_check_names_the_first_bad_record(mut desk: Desk) {
    tell(&desk, 3).await;
    let count = desk.count();
    let checked = desk.ledger().check(Against::default()).await.expect("a ledger can be checked");
    assert_eq!((checked.records, checked.problem), (count, None));
    for bad in [count - 1, 30, 7, 1] {
        desk.spoil(bad);
        let checked =
            desk.ledger().check(Against::default()).await.expect("a ledger can be checked");
        let problem = checked.problem.expect("the record is not what it was");
        assert!(problem.contains(&format!("record {bad} ")), "{bad}: {problem}");
        assert_eq!(checked.records, bad - 1);
    }
}

/// Whoever listens is told of every record, and the number never goes back.
pub async fn whoever_listens_hears_of_every_record(desk: Desk) {
    let mut heard = desk.ledger().committed();
    assert_eq!(*heard.borrow_and_update(), 0);
    desk.register().await;
    desk.told("p", "operator", begin("planner")).await;
    desk.told("a", "planner", accept(handoff("p"))).await;
    let last = desk.told("d", "planner", delegate(workflow("p"), 2, "builder")).await;
    let wait = heard.wait_for(|seq| Some(*seq) == last.seq);
    wait.await.expect("the ledger goes on");
    assert_eq!(desk.refused("c", "planner", complete(workflow("p"), 2)).await, "segment-open");
    assert!(!heard.has_changed().expect("the ledger goes on"));
}
