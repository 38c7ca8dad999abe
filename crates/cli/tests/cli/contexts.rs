//! What travels with a handoff, through the real binary and a real coordinator.

use std::fs;

use serde_json::{Value, json};

use crate::desk::Desk;

/// A long conversation of which little is about the parser.
fn conversation() -> Value {
    let mut said = vec![json!({ "role": "user", "content": "Make the parser faster." })];
    for n in 0..400 {
        let words = format!("Step {n}: the weather was looked at and written down. ").repeat(8);
        said.push(json!({ "role": "assistant", "content": words }));
    }
    let about = "The parser spends its time in `skip_blank`; src/parser.rs holds it.";
    said.insert(150, json!({ "role": "assistant", "content": about }));
    said.push(json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": "bench", "arguments": "{}" } },
    ]}));
    Value::Array(said)
}

fn pass(desk: &Desk, more: &[&str]) -> Value {
    fs::write(desk.path().join("said.json"), conversation().to_string()).expect("a file");
    let pass = ["pass", "--to", "worker", "--reason", "the parser", "--history", "said.json"];
    let handoff = desk.run(&[&pass[..], more, &["--quiet"]].concat()).ok();
    desk.json(&["show", handoff.trim()])
}

#[test]
fn a_sequential_pass_carries_what_has_to_do_with_the_task_and_calls_keep_their_results() {
    let desk = Desk::with(&["worker"]);
    let shown = pass(&desk, &["--task", "make skip_blank faster", "--history-tokens", "900"]);
    let context = &shown["context"];
    let made = &context["transferred"];
    assert_eq!(made["mode"], "relevant_only", "{made}");
    assert_eq!(made["messages_before"], 403, "{made}");
    assert!(made["tokens"].as_u64().is_some_and(|tokens| tokens <= 900), "{made}");
    let travels = context["conversation_history"].to_string();
    assert!(travels.contains("Make the parser faster.") && travels.contains("skip_blank"));
    let called = travels.contains("tool_calls");
    assert_eq!(called, travels.contains("\"tool_call_id\":\"c1\""), "{travels}");
    assert!(
        made["repairs"][0].as_str().is_some_and(|said| said.contains("`c1` had no result")),
        "{made}"
    );
    let told = desk.run(&["show", shown["id"].as_str().expect("an id")]).ok();
    assert!(told.contains("of 403 messages"), "{told}");
}

#[test]
fn a_delegation_carries_a_summary_by_the_configured_program_or_an_extract() {
    let desk = Desk::with(&["worker"]);
    let delegate = ["--type", "delegation", "--timeout", "1h"];
    let shown = pass(&desk, &delegate);
    let travels = &shown["context"]["conversation_history"];
    assert_eq!(travels.as_array().map(Vec::len), Some(1), "{travels}");
    assert!(travels.to_string().contains("Make the parser faster."), "{travels}");

    let config = desk.path().join(".baton").join("config.toml");
    let by = |argv: &str| {
        desk.run(&["stop"]).ok();
        let text = format!("[context]\nsummariser = {argv}\nsummariser_within = \"5s\"\n");
        fs::write(&config, text).expect("a configuration");
    };
    by(r#"["sh", "-c", "echo in short; grep -c 'assistant:'"]"#);
    let shown = pass(&desk, &delegate);
    let travels = shown["context"]["conversation_history"].to_string();
    assert!(travels.contains("in short") && travels.contains("402"), "{travels}");

    // It hears only what may travel, is not asked about what would be refused anyway, and nothing
    // of it stays.
    by(r#"["sh", "-c", "echo ran >> ran; sleep 1000 & echo $! > pid; cat"]"#);
    let thought = json!([
        { "role": "user", "content": [{ "type": "text", "text": "Go on." }] },
        { "role": "assistant", "content": [{ "type": "thinking", "thinking": "HIDDEN" }] },
    ]);
    fs::write(desk.path().join("thought.json"), thought.to_string()).expect("a file");
    let words = ["pass", "--reason", "x", "--history", "thought.json", "--quiet", "--to"];
    desk.run(&[&words[..], &["nobody"], &delegate].concat()).fails(4);
    assert!(!desk.path().join("ran").exists(), "it was asked about what was refused");
    let handoff = desk.run(&[&words[..], &["worker"], &delegate].concat()).ok();
    let travels = desk.json(&["show", handoff.trim()])["context"].to_string();
    assert!(travels.contains("Go on.") && !travels.contains("HIDDEN"), "{travels}");
    let pid = fs::read_to_string(desk.path().join("pid")).expect("it ran");
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");

    by(r#"["false"]"#);
    let shown = pass(&desk, &delegate);
    let travels = shown["context"]["conversation_history"].to_string();
    assert!(travels.contains("Make the parser faster."), "{travels}");
    let notes = shown["context"]["transferred"]["notes"].to_string();
    assert!(notes.contains("the summariser ended with") && notes.contains("an extract"), "{notes}");
}

#[test]
fn what_is_no_message_is_refused_by_its_place() {
    let desk = Desk::with(&["worker"]);
    fs::write(desk.path().join("said.json"), r#"[{"role": "user", "content": 7}]"#).expect("one");
    let pass = ["pass", "--to", "worker", "--reason", "r", "--history", "said.json"];
    let refused = desk.run(&pass).fails(3);
    assert!(refused.contains("messages[0].content"), "{refused}");
}

#[test]
fn a_handoff_has_a_compact_artifact() {
    let desk = Desk::with(&["worker"]);
    let pass = ["pass", "--to", "worker", "--reason", "go on", "--quiet"];
    let more = ["--var", "branch=fix-login", "--artifact", "src/login.rs:code"];
    let decided = r#"decisions_made=[{"decision_id":"d1","description":"keep the cookie"}]"#;
    let handoff = desk.run(&[&pass[..], &more, &["--var", decided]].concat()).ok();
    let compact = desk.run(&["show", "--compact", handoff.trim()]).ok();
    for kept in ["fix-login", "src/login.rs", "keep the cookie", "go on", "to_agent: \"worker\""] {
        assert!(compact.contains(kept), "{kept} is not in {compact}");
    }
    let made = desk.json(&["show", "--compact", handoff.trim()]);
    assert!(made["tokens"].as_u64().is_some_and(|tokens| tokens <= 500), "{made}");
}

#[test]
fn an_agents_name_that_is_too_long_for_an_artifact_is_told_and_nothing_breaks() {
    let long = "k9-x7-q3-z1-w5-".repeat(4);
    let long = long.trim_end_matches('-');
    let desk = Desk::with(&[long]);
    let pass = ["pass", "--to", long, "--reason", "go on", "--quiet"];
    let handoff = desk.run(&pass).ok();
    let refused = desk.run(&["show", "--compact", handoff.trim()]).fails(2);
    assert!(refused.contains("to_agent"), "{refused}");
    assert!(desk.run(&["show", handoff.trim()]).ok().contains(long));
}

#[test]
fn what_two_agents_said_is_not_in_the_audit_of_a_third() {
    let desk = Desk::with(&["a", "b", "c"]);
    let work = desk.run(&["start", "Plan it", "--as", "a", "--quiet"]).ok().trim().to_owned();
    let pass = |to: &str, more: &[&str]| {
        let words = ["pass", &work, "--as", "a", "--fence", "1", "--to", to, "--quiet"];
        let back = ["--type", "delegation", "--timeout", "1m", "--reason", "a part"];
        desk.run(&[&words[..], &back[..], more].concat()).ok().trim().to_owned()
    };
    let part = pass("c", &[]);
    desk.run(&["accept", &part, "--as", "c"]).ok();
    let said = json!([{ "role": "user", "content": "only between the two of us" }]);
    fs::write(desk.path().join("said.json"), said.to_string()).expect("a file");
    pass("b", &["--history", "said.json"]);
    let token = desk.run(&["token", "create", "--agent", "c"]).ok();
    let third = [("BATON_AGENT", "c"), ("BATON_TOKEN", token.trim())];
    let audit = ["audit", "log", "--workflow", &work, "--json"];
    assert!(desk.run(&audit).ok().contains("between the two"), "the operator sees all");
    let seen = desk.run_with(&audit, &third).ok();
    assert!(seen.contains("initiated") && !seen.contains("between the two"), "{seen}");
    // Whoever asks about another is not told of itself.
    let about = desk.run_with(&["audit", "log", "--agent", "b", "--json"], &third).ok();
    assert!(!about.contains("accepted"), "{about}");
}
