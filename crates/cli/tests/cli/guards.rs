//! Guardrails through the real binary.

use std::fs;

use serde_json::Value;

use crate::desk::Desk;

/// A desk with agents that have tokens, and a policy.
fn guarded(policy: &str, agents: &[&str]) -> (Desk, Vec<String>) {
    let desk = Desk::new();
    fs::write(desk.path().join("policy.toml"), policy).expect("a policy");
    let tokens = agents.iter().map(|agent| {
        desk.run(&["agent", "add", agent]).ok();
        desk.run(&["token", "create", "--agent", agent]).ok().trim().to_owned()
    });
    let tokens = tokens.collect();
    desk.run(&["policy", "set", "policy.toml"]).ok();
    (desk, tokens)
}

fn env<'a>(agent: &'a str, token: &'a str) -> [(&'a str, &'a str); 2] {
    [("BATON_AGENT", agent), ("BATON_TOKEN", token)]
}

#[test]
fn a_handoff_waits_for_a_person_who_sees_what_would_be_passed() {
    let policy = "approval = [{ name = \"deploys\", when = 'to == \"deployer\"' }]";
    let (desk, tokens) = guarded(policy, &["builder", "deployer"]);
    let told = desk.path().join("told");
    let made = std::process::Command::new("mkfifo").arg(&told).status().expect("mkfifo runs");
    assert!(made.success());
    let script = desk.path().join("tell.sh");
    let notify = format!("notify = [{{ command = [\"sh\", {script:?}, {told:?}] }}]");
    let tell = "echo \"$BATON_NEWS: $2\" > \"$1\"";
    fs::write(&script, tell).expect("a script");
    fs::write(desk.path().join("policy.toml"), format!("{policy}\n{notify}")).expect("a policy");
    desk.run(&["policy", "set", "policy.toml"]).ok();
    let builder = env("builder", &tokens[0]);
    let deployer = env("deployer", &tokens[1]);
    let start = ["start", "Ship it", "--var", "branch=main", "--quiet"];
    let work = desk.run_with(&start, &builder).ok().trim().to_owned();
    let pass = ["pass", &work, "--to", "deployer", "--reason", "tests pass", "--fence", "1"];
    let passed = desk.run_with(&[&pass[..], &["--json"]].concat(), &builder).ok();
    let passed: Value = serde_json::from_str(&passed).expect("JSON");
    let handoff = passed["handoff"].as_str().expect("an id").to_owned();

    // Somebody is told, in words.
    let told = fs::read_to_string(&told).expect("it is written to");
    assert_eq!(told, "approval: builder wants to pass work to deployer: tests pass\n");
    assert!(desk.run_with(&["inbox"], &deployer).ok().contains("nothing"), "it waits");
    desk.run_with(&["show", &handoff], &deployer).fails(4);
    desk.run_with(&["accept", &handoff], &deployer).fails(4);
    let approve = ["approve", &handoff, "--hash", &"0".repeat(64)];
    desk.run_with(&approve, &builder).fails(3);
    desk.run_with(&approve, &deployer).fails(4);
    assert!(desk.run(&["approvals"]).ok().contains("awaiting_approval"));
    let said = desk.run_with(&["approve", &handoff], &[("CLAUDECODE", "1")]).fails(3);
    assert!(
        said.contains("a shell of Claude Code"),
        "a model does not approve by its shell: {said}"
    );
    for other in [&["deny", &handoff, "--because", "no"][..], &["token", "create", "--operator"]] {
        desk.run_with(other, &[("CODEX_SANDBOX_NETWORK_DISABLED", "1")]).fails(3);
    }
    let shown = desk.run(&["approvals", &handoff]).ok();
    for part in ["builder", "deployer", "tests pass", "\"branch\": \"main\"", "deploys", "hash "] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let hash = shown.lines().find_map(|line| line.strip_prefix("hash ")).expect("a hash");

    // The agent changes it meanwhile: what the person saw is void.
    let vars = ["vars", &work, "branch=evil", "--fence", "1"];
    desk.run_with(&vars, &builder).ok();
    let stale = desk.run(&["approve", &handoff, "--hash", hash]).fails(3);
    assert!(stale.contains("has changed since"), "{stale}");
    desk.run(&["approve", &handoff]).ok();
    desk.run_with(&["accept", &handoff], &deployer).ok();
}

#[test]
fn a_no_ends_the_work() {
    let policy = "approval = [{ name = \"all\", when = \"true\" }]";
    let (desk, tokens) = guarded(policy, &["builder", "deployer"]);
    let builder = env("builder", &tokens[0]);
    let pass = ["pass", "--to", "deployer", "--reason", "ship it", "--json"];
    let passed = desk.run_with(&pass, &builder).ok();
    let passed: Value = serde_json::from_str(&passed).expect("JSON");
    let (handoff, work) = (passed["handoff"].as_str(), passed["workflow"].as_str());
    let said = desk.run(&["deny", handoff.expect("an id"), "--because", "not on a Friday"]).ok();
    assert!(said.contains("the workflow is over"), "{said}");
    let shown = desk.run(&["show", work.expect("an id")]).ok();
    assert!(shown.contains("cancelled") && shown.contains("not on a Friday"), "{shown}");
}

#[test]
fn limits_are_shown_kept_and_raised() {
    let (desk, tokens) = guarded("max_handoffs = 1", &["builder", "reviewer"]);
    let builder = env("builder", &tokens[0]);
    let work = desk.run_with(&["start", "Small work", "--quiet"], &builder).ok();
    let work = work.trim();
    let delegate = |task: &str| {
        let pass = ["pass", work, "--to", "reviewer", "--type", "delegation", "--timeout", "1h"];
        let rest = ["--reason", task, "--fence", "1"];
        desk.run_with(&[&pass[..], &rest[..]].concat(), &builder)
    };
    delegate("look").ok();
    let refused = delegate("look again").fails(3);
    assert!(refused.contains("may begin 1 handoffs") && refused.contains("baton limits"));
    let shown = desk.run(&["limits", work]).ok();
    assert!(shown.contains("handoffs") && shown.contains("no limit"), "{shown}");
    desk.run_with(&["limits", work, "--handoffs", "2"], &builder).fails(3);
    desk.run(&["limits", work, "--handoffs", "2"]).ok();
    delegate("look again").ok();
    desk.run_with(&["fall-back", work, "--fence", "1", "--because", "nobody looks"], &builder).ok();
    let alone = delegate("a third time").fails(3);
    assert!(alone.contains("handoffs are switched off"), "{alone}");
}

#[test]
fn a_breaker_opens_and_is_reset() {
    let (desk, tokens) = guarded("breaker = { failures = 1 }", &["builder", "shaky"]);
    let shaky = env("shaky", &tokens[1]);
    let pass = ["pass", "--to", "shaky", "--type", "delegation", "--timeout", "1h"];
    let passes = |why: &str| desk.run(&[&pass[..], &["--reason", why, "--quiet"]].concat());
    let handoff = passes("one").ok().trim().to_owned();
    let accepted = desk.run_with(&["accept", &handoff, "--json"], &shaky).ok();
    let accepted: Value = serde_json::from_str(&accepted).expect("JSON");
    let fence = accepted["fence"].to_string();
    desk.run_with(&["return", &handoff, "--fence", &fence, "--status", "failed"], &shaky).ok();
    assert!(desk.run(&["breaker"]).ok().contains("open"));
    let refused = passes("two").fails(3);
    assert!(refused.contains("circuit breaker is open"), "{refused}");
    desk.run(&["breaker", "reset", "shaky"]).ok();
    passes("three").ok();
}

#[test]
fn a_policy_that_makes_no_sense_is_refused_with_its_place() {
    let (desk, _) = guarded("", &[]);
    let set = |text: &str, code: i32| {
        fs::write(desk.path().join("bad.toml"), text).expect("a file");
        desk.run(&["policy", "set", "bad.toml"]).fails(code)
    };
    assert!(set("max_handoffs = \"many\"", 2).contains("max_handoffs"));
    assert!(set("max_handofs = 3", 2).contains("max_handofs"));
    let bad = set("approval = [{ name = \"r\", when = \"rsik == 1\" }]", 3);
    assert!(bad.contains("approval rule r") && bad.contains("rsik"), "{bad}");
    let twice = "approval = [{ name = \"r\", when = \"true\" }, { name = \"r\", when = \"true\" }]";
    assert!(set(twice, 3).contains("two approval rules are called r"));
    let shown = desk.run(&["policy"]).ok();
    assert!(shown.contains("max_handoffs = 5") && shown.contains("[classes.simple]"), "{shown}");
}

#[test]
fn a_cycle_of_fifty_agents_in_as_many_processes_is_named_in_full() {
    let agents: Vec<String> = (0..50).map(|n| format!("agent-{n:02}")).collect();
    let names: Vec<&str> = agents.iter().map(String::as_str).collect();
    let (desk, tokens) = guarded("max_handoffs = 100", &names);
    let first = env(names[0], &tokens[0]);
    let work = desk.run_with(&["start", "Round", "--quiet"], &first).ok().trim().to_owned();
    let mut fence = "1".to_owned();
    let pass = |from: usize, to: usize, fence: &str| {
        let back = ["--type", "delegation", "--timeout", "1h", "--blocking", "--quiet"];
        let words = ["pass", &work, "--to", names[to], "--reason", "yours", "--fence", fence];
        desk.run_with(&[&words[..], &back[..]].concat(), &env(names[from], &tokens[from]))
    };
    for to in 1..names.len() {
        let handoff = pass(to - 1, to, &fence).ok();
        let accepted =
            desk.run_with(&["accept", handoff.trim(), "--quiet"], &env(names[to], &tokens[to]));
        fence = accepted.ok().trim().to_owned();
        if matches!(to, 1 | 9) {
            // Also the short ones are refused, each in one decision, and change nothing.
            let refused = pass(to, 0, &fence).fails(3);
            assert!(names[..=to].iter().all(|name| refused.contains(name)), "{refused}");
        }
    }
    let refused = pass(names.len() - 1, 0, &fence).fails(3);
    assert!(names.iter().all(|name| refused.contains(name)), "{refused}");
}

#[test]
fn what_waits_is_told_to_its_receiver_nowhere() {
    let policy = "approval = [{ name = \"deploys\", when = 'to == \"deployer\"' }]";
    let (desk, tokens) = guarded(policy, &["builder", "deployer"]);
    let (builder, deployer) = (env("builder", &tokens[0]), env("deployer", &tokens[1]));
    let pass = ["pass", "--to", "deployer", "--reason", "HIDDEN", "--var", "key=HIDDEN"];
    let handoff = desk.run_with(&[&pass[..], &["--quiet"]].concat(), &builder).ok();
    for look in [&["audit", "log", "--json"][..], &["inbox"], &["list"]] {
        let told = desk.run_with(look, &deployer).ok();
        assert!(!told.contains("HIDDEN") && !told.contains("to =="), "{look:?}: {told}");
    }
    desk.run(&["approve", handoff.trim()]).ok();
    assert!(desk.run_with(&["show", handoff.trim()], &deployer).ok().contains("HIDDEN"));
    // Who passes something on in an agent's name has passed it on.
    let own = ["pass", "--as", "builder", "--to", "deployer", "--reason", "mine", "--quiet"];
    let own = desk.run(&own).ok();
    assert!(desk.run(&["approve", own.trim()]).fails(3).contains("approve_own"));
}

#[test]
fn a_policy_that_is_printed_reads_back() {
    let (desk, _) = guarded("max_handoffs = 7\nchecks = [[\"true\"]]", &[]);
    fs::write(desk.path().join("again.toml"), desk.run(&["policy"]).ok()).expect("a file");
    assert!(desk.run(&["policy", "check", "again.toml"]).ok().contains("7 handoffs"));
    desk.run(&["approve", "7be1", "--hash", ""]).fails(4);
}
