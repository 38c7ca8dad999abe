//! Several agents: broadcasts, full receivers, health, time limits of holders.

use baton_engine::view::Answer;
use baton_engine::{AuditQuery, SubmitError};
use baton_protocol::command::Actor;
use baton_protocol::event::Event;
use baton_protocol::id::HandoffId;
use serde_json::{Value, json};

use crate::scene::{Scene, agent};

impl Scene {
    async fn register(&mut self, profile: Value) {
        self.ask(Actor::Operator, json!({ "register": profile })).await;
    }

    async fn by(&mut self, name: &str, command: Value) -> Answer {
        self.ask(Actor::Agent(agent(name)), command).await
    }

    async fn broadcast(&mut self, peers_visible: bool) -> (Answer, Vec<HandoffId>) {
        for name in ["ann", "bob", "cleo"] {
            self.register(json!({ "id": name })).await;
        }
        let pass = json!({ "pass": {
            "type": "broadcast", "to_agents": ["ann", "bob", "cleo"], "aggregation": "majority",
            "reason": "is it good?", "return_protocol": { "timeout": "1h" },
            "peers_visible": peers_visible,
        }});
        let asked = self.by("planner", pass).await;
        let copies = asked.events.iter().filter_map(|event| match event {
            Event::Initiated { terms, .. } => Some(terms.id),
            _ => None,
        });
        let copies = copies.collect();
        (asked, copies)
    }
}

#[tokio::test]
async fn recipients_of_a_broadcast_do_not_see_each_other_unless_they_may() {
    for visible in [false, true] {
        let mut scene = Scene::new().await;
        let (asked, copies) = scene.broadcast(visible).await;
        let workflow = asked.workflow.expect("a workflow");
        for (name, copy) in ["ann", "bob", "cleo"].iter().zip(&copies) {
            scene.by(name, json!({ "accept": { "handoff": copy } })).await;
        }
        let fence = 3;
        let write = json!({ "set_variables": {
            "workflow": workflow, "fence": fence, "changes": { "opinion": "bob says no" },
        }});
        scene.by("bob", write).await;
        let note = json!({ "progress": { "workflow": workflow, "fence": fence, "note": "no!" } });
        scene.by("bob", note).await;
        let ann = Actor::Agent(agent("ann"));
        let seen = scene.engine.workflow(ann.clone(), workflow).await.expect("its own work");
        let others = if visible { 3 } else { 1 };
        assert_eq!(seen.handoffs.len(), others);
        assert_eq!(seen.holds.len(), others + 1, "the sender's hold is no secret");
        let bobs = scene.engine.handoff(ann.clone(), copies[1]).await;
        assert_eq!(bobs.is_ok(), visible);
        let opinion = &seen.context_variables["custom"]["opinion"];
        assert_eq!(opinion.is_null(), !visible, "what another wrote: {opinion}");
        assert_eq!(seen.variable_versions.contains_key("opinion"), visible);
        assert_eq!(seen.account.agents.contains(&agent("bob")), visible);
        assert!(seen.account.agents.contains(&agent("ann")), "itself is no secret");
        let own = scene.engine.package(ann.clone(), copies[0]).await.expect("its own copy");
        let opinion = &own.handoff.context.context_variables["custom"]["opinion"];
        assert_eq!(opinion.is_null(), !visible, "what another wrote: {opinion}");
        let stats = scene.engine.workflow_stats(ann.clone(), workflow).await.expect("counts");
        assert_eq!(stats.handoffs_by_agent.contains_key("bob"), visible);
        let query = AuditQuery { workflow: Some(workflow), ..AuditQuery::default() };
        let trail = scene.engine.audit(ann, query.clone()).await.expect("its own work");
        let trail = serde_json::to_string(&trail).expect("json");
        assert_eq!(trail.contains("bob"), visible, "{trail}");
        let planner = Actor::Agent(agent("planner"));
        let all = scene.engine.workflow(planner.clone(), workflow).await.expect("its work");
        assert_eq!(all.handoffs.len(), 3, "the sender sees every copy");
        assert_eq!(scene.engine.audit(planner, query).await.expect("all").len(), 10);
    }
}

#[tokio::test]
async fn a_late_copy_is_recorded_and_changes_nothing() {
    let mut scene = Scene::new().await;
    let (asked, copies) = scene.broadcast(false).await;
    let give = |copy: &HandoffId, fence, status: &str| {
        let give = json!({ "handoff": copy, "fence": fence, "status": status });
        json!({ "return": give })
    };
    for (name, status) in [("ann", "success"), ("bob", "success"), ("cleo", "failed")] {
        let at = ["ann", "bob", "cleo"].iter().position(|one| *one == name).expect("cast");
        let accepted = scene.by(name, json!({ "accept": { "handoff": copies[at] } })).await;
        let fence = accepted.fence.expect("a fence").0;
        scene.by(name, give(&copies[at], fence, status)).await;
    }
    let workflow = asked.workflow.expect("a workflow");
    let view = scene.engine.workflow(Actor::Operator, workflow).await.expect("it is there");
    let [broadcast] = view.broadcasts.as_slice() else { panic!("{view:?}") };
    assert_eq!(broadcast.outcome.as_deref(), Some("success"));
    let query = AuditQuery { workflow: Some(workflow), ..AuditQuery::default() };
    let trail = scene.engine.audit(Actor::Operator, query).await.expect("the trail");
    let decided = trail.iter().filter(|record| record["event"]["type"] == "aggregated");
    assert_eq!(decided.count(), 1);
}

#[tokio::test]
async fn work_that_its_receiver_wants_and_has_no_room_for_waits_for_room() {
    let mut scene = Scene::new().await;
    scene.register(json!({ "id": "builder", "max_concurrent_tasks": 1 })).await;
    let first = scene.delegate(json!({ "timeout": "1h" })).await;
    let second = scene.delegate(json!({ "timeout": "1h" })).await;
    let taken = scene.accept(&first).await;
    let refused = scene
        .try_ask(Actor::Agent(agent("builder")), json!({ "accept": { "handoff": second.handoff } }))
        .await;
    let Err(SubmitError::Refused(refusal)) = refused else { panic!("{refused:?}") };
    assert_eq!(refusal.code(), "at-capacity");
    assert_eq!(scene.state(&second).await, "queued");
    assert_eq!(scene.engine.wake_due().await.expect("woken"), 0, "there is no room yet");

    let fence = taken.fence.expect("a fence").0;
    let give = json!({ "return": {
        "handoff": first.handoff, "fence": fence, "status": "success",
    }});
    scene.by("builder", give).await;
    assert_eq!(scene.engine.wake_due().await.expect("woken"), 1);
    assert_eq!(scene.state(&second).await, "initiated");
    scene.accept(&second).await;
}

#[tokio::test]
async fn three_failed_checks_take_an_agent_out_and_one_good_one_brings_it_back() {
    let mut scene = Scene::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    let sign = folder.path().join("well");
    scene.register(json!({ "id": "builder", "health_check": ["test", "-e", sign] })).await;
    let status = async |scene: &Scene| {
        let view = scene.engine.agent(Actor::Operator, agent("builder")).await.expect("known");
        view.status
    };
    for expected in ["healthy", "healthy", "unhealthy", "unhealthy"] {
        scene.later("60s");
        assert_eq!(scene.engine.check_health().await.expect("asked"), 1);
        assert_eq!(status(&scene).await, expected);
    }
    std::fs::write(&sign, "").expect("written");
    scene.later("60s");
    scene.engine.check_health().await.expect("asked");
    assert_eq!(status(&scene).await, "healthy");
    let records = scene.engine.stats(Actor::Operator).await.expect("counted").records.expect("all");
    scene.later("60s");
    scene.engine.check_health().await.expect("asked");
    let now = scene.engine.stats(Actor::Operator).await.expect("counted").records.expect("all");
    assert_eq!(now, records, "what is known is not written again");
}

#[tokio::test]
async fn a_holder_that_is_over_its_time_is_looked_at_from_above() {
    let mut scene = Scene::new().await;
    scene.register(json!({ "id": "builder", "max_execution_time": "10m" })).await;
    let pass = json!({ "pass": { "to_agent": "builder", "reason": "build it" } });
    let passed = scene.by("planner", pass).await;
    scene.accept(&passed).await;
    scene.later("10m");
    scene.ledger.restart().expect("the lines read back");
    assert_eq!(scene.engine.wake_due().await.expect("woken"), 1);
    let inbox = scene.engine.inbox(agent("operator")).await.expect("an inbox");
    let [question] = inbox.waiting.as_slice() else { panic!("{inbox:?}") };
    assert_eq!(question.kind, "escalation");
    assert_eq!(scene.engine.wake_due().await.expect("woken"), 0);
}

#[tokio::test]
async fn an_agent_counts_the_work_that_it_sees_and_no_other() {
    let mut scene = Scene::new().await;
    scene.register(json!({ "id": "stranger" })).await;
    let passed = scene.delegate(json!({ "timeout": "1h" })).await;
    scene.accept(&passed).await;
    for title in ["one secret", "another"] {
        scene.by("stranger", json!({ "start": { "title": title } })).await;
    }
    // What waits for a person is withheld from its receiver, although that has a part in the work.
    let ask = json!({ "name": "all", "when": "true" });
    scene.ask(Actor::Operator, json!({ "set_policy": { "approval": [ask] } })).await;
    let waits = json!({
        "workflow": passed.workflow, "fence": 1, "to_agent": "builder", "type": "delegation",
        "reason": "withheld", "return_protocol": { "timeout": "1h" },
    });
    scene.by("planner", json!({ "pass": waits })).await;
    let counts = async |viewer: Actor| {
        let stats = scene.engine.stats(viewer).await.expect("counted");
        let known = stats.handoffs_by_agent.into_keys().collect::<Vec<_>>().join(" ");
        let workflows = (stats.open_workflows, stats.total_workflows);
        let handoffs = (stats.pending_handoffs, stats.total_handoffs);
        (workflows, handoffs, known, stats.records.is_some())
    };
    let of = async |name: &str| counts(Actor::Agent(agent(name))).await;
    let all = ((3, 3), (2, 2), "builder planner".to_owned(), true);
    assert_eq!(counts(Actor::Operator).await, all);
    assert_eq!(counts(Actor::Viewer).await, all);
    let known = "builder planner".to_owned();
    assert_eq!(of("builder").await, ((1, 1), (1, 1), known.clone(), false));
    assert_eq!(of("planner").await, ((1, 1), (2, 2), known, false));
    assert_eq!(of("stranger").await, ((2, 2), (0, 0), String::new(), false));
}
