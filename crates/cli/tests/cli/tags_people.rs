//! What people do with tagged work: ask for it, approve it, take it back, and see where it stands.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect;
use serde_json::json;

use crate::desk::Desk;

const REQUEST: &str = "# Login is slow\n**Tags**: #needs-fix #P1\n\nIt takes 9 s.\n";

fn file(desk: &Desk, name: &str, text: &str) -> PathBuf {
    let path = desk.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, text).expect("a file");
    path
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a text")
}

#[test]
fn a_request_with_tags_is_written_whole_and_never_over_another() {
    let desk = Desk::new();
    let args = ["tag", "request", "fix", "--what", "Login takes 9 s\nSince Monday.", "--quiet"];
    let more = ["--why", "Users leave", "--file", "src/login.rs", "--accept", "Below 1 s"];
    let weights = ["--priority", "P1", "--effort", "m", "--from", "sessions/planner"];
    let path = desk.run(&[&args[..], &more, &weights].concat()).ok();
    assert_eq!(path, "sessions/requests/FIX_REQUEST_LOGIN_TAKES_9_S.md\n");
    expect![[r#"
        # Login takes 9 s
        **Tags**: #needs-fix #P1 #M

        ## Topic
        *   **What**: Login takes 9 s
        Since Monday.
        *   **Why**: Users leave

        ## Context
        Relevant files, below the workspace:

        *   `src/login.rs`

        ## Expectations
        An answer in the response file.

        ## Acceptance Criteria
        *   [ ] Below 1 s

        ## Requesting Session
        sessions/planner
    "#]]
    .assert_eq(&text(&desk.path().join(path.trim())));
    let again = desk.run(&args).ok();
    assert_eq!(again, "sessions/requests/FIX_REQUEST_LOGIN_TAKES_9_S_2.md\n");
    let taken = desk.run(&[&args[..], &["--out", path.trim()]].concat()).fails(1);
    assert!(taken.starts_with("ERROR: sessions/requests/FIX_REQUEST"), "{taken}");
    let smuggled = ["tag", "request", "fix", "--what", "x\n\n#delegated-fix"];
    assert!(desk.run(&smuggled).fails(1).starts_with("ERROR: the text has"));
    let away = ["tag", "request", "fix", "--what", "x", "--out", "/tmp/x-request.md"];
    assert!(desk.run(&away).fails(1).contains("is outside of"));
    desk.run(&["tag", "request", "Fix!", "--what", "x"]).fails(1);
}

#[test]
fn a_request_with_tags_follows_a_template_of_ones_own() {
    let desk = Desk::new();
    let template = "# Title\n**Tags**: #needs-audit\n\n## House rules\nBe kind.\n\n## Topic\n…\n";
    file(&desk, ".baton/templates/TEMPLATE_AUDIT_REQUEST.md", template);
    let path = desk.run(&["tag", "request", "audit", "--what", "Look", "--quiet"]).ok();
    let written = text(&desk.path().join(path.trim()));
    assert!(written.contains("## House rules\nBe kind.\n"), "{written}");
    assert!(written.contains("**What**: Look"), "{written}");
}

#[test]
fn an_approval_of_tags_names_the_text_and_a_change_voids_it() {
    let desk = Desk::new();
    let path = file(&desk, "a.md", REQUEST);
    let approved = desk.json(&["tag", "approve", "a.md"]);
    assert_eq!(approved["to"], "#delegated-fix");
    assert_eq!(approved["recorded"], true, "{approved}");
    let hash = approved["hash"].as_str().expect("a hash");
    assert!(text(&path).contains(&format!("sha256:{hash}\n")), "{}", text(&path));
    let log = desk.json(&["audit", "log", "--file", "a.md"]);
    assert_eq!(log["records"][0]["event"]["hash"], hash, "{log}");

    let before = text(&path).replace("9 s", "11 s");
    fs::write(&path, &before).expect("an edit");
    let claim = ["tag", "swap", "a.md", "#delegated-fix", "#claimed-fix", "--json"];
    let refused = desk.run(&claim).fails(1);
    assert!(refused.contains("\"code\":\"changed-since-approval\""), "{refused}");
    assert_eq!(text(&path), before);
    assert_ne!(desk.json(&["tag", "approve", "a.md"])["hash"], hash);
    desk.run(&claim).ok();
    let late = desk.run(&["tag", "approve", "a.md", "--json"]).fails(1);
    assert!(late.contains("\"code\":\"elsewhere\""), "{late}");
}

#[test]
fn only_people_approve_tags_and_take_them_back() {
    let desk = Desk::new();
    let path = file(&desk, "a.md", REQUEST);
    for verb in ["approve", "set-aside"] {
        for mark in ["BATON_AGENT", "BATON_TOKEN"] {
            let args = ["tag", verb, "a.md", "--json"];
            let refused = desk.run_with(&args, &[(mark, "builder")]).fails(1);
            assert!(refused.contains("\"code\":\"operator-only\""), "{refused}");
        }
        desk.run(&["tag", verb, "a.md", "--as", "builder"]).fails(1);
    }
    assert_eq!(text(&path), REQUEST);
    desk.run(&["tag", "approve", "a.md", "--next"]).ok();
    assert!(text(&path).contains("#next-fix"));
    assert_eq!(desk.run(&["tag", "set-aside", "a.md"]).ok(), "a.md:2 #next-fix -> #needs-fix\n");
    assert_eq!(text(&path), REQUEST, "the approval is gone, too");
}

#[test]
fn of_several_tags_one_must_be_named() {
    let desk = Desk::new();
    let path =
        file(&desk, "a.md", "# A\n**Tags**: #needs-fix\n\n- one #needs-chores\n- two #needs-fix\n");
    let said = desk.run(&["tag", "approve", "a.md"]).fails(1);
    assert!(said.starts_with("ERROR: a.md has 3 such items\n"), "{said}");
    assert!(said.contains("'#fix' (line 2, #needs-fix), '#chores@"), "{said}");
    desk.run(&["tag", "approve", "a.md", "--kind", "chores"]).ok();
    desk.run(&["tag", "approve", "a.md", "--inline", "6", "--kind", "fix"]).ok();
    assert!(text(&path).contains("two #delegated-fix"), "{}", text(&path));
    desk.run(&["tag", "approve", "a.md", "--item", "#fix", "--next"]).ok();
    assert!(text(&path).contains("#next-fix"));
    let none = desk.run(&["tag", "approve", "a.md", "--kind", "research"]).fails(1);
    assert!(none.starts_with("ERROR: a.md has no such item"), "{none}");
}

#[test]
fn the_status_of_tags_tells_who_holds_what_and_who_is_dead() {
    let desk = Desk::new();
    file(&desk, "a.md", "# A\n**Tags**: #claimed-fix\n**Session**: sessions/s1, #fix, fence 2\n");
    file(&desk, "b.md", "# B\n**Tags**: #needs-chores\n");
    file(&desk, "c.md", "# C\n**Tags**: #needs-fix #P0\n\n- D #done-fix\n");
    let state = json!({
        "pid": 4_000_000_u32, "started": 1, "boot": "another", "skill": "/fix",
        "phase": "running", "status": "working", "heartbeat": "2026-11-16T12:00:00Z",
        "file": "a.md", "item": "#fix", "fence": 2,
    });
    file(&desk, "sessions/s1/.state.json", &state.to_string());
    let status = desk.run(&["tag", "status", "."]).ok();
    let lines: Vec<_> = status.lines().collect();
    assert_eq!(lines.len(), 6, "{status}");
    for (line, words) in lines[1..5].iter().zip([
        &["needs", "fix", "P0", "c.md:2"][..],
        &["needs", "chores", "P2", "b.md:2"],
        &["claimed", "fix", "dead: the machine was restarted", "a.md:2"],
        &["done", "fix", "c.md:4", "D"],
    ]) {
        assert!(words.iter().all(|word| line.contains(word)), "{status}");
    }
    let totals = "2 needs, 0 delegated, 0 next, 1 claimed, 1 done; 1 with a dead holder";
    assert_eq!(lines[5], totals);
    let status = desk.json(&["tag", "status", "."]);
    let holder = json!({
        "session": "sessions/s1", "fence": 2, "pid": 4_000_000_u32, "skill": "/fix",
        "phase": "running", "alive": false, "death": "the machine was restarted",
    });
    assert_eq!(status["items"][2]["holder"], holder);
    assert_eq!(status["totals"]["needs"], 2);
}

#[test]
fn a_skill_whose_work_was_given_to_another_moves_no_tags() {
    let desk = Desk::new();
    let text = "# A\n**Tags**: #claimed-fix\n**Session**: sessions/s2, #fix, fence 2\n";
    file(&desk, "a.md", text);
    let root = desk.path().to_str().expect("UTF-8").to_owned();
    let swap = |session: &str, fence: &str| {
        let session = format!("{root}/sessions/{session}");
        let given = [
            ("BATON_AGENT", "fix"),
            ("BATON_WORKSPACE", root.as_str()),
            ("BATON_REQUEST", "a.md"),
            ("BATON_ITEM", "#fix"),
            ("BATON_SESSION", session.as_str()),
            ("BATON_TAG_FENCE", fence),
        ];
        desk.run_with(&["tag", "swap", "a.md", "#claimed-fix", "#done-fix", "--json"], &given)
    };
    for (session, fence) in [("s1", "1"), ("s2", "1"), ("s1", "2")] {
        assert!(swap(session, fence).fails(1).contains("\"stale\""), "{session} {fence}");
    }
    swap("s2", "2").ok();
}

#[test]
fn a_claim_by_tag_swap_takes_the_work_from_its_worker() {
    let desk = Desk::new();
    let text = "# A\n**Tags**: #delegated-fix\n**Session**: sessions/s1, #fix, fence 2\n";
    file(&desk, "a.md", text);
    desk.run(&["tag", "swap", "a.md", "#delegated-fix", "#claimed-fix"]).ok();
    let said = std::fs::read_to_string(desk.path().join("a.md")).expect("a text");
    assert!(said.contains("#claimed-fix\n**Session**: by-hand, #fix, fence 3\n"), "{said}");
    let status = desk.json(&["tag", "status"]);
    assert!(status["items"][0]["holder"].is_null(), "{status}");
}
