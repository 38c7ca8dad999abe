//! Work that comes back.

use expect_test::expect;

use crate::teller::check;

#[test]
fn a_subtask_comes_back_and_its_sender_goes_on() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 60s fence 1
        2s builder accepts h1
        3s builder reports fence 2
        4s builder returns h1 fence 2
        5s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s progressed
            4s h1 completed
            5s workflow completed by planner
        "#]],
    );
}

#[test]
fn a_delegation_without_an_end_is_refused() {
    check(
        "
        0s planner starts
        1s planner delegates to builder fence 1
        ",
        expect![[r#"
            0s started by planner
            1s refused [timeout-required]: what must come back must say how long it may
                take (return_protocol.timeout)
        "#]],
    );
}

#[test]
fn the_same_return_twice_is_one_and_another_is_refused() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 60s fence 1
        2s builder returns h1 fence 2
        3s builder accepts h1
        4s rival   returns h1 fence 2
        5s builder returns h1 fence 9
        6s builder returns h1 fence 2
        7s builder returns h1 fence 2
        8s builder returns h1 fence 2 saying otherwise
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 61s
            2s refused [not-accepted]: handoff h1 is not accepted: it is initiated
            3s h1 accepted by builder fence 2 back by 63s
            4s refused [for-another]: handoff h1 is for builder, not for rival
            5s refused [unknown-fence]: fence 9 was never given in this workflow
            6s h1 completed
            7s nothing new
            8s refused [already-returned]: handoff h1 has returned already, with another
                result
        "#]],
    );
}

#[test]
fn a_late_holder_is_reminded_then_replaced_and_its_fence_is_dead() {
    check(
        "
        0s  planner starts
        1s  planner delegates to builder within 20s retrying fence 1
        2s  builder accepts h1
        21s time passes
        22s time passes
        31s time passes
        32s time passes
        33s builder returns h1 fence 2
        34s time passes
        35s builder returns h1 fence 2
        36s builder accepts h1
        37s builder returns h1 fence 2
        38s builder returns h1 fence 3
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            21s nothing is due
            22s h1 reminded, timeout at 32s
            31s nothing is due
            32s h1 timed out, fence 2 ends, again at 34s
            33s refused [stale-fence]: fence 2 is no longer in force; nobody holds the
                work now
            34s h1 sent again
            35s refused [stale-fence]: fence 2 is no longer in force; nobody holds the
                work now
            36s h1 accepted by builder fence 3 back by 56s
            37s refused [stale-fence]: fence 2 is no longer in force; builder holds the
                work with fence 3
            38s h1 completed
        "#]],
    );
}

#[test]
fn after_three_resends_it_has_failed() {
    check(
        "
        0s  planner starts
        0s  planner delegates to builder within 1s retrying fence 1
        0s  builder accepts h1
        1s  time passes
        2s  time passes
        4s  time passes
        4s  builder accepts h1
        5s  time passes
        6s  time passes
        10s time passes
        10s builder accepts h1
        11s time passes
        12s time passes
        20s time passes
        20s builder accepts h1
        21s time passes
        22s time passes
        40s time passes
        41s builder accepts h1
        ",
        expect![[r#"
            0s started by planner
            0s h1 delegation to builder answer by 1s
            0s h1 accepted by builder fence 2 back by 1s
            1s h1 reminded, timeout at 2s
            2s h1 timed out, fence 2 ends, again at 4s
            4s h1 sent again
            4s h1 accepted by builder fence 3 back by 5s
            5s h1 reminded, timeout at 6s
            6s h1 timed out, fence 3 ends, again at 10s
            10s h1 sent again
            10s h1 accepted by builder fence 4 back by 11s
            11s h1 reminded, timeout at 12s
            12s h1 timed out, fence 4 ends, again at 20s
            20s h1 sent again
            20s h1 accepted by builder fence 5 back by 21s
            21s h1 reminded, timeout at 22s
            22s h1 timed out, fence 5 ends, h1 failed: timed_out, h2 escalation level 1
                after builder to operator
            40s nothing is due
            41s refused [handoff-over]: handoff h1 is over: timed_out
        "#]],
    );
}

#[test]
fn a_late_holder_fails_at_once_when_the_policy_says_so() {
    check(
        "
        0s  planner starts
        1s  planner delegates to builder within 20s fence 1
        2s  builder accepts h1
        22s time passes
        32s time passes
        33s builder returns h1 fence 2
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            22s h1 reminded, timeout at 32s
            32s h1 timed out, fence 2 ends, h1 failed: timed_out, h2 escalation level 1
                after builder to operator
            33s refused [handoff-over]: handoff h1 is over: timed_out
        "#]],
    );
}

#[test]
fn a_return_that_beats_the_timeout_wins() {
    check(
        "
        0s  planner starts
        1s  planner delegates to builder within 20s fence 1
        2s  builder accepts h1
        40s builder returns h1 fence 2
        41s time passes
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            40s h1 completed
            41s nothing is due
        "#]],
    );
}

#[test]
fn what_a_late_holder_passed_on_ends_with_it() {
    check(
        "
        0s  planner starts
        1s  planner delegates to builder within 20s retrying fence 1
        2s  builder accepts h1
        3s  builder locks a.rs fence 2
        4s  builder delegates to reviewer within 1h fence 2
        5s  reviewer accepts h2
        6s  reviewer locks b.rs fence 3
        22s time passes
        32s time passes
        33s reviewer returns h2 fence 3
        34s planner locks a.rs fence 1
        35s planner locks b.rs fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            3s a.rs locked (exclusive) by builder until 603s
            4s h2 delegation to reviewer answer by 3604s
            5s h2 accepted by reviewer fence 3 back by 3605s
            6s b.rs locked (exclusive) by reviewer until 606s
            22s h1 reminded, timeout at 32s
            32s h2 failed: cancelled by builder releasing b.rs, h1 timed out, fence 2 ends
                releasing a.rs, again at 34s
            33s refused [handoff-over]: handoff h2 is over: cancelled
            34s a.rs locked (exclusive) by planner until 634s
            35s b.rs locked (exclusive) by planner until 635s
        "#]],
    );
}

#[test]
fn a_delegate_cannot_pass_the_whole_or_return_while_it_waits() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 60s fence 1
        2s builder accepts h1
        3s builder passes to reviewer fence 2
        4s builder completes fence 2
        5s builder delegates to reviewer within 30s fence 2
        6s builder returns h1 fence 2
        7s planner passes to reviewer fence 1
        8s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s refused [not-owner]: builder holds a subtask; only planner owns the work
            4s refused [not-owner]: builder holds a subtask; only planner owns the work
            5s h2 delegation to reviewer answer by 35s
            6s refused [segment-open]: 1 handoff is still open: h2
            7s refused [segment-open]: 2 handoffs are still open: h2, h1
            8s refused [segment-open]: 2 handoffs are still open: h2, h1
        "#]],
    );
}

#[test]
fn a_sender_that_said_it_waits_does_wait() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 60s blocking fence 1
        2s planner delegates to reviewer within 60s fence 1
        3s builder accepts h1
        4s builder returns h1 fence 2
        5s planner delegates to reviewer within 60s fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 61s
            2s refused [sender-blocked]: planner waits for handoff h1 and said it does
                nothing else meanwhile
            3s h1 accepted by builder fence 2 back by 63s
            4s h1 completed
            5s h2 delegation to reviewer answer by 65s
        "#]],
    );
}

#[test]
fn a_failed_return_ends_the_handoff_with_the_holders_words() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 60s fence 1
        2s builder accepts h1
        3s builder returns h1 fence 2 status failed
        4s builder returns h1 fence 2 status failed
        5s builder returns h1 fence 2 status success
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s h1 failed: error
            4s nothing new
            5s refused [already-returned]: handoff h1 has returned already, with another
                result
        "#]],
    );
}

#[test]
fn a_subtask_that_nobody_answers_does_not_wait_for_ever() {
    check(
        "
        0s  planner starts
        1s  planner delegates to builder within 20s or-fail fence 1
        20s time passes
        21s time passes
        22s builder accepts h1
        23s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            20s nothing is due
            21s h1 rejected by builder: unavailable: no answer in time, h1 failed:
                unavailable
            22s refused [handoff-over]: handoff h1 is over: unavailable
            23s workflow completed by planner
        "#]],
    );
}
