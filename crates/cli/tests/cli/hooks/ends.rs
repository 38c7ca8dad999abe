//! How a turn and a session end: what is asked about, given back, and kept.

use serde_json::Value;

use super::bench::{Bench, CLIENTS, answer};

fn went_on(client: &str, said: &str) -> String {
    let said = answer(said);
    let why = match client {
        "claude-code" | "codex" => {
            assert_eq!(said["decision"], "block", "{said}");
            &said["reason"]
        }
        "gemini" => {
            assert_eq!(said["decision"], "deny", "{said}");
            &said["reason"]
        }
        _ => &said["go_on"],
    };
    why.as_str().expect("a reason").to_owned()
}

#[test]
fn an_agent_that_stops_is_asked_once_about_what_it_holds_in_silence() {
    let bench = Bench::new();
    for client in CLIENTS {
        assert_eq!(bench.hook(client, "stop", &[]), "", "{client}");
    }
    let (work, fence, handoff) = bench.accepted("coder", "Add a login page");
    for client in CLIENTS {
        let session = [("SESSION", client)];
        let why = went_on(client, &bench.hook(client, "stop", &session));
        let fence = format!("fence {fence}");
        for part in ["Add a login page", &fence, &handoff[..8], "return_handoff"] {
            assert!(why.contains(part), "no {part} in {why}");
        }
        assert_eq!(bench.hook(client, "stop", &session), "", "{client}: asked twice");
    }
    let active = bench.sample("claude-code", "stop", &[("SESSION", "s-9")]);
    let active = active.replace("\"stop_hook_active\": false", "\"stop_hook_active\": true");
    let args = ["hook", "stop", "--agent", "coder"];
    assert_eq!(super::bench::silent(bench.feed(&args, active.as_bytes(), &[])), "");
    // Who says how it goes is not asked.
    bench.as_agent("coder", &["progress", &work, "--fence", &fence, "--note", "half way"]);
    assert_eq!(bench.hook("claude-code", "stop", &[("SESSION", "s-8")]), "");
}

fn state(bench: &Bench, handoff: &str) -> Value {
    bench.desk.json(&["show", handoff])["state"].clone()
}

#[test]
fn what_was_not_begun_goes_back_when_the_session_ends() {
    for client in CLIENTS {
        let bench = Bench::new();
        let (work, fence, part) = bench.accepted("coder", "Write the notes");
        let whole = bench.desk.start("Release");
        let pass = ["pass", &whole, "--to", "coder", "--reason", "yours", "--quiet"];
        let passed = bench.desk.run(&pass).ok().trim().to_owned();
        bench.as_agent("coder", &["accept", &passed]);
        bench.believes("coder", &[(&work, Some(&part), &fence), (&whole, Some(&passed), "2")]);
        assert_eq!(bench.hook(client, "session-end", &[]), "", "{client}");
        let shown = bench.desk.json(&["show", &part]);
        assert_eq!(shown["state"], "failed", "{client}: {shown}");
        let back = bench.desk.json(&["inbox"]);
        assert_eq!(back["waiting"][0]["workflow"], whole.as_str(), "{client}: {back}");
        assert!(back["waiting"][0]["reason"].to_string().contains("ended before it began"));
        // Until it is taken again, the work has an owner; the agent waits for nothing else.
        let own = bench.desk.json(&["inbox", "--agent", "coder"]);
        assert_eq!(own["passed"][0]["to_agent"], "operator", "{client}: {own}");
        assert_eq!(own["holding"][1], Value::Null, "{client}: {own}");
    }
}

#[test]
fn what_was_begun_is_kept_with_a_packet() {
    let bench = Bench::new();
    let (work, fence, handoff) = bench.accepted("coder", "Write the notes");
    bench.believes("coder", &[(&work, Some(&handoff), &fence)]);
    let end = |session: &str| {
        assert_eq!(bench.hook("claude-code", "session-end", &[("SESSION", session)]), "");
        assert_eq!(state(&bench, &handoff), "accepted", "{session}");
    };
    // A person who clears the context is still there.
    let cleared = bench.sample("claude-code", "session-end", &[]);
    let cleared = cleared.replace("prompt_input_exit", "clear");
    let args = ["hook", "stop", "--agent", "coder"];
    assert_eq!(super::bench::silent(bench.feed(&args, cleared.as_bytes(), &[])), "");
    assert_eq!(state(&bench, &handoff), "accepted");
    assert!(!bench.root().join(".baton/handoffs").exists(), "nothing was left to anybody");
    // Another session of the same agent may be at it.
    assert_ne!(bench.hook("claude-code", "session-start", &[("SESSION", "other")]), "");
    end("s-1");
    assert!(bench.root().join(".baton/handoffs").is_dir(), "a packet is kept");
    // A file was written.
    let session = [("SESSION", "other"), ("FILE", "a.rs")];
    assert_eq!(bench.hook("claude-code", "post-tool-use", &session), "");
    end("other");
    // A variable was written.
    let set = ["vars", &work, "branch=login", "--fence", &fence];
    bench.as_agent("coder", &set);
    end("third");
}

#[test]
fn what_this_session_did_not_accept_is_left_alone() {
    let bench = Bench::new();
    let (_, _, handoff) = bench.accepted("coder", "Write the notes");
    assert_eq!(bench.hook("claude-code", "session-end", &[]), "");
    assert_eq!(state(&bench, &handoff), "accepted", "nobody wrote down that a session took it");
}

#[test]
fn a_short_session_of_any_program_leaves_a_packet_with_what_it_began() {
    for client in super::CLIENTS {
        let bench = Bench::new();
        let (work, fence, handoff) = bench.accepted("coder", "Write the notes");
        bench.believes("coder", &[(&work, Some(&handoff), &fence)]);
        let transcript = bench.root().join("session.jsonl").display().to_string();
        std::fs::write(&transcript, "{}\n").expect("a transcript");
        let session = [("TRANSCRIPT", transcript.as_str()), ("FILE", "a.rs")];
        assert_eq!(bench.hook(client, "post-tool-use", &session), "", "{client}");
        assert_eq!(bench.hook(client, "session-end", &session), "", "{client}");
        assert_eq!(state(&bench, &handoff), "accepted", "{client}");
        assert!(bench.root().join(".baton/handoffs").is_dir(), "{client}: a packet is kept");
    }
}
