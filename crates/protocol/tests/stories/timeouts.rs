//! What time brings: reminders, then what the handoff's policy says.

use expect_test::expect;

use crate::teller::check;

#[test]
fn a_failed_subtask_is_shown_to_a_person_and_stands_in_nobodys_way() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 20s fence 1
        2s builder accepts h1
        22s time passes
        32s time passes
        33s operator accepts h2
        33s planner cancels h2
        34s planner delegates to rival within 60s fence 1
        35s rival accepts h3
        36s rival returns h3 fence 4
        37s operator returns h2 fence 3
        38s planner completes fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            22s h1 reminded, timeout at 32s
            32s h1 timed out, fence 2 ends, h1 failed: timed_out, h2 escalation level 1
                after builder to operator
            33s h2 accepted by operator fence 3
            33s refused [operator-only]: only the operator may cancel what the coordinator
                raised, and planner is an agent
            34s h3 delegation to rival answer by 94s
            35s h3 accepted by rival fence 4 back by 95s
            36s h3 completed
            37s h2 completed
            38s workflow completed by planner
        "#]],
    );
}

#[test]
fn a_person_whose_subtask_failed_is_only_told() {
    check(
        "
        0s operator starts
        1s operator delegates to builder within 20s
        2s builder accepts h1
        22s time passes
        32s time passes
        33s operator completes
        ",
        expect![[r#"
            0s started by operator
            1s h1 delegation to builder answer by 21s
            2s h1 accepted by builder fence 2 back by 22s
            22s h1 reminded, timeout at 32s
            32s h1 timed out, fence 2 ends, h1 failed: timed_out
            33s workflow completed by operator
        "#]],
    );
}

#[test]
fn a_deadline_or_the_agents_own_limit_ends_a_subtask_sooner_than_its_timeout() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 1h deadline 50s fence 1
        2s builder accepts h1
        3s planner delegates to timid within 1h fence 1
        4s timid accepts h2
        50s time passes
        60s time passes
        64s time passes
        74s time passes
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 50s
            2s h1 accepted by builder fence 2 back by 50s
            3s h2 delegation to timid answer by 3603s
            4s h2 accepted by timid fence 3 back by 64s
            50s h1 reminded, timeout at 60s
            60s h1 timed out, fence 2 ends, h1 failed: timed_out, h3 escalation level 1
                after builder to operator
            64s h2 reminded, timeout at 74s
            74s h2 timed out, fence 3 ends, h2 failed: timed_out, h4 escalation level 1
                after timid to operator
        "#]],
    );
}

#[test]
fn resends_and_reroutes_are_counted_in_one_record() {
    check(
        "
        0s planner starts
        1s planner delegates to swift within 10s retrying fence 1
        2s swift accepts h1
        12s time passes
        22s time passes
        24s time passes
        54s time passes
        55s operator accepts h1
        65s time passes
        75s time passes
        79s time passes
        80s operator accepts h1
        90s time passes
        100s time passes
        108s time passes
        109s operator accepts h1
        119s time passes
        129s time passes
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to swift answer by 31s
            2s h1 accepted by swift fence 2 back by 12s
            12s h1 reminded, timeout at 22s
            22s h1 timed out, fence 2 ends, again at 24s
            24s h1 sent again
            54s h1 rejected by swift: unavailable: no answer in time, h1 rerouted to
                operator on timeout
            55s h1 accepted by operator fence 3 back by 65s
            65s h1 reminded, timeout at 75s
            75s h1 timed out, fence 3 ends, again at 79s
            79s h1 sent again
            80s h1 accepted by operator fence 4 back by 90s
            90s h1 reminded, timeout at 100s
            100s h1 timed out, fence 4 ends, again at 108s
            108s h1 sent again
            109s h1 accepted by operator fence 5 back by 119s
            119s h1 reminded, timeout at 129s
            129s h1 timed out, fence 5 ends, h1 failed: timed_out
        "#]],
    );
}
