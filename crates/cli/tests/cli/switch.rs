//! Switching between agents, through the real binary and without a coordinator.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use baton_context::Tokenizer;
use serde_json::Value;

use crate::desk::Desk;

/// What only the profile of this agent says; it must not be found with another.
fn mark(agent: &str) -> String {
    format!("PERSONA-OF-{}", agent.to_uppercase())
}

/// As many lines as make about that many tokens, with what agents are told in them.
fn lines(agent: &str, tokens: usize, begin: &str) -> String {
    let mut text = String::new();
    for n in 0.. {
        let mark = mark(agent);
        text.push_str(&format!("{begin}- *command-{n}: {mark}, load task-{n}.md and greet\n"));
        if Tokenizer::default().count(&text) >= tokens {
            break;
        }
    }
    text
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// s4's team: profiles of about 3K, 5K and 4K tokens, in the three forms.
fn team(root: &Path) {
    let sm = lines("sm", 2_940, "  ");
    let sm = format!("# sm\n\n```yaml\nagent:\n  name: River\n  id: sm\ncommands:\n{sm}```\n");
    put(root, ".aios-core/development/agents/sm.md", &sm);
    let dev = lines("dev", 4_960, "");
    let dev = format!("---\nname: dev\ndescription: Builds: what the story says\n---\n{dev}");
    put(root, ".claude/agents/dev.md", &dev);
    let qa = lines("qa", 3_960, "# ");
    put(root, ".baton/agents/qa.yaml", &format!("{qa}id: qa\nname: Quinn\nrole: reviewer\n"));
}

/// What an agent says that leaves an artifact of about 379 tokens.
fn said(next: &str) -> Vec<String> {
    let mut words: Vec<String> = [
        "--story",
        "SHOP-12",
        "--story-path",
        "docs/stories/epic-3/story-SHOP-12.md",
        "--status",
        "In Progress",
        "--task",
        "Task 3: refuse a key with another body",
        "--branch",
        "feat/SHOP-12-idempotency",
        "--blocker",
        "The staging database has no role that may migrate",
        "--next",
        next,
    ]
    .map(str::to_owned)
    .to_vec();
    for decision in [
        "Keys live in PostgreSQL beside the charge, one transaction covers both",
        "A key is kept for 24 hours and then swept by the nightly job",
        "A key with another body is answered with 422 and never charged",
        "The header is Idempotency-Key, as the payment provider has it",
    ] {
        words.extend(["--decision".to_owned(), decision.to_owned()]);
    }
    for n in 1..=7 {
        words.extend(["--file".to_owned(), format!("src/payments/keys/part_{n}.rs")]);
    }
    words
}

fn switch(desk: &Desk, to: &str, more: &[&str], next: &str) -> Value {
    let mut words = vec!["switch".to_owned(), to.to_owned()];
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words.extend(said(next));
    desk.json(&words)
}

fn kept(desk: &Desk) -> Vec<String> {
    let inside = fs::read_dir(desk.path().join(".baton/handoffs")).expect("a folder");
    let names = inside.map(|entry| entry.expect("an entry").file_name().into_string());
    let mut names: Vec<_> = names.map(|name| name.expect("UTF-8")).collect();
    names.retain(|name| name.ends_with(".yaml"));
    names.sort();
    names
}

#[test]
fn a_switch_gives_the_own_profile_and_artifacts_and_saves_the_rest() {
    let desk = Desk::new();
    team(desk.path());
    let first = switch(&desk, "@dev", &["--from", "sm"], "Implement task 3 and run the tests");
    let tokens = &first["tokens"];
    let artifact = first["artifacts"][0]["tokens"].as_u64().expect("tokens");
    assert!((340..=420).contains(&artifact), "{artifact} tokens; s4's are about 379");
    assert!(tokens["before"].as_u64().is_some_and(|all| (7_900..8_200).contains(&all)), "{tokens}");
    assert!(tokens["saved_percent"].as_i64().is_some_and(|saved| saved >= 32), "{tokens}");

    let second = switch(&desk, "/AIOS:agents:qa", &[], "Review SHOP-12 and try the replay");
    let tokens = &second["tokens"];
    assert!(tokens["before"].as_u64().is_some_and(|all| all > 11_900), "{tokens}");
    assert!(tokens["saved_percent"].as_i64().is_some_and(|saved| saved >= 56), "{tokens}");
    assert_eq!((&second["from"], &second["to"]), (&"dev".into(), &"qa".into()));
    assert_eq!(second["artifacts"].as_array().map(Vec::len), Some(2));

    // The same as text: its own profile, all of it, then both artifacts, and nothing else.
    let back = desk.run(&["switch", "dev", "--next", "Fix it"]);
    assert!(back.err.contains("% saved"), "{back}");
    let text = back.ok();
    let profile = fs::read_to_string(desk.path().join(".claude/agents/dev.md")).expect("a file");
    let rest = text.strip_prefix(&profile).expect("the whole profile comes first");
    assert_eq!(rest.matches("\nhandoff:\n").count(), 3, "{rest}");
    for (at, from) in ["sm", "dev", "qa"].iter().enumerate() {
        let nth = rest.split("\nhandoff:\n").nth(at + 1).expect("an artifact");
        assert!(nth.contains(&format!("  from_agent: \"{from}\"\n")), "{nth}");
        assert!(nth.contains("story_id: \"SHOP-12\""), "the story goes on: {nth}");
    }
    for other in ["sm", "qa"] {
        assert!(!text.contains(&mark(other)), "the profile of {other} was carried forward");
    }
    assert!(!desk.path().join(".baton/run/baton.sock").exists(), "no coordinator was started");
}

#[test]
fn three_artifacts_are_kept_and_the_fourth_switch_drops_the_oldest() {
    let desk = Desk::new();
    team(desk.path());
    desk.run(&["switch", "@dev", "--from", "sm", "--next", "first"]).ok();
    for (to, next) in [("qa", "second"), ("sm", "third"), ("dev", "fourth")] {
        desk.run(&["switch", to, "--next", next]).ok();
    }
    let names = kept(&desk);
    assert_eq!(names.len(), 3, "{names:?}");
    let texts: Vec<_> = names
        .iter()
        .map(|name| fs::read_to_string(desk.path().join(".baton/handoffs").join(name)))
        .collect::<Result<_, _>>()
        .expect("files");
    let all = texts.concat();
    assert!(!all.contains("first") && all.contains("second") && all.contains("fourth"), "{all}");
    assert!(all.matches("consumed: true").count() == 3, "shown is consumed: {all}");
    assert!(names.iter().any(|name| name.starts_with("handoff-sm-to-dev-2")), "{names:?}");
}

#[test]
fn of_many_switches_at_once_three_artifacts_are_left_whole() {
    let desk = Desk::new();
    team(desk.path());
    let racers: Vec<_> = (0..8)
        .map(|n| {
            let next = format!("racer {n}");
            let mut command = desk.baton(&["switch", "qa", "--from", "dev", "--next", &next]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a racer")
        })
        .collect();
    for racer in racers {
        let output = racer.wait_with_output().expect("an end");
        assert!(output.status.success(), "{output:?}");
    }
    let names = kept(&desk);
    assert_eq!(names.len(), 3, "{names:?}");
    let again = desk.json(&["switch", "sm", "--next", "go on"]);
    assert_eq!(again["notes"].as_array().map(Vec::len), Some(2), "all can be read: {again}");
}

#[test]
fn a_switch_that_makes_no_sense_writes_nothing_and_says_why() {
    let desk = Desk::new();
    team(desk.path());
    let said = desk.run(&["switch", "@dev"]).fails(2);
    assert!(said.contains("with --from AGENT"), "{said}");
    let said = desk.run(&["switch", "dev", "--from", "@dev"]).fails(2);
    assert!(said.contains("dev is active already"), "{said}");
    let said = desk.run(&["switch", "@ghost", "--from", "dev"]).fails(4);
    assert!(said.contains("there is no profile of ghost in"), "{said}");
    put(desk.path(), ".claude/agents/ghost.md", "---\nnome: ghost\n---\nBoo.\n");
    let said = desk.run(&["switch", "@ghost", "--from", "dev"]).fails(4);
    assert!(said.contains("ghost.md is none: it has no front matter with a `name`"), "{said}");
    desk.run(&["switch", "../../etc/passwd", "--from", "dev"]).fails(2);
    let long = "a very long story ".repeat(40);
    let said = desk.run(&["switch", "qa", "--from", "dev", "--next", &long]).fails(2);
    assert!(said.contains("next_action is ") && said.contains("expected at most 56"), "{said}");
    let blockers = ["--blocker", "a", "--blocker", "b", "--blocker", "c", "--blocker", "d"];
    let said = desk.run(&[&["switch", "qa", "--from", "dev"][..], &blockers].concat()).fails(2);
    assert!(said.contains("blockers has 4 entries; expected at most 3"), "{said}");
    assert!(!desk.path().join(".baton/handoffs").exists());
}

#[test]
fn artifacts_that_others_wrote_are_read_and_what_is_not_theirs_to_say_is_left_out() {
    let desk = Desk::new();
    team(desk.path());
    put(desk.path(), ".baton/config.toml", "handoffs_dir = \".aios/handoffs\"\n");
    let by_hand = "# by hand\nhandoff:\n  from_agent: \"@po\"\n  to_agent: sm\n  persona: Pax\n  \
                   story_context:\n    story_id: SHOP-12\n  decisions:\n    \
                   - \"Guests may pay, too\"\n  next_action: Draft it\n";
    put(desk.path(), ".aios/handoffs/handoff-po-to-sm-20200101T000000Z.yaml", by_hand);
    put(desk.path(), ".aios/handoffs/handoff-x-to-y-1.yaml", "handoff: [");
    put(desk.path(), ".aios/handoffs/notes.yaml", "not: ours");
    let ran = desk.run(&["switch", "dev", "--next", "Build it"]);
    assert!(ran.err.contains("handoff.persona is not part of it"), "{ran}");
    assert!(ran.err.contains("handoff-x-to-y-1.yaml is left alone: line 1"), "{ran}");
    let text = ran.ok();
    assert!(text.contains("Guests may pay, too") && text.contains("from_agent: \"sm\""), "{text}");
    assert!(!text.contains("Pax"), "{text}");
    let ignore = fs::read_to_string(desk.path().join(".aios/handoffs/.gitignore"));
    assert_eq!(ignore.expect("a file"), "*\n");
    assert!(!desk.path().join(".baton/handoffs").exists());
}

#[test]
fn a_switch_needs_no_workspace_when_it_is_told_where_things_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let desk = Desk::new();
    put(folder.path(), "agents/dev.md", "---\nname: dev\n---\nYou build.\n");
    let words = ["switch", "dev", "--from", "sm", "--profile", "agents", "--next", "Go"];
    let run = |more: &[&str]| {
        let mut command = desk.baton(&[&words[..], more].concat());
        command.current_dir(folder.path()).output().expect("a run")
    };
    assert_eq!(run(&[]).status.code(), Some(4), "there is no workspace to keep it in");
    let output = run(&["--handoffs", "kept"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_dir(folder.path().join("kept")).expect("a folder").count(), 2);
}
