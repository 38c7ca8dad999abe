//! What happens, as messages: read from any point, filtered, followed through a dying coordinator;
//! and counted.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::desk::Desk;

/// One who follows, line by line.
struct Follower {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Follower {
    fn of(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary runs");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        let line = self.lines.next().expect("another line").expect("UTF-8");
        serde_json::from_str(&line).expect(&line)
    }

    fn signal(&self, signal: Signal) {
        kill_process(pid(u64::from(self.child.id())), signal).expect("our own child");
    }

    /// What else it says until it ends, and how it ends.
    fn rest(mut self) -> (Vec<Value>, Option<i32>) {
        let rest = self.lines.by_ref().map(|line| {
            let line = line.expect("UTF-8");
            serde_json::from_str(&line).expect(&line)
        });
        let rest = rest.collect();
        (rest, self.child.wait().expect("its end").code())
    }
}

fn pid(number: u64) -> Pid {
    i32::try_from(number).ok().and_then(Pid::from_raw).expect("a process")
}

/// Every message there is.
fn all(desk: &Desk, more: &[&str]) -> Vec<Value> {
    let said = desk.run(&[&["events", "--since", "0", "--json"][..], more].concat()).ok();
    said.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn types(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["type"].as_str().expect("a type")).collect()
}

/// Work goes to the builder, who takes it and is done.
fn story(desk: &Desk, title: &str) -> String {
    let workflow = desk.start(title);
    let pass = ["pass", &workflow, "--to", "builder", "--reason", "the design is done", "--quiet"];
    let handoff = desk.run(&pass).ok().trim().to_owned();
    desk.run(&["accept", &handoff, "--as", "builder"]).ok();
    desk.run(&["complete", &workflow, "--as", "builder", "--fence", "2"]).ok();
    workflow
}

#[test]
fn events_are_told_from_any_point_and_filtered() {
    let desk = Desk::with(&["builder", "rival"]);
    let first = story(&desk, "Add a login page");
    let second = desk.start("Something else");
    let every = all(&desk, &[]);
    assert_eq!(
        types(&every),
        [
            "AGENT_REGISTERED",
            "AGENT_REGISTERED",
            "TASK_CREATED",
            "AGENT_HANDOFF",
            "TASK_STARTED",
            "HANDOFF_COMPLETED",
            "TASK_COMPLETED",
            "TASK_CREATED",
        ]
    );
    assert_eq!(all(&desk, &["--workflow", &first[..8]]), every[2..7]);
    assert_eq!(all(&desk, &["--workflow", &second]), every[7..]);
    assert_eq!(types(&all(&desk, &["--agent", "rival"])), Vec::<&str>::new());
    let some = ["--type", "agent_handoff,TASK_STARTED", "--type", "TASK_COMPLETED"];
    assert_eq!(types(&all(&desk, &some)), ["AGENT_HANDOFF", "TASK_STARTED", "TASK_COMPLETED"]);
    assert_eq!(all(&desk, &["--count", "3"]), every[..3]);
    let newest = desk.run(&["events", "--last", "2", "--json"]).ok();
    assert_eq!(newest.lines().count(), 2);
    assert!(newest.contains("Something else"), "{newest}");
    let after = every[4]["seq"].to_string();
    let rest = desk.run(&["events", "--since", &after, "--json"]).ok();
    assert_eq!(rest.lines().count(), every.len() - 5);
    let unknown = desk.run(&["events", "--type", "NOISE"]).fails(2);
    assert!(unknown.contains("unknown variant `NOISE`"), "{unknown}");
    desk.run(&["events", "--workflow", "00000000-0000-4000-8000-000000000000"]).fails(4);
    desk.run(&["events", "--since", "0", "--last", "1"]).fails(2);
}

#[test]
fn events_are_one_line_each_for_people() {
    let desk = Desk::with(&["builder"]);
    let workflow = story(&desk, "Add a login page");
    let said = desk.run(&["events", "--workflow", &workflow]).ok();
    // Moments and ids differ each time.
    let line = |line: &str| {
        let (number, rest) = line.split_at(6);
        format!("{} AT {}\n", number.trim(), &rest[21..]).replace(&workflow[..8], "WORKFLOW")
    };
    let told: String = said.lines().map(line).collect();
    expect![[r#"
        2 AT TASK_CREATED      operator WORKFLOW: Add a login page
        3 AT AGENT_HANDOFF     operator > builder WORKFLOW: the design is done
        4 AT TASK_STARTED      builder > operator WORKFLOW
        5 AT HANDOFF_COMPLETED builder > operator WORKFLOW
        6 AT TASK_COMPLETED    builder WORKFLOW: completed
    "#]]
    .assert_eq(&told);
    let ids = desk.run(&["events", "--last", "1", "--quiet"]).ok();
    assert!(ids.starts_with("msg-"), "{ids}");
}

#[test]
fn events_that_are_followed_come_once_each_whatever_becomes_of_the_coordinator() {
    let desk = Desk::with(&["builder"]);
    let follow = ["events", "--follow", "--since", "0", "--json", "--until", "TASK_COMPLETED"];
    let mut follower = Follower::of(desk.baton(&follow));
    let mut heard = vec![follower.next()];
    // Killed without warning, then stopped in good order; each time the next verb starts another.
    kill_process(pid(desk.coordinator()), Signal::KILL).expect("a coordinator");
    let workflow = desk.start("Work");
    heard.push(follower.next());
    desk.run(&["stop"]).ok();
    let pass = ["pass", &workflow, "--to", "builder", "--reason", "r", "--quiet"];
    let handoff = desk.run(&pass).ok().trim().to_owned();
    desk.run(&["stop"]).ok();
    desk.run(&["accept", &handoff, "--as", "builder"]).ok();
    kill_process(pid(desk.coordinator()), Signal::KILL).expect("a coordinator");
    desk.run(&["complete", &workflow, "--as", "builder", "--fence", "2"]).ok();
    let (rest, exit) = follower.rest();
    heard.extend(rest);
    assert_eq!(exit, Some(0));
    assert_eq!(heard, all(&desk, &[]));
}

#[test]
fn events_that_are_followed_begin_with_the_newest_or_with_what_comes() {
    let desk = Desk::with(&["builder"]);
    story(&desk, "Before");
    let follow = ["events", "--follow", "--json", "--count", "3"];
    let mut follower = Follower::of(desk.baton(&[&follow[..], &["--last", "2"]].concat()));
    let heard = [follower.next(), follower.next()];
    assert_eq!(types(&heard), ["HANDOFF_COMPLETED", "TASK_COMPLETED"]);
    desk.start("After");
    let (rest, exit) = follower.rest();
    assert_eq!((types(&rest), exit), (vec!["TASK_CREATED"], Some(0)));
    // Nothing comes: that is told, too.
    let wait = ["events", "--follow", "--type", "TASK_FAILED", "--timeout", "1ms"];
    assert!(desk.run(&wait).fails(5).contains("not heard in 1ms"));
}

#[test]
fn events_end_well_when_a_person_says_so_or_nobody_reads() {
    let desk = Desk::with(&["builder"]);
    for signal in [Signal::INT, Signal::TERM] {
        let follow = ["events", "--follow", "--since", "0", "--json"];
        let mut follower = Follower::of(desk.baton(&follow));
        assert_eq!(follower.next()["type"], "AGENT_REGISTERED");
        follower.signal(signal);
        assert_eq!(follower.rest(), (vec![], Some(0)));
    }
    let follow = ["events", "--follow", "--since", "0", "--json"];
    let Follower { mut child, mut lines } = Follower::of(desk.baton(&follow));
    lines.next().expect("a line").expect("UTF-8");
    drop(lines);
    desk.start("Something to say");
    assert_eq!(child.wait().expect("its end").code(), Some(0));
}

#[test]
fn events_on_behalf_of_an_agent_are_what_that_agent_hears() {
    let desk = Desk::with(&["builder", "rival"]);
    story(&desk, "Add a login page");
    let token = desk.run(&["token", "create", "--agent", "builder", "--quiet"]).ok();
    let by_itself =
        desk.run_with(&["events", "--since", "0", "--json"], &[("BATON_TOKEN", token.trim())]);
    let by_itself = by_itself.ok();
    assert!(by_itself.contains("AGENT_HANDOFF"), "{by_itself}");
    let on_behalf = desk.run(&["events", "--since", "0", "--json", "--as", "builder"]).ok();
    assert_eq!(on_behalf, by_itself);
    assert_eq!(desk.run(&["events", "--since", "0", "--as", "rival"]).ok(), "");
    let follow = ["events", "--follow", "--since", "0", "--json", "--as", "builder"];
    let follow = [&follow[..], &["--until", "HANDOFF_COMPLETED"]].concat();
    assert_eq!(desk.run(&follow).ok(), by_itself);
}

#[test]
fn events_are_counted_live_by_agent_and_by_workflow() {
    let desk = Desk::with(&["builder", "tester"]);
    let first = story(&desk, "One");
    let second = desk.start("Two");
    let pass = ["pass", &second, "--to", "tester", "--reason", "r", "--quiet"];
    let handoff = desk.run(&pass).ok().trim().to_owned();
    let counts = |args: &[&str]| {
        let stats = desk.json(args);
        json!([stats["totalHandoffs"], stats["pendingHandoffs"], stats["handoffsByAgent"]])
    };
    let by = |sent: u64, received: u64| json!({"sent": sent, "received": received});
    assert_eq!(
        counts(&["stats"]),
        json!([2, 1, {"operator": by(2, 0), "builder": by(0, 1), "tester": by(0, 1)}])
    );
    assert_eq!(
        counts(&["stats", "--workflow", &first]),
        json!([1, 0, {"operator": by(1, 0), "builder": by(0, 1)}])
    );
    let of_second = json!({"operator": by(1, 0), "tester": by(0, 1)});
    assert_eq!(counts(&["stats", &second]), json!([1, 1, of_second]));
    desk.run(&["accept", &handoff, "--as", "tester"]).ok();
    assert_eq!(counts(&["stats", "--workflow", &second[..8]]), json!([1, 0, of_second]));
}
