//! Looking back through the real binary: work as it was, and what other rules would have changed.

use std::fs;

use crate::desk::Desk;

#[test]
fn a_workflow_is_shown_as_it_was_after_any_record() {
    let desk = Desk::with(&["builder"]);
    let work = desk.start("Add a login page");
    desk.run(&["vars", &work, "branch=main"]).ok();
    let started = desk.json(&["show", &work]);
    let seq = desk.json(&["audit", "log"])["records"][0]["seq"].as_u64().expect("a number");
    let seq = seq.max(desk.json(&["status"])["records"].as_u64().expect("a number"));
    let pass = ["pass", &work, "--to", "builder", "--reason", "the design is done", "--quiet"];
    let handoff = desk.run(&pass).ok().trim().to_owned();
    desk.run(&["accept", &handoff, "--as", "builder"]).ok();
    desk.run(&["complete", &work, "--as", "builder", "--fence", "2"]).ok();

    let mut told = desk.json(&["replay", &work[..8], "--at", &format!("#{seq}")]);
    let fields = told.as_object_mut().expect("an object");
    let (at, then) = (fields.remove("at"), fields.remove("recorded_at"));
    assert_eq!((fields.remove("seq"), &at), (Some(seq.into()), &then));
    assert_eq!(told, started, "the same view, as it was");
    let shown = desk.run(&["replay", &work, "--at", &(seq + 1).to_string()]).ok();
    for part in ["as of ", &format!("after record {}", seq + 1), "open", "held then", "initiated"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let now = desk.json(&["replay", &work, "--at", "1ms"]);
    assert_eq!(now["status"], "completed");
    assert_eq!(now["ending"], desk.json(&["show", &work])["ending"]);

    let early = desk.run(&["replay", &work, "--at", "#1"]).fails(2);
    assert!(early.contains("was not there yet; it began at"), "{early}");
    assert!(desk.run(&["replay", &work, "--at", "#9999"]).fails(2).contains("no record 9999"));
    assert!(desk.run(&["replay", &work, "--at", "soon"]).fails(2).contains("'#812'"));
    let ahead = desk.run(&["replay", &work, "--at", "2999-01-01T00:00:00Z"]).fails(2);
    assert!(ahead.contains("lies ahead"), "{ahead}");
    desk.run(&["replay", "ffffffff", "--at", "1h"]).fails(4);
}

#[test]
fn another_policy_is_tried_on_what_was_recorded() {
    let desk = Desk::with(&["planner", "builder", "tester"]);
    let token = desk.run(&["token", "create", "--agent", "planner"]).ok().trim().to_owned();
    let planner = [("BATON_AGENT", "planner"), ("BATON_TOKEN", token.as_str())];
    let work = desk.run_with(&["start", "A shop", "--quiet"], &planner).ok().trim().to_owned();
    for (to, risk) in [("builder", "low"), ("tester", "low"), ("builder", "medium")] {
        let part = format!("part for {to} of {risk} risk");
        let pass = ["pass", &work, "--fence", "1", "--to", to, "--type", "delegation"];
        let more = ["--timeout", "1h", "--reason", &part, "--risk", risk];
        desk.run_with(&[&pass[..], &more].concat(), &planner).ok();
    }
    let rules = "max_handoffs = 2\napproval = [{ name = 'tests', when = 'to == \"tester\"' }]";
    fs::write(desk.path().join("stricter.toml"), rules).expect("a file");
    let before = desk.json(&["status"])["records"].clone();
    let found = desk.json(&["what-if", "--policy", "stricter.toml"]);
    assert_eq!(found["handoffs"], 3, "{found}");
    assert_eq!(found["untold"], 0, "{found}");
    let row = |n: usize, name: &str| found["rows"][n][name].as_str().unwrap_or("").to_owned();
    assert_eq!(row(0, "would"), "awaiting approval by tests");
    assert_eq!(row(1, "would"), "refused handoff-limit-exceeded");
    assert!(row(1, "why").contains("may begin 2 handoffs; 2 are used"), "{found}");
    let told = desk.run(&["what-if", "--policy", "stricter.toml", "--since", "1h"]).ok();
    assert!(told.contains("2 of 3 handoffs since "), "{told}");
    assert!(told.contains("initiated -> refused handoff-limit-exceeded"), "{told}");
    assert_eq!(desk.json(&["status"])["records"], before, "something was recorded");

    desk.run_with(&["what-if", "--policy", "stricter.toml"], &planner).fails(3);
    fs::write(desk.path().join("bad.toml"), "approval = [{ name = 'x', when = 'riks > 1' }]")
        .expect("a file");
    let refused = desk.run(&["what-if", "--policy", "bad.toml"]).fails(3);
    assert!(refused.contains("approval rule x cannot be used: line 1, column 1"), "{refused}");
    let refused = desk.run(&["policy", "check", "bad.toml"]).fails(2);
    assert!(refused.contains("there is no fact `riks`; known are risk,"), "{refused}");
    desk.run(&["policy", "set", "bad.toml"]).fails(3);
}
