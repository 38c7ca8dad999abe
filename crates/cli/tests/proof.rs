//! Proof through the real binary: checking, exporting, checking elsewhere, losing, pruning.

#[path = "cli/desk.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod desk;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;

use baton_engine::{Engine, ManualClock};
use baton_protocol::command::{Actor, Submission};
use desk::Desk;
use serde_json::{Value, json};

/// A workspace with one workflow that is over and one that is not.
fn worked() -> (Desk, String) {
    let desk = Desk::with(&["builder"]);
    let first = desk.start("Add a login page");
    desk.run(&["complete", &first]).ok();
    desk.start("Add a logout page");
    (desk, first)
}

/// Changes the first `from` in a file.
fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("text");
    assert!(text.contains(from), "no {from} in {}", path.display());
    fs::write(path, text.replacen(from, to, 1)).expect("written");
}

fn first_segment(desk: &Desk) -> PathBuf {
    desk.path().join(".baton/ledger/000000000001.jsonl")
}

#[test]
fn a_trail_is_exported_and_checked_elsewhere() {
    let (desk, first) = worked();
    let key = desk.run(&["audit", "key"]).ok();
    let key = key.trim();
    let kept = desk.run(&["audit", "checkpoint"]).ok();
    assert!(kept.starts_with("baton/") && kept.contains("\n\n\u{2014} baton/"), "{kept}");
    desk.start("One more");
    for (out, more) in [("all.jsonl", None), ("one.jsonl", Some(first.as_str()))] {
        let mut words = vec!["audit", "export", "--out", out];
        if let Some(id) = more {
            words.extend(["--workflow", id, "--since", "kept"]);
            fs::write(desk.path().join("kept"), &kept).expect("written");
        }
        let told = desk.run(&words).ok();
        assert!(told.starts_with("exported ") && told.contains(key), "{told}");
    }
    desk.run(&["audit", "export", "--out", "all.jsonl"]).fails(1);
    desk.run(&["stop"]).ok();

    // Somewhere else, where there is no workspace.
    let elsewhere = tempfile::tempdir().expect("a folder");
    let check = |bundle: &str, key: &str, more: &[&str]| {
        let words = [&["audit", "verify", "--bundle", bundle, "--key", key], more].concat();
        let mut command = desk.baton(&words);
        let output = command.current_dir(elsewhere.path()).output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for name in ["all.jsonl", "one.jsonl", "kept"] {
        fs::copy(desk.path().join(name), elsewhere.path().join(name)).expect("copied");
    }
    for bundle in ["all.jsonl", "one.jsonl"] {
        let (exit, out, err) = check(bundle, key, &["--since", "kept"]);
        assert_eq!(exit, Some(0), "{out}{err}");
        assert!(out.starts_with("intact: "), "{out}");
        let (_, out, _) = check(bundle, key, &["--json"]);
        let found: Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!((&found["problem"], &found["signed"]), (&Value::Null, &json!(5)));
    }
    replace(&elsewhere.path().join("all.jsonl"), "Add a logout page", "Add a logout pagf");
    let (exit, _, err) = check("all.jsonl", key, &[]);
    assert_eq!(exit, Some(1), "{err}");
    assert!(err.contains("record 4 is damaged") && err.contains("(workflow/"), "{err}");
    let (exit, _, err) = check("one.jsonl", "nonsense", &[]);
    assert_eq!((exit, err.contains("not a key")), (Some(2), true), "{err}");
}

#[test]
fn a_changed_record_of_the_ledger_is_named_with_its_workflow() {
    let (desk, first) = worked();
    let told = desk.run(&["audit", "verify"]).ok();
    assert!(told.contains("intact: 4 records") && told.contains("signed: 4 records"), "{told}");
    fs::write(desk.path().join("kept"), desk.run(&["audit", "checkpoint"]).ok()).expect("written");
    desk.run(&["audit", "verify", "--since", "kept"]).ok();
    desk.run(&["stop"]).ok();
    replace(&first_segment(&desk), "Add a login page", "Add a login pagf");
    let said = desk.run(&["audit", "verify"]).fails(1);
    assert!(said.contains("record 2 is damaged"), "{said}");
    assert!(said.contains(&format!("(workflow/{first})")), "{said}");
    let json = desk.json(&["audit", "verify"]);
    assert_eq!(json["record"], 2);
}

/// Ends the process with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn records_that_are_gone_stop_the_start_until_somebody_accepts_it() {
    let (desk, _) = worked();
    desk.run(&["stop"]).ok();
    let ledger = desk.path().join(".baton/ledger");
    let names = fs::read_dir(&ledger).expect("a folder").map(|entry| entry.expect("a file").path());
    for path in names.filter(|path| path.to_string_lossy().contains("snapshot")) {
        fs::remove_file(path).expect("removed");
    }
    let text = fs::read_to_string(first_segment(&desk)).expect("text");
    let end = text.trim_end().rfind('\n').expect("several lines") + 1;
    let blank = "\n".repeat(text.len() - end);
    fs::write(first_segment(&desk), format!("{}{blank}", &text[..end])).expect("written");

    let said = desk.run(&["list"]).fails(1);
    assert!(said.contains("record 4 is damaged or missing"), "{said}");
    assert!(said.contains("baton serve --accept-loss"), "{said}");
    let mut serve = desk.baton(&["serve", "--accept-loss"]);
    let serving = serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let _serving = Serving(serving);
    let up = (0..10_000).any(|_| !desk.run(&["status", "--quiet"]).ok().is_empty());
    assert!(up, "it comes up");
    let told = desk.run(&["audit", "verify"]).ok();
    assert!(told.contains("intact: 3 records"), "{told}");
    assert!(told.contains("note: an operator accepted that what followed record 3 is lost"));
    desk.run(&["stop"]).ok();
    desk.start("It goes on");
}

#[test]
fn old_work_is_pruned_and_the_trail_still_checks() {
    let desk = Desk::new();
    desk.run(&["stop"]).ok();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let long_ago = "2024-01-01T00:00:00Z".parse().expect("a moment");
    let id = runtime.block_on(async {
        let clock = Arc::new(ManualClock::at(long_ago));
        let engine = Engine::open_at(&desk.path().join(".baton"), clock).expect("a ledger");
        let ask = async |key: &str, command: Value| {
            let command = serde_json::from_value(command).expect("a command");
            let submission = Submission::keyed(Actor::Operator, key, command);
            engine.submit(submission).await.expect("it is taken")
        };
        let id = ask("a", json!({"start": {"title": "Old secret"}})).await.workflow.expect("one");
        ask("b", json!({"complete": {"workflow": id}})).await;
        id.to_string()
    });
    let listed = desk.run(&["audit", "prune", "--dry-run"]).ok();
    assert!(listed.contains(&id[..8]) && listed.contains("90 days after completion"), "{listed}");
    assert_eq!(desk.json(&["audit", "prune"])["pruned"], json!([id]));
    assert!(desk.run(&["audit", "prune"]).ok().contains("nothing is past its period"));
    desk.run(&["stop"]).ok();
    let told = desk.run(&["audit", "verify"]).ok();
    assert!(told.contains("pruned: 2 records are stubs"), "{told}");
    let text = fs::read_to_string(first_segment(&desk)).expect("text");
    assert!(!text.contains("Old secret"), "what it said is gone");
    assert!(desk.run(&["audit", "log", "--oldest"]).ok().contains("pruned"));
    let key = desk.run(&["audit", "key"]).ok();
    for more in [&[][..], &["--workflow", &id]] {
        let _ = fs::remove_file(desk.path().join("out"));
        desk.run(&[&["audit", "export", "--out", "out"], more].concat()).ok();
        let check = ["audit", "verify", "--bundle", "out", "--key", key.trim()];
        assert!(desk.run(&check).ok().contains("2 records are stubs"));
    }
}

#[test]
fn settings_that_keep_too_little_are_refused_with_their_line() {
    let desk = Desk::new();
    let config = desk.path().join(".baton/config.toml");
    fs::write(config, "[retention]\nescalated_days = 7\n").expect("written");
    desk.run(&["stop"]).ok();
    let said = desk.run(&["list"]).fails(2);
    assert!(said.contains("escalated_days is at least 180 days, found 7"), "{said}");
}

#[test]
fn the_audit_is_written_to_files_when_asked_for() {
    let desk = Desk::new();
    let config = desk.path().join(".baton/config.toml");
    let setting = "audit_dir = \"core/logs/<project>/handoff-audit\"\n";
    fs::write(config, setting).expect("written");
    desk.run(&["stop"]).ok();
    desk.run(&["agent", "add", "builder"]).ok();
    desk.run(&["pass", "--to", "builder", "--reason", "the design is done"]).ok();
    let project = desk.path().file_name().expect("a name");
    let dir = desk.path().join("core/logs").join(project).join("handoff-audit");
    let read = || -> String {
        let files = fs::read_dir(&dir).into_iter().flatten();
        files.map(|file| fs::read_to_string(file.expect("a file").path()).expect("text")).collect()
    };
    // It follows behind; whoever asks the coordinator gives it time.
    let written = (0..10_000).any(|_| {
        desk.run(&["status"]).ok();
        read().contains("the design is done")
    });
    assert!(written, "the line comes");
    let line: Value = serde_json::from_str(read().trim()).expect("one line");
    assert_eq!((&line["event_type"], &line["to_agent"]), (&json!("initiated"), &json!("builder")));
}
