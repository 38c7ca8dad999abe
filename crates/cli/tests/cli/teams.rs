//! Several agents, through the real binary: broadcast, escalation, reroute, queue, health.

use serde_json::Value;

use crate::desk::Desk;

/// The id of the copy of a broadcast that is for `agent`.
fn copy_for(desk: &Desk, workflow: &str, agent: &str) -> String {
    let view = desk.json(&["show", workflow]);
    let copies = view["handoffs"].as_array().cloned().unwrap_or_default();
    let copy = copies.iter().find(|line| line["to_agent"] == agent).expect("a copy");
    copy["id"].as_str().expect("an id").to_owned()
}

fn take(desk: &Desk, handoff: &str, agent: &str) -> String {
    desk.json(&["accept", handoff, "--as", agent])["fence"].to_string()
}

fn give(desk: &Desk, handoff: &str, agent: &str, status: &str) -> String {
    let fence = take(desk, handoff, agent);
    let give = ["return", handoff, "--as", agent, "--fence", &fence, "--status", status];
    desk.run(&give).ok()
}

#[test]
fn a_broadcast_is_decided_by_its_majority_and_may_then_be_completed() {
    let desk = Desk::with(&["ann", "bob", "cleo"]);
    let workflow = desk.start("Choose a name");
    let pass = ["pass", &workflow, "--type", "broadcast", "--reason", "Baton or Relay?"];
    let to = ["--to", "ann", "--to", "bob", "--to", "cleo", "--aggregation", "majority"];
    let refused = desk.run(&[&pass[..], &to].concat()).fails(3);
    assert!(refused.contains("timeout"), "{refused}");
    let told = desk.run(&[&pass[..], &to, &["--timeout", "1h"]].concat()).ok();
    assert!(told.starts_with("broadcast ") && told.contains("cleo"), "{told}");

    give(&desk, &copy_for(&desk, &workflow, "ann"), "ann", "success");
    assert!(desk.run(&["complete", &workflow]).fails(3).contains("open"));
    give(&desk, &copy_for(&desk, &workflow, "cleo"), "cleo", "failed");
    give(&desk, &copy_for(&desk, &workflow, "bob"), "bob", "success");
    let shown = desk.run(&["show", &workflow]).ok();
    assert!(
        shown.contains("majority must succeed: 2 of 3 succeeded, 1 failed; success"),
        "{shown}"
    );
    let log = desk.run(&["audit", "log", "--workflow", &workflow]).ok();
    assert!(log.contains("success: 2 for"), "{log}");
    let broadcast = told.split_whitespace().nth(1).expect("its id");
    assert!(desk.run(&["wait", broadcast]).ok().contains("2 of 3 succeeded"));
    assert!(desk.run(&["cancel", broadcast, "--reason", "r"]).fails(2).contains("copy by copy"));
    desk.run(&["complete", &workflow]).ok();
    assert!(desk.run(&["audit", "verify"]).ok().contains("intact"));
}

#[test]
fn only_a_broadcast_goes_to_several() {
    let desk = Desk::with(&["ann", "bob"]);
    let said = desk.run(&["pass", "--to", "ann", "--to", "bob", "--reason", "r"]).fails(2);
    assert!(said.contains("--type broadcast"), "{said}");
}

#[test]
fn a_question_climbs_to_a_person_and_the_decision_comes_back_down() {
    let desk = Desk::with(&["builder"]);
    desk.run(&["agent", "add", "ann", "--role", "reviewer"]).ok();
    let workflow = desk.start("Migrate the accounts");
    let pass = ["pass", &workflow, "--to", "builder", "--reason", "r", "-q"];
    let handoff = desk.run(&pass).ok();
    let fence = take(&desk, handoff.trim(), "builder");

    let ask = ["escalate", &workflow, "--reason", "delete the old ones?"];
    let why = ["--rationale", "both do not fit", "--quiet"];
    let builder = ["--as", "builder", "--fence", &fence];
    let bare = desk.run(&[&ask[..], &builder].concat()).fails(2);
    assert!(bare.contains("rationale"), "{bare}");
    let first = desk.run(&[&ask[..], &why, &builder].concat()).ok().trim().to_owned();
    let while_waiting = ["complete", &workflow, "--as", "builder", "--fence", &fence];
    let refused = desk.run(&while_waiting).fails(3);
    assert!(refused.contains("waits for the decision"), "{refused}");

    let ann = take(&desk, &first, "ann");
    let up = ["--as", "ann", "--fence", &ann];
    let second = desk.run(&[&ask[..], &why, &up].concat()).ok().trim().to_owned();
    let shown = desk.run(&["show", &second]).ok();
    assert!(shown.contains("level       2 of 3"), "{shown}");
    assert!(shown.contains("builder (worker): both do not fit"), "{shown}");
    assert!(desk.run(&["inbox"]).ok().contains("escalation"));

    let blind = desk.run(&["decide", &first, "as I like", "--as", "ann"]).fails(3);
    assert!(blind.contains("waits for the decision") || blind.contains("fence"), "{blind}");
    let decide = ["decide", &second, "keep them for a month"];
    assert!(desk.run(&decide).ok().contains("decided"));
    assert!(desk.run(&decide).ok().contains("nothing new"));
    assert!(desk.run(&["show", &first]).ok().contains("keep them for a month"));
    desk.run(&while_waiting).ok();
}

#[test]
fn what_one_cannot_take_goes_to_the_next_best_and_at_last_to_a_person() {
    let desk = Desk::new();
    for (agent, skill) in [("ann", "review"), ("bob", "review:0.8"), ("cleo", "review:0.5")] {
        desk.run(&["agent", "add", agent, "--capability", skill]).ok();
    }
    desk.run(&["agent", "add", "planner"]).ok();
    let pass = ["pass", "--requires", "review", "--reason", "please review", "-q"];
    let pass = [&pass[..], &["--as", "planner"]].concat();
    let handoff = desk.run(&pass).ok().trim().to_owned();
    for agent in ["ann", "bob", "cleo"] {
        let no = ["reject", &handoff, "--as", agent, "--reason", "no time"];
        desk.run(&no).ok();
    }
    let shown = desk.run(&["show", &handoff]).ok();
    assert!(shown.contains("rerouted    3 times; not by ann, bob, cleo"), "{shown}");
    assert!(shown.contains("reroute"), "{shown}");
    desk.run(&["accept", &handoff]).ok();
}

#[test]
fn work_waits_for_room_and_the_most_urgent_comes_first() {
    let desk = Desk::new();
    desk.run(&["agent", "add", "builder", "--max-tasks", "1"]).ok();
    let pass = |reason: &str, priority: &str| {
        let pass = ["pass", "--to", "builder", "--type", "delegation", "--timeout", "1h"];
        let about = ["--reason", reason, "--priority", priority];
        desk.run(&[&pass[..], &about].concat()).ok()
    };
    pass("first", "normal");
    let first = desk.json(&["inbox", "--as", "builder"])["waiting"][0]["id"].clone();
    let fence = take(&desk, first.as_str().expect("an id"), "builder");
    assert!(pass("later", "low").contains("queued for builder"));
    assert!(pass("sooner", "high").contains("queued for builder"));
    let inbox = desk.json(&["inbox", "--as", "builder"]);
    let queued: Vec<_> = inbox["queued"].as_array().into_iter().flatten().collect();
    assert_eq!([&queued[0]["reason"], &queued[1]["reason"]], ["sooner", "later"]);

    let first = first.as_str().expect("an id").to_owned();
    desk.run(&["return", &first, "--as", "builder", "--fence", &fence]).ok();
    let came = desk.json(&["inbox", "--as", "builder", "--wait", "20s"]);
    assert_eq!(came["waiting"][0]["reason"], "sooner");
    assert_eq!(came["waiting"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_operator_takes_work_from_a_stuck_holder() {
    let desk = Desk::with(&["ann", "bob"]);
    let workflow = desk.start("Release");
    let pass = ["pass", &workflow, "--to", "ann", "--reason", "r", "-q"];
    let handoff = desk.run(&pass).ok().trim().to_owned();
    let stuck = take(&desk, &handoff, "ann");
    let move_on = ["reassign", &workflow, "--to", "bob", "--reason", "ann is gone"];
    let refused = desk.run(&[&move_on[..], &["--as", "ann"]].concat()).fails(3);
    assert!(refused.contains("only the operator"), "{refused}");
    assert!(desk.run(&move_on).ok().contains("passed to bob"));
    let stale = ["complete", &workflow, "--as", "ann", "--fence", &stuck];
    assert!(desk.run(&stale).fails(3).contains("no longer in force"));
    let next = desk.json(&["inbox", "--as", "bob"])["waiting"][0]["id"].clone();
    let fence = take(&desk, next.as_str().expect("an id"), "bob");
    desk.run(&["complete", &workflow, "--as", "bob", "--fence", &fence]).ok();
}

#[test]
fn an_agent_that_is_not_well_gets_no_new_work_until_it_is() {
    let desk = Desk::new();
    for (agent, skill) in [("ann", "review"), ("bob", "review:0.5")] {
        desk.run(&["agent", "add", agent, "--capability", skill]).ok();
    }
    let chosen = || -> Value {
        let pass = ["pass", "--requires", "review", "--reason", "please review"];
        let handoff = desk.json(&pass)["handoff"].clone();
        desk.json(&["show", handoff.as_str().expect("an id")])["to_agent"].clone()
    };
    assert_eq!(chosen(), "ann");
    for _ in 0..3 {
        desk.run(&["agent", "health", "ann", "unwell", "--note", "its machine is down"]).ok();
    }
    assert!(desk.run(&["agent", "list"]).ok().contains("unhealthy"));
    assert_eq!(chosen(), "bob");
    desk.run(&["agent", "health", "ann", "well"]).ok();
    assert_eq!(chosen(), "ann");
}
