//! The command line as people and scripts meet it: the real binary, a real coordinator.

#[path = "cli/checks.rs"]
mod checks;
#[path = "cli/contexts.rs"]
mod contexts;
#[path = "cli/definitions.rs"]
mod definitions;
#[path = "cli/desk.rs"]
mod desk;
#[path = "cli/dispatch.rs"]
mod dispatch;
#[path = "cli/edges.rs"]
mod edges;
#[path = "cli/events.rs"]
mod events;
#[path = "cli/flow.rs"]
mod flow;
#[path = "cli/guards.rs"]
mod guards;
#[path = "cli/hooks.rs"]
mod hooks;
#[path = "cli/mcp.rs"]
mod mcp;
#[path = "cli/measure.rs"]
mod measure;
#[path = "cli/objects.rs"]
mod objects;
#[path = "cli/packet.rs"]
mod packet;
#[path = "cli/past.rs"]
mod past;
#[path = "cli/runs.rs"]
mod runs;
#[path = "cli/secrets.rs"]
mod secrets;
#[path = "cli/service.rs"]
mod service;
#[path = "cli/setup.rs"]
mod setup;
#[path = "cli/shop.rs"]
mod shop;
#[path = "cli/switch.rs"]
mod switch;
#[path = "cli/tags.rs"]
mod tags;
#[path = "cli/tags_people.rs"]
mod tags_people;
#[path = "cli/tags_told.rs"]
mod tags_told;
#[path = "cli/teams.rs"]
mod teams;
#[path = "cli/watch.rs"]
mod watch;
#[path = "cli/workflows.rs"]
mod workflows;

use std::fs;
use std::process::Stdio;

use desk::Desk;
use expect_test::expect;
use serde_json::{Value, json};

/// What is said of an agent that nobody made known.
const GHOST: &str = "there is no agent ghost";

#[test]
fn work_is_passed_taken_and_completed() {
    let desk = Desk::new();
    let say = |args: &[&str]| desk.run(args).ok();
    say(&["agent", "add", "builder", "--capability", "rust"]);
    // Ids follow from the key, so this story reads the same every time.
    let start = ["start", "Add a login page", "--key", "k1"];
    let mut told = say(&start);
    let work = &say(&[&start[..], &["--quiet"]].concat())[..6];
    let to_builder = ["--to", "builder", "--reason", "the design is done", "--key", "k2"];
    told += &say(&[&["pass", work][..], &to_builder].concat());
    let handoff = say(&["inbox", "--as", "builder", "--quiet"]);
    told += &say(&["accept", &handoff[..6], "--as", "builder"]);
    let as_builder = ["--as", "builder", "--fence", "2"];
    told += &say(&[&["progress", work, "--note", "half way"][..], &as_builder].concat());
    told += &say(&[&["complete", work, "--note", "shipped"][..], &as_builder].concat());
    told += &say(&["list"]);
    told += &say(&["audit", "verify"]);
    expect![[r#"
        started 297e7d5d: Add a login page (fence 1)
        passed to builder as handoff a1b1e305 (workflow 297e7d5d)
        accepted a1b1e305 from operator
          fence       2
          workflow    297e7d5d Add a login page
          reason      the design is done
          type        sequential
          variables   task_status = "in_progress"
                      task_priority = "normal"
        noted for 297e7d5d
        completed 297e7d5d
        no workflow is open
        intact: 7 records in 2 chains
        signed: 7 records, 1 checkpoints agree
    "#]]
    .assert_eq(&told);

    let shown = say(&["show", work]);
    for part in ["Add a login page", "completed", "shipped", "the design is done"] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    let log = say(&["audit", "log"]);
    let words = ["registered", "started", "initiated", "accepted", "completed", "progressed"];
    for word in [&words[..], &["closed"]].concat() {
        assert!(log.contains(word), "no {word} in {log}");
    }
    assert!(log.lines().all(|line| line.chars().count() <= 80), "too wide: {log}");
}

#[test]
fn a_delegation_comes_back_and_its_life_is_told_in_ten_steps() {
    let desk = Desk::with(&["builder"]);
    let workflow = desk.start("Release 1.4");
    let pass = ["pass", &workflow, "--to", "builder", "--reason", "needs notes", "--quiet"];
    let delegation = ["--type", "delegation", "--timeout", "30m", "--task", "Write the notes"];
    let handoff = desk.run(&[&pass[..], &delegation].concat()).ok().trim().to_owned();

    let package = desk.json(&["accept", &handoff, "--as", "builder"]);
    assert_eq!(package["handoff"]["context"]["task_id"], "Write the notes");
    let fence = package["fence"].to_string();
    let stale = ["return", &handoff, "--as", "builder", "--text", "x", "--fence", "99"];
    assert!(desk.run(&stale).fails(3).contains("fence 99 "));

    let mut give = desk.baton(&["return", &handoff, "--as", "builder", "--text", "done"]);
    let gave = give.env("BATON_FENCE", fence).output().expect("a run");
    assert!(gave.status.success(), "{gave:?}");
    assert!(desk.run(&["wait", &handoff]).ok().contains("result      done"));
    let life = desk.run(&["show", &handoff]).ok();
    for step in ["trigger", "prepare", "validate", "initiate", "acknowledge", "accept"] {
        assert!(life.contains(step), "no {step} in {life}");
    }
    for step in ["execute", "return", "complete", "release"] {
        assert!(life.contains(step), "no {step} in {life}");
    }
}

#[test]
fn each_kind_of_failure_has_its_exit_code() {
    let desk = Desk::with(&["builder"]);
    let workflow = desk.start("Work");
    let pass = ["pass", &workflow, "--to", "builder", "--reason", "r", "--quiet"];
    let handoff = desk.run(&pass).ok().trim().to_owned();

    desk.run(&["start"]).fails(2);
    desk.run(&["start", " "]).fails(2);
    desk.run(&["accept", "not-an-id"]).fails(2);
    desk.run(&["pass", "--json-input", "nowhere.json"]).fails(2);
    desk.run(&["accept", &workflow[..8], "--as", "builder"]).fails(2);
    fs::write(desk.path().join("bad.json"), r#"{"to_agent":"builder"}"#).expect("a file");
    assert!(desk.run(&["pass", "--json-input", "bad.json"]).fails(2).contains("reason"));
    desk.run(&["pass", "--json-input", "bad.json", "--to", "builder"]).fails(2);
    let no_timeout = ["pass", "--to", "builder", "--reason", "r", "--type", "delegation"];
    assert!(desk.run(&no_timeout).fails(3).contains("hint: add --timeout"));
    assert!(desk.run(&["accept", &handoff]).fails(3).contains("is for builder"));
    desk.run(&["agent", "show", "ghost"]).fails(4);
    desk.run(&["show", "00000000"]).fails(4);
    desk.run(&["list", "--workspace", "/"]).fails(4);
    assert!(desk.run(&["wait", &handoff, "--timeout", "20ms"]).fails(5).contains("initiated"));
    assert!(desk.run(&["wait", &workflow, "--timeout", "20ms"]).fails(5).contains("open"));
    desk.run(&["inbox", "--wait", "20ms"]).fails(5);
}

#[test]
fn a_coordinator_that_cannot_start_says_why() {
    let desk = Desk::new();
    let (config, ledger) = (".baton/config.toml", ".baton/ledger");
    fs::write(desk.path().join(config), "idle_afer = 3\n").expect("a file");
    let said = desk.run(&["list"]).fails(2);
    assert!(said.contains("config.toml: line 1: unknown field `idle_afer`"), "{said}");
    fs::remove_file(desk.path().join(config)).expect("a file");

    fs::write(desk.path().join(ledger), "in the way").expect("a file");
    let said = desk.run(&["list"]).fails(1);
    assert!(said.contains("the coordinator did not start"), "{said}");
    assert!(said.contains("cannot open the ledger"), "{said}");
    fs::remove_file(desk.path().join(ledger)).expect("a file");
    desk.run(&["list"]).ok();
}

#[test]
fn every_question_prints_json_when_asked() {
    let desk = Desk::with(&["builder"]);
    let workflow = desk.start("Work");
    for args in [
        &["agent", "list"][..],
        &["agent", "show", "builder"],
        &["list", "--all"],
        &["list", "--handoffs"],
        &["inbox"],
        &["show", &workflow],
        &["vars", &workflow],
        &["vars", &workflow, "branch=main"],
        &["artifact", "add", &workflow, "a.rs:code"],
        &["artifact", "list", &workflow],
        &["lock", &workflow, "a.rs"],
        &["lock", "--list"],
        &["unlock", &workflow],
        &["audit", "log"],
        &["audit", "verify"],
        &["stats"],
        &["token", "create", "--agent", "builder"],
        &["token", "list"],
        &["status"],
        &["init"],
    ] {
        assert!(!desk.json(args).is_null(), "{args:?}");
    }
    let error = desk.run(&["agent", "show", "ghost", "--json"]).fails(4);
    let error: Value = serde_json::from_str(&error).expect("JSON on standard error");
    let error = &error["error"];
    assert_eq!((&error["code"], &error["message"]), (&json!("unknown-agent"), &json!(GHOST)));
    assert!(error["hint"].as_str().is_some_and(|hint| hint.contains("baton agent list")));
}

#[test]
fn a_whole_handoff_can_come_as_json() {
    let desk = Desk::with(&["builder"]);
    let whole = json!({
        "to_agent": "builder", "type": "delegation", "reason": "needs tests",
        "return_protocol": {"timeout": "PT30M", "on_timeout": "retry"},
        "context": {"task_id": "Test it", "context_variables": {"branch": "main"}},
    });
    fs::write(desk.path().join("pass.json"), whole.to_string()).expect("a file");
    let mut pass = desk.baton(&["pass", "--json-input", "-", "--json"]);
    let input = fs::File::open(desk.path().join("pass.json")).expect("a file");
    let passed = pass.stdin(input).env("BATON_FENCE", "7").output().expect("a run");
    assert!(passed.status.success(), "{passed:?}");
    let answer: Value = serde_json::from_slice(&passed.stdout).expect("JSON");
    let handoff = desk.json(&["show", answer["handoff"].as_str().expect("an id")]);
    assert_eq!(handoff["return_protocol"]["timeout"], "30m");
    assert_eq!(handoff["context"]["context_variables"]["custom"]["branch"], "main");
}

#[test]
fn any_unique_beginning_of_an_id_will_do() {
    let desk = Desk::new();
    let ids: Vec<_> = (0..17).map(|n| desk.start(&format!("Work {n}"))).collect();
    assert!(desk.run(&["show", &ids[0][..12]]).ok().contains("Work 0"));
    // Seventeen ids have at most sixteen first characters.
    let first = |id: &String| id[..1].to_owned();
    let twice =
        ids.iter().find(|id| ids.iter().filter(|other| first(other) == first(id)).count() > 1);
    let said = desk.run(&["show", &first(twice.expect("two that begin alike"))]).fails(3);
    assert!(said.contains("begin with"), "{said}");
}

#[test]
fn an_agent_acts_by_its_token_and_never_as_the_operator() {
    let desk = Desk::with(&["builder"]);
    let token = desk.run(&["token", "create", "--agent", "builder"]).ok().trim().to_owned();
    desk.run(&["pass", "--to", "builder", "--reason", "work"]).ok();
    let agent = |args: &[&str], token: Option<&str>| {
        let mut command = desk.baton(args);
        command.env("BATON_AGENT", "builder");
        token.map(|token| command.env("BATON_TOKEN", token));
        let output = command.output().expect("a run");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (exit, _, said) = agent(&["inbox"], None);
    assert_eq!(exit, Some(3), "{said}");
    assert!(said.contains("baton token create --agent builder"), "{said}");

    let (exit, handoff, said) = agent(&["inbox", "--quiet"], Some(&token));
    assert_eq!((exit, handoff.lines().count()), (Some(0), 1), "{said}");
    let (exit, ..) = agent(&["accept", handoff.trim()], Some(&token));
    assert_eq!(exit, Some(0));
    for refused in [&["agent", "add", "mole"][..], &["inbox", "--as", "operator"], &["stop"]] {
        let (exit, _, said) = agent(refused, Some(&token));
        assert_eq!(exit, Some(3), "{refused:?}: {said}");
    }

    let id = desk.run(&["token", "list", "--quiet"]).ok();
    desk.run(&["token", "revoke", &id[..8]]).ok();
    let (exit, _, said) = agent(&["inbox"], Some(&token));
    assert_eq!(exit, Some(3), "{said}");
}

#[test]
fn a_race_of_many_first_verbs_ends_with_one_coordinator() {
    let desk = Desk::new();
    let racers: Vec<_> = (0..16)
        .map(|n| {
            let name = format!("racer-{n}");
            let mut command = desk.baton(&["agent", "add", &name]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a racer")
        })
        .collect();
    for racer in racers {
        let output = racer.wait_with_output().expect("an end");
        assert!(output.status.success(), "{output:?}");
    }
    // All of them and the operator are in one ledger, so one coordinator answered them all.
    assert_eq!(desk.run(&["agent", "list", "--quiet"]).ok().lines().count(), 17);
    let root = desk.path().canonicalize().expect("a folder").display().to_string();
    assert_eq!(serving(&root), [desk.coordinator()]);
}

/// The processes that serve `root`; ended ones that nobody collected have no command line.
fn serving(root: &str) -> Vec<u64> {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
    pids.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(" serve ") && line.contains(root)
    })
    .collect()
}

#[test]
fn a_killed_coordinator_loses_nothing_and_the_next_verb_starts_another() {
    let desk = Desk::new();
    let start = ["start", "Work", "--key", "once", "--quiet"];
    let id = desk.run(&start).ok();
    let first = desk.coordinator();
    let pid = i32::try_from(first).ok().and_then(rustix::process::Pid::from_raw);
    rustix::process::kill_process(pid.expect("a process"), rustix::process::Signal::KILL)
        .expect("a coordinator to kill");
    assert_eq!(desk.run(&start).ok(), id, "the same command is answered as before");
    assert_eq!(desk.run(&["list", "--quiet"]).ok(), id);
    assert_ne!(desk.coordinator(), first);
    assert!(desk.run(&["audit", "verify"]).ok().contains("intact"));
}

#[test]
fn stopping_is_safe_at_any_time() {
    let desk = Desk::new();
    assert!(desk.run(&["stop"]).ok().contains("no coordinator"));
    assert_eq!(desk.json(&["status"])["running"], false);
    for round in 0..3 {
        desk.start(&format!("Round {round}"));
        assert_eq!(desk.run(&["stop"]).ok(), "stopped\n");
    }
    assert_eq!(desk.run(&["list", "--quiet"]).ok().lines().count(), 3);
}

#[test]
fn agents_come_from_files_all_or_none() {
    let desk = Desk::new();
    let folder = desk.path().join("agents");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("a.yaml"), "- id: builder\n- id: tester\n").expect("a file");
    fs::write(folder.join("b.md"), "---\nname: Code Reviewer\nrole: boss\n---\n").expect("a file");
    let said = desk.run(&["agent", "import", "agents"]).fails(2);
    assert!(said.contains("agents/b.md:3: unknown variant `boss`"), "{said}");
    assert_eq!(desk.run(&["agent", "list", "--quiet"]).ok(), "operator\n");

    fs::write(folder.join("b.md"), "---\nname: Code Reviewer\n---\n").expect("a file");
    desk.run(&["agent", "import", "agents"]).ok();
    let known = desk.run(&["agent", "list", "--quiet"]).ok();
    assert_eq!(known, "builder\ncode-reviewer\noperator\ntester\n");
}

#[test]
fn a_missing_capability_turns_a_pass_away_and_a_gap_is_told() {
    let desk = Desk::new();
    desk.run(&["agent", "add", "builder", "--capability", "rust:0.4"]).ok();
    let pass = ["pass", "--to", "builder", "--reason", "r", "--requires", "rust:0.9"];
    let said = desk.run(&pass).fails(3);
    assert!(said.contains("builder cannot take it"), "{said}");
    assert!(said.contains("is yours: `baton pass"), "{said}");

    desk.run(&["agent", "add", "builder", "--capability", "rust"]).ok();
    let ran = desk.run(&[&pass[..], &["--requires", "sql"]].concat());
    assert!(ran.err.contains("warning: builder lacks sql"), "{ran}");
    ran.ok();
}

#[test]
fn colour_is_for_terminals_unless_asked_for() {
    let desk = Desk::with(&["builder"]);
    assert!(!desk.run(&["agent", "list"]).ok().contains('\u{1b}'));
    assert!(desk.run(&["agent", "list", "--color", "always"]).ok().contains("\u{1b}["));
    let said = desk.run(&["agent", "show", "ghost", "--color", "always"]).fails(4);
    assert!(said.contains("\u{1b}["), "{said}");
}
