//! Work that is passed on for good.

use expect_test::expect;

use crate::teller::check;

#[test]
fn work_travels_down_a_pipeline_and_its_last_holder_ends_it() {
    check(
        "
        0s planner starts
        1s planner passes to builder fence 1
        2s builder accepts h1
        3s builder passes to reviewer fence 2
        4s reviewer accepts h2
        5s reviewer completes fence 3
        6s reviewer completes fence 3
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s h1 accepted by builder fence 2, h1 completed
            3s h2 sequential to reviewer
            4s h2 accepted by reviewer fence 3, h2 completed
            5s workflow completed by reviewer
            6s refused [unknown-workflow]: there is no workflow w
        "#]],
    );
}

#[test]
fn a_taker_asks_once_and_a_rival_hears_who_was_first() {
    check(
        "
        0s planner starts
        1s planner passes to builder fence 1
        2s rival   accepts h1
        3s builder accepts h1
        4s builder accepts h1
        5s rival   accepts h1
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s refused [for-another]: handoff h1 is for builder, not for rival
            3s h1 accepted by builder fence 2, h1 completed
            4s refused [already-accepted]: handoff h1 is already accepted by builder
            5s refused [already-accepted]: handoff h1 is already accepted by builder
        "#]],
    );
}

#[test]
fn a_sender_whose_work_moved_on_is_refused_by_its_fence() {
    check(
        "
        0s planner starts
        1s planner passes to builder fence 1
        2s builder accepts h1
        3s planner passes to reviewer fence 1
        4s planner sets plan=b fence 1
        5s planner completes fence 1
        6s planner completes fence 2
        7s builder completes
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s h1 accepted by builder fence 2, h1 completed
            3s refused [stale-fence]: fence 1 is no longer in force; builder holds the
                work with fence 2
            4s refused [stale-fence]: fence 1 is no longer in force; builder holds the
                work with fence 2
            5s refused [stale-fence]: fence 1 is no longer in force; builder holds the
                work with fence 2
            6s refused [fence-of-another]: fence 2 is builder's, not planner's
            7s refused [fence-required]: builder did not show the fence of its hold
        "#]],
    );
}

#[test]
fn a_rejected_pass_leaves_the_work_with_its_sender() {
    check(
        "
        0s planner starts
        1s planner passes to builder or-fail fence 1
        2s reviewer rejects h1 not mine
        3s builder rejects h1 too busy today
        4s builder accepts h1
        5s planner passes to reviewer fence 1
        6s reviewer accepts h2
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s refused [for-another]: handoff h1 is for builder, not for reviewer
            3s h1 rejected by builder: too busy today, h1 failed: rejected (too busy
                today)
            4s refused [handoff-over]: handoff h1 is over: rejected
            5s h2 sequential to reviewer
            6s h2 accepted by reviewer fence 2, h2 completed
        "#]],
    );
}

#[test]
fn nothing_else_moves_while_a_pass_waits_for_its_answer() {
    check(
        "
        0s planner starts
        1s planner passes to builder fence 1
        2s planner passes to reviewer fence 1
        3s planner delegates to reviewer within 60s fence 1
        4s planner completes fence 1
        5s planner cancels h1
        6s builder accepts h1
        7s planner passes to reviewer fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s refused [pass-pending]: the work waits for builder to answer handoff h1
            3s refused [pass-pending]: the work waits for builder to answer handoff h1
            4s refused [pass-pending]: the work waits for builder to answer handoff h1
            5s h1 failed: cancelled by planner
            6s refused [handoff-over]: handoff h1 is over: cancelled
            7s h2 sequential to reviewer
        "#]],
    );
}

#[test]
fn a_deferred_handoff_comes_back_by_itself() {
    check(
        "
        0s  planner starts
        1s  planner passes to builder fence 1
        2s  builder defers h1 for 10s
        5s  time passes
        12s time passes
        13s builder accepts h1
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s h1 deferred until 12s
            5s nothing is due
            12s h1 sent again
            13s h1 accepted by builder fence 2, h1 completed
        "#]],
    );
}

#[test]
fn a_deferred_handoff_may_be_taken_early() {
    check(
        "
        0s  planner starts
        1s  planner passes to builder fence 1
        2s  builder defers h1 for 10s
        3s  builder accepts h1
        12s time passes
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s h1 deferred until 12s
            3s h1 accepted by builder fence 2, h1 completed
            12s nothing is due
        "#]],
    );
}

#[test]
fn capabilities_decide_whether_it_is_taken_warned_or_rejected() {
    check(
        "
        0s planner starts
        1s planner passes to builder needing cooking,dancing or-fail fence 1
        2s planner passes to builder needing cooking,rust fence 1
        3s builder accepts h2
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder, h1 rejected by builder: capability_mismatch:
                builder has none of cooking, dancing, h1 failed: rejected
                (capability_mismatch: builder has none of cooking, dancing)
            2s h2 sequential to builder lacking cooking
            3s h2 accepted by builder fence 2, h2 completed
        "#]],
    );
}

#[test]
fn nobody_passes_to_himself_or_to_strangers() {
    check(
        "
        0s planner starts
        1s planner passes to planner fence 1
        2s planner passes to nobody fence 1
        3s planner passes to builder
        4s rival   passes to builder fence 1
        5s operator passes to builder
        ",
        expect![[r#"
            0s started by planner
            1s refused [self-pass]: planner cannot pass work to itself
            2s refused [unknown-agent]: there is no agent nobody
            3s refused [fence-required]: planner did not show the fence of its hold
            4s refused [fence-of-another]: fence 1 is planner's, not rival's
            5s refused [not-holder]: operator holds no part of workflow w
        "#]],
    );
}

#[test]
fn a_cancelled_workflow_ends_everything_in_it() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 60s fence 1
        2s builder accepts h1
        3s builder delegates to reviewer within 30s fence 2
        4s reviewer accepts h2
        5s rival   cancels w
        6s operator cancels w
        7s reviewer returns h2 fence 3
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s h2 delegation to reviewer answer by 33s
            4s h2 accepted by reviewer fence 3 back by 34s
            5s refused [not-yours]: rival may not cancel this: only planner or the
                operator may
            6s h2 failed: cancelled by operator, h1 failed: cancelled by operator,
                workflow cancelled by operator
            7s refused [unknown-handoff]: there is no handoff h2
        "#]],
    );
}
