//! Decisions that go down, and what they do not decide.

use expect_test::expect;

use crate::teller::check;

#[test]
fn the_answer_to_whoever_took_work_over_does_not_end_that_work() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 20s escalating fence 1
        2s builder accepts h1
        22s time passes
        32s time passes
        33s reviewer accepts h2
        34s reviewer escalates because unsure fence 3
        35s architect accepts h3
        36s architect returns h3 fence 4
        37s reviewer returns h2 fence 3
        38s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            22s h1 reminded, timeout at 32s
            32s h1 timed out, fence 2 ends, h2 escalation level 1 after builder to
                reviewer answer by 52s, h1 failed: passed on
            33s h2 accepted by reviewer fence 3 back by 53s
            34s fence 3 waits for h3, h3 escalation level 2 after builder, reviewer to
                architect
            35s h3 accepted by architect fence 4
            36s h3 completed
            37s h2 completed
            38s workflow completed by planner
        "#]],
    );
}

#[test]
fn a_no_goes_all_the_way_down_like_a_yes() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 1h fence 1
        2s builder accepts h1
        3s builder escalates because unsure fence 2
        4s reviewer accepts h2
        5s reviewer escalates because unsure fence 3
        6s architect accepts h3
        7s architect returns h3 fence 4 status failed saying never
        8s reviewer returns h2 fence 3
        9s builder returns h1 fence 2
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 3601s
            2s h1 accepted by builder fence 2 back by 3602s
            3s fence 2 waits for h2, h2 escalation level 1 after builder to reviewer
            4s h2 accepted by reviewer fence 3
            5s fence 3 waits for h3, h3 escalation level 2 after builder, reviewer to
                architect
            6s h3 accepted by architect fence 4
            7s h3 failed: error, h2 failed: error
            8s refused [already-returned]: handoff h2 has returned already, with another
                result
            9s h1 completed
        "#]],
    );
}

#[test]
fn a_person_takes_the_time_it_takes_to_decide() {
    check(
        "
        0s planner starts
        1s planner escalates to operator within 5s because unsure fence 1
        10s time passes
        11s operator accepts h1
        30s time passes
        31s operator returns h1 fence 2
        ",
        expect![[r#"
            0s started by planner
            1s fence 1 waits for h1, h1 escalation level 1 after planner to operator
            10s nothing is due
            11s h1 accepted by operator fence 2
            30s nothing is due
            31s h1 completed
        "#]],
    );
}

#[test]
fn a_sender_that_said_it_waits_does_so_also_for_a_person() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 20s escalating blocking fence 1
        2s builder accepts h1
        22s time passes
        32s time passes
        33s operator reassigns h2 to operator
        34s planner delegates to rival within 1h fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            22s h1 reminded, timeout at 32s
            32s h1 timed out, fence 2 ends, h2 escalation level 1 after builder to
                reviewer answer by 52s, h1 failed: passed on
            33s h2 reassigned to operator
            34s refused [sender-blocked]: planner waits for handoff h2 and said it does
                nothing else meanwhile
        "#]],
    );
}
