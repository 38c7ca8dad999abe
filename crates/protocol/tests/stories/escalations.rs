//! Questions that climb, and decisions that come back down.

use expect_test::expect;

use crate::teller::check;

#[test]
fn a_decision_comes_back_to_the_one_who_asked() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 60s fence 1
        2s builder accepts h1
        3s builder escalates fence 2
        4s builder escalates because ambiguous fence 2
        5s builder returns h1 fence 2
        6s builder sets x=1 fence 2
        7s reviewer accepts h2
        8s reviewer returns h2 fence 3 saying plan-b
        9s builder returns h1 fence 2
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s refused [rationale-required]: an escalation must say why
                (audit.decision_rationale)
            4s fence 2 waits for h2, h2 escalation level 1 after builder to reviewer
            5s refused [suspended]: builder waits for the decision on handoff h2
            6s refused [suspended]: builder waits for the decision on handoff h2
            7s h2 accepted by reviewer fence 3
            8s h2 completed
            9s h1 completed
        "#]],
    );
}

#[test]
fn what_was_due_waits_with_the_question() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 20s fence 1
        2s builder accepts h1
        12s builder escalates because unsure fence 2
        40s time passes
        112s reviewer accepts h2
        122s reviewer returns h2 fence 3
        131s time passes
        132s time passes
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            12s fence 2 waits for h2, h2 escalation level 1 after builder to reviewer
            40s nothing is due
            112s h2 accepted by reviewer fence 3
            122s h2 completed
            131s nothing is due
            132s h1 reminded, timeout at 142s
        "#]],
    );
}

#[test]
fn a_question_climbs_to_a_person_and_the_answer_goes_all_the_way_down() {
    check(
        "
        0s planner starts
        1s builder reports fence 1
        2s planner passes to builder fence 1
        3s builder accepts h1
        4s builder escalates because too-hard fence 2
        5s reviewer accepts h2
        6s reviewer escalates because too-hard-for-me fence 3
        7s architect accepts h3
        8s architect escalates because a-persons-call fence 4
        9s operator accepts h4
        10s operator escalates because no fence 5
        11s operator returns h4 fence 5 saying go
        12s builder completes fence 2
        ",
        expect![[r#"
            0s started by planner
            1s refused [fence-of-another]: fence 1 is planner's, not builder's
            2s h1 sequential to builder
            3s h1 accepted by builder fence 2, h1 completed
            4s fence 2 waits for h2, h2 escalation level 1 after builder to reviewer
            5s h2 accepted by reviewer fence 3
            6s fence 3 waits for h3, h3 escalation level 2 after builder, reviewer to
                architect
            7s h3 accepted by architect fence 4
            8s fence 4 waits for h4, h4 escalation level 3 after builder, reviewer,
                architect to operator
            9s h4 accepted by operator fence 5
            10s refused [escalation-too-high]: a question climbs at most 3 levels, and
                this one has
            11s h4 completed, h3 completed, h2 completed
            12s workflow completed by builder
        "#]],
    );
}

#[test]
fn a_reviewer_that_says_no_sends_the_question_further_up() {
    check(
        "
        0s planner starts
        1s planner escalates because risky fence 1
        2s reviewer rejects h1 not me
        3s architect accepts h1
        4s architect returns h1 fence 2
        5s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s fence 1 waits for h1, h1 escalation level 1 after planner to reviewer
            2s h1 rejected by reviewer: not me, h1 rerouted to architect
            3s h1 accepted by architect fence 2
            4s h1 completed
            5s workflow completed by planner
        "#]],
    );
}

#[test]
fn a_question_taken_back_lets_the_asker_go_on() {
    check(
        "
        0s planner starts
        1s planner escalates because unsure fence 1
        2s planner passes to builder fence 1
        3s planner cancels h1
        4s planner passes to builder fence 1
        ",
        expect![[r#"
            0s started by planner
            1s fence 1 waits for h1, h1 escalation level 1 after planner to reviewer
            2s refused [suspended]: planner waits for the decision on handoff h1
            3s h1 failed: cancelled by planner
            4s h2 sequential to builder
        "#]],
    );
}

#[test]
fn a_late_subtask_goes_to_the_next_in_the_chain() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 20s escalating fence 1
        2s builder accepts h1
        22s time passes
        32s time passes
        33s builder returns h1 fence 2
        34s reviewer accepts h2
        35s reviewer returns h2 fence 3
        36s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            22s h1 reminded, timeout at 32s
            32s h1 timed out, fence 2 ends, h2 escalation level 1 after builder to
                reviewer answer by 52s, h1 failed: passed on
            33s refused [handoff-over]: handoff h1 is over: passed_on
            34s h2 accepted by reviewer fence 3 back by 54s
            35s h2 completed
            36s workflow completed by planner
        "#]],
    );
}

#[test]
fn a_holder_over_its_time_is_looked_at_from_above() {
    check(
        "
        0s planner starts
        1s planner passes to timid fence 1
        2s timid accepts h1
        62s time passes
        63s time passes
        64s reviewer accepts h2
        65s timid completes fence 2
        66s reviewer returns h2 fence 3
        67s timid completes fence 2
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to timid
            2s h1 accepted by timid fence 2 done by 62s, h1 completed
            62s fence 2 is overdue, h2 escalation level 1 after timid to reviewer
            63s nothing is due
            64s h2 accepted by reviewer fence 3
            65s h2 failed: cancelled by timid, workflow completed by timid
            66s refused [unknown-handoff]: there is no handoff h2
            67s refused [unknown-workflow]: there is no workflow w
        "#]],
    );
}

#[test]
fn nobody_below_is_asked() {
    check(
        "
        0s planner starts
        1s planner escalates to builder because unsure fence 1
        2s planner escalates to architect because unsure fence 1
        ",
        expect![[r#"
            0s started by planner
            1s refused [not-above]: builder does not stand above in the escalation chain
            2s fence 1 waits for h1, h1 escalation level 1 after planner to architect
        "#]],
    );
}

#[test]
fn a_question_that_is_late_with_one_goes_to_the_next_and_the_asker_waits_on() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 5m fence 1
        2s builder accepts h1
        12s builder escalates because unsure within 20s fence 2
        13s reviewer accepts h2
        33s time passes
        43s time passes
        44s builder returns h1 fence 2
        45s reviewer returns h2 fence 3
        46s architect accepts h3
        52s architect returns h3 fence 4 saying go
        341s time passes
        342s time passes
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 301s
            2s h1 accepted by builder fence 2 back by 302s
            12s fence 2 waits for h2, h2 escalation level 1 after builder to reviewer
                answer by 32s
            13s h2 accepted by reviewer fence 3 back by 33s
            33s h2 reminded, timeout at 43s
            43s h2 timed out, fence 3 ends, fence 2 waits for h3, h3 escalation level 2
                after builder, reviewer to architect answer by 63s, h2 failed: passed on
            44s refused [suspended]: builder waits for the decision on handoff h3
            45s refused [handoff-over]: handoff h2 is over: passed_on
            46s h3 accepted by architect fence 4 back by 66s
            52s h3 completed
            341s nothing is due
            342s h1 reminded, timeout at 352s
        "#]],
    );
}

#[test]
fn a_question_is_as_urgent_and_as_risky_as_what_it_is_about() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 60s priority critical fence 1
        2s builder accepts h1
        3s builder escalates because unsure fence 2
        4s builder cancels h2
        5s builder escalates to architect because unsure risk high fence 2
        6s operator reassigns h3 to rival
        ",
        expect![[r#"
            0s started by planner
            1s h1 critical delegation to builder answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s fence 2 waits for h2, h2 critical escalation level 1 after builder to
                reviewer
            4s h2 failed: cancelled by builder
            5s fence 2 waits for h3, h3 critical escalation level 1 after builder to
                operator
            6s refused [not-above]: rival does not stand above in the escalation chain
        "#]],
    );
}

#[test]
fn a_full_reviewer_is_passed_over_so_that_nobody_waits_in_a_circle() {
    check(
        "
        0s planner starts
        1s planner delegates to clerk within 1h fence 1
        2s clerk accepts h1
        3s planner escalates to clerk because unsure fence 1
        4s planner delegates to builder within 1h fence 1
        5s builder accepts h2
        6s builder escalates to clerk because unsure fence 3
        7s operator accepts h3
        8s operator returns h3 fence 4
        9s builder returns h2 fence 3
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to clerk answer by 3601s
            2s h1 accepted by clerk fence 2 back by 3602s
            3s refused [segment-open]: 1 handoff is still open: h1
            4s h2 delegation to builder answer by 3604s
            5s h2 accepted by builder fence 3 back by 3605s
            6s fence 3 waits for h3, h3 escalation level 1 after builder to operator
            7s h3 accepted by operator fence 4
            8s h3 completed
            9s h2 completed
        "#]],
    );
}

#[test]
fn a_subtask_that_is_late_with_everybody_ends_with_a_person() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 20s escalating fence 1
        2s builder accepts h1
        22s time passes
        32s time passes
        33s reviewer accepts h2
        53s time passes
        63s time passes
        64s architect accepts h3
        84s time passes
        94s time passes
        95s operator accepts h4
        500s time passes
        501s operator returns h4 fence 5
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            22s h1 reminded, timeout at 32s
            32s h1 timed out, fence 2 ends, h2 escalation level 1 after builder to
                reviewer answer by 52s, h1 failed: passed on
            33s h2 accepted by reviewer fence 3 back by 53s
            53s h2 reminded, timeout at 63s
            63s h2 timed out, fence 3 ends, h3 escalation level 2 after builder, reviewer
                to architect answer by 83s, h2 failed: passed on
            64s h3 accepted by architect fence 4 back by 84s
            84s h3 reminded, timeout at 94s
            94s h3 timed out, fence 4 ends, h4 escalation level 3 after builder, reviewer,
                architect to operator, h3 failed: passed on
            95s h4 accepted by operator fence 5
            500s nothing is due
            501s h4 completed
        "#]],
    );
}

#[test]
fn whoever_began_the_work_has_a_deadline_too() {
    check(
        "
        0s planner starts deadline 60s
        60s time passes
        61s reviewer accepts h1
        62s time passes
        63s reviewer returns h1 fence 2
        ",
        expect![[r#"
            0s started by planner done by 60s
            60s fence 1 is overdue, h1 escalation level 1 after planner to reviewer
            61s h1 accepted by reviewer fence 2
            62s nothing is due
            63s h1 completed
        "#]],
    );
}

#[test]
fn a_holder_that_waits_for_a_decision_is_not_over_its_time() {
    check(
        "
        0s timid starts
        10s timid escalates because unsure fence 1
        60s time passes
        110s reviewer accepts h1
        120s reviewer returns h1 fence 2
        169s time passes
        170s time passes
        ",
        expect![[r#"
            0s started by timid done by 60s
            10s fence 1 waits for h1, h1 escalation level 1 after timid to reviewer
            60s nothing is due
            110s h1 accepted by reviewer fence 2
            120s h1 completed
            169s nothing is due
            170s fence 1 is overdue, h2 escalation level 1 after timid to reviewer
        "#]],
    );
}

#[test]
fn a_question_is_not_given_back_to_the_one_who_asks_it() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 1h fence 1
        2s builder accepts h1
        3s builder escalates because unsure fence 2
        4s reviewer accepts h2
        5s reviewer escalates because unsure fence 3
        6s operator reassigns h3 to reviewer
        7s operator reassigns h3 to clerk
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 3601s
            2s h1 accepted by builder fence 2 back by 3602s
            3s fence 2 waits for h2, h2 escalation level 1 after builder to reviewer
            4s h2 accepted by reviewer fence 3
            5s fence 3 waits for h3, h3 escalation level 2 after builder, reviewer to
                architect
            6s refused [self-pass]: reviewer cannot pass work to itself
            7s h3 reassigned to clerk
        "#]],
    );
}
