//! Workflows to draw, made by hand.

use baton_flow::{
    Flow, FlowAgent, FlowBroadcast, FlowEnd, FlowHandoff, FlowKind, FlowReturn, FlowStatus,
    FlowTry, Holding, Party, Standing,
};
use baton_protocol::handoff::{Aggregation, Matter, ReturnStatus};
use baton_protocol::id::{GroupId, HandoffId, WorkflowId};
use baton_protocol::time::Timestamp;

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_micros(1_772_000_000_000_000 + second * 1_000_000)
}

/// A workflow begun by the operator, without handoffs.
pub(crate) fn bare(title: &str) -> Flow {
    let operator = "operator".parse().expect("a name");
    Flow {
        workflow: WorkflowId::from_bytes([7; 16]),
        title: title.to_owned(),
        status: FlowStatus::Open,
        started_by: operator,
        started_at: at(0),
        ended: None,
        agents: Vec::new(),
        handoffs: Vec::new(),
        broadcasts: Vec::new(),
        tokens_consumed: 0,
    }
}

/// A handoff that went as it should.
pub(crate) fn handoff(number: usize, from: &str, to: &str, kind: FlowKind) -> FlowHandoff {
    let byte = u8::try_from(number % 250).expect("a byte");
    FlowHandoff {
        number,
        id: HandoffId::from_bytes([byte; 16]),
        from_agent: from.parse().expect("a name"),
        to_agent: to.parse().expect("a name"),
        kind,
        level: None,
        matter: None,
        reason: "it is your turn".to_owned(),
        state: "completed".to_owned(),
        standing: Standing::Completed,
        detail: None,
        initiated_at: at(i64::from(byte)),
        ended_at: Some(at(i64::from(byte) + 1)),
        resends: 0,
        reroutes: 0,
        tries: Vec::new(),
        artifacts: Vec::new(),
        returned: None,
        group: None,
    }
}

pub(crate) fn back(status: ReturnStatus, artifacts: &[&str], words: Option<&str>) -> FlowReturn {
    let artifacts = artifacts.iter().map(|path| (*path).to_owned()).collect();
    FlowReturn { status, artifacts, words: words.map(str::to_owned) }
}

/// Fills in who took part, from the handoffs.
pub(crate) fn with_agents(mut flow: Flow) -> Flow {
    let mut names = vec![flow.started_by.clone()];
    for handoff in &flow.handoffs {
        names.push(handoff.from_agent.clone());
        names.extend(handoff.tries.iter().map(|tried| tried.agent.clone()));
        names.push(handoff.to_agent.clone());
    }
    for id in names {
        if flow.agents.iter().all(|agent| agent.id != id) {
            let party = if id.is_operator() { Party::Person } else { Party::Agent };
            flow.agents.push(FlowAgent { id, party, holds: None });
        }
    }
    flow
}

fn group() -> GroupId {
    GroupId::from_bytes([9; 16])
}

/// A copy of the broadcast that was answered with yes.
fn yes(number: usize, to: &str) -> FlowHandoff {
    FlowHandoff {
        reason: "is a login without a captcha good enough?".to_owned(),
        artifacts: vec!["src/login.rs".to_owned()],
        group: Some(group()),
        returned: Some(back(ReturnStatus::Success, &[], Some("yes"))),
        ..handoff(number, "builder", to, FlowKind::Broadcast)
    }
}

/// One that was answered with no.
fn no(number: usize, to: &str) -> FlowHandoff {
    FlowHandoff {
        state: "failed".to_owned(),
        standing: Standing::Failed,
        detail: Some("error: no".to_owned()),
        returned: Some(back(ReturnStatus::Failed, &[], Some("no"))),
        ..yes(number, to)
    }
}

/// A pipeline with a retry, a rejected handoff, a broadcast and an escalation, to its end.
pub(crate) fn pipeline() -> Flow {
    use FlowKind::{Delegation, Escalation, Sequential};
    let mut flow = bare("Add a login page");
    flow.handoffs = vec![
        FlowHandoff {
            reason: "the design is done".to_owned(),
            artifacts: vec!["docs/design.md".to_owned(), "docs/api.yaml".to_owned()],
            ..handoff(1, "operator", "builder", Sequential)
        },
        FlowHandoff {
            reason: "needs tests for the login and for sessions that ended".to_owned(),
            resends: 2,
            returned: Some(back(
                ReturnStatus::Success,
                &["tests/login.rs"],
                Some("12 tests, all green"),
            )),
            ..handoff(2, "builder", "tester", Delegation)
        },
        yes(3, "ann"),
        yes(4, "bob"),
        no(5, "cleo"),
        FlowHandoff {
            reason: "please review it".to_owned(),
            reroutes: 1,
            tries: vec![FlowTry {
                agent: "ann".parse().expect("a name"),
                ended: "rejected".to_owned(),
                reason: Some("no time before Friday".to_owned()),
            }],
            artifacts: vec!["src/session.rs".to_owned()],
            ..handoff(6, "builder", "reviewer", Sequential)
        },
        FlowHandoff {
            reason: "delete the old sessions?".to_owned(),
            level: Some(1),
            matter: Some(Matter::Question),
            returned: Some(back(ReturnStatus::Success, &[], Some("keep them for a month"))),
            ..handoff(7, "reviewer", "operator", Escalation)
        },
        FlowHandoff {
            reason: "publish the notes".to_owned(),
            state: "failed".to_owned(),
            standing: Standing::Rejected,
            detail: Some("rejected: not my job".to_owned()),
            ..handoff(8, "reviewer", "writer", Delegation)
        },
    ];
    flow.broadcasts = vec![FlowBroadcast {
        group: group(),
        aggregation: Aggregation::Majority,
        expected: 3,
        successes: 2,
        failures: 1,
        success: Some(true),
    }];
    flow.status = FlowStatus::Completed;
    let by = "reviewer".parse().expect("a name");
    flow.ended = Some(FlowEnd { at: at(754), by, words: Some("merged".to_owned()) });
    flow.tokens_consumed = 5_420;
    with_agents(flow)
}

/// Work that goes on: something waits, something is held, somebody waits for a decision.
pub(crate) fn open() -> Flow {
    let mut flow = bare("Migrate the accounts");
    let open = |number, from, to, kind, state: &str, standing| FlowHandoff {
        state: state.to_owned(),
        standing,
        ended_at: None,
        ..handoff(number, from, to, kind)
    };
    flow.handoffs = vec![
        handoff(1, "operator", "planner", FlowKind::Sequential),
        open(2, "planner", "builder", FlowKind::Delegation, "suspended", Standing::Suspended),
        open(3, "planner", "tester", FlowKind::Delegation, "queued", Standing::Waiting),
        FlowHandoff {
            level: Some(1),
            ..open(4, "builder", "architect", FlowKind::Escalation, "accepted", Standing::Held)
        },
    ];
    let mut flow = with_agents(flow);
    for (name, holds) in
        [("planner", Holding::Whole), ("builder", Holding::Waits), ("architect", Holding::Part)]
    {
        let agent = flow.agents.iter_mut().find(|agent| agent.id.as_str() == name);
        agent.expect("it is there").holds = Some(holds);
    }
    flow
}

/// Far more than fits a page.
pub(crate) fn large(agents: usize, handoffs: usize) -> Flow {
    let mut flow = bare("Migrate every service");
    for number in 1..=handoffs {
        let to = format!("worker-{}", number * 7 % agents);
        let mut one = handoff(number, "operator", &to, FlowKind::Delegation);
        match number % 11 {
            0 => one.standing = Standing::Failed,
            1..=2 => one.standing = Standing::Held,
            _ => one.returned = Some(back(ReturnStatus::Success, &[], None)),
        }
        flow.handoffs.push(one);
    }
    with_agents(flow)
}
