//! Work that goes to several at once.

use expect_test::expect;

use crate::teller::check;

#[test]
fn all_must_succeed_and_one_failure_decides() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,rival,reviewer within 60s fence 1
        2s builder accepts h1
        3s rival accepts h2
        4s reviewer rejects h3 no time
        5s builder returns h1 fence 2
        6s planner completes fence 1
        7s rival returns h2 fence 3
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 3, h1 broadcast to builder answer by 61s, h2 broadcast to
                rival answer by 61s, h3 broadcast to reviewer answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s h2 accepted by rival fence 3 back by 63s
            4s h3 rejected by reviewer: no time, h3 failed: rejected (no time), the
                broadcast failed (0 for, 1 against)
            5s h1 completed late
            6s h2 failed: cancelled by planner, workflow completed by planner
            7s refused [unknown-handoff]: there is no handoff h2
        "#]],
    );
}

#[test]
fn any_one_success_is_enough_and_late_ones_change_nothing() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,rival,reviewer within 60s needing-of any fence 1
        2s builder accepts h1
        3s rival accepts h2
        4s reviewer accepts h3
        5s planner completes fence 1
        6s builder returns h1 fence 2 status failed
        7s rival returns h2 fence 3 setting port=80
        8s reviewer returns h3 fence 4 setting port=99
        9s planner sets port=81 fence 1
        10s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 3, h1 broadcast to builder answer by 61s, h2 broadcast to
                rival answer by 61s, h3 broadcast to reviewer answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s h2 accepted by rival fence 3 back by 63s
            4s h3 accepted by reviewer fence 4 back by 64s
            5s refused [segment-open]: 3 handoffs are still open: h1, h3, h2
            6s h1 failed: error
            7s h2 completed, the broadcast succeeded (1 for, 1 against)
            8s h3 completed late
            9s refused [stale-variable]: variable port was changed by rival: it is at
                version 1
            10s workflow completed by planner
        "#]],
    );
}

#[test]
fn a_majority_decides_and_the_rest_ends_with_the_work() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,rival,reviewer within 60s needing-of majority fence 1
        2s builder accepts h1
        3s rival accepts h2
        4s builder returns h1 fence 2
        5s rival returns h2 fence 3
        6s planner passes to builder fence 1
        7s builder accepts h4
        8s builder completes fence 4
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 3, h1 broadcast to builder answer by 61s, h2 broadcast to
                rival answer by 61s, h3 broadcast to reviewer answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s h2 accepted by rival fence 3 back by 63s
            4s h1 completed
            5s h2 completed, the broadcast succeeded (2 for, 0 against)
            6s h4 sequential to builder
            7s h4 accepted by builder fence 4, h4 completed
            8s h3 failed: cancelled by builder, workflow completed by builder
        "#]],
    );
}

#[test]
fn a_copy_that_need_not_return_is_over_when_it_is_taken() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder?,rival within 60s fence 1
        2s builder accepts h1
        3s builder accepts h1
        4s rival accepts h2
        5s rival returns h2 fence 3
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 1, h1 broadcast to builder, h2 broadcast to rival answer by
                61s
            2s h1 accepted by builder fence 2, h1 completed
            3s refused [already-accepted]: handoff h1 is already accepted by builder
            4s h2 accepted by rival fence 3 back by 64s
            5s h2 completed, the broadcast succeeded (1 for, 0 against)
        "#]],
    );
}

#[test]
fn a_copy_that_times_out_counts_against() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,rival within 20s needing-of majority fence 1
        2s builder accepts h1
        15s rival accepts h2
        22s time passes
        32s time passes
        34s rival returns h2 fence 3
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 2, h1 broadcast to builder answer by 21s, h2 broadcast to
                rival answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            15s h2 accepted by rival fence 3 back by 35s
            22s h1 reminded, timeout at 32s
            32s h1 timed out, fence 2 ends, h1 failed: timed_out, the broadcast failed (0
                for, 1 against)
            34s h2 completed late
        "#]],
    );
}

#[test]
fn a_broadcast_that_cannot_be_is_refused_or_fails_at_once() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,builder within 60s fence 1
        2s planner broadcasts to builder,planner within 60s fence 1
        3s planner broadcasts to builder,rival fence 1
        4s planner broadcasts to rival,planner? fence 1
        5s planner broadcasts to rival,reviewer within 60s needing dancing fence 1
        6s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s refused [twice-named]: builder is named twice
            2s refused [self-pass]: planner cannot pass work to itself
            3s refused [timeout-required]: what must come back must say how long it may
                take (return_protocol.timeout)
            4s refused [timeout-required]: what must come back must say how long it may
                take (return_protocol.timeout)
            5s a broadcast of 2, h1 broadcast to rival, h1 rejected by rival:
                capability_mismatch: rival has none of dancing, h1 failed: rejected
                (capability_mismatch: rival has none of dancing), h2 broadcast to
                reviewer, h2 rejected by reviewer: capability_mismatch: reviewer has none
                of dancing, h2 failed: rejected (capability_mismatch: reviewer has none of
                dancing), the broadcast failed (0 for, 2 against)
            6s workflow completed by planner
        "#]],
    );
}

#[test]
fn copies_that_write_the_same_do_not_stand_in_each_others_way() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,rival within 60s fence 1
        2s builder accepts h1
        3s rival accepts h2
        4s builder returns h1 fence 2 setting port=80
        5s rival returns h2 fence 3 setting port=99,host=b
        6s planner sets port=81 fence 1
        7s planner sets host=c fence 1
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 2, h1 broadcast to builder answer by 61s, h2 broadcast to
                rival answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s h2 accepted by rival fence 3 back by 63s
            4s h1 completed
            5s h2 completed, the broadcast succeeded (2 for, 0 against)
            6s refused [stale-variable]: variable port was changed by builder: it is at
                version 1
            7s refused [stale-variable]: variable host was changed by rival: it is at
                version 2
        "#]],
    );
}

#[test]
fn a_copy_that_nobody_answers_counts_against() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,swift within 60s needing-of any fence 1
        31s time passes
        61s time passes
        62s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 2, h1 broadcast to builder answer by 61s, h2 broadcast to
                swift answer by 31s
            31s h2 rejected by swift: unavailable: no answer in time, h2 failed:
                unavailable
            61s h1 rejected by builder: unavailable: no answer in time, h1 failed:
                unavailable, the broadcast failed (0 for, 2 against)
            62s workflow completed by planner
        "#]],
    );
}

#[test]
fn where_nothing_need_come_back_nobody_waits() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder?,rival? openly needing-of majority fence 1
        2s builder accepts h1
        3s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 0, h1 broadcast beside rival to builder, h2 broadcast beside
                builder to rival, the broadcast succeeded (0 for, 0 against)
            2s h1 accepted by builder fence 2, h1 completed
            3s h2 failed: cancelled by planner, workflow completed by planner
        "#]],
    );
}

#[test]
fn a_sender_that_waits_for_a_broadcast_waits_until_it_is_decided() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,rival within 60s needing-of any blocking fence 1
        2s planner delegates to reviewer within 60s fence 1
        3s builder accepts h1
        4s builder returns h1 fence 2
        5s planner delegates to reviewer within 60s fence 1
        6s planner delegates to builder,rival within 60s fence 1
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 2, h1 broadcast to builder answer by 61s, h2 broadcast to
                rival answer by 61s
            2s refused [sender-blocked]: planner waits for handoff h1 and said it does
                nothing else meanwhile
            3s h1 accepted by builder fence 2 back by 63s
            4s h1 completed, the broadcast succeeded (1 for, 0 against)
            5s h3 delegation to reviewer answer by 65s
            6s refused [receiver-mismatch]: a broadcast names its receivers in to_agents,
                any other handoff one in to_agent
        "#]],
    );
}

#[test]
fn what_a_late_copy_passed_on_does_not_keep_the_owner() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,rival within 60s needing-of any fence 1
        2s builder accepts h1
        3s builder delegates to reviewer within 30s fence 2
        4s rival accepts h2
        5s planner completes fence 1
        6s rival returns h2 fence 3
        7s builder returns h1 fence 2
        8s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 2, h1 broadcast to builder answer by 61s, h2 broadcast to
                rival answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s h3 delegation to reviewer answer by 33s
            4s h2 accepted by rival fence 3 back by 64s
            5s refused [segment-open]: 3 handoffs are still open: h1, h2, h3
            6s h2 completed, the broadcast succeeded (1 for, 0 against)
            7s refused [segment-open]: 1 handoff is still open: h3
            8s h3 failed: cancelled by planner, h1 failed: cancelled by planner, workflow
                completed by planner
        "#]],
    );
}

#[test]
fn nobody_has_two_voices() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,rival,reviewer within 60s needing-of majority fence 1
        2s builder accepts h1
        3s builder returns h1 fence 2
        4s operator reassigns h2 to builder
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 3, h1 broadcast to builder answer by 61s, h2 broadcast to
                rival answer by 61s, h3 broadcast to reviewer answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s h1 completed
            4s refused [twice-named]: builder is named twice
        "#]],
    );
}

#[test]
fn a_broadcast_whose_copies_are_called_off_has_failed() {
    check(
        "
        0s planner starts
        1s planner broadcasts to builder,rival within 60s fence 1
        2s builder accepts h1
        3s operator reassigns to rival
        ",
        expect![[r#"
            0s started by planner
            1s a broadcast of 2, h1 broadcast to builder answer by 61s, h2 broadcast to
                rival answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s h1 failed: cancelled by operator, h2 failed: cancelled by operator, the
                broadcast failed (0 for, 2 against), reclaimed by operator fence 3, h3
                sequential to rival
        "#]],
    );
}

#[test]
fn a_copy_for_a_full_agent_is_not_waited_for_without_end() {
    check(
        "
        0s planner starts
        1s planner delegates to mason within 1h fence 1
        2s mason accepts h1
        3s planner broadcasts to mason,rival within 60s fence 1
        4s rival accepts h3
        5s rival returns h3 fence 3
        63s time passes
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to mason answer by 3601s
            2s h1 accepted by mason fence 2 back by 3602s
            3s a broadcast of 2, h2 broadcast to mason answer by 63s queued, h3 broadcast
                to rival answer by 63s
            4s h3 accepted by rival fence 3 back by 64s
            5s h3 completed
            63s h2 rejected by mason: at_capacity: mason can hold 1 at once, h2 failed:
                rejected (at_capacity: mason can hold 1 at once), the broadcast failed (1
                for, 1 against)
        "#]],
    );
}
