//! `baton prime` and `baton statusline` through the real binary.

use serde_json::Value;

use super::bench::{Bench, silent};

#[test]
fn a_new_session_is_told_who_it_is_and_what_is_its() {
    let bench = Bench::new();
    let prime =
        |args: &[&str]| bench.desk.run(&[&["prime", "--agent", "coder"][..], args].concat());
    let quiet = prime(&[]).ok();
    assert!(quiet.starts_with("# Baton: you are coder\nNothing waits for you"), "{quiet}");
    assert!(quiet.contains("## Others here: "), "{quiet}");

    let (work, fence, handoff) = bench.accepted("coder", "Add a login page");
    bench.as_agent("coder", &["progress", &work, "--fence", &fence, "--note", "half way"]);
    let waits = bench.delegate("coder", "Write the notes");
    let packet = ["packet", "--from", "reviewer", "--to", "coder", "--write"];
    bench.desk.run(&[&packet[..], &["--next", "Fix the retry"]].concat()).ok();
    let told = prime(&[]).ok();
    let parts = [&waits[..8], &handoff[..8], "fence 2", "half way", "Fix the retry", "reviewer"];
    for part in parts {
        assert!(told.contains(part), "no {part} in {told}");
    }
    let json: Value = serde_json::from_str(&prime(&["--json"]).ok()).expect("JSON");
    assert_eq!(json["agent"], "coder");
    assert_eq!(json["inbox"]["waiting"][0]["id"], waits.as_str());
    assert!(json["tokens"].as_u64().is_some_and(|tokens| tokens < 1_500), "{json}");
    assert_eq!(json["markdown"], told.as_str());
}

#[test]
fn a_huge_workspace_is_told_in_as_little() {
    let bench = Bench::new();
    let lines = (0..300).map(|n| {
        let (reason, task) = ("because of this and that ".repeat(20), format!("Part {n} 漢字 🦀"));
        serde_json::json!({ "command": { "pass": {
            "to_agent": "coder", "type": "delegation", "reason": reason,
            "context": { "task_id": task }, "return_protocol": { "timeout": "1h" },
        } } })
        .to_string()
    });
    let passes: String = lines.map(|line| line + "\n").collect();
    for n in 0..60 {
        let agent = format!("somebody-with-a-long-name-{n}");
        bench.desk.run(&["agent", "add", &agent, "--capability", "rust"]).ok();
    }
    bench.batch(&passes);
    let json = bench.desk.json(&["prime", "--agent", "coder"]);
    let waiting = json["inbox"]["waiting"].as_array().map_or(0, Vec::len);
    let queued = json["inbox"]["queued"].as_array().map_or(0, Vec::len);
    assert!(waiting + queued > 100, "{waiting} {queued}");
    assert!(json["tokens"].as_u64().is_some_and(|tokens| tokens <= 1_500), "{}", json["tokens"]);
    let page = json["markdown"].as_str().expect("a page");
    assert!(page.contains("more\n") && page.contains("and "), "{page}");
}

#[test]
fn a_status_line_says_what_waits_and_what_is_held() {
    let bench = Bench::new();
    let line = || {
        let sample = bench.sample("claude-code", "statusline", &[]);
        silent(bench.feed(&["statusline", "--agent", "coder"], sample.as_bytes(), &[]))
    };
    assert_eq!(line(), "baton coder");
    bench.accepted("coder", "Add a login page");
    bench.delegate("coder", "Write the notes");
    bench.delegate("coder", "Write more notes");
    let expected = "baton coder · 2 waiting · holds 1 (Add a login page, fence 2)";
    assert_eq!(line(), expected);
}
