//! Command objects: where the work goes next, said by whoever holds it.

use baton_protocol::id::WorkflowId;
use expect_test::expect;
use serde_json::{Value, json};

use crate::teller::check;

/// The command that a holder's object is.
pub(crate) fn goes(workflow: Option<WorkflowId>, fence: Option<u64>, object: &str) -> Value {
    let mut object: Value = serde_json::from_str(object).expect("an object");
    object["workflow"] = json!(workflow);
    object["fence"] = json!(fence);
    json!({ "goto": object })
}

#[test]
fn an_owner_goes_on_to_one_agent_and_the_last_one_to_the_end() {
    check(
        r#"
        0s planner starts
        1s planner goes fence 1 {"goto": "builder", "update": {"context": {"a": 1}}}
        2s builder accepts h1
        3s planner goes fence 1 {"goto": "rival"}
        4s builder goes fence 2 {"goto": "builder"}
        5s builder goes fence 2 {"goto": "nobody"}
        6s builder goes fence 2 {"goto": "reviewer", "update": {"reason": "is it good"}}
        7s builder goes fence 2 {"goto": "rival"}
        8s reviewer accepts h2
        9s reviewer goes fence 3 {"goto": "END", "update": {"metrics": {"score": 93}}}
        "#,
        expect![[r#"
            0s started by planner
            1s h1 sequential to builder
            2s h1 accepted by builder fence 2, h1 completed
            3s refused [stale-fence]: fence 1 is no longer in force; builder holds the
                work with fence 2
            4s refused [self-pass]: builder cannot pass work to itself
            5s refused [unknown-agent]: there is no agent nobody
            6s h2 sequential to reviewer
            7s refused [pass-pending]: the work waits for reviewer to answer handoff h2
            8s h2 accepted by reviewer fence 3, h2 completed
            9s workflow completed by reviewer
        "#]],
    );
}

#[test]
fn a_list_of_sends_is_a_group_and_one_agent_may_be_in_it_twice_with_two_tasks() {
    check(
        r#"
        0s planner starts
        1s planner goes fence 1 {"goto":[["rival",{"task":"a"}],["rival",{"task":"a"}]]}
        2s planner goes fence 1 {"goto":[["planner",{"task":"a"}]]}
        3s planner goes fence 1 {"goto":[["rival",{"task":"a"}],["rival",{"task":"b"}]]}
        4s planner goes fence 1 {"goto": "builder"}
        5s rival accepts h1
        6s rival accepts h2
        7s rival goes fence 2 {"goto": "END", "update": {"context": {"found": 1}}}
        8s planner goes fence 1 {"goto": "END"}
        9s rival returns h2 fence 3
        10s planner goes fence 1 {"goto": "END"}
        "#,
        expect![[r#"
            0s started by planner
            1s refused [twice-named]: rival is named twice
            2s refused [self-pass]: planner cannot pass work to itself
            3s a broadcast of 2, h1 broadcast to rival answer by 3603s, h2 broadcast to
                rival answer by 3603s
            4s refused [sender-blocked]: planner waits for handoff h2 and said it does
                nothing else meanwhile
            5s h1 accepted by rival fence 2 back by 3605s
            6s h2 accepted by rival fence 3 back by 3606s
            7s h1 completed
            8s refused [segment-open]: 1 handoff is still open: h2
            9s h2 completed, the broadcast succeeded (2 for, 0 against)
            10s workflow completed by planner
        "#]],
    );
}

#[test]
fn what_is_sent_out_is_waited_for_as_long_as_it_says_or_an_hour() {
    check(
        r#"
        0s planner starts
        1s planner goes fence 1 {"goto":[["rival",{"task":"a"}]], "timeout": "10s"}
        2s rival accepts h1
        12s time passes
        22s time passes
        23s planner goes fence 1 {"goto":[["rival",{"task":"b"}]]}
        24s rival accepts h2
        "#,
        expect![[r#"
            0s started by planner
            1s a broadcast of 1, h1 broadcast to rival answer by 11s
            2s h1 accepted by rival fence 2 back by 12s
            12s h1 reminded, timeout at 22s
            22s h1 timed out, fence 2 ends, h1 failed: timed_out, the broadcast failed (0
                for, 1 against)
            23s a broadcast of 1, h2 broadcast to rival answer by 3623s
            24s h2 accepted by rival fence 3 back by 3624s
        "#]],
    );
}

#[test]
fn a_delegate_delegates_within_its_own_time_and_returns_at_the_end() {
    check(
        r#"
        0s planner starts
        1s planner delegates to builder fence 1 within 60s
        2s builder accepts h1
        3s builder goes fence 2 {"goto": "rival", "graph": "parent"}
        4s builder goes fence 2 {"goto":[["rival",{"task":"a"}]], "graph": "parent"}
        5s builder goes fence 2 {"goto": "rival", "timeout": "1h"}
        6s builder goes fence 2 {"goto": "END"}
        7s rival accepts h2
        8s rival goes fence 3 {"goto": "END", "graph": "parent"}
        9s builder goes fence 2 {"goto": "END", "update": {"reason": "as asked"}}
        10s builder goes fence 2 {"goto": "END"}
        "#,
        expect![[r#"
            0s started by planner
            1s h1 delegation to builder answer by 61s
            2s h1 accepted by builder fence 2 back by 62s
            3s refused [parent-goto]: builder holds a part of the work, and only planner,
                who owns it, can move the whole
            4s refused [parent-goto]: builder holds a part of the work, and only planner,
                who owns it, can move the whole
            5s h2 delegation to rival answer by 62s
            6s refused [segment-open]: 1 handoff is still open: h2
            7s h2 accepted by rival fence 3 back by 64s
            8s h2 completed
            9s h1 completed
            10s refused [stale-fence]: fence 2 is no longer in force; planner holds the
                work with fence 1
        "#]],
    );
}

#[test]
fn an_object_is_taken_whole_or_not_at_all() {
    check(
        r#"
        0s planner starts
        1s planner goes fence 1 {"goto": "builder", "update": {"context": {"task_id": "x"}}}
        2s planner goes fence 1 {"goto": "END", "update": {"context": {"task_status": "so so"}}}
        3s planner goes fence 1 {"goto": "END", "update": {"context": {"task_status": "complete"}}}
        "#,
        expect![[r#"
            0s started by planner
            1s refused [read-only-variable]: variable task_id is kept by Baton and cannot
                be written
            2s refused [bad-variable]: variable task_status does not take this value;
                expected one of pending, in_progress, blocked, complete, failed
            3s workflow completed by planner
        "#]],
    );
}
