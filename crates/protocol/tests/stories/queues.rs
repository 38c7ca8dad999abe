//! Work that waits until there is room.

use expect_test::expect;

use crate::teller::check;

#[test]
fn one_free_slot_calls_one_and_not_the_whole_queue() {
    check(
        "
        0s planner starts
        1s planner delegates to mason within 1h fence 1
        2s mason accepts h1
        3s planner delegates to mason within 1h fence 1
        4s planner delegates to mason within 1h fence 1
        5s mason returns h1 fence 2
        6s time passes
        7s time passes
        8s planner delegates to mason within 1h priority critical fence 1
        9s mason rejects h2 no
        10s time passes
        11s mason accepts h4
        12s time passes
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to mason answer by 3601s
            2s h1 accepted by mason fence 2 back by 3602s
            3s h2 delegation to mason answer by 3603s queued
            4s h3 delegation to mason answer by 3604s queued
            5s h1 completed
            6s h2 sent again
            7s nothing is due
            8s h4 critical delegation to mason answer by 3608s
            9s h2 rejected by mason: no, h2 rerouted to builder answer by 3609s
            10s h3 sent again
            11s h4 accepted by mason fence 3 back by 3611s
            12s nothing is due
        "#]],
    );
}

#[test]
fn what_comes_too_many_at_once_waits_or_goes_elsewhere() {
    check(
        "
        0s planner starts
        1s planner delegates to mason within 1h fence 1
        1s planner delegates to mason within 1h fence 1
        1s planner delegates to mason within 1h or-elsewhere fence 1
        2s coordinator looks at h1
        3s mason accepts h1
        4s mason accepts h2
        5s coordinator looks at h2
        6s coordinator looks at h3
        7s mason accepts h2
        8s mason returns h1 fence 2
        9s time passes
        10s mason accepts h2
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to mason answer by 3601s
            1s h2 delegation to mason answer by 3601s
            1s h3 delegation to mason answer by 3601s
            2s nothing new
            3s h1 accepted by mason fence 2 back by 3603s
            4s refused [at-capacity]: mason is at capacity: it holds 1 of 1
            5s h2 queued for mason
            6s h3 rejected by mason: at_capacity: mason can hold 1 at once, h3 rerouted to
                builder answer by 3606s
            7s refused [not-sent]: handoff h2 is queued and not sent yet
            8s h1 completed
            9s h2 sent again
            10s h2 accepted by mason fence 3 back by 3610s
        "#]],
    );
}

#[test]
fn work_for_whoever_can_do_it_waits_for_the_best_or_takes_the_next() {
    check(
        "
        0s planner starts
        0s operator registers ann knowing stone
        0s operator registers ben knowing stone
        1s planner delegates within 1h needing stone fence 1
        2s ann accepts h1
        3s planner delegates within 1h needing stone fence 1
        4s ben accepts h2
        5s planner delegates within 1h needing stone fence 1
        6s planner delegates to ben within 1h needing stone or-elsewhere fence 1
        7s ben returns h2 fence 3
        8s time passes
        ",
        expect![[r#"
            0s started by planner
            0s registered
            0s registered
            1s h1 delegation to ann answer by 3601s
            2s h1 accepted by ann fence 2 back by 3602s
            3s h2 delegation to ben answer by 3603s
            4s h2 accepted by ben fence 3 back by 3604s
            5s h3 delegation to ann answer by 3605s queued
            6s h4 delegation to ben answer by 3606s queued
            7s h2 completed
            8s h4 sent again
        "#]],
    );
}

#[test]
fn a_deferred_handoff_comes_back_to_a_full_agent_as_one_that_waits() {
    check(
        "
        0s planner starts
        1s planner delegates to mason within 1h fence 1
        2s planner delegates to mason within 1h fence 1
        3s mason defers h1 for 10s
        4s mason accepts h2
        13s time passes
        14s mason returns h2 fence 2
        15s time passes
        16s mason accepts h1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to mason answer by 3601s
            2s h2 delegation to mason answer by 3602s
            3s h1 deferred until 13s
            4s h2 accepted by mason fence 2 back by 3604s
            13s h1 queued for mason
            14s h2 completed
            15s h1 sent again
            16s h1 accepted by mason fence 3 back by 3616s
        "#]],
    );
}

#[test]
fn reassigned_work_waits_for_a_full_agent_too() {
    check(
        "
        0s planner starts
        1s planner delegates to mason within 1h fence 1
        2s mason accepts h1
        3s planner delegates to builder within 1h fence 1
        4s builder accepts h2
        5s operator reassigns h2 to mason
        6s builder returns h2 fence 3
        7s mason returns h1 fence 2
        8s time passes
        9s mason accepts h2
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to mason answer by 3601s
            2s h1 accepted by mason fence 2 back by 3602s
            3s h2 delegation to builder answer by 3603s
            4s h2 accepted by builder fence 3 back by 3604s
            5s h2 reassigned to mason, h2 queued for mason
            6s refused [for-another]: handoff h2 is for mason, not for builder
            7s h1 completed
            8s h2 sent again
            9s h2 accepted by mason fence 4 back by 3609s
        "#]],
    );
}

#[test]
fn a_look_at_one_whose_turn_has_not_come_calls_nobody() {
    check(
        "
        0s planner starts
        1s planner delegates to mason within 1h fence 1
        2s mason accepts h1
        3s planner delegates to mason within 1h fence 1
        4s planner delegates to mason within 1h priority critical fence 1
        5s mason returns h1 fence 2
        6s coordinator looks at h2
        7s time passes
        8s coordinator looks at h2
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to mason answer by 3601s
            2s h1 accepted by mason fence 2 back by 3602s
            3s h2 delegation to mason answer by 3603s queued
            4s h3 critical delegation to mason answer by 3604s queued
            5s h1 completed
            6s nothing new
            7s h3 sent again
            8s nothing new
        "#]],
    );
}
