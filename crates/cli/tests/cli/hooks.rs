//! Hooks through the real binary, with what each program really sends.

#[path = "hooks/bench.rs"]
mod bench;
#[path = "hooks/ends.rs"]
mod ends;
#[path = "hooks/hostile.rs"]
mod hostile;
#[path = "hooks/primed.rs"]
mod primed;

use std::fs;

use bench::{Bench, CLIENTS, answer, context, denied};
use serde_json::{Value, json};

#[test]
fn a_lock_of_another_refuses_an_edit_in_every_programs_form() {
    let bench = Bench::new();
    bench.lock("reviewer", "src/login.rs");
    for client in CLIENTS {
        let said = bench.hook(client, "pre-tool-use", &[("FILE", "src/login.rs")]);
        let why = denied(client, &said).unwrap_or_else(|| panic!("{client}: {said}"));
        for part in ["src/login.rs is locked by reviewer", "lapses in ", "handoff_to_agent"] {
            assert!(why.contains(part), "no {part} in {why}");
        }
        let absolute = bench.root().join("src/../src/login.rs").display().to_string();
        let said = bench.hook(client, "pre-tool-use", &[("FILE", &absolute)]);
        assert!(denied(client, &said).is_some(), "{client}: {said}");
        for free in ["src/other.rs", "/etc/passwd", "../elsewhere.rs"] {
            assert_eq!(
                bench.hook(client, "pre-tool-use", &[("FILE", free)]),
                "",
                "{client} {free}"
            );
        }
    }
    let said = bench.hook("claude-code", "pre-tool-use", &[("FILE", "src/login.rs")]);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let output = &said["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse");
    assert_eq!(output["permissionDecision"], "deny");
}

#[test]
fn nobody_is_kept_from_its_own_files_or_from_shared_ones() {
    let bench = Bench::new();
    bench.lock("coder", "mine.rs");
    assert_eq!(bench.hook("claude-code", "pre-tool-use", &[("FILE", "mine.rs")]), "");
    let (work, fence) = bench.holds("reviewer", "Review");
    bench.as_agent("reviewer", &["lock", &work, "--fence", &fence, "--shared", "both.rs"]);
    let said = bench.hook("claude-code", "pre-tool-use", &[("FILE", "both.rs")]);
    assert!(denied("claude-code", &said).is_some_and(|why| why.contains("shared")), "{said}");
    let (work, fence) = bench.holds("coder", "Code");
    bench.as_agent("coder", &["lock", &work, "--fence", &fence, "--shared", "both.rs"]);
    assert_eq!(bench.hook("claude-code", "pre-tool-use", &[("FILE", "both.rs")]), "");
}

#[test]
fn a_session_whose_work_was_taken_away_does_not_write_on() {
    let bench = Bench::new();
    let (work, fence, handoff) = bench.accepted("coder", "Add a login page");
    bench.believes("coder", &[(&work, Some(&handoff), &fence)]);
    let edit = |client: &str| bench.hook(client, "pre-tool-use", &[("FILE", "a.rs")]);
    assert_eq!(edit("claude-code"), "");
    let reason = ["--reason", "coder is silent"];
    bench.desk.run(&[&["reassign", &handoff, "--to", "reviewer"][..], &reason].concat()).ok();
    for client in CLIENTS {
        let why = denied(client, &edit(client)).expect("a refusal");
        assert!(why.contains("reviewer has it now") && why.contains("Add a login page"), "{why}");
        assert!(why.contains(&format!("fence {fence}")), "{why}");
    }
    // A person who speaks is told, and what they then ask for is done.
    let told = context(&bench.hook("claude-code", "user-prompt", &[])).expect("a notice");
    assert!(told.contains("you no longer hold \"Add a login page\""), "{told}");
    assert_eq!(edit("claude-code"), "");
    assert_eq!(bench.hook("claude-code", "user-prompt", &[]), "", "it is told once");
}

#[test]
fn what_no_person_said_is_not_taken_for_a_persons_word() {
    let bench = Bench::new();
    let (work, fence, handoff) = bench.accepted("coder", "Add a login page");
    bench.believes("coder", &[(&work, Some(&handoff), &fence)]);
    let reason = ["--reason", "coder is silent"];
    bench.desk.run(&[&["reassign", &handoff, "--to", "reviewer"][..], &reason].concat()).ok();
    bench.delegate("coder", "Write the notes");
    // The prompts of a subagent, and of the program itself when a task in the background is done.
    for (client, prompt) in [("codex", "user-prompt-subagent"), ("claude-code", "user-prompt-task")]
    {
        assert_eq!(bench.hook(client, prompt, &[]), "", "{client}");
        let said = bench.hook(client, "pre-tool-use", &[("FILE", "a.rs")]);
        assert!(denied(client, &said).is_some(), "{client}: nobody has spoken yet");
    }
    let told = context(&bench.hook("codex", "user-prompt", &[])).expect("a notice");
    assert!(told.contains("you no longer hold") && told.contains("1 new"), "{told}");
}

#[test]
fn work_that_the_agent_gave_away_itself_is_not_taken_away() {
    let bench = Bench::new();
    let (work, fence, handoff) = bench.accepted("coder", "Add a login page");
    let (whole, whole_fence) = bench.holds("coder", "Release");
    bench.believes("coder", &[(&work, Some(&handoff), &fence), (&whole, None, &whole_fence)]);
    bench.as_agent("coder", &["return", &handoff, "--fence", &fence, "--text", "done"]);
    let pass = ["pass", &whole, "--fence", &whole_fence, "--to", "reviewer", "--reason", "yours"];
    let passed = bench.as_agent("coder", &[&pass[..], &["--quiet"]].concat());
    bench.as_agent("reviewer", &["accept", passed.trim()]);
    assert_eq!(bench.hook("claude-code", "pre-tool-use", &[("FILE", "a.rs")]), "");
    // The whole work that a person takes back is gone, whoever passed it before.
    let (whole, whole_fence) = bench.holds("coder", "Migration");
    bench.believes("coder", &[(&whole, None, &whole_fence)]);
    let reason = ["--to", "reviewer", "--reason", "too slow"];
    bench.desk.run(&[&["reassign", &whole][..], &reason].concat()).ok();
    let said = bench.hook("claude-code", "pre-tool-use", &[("FILE", "a.rs")]);
    let why = denied("claude-code", &said).expect("a refusal");
    assert!(why.contains("a person (operator) has taken it back"), "{why}");
}

#[test]
fn one_who_has_other_work_in_hand_is_told_once() {
    let bench = Bench::new();
    let (work, fence, handoff) = bench.accepted("coder", "Add a login page");
    bench.holds("coder", "Release");
    bench.believes("coder", &[(&work, Some(&handoff), &fence)]);
    bench.desk.run(&["cancel", &handoff, "--reason", "not needed"]).ok();
    let said = bench.hook("claude-code", "pre-tool-use", &[("FILE", "a.rs")]);
    let why = denied("claude-code", &said).expect("a refusal");
    assert!(why.contains("it was called off"), "{why}");
    assert_eq!(bench.hook("claude-code", "pre-tool-use", &[("FILE", "a.rs")]), "");
}

#[test]
fn what_is_new_is_told_once_and_costs_nothing_otherwise() {
    let bench = Bench::new();
    for client in CLIENTS {
        assert_eq!(bench.hook(client, "user-prompt", &[]), "", "{client}");
        assert_eq!(bench.hook(client, "session-start", &[]), "", "{client}");
    }
    for n in 1..=7 {
        bench.delegate("coder", &format!("Part {n}\n- \"x\""));
    }
    for client in CLIENTS {
        let session = [("SESSION", client)];
        let said = bench.hook(client, "user-prompt", &session);
        let told = context(&said).unwrap_or_else(|| panic!("{client}: {said}"));
        assert!(told.starts_with("Baton: 7 new for coder\n- "), "{told}");
        assert!(told.ends_with("- and 2 more: list_inbox"), "{told}");
        assert_eq!(told.lines().count(), 7, "{told}");
        assert_eq!(bench.hook(client, "user-prompt", &session), "", "{client}: told twice");
    }
    let handoff = bench.delegate("coder", "One more");
    let told = context(&bench.hook("gemini", "user-prompt", &[("SESSION", "gemini")]));
    let told = told.expect("a notice");
    assert!(told.contains("1 new") && told.contains(&handoff[..8]), "{told}");
    assert!(told.contains("One more") && told.contains("accept_handoff"), "{told}");
}

#[test]
fn a_session_that_begins_is_told_how_things_stand() {
    let bench = Bench::new();
    let (_, fence, handoff) = bench.accepted("coder", "Add a login page");
    let waits = bench.delegate("coder", "Write the notes");
    for client in CLIENTS {
        let said = bench.hook(client, "session-start", &[("SESSION", client)]);
        let told = context(&said).unwrap_or_else(|| panic!("{client}: {said}"));
        assert!(told.starts_with("# Baton: you are coder\n"), "{told}");
        for part in [&waits[..8], &handoff[..8], &format!("fence {fence}"), "reviewer"] {
            assert!(told.contains(part), "no {part} in {told}");
        }
        // What was told at the beginning is no news later.
        assert_eq!(bench.hook(client, "user-prompt", &[("SESSION", client)]), "", "{client}");
    }
}

#[test]
fn heartbeats_come_from_tool_calls_and_not_too_often() {
    let bench = Bench::new();
    let unwell = || bench.desk.run(&["agent", "health", "coder", "unwell"]).ok();
    let failures = || bench.desk.json(&["agent", "show", "coder"])["health"]["failures"].clone();
    unwell();
    assert_eq!(failures(), 1);
    assert_eq!(bench.hook("claude-code", "post-tool-use", &[("FILE", "a.rs")]), "");
    assert_eq!(failures(), 0, "it was heard of");
    unwell();
    assert_eq!(bench.hook("codex", "post-tool-use", &[("FILE", "a.rs")]), "");
    assert_eq!(failures(), 1, "the next heartbeat is not due yet");
}

#[test]
fn a_subagent_is_progress_of_the_one_thing_in_hand() {
    let bench = Bench::new();
    let (work, _, _) = bench.accepted("coder", "Add a login page");
    let progress = || {
        let held = bench.desk.json(&["inbox", "--agent", "coder"]);
        held["holding"][0]["progress"].clone()
    };
    assert_eq!(bench.hook("claude-code", "subagent-start", &[]), "");
    assert_eq!(progress(), "subagent general-purpose began");
    assert_eq!(bench.hook("opencode", "subagent-start", &[]), "");
    assert_eq!(progress(), "subagent task began");
    assert_eq!(bench.hook("codex", "subagent-stop", &[]), "");
    assert_eq!(progress(), "subagent explorer ended");
    bench.accepted("coder", "Something else");
    assert_eq!(bench.hook("claude-code", "subagent-start", &[]), "");
    let held = bench.desk.json(&["inbox", "--agent", "coder"])["holding"].clone();
    let said = held.as_array().expect("holds").iter().map(|hold| hold["progress"].clone());
    let (first, second) = (json!("subagent explorer ended"), Value::Null);
    assert_eq!(said.collect::<Vec<_>>(), [first, second], "it is not clear whose: {work}");
}

#[test]
fn a_packet_is_kept_before_the_context_is_lost_and_only_the_last_one() {
    let bench = Bench::new();
    let handoffs = bench.root().join(".baton/handoffs");
    // Gemini CLI says so before each request; most are too short to be compressed.
    let transcript = bench.root().join("session.json");
    fs::write(&transcript, "{}").expect("a transcript");
    let transcript = transcript.display().to_string();
    assert_eq!(bench.hook("gemini", "pre-compact", &[("TRANSCRIPT", &transcript)]), "");
    assert!(!handoffs.exists(), "nothing is about to be forgotten");
    for client in CLIENTS {
        assert_eq!(bench.hook(client, "pre-compact", &[]), "", "{client}");
    }
    let kept: Vec<_> = fs::read_dir(&handoffs).expect("a folder").flatten().collect();
    let yaml = kept.iter().map(|entry| entry.path()).filter(|path| path.extension().is_some());
    let yaml: Vec<_> = yaml.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
    assert_eq!(yaml.len(), 1, "{yaml:?}");
    let text = fs::read_to_string(&yaml[0]).expect("a packet");
    assert!(text.contains("from_agent: \"coder\""), "{text}");
    assert!(yaml[0].display().to_string().contains("handoff-coder-to-coder-"), "{yaml:?}");
    let told = context(&bench.hook("claude-code", "session-start", &[])).expect("a page");
    assert!(told.contains(".baton/handoffs/handoff-coder-to-coder-"), "{told}");
    let none_yet = || {
        let all = fs::read_dir(&handoffs).expect("a folder").flatten();
        !all.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|e| e == "yaml"))
    };
    fs::remove_file(&yaml[0]).expect("a file");
    assert_eq!(bench.hook("gemini", "pre-compact", &[]), "");
    assert!(none_yet(), "one was kept of late");
    // Nobody waits for it.
    let args = ["hook", "pre-compact", "--agent", "coder", "--client", "claude-code"];
    let sample = bench.sample("claude-code", "pre-compact", &[]);
    assert!(bench.feed(&args, sample.as_bytes(), &[]).status.success());
    let begun = std::time::Instant::now();
    while none_yet() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "no packet was kept");
        std::thread::yield_now();
    }
}

#[test]
fn an_answer_is_one_line_of_json_in_the_programs_form() {
    let bench = Bench::new();
    bench.delegate("coder", "Write the notes");
    let event = |client: &str| answer(&bench.hook(client, "user-prompt", &[]));
    assert_eq!(event("claude-code")["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
    bench.delegate("coder", "More");
    assert_eq!(event("gemini")["hookSpecificOutput"]["hookEventName"], "BeforeAgent");
}
