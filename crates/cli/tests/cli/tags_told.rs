//! What the ledger hears of tags in files: everything, once, also of what was done without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::desk::Desk;

const REQUEST: &str = "# Login is slow\n**Tags**: #needs-fix #P1\n\nIt takes 9 s.\n";

/// The notes that wait.
fn waiting(desk: &Desk) -> Vec<PathBuf> {
    let entries = fs::read_dir(desk.path().join(".baton/spool")).into_iter().flatten().flatten();
    let mut notes: Vec<_> = entries.map(|entry| entry.path()).collect();
    notes.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    notes.sort();
    notes
}

/// The moves that the ledger knows of a file, in its own words.
fn story(desk: &Desk, file: &str) -> Vec<String> {
    let log = desk.json(&["audit", "log", "--file", file, "--oldest"]);
    let records = log["records"].as_array().expect("records");
    let word = |event: &Value, name: &str| event[name].as_str().unwrap_or("-").to_owned();
    let told = |record: &Value| {
        let event = &record["event"];
        let [item, from, to] = ["item", "from", "to"].map(|name| word(event, name));
        format!("{} {item}: {from} > {to}", word(event, "mover"))
    };
    records.iter().map(told).collect()
}

/// An intent to move a tag whose writer ended before it could say what came of it.
fn intent(desk: &Desk, name: &str, to: &str, extra: &Value) {
    let mut note = json!({
        "writer": {"pid": 4_000_000_u32, "started": 1, "boot": "another"},
        "made": false,
        "move": {
            "file": "a.md", "item": "#fix", "to": to, "mover": "worker",
            "moved_at": "2026-11-16T12:00:00Z",
        },
    });
    for (field, value) in extra.as_object().into_iter().flatten() {
        note["move"][field] = value.clone();
    }
    let folder = desk.path().join(".baton/spool");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name), note.to_string()).expect("a note");
}

fn request(desk: &Desk) -> PathBuf {
    let path = desk.path().join("a.md");
    fs::write(&path, REQUEST).expect("a file");
    path
}

#[test]
fn moves_of_tags_that_no_coordinator_saw_are_in_the_ledger_later_and_once() {
    let desk = Desk::new();
    request(&desk);
    for [old, new] in [
        ["#needs-fix", "#delegated-fix"],
        ["#delegated-fix", "#claimed-fix"],
        ["#claimed-fix", "#done-fix"],
    ] {
        desk.run(&["tag", "swap", "a.md", old, new]).ok();
    }
    desk.run(&["tag", "remove", "a.md", "#P1"]).ok();
    desk.run(&["tag", "remove", "a.md", "#P1"]).ok();
    desk.run(&["tag", "add", "a.md", "#done-fix"]).ok();
    desk.run(&["tag", "swap", "a.md", "#needs-fix", "#delegated-fix"]).fails(1);
    assert_eq!(waiting(&desk).len(), 4, "what changed nothing is not noted");
    let told = [
        "person #fix: #needs-fix > #delegated-fix",
        "person #fix: #delegated-fix > #claimed-fix",
        "person #fix: #claimed-fix > #done-fix",
        "person #P1: #P1 > -",
    ];
    assert_eq!(story(&desk, "a.md"), told);
    assert_eq!(waiting(&desk), [] as [&Path; 0]);
    assert_eq!(story(&desk, "a.md"), told);
}

#[test]
fn a_running_coordinator_hears_of_tags_and_alerts_at_once() {
    let desk = Desk::new();
    request(&desk);
    desk.run(&["agent", "add", "builder"]).ok();
    desk.run(&["tag", "swap", "a.md", "#needs-fix", "#delegated-fix"]).ok();
    desk.run_with(
        &["tag", "swap", "a.md", "#delegated-fix", "#claimed-fix"],
        &[("BATON_AGENT", "builder")],
    )
    .ok();
    assert_eq!(waiting(&desk).len(), 1, "an agent without a token only notes it");
    let raised = desk.json(&["alert", "raise", "The build is red"]);
    let alert = raised["file"].as_str().expect("a file").to_owned();
    assert_eq!(waiting(&desk), [] as [&Path; 0], "a person tells of it, too");
    desk.run(&["alert", "resolve", &alert]).ok();
    let told =
        ["person #fix: #needs-fix > #delegated-fix", "worker #fix: #delegated-fix > #claimed-fix"];
    assert_eq!(story(&desk, "a.md"), told);
    let told = [
        "person #active-alert: - > #active-alert",
        "person #active-alert: #active-alert > #done-alert",
    ];
    assert_eq!(story(&desk, &alert), told);
}

#[test]
fn an_agent_that_has_a_token_leaves_a_persons_move_to_a_person() {
    let desk = Desk::new();
    request(&desk);
    desk.run(&["tag", "swap", "a.md", "#needs-fix", "#delegated-fix"]).ok();
    desk.run(&["agent", "add", "builder"]).ok();
    let token = desk.run(&["token", "create", "--agent", "builder", "--quiet"]).ok();
    let env = [("BATON_AGENT", "builder"), ("BATON_TOKEN", token.trim())];
    desk.run_with(&["tag", "swap", "a.md", "#delegated-fix", "#claimed-fix"], &env).ok();
    assert_eq!(waiting(&desk).len(), 2, "the later move waits behind the earlier");
    assert!(!desk.path().join(".baton/spool/refused").exists());
    let all =
        ["person #fix: #needs-fix > #delegated-fix", "worker #fix: #delegated-fix > #claimed-fix"];
    assert_eq!(story(&desk, "a.md"), all);
}

#[test]
fn after_a_crash_the_file_says_whether_a_move_of_a_tag_was_made() {
    let desk = Desk::new();
    let path = request(&desk);
    fs::write(&path, "# A\n**Tags**: #claimed-fix\n**Session**: sessions/s1, #fix, fence 1\n")
        .expect("a file");
    intent(&desk, "1-made.json", "#claimed-fix", &json!({"session": "sessions/s1"}));
    intent(&desk, "2-lost.json", "#claimed-fix", &json!({"session": "sessions/s2"}));
    intent(&desk, "3-never.json", "#done-fix", &json!({}));
    intent(
        &desk,
        "4-forged.json",
        "#claimed-fix",
        &json!({"session": "sessions/s1", "mover": "x"}),
    );
    let hash = "0".repeat(64);
    intent(&desk, "5-hash.json", "#claimed-fix", &json!({"hash": hash, "mover": "person"}));
    let log = desk.json(&["audit", "log", "--file", "a.md", "--oldest"]);
    let events: Vec<_> = log["records"].as_array().expect("records").iter().collect();
    assert_eq!(events.len(), 2, "{log}");
    for record in events {
        assert_eq!(record["event"]["reason"], "found after a crash");
        assert!(record["event"]["hash"].is_null(), "nobody knows who wrote it there");
    }
    assert_eq!(waiting(&desk), [] as [&Path; 0]);
    assert!(desk.path().join(".baton/spool/refused/4-forged.json").exists());
    assert_eq!(story(&desk, "a.md").len(), 2);
}

#[test]
fn a_claim_is_told_although_the_tag_moved_on_since() {
    let desk = Desk::new();
    let path = request(&desk);
    let text = "# A\n**Tags**: #done-fix\n**Session**: sessions/s3, #fix, fence 3\n\n\
        ## Recovery\n*   **Reason**: x\n*   **Prior Session**: sessions/s1/\n\n\
        ## Response\n*   **Item**: #fix, [response](sessions/s2/RESPONSE.md)\n";
    fs::write(&path, text).expect("a file");
    for name in ["s1", "s2", "s3", "s4"] {
        let session = json!({"session": format!("sessions/{name}")});
        intent(&desk, &format!("{name}.json"), "#claimed-fix", &session);
    }
    let log = desk.json(&["audit", "log", "--file", "a.md", "--oldest"]);
    let records = log["records"].as_array().expect("records");
    let told: Vec<_> = records.iter().map(|record| &record["event"]["session"]).collect();
    assert_eq!(told, ["sessions/s1", "sessions/s2", "sessions/s3"], "{log}");
    assert_eq!(waiting(&desk), [] as [&Path; 0]);
}

#[test]
fn an_intent_of_a_process_that_lives_is_its_own() {
    let desk = Desk::new();
    request(&desk);
    intent(&desk, "1-own.json", "#needs-fix", &json!({}));
    let note = desk.path().join(".baton/spool/1-own.json");
    let own = std::process::id();
    let stat = fs::read_to_string(format!("/proc/{own}/stat")).expect("a process");
    let (_, rest) = stat.rsplit_once(')').expect("a name");
    let started: u64 = rest.split_whitespace().nth(19).expect("a field").parse().expect("ticks");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("a boot");
    let mut alive: Value = serde_json::from_slice(&fs::read(&note).expect("a note")).expect("JSON");
    alive["writer"] = json!({"pid": own, "started": started, "boot": boot.trim()});
    fs::write(&note, alive.to_string()).expect("a note");
    assert_eq!(story(&desk, "a.md"), [] as [&str; 0]);
    assert_eq!(waiting(&desk), [note]);
}

#[test]
fn of_racing_claimants_of_tags_the_ledger_hears_of_one() {
    let desk = Desk::new();
    fs::write(desk.path().join("a.md"), "# A\n**Tags**: #delegated-fix\n").expect("a file");
    desk.run(&["agent", "add", "builder"]).ok();
    let claim = ["tag", "swap", "a.md", "#delegated-fix", "#claimed-fix", "--quiet"];
    let start = |_| desk.baton(&claim).stderr(Stdio::null()).spawn().expect("a claimant");
    let claimants: Vec<_> = (0..8).map(start).collect();
    for mut claimant in claimants {
        claimant.wait().expect("an end");
    }
    assert_eq!(story(&desk, "a.md"), ["person #fix: #delegated-fix > #claimed-fix"]);
    assert_eq!(waiting(&desk), [] as [&Path; 0]);
}

#[test]
fn a_kill_at_any_moment_leaves_the_ledger_with_the_story_of_the_tags() {
    let desk = Desk::new();
    let path = desk.path().join("a.md");
    fs::write(&path, "# A\n**Tags**: #one\n").expect("a file");
    let mut stands = ["#one", "#two"];
    for round in 0..24_u64 {
        let mut swap = desk.baton(&["tag", "swap", "a.md", stands[0], stands[1], "--quiet"]);
        let mut mover = swap.stderr(Stdio::null()).spawn().expect("a mover");
        std::thread::sleep(Duration::from_millis(round));
        mover.kill().expect("a kill");
        mover.wait().expect("an end");
        if fs::read_to_string(&path).expect("a text").contains(stands[1]) {
            stands.swap(0, 1);
        }
        // Whoever comes next tells of it before it moves on.
        let told = story(&desk, "a.md");
        let last = told.last().map_or("#one", |told| told.rsplit_once(' ').expect("a tag").1);
        assert_eq!(last, stands[0], "round {round}: {told:?}");
    }
}
