//! What the ledger hears of tags in files.

use baton_protocol::World;
use baton_protocol::command::{Actor, Command, Submission};
use baton_protocol::event::{Event, StreamId};
use baton_protocol::id::CommandId;
use baton_protocol::time::Timestamp;
use baton_protocol::{decide, evolve};
use serde_json::{Value, json};

/// Tells of a move; returns the stream's record, or the refusal's code.
fn tells(actor: Actor, mover: &str, from: Value, to: &str) -> Result<Value, &'static str> {
    let command = json!({ "report_tag": {
        "file": "sessions/login/REQUEST.md", "item": "#fix", "from": from, "to": to,
        "mover": mover, "moved_at": "2026-11-16T12:00:00Z",
    }});
    let command: Command = serde_json::from_value(command).expect("a command");
    let ask = Submission { id: CommandId::from_key("test", "x"), actor, command };
    let mut world = World::default();
    let now = Timestamp::from_micros(1);
    let decision = decide(&world, &ask, now).map_err(|refusal| refusal.code())?;
    assert_eq!(decision.stream, StreamId::Workspace);
    let [event] = decision.events.as_slice() else { panic!("{decision:?}") };
    evolve(&mut world, &decision.stream, event, now);
    assert_eq!(world, World::default(), "files are the truth, not the ledger");
    let told = serde_json::to_value(event).expect("JSON");
    assert_eq!(serde_json::from_value::<Event>(told.clone()).expect("an event"), *event);
    Ok(told)
}

#[test]
fn anybody_tells_of_a_claim_and_only_a_person_of_an_approval() {
    let agent = || Actor::Agent("builder".parse().expect("a name"));
    let claim = tells(agent(), "worker", json!("#delegated-fix"), "#claimed-fix");
    assert_eq!(claim.expect("recorded")["type"], "tag_moved");
    let approve = |actor, mover| tells(actor, mover, json!("#needs-fix"), "#delegated-fix");
    assert_eq!(approve(agent(), "worker"), Err("operator-only"));
    assert_eq!(approve(agent(), "person"), Err("operator-only"));
    assert_eq!(approve(Actor::Operator, "person").expect("recorded")["to"], "#delegated-fix");
    // Where a person had let it stand.
    let requeued = tells(agent(), "daemon", json!("#claimed-fix"), "#delegated-fix");
    requeued.expect("recorded");
    assert_eq!(tells(Actor::Viewer, "worker", Value::Null, "#needs-fix"), Err("view-only"));
}
