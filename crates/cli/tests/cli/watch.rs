//! Watching a workspace: the live view on paper, and the coordinator's log.

use std::process::Stdio;

use serde_json::Value;

use crate::desk::Desk;

#[test]
fn top_prints_what_there_is_where_there_is_no_terminal() {
    let desk = Desk::with(&["builder", "planner"]);
    let back = ["--type", "delegation", "--timeout", "1h"];
    let pass = ["pass", "--to", "builder", "--reason", "make it faster"];
    desk.run(&[&pass[..], &back].concat()).ok();
    let handoff = desk.json(&["list", "--handoffs"])[0]["id"].as_str().expect("an id").to_owned();
    desk.run(&["accept", &handoff, "--as", "builder"]).ok();
    for args in [&["top"][..], &["top", "--once"]] {
        let text = desk.run(args).ok();
        assert!(text.starts_with("baton 0."), "{text}");
        let line = |words: &[&str]| {
            let fits = |line: &&str| words.iter().all(|word| line.contains(word));
            text.lines().find(fits).map(str::to_owned)
        };
        assert!(line(&["builder", "healthy", "1/", "make it faster"]).is_some(), "{text}");
        assert!(line(&[&handoff[..8], "accepted", "operator", "in 1h"]).is_some(), "{text}");
        assert!(line(&["workflows 1 open of 1", "handoffs 1 open"]).is_some(), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }
    let all = desk.json(&["top"]);
    assert_eq!(all["handoffs"][0]["id"], handoff.as_str());
    assert_eq!(all["stats"]["totalHandoffs"], 1);
}

#[test]
fn the_log_is_json_when_asked_for_and_tells_of_requests_without_what_is_in_them() {
    let desk = Desk::new();
    let mut command = desk.baton(&["serve", "--no-listen", "--log-format", "json"]);
    command.env("BATON_LOG", "baton_server=debug").stdout(Stdio::null()).stderr(Stdio::piped());
    let served = command.spawn().expect("the binary runs");
    // Verbs wait for the coordinator that comes up, or start the same themselves.
    while !desk.run(&["status"]).out.contains("the coordinator runs") {}
    let id = desk.start("a secret plan");
    desk.run(&["show", &id]).ok();
    desk.run(&["stop"]).ok();
    let said = String::from_utf8(served.wait_with_output().expect("it ends").stderr);
    let said = said.expect("UTF-8");
    let lines: Vec<Value> =
        said.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let told = |route: &str| {
        let of = |line: &&Value| line["route"] == route && line["message"] == "answered";
        lines.iter().find(of).unwrap_or_else(|| panic!("{route} in {said}"))
    };
    let shown = told("/v1/workflows/{id}");
    assert_eq!((&shown["method"], &shown["status"]), (&"GET".into(), &200.into()));
    assert!(shown["ms"].as_f64().is_some_and(|ms| ms > 0.0), "{shown}");
    told("/v1/commands");
    assert!(!said.contains(&id) && !said.contains("secret"), "{said}");
}
