//! Results that count once their checks have passed.

use baton_protocol::handoff::Evidence;
use baton_protocol::id::HandoffId;
use expect_test::expect;
use serde_json::{Value, json};

use crate::teller::check;

/// Checks by comma.
pub(crate) fn asked(names: Option<&str>) -> Value {
    let one = |name: &str| json!({ "run": [name], "timeout": "1m" });
    names.iter().flat_map(|names| names.split(',')).map(one).collect()
}

/// What the coordinator found when it ran a check: `pass`, or the exit code.
pub(crate) fn found(handoff: Option<HandoffId>, fence: Option<u64>, rest: &[&str]) -> Value {
    let code: i32 = match rest.get(1) {
        Some(&"passing") => 0,
        Some(&"failing") => 1,
        other => panic!("nobody finds {other:?}"),
    };
    let run = json!({ "run": ["test"], "ended": "exited", "code": code, "duration_ms": 5 });
    json!({ "checked": {
        "handoff": handoff, "fence": fence, "evidence": { "checks": [run], "commit": "c0ffee" },
    }})
}

/// A policy that lets agents use these checks.
pub(crate) fn allows(rest: &[&str]) -> Value {
    let checks: Vec<_> = rest.iter().map(|name| [name]).collect();
    json!({ "set_policy": { "max_handoffs": 100, "checks": checks } })
}

pub(crate) fn shown(evidence: &Evidence) -> String {
    match &evidence.refused {
        Some(refused) => refused.to_string(),
        None => format!("passed {}", evidence.passed()),
    }
}

#[test]
fn a_result_counts_once_its_checks_passed() {
    check(
        "
        0s operator allows test
        0s planner starts
        1s planner delegates to builder within 20s checked-by test fence 1
        2s builder accepts h1
        3s builder returns h1 setting branch=fix fence 2
        4s planner completes fence 1
        4s builder sets branch=other fence 2
        4s builder returns h1 setting branch=fix fence 2
        4s builder returns h1 setting branch=other fence 2
        60s time passes
        61s builder finds h1 passing fence 2
        61s coordinator finds h1 passing fence 1
        61s coordinator finds h1 passing fence 2
        62s coordinator finds h1 failing fence 2
        63s builder returns h1 setting branch=fix fence 2
        64s planner completes fence 1
        ",
        expect![[r#"
            0s policy_set
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            3s h1 returned, its checks run; check fence 2
            4s refused [segment-open]: 1 handoff is still open: h1
            4s refused [being-checked]: handoff h1 has returned, and its checks run
            4s nothing new
            4s refused [already-returned]: handoff h1 has returned already, with another
                result
            60s nothing is due
            61s refused [coordinator-only]: only the coordinator itself may ask this
            61s nothing new
            61s h1 completed
            62s nothing new
            63s nothing new
            64s workflow completed by planner
        "#]],
    );
}

#[test]
fn a_check_that_fails_gives_the_work_back_with_its_time_and_in_the_end_it_has_failed() {
    check(
        "
        0s operator allows test
        0s operator registers smith knowing iron as service
        0s planner starts
        1s planner delegates to smith within 20s checked-by test fence 1
        2s smith accepts h1
        3s smith locks src/a.rs fence 2
        7s smith returns h1 fence 2
        17s coordinator finds h1 failing fence 2
        18s smith sets tried=once fence 2
        19s smith returns h1 fence 2
        20s coordinator finds h1 failing fence 2
        21s smith returns h1 fence 2
        22s coordinator finds h1 failing fence 2
        23s smith returns h1 fence 2
        ",
        expect![[r#"
            0s policy_set
            0s registered
            0s started by planner
            1s h1 delegation to smith answer by 31s; call smith
            2s h1 accepted by smith fence 2 back by 22s
            3s src/a.rs locked (exclusive) by smith until 603s
            7s h1 returned, its checks run; check fence 2
            17s h1 unverified: passed false; call smith
            18s set tried="once"
            19s h1 returned, its checks run; check fence 2
            20s h1 unverified: passed false; call smith
            21s h1 returned, its checks run; check fence 2
            22s h1 failed: error releasing src/a.rs
            23s nothing new
        "#]],
    );
}

#[test]
fn what_was_due_waits_for_the_checks_and_no_longer() {
    check(
        "
        0s operator allows test
        0s planner starts
        1s planner delegates to builder within 20s checked-by test fence 1
        2s builder accepts h1
        20s builder returns h1 fence 2
        100s coordinator finds h1 failing fence 2
        101s time passes
        103s time passes
        113s time passes
        ",
        expect![[r#"
            0s policy_set
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            20s h1 returned, its checks run; check fence 2
            100s h1 unverified: passed false
            101s nothing is due
            103s h1 reminded, timeout at 113s
            113s h1 timed out, fence 2 ends, h1 failed: timed_out, h2 escalation level 1
                after builder to operator
        "#]],
    );
}

#[test]
fn what_changed_while_the_checks_ran_is_not_overwritten() {
    check(
        "
        0s operator allows test
        0s planner starts
        1s planner delegates to builder within 1h checked-by test fence 1
        2s builder accepts h1
        3s builder returns h1 setting branch=fix fence 2
        4s planner sets branch=main fence 1
        5s coordinator finds h1 passing fence 2
        6s builder returns h1 status failed fence 2
        ",
        expect![[r#"
            0s policy_set
            0s started by planner
            1s h1 delegation to builder answer by 3601s
            2s h1 accepted by builder fence 2 back by 3602s
            3s h1 returned, its checks run; check fence 2
            4s set branch="main"
            5s h1 unverified: variable branch was changed by planner: it is at version 1
            6s h1 failed: error
        "#]],
    );
}

#[test]
fn agents_use_the_checks_that_a_policy_names_and_people_any() {
    check(
        "
        0s operator allows test
        0s planner starts
        1s planner delegates to builder within 1h checked-by test,rm fence 1
        1s planner passes to builder checked-by test fence 1
        1s planner delegates to builder within 1h checked-by test,test fence 1
        2s builder accepts h1
        3s builder returns h1 status failed fence 2
        4s planner delegates to builder within 1h checked-by test fence 1
        5s builder accepts h2
        6s builder returns h2 fence 3
        7s planner cancels h2
        8s coordinator finds h2 passing fence 3
        ",
        expect![[r#"
            0s policy_set
            0s started by planner
            1s refused [check-not-allowed]: planner may not have `rm` run as a check
            1s refused [checks-need-return]: checks run when work comes back, and this
                handoff does not come back
            1s h1 delegation to builder answer by 3601s
            2s h1 accepted by builder fence 2 back by 3602s
            3s h1 failed: error
            4s h2 delegation to builder answer by 3604s
            5s h2 accepted by builder fence 3 back by 3605s
            6s h2 returned, its checks run; check fence 3
            7s h2 failed: cancelled by planner
            8s nothing new
        "#]],
    );
}

#[test]
fn locks_last_as_long_as_the_checks_may_take() {
    check(
        "
        0s operator allows test
        0s planner starts
        1s planner delegates to builder within 1h checked-by test fence 1
        2s builder accepts h1
        3s builder locks src/a.rs fence 2
        600s builder returns h1 fence 2
        1200s planner locks src/a.rs fence 1
        1201s coordinator finds h1 passing fence 2
        1202s planner locks src/a.rs fence 1
        ",
        expect![[r#"
            0s policy_set
            0s started by planner
            1s h1 delegation to builder answer by 3601s
            2s h1 accepted by builder fence 2 back by 3602s
            3s src/a.rs locked (exclusive) by builder until 603s
            600s h1 returned, its checks run; check fence 2
            1200s refused [file-locked]: src/a.rs is locked (exclusive) by builder
            1201s h1 completed releasing src/a.rs
            1202s src/a.rs locked (exclusive) by planner until 1802s
        "#]],
    );
}

#[test]
fn whoever_takes_it_over_has_three_rounds_of_their_own() {
    check(
        "
        0s operator allows test
        0s planner starts
        1s planner delegates to builder within 1h checked-by test fence 1
        2s builder accepts h1
        3s builder returns h1 fence 2
        4s coordinator finds h1 failing fence 2
        5s builder returns h1 fence 2
        6s coordinator finds h1 failing fence 2
        7s builder returns h1 fence 2
        8s operator reassigns h1 to rival
        9s coordinator finds h1 failing fence 2
        10s rival accepts h1
        11s rival returns h1 fence 3
        12s coordinator finds h1 failing fence 3
        13s rival returns h1 fence 3
        14s coordinator finds h1 passing fence 3
        ",
        expect![[r#"
            0s policy_set
            0s started by planner
            1s h1 delegation to builder answer by 3601s
            2s h1 accepted by builder fence 2 back by 3602s
            3s h1 returned, its checks run; check fence 2
            4s h1 unverified: passed false
            5s h1 returned, its checks run; check fence 2
            6s h1 unverified: passed false
            7s h1 returned, its checks run; check fence 2
            8s h1 reassigned to rival
            9s nothing new
            10s h1 accepted by rival fence 3 back by 3610s
            11s h1 returned, its checks run; check fence 3
            12s h1 unverified: passed false
            13s h1 returned, its checks run; check fence 3
            14s h1 completed
        "#]],
    );
}

#[test]
fn a_copy_whose_broadcast_is_decided_ends_whatever_its_checks_find() {
    check(
        "
        0s operator allows test
        0s planner starts
        1s planner broadcasts to builder,rival within 1h needing-of any checked-by test fence 1
        2s builder accepts h1
        2s rival accepts h2
        3s builder returns h1 fence 2
        3s rival returns h2 fence 3
        4s coordinator finds h1 passing fence 2
        5s coordinator finds h2 failing fence 3
        6s planner completes fence 1
        ",
        expect![[r#"
            0s policy_set
            0s started by planner
            1s a broadcast of 2, h1 broadcast to builder answer by 3601s, h2 broadcast to
                rival answer by 3601s
            2s h1 accepted by builder fence 2 back by 3602s
            2s h2 accepted by rival fence 3 back by 3602s
            3s h1 returned, its checks run; check fence 2
            3s h2 returned, its checks run; check fence 3
            4s h1 completed, the broadcast succeeded (1 for, 0 against)
            5s h2 completed late
            6s workflow completed by planner
        "#]],
    );
}
