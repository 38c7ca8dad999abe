//! Tags in files through the real binary: who may move what, who wins, and what stays as it was.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use expect_test::expect;

use crate::desk::Desk;

const REQUEST: &str = "# Login is slow\n**Tags**: #needs-fix #P1\n\nIt takes 9 s.\n";

/// A file of the workspace with this text.
fn file(desk: &Desk, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = desk.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, text).expect("a file");
    path
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a text")
}

/// What a failed run said, which begins as scripts expect it and has a next step.
#[track_caller]
fn error(desk: &Desk, args: &[&str]) -> String {
    told(desk.run(args).fails(1))
}

#[track_caller]
fn told(said: String) -> String {
    let mut lines = said.lines();
    let first = lines.next().unwrap_or_default();
    assert!(first.starts_with("ERROR"), "{said}");
    assert!(lines.next().is_some_and(|hint| hint.starts_with(" hint: ")), "{said}");
    first.to_owned()
}

#[test]
fn tags_tell_the_life_of_a_request() {
    let desk = Desk::new();
    let path = file(&desk, "a.md", "# Login is slow\n\nIt takes 9 s.\n");
    let say = |args: &[&str]| desk.run(&[&["tag"], args].concat()).ok();
    let mut said = say(&["add", "a.md", "#needs-fix"]);
    said += &say(&["add", "a.md", "#needs-fix"]);
    said += &say(&["add", "a.md", "#P1"]);
    said += &say(&["swap", "a.md", "#needs-fix", "#delegated-fix"]);
    said += &say(&["swap", "a.md", "#next-fix,#delegated-fix", "#claimed-fix"]);
    said += &say(&["find", "#claimed-*"]);
    said += &say(&["swap", "a.md", "#claimed-fix", "#done-fix"]);
    said += &say(&["remove", "a.md", "#P1"]);
    said += &say(&["remove", "a.md", "#P1"]);
    said += &say(&["find", "#claimed-*"]);
    expect![[r#"
        added #needs-fix to a.md
        a.md has #needs-fix already
        added #P1 to a.md
        a.md:2 #needs-fix -> #delegated-fix
        a.md:2 #delegated-fix -> #claimed-fix
        a.md
        a.md:2 #claimed-fix -> #done-fix
        removed #P1 from a.md
        a.md has no #P1 there
    "#]]
    .assert_eq(&said);
    assert_eq!(text(&path), "# Login is slow\n**Tags**: #done-fix\n\nIt takes 9 s.\n");
    // Nobody was asked: there is no coordinator, and there was none.
    assert!(!desk.path().join(".baton/ledger").exists());
}

#[test]
fn tags_need_no_workspace() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.md"), REQUEST).expect("a file");
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        for name in ["BATON_TOKEN", "BATON_AGENT", "BATON_WORKSPACE"] {
            command.env_remove(name);
        }
        command.args(args).current_dir(folder.path()).output().expect("a run")
    };
    assert!(run(&["tag", "swap", "a.md", "#needs-fix", "#next-fix"]).status.success());
    assert_eq!(run(&["tag", "find", "#next-fix"]).stdout, b"a.md\n");
    let outside = run(&["tag", "add", "/etc/hostname", "#x"]);
    let said = told(String::from_utf8(outside.stderr).expect("UTF-8"));
    assert!(said.contains("/etc/hostname is outside of"), "{said}");
}

#[test]
fn of_racing_claimants_of_tags_exactly_one_wins() {
    let desk = Desk::new();
    for round in 0..5 {
        let name = format!("{round}.md");
        let path = file(&desk, &name, "# A\n**Tags**: #delegated-fix\n");
        let claim = ["tag", "swap", &name, "#delegated-fix", "#claimed-fix"];
        let start = |_| {
            let mut command = desk.baton(&claim);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a claimant")
        };
        let claimants: Vec<_> = (0..8).map(start).collect();
        let mut won = 0;
        for claimant in claimants {
            let output = claimant.wait_with_output().expect("an end");
            if output.status.success() {
                won += 1;
                continue;
            }
            assert_eq!(output.status.code(), Some(1));
            let said = told(String::from_utf8(output.stderr).expect("UTF-8"));
            assert!(said.contains("#delegated-fix is not on the Tags line"), "{said}");
        }
        assert_eq!(won, 1);
        assert_eq!(text(&path), "# A\n**Tags**: #claimed-fix\n");
    }
}

#[test]
fn only_tags_change_in_a_file() {
    let desk = Desk::new();
    let before = b"\xef\xbb\xbf# A\r\n**Tags**: #needs-fix  \r\n\r\n\xff #needs-fix\tx";
    let path = file(&desk, "a.md", before);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
    desk.run(&["tag", "swap", "a.md", "#needs-fix", "#done-fix"]).ok();
    desk.run(&["tag", "add", "a.md", "#S"]).ok();
    let after = b"\xef\xbb\xbf# A\r\n**Tags**: #done-fix #S  \r\n\r\n\xff #needs-fix\tx";
    assert_eq!(fs::read(&path).expect("bytes"), after);
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o640);
    desk.run(&["tag", "swap", "a.md", "#needs-fix", "#done-fix", "--inline", "4"]).ok();
    assert!(fs::read(&path).expect("bytes").ends_with(b"\xff #done-fix\tx"));
    desk.run(&["tag", "remove", "a.md", "#done-fix", "--inline", "4"]).ok();
    assert!(fs::read(&path).expect("bytes").ends_with(b"\xff\tx"));
}

#[test]
fn tags_are_never_moved_outside_nor_in_what_is_no_text() {
    let desk = Desk::new();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let target = elsewhere.path().join("a.md");
    fs::write(&target, REQUEST).expect("a file");
    symlink(&target, desk.path().join("link.md")).expect("a link");
    symlink(elsewhere.path(), desk.path().join("folder")).expect("a link");
    for out in ["link.md", "folder/a.md", "../a.md"] {
        let said = error(&desk, &["tag", "swap", out, "#needs-fix", "#done-fix"]);
        assert!(said.contains("is outside of") || said.contains("there is no file"), "{said}");
    }
    assert_eq!(text(&target), REQUEST);
    assert_eq!(desk.run(&["tag", "find", "#needs-fix"]).ok(), "");

    let binary = file(&desk, "a.bin", b"#needs-fix\0#needs-fix");
    let said = error(&desk, &["tag", "swap", "a.bin", "#needs-fix", "#done-fix"]);
    assert_eq!(said, "ERROR: a.bin is binary, expected a text file");
    assert_eq!(fs::read(binary).expect("bytes"), b"#needs-fix\0#needs-fix");
    assert!(error(&desk, &["tag", "add", ".", "#x"]).contains("a folder, expected a text file"));
    assert!(error(&desk, &["tag", "add", "no.md", "#x"]).contains("there is no file no.md"));
    assert!(!desk.path().join("no.md").exists());
}

#[test]
fn forbidden_moves_of_tags_are_refused_with_the_reason() {
    let desk = Desk::new();
    let path = file(&desk, "a.md", REQUEST);
    let swap = |old: &str, new: &str| error(&desk, &["tag", "swap", "a.md", old, new]);
    let mut said = vec![swap("#needs-fix", "#claimed-fix")];
    said.push(error(&desk, &["tag", "add", "a.md", "#claimed-chores"]));
    said.push(swap("#needs-fix", "#done-chores"));
    said.push(swap("#next-fix", "#claimed-fix"));
    said.push(swap("#needs-fix", "#needs-fix"));
    assert_eq!(text(&path), REQUEST);
    desk.run(&["tag", "swap", "a.md", "#needs-fix", "#delegated-fix"]).ok();
    said.push(swap("#delegated-fix", "#done-fix"));
    expect![[r#"
        #claimed-fix can only be claimed from #delegated-fix or #next-fix, not from #needs-fix
        #claimed-chores can only be claimed from #delegated-chores or #next-chores
        #needs-fix cannot become #done-chores: they are different kinds of work
        #next-fix is not on the Tags line
        #needs-fix cannot be swapped for itself
        #delegated-fix must be claimed before it is done"#]]
    .assert_eq(&said.join("\n").replace("ERROR: a.md: ", ""));
    let swap = ["tag", "swap", "a.md", "#next-fix", "#claimed-fix", "--json"];
    let said: serde_json::Value = serde_json::from_str(&desk.run(&swap).fails(1)).expect("JSON");
    assert_eq!(said["error"]["code"], "gone");
}

#[test]
fn an_agent_cannot_approve_by_tags() {
    let desk = Desk::new();
    let path = file(&desk, "a.md", REQUEST);
    let approve = ["tag", "swap", "a.md", "#needs-fix", "#delegated-fix"];
    let add = ["tag", "add", "a.md", "#next-fix"];
    for mark in [("BATON_AGENT", "builder"), ("BATON_TOKEN", "bt1_x"), ("BATON_TOKEN", "")] {
        for args in [&approve[..], &add] {
            let said = told(desk.run_with(args, &[mark]).fails(1));
            assert!(said.contains("needs a person's approval"), "{said}");
        }
    }
    error(&desk, &[&approve[..], &["--as", "builder"]].concat());
    // Clearing its own environment does not make an agent a person.
    let mut shell = Command::new("sh");
    let script = "env -u BATON_AGENT \"$@\"; exit $?";
    shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_baton")]).args(approve);
    shell.env("BATON_AGENT", "builder").current_dir(desk.path());
    assert_eq!(shell.output().expect("a shell").status.code(), Some(1));
    assert_eq!(text(&path), REQUEST);

    desk.run(&approve).ok();
    let claim = ["tag", "swap", "a.md", "#delegated-fix", "#claimed-fix"];
    desk.run_with(&claim, &[("BATON_AGENT", "builder")]).ok();
}

#[test]
fn what_makes_no_sense_for_tags_is_an_error_of_their_kind() {
    let desk = Desk::new();
    file(&desk, "a.md", REQUEST);
    for args in [
        &["tag"][..],
        &["tag", "add", "a.md"],
        &["tag", "add", "a.md", "needs-fix"],
        &["tag", "swap", "a.md", "#needs-fix,", "#done-fix"],
        &["tag", "remove", "a.md", "#x", "--inline", "0"],
        &["tag", "find", "#A"],
        &["tag", "find", "#x", "nowhere/"],
        &["tag", "find", "#x", "--context=99"],
        &["tag", "list", "--workspace", "/"],
        &["await-tag", "#x"],
        &["await-tag", "--dir", "nowhere", "#x"],
        &["await-tag", "nowhere/a.md", "#x"],
        &["alert", "resolve", "20"],
        &["alert", "raise", " "],
    ] {
        error(&desk, args);
    }
    let said = desk.run(&["tag", "add", "a.md"]).fails(1);
    assert!(said.contains("hint: write the tag in quotes"), "{said}");
    desk.run(&["tag", "--help"]).ok();
    desk.run(&["tag", "swap", "--force"]).fails(1);
}

#[test]
fn finding_tags_passes_over_what_is_only_mentioned() {
    let desk = Desk::new();
    file(&desk, "sessions/code.md", "# A\n\n`#needs-fix`\n\n```\n#needs-fix\n```\n");
    file(&desk, "sessions/inline.md", "# B\n\nfirst\n- do it #needs-fix #P0\nlast\n\n`#x`\n");
    file(&desk, "sessions/line.txt", "# C\n**Tags**: #needs-fix\n\n#needs-fix twice\n");
    file(&desk, "sessions/later.md", "# D\n**Tags**: #needs-fix-later\n");
    file(&desk, "sessions/x.db", "#needs-fix");
    file(&desk, "sessions/.state.json", "\"#needs-fix\"");
    file(&desk, "sessions/ignored.md", "**Tags**: #needs-fix\n");
    file(&desk, "sessions/.gitignore", "ignored.md\n");
    file(&desk, "outside.md", "# E\n**Tags**: #needs-fix\n");
    let find = |args: &[&str]| desk.run(&[&["tag", "find"], args].concat()).ok();
    let both = "sessions/inline.md\nsessions/line.txt\n";
    assert_eq!(find(&["#needs-fix"]), both);
    assert_eq!(find(&["#needs-fix", "--tags-only"]), "sessions/line.txt\n");
    let all = "sessions/inline.md\nsessions/later.md\nsessions/line.txt\n";
    assert_eq!(find(&["#needs-*", "sessions"]), all);
    assert!(find(&["#needs-fix", "--no-ignore"]).contains("sessions/ignored.md\n"));
    assert!(find(&["#needs-fix", "."]).contains("outside.md"));
    assert_eq!(find(&["#done-fix"]), "");
    expect![[r#"
        sessions/inline.md:4
             3 | first
        >    4 | - do it #needs-fix #P0
             5 | last
    "#]]
    .assert_eq(&find(&["#P0", "--context=1"]));
    let json = desk.json(&["tag", "find", "#needs-fix", "sessions/line.txt", "--context"]);
    assert_eq!(json["files"][0]["title"], "C");
    assert_eq!(json["files"][0]["sightings"][1]["line"], 4);
    assert_eq!(json["files"][0]["sightings"][0]["context"]["first_line"], 1);
}

#[test]
fn what_is_not_searched_for_tags_is_told_apart_from_the_paths() {
    let desk = Desk::new();
    file(&desk, "a.md", REQUEST);
    file(&desk, "a\nb.md", REQUEST);
    file(&desk, "many.md", "#needs-fix ".repeat(10_001));
    let ran = desk.run(&["tag", "find", "#needs-fix"]);
    let said = "warning: not searched: ";
    assert!(
        ran.err.starts_with(said) && ran.err.contains("many.md: found more than 10000"),
        "{ran}"
    );
    assert_eq!(ran.ok(), "a\\nb.md\na.md\n");
}

#[test]
fn all_work_by_tags_is_listed_by_urgency() {
    let desk = Desk::new();
    let items = "# Plan\n**Tags**: #done-brainstorm #L\n\n1. Refactor auth #needs-implementation \
                 #P1 #M\n2. Typos `#needs-x` #claimed-chores #P0\n";
    let plan = fs::File::open(file(&desk, "sessions/plan.md", items)).expect("a file");
    plan.set_modified(SystemTime::now() - Duration::from_secs(90)).expect("an older file");
    file(&desk, "sessions/a.md", REQUEST);
    let listed = desk.run(&["tag", "list"]).ok();
    let rows: Vec<Vec<_>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    let states: Vec<_> = rows.iter().map(|row| row[..4].join(" ")).collect();
    let expected = [
        "STATE KIND PRIO EFFORT",
        "claimed chores P0 -",
        "needs implementation P1 M",
        "needs fix P1 -",
        "done brainstorm P2 L",
    ];
    assert_eq!(states, expected, "{listed}");
    assert!(listed.contains(" sessions/plan.md:4 "), "{listed}");
    assert!(listed.lines().all(|line| line.chars().count() <= 80), "{listed}");
    let deep = "sessions/2026_02_06_MARKET/requests/RESEARCH_REQUEST_MARKET_SIZE.md";
    file(&desk, deep, "# Market size\n**Tags**: #needs-research\n");
    let listed = desk.run(&["tag", "list"]).ok();
    assert!(listed.contains("…UEST_MARKET_SIZE.md:2  Market"), "{listed}");
    let json = desk.json(&["tag", "list", "sessions/plan.md"]);
    let titles: Vec<_> = json["items"].as_array().expect("items").iter().collect();
    assert_eq!(titles[1]["title"], "Refactor auth");
    assert_eq!(titles[2]["title"], "Plan");
    assert_eq!(desk.run(&["tag", "list", ".baton"]).ok(), "there is no work in files\n");
}

#[test]
fn the_tag_verbs_answer_to_the_name_engine() {
    let desk = Desk::new();
    let path = file(&desk, "a.md", "# A\n**Tags**: #delegated-fix\n");
    let engine = desk.path().join("engine");
    symlink(env!("CARGO_BIN_EXE_baton"), &engine).expect("a link");
    let run = |args: &[&str]| {
        let mut command = Command::new(&engine);
        for name in ["BATON_TOKEN", "BATON_AGENT", "BATON_WORKSPACE"] {
            command.env_remove(name);
        }
        let output = command.args(args).current_dir(desk.path()).output().expect("a run");
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
    };
    let swap = ["tag", "swap", "a.md", "#delegated-fix", "#claimed-fix"];
    assert_eq!(run(&swap).0, Some(0));
    assert_eq!(run(&swap).0, Some(1));
    assert_eq!(text(&path), "# A\n**Tags**: #claimed-fix\n");
    let (exit, said) = run(&["await-tag", "a.md", "#claimed-fix"]);
    assert!(exit == Some(0) && said.contains("a.md"), "{said}");
    assert!(run(&["tag", "swap", "--help"]).1.contains("Usage: engine tag swap"));
}

#[test]
fn awaited_tags_are_there_or_come_or_the_time_is_up() {
    let desk = Desk::new();
    let path = file(&desk, "sessions/a.md", "# Market size\n**Tags**: #claimed-research\n");
    let wait = ["await-tag", "sessions/a.md", "#done-research"];
    let with = |more: &[&str]| desk.run(&[&wait[..], more].concat());
    assert!(told(with(&["--timeout", "0"]).fails(5)).contains("#done-research is not in"));
    with(&["--timeout", "150ms"]).fails(5);
    desk.run(&["await-tag", "no.md", "#x", "--timeout", "0"]).fails(5);

    let start = |args: &[&str]| desk.baton(args).stdout(Stdio::piped()).spawn().expect("a waiter");
    let waiters = [
        start(&[&wait[..], &["--timeout", "60s"]].concat()),
        start(&["await-tag", "--dir", "sessions", "#done-*", "--timeout", "60s"]),
    ];
    desk.run(&["tag", "swap", "sessions/a.md", "#claimed-research", "#done-research"]).ok();
    for waiter in waiters {
        let output = waiter.wait_with_output().expect("an end");
        assert!(output.status.success());
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        let lines = ["file        sessions/a.md", "tag         #done-research"];
        let lines = [&lines[..], &["title       Market size"]].concat();
        assert_eq!(said.lines().map(str::trim_start).collect::<Vec<_>>(), lines);
    }
    let begun = Instant::now();
    let there = desk.json(&[&wait[..], &["--timeout", "1h"]].concat());
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!((&there["tag"], &there["line"]), (&"#done-research".into(), &2.into()));
    assert_eq!(there["title"], "Market size");
    fs::remove_file(path).expect("a file");
}

#[test]
fn an_alert_is_raised_listed_and_resolved_once_by_its_tags() {
    let desk = Desk::new();
    let raise = ["alert", "raise", "Build #delegated-fix is red", "--file", "a.md", "--quiet"];
    assert!(desk.run(&raise).ok().starts_with("alerts/ALERT_2"));
    fs::create_dir(desk.path().join("sessions")).expect("a folder");
    let agent = [("BATON_AGENT", "builder")];
    let severe = [&raise[..], &["--severity", "critical"]].concat();
    let named = desk.run_with(&severe, &agent).ok();
    let path = desk.path().join(named.trim());
    assert!(named.starts_with("sessions/alerts/ALERT_2"), "{named}");
    assert!(named.ends_with("_build-delegated-fix-is-red.md\n"), "{named}");
    let said = text(&path);
    assert!(said.starts_with("# Build \\#delegated-fix is red\n**Tags**: #active-alert\n"));
    assert!(said.contains(" by builder\n**About**: `a.md`\n"), "{said}");
    assert_eq!(desk.run(&["tag", "find", "#delegated-*", "."]).ok(), "");

    let listed = desk.run(&["alert", "list"]).ok();
    assert_eq!(listed.lines().count(), 3, "{listed}");
    assert!(listed.contains("critical") && listed.contains("Build #delegated-fix"), "{listed}");
    let resolve = ["alert", "resolve", named.trim()];
    let start = |_| desk.baton(&resolve).stderr(Stdio::null()).spawn().expect("a resolver");
    let resolvers: Vec<_> = (0..4).map(start).collect();
    let ended = resolvers.into_iter().map(|mut it| it.wait().expect("an end").code());
    assert_eq!(ended.filter(|code| *code == Some(0)).count(), 1);
    assert!(text(&path).contains("**Tags**: #done-alert\n"));
    assert_eq!(desk.run(&["tag", "list"]).ok(), "there is no work in files\n");
    error(&desk, &resolve);
    assert_eq!(desk.run(&["alert", "list", "--quiet"]).ok().lines().count(), 1);
    let all = desk.json(&["alert", "list", "--all"]);
    assert_eq!(all["alerts"].as_array().map(Vec::len), Some(2));

    // Two in one second have two names, and then the beginning is not enough.
    let twins = [0; 2].map(|_| desk.json(&["alert", "raise", "Twin"])["id"].clone());
    assert_ne!(twins[0], twins[1]);
    error(&desk, &["alert", "resolve", "2"]);
    let first = desk.run(&["alert", "list", "--quiet"]).ok();
    let (_, id) = first.lines().next().and_then(|it| it.split_once("ALERT_")).expect("a name");
    desk.run(&["alert", "resolve", id.trim_end_matches(".md")]).ok();
    desk.run(&["alert", "resolve", twins[0].as_str().expect("an id")]).ok();
}

#[test]
fn an_alert_and_its_tags_stay_inside_the_workspace() {
    let desk = Desk::new();
    let elsewhere = tempfile::tempdir().expect("a folder");
    let link = desk.path().join("sessions");
    symlink(elsewhere.path(), &link).expect("a link");
    error(&desk, &["alert", "raise", "Out"]);
    fs::remove_file(link).expect("a link");
    symlink(elsewhere.path(), desk.path().join("alerts")).expect("a link");
    error(&desk, &["alert", "raise", "Out"]);
    assert_eq!(fs::read_dir(elsewhere.path()).expect("a folder").count(), 0);
}

#[test]
fn tags_are_moved_from_below_and_named_from_there() {
    let desk = Desk::new();
    file(&desk, "sessions/a.md", REQUEST);
    let below = desk.path().join("src/deep");
    fs::create_dir_all(&below).expect("a folder");
    let run = |args: &[&str]| {
        let output = desk.baton(args).current_dir(&below).output().expect("a run");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let moved = run(&["tag", "swap", "../../sessions/a.md", "#needs-fix", "#done-fix"]);
    assert_eq!(moved, "../../sessions/a.md:2 #needs-fix -> #done-fix\n");
    let found = run(&["tag", "find", "#done-fix"]);
    assert!(Path::new(found.trim()).is_file() && found.ends_with("/sessions/a.md\n"), "{found}");
    let about = ["alert", "raise", "Slow", "--file", "../../sessions/a.md", "--quiet"];
    assert!(text(Path::new(run(&about).trim())).contains("**About**: `sessions/a.md`"));
}
