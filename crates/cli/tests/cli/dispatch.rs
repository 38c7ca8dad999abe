//! Work in files that agents do: started by the daemon, claimed once, answered, and recovered.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::shop::Shop;

/// Answers with the item that it was given.
const ANSWER: &str = "cat > /dev/null; echo \"did $2 of $1\"";
/// Works until a file says that it may go on.
const WAIT: &str = "echo $2 >> began; name=$(basename \"$1\")\n\
    until [ -e \"go-$name\" ]; do sleep 0.02; done; echo went";

const REQUEST: &str = "# Login is slow\n**Tags**: #delegated-fix #P1\n\nIt takes 9 s.\n";

#[test]
fn a_plan_with_three_items_is_done_by_three_agents_in_windows_of_tmux() {
    let shop = Shop::new(&[("implementation", ANSWER), ("chores", ANSWER)]);
    let plan = "# Brainstorm\n\n## Action Items\n\
        3. Fix typo in error messages #delegated-chores #P2 #S\n\
        1. Refactor auth module #delegated-implementation #P1 #M\n\
        2. Update API schema #delegated-implementation #P1 #S\n";
    shop.file("sessions/plan/PLAN.md", plan);
    let would = shop.looks(&["--dry-run"]);
    assert_eq!(would.matches("would start").count(), 3, "{would}");
    assert_eq!(shop.text("sessions/plan/PLAN.md"), plan, "nothing happens on a dry run");
    let kinds = |said: &str| -> Vec<&str> {
        let kind = |line: &'_ str| if line.contains("#chores") { "chores" } else { "impl" };
        said.lines().map(kind).collect()
    };
    assert_eq!(kinds(&would), ["impl", "impl", "chores"], "by weight: {would}");

    let said = shop.looks(&[]);
    assert_eq!(said.matches(" in agent-implementation-").count(), 2, "{said}");
    assert_eq!(said.matches(" in agent-chores-").count(), 1, "{said}");
    for tag in ["#done-implementation", "#done-chores"] {
        shop.awaits("sessions/plan/PLAN.md", tag);
    }
    // The second of one kind may still be under way when the first is done.
    shop.until(|| {
        let text = shop.text("sessions/plan/PLAN.md");
        !text.contains("#claimed-") && !text.contains("#delegated-")
    });
    let text = shop.text("sessions/plan/PLAN.md");
    assert_eq!(text.matches("[response](sessions/").count(), 3, "{text}");
    let bare = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains(". "));
        lines.map(|line| line.replace("#done-", "#").replace("#delegated-", "#")).collect()
    };
    assert_eq!(bare(&text), bare(plan), "all but the stages stays");
    let sessions = shop.sessions();
    assert_eq!(sessions.len(), 3, "{sessions:?}");
    for session in sessions {
        let answer = fs::read_to_string(session.join("RESPONSE.md")).expect("an answer");
        assert!(answer.contains("of sessions/plan/PLAN.md"), "{answer}");
    }
}

#[test]
fn a_window_carries_our_name_and_nothing_in_a_path_is_run() {
    let shop = Shop::new(&[("fix", WAIT)]);
    let names = [
        "-rf.md",
        "a;touch pwned;.md",
        "#(touch pwned).md",
        "$(touch pwned) `touch pwned`.md",
        "a\nb.md;",
    ];
    for name in names {
        let text = REQUEST.replace("#P1", "#P2");
        shop.file(&format!("work #(touch pwned)/{name}"), &text);
    }
    let said = shop.looks(&["--tree", "work #(touch pwned)"]);
    assert_eq!(said.matches(": /fix in agent-fix-").count(), names.len(), "{said}");
    let windows = shop.windows();
    assert_eq!(windows.matches("dispatch agent-fix-").count(), names.len(), "{windows}");
    for name in names {
        let file = format!("work #(touch pwned)/{name}");
        shop.awaits(&file, "#claimed-fix");
        shop.file(&format!("go-{name}"), "");
        shop.awaits(&file, "#done-fix");
    }
    let pwned: Vec<_> = ["pwned", "work #(touch pwned)/pwned"]
        .map(|it| shop.desk.path().join(it))
        .into_iter()
        .filter(|path| path.exists())
        .collect();
    assert!(pwned.is_empty(), "{pwned:?}");
}

#[test]
fn the_daemon_watches_ends_cleanly_and_its_agents_go_on() {
    let shop = Shop::new(&[("fix", WAIT)]);
    fs::create_dir(shop.desk.path().join("sessions")).expect("a folder");
    let mut daemon = shop.watches(&["--max-agents", "1"]);
    // What is staged, or for the next skill, is none of its business.
    shop.file("sessions/needs.md", &REQUEST.replace("#delegated", "#needs"));
    shop.file("sessions/next.md", &REQUEST.replace("#delegated", "#next"));
    shop.file("sessions/new/first.md", &REQUEST.replace("#P1", "#P0"));
    shop.awaits("sessions/new/first.md", "#claimed-fix");
    shop.file("sessions/second.md", REQUEST);
    shop.file("go-first.md", "");
    shop.awaits("sessions/new/first.md", "#done-fix");
    shop.awaits("sessions/second.md", "#claimed-fix");
    let pid = Pid::from_raw(i32::try_from(daemon.id()).expect("a number")).expect("a process");
    kill_process(pid, Signal::INT).expect("a daemon");
    assert!(daemon.wait().expect("an end").success());
    shop.file("go-second.md", "");
    shop.awaits("sessions/second.md", "#done-fix");
    assert_eq!(shop.text("began").lines().count(), 2, "one at a time, each once");
    assert!(shop.text("sessions/needs.md").contains("#needs-fix"));
    assert!(shop.text("sessions/next.md").contains("#next-fix"));
}

#[test]
fn work_of_a_killed_worker_goes_back_to_a_person_once() {
    let shop = Shop::new(&[("fix", "kill -9 $PPID")]);
    shop.file("a.md", REQUEST);
    shop.desk.run(&["work", "a.md", "--headless"]);
    assert!(shop.text("a.md").contains("#claimed-fix"), "{}", shop.text("a.md"));
    // Two recoverers at once leave one reason.
    let look = ["run", "--monitor-tags", "--once", "--headless"];
    let looks =
        [(); 4].map(|()| shop.desk.baton(&look).stdout(Stdio::null()).spawn().expect("a daemon"));
    for mut look in looks {
        assert!(look.wait().expect("an end").success());
    }
    let text = shop.text("a.md");
    assert!(text.contains("**Tags**: #needs-fix #P1\n"), "{text}");
    assert_eq!(text.matches("## Recovery").count(), 1, "{text}");
    assert!(text.contains(" died mid-work (the process is gone)"), "{text}");
    assert!(text.contains("*   **Prior Session**: .baton/sessions/"), "{text}");
    let alerts = shop.desk.run(&["alert", "list"]).ok();
    assert!(alerts.contains("lost its worker"), "{alerts}");
    let story = shop.desk.run(&["audit", "log", "--file", "a.md"]).ok();
    let steps: Vec<_> = story.lines().skip(1).collect();
    assert_eq!(steps.len(), 2, "{story}");
    assert!(steps[0].contains("worker  #fix: delegated > claimed  1"), "{story}");
    assert!(steps[1].contains("daemon  #fix: claimed > needs      1      Agent PID"), "{story}");
}

#[test]
fn a_number_that_another_process_has_now_is_not_alive() {
    let shop = Shop::new(&[("fix", "kill -9 $PPID")]);
    shop.file("a.md", REQUEST);
    shop.desk.run(&["work", "a.md", "--headless"]);
    let session = shop.sessions().pop().expect("a session");
    shop.pretends(&session, "pid", json!(std::process::id()));
    let said = shop.looks(&["--headless"]);
    assert!(said.contains("another process has its number"), "{said}");
    assert!(shop.text("a.md").contains("#needs-fix"));
}

/// Lets a process go on that was stopped, whatever becomes of the story.
struct GoesOn(Pid);

impl Drop for GoesOn {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

#[test]
fn a_worker_that_was_thought_dead_does_not_overwrite_its_successor() {
    let shop = Shop::new(&[("fix", WAIT)]);
    shop.rule("requeue: delegated");
    shop.file("a.md", REQUEST);
    let slow = shop
        .desk
        .baton(&["work", "a.md", "--headless"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a worker");
    shop.awaits("a.md", "#claimed-fix");
    let first = shop.sessions().pop().expect("a session");
    shop.until(|| shop.desk.path().join("began").exists());
    // It stands still, and as far as anybody can tell the machine was restarted.
    let pid = Pid::from_raw(slow.id().cast_signed()).expect("a process");
    kill_process(pid, Signal::STOP).expect("a stop");
    let _goes_on = GoesOn(pid);
    let stat = || fs::read_to_string(format!("/proc/{}/stat", slow.id())).expect("a process");
    shop.until(|| stat().contains(") T "));
    shop.pretends(&first, "boot", json!("another"));
    let said = shop.looks(&["--headless"]);
    assert!(said.contains("back at #delegated-fix"), "{said}");
    shop.looks(&["--headless"]);
    shop.until(|| shop.text("began").lines().count() == 2);
    assert!(shop.text("a.md").contains("fence 2"), "{}", shop.text("a.md"));
    // Both go on; whoever is first.
    kill_process(pid, Signal::CONT).expect("it goes on");
    shop.file("go-a.md", "");
    shop.awaits("a.md", "#done-fix");
    let late = slow.wait_with_output().expect("an end");
    let said = String::from_utf8(late.stderr).expect("UTF-8");
    assert!(!late.status.success() && said.contains("ERROR"), "{said}");
    let text = shop.text("a.md");
    let first = first.file_name().expect("a name").to_string_lossy().into_owned();
    assert_eq!(text.matches("[response](").count(), 1, "{text}");
    assert!(!text.contains(&format!("{first}/RESPONSE.md")), "{text}");
}

#[test]
fn a_skill_that_fails_gives_the_work_back_with_its_reason() {
    let shop = Shop::new(&[("fix", "echo half; exit 3")]);
    shop.file("a.md", REQUEST);
    let said = shop.desk.run(&["run", "/fix", "a.md", "--headless"]).fails(1);
    assert!(said.contains("ERROR: a.md: /fix ended with exit status: 3"), "{said}");
    let text = shop.text("a.md");
    assert!(text.contains("#needs-fix") && text.contains("/fix ended with exit status: 3"));
    shop.approves("a.md", "fix");
    shop.desk.run(&["run", "/other", "a.md"]).fails(1);
    let outside = tempfile::tempdir().expect("a folder");
    fs::write(outside.path().join("b.md"), REQUEST).expect("a file");
    symlink(outside.path().join("b.md"), shop.desk.path().join("b.md")).expect("a link");
    let said = shop.desk.run(&["work", "b.md", "--headless"]).fails(1);
    assert!(said.contains("outside"), "{said}");
    let kept = fs::read_to_string(outside.path().join("b.md")).expect("a text");
    assert_eq!(kept, REQUEST, "what lies outside is not touched");
    assert!(shop.desk.run(&["attach", "a.md"]).fails(1).contains("nobody works on it"));
    shop.desk.run(&["run", "--monitor-tags=#needs-fix", "--once"]).fails(1);
}

#[test]
fn a_request_that_changed_after_its_approval_goes_back() {
    let shop = Shop::new(&[("fix", ANSWER)]);
    shop.file("a.md", &REQUEST.replace("#delegated", "#needs"));
    shop.desk.run(&["tag", "approve", "a.md"]).ok();
    let approved = shop.text("a.md");
    fs::write(shop.desk.path().join("a.md"), approved.replace("9 s", "9 h")).expect("a file");
    let said = shop.looks(&["--headless"]);
    assert!(said.contains("not approved: it changed since"), "{said}");
    assert!(shop.text("a.md").contains("#needs-fix"), "{}", shop.text("a.md"));

    // With strict approval a tag that was written by hand is none, nor is a line of text.
    shop.rule("strict_approval: true");
    shop.file("b.md", REQUEST);
    let said = shop.looks(&["--headless"]);
    assert!(said.contains("b.md #fix: not approved"), "{said}");
    shop.file("c.md", &approved);
    let said = shop.looks(&["--headless"]);
    assert!(said.contains("c.md #fix: not approved: the ledger has no such"), "{said}");
    shop.file("d.md", &REQUEST.replace("#delegated", "#needs"));
    shop.desk.run(&["tag", "approve", "d.md"]).ok();
    shop.looks(&["--headless"]);
    shop.awaits("d.md", "#done-fix");
}

#[test]
fn research_is_awaited_in_the_background_and_resumed_where_it_was() {
    // The first round leaves the id of its interaction in the file, and dies.
    let research = "if grep -q 'Interaction: i-7' \"$1\"; then echo \"resumed i-7\"; else \
        echo 'Interaction: i-7' >> \"$1\"; kill -9 $PPID; fi";
    let shop = Shop::new(&[("research", research)]);
    fs::create_dir_all(shop.desk.path().join("sessions/market")).expect("a folder");
    let asked = ["tag", "request", "research", "--what", "How large is the market?"];
    let out = ["--out", "sessions/market/RESEARCH_REQUEST.md"];
    shop.desk.run(&[&asked[..], &out[..]].concat()).ok();
    let wait = ["await-tag", "sessions/market/RESEARCH_REQUEST.md", "#done-research"];
    let waiting = shop
        .desk
        .baton(&[&wait[..], &["--timeout", "60s"]].concat())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a watcher");
    for _ in 0..2 {
        shop.desk.run(&["tag", "approve", out[1]]).ok();
        shop.looks(&["--headless"]);
        // It ends by itself; what it left is looked at when it is gone.
        shop.until(|| {
            shop.looks(&["--headless"]);
            let text = shop.text(out[1]);
            !text.contains("#delegated-research") && !text.contains("#claimed-research")
        });
    }
    let arrived = waiting.wait_with_output().expect("an end");
    let said = String::from_utf8(arrived.stdout).expect("UTF-8");
    assert!(said.contains("#done-research"), "{said}");
    let answers = shop.sessions().into_iter().map(|session| session.join("RESPONSE.md"));
    let answer = { answers }.find_map(|path| fs::read_to_string(path).ok()).expect("an answer");
    assert!(answer.contains("resumed i-7"), "{answer}");
}

#[test]
fn what_an_agent_says_is_no_work_and_what_it_leaves_running_is_not_waited_for() {
    // It prints tags, echoes its request, and leaves something behind.
    let noisy = "echo 'left #delegated-fix for later'; cat; sleep 600 & echo over";
    let shop = Shop::new(&[("fix", noisy)]);
    shop.file("sessions/a.md", REQUEST);
    shop.desk.run(&["work", "sessions/a.md", "--headless"]).ok();
    shop.awaits("sessions/a.md", "#done-fix");
    let session = shop.sessions().pop().expect("a session");
    fs::write(session.join("output.log"), REQUEST).expect("a log");
    assert_eq!(shop.looks(&["--headless"]), "", "nothing is left to do");
    assert_eq!(shop.sessions().len(), 1);
    let found = shop.desk.run(&["tag", "find", "#delegated-fix"]).ok();
    assert!(!found.contains("RESPONSE.md"), "{found}");
    for pid in running(&shop, "sleep 600") {
        kill_process(pid, Signal::KILL).expect("what it left");
    }
}

/// The processes with this command line that work in this shop, and so are its own.
fn running(shop: &Shop, line: &str) -> Vec<Pid> {
    let root = shop.desk.path().canonicalize().expect("a folder");
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let says = |pid: &i32| {
        let said = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let here = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == root);
        here && String::from_utf8_lossy(&said).replace('\0', " ").trim() == line
    };
    pids.filter(says).filter_map(Pid::from_raw).collect()
}

#[test]
fn short_jobs_follow_each_other_at_once_and_a_subfolder_is_watched_as_it_is_named() {
    let shop = Shop::new(&[("fix", ANSWER)]);
    for name in ["a", "b", "c", "d"] {
        shop.file(&format!("deep/sub/{name}.md"), REQUEST);
    }
    shop.file("sub/a.md", REQUEST);
    let mut daemon = shop.desk.baton(&[
        "run",
        "--monitor-tags",
        "--headless",
        "--max-agents",
        "1",
        "--tree",
        "sub",
    ]);
    let daemon = daemon.current_dir(shop.desk.path().join("deep")).stdout(Stdio::null());
    let mut daemon = daemon.spawn().expect("a daemon");
    for name in ["a", "b", "c", "d"] {
        shop.awaits(&format!("deep/sub/{name}.md"), "#done-fix");
    }
    let pid = Pid::from_raw(i32::try_from(daemon.id()).expect("a number")).expect("a process");
    kill_process(pid, Signal::INT).expect("a daemon");
    assert!(daemon.wait().expect("an end").success());
    assert_eq!(shop.text("sub/a.md"), REQUEST, "another folder of that name is left alone");
}

#[test]
fn work_that_cannot_be_claimed_or_recovered_is_told_and_not_tried_all_the_time() {
    let shop = Shop::new(&[("fix", "printf '\\n```\\n' >> \"$1\"; kill -9 $PPID")]);
    shop.file("open.md", &format!("{REQUEST}```\n"));
    let said = shop.looks(&["--headless"]);
    assert!(said.contains("open.md #fix: could not be started: the code block on line"), "{said}");
    fs::remove_file(shop.desk.path().join("open.md")).expect("a file");
    shop.file("a.md", REQUEST);
    shop.desk.run(&["work", "a.md", "--headless"]);
    let said = shop.looks(&["--headless"]);
    assert!(said.contains("a.md #fix: left alone"), "{said}");
    assert!(shop.desk.run(&["alert", "list"]).ok().contains("lost its worker"));
    let outside = tempfile::tempdir().expect("a folder");
    let mut alone = shop.desk.baton(&["work", "x.md"]);
    let alone = alone.current_dir(outside.path()).output().expect("a run");
    assert!(String::from_utf8_lossy(&alone.stderr).contains("no workspace"), "{alone:?}");
    assert!(fs::read_dir(outside.path()).expect("a folder").next().is_none());
}

#[test]
fn whoever_ends_a_worker_ends_its_agent_too() {
    let shop = Shop::new(&[("fix", "exec sleep 4321"), ("chores", "sleep 4322; true")]);
    shop.file("a.md", REQUEST);
    let worker = shop.desk.baton(&["work", "a.md", "--headless"]).stderr(Stdio::piped()).spawn();
    let worker = worker.expect("a worker");
    shop.until(|| !running(&shop, "sleep 4321").is_empty());
    let pid = Pid::from_raw(i32::try_from(worker.id()).expect("a number")).expect("a process");
    kill_process(pid, Signal::TERM).expect("a worker");
    let ended = worker.wait_with_output().expect("an end");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("signal: 15"), "{ended:?}");
    assert!(shop.text("a.md").contains("#needs-fix") && running(&shop, "sleep 4321").is_empty());

    // Killed without a word, its agent is ended by whoever recovers the work.
    shop.file("b.md", &REQUEST.replace("fix", "chores"));
    let mut worker = shop.desk.baton(&["work", "b.md", "--headless"]).spawn().expect("a worker");
    shop.until(|| !running(&shop, "sleep 4322").is_empty());
    worker.kill().expect("a worker");
    worker.wait().expect("an end");
    let said = shop.looks(&["--headless"]);
    assert!(said.contains("back at #needs-chores"), "{said}");
    shop.until(|| running(&shop, "sleep 4322").is_empty());
}
