//! A hook does no harm: whatever is missing, broken, slow or mad, it is silent and ends well.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::{Duration, Instant};

use super::bench::{Bench, CLIENTS, silent};

const EVENTS: [&str; 8] = [
    "session-start",
    "user-prompt",
    "pre-tool-use",
    "post-tool-use",
    "pre-compact",
    "stop",
    "subagent-start",
    "subagent-stop",
];

/// Runs every hook with this input and expects silence.
fn all_silent(bench: &Bench, input: &[u8], env: &[(&str, &str)]) {
    for event in EVENTS {
        let args = ["hook", event, "--agent", "coder"];
        assert_eq!(silent(bench.feed(&args, input, env)), "", "{event}");
    }
    assert_eq!(silent(bench.feed(&["statusline", "--agent", "coder"], input, env)), "");
}

#[test]
fn nothing_is_said_without_a_workspace_a_token_or_a_coordinator() {
    let bench = Bench::new();
    bench.lock("reviewer", "a.rs");
    bench.delegate("coder", "Write the notes");
    let edit = bench.sample("claude-code", "pre-tool-use", &[("FILE", "a.rs")]);
    let edit = edit.replace("\"Edit\"", "\"Write\"");

    let elsewhere = tempfile::tempdir().expect("a folder");
    let lost = [("BATON_WORKSPACE", elsewhere.path().to_str().expect("UTF-8"))];
    all_silent(&bench, edit.as_bytes(), &lost);

    let token = bench.root().join(".baton/sessions/coder.token");
    let known = fs::read_to_string(&token).expect("a token");
    fs::remove_file(&token).expect("no token");
    all_silent(&bench, edit.as_bytes(), &[]);
    fs::write(&token, "bt1_coder_wrong_token").expect("a token");
    for event in ["session-start", "pre-tool-use", "stop"] {
        let args = ["hook", event, "--agent", "coder"];
        assert_eq!(silent(bench.feed(&args, edit.as_bytes(), &[])), "", "{event}");
    }
    fs::write(&token, known).expect("a token");

    bench.desk.run(&["stop"]).ok();
    fs::remove_dir_all(bench.root().join(".baton/run/hooks")).expect("a folder");
    all_silent(&bench, edit.as_bytes(), &[]);
    assert!(!bench.root().join(".baton/run/baton.sock").exists(), "nobody was started");
    // Only who asks hears why.
    let traced =
        bench.feed(&["hook", "stop", "--agent", "coder"], b"{}", &[("BATON_LOG", "debug")]);
    let said = String::from_utf8_lossy(&traced.stderr).into_owned();
    assert!(traced.status.success() && said.contains("NobodyThere"), "{said}");
}

#[test]
fn mad_input_does_no_harm() {
    let bench = Bench::new();
    let cwd = bench.root().display().to_string();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_inside = format!("{{\"cwd\":{deep}}}");
    let huge = format!("{{\"cwd\":\"{cwd}\",\"x\":\"{}\"}}", "y".repeat(6 * 1024 * 1024));
    let long_path = format!(
        "{{\"cwd\":\"{cwd}\",\"tool_name\":\"Edit\",\"tool_input\":{{\"file_path\":\"{}\"}}}}",
        "a/".repeat(100_000)
    );
    let odd_types = r#"{"cwd":7,"session_id":{"a":1},"tool_name":["Edit"],"tool_input":true,
        "transcript_path":[],"stop_hook_active":"yes","hook_event_name":null,"agent_type":0}"#;
    let odd_edit = r#"{"tool_name":"Edit","tool_input":{"file_path":["a","\u0000"]}}"#;
    let odd_names = r#"{"session_id":"../../../x\u0000/é","cwd":"/no/such/folder\u0000",
        "transcript_path":"/dev/zero","tool_name":"apply_patch",
        "tool_input":"*** Add File: \u0000"}"#;
    let inputs: [&[u8]; 12] = [
        b"",
        b"\xff\xfe\x00binary\x00",
        b"null",
        b"[]",
        b"\"text\"",
        b"{\"cwd\":",
        deep.as_bytes(),
        deep_inside.as_bytes(),
        huge.as_bytes(),
        long_path.as_bytes(),
        odd_types.as_bytes(),
        odd_edit.as_bytes(),
    ];
    for input in inputs.into_iter().chain([odd_names.as_bytes()]) {
        for event in EVENTS {
            for client in CLIENTS {
                let args = ["hook", event, "--agent", "coder", "--client", client];
                let said = silent(bench.feed(&args, input, &[]));
                let start = String::from_utf8_lossy(&input[..input.len().min(60)]).into_owned();
                // A packet from earlier rounds may be there to tell of.
                let told = said.is_empty() || event == "session-start";
                assert!(told, "{client} {event} {start}: {said}");
            }
        }
        let said = silent(bench.feed(&["statusline", "--agent", "coder"], input, &[]));
        assert!(said.is_empty() || said == "baton coder", "{said}");
    }
    let kept = fs::read_dir(bench.root().join(".baton/run/hooks/coder")).expect("a folder");
    assert!(kept.count() <= 4, "names from outside make no files elsewhere");
}

#[test]
fn a_command_line_that_makes_no_sense_does_not_stop_a_tool() {
    let bench = Bench::new();
    for args in [
        &["hook"][..],
        &["hook", "before-everything"],
        &["hook", "stop", "--client", "emacs"],
        &["hook", "stop", "--agent", "Not A Name"],
        &["hook", "stop", "--agent", "ghost"],
        &["hook", "stop", "--colour"],
        &["statusline", "now"],
    ] {
        assert_eq!(silent(bench.feed(args, b"{}", &[])), "", "{args:?}");
    }
    let help = bench.desk.run(&["hook", "--help"]).ok();
    assert!(help.contains("pre-tool-use"), "{help}");
}

#[test]
fn a_slow_or_broken_coordinator_is_as_good_as_none() {
    let bench = Bench::new();
    bench.desk.run(&["stop"]).ok();
    let socket = bench.root().join(".baton/run/baton.sock");
    let edit = bench.sample("claude-code", "pre-tool-use", &[("FILE", "a.rs")]);
    // What it says before it goes silent, and whether it then hangs up.
    let answers: [(&[u8], bool); 5] = [
        (b"", false),
        (b"", true),
        (b"\x00\xffnot http\r\n\r\n", true),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n[", false),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n[[[", true),
    ];
    for (answer, hangs_up) in answers {
        let _ = fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).expect("a socket");
        let (answer, (over, ended)) = (answer.to_vec(), std::sync::mpsc::channel::<()>());
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a caller");
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(&answer);
            if !hangs_up {
                // Stays on the line until the hook has given up.
                let _ = ended.recv();
            }
        });
        let begun = Instant::now();
        let args = ["hook", "pre-tool-use", "--agent", "coder"];
        assert_eq!(silent(bench.feed(&args, edit.as_bytes(), &[])), "");
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        drop(over);
        server.join().expect("an end");
    }
    fs::remove_file(&socket).expect("no socket");
}
