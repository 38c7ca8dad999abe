//! What travels with the work: variables and locks.

use expect_test::expect;

use crate::teller::check;

#[test]
fn a_write_over_what_one_has_not_seen_is_refused() {
    check(
        "
        0s planner starts
        1s planner sets db=sqlite fence 1
        2s planner delegates to builder within 60s fence 1
        3s builder accepts h1
        4s builder sets db=postgres fence 2
        5s planner sets db=mysql fence 1
        6s planner sets db=mysql version 2 fence 1
        7s builder returns h1 fence 2 setting db=oracle
        8s builder returns h1 fence 2 setting other=x
        ",
        expect![[r#"
            0s started by planner
            1s set db="sqlite"
            2s h1 delegation to builder answer by 62s
            3s h1 accepted by builder fence 2 back by 63s
            4s set db="postgres"
            5s refused [stale-variable]: variable db was changed by builder: it is at
                version 2
            6s set db="mysql"
            7s refused [stale-variable]: variable db was changed by planner: it is at
                version 3
            8s h1 completed
        "#]],
    );
}

#[test]
fn variables_with_a_meaning_take_only_what_fits() {
    check(
        "
        0s planner starts
        1s planner sets task_status=blocked fence 1
        2s planner sets task_status=sleepy fence 1
        3s planner sets task_id=x fence 1
        4s planner sets task_priority=high fence 1
        ",
        expect![[r#"
            0s started by planner
            1s set task_status="blocked"
            2s refused [bad-variable]: variable task_status does not take this value;
                expected one of pending, in_progress, blocked, complete, failed
            3s refused [read-only-variable]: variable task_id is kept by Baton and cannot
                be written
            4s set task_priority="high"
        "#]],
    );
}

#[test]
fn a_file_has_one_writer_or_many_readers() {
    check(
        "
        0s planner starts
        1s planner delegates to builder within 1h fence 1
        2s planner delegates to reviewer within 1h fence 1
        3s builder accepts h1
        4s reviewer accepts h2
        5s builder locks src/a.rs fence 2
        6s reviewer locks src/a.rs fence 3
        7s reviewer shares src/a.rs fence 3
        8s builder unlocks src/a.rs fence 2
        9s reviewer shares src/a.rs fence 3
        10s builder shares src/a.rs fence 2
        11s builder locks src/a.rs fence 2
        12s builder unlocks src/b.rs fence 2
        13s reviewer returns h2 fence 3
        14s builder locks src/a.rs fence 2
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 3601s
            2s h2 delegation to reviewer answer by 3602s
            3s h1 accepted by builder fence 2 back by 3603s
            4s h2 accepted by reviewer fence 3 back by 3604s
            5s src/a.rs locked (exclusive) by builder until 605s
            6s refused [file-locked]: src/a.rs is locked (exclusive) by builder
            7s refused [file-locked]: src/a.rs is locked (exclusive) by builder
            8s unlocked
            9s src/a.rs locked (shared) by reviewer until 609s
            10s src/a.rs locked (shared) by builder until 610s
            11s refused [file-locked]: src/a.rs is locked (shared) by reviewer
            12s refused [not-locked]: src/b.rs is not locked under fence 2
            13s h2 completed releasing src/a.rs
            14s src/a.rs locked (exclusive) by builder until 614s
        "#]],
    );
}

#[test]
fn a_lock_lapses_with_a_holder_that_says_nothing_and_lasts_with_one_that_reports() {
    check(
        "
        0s   planner starts
        1s   planner delegates to builder within 2h fence 1
        2s   builder accepts h1
        3s   builder locks a.rs fence 2
        300s builder reports fence 2
        700s planner locks a.rs fence 1
        901s planner locks a.rs fence 1
        ",
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 7201s
            2s h1 accepted by builder fence 2 back by 7202s
            3s a.rs locked (exclusive) by builder until 603s
            300s progressed
            700s refused [file-locked]: a.rs is locked (exclusive) by builder
            901s a.rs locked (exclusive) by planner until 1501s
        "#]],
    );
}
