//! What a hostile or hurried caller meets: odd environments, lost sockets, damage, repeated keys.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::desk::{Desk, Ran};

#[test]
fn a_token_that_did_not_arrive_makes_nobody_the_operator() {
    let desk = Desk::new();
    let with = |token: &str| desk.run_with(&["list"], &[("BATON_TOKEN", token)]);
    assert!(with("").fails(3).contains("BATON_TOKEN is set and empty"));
    assert!(with(" \n").fails(3).contains("unset it to act as the operator"));
    assert!(with("bt1_a\nbt1_b").fails(2).contains("BATON_TOKEN holds a line break"));
}

#[test]
fn usage_errors_are_json_when_json_is_asked_for() {
    let desk = Desk::new();
    let error = |args: &[&str]| {
        let said: Value = serde_json::from_str(&desk.run(args).fails(2)).expect("JSON");
        assert!(said["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{said}");
        assert_eq!(said["error"]["code"], "usage", "{said}");
        said["error"]["message"].as_str().expect("a message").to_owned()
    };
    assert!(error(&["lst", "--json"]).contains("unrecognized subcommand 'lst'"));
    assert!(error(&["list", "--limit", "0", "--json"]).contains("invalid value '0'"));
    assert!(error(&["--json"]).contains("no verb"));
    assert!(error(&["--json", "demo"]).contains("no JSON"));
    assert!(error(&["accept", &"x".repeat(100_000), "--json"]).len() < 1_000);
    assert!(desk.run(&["accept", &"x".repeat(100_000)]).fails(2).len() < 1_000);
    assert!(desk.run(&["list", "--help", "--json"]).ok().contains("Usage:"));
}

#[test]
fn a_coordinator_takes_over_neither_secrets_nor_open_files() {
    let desk = Desk::new();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "exec 9>held; exec \"$0\" agent list", env!("CARGO_BIN_EXE_baton")]);
    shell.current_dir(desk.path()).env("MY_SECRET", "hush").env("LC_BATON", "kept");
    assert!(shell.output().expect("a run").status.success());
    let process = format!("/proc/{}", desk.coordinator());
    let environment = fs::read(format!("{process}/environ")).expect("its environment");
    let environment = String::from_utf8_lossy(&environment).into_owned();
    assert!(environment.contains("LC_BATON=kept"), "{environment}");
    assert!(!environment.contains("hush"), "{environment}");
    let open = fs::read_dir(format!("{process}/fd")).expect("its open files");
    let open = open.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    let held: Vec<_> = open.filter(|path| path.ends_with("held")).collect();
    assert!(held.is_empty(), "{held:?}");
}

#[test]
fn a_lost_socket_is_told_and_the_next_verb_gets_through() {
    let desk = Desk::new();
    let id = desk.start("Work");
    let first = desk.coordinator();
    fs::remove_dir_all(desk.path().join(".baton/run")).expect("a folder");
    // By now it may have noticed, so either answer is right.
    let said = desk.run(&["status"]).ok();
    assert!(said.contains("its socket was removed") || said.contains("no coordinator"), "{said}");
    assert_eq!(desk.run(&["list", "--quiet"]).ok().trim(), id);
    assert_ne!(desk.coordinator(), first);
}

#[test]
fn a_damaged_ledger_is_told_once_with_the_way_out() {
    let desk = Desk::new();
    for n in 0..3 {
        desk.start(&format!("Work {n}"));
    }
    desk.run(&["stop"]).ok();
    let files = fs::read_dir(desk.path().join(".baton/ledger")).expect("a ledger").flatten();
    for path in files.map(|entry| entry.path()) {
        let mut bytes = fs::read(&path).expect("a file");
        let title = b"Work 0";
        if let Some(at) = bytes.windows(title.len()).position(|part| part == title) {
            bytes[at] = b'X';
            fs::write(&path, bytes).expect("a file");
        }
    }
    let said = desk.run(&["list"]).fails(1);
    assert_eq!(said.matches("is damaged").count(), 1, "{said}");
    assert_eq!(said.matches("cannot open the ledger").count(), 1, "{said}");
    assert!(said.contains("hint: nothing was changed; restore `.baton/ledger`"), "{said}");
}

#[test]
fn two_spellings_of_a_file_are_one_lock() {
    let desk = Desk::new();
    let [one, two] = ["One", "Two"].map(|title| desk.start(title));
    fs::create_dir(desk.path().join("src")).expect("a folder");
    symlink("src", desk.path().join("lib")).expect("a link");
    desk.run(&["lock", &one, "src/a.rs"]).ok();
    assert!(desk.run(&["lock", &two, "lib/a.rs"]).fails(3).contains("src/a.rs"));
    assert!(desk.run(&["lock", &two, "a\tb"]).fails(2).contains("control character"));
    assert!(desk.run(&["lock", &two, "/etc/passwd"]).fails(2).contains("leads out"));
    assert!(desk.run(&["lock", &one, "src/a.rs", "--for", "10m"]).ok().contains("(in 10m)"));
}

#[test]
fn a_repeated_key_is_told_as_the_first_time() {
    let desk = Desk::new();
    let [one, two] = ["One", "Two"].map(|title| desk.start(title));
    let start = |title: &str| desk.run(&["start", title, "--key", "k"]);
    let first = start("Three").ok();
    assert!(first.contains(": Three (fence 1)"), "{first}");
    assert_eq!(start("Three").ok(), first);
    assert!(start("Four").fails(3).contains("this key was used before"));
    let complete = |id: &str| desk.run(&["complete", id, "--key", "c"]);
    for _ in 0..2 {
        assert_eq!(complete(&one).ok(), format!("completed {}\n", &one[..8]));
    }
    let said = desk.run(&["cancel", &two, "--reason", "r"]).ok();
    assert_eq!(said, format!("cancelled workflow {}\n", &two[..8]));
}

#[test]
fn nobody_cannot_be_acted_for() {
    let desk = Desk::new();
    let id = desk.start("Work");
    for args in [&["list"][..], &["show", &id], &["inbox"], &["stats"], &["start", "More"]] {
        let said = desk.run(&[args, &["--as", "nobody"]].concat()).fails(4);
        assert!(said.contains("there is no agent nobody"), "{args:?}: {said}");
    }
}

#[test]
fn the_process_alone_can_be_asked_for() {
    let desk = Desk::new();
    assert!(desk.run(&["status", "-q"]).ok().is_empty());
    desk.start("Work");
    assert_eq!(desk.run(&["status", "-q"]).ok(), format!("{}\n", desk.coordinator()));
}

#[test]
fn a_folder_of_definitions_may_hold_a_readme() {
    let desk = Desk::new();
    let folder = desk.path().join("agents");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("README.md"), "# Agents\n").expect("a file");
    let text = "---\nname: reviewer\ndescription: Use it: always\n---\n";
    fs::write(folder.join("reviewer.md"), text).expect("a file");
    let ran: Ran = desk.run(&["agent", "import", "agents"]);
    assert!(ran.err.contains("note: skipped agents/README.md"), "{ran}");
    ran.ok();
    let known = desk.json(&["agent", "show", "reviewer"]);
    assert_eq!(known["profile"]["description"], json!("Use it: always"));
}

#[test]
fn an_address_that_a_verb_does_not_heed_is_refused_when_it_was_typed() {
    let desk = Desk::new();
    let elsewhere = "http://127.0.0.1:9";
    let verbs =
        [(&["doctor"][..], 2), (&["init", "shop"], 2), (&["bench"], 2), (&["tag", "list"], 1)];
    for (verb, exit) in verbs {
        let told = desk.run(&[verb, &["--url", elsewhere]].concat()).fails(exit);
        assert!(told.contains("works on this machine"), "{told}");
        assert_eq!(told.starts_with("ERROR"), exit == 1, "{told}");
    }
    assert!(!desk.path().join("shop").exists());
    // In the environment it is for the verbs that heed it.
    let there = [("BATON_URL", elsewhere), ("BATON_TOKEN", "bt1_builder_0123")];
    desk.run_with(&["tag", "list"], &there).ok();
    for verb in ["list", "status", "stop"] {
        let told = desk.run_with(&[verb], &there).fails(1);
        assert!(told.contains(&format!("nobody answers at {elsewhere}")), "{verb}: {told}");
    }
}

#[test]
fn a_coordinator_that_nobody_needs_ends_by_itself() {
    let desk = Desk::new();
    let mut serve = desk.baton(&["serve", "--idle-after", "100ms"]).spawn().expect("it starts");
    assert!(serve.wait().expect("it ends").success());
}

#[test]
fn the_demo_plays_to_its_end() {
    let desk = Desk::new();
    let told = desk.run(&["demo", "--fast"]).ok();
    for act in ["refused [stale-fence]", "is killed with SIGKILL", "intact: "] {
        assert!(told.contains(act), "{act} is missing in:\n{told}");
    }
}
