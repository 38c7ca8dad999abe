//! Results that are verified by commands, through the real binary and a real coordinator.

use std::fs;
use std::process::Command;

use crate::desk::Desk;

fn git(desk: &Desk, arguments: &[&str]) -> String {
    let named = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    let mut command = Command::new("git");
    let output = command.args(named).args(arguments).current_dir(desk.path()).output();
    let output = output.expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Has the operator delegate something to `worker` with these checks; returns the handoff.
fn delegate(desk: &Desk, checks: &[&str]) -> String {
    let pass = ["pass", "--to", "worker", "--reason", "do it", "--type", "delegation"];
    let more = ["--timeout", "1m", "--quiet"];
    let checks: Vec<&str> = checks.iter().flat_map(|check| ["--check", *check]).collect();
    desk.run(&[&pass[..], &more[..], &checks[..]].concat()).ok().trim().to_owned()
}

#[test]
fn a_return_is_reported_until_its_checks_pass_and_then_verified() {
    let desk = Desk::new();
    git(&desk, &["init", "--quiet", "."]);
    fs::write(desk.path().join("answer"), "41\n").expect("a file");
    git(&desk, &["add", "answer"]);
    git(&desk, &["commit", "--quiet", "--message", "first"]);
    let commit = git(&desk, &["rev-parse", "HEAD"]);
    desk.run(&["agent", "add", "worker"]).ok();
    let handoff = delegate(&desk, &["true", "grep 42 answer"]);
    let fence = desk.json(&["accept", &handoff, "--as", "worker"])["fence"].to_string();
    let give = ["return", &handoff, "--as", "worker", "--fence", &fence, "--text", "42"];
    desk.run(&give).ok();

    // The work is back with its holder, who is shown why.
    let shown = until(&desk, &handoff, "accepted");
    assert_eq!(shown["verification"]["standing"], "unverified", "{shown}");
    let evidence = &shown["verification"]["evidence"];
    assert_eq!(evidence["commit"].as_str(), Some(commit.as_str()));
    assert_eq!(evidence["checks"][0]["code"], 0);
    assert_eq!(evidence["checks"][1]["code"], 1);
    let told = desk.run(&["show", &handoff]).ok();
    assert!(told.contains("`grep 42 answer` failed with exit code 1"), "{told}");

    fs::write(desk.path().join("answer"), "42\n").expect("a file");
    desk.run(&give).ok();
    desk.run(&["wait", &handoff, "--timeout", "30s"]).ok();
    let shown = desk.json(&["show", &handoff]);
    assert_eq!(shown["verification"]["standing"], "verified", "{shown}");
    let evidence = &shown["verification"]["evidence"];
    assert_eq!(evidence["checks"][1]["output_tail"], "42\n");
    assert_eq!(evidence["uncommitted"], true);
    let log = desk.run(&["logs", &handoff]).ok();
    assert!(log.contains("[baton: check `grep 42 answer`]\n42\n"), "{log}");
}

/// The handoff, once it stands so.
fn until(desk: &Desk, handoff: &str, state: &str) -> serde_json::Value {
    for _ in 0..1_000 {
        let shown = desk.json(&["show", handoff]);
        if shown["state"] == state {
            return shown;
        }
    }
    panic!("it is never {state}")
}

#[test]
fn a_command_agent_is_run_again_with_what_its_checks_showed() {
    let desk = Desk::new();
    // It does it right once it is shown what was wrong.
    let script =
        "if grep -q '\"standing\":\"unverified\"' $BATON_PACKAGE; then echo 42 > answer; fi";
    fs::write(desk.path().join("work.sh"), script).expect("a script");
    desk.run(&["agent", "add", "worker", "--command", "sh work.sh"]).ok();
    let handoff = delegate(&desk, &["grep 42 answer"]);
    desk.run(&["wait", &handoff, "--timeout", "30s"]).ok();
    let shown = desk.json(&["show", &handoff]);
    assert_eq!(shown["state"], "completed", "{shown}");
    assert_eq!(shown["verification"]["standing"], "verified", "{shown}");
    assert_eq!(shown["verification"]["failed"], 1, "{shown}");

    // One that never does has failed after the third time, with the evidence.
    fs::write(desk.path().join("work.sh"), "echo done; rm -f answer").expect("a script");
    let handoff = delegate(&desk, &["grep 42 answer"]);
    desk.run(&["wait", &handoff, "--timeout", "30s"]).ok();
    let shown = desk.json(&["show", &handoff]);
    assert_eq!(shown["state"], "failed", "{shown}");
    assert_eq!(shown["verification"]["evidence"]["checks"][0]["code"], 2, "{shown}");
    assert_eq!(shown["verification"]["failed"], 3, "{shown}");
}

#[test]
fn a_check_that_hangs_or_cannot_start_fails_and_leaves_nothing_behind() {
    let desk = Desk::new();
    desk.run(&["agent", "add", "worker"]).ok();
    fs::write(desk.path().join("hang.sh"), "echo $$ > pid; sleep 1000").expect("a script");
    let pass = ["pass", "--to", "worker", "--reason", "x", "--type", "delegation", "--quiet"];
    let checks = ["--timeout", "1m", "--check", "no-such-program-here", "--check", "sh hang.sh"];
    let limit = ["--check-timeout", "1s"];
    let handoff = desk.run(&[&pass[..], &checks[..], &limit[..]].concat()).ok().trim().to_owned();
    let fence = desk.json(&["accept", &handoff, "--as", "worker"])["fence"].to_string();
    desk.run(&["return", &handoff, "--as", "worker", "--fence", &fence, "--text", "x"]).ok();
    let shown = until(&desk, &handoff, "accepted");
    let checks = &shown["verification"]["evidence"]["checks"];
    assert_eq!(checks[0]["ended"], "not_started", "{shown}");
    assert_eq!(checks[1]["ended"], "timed_out", "{shown}");
    let pid = fs::read_to_string(desk.path().join("pid")).expect("it ran");
    assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists(), "{pid} runs");
}

#[test]
fn an_agent_has_only_those_checks_run_that_the_policy_names() {
    let desk = Desk::new();
    desk.run(&["agent", "add", "worker"]).ok();
    desk.run(&["agent", "add", "lead"]).ok();
    let token = desk.run(&["token", "create", "--agent", "lead"]).ok();
    let env = [("BATON_AGENT", "lead"), ("BATON_TOKEN", token.trim())];
    let pass = ["pass", "--to", "worker", "--reason", "x", "--type", "delegation"];
    let pass = [&pass[..], &["--timeout", "1m", "--check", "touch owned"]].concat();
    let refused = desk.run_with(&pass, &env).fails(3);
    assert!(refused.contains("lead may not have `touch owned` run as a check"), "{refused}");
    assert!(refused.contains("`checks` of the policy"), "{refused}");
    let quoted = [&pass[..pass.len() - 1], &["sh -c 'exit 0'"]].concat();
    let refused = desk.run(&quoted).fails(2);
    assert!(refused.contains("quotes mean nothing here"), "{refused}");
    fs::write(desk.path().join("p.toml"), "checks = [[\"touch\", \"owned\"]]\n").expect("a file");
    desk.run(&["policy", "set", "p.toml"]).ok();
    desk.run_with(&pass, &env).ok();
}

#[test]
fn a_run_that_returned_by_itself_leaves_its_checks_alone() {
    let desk = Desk::new();
    let gate = desk.path().join("gate");
    let made = Command::new("mkfifo").arg(&gate).status().expect("mkfifo runs");
    assert!(made.success());
    let baton = env!("CARGO_BIN_EXE_baton");
    let script = format!("{baton} return $BATON_HANDOFF --text x");
    fs::write(desk.path().join("work.sh"), script).expect("a script");
    desk.run(&["agent", "add", "worker", "--command", "sh work.sh"]).ok();
    let handoff = delegate(&desk, &["grep 42 gate"]);
    until(&desk, &handoff, "returned");
    // What is left of the run is ended once it has returned; its check waits at the gate.
    let runs = desk.path().join(".baton/run/runs");
    let is_of_the_run = |name: &str| name.starts_with(&handoff) && !name.ends_with("-check.json");
    let goes_on = || {
        let mut names = fs::read_dir(&runs).expect("a folder").flatten();
        names.any(|entry| entry.file_name().to_str().is_some_and(is_of_the_run))
    };
    let begun = std::time::Instant::now();
    while goes_on() {
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "the run goes on");
        std::thread::yield_now();
    }
    fs::write(&gate, "42\n").expect("the check reads it");
    desk.run(&["wait", &handoff, "--timeout", "30s"]).ok();
    let shown = desk.json(&["show", &handoff]);
    assert_eq!(shown["verification"]["standing"], "verified", "{shown}");
    assert_eq!(shown["verification"]["failed"], 0, "{shown}");
}
