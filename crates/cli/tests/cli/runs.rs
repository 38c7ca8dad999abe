//! Agents that Baton runs and calls, through the real binary and a real coordinator.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use crate::desk::Desk;
use crate::service::Service;

/// Makes `worker` a command that reads this script.
fn script(desk: &Desk, text: &str) {
    fs::write(desk.path().join("work.sh"), text).expect("a script");
    desk.run(&["agent", "add", "worker", "--command", "sh work.sh"]).ok();
}

/// Delegates something to `worker` and returns the handoff.
fn delegate(desk: &Desk, more: &[&str]) -> String {
    let pass = ["pass", "--to", "worker", "--reason", "do it", "--type", "delegation", "--quiet"];
    desk.run(&[&pass[..], more].concat()).ok().trim().to_owned()
}

fn gate(desk: &Desk) -> std::path::PathBuf {
    let path = desk.path().join("gate");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    path
}

/// What it said, read from the beginning until it said this.
fn until(reader: &mut impl BufRead, word: &str) -> String {
    let mut said = String::new();
    while !said.contains(word) {
        assert_ne!(reader.read_line(&mut said).expect("it can be read"), 0, "only: {said}");
    }
    said
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[test]
fn a_command_agent_works_end_to_end() {
    let desk = Desk::new();
    script(&desk, "echo \"$(grep -c reason) package for $BATON_AGENT\"");
    let handoff = delegate(&desk, &["--timeout", "1m"]);
    let told = desk.run(&["wait", &handoff, "--timeout", "30s"]).ok();
    assert!(told.contains("1 package for worker"), "{told}");

    let baton = env!("CARGO_BIN_EXE_baton");
    let itself = format!("{baton} return $BATON_HANDOFF --text 'by itself'");
    script(&desk, &format!("{itself} && seq 50000 && echo unheard"));
    let handoff = delegate(&desk, &["--timeout", "1m"]);
    let told = desk.run(&["wait", &handoff, "--timeout", "30s"]).ok();
    assert!(told.contains("by itself") && !told.contains("unheard"), "{told}");
    // It was not ended for having answered: the verb inside heard its answer, the rest ran, and all
    // that was still in the pipe when it ended is in the log.
    let log = desk.run(&["logs", "--follow", &handoff]).ok();
    assert!(log.contains("unheard"), "{log}");
    let life = desk.json(&["audit", "log", "--handoff", &handoff]).to_string();
    assert!(life.contains("accepted"), "{life}");

    let whole = desk.run(&["pass", "--to", "worker", "--reason", "all of it", "--json"]).ok();
    let whole: serde_json::Value = serde_json::from_str(&whole).expect("JSON");
    // The script returns what is no subtask, which is refused, and so it fails: a person is asked.
    let workflow = whole["workflow"].as_str().expect("an id");
    let asked = desk.run(&["inbox", "--wait", "30s"]).ok();
    assert!(asked.contains("escalation"), "{asked}");
    desk.run(&["cancel", workflow, "--reason", "seen enough"]).ok();
}

#[test]
fn a_log_can_be_followed_until_the_run_is_over() {
    let desk = Desk::new();
    let gate = gate(&desk);
    script(&desk, "echo first; cat gate; echo last >&2");
    let handoff = delegate(&desk, &["--timeout", "1m"]);
    let mut follow = desk.baton(&["logs", "--follow", &handoff]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().expect("it runs");
    let mut reader = BufReader::new(follow.stdout.take().expect("piped"));
    until(&mut reader, "first");
    fs::write(&gate, "through\n").expect("somebody reads");
    let mut rest = String::new();
    reader.read_to_string(&mut rest).expect("it ends with the run");
    // What goes to two pipes has no order between them.
    assert_eq!(sorted(&rest), ["last", "through"]);
    assert!(follow.wait().expect("it ends").success());
    assert_eq!(sorted(&desk.run(&["logs", &handoff]).ok()), ["first", "last", "through"]);

    desk.run(&["agent", "add", "rival"]).ok();
    let token = desk.run(&["token", "create", "--agent", "rival"]).ok();
    let env = [("BATON_AGENT", "rival"), ("BATON_TOKEN", token.trim())];
    desk.run_with(&["logs", &handoff], &env).fails(4);
}

#[test]
fn a_deadline_ends_the_whole_process_group() {
    let desk = Desk::new();
    script(&desk, "sh -c 'trap \"\" TERM; echo $$ > grandchild; echo up; sleep 1000' & wait");
    let handoff = delegate(&desk, &["--timeout", "1s"]);
    let told = desk.run(&["wait", &handoff, "--timeout", "30s"]).ok();
    assert!(told.contains("timed_out"), "{told}");
    // The log is over once nothing of the run is left.
    assert_eq!(desk.run(&["logs", "--follow", &handoff]).ok(), "up\n");
    let grandchild = fs::read_to_string(desk.path().join("grandchild")).expect("it was there");
    assert!(!is_running(&grandchild), "{grandchild} still runs");
}

#[test]
fn a_run_that_outlives_a_killed_coordinator_is_ended_before_it_is_begun_again() {
    let desk = Desk::new();
    let first = "[ -e first ] || { echo $$ > first; echo up; exec sleep 1000; }";
    // One that has ended and that nobody collected is there by name only.
    let again = "grep -q '^State:.[RSD]' /proc/$(cat first)/status && echo both || echo alone";
    script(&desk, &format!("{first}\n{again}\n"));
    let handoff = delegate(&desk, &["--timeout", "5m"]);
    let mut follow = desk.baton(&["logs", "--follow", &handoff]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().expect("it runs");
    until(&mut BufReader::new(follow.stdout.take().expect("piped")), "up");
    follow.kill().expect("it ends");
    follow.wait().expect("it ends");

    let pid = i32::try_from(desk.coordinator()).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process"), rustix::process::Signal::KILL)
        .expect("a coordinator to kill");
    let orphan = fs::read_to_string(desk.path().join("first")).expect("it was there");
    assert!(is_running(&orphan), "the run outlives its coordinator");
    let told = desk.run(&["wait", &handoff, "--timeout", "60s"]).ok();
    assert!(told.contains("alone"), "{told}");
    assert!(!is_running(&orphan), "{orphan} still runs");
    let records = desk.run(&["audit", "log"]).ok();
    assert_eq!(records.matches("  accepted  ").count(), 1, "under the same hold: {records}");
}

#[test]
fn a_service_is_called_until_it_answers() {
    let desk = Desk::new();
    let config = "[outgoing]\nallow = [\"127.0.0.0/8\"]\n";
    fs::write(desk.path().join(".baton/config.toml"), config).expect("a file");
    let service = Service::start(&["200 {\"done\": 1}", "202", "500", "200 at last"]);
    desk.run(&["agent", "add", "worker", "--http", &service.url]).ok();
    assert!(desk.run(&["agent", "secret", "worker"]).ok().starts_with("whsec_"));

    let now = delegate(&desk, &["--timeout", "1m"]);
    let told = desk.run(&["wait", &now, "--timeout", "30s"]).ok();
    assert!(told.contains("\"done\": 1"), "{told}");
    assert!(service.next().contains("baton-signature: t="));

    let later = delegate(&desk, &["--timeout", "1m"]);
    service.next();
    // Its word that it accepts is recorded a moment after it was given.
    while desk.json(&["show", &later])["state"] != "accepted" {}
    let token = desk.run(&["token", "create", "--agent", "worker"]).ok();
    let fence = desk.json(&["show", &later])["fence"].to_string();
    let give = ["return", &later, "--text", "built", "--fence", &fence];
    let env = [("BATON_AGENT", "worker"), ("BATON_TOKEN", token.trim())];
    desk.run_with(&give, &env).ok();
    assert!(desk.run(&["wait", &later, "--timeout", "30s"]).ok().contains("built"));

    let retried = delegate(&desk, &["--timeout", "1m"]);
    let told = desk.run(&["wait", &retried, "--timeout", "30s"]).ok();
    assert!(told.contains("at last"), "{told}");
    assert_eq!(desk.json(&["show", &retried])["resends"], 1);
}
