//! The table as people write it, and the order in which work is started.

use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn wrong(text: &str) -> String {
    Table::parse(text).unwrap_err().to_string()
}

#[test]
fn the_default_is_the_table_of_the_document() {
    let table = Table::default();
    let show = |(kind, route): (&str, &Route)| {
        let modes: Vec<_> = route.modes.iter().map(|mode| mode.as_str()).collect();
        format!("{kind} {} {} {}", route.skill, modes.join("/"), route.rank)
    };
    assert_eq!(
        table.routes().into_iter().map(show).collect::<Vec<_>>(),
        [
            "brainstorm /brainstorm interactive 1",
            "research /research async 2",
            "fix /fix interactive/agent 3",
            "implementation /implement interactive/agent 4",
            "loop /loop interactive 4.5",
            "chores /chores interactive 5",
            "documentation /document interactive 6",
        ]
    );
    assert_eq!(Table::parse("# nothing\n").unwrap(), table);
    assert_eq!(Table::read(Path::new("no-such-file")).unwrap(), table);
}

#[test]
fn a_file_changes_what_it_names_and_adds_what_is_new() {
    let table = Table::parse(
        "strict_approval: true\nrequeue: delegated\napprovals: 2\nkinds:\n  fix:\n    mode: agent\n\
         \x20   command: [claude, -p, \"{skill} {file}\"]\n  review:\n    skill: review\n    \
         rank: 4.25\n    requeue: needs\n",
    )
    .unwrap();
    let fix = table.route("fix").unwrap();
    assert_eq!(
        (fix.skill.as_str(), fix.modes[0], fix.requeue),
        ("/fix", Mode::Agent, RequeueTo::Delegated)
    );
    let with = Filling { file: "a {skill} $(b).md", item: "#fix", session: "s", skill: "/fix" };
    let words = fix.command.as_ref().unwrap().filled(&with);
    assert_eq!(words, ["claude", "-p", "/fix a {skill} $(b).md"]);
    let review = table.route("review").unwrap();
    assert_eq!((review.rank.to_string(), review.requeue), ("4.25".to_owned(), RequeueTo::Needs));
    assert_eq!((table.trust, table.reuses_max), (Trust::Recorded, 2));
}

#[test]
fn a_mistake_is_told_with_its_line_and_field() {
    let cases = [
        ("kinds:\n  fix:\n    mode: fast\n", "line 3: kinds.fix.mode: "),
        ("kinds:\n  fix:\n    rank: -1\n", "line 3: kinds.fix.rank: "),
        ("kinds:\n  fix:\n    rank: .nan\n", "line 3: kinds.fix.rank: "),
        ("kinds:\n  fix:\n    colour: red\n", "line 3: kinds.fix.colour: "),
        ("approvals: 4\n", "line 1: approvals: "),
        ("kinds:\n  review:\n    rank: 1\n", "line 2: kinds.review.skill: review is new"),
        ("kinds:\n  fix:\n    rank: 1\n  fix:\n    rank: 2\n", "line 4: kinds.fix: "),
        ("kinds:\n  fix:\n    command: [\"{file}\"]\n", "line 3: kinds.fix.command: "),
        ("kinds:\n  fix:\n    command: [a, \"{user}\"]\n", "line 3: kinds.fix.command: "),
        ("kinds:\n  fix:\n    command: []\n", "line 3: kinds.fix.command: "),
        ("kinds:\n  fix:\n    skill: a;b\n", "line 3: kinds.fix.skill: "),
        ("kinds:\n  Fix:\n    rank: 1\n", "line 2: kinds.Fix: "),
        ("requeue: done\n", "line 1: requeue: "),
    ];
    let differs = |(text, begins): (&str, &str)| {
        let wrong = wrong(text);
        (!wrong.starts_with(begins)).then(|| format!("{wrong}, expected {begins}"))
    };
    let differing: Vec<_> = cases.into_iter().filter_map(differs).collect();
    assert!(differing.is_empty(), "{differing:#?}");
    assert!(wrong(&" ".repeat(TABLE_BYTES_MAX + 1)).contains("too large"));
}

#[test]
fn a_file_is_never_an_option() {
    let command = Command::parse(vec!["x".into(), "{file}".into(), "a{file}".into()]).unwrap();
    let with = Filling { file: "-rf.md", item: "#a", session: "s", skill: "/a" };
    assert_eq!(command.filled(&with), ["x", "./-rf.md", "a-rf.md"]);
    let json = Command::parse(vec!["x".into(), "{\"a\": 1}{".into()]).unwrap();
    assert_eq!(json.filled(&with), ["x", "{\"a\": 1}{"]);
}

#[test]
fn templates_make_kinds_known() {
    let folder = TempDir::new().unwrap();
    let write = |path: &str, kind: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("# X\n**Tags**: #needs-{kind}\n")).unwrap();
    };
    write(".baton/templates/DEEP_DIVE_REQUEST.md", "dive");
    write(".baton/templates/NOTES.md", "notes");
    write(".claude/skills/review/assets/TEMPLATE_REVIEW_REQUEST.md", "review");
    write(".claude/skills/other/assets/REQUEST.md", "review");
    write(".claude/skills/mend/assets/FIX_REQUEST.md", "fix");
    let found = discover(folder.path());
    let show = |template: &Template| format!("{} {}", template.kind, template.skill);
    let shown: Vec<_> = found.iter().map(show).collect();
    assert_eq!(shown, ["dive /deep-dive", "fix /mend", "review /other", "review /review"]);
    let mut table = Table::default();
    assert!(table.learn(&found[0]).unwrap());
    assert!(!table.learn(&found[1]).unwrap(), "what the table says counts");
    assert!(table.learn(&found[2]).unwrap());
    let twice = table.learn(&found[3]).unwrap_err().to_string();
    assert!(twice.ends_with("review belongs to /other, and cannot be for /review too"), "{twice}");
}

#[test]
fn work_is_started_by_weight_then_rank_then_age_then_place() {
    let early: Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
    let late: Timestamp = "2026-11-16T11:00:00Z".parse().unwrap();
    let hash = "0".repeat(64);
    let approved = format!(
        "**Tags**: #delegated-fix\n\
         **Approved**: #fix by anna, 2026-11-16T10:30:00Z, sha256:{hash}\n"
    );
    let files = [
        ("a.md", "**Tags**: #delegated-chores\n", early),
        ("b.md", "**Tags**: #delegated-fix\n- #delegated-fix\n- #needs-fix #next-fix\n", late),
        ("c.md", approved.as_str(), late),
        ("d.md", "**Tags**: #delegated-unknown\n", early),
        ("e.md", "**Tags**: #delegated-unknown #P0\n", late),
        ("0.md", "**Tags**: #delegated-fix\n", late),
    ];
    let mut queue = Vec::new();
    for (path, text, modified) in files {
        queue.extend(Queued::of(Path::new(path), text.as_bytes(), modified));
    }
    Table::default().order(&mut queue);
    let show = |queued: &Queued| format!("{}:{}", queued.path.display(), queued.item.line);
    let shown: Vec<_> = queue.iter().map(show).collect();
    assert_eq!(shown, ["e.md:1", "c.md:1", "0.md:1", "b.md:1", "b.md:2", "a.md:1", "d.md:1"]);
}

proptest! {
    #[test]
    fn no_text_breaks_the_reader(text in "[ -~\n]{0,200}") {
        let _ = Table::parse(&text);
    }

    #[test]
    fn what_is_filled_in_stays_inside_its_word(file in "[ -~]{0,20}", item in "[ -~]{0,20}") {
        let words = ["x", "{file}{item}", "{item}"].map(str::to_owned).to_vec();
        let with = Filling { file: &file, item: &item, session: "s", skill: "/a" };
        let filled = Command::parse(words).unwrap().filled(&with);
        prop_assert_eq!(filled.len(), 3);
        let both = [file, item].concat();
        prop_assert!(filled[1].ends_with(&both));
        prop_assert!(!filled[2].starts_with('-'));
    }
}
