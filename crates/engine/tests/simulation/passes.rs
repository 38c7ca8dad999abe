//! Passes of every kind, with terms drawn by chance.

use serde_json::{Value, json};

use crate::cast::SKILLS;
use crate::moves::{Held, changes};
use crate::stage::Stage;

/// A pass of some kind.
pub(crate) fn any(stage: &mut Stage, held: Option<&Held>) -> Value {
    let kinds = [(4, "sequential"), (5, "delegation"), (2, "broadcast")];
    let kind = stage.own.chance.weighed(&kinds);
    of_kind(stage, kind, held)
}

/// How urgent something is.
pub(crate) fn priority(stage: &mut Stage) -> &'static str {
    stage.own.chance.weighed(&[(1, "critical"), (2, "high"), (4, "normal"), (2, "low")])
}

/// A pass of this kind under this hold, or one that begins new work.
pub(crate) fn of_kind(stage: &mut Stage, kind: &str, held: Option<&Held>) -> Value {
    let mut pass = json!({ "type": kind, "reason": "work to do" });
    if let Some(held) = held {
        pass["workflow"] = json!(held.workflow);
        pass["fence"] = json!(held.fence);
    }
    let required = required(stage);
    receivers(stage, kind, &mut pass, !required.is_empty());
    back(stage, kind, &mut pass);
    let chance = &mut stage.own.chance;
    pass["validation"] = json!({ "required_capabilities": required });
    if chance.percent(12) {
        pass["validation"]["autonomy_budget"] = json!(chance.between(1, 10));
    }
    let risk = chance.weighed(&[(4, "low"), (4, "medium"), (2, "high")]);
    pass["audit"] = json!({ "risk_level": risk });
    if kind == "escalation" && chance.percent(97) {
        pass["audit"]["decision_rationale"] = json!("I may not decide this");
    }
    let on_rejection = chance.weighed(&[(4, "reroute"), (1, "fail")]);
    let at_capacity = chance.weighed(&[(3, "queue"), (1, "reroute")]);
    pass["routing"] = json!({ "on_rejection": on_rejection, "at_capacity": at_capacity });
    if chance.percent(40) {
        pass["priority"] = json!(priority(stage));
    }
    context(stage, &mut pass);
    json!({ "pass": pass })
}

fn required(stage: &mut Stage) -> Vec<Value> {
    let chance = &mut stage.own.chance;
    let mut required = Vec::new();
    for skill in SKILLS {
        if chance.percent(22) {
            required.push(match chance.percent(40) {
                true => json!({ "capability_id": skill, "min_proficiency": 0.6 }),
                false => json!(skill),
            });
        }
    }
    required
}

fn receivers(stage: &mut Stage, kind: &str, pass: &mut Value, by_skill: bool) {
    let names: Vec<_> = stage.own.players.iter().map(|player| player.id.clone()).collect();
    let chance = &mut stage.own.chance;
    if kind == "broadcast" {
        let count = chance.between(1, 4);
        let mut to = Vec::new();
        for _ in 0..count {
            let agent = chance.pick(&names).expect("there are players");
            let expected = chance.percent(80);
            to.push(json!({ "agent": agent, "return_expected": expected }));
        }
        pass["to_agents"] = json!(to);
        pass["aggregation"] = json!(chance.weighed(&[(1, "all"), (1, "any"), (1, "majority")]));
        return;
    }
    let named = match kind {
        "escalation" => chance.percent(20),
        _ => !by_skill || chance.percent(70),
    };
    if named {
        pass["to_agent"] = json!(chance.pick(&names));
    }
}

fn back(stage: &mut Stage, kind: &str, pass: &mut Value) {
    let chance = &mut stage.own.chance;
    let timed = match kind {
        "sequential" => false,
        "escalation" => chance.percent(50),
        _ => true,
    };
    if timed {
        pass["return_protocol"] = json!({
            "timeout": chance.weighed(&[(2, "5s"), (2, "20s"), (1, "60s")]),
            "on_timeout": chance.weighed(&[(2, "retry"), (2, "escalate"), (1, "fail")]),
            "blocking": chance.percent(25),
        });
    }
}

fn context(stage: &mut Stage, pass: &mut Value) {
    let mut context = json!({});
    if stage.own.chance.percent(15) {
        context["context_variables"] = changes(stage);
    }
    if stage.own.chance.percent(12) {
        let span = i64::try_from(stage.own.chance.between(10, 90)).unwrap_or(10);
        let micros = stage.now().as_micros() + span * 1_000_000;
        let deadline = baton_protocol::time::Timestamp::from_micros(micros);
        context["constraints"] = json!({ "deadline": deadline });
    }
    pass["context"] = context;
}
