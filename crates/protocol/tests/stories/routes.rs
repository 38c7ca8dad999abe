//! Who gets work: by name, by capability, by room, by health.

use expect_test::expect;

use crate::teller::check;

#[test]
fn work_goes_to_whoever_does_it_best() {
    check(
        "
        0s planner starts
        1s planner passes needing rust fence 1
        2s planner cancels h1
        3s planner passes needing dancing fence 1
        4s planner passes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s h1 failed: cancelled by planner
            3s refused [nobody-fits]: no agent that is well can do it well enough and may
                take the risk
            4s refused [receiver-required]: nobody is named to get it
        "#]],
    );
}

#[test]
fn a_rejected_handoff_goes_to_another_that_can_do_it_then_to_a_person() {
    check(
        "
        0s planner starts
        1s planner passes to builder needing rust fence 1
        2s builder rejects h1 busy
        3s builder accepts h1
        4s mason rejects h1 busy too
        5s operator rejects h1 me neither
        6s planner passes to builder fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s h1 rejected by builder: busy, h1 rerouted to mason
            3s refused [for-another]: handoff h1 is for mason, not for builder
            4s h1 rejected by mason: busy too, h1 rerouted to operator
            5s h1 rejected by operator: me neither, h1 failed: rejected (me neither)
            6s h2 sequential to builder
        "#]],
    );
}

#[test]
fn a_sender_may_want_this_agent_and_no_other() {
    check(
        "
        0s planner starts
        1s planner passes to builder or-fail fence 1
        2s builder rejects h1 busy
        3s planner passes to reviewer fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s h1 rejected by builder: busy, h1 failed: rejected (busy)
            3s h2 sequential to reviewer
        "#]],
    );
}

#[test]
fn whoever_does_not_answer_is_unavailable_until_it_does_something() {
    check(
        "
        0s planner starts
        1s planner passes to swift fence 1
        31s time passes
        32s planner cancels h1
        33s planner passes needing speed fence 1
        34s swift is well swift
        35s planner passes needing speed fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to swift answer by 31s
            31s h1 rejected by swift: unavailable: no answer in time, h1 rerouted to
                operator on timeout
            32s h1 failed: cancelled by planner
            33s refused [nobody-fits]: no agent that is well can do it well enough and may
                take the risk
            34s found well
            35s h2 sequential to swift answer by 65s
        "#]],
    );
}

#[test]
fn a_critical_task_does_not_wait_for_the_unavailable() {
    check(
        "
        0s planner starts
        1s planner passes to swift priority critical fence 1
        31s time passes
        32s reviewer accepts h1
        ",
        expect![[r#"
            0s started by planner
            1s h1 critical sequential to swift answer by 31s
            31s h1 rejected by swift: unavailable: no answer in time, h1 rerouted to
                reviewer on timeout
            32s h1 accepted by reviewer fence 2, h1 completed
        "#]],
    );
}

#[test]
fn an_agent_that_is_full_has_a_queue_by_urgency_then_age() {
    check(
        "
        0s planner starts
        1s planner delegates to mason within 1h fence 1
        2s mason accepts h1
        3s planner delegates to mason within 1h priority low fence 1
        4s planner delegates to mason within 1h fence 1
        5s planner delegates to mason within 1h priority high fence 1
        6s mason accepts h4
        7s time passes
        8s mason returns h1 fence 2
        9s time passes
        10s mason accepts h4
        11s time passes
        12s mason returns h4 fence 3
        13s time passes
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to mason answer by 3601s
            2s h1 accepted by mason fence 2 back by 3602s
            3s h2 low delegation to mason answer by 3603s queued
            4s h3 delegation to mason answer by 3604s queued
            5s h4 high delegation to mason answer by 3605s queued
            6s refused [not-sent]: handoff h4 is queued and not sent yet
            7s nothing is due
            8s h1 completed
            9s h4 sent again
            10s h4 accepted by mason fence 3 back by 3610s
            11s nothing is due
            12s h4 completed
            13s h3 sent again
        "#]],
    );
}

#[test]
fn a_full_agent_may_be_passed_over() {
    check(
        "
        0s planner starts
        1s planner delegates to mason within 1h needing rust fence 1
        2s mason accepts h1
        3s planner delegates to mason within 1h needing rust or-elsewhere fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to mason answer by 3601s
            2s h1 accepted by mason fence 2 back by 3602s
            3s h2 delegation to mason, h2 rejected by mason: at_capacity: mason can hold 1
                at once, h2 rerouted to builder answer by 3603s
        "#]],
    );
}

#[test]
fn too_much_risk_or_too_little_autonomy_does_not_get_through() {
    check(
        "
        0s planner starts
        1s planner passes to timid risk medium fence 1
        2s planner cancels h1
        3s planner passes to timid autonomy 5 fence 1
        4s planner passes to timid autonomy 3 fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to timid, h1 rejected by timid: risk: timid may take low risk
                at most, this is medium, h1 rerouted to reviewer on escalation
            2s h1 failed: cancelled by planner
            3s refused [autonomy-too-small]: timid has an autonomy budget of 3, and the
                task needs 5
            4s h2 sequential to timid
        "#]],
    );
}

#[test]
fn three_bad_checks_make_an_agent_unhealthy_and_one_good_one_heals_it() {
    check(
        "
        0s planner starts
        1s rival is unwell builder
        1s operator is unwell builder
        2s operator is unwell builder
        3s operator is unwell builder
        4s operator is unwell builder
        5s planner passes needing rust fence 1
        6s planner cancels h1
        7s builder is well builder
        8s builder is well builder
        9s planner passes needing rust fence 1
        ",
        expect![[r#"
            0s started by planner
            1s refused [operator-only]: only the operator may report on other agents, and
                rival is an agent
            1s found unwell
            2s found unwell
            3s found unwell
            4s nothing new
            5s h1 sequential to mason
            6s h1 failed: cancelled by planner
            7s found well
            8s nothing new
            9s h2 sequential to builder
        "#]],
    );
}

#[test]
fn a_person_takes_work_from_a_stuck_holder() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 1h fence 1
        2s builder accepts h1
        3s builder locks a.rs fence 2
        4s planner reassigns h1 to rival
        5s operator reassigns h1 to rival
        6s builder returns h1 fence 2
        7s rival accepts h1
        8s operator reassigns w to mason
        9s rival returns h1 fence 3
        10s planner completes fence 1
        11s mason accepts h2
        12s mason completes fence 5
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 3601s
            2s h1 accepted by builder fence 2 back by 3602s
            3s a.rs locked (exclusive) by builder until 603s
            4s refused [operator-only]: only the operator may reassign work, and planner
                is an agent
            5s h1 reassigned to rival releasing a.rs
            6s refused [for-another]: handoff h1 is for rival, not for builder
            7s h1 accepted by rival fence 3 back by 3607s
            8s h1 failed: cancelled by operator, reclaimed by operator fence 4, h2
                sequential to mason
            9s refused [handoff-over]: handoff h1 is over: cancelled
            10s refused [stale-fence]: fence 1 is no longer in force; operator holds the
                work with fence 4
            11s h2 accepted by mason fence 5, h2 completed
            12s workflow completed by mason
        "#]],
    );
}

#[test]
fn the_coordinator_moves_what_its_receiver_cannot_do() {
    check(
        "
        0s planner starts
        1s planner passes to rival needing rust fence 1
        2s rival accepts h1
        3s builder accepts h1
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to rival, h1 rejected by rival: capability_mismatch: rival
                has none of rust, h1 rerouted to builder on capability_mismatch
            2s refused [for-another]: handoff h1 is for builder, not for rival
            3s h1 accepted by builder fence 2, h1 completed
        "#]],
    );
}

#[test]
fn three_reroutes_are_enough_then_a_person_is_asked() {
    check(
        "
        0s planner starts
        0s operator registers ann knowing stone
        0s operator registers ben knowing stone
        0s operator registers cat knowing stone
        0s operator registers dan knowing stone
        0s operator registers eve knowing stone
        1s planner passes to ann needing stone fence 1
        2s ann rejects h1 no
        3s ben rejects h1 no
        4s cat rejects h1 no
        5s dan rejects h1 no
        6s eve accepts h1
        7s operator rejects h1 no
        ",
        expect![[r#"
            0s started by planner
            0s registered
            0s registered
            0s registered
            0s registered
            0s registered
            1s h1 sequential to ann
            2s h1 rejected by ann: no, h1 rerouted to ben
            3s h1 rejected by ben: no, h1 rerouted to cat
            4s h1 rejected by cat: no, h1 rerouted to dan
            5s h1 rejected by dan: no, h1 rerouted to operator
            6s refused [for-another]: handoff h1 is for operator, not for eve
            7s h1 rejected by operator: no, h1 failed: rejected (no)
        "#]],
    );
}

#[test]
fn whom_a_sender_names_is_a_suggestion_and_no_agent_overrides_the_choice() {
    check(
        "
        0s planner starts
        1s operator is unwell builder
        1s operator is unwell builder
        1s operator is unwell builder
        2s planner passes to builder needing rust fence 1
        3s builder accepts h1
        4s planner reassigns h1 to builder
        5s planner cancels h1
        6s planner passes to builder needing rust or-fail fence 1
        7s planner cancels h2
        8s planner passes to builder needing rust priority critical fence 1
        ",
        expect![[r#"
            0s started by planner
            1s found unwell
            1s found unwell
            1s found unwell
            2s h1 sequential to builder, h1 rejected by builder: unavailable: builder is
                not well, h1 rerouted to mason
            3s refused [for-another]: handoff h1 is for mason, not for builder
            4s refused [operator-only]: only the operator may reassign work, and planner
                is an agent
            5s h1 failed: cancelled by planner
            6s h2 sequential to builder
            7s h2 failed: cancelled by planner
            8s h3 critical sequential to builder, h3 rejected by builder: unavailable:
                builder is not well, h3 rerouted to operator
        "#]],
    );
}

#[test]
fn whoever_answers_anything_is_there_again() {
    check(
        "
        0s planner starts
        1s planner delegates to swift within 60s or-fail fence 1
        2s planner delegates to swift within 60s or-fail fence 1
        3s swift defers h2 for 1h
        31s time passes
        32s planner delegates within 60s needing speed fence 1
        33s swift rejects h2 no
        34s planner delegates within 60s needing speed fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to swift answer by 31s
            2s h2 delegation to swift answer by 32s
            3s h2 deferred until 63s
            31s h1 rejected by swift: unavailable: no answer in time, h1 failed:
                unavailable
            32s refused [nobody-fits]: no agent that is well can do it well enough and may
                take the risk
            33s h2 rejected by swift: no, h2 failed: rejected (no)
            34s h3 delegation to swift answer by 64s
        "#]],
    );
}

#[test]
fn a_subtask_that_nobody_answers_goes_to_another() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 20s needing rust fence 1
        21s time passes
        41s time passes
        1000s time passes
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            21s h1 rejected by builder: unavailable: no answer in time, h1 rerouted to
                mason answer by 41s on timeout
            41s h1 rejected by mason: unavailable: no answer in time, h1 rerouted to
                operator on timeout
            1000s nothing is due
        "#]],
    );
}

#[test]
fn whoever_is_asked_above_can_do_it_or_is_a_person() {
    check(
        "
        0s planner starts
        1s planner passes to builder needing rust risk high fence 1
        2s planner cancels h1
        3s planner passes to builder risk high fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder, h1 rejected by builder: risk: builder may take
                medium risk at most, this is high, h1 rerouted to operator on escalation
            2s h1 failed: cancelled by planner
            3s h2 sequential to builder, h2 rejected by builder: risk: builder may take
                medium risk at most, this is high, h2 rerouted to reviewer on escalation
        "#]],
    );
}

#[test]
fn what_a_stand_in_lacks_is_recorded_for_it() {
    check(
        "
        0s planner starts
        1s operator registers poly knowing masonry
        2s planner passes to builder needing rust,masonry fence 1
        3s builder rejects h1 no time
        ",
        expect![[r#"
            0s started by planner
            1s registered
            2s h1 sequential to builder lacking masonry
            3s h1 rejected by builder: no time, h1 rerouted to poly lacking rust
        "#]],
    );
}
