//! Secrets through the real binary: what goes in is in no file afterwards, and the counts are told.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::desk::Desk;

const RULES: &str = r#"
allow = ["hunter-is-the-example-1"]

[[secret]]
name = "acme-key"
prefix = "acme_"
length_min = 12

[[name]]
word = "door_code"
"#;

/// Secrets by what finds them. They are put together here so that no scanner stops at this file.
fn secrets() -> [String; 6] {
    [
        ["gh", "p_", &"a1B2".repeat(9)].concat(),
        ["acme", "_", "0011223344556677"].concat(),
        "tr0ub4dor-and-3".to_owned(),
        "open-s3same".to_owned(),
        "pa55-in-url".to_owned(),
        "plainword".to_owned(),
    ]
}

/// Every file below that holds one of these texts.
fn holding(folder: &Path, texts: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, texts));
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            let holds = |text: &&String| bytes.windows(text.len()).any(|it| it == text.as_bytes());
            found.extend(texts.iter().find(holds).map(|it| format!("{}: {it}", path.display())));
        }
    }
    found
}

#[test]
fn no_secret_that_was_passed_is_in_any_file_and_the_counts_are_told() {
    let desk = Desk::new();
    fs::write(desk.path().join(".baton/secrets.toml"), RULES).expect("a file");
    desk.run(&["agent", "add", "builder"]).ok();
    let [github, acme, password, door, url, word] = &secrets();
    let work = desk.start(&format!("Deploy with {acme}"));
    let history = json!([
        {"role": "user", "content": format!("use {github} and DB_PASSWORD={password}")},
        {"role": "assistant", "content": format!("postgres://app:{url}@db and {acme}")},
        {"role": "user", "content": "password: hunter-is-the-example-1", "secret": word},
    ]);
    let file = desk.path().join("history.json");
    fs::write(&file, history.to_string()).expect("a file");
    desk.run(&["vars", &work, &format!("door_code={door}"), &format!("api_key={word}")]).ok();
    let reason = format!("log in with --password {password}");
    let pass = ["pass", &work, "--to", "builder", "--reason", &reason, "--history", "history.json"];
    let variables = format!("config={}", json!({"door_code": door, "url": acme}));
    desk.run(&[&pass[..], &["--var", &variables]].concat()).ok();
    fs::remove_file(file).expect("a file");

    assert_eq!(holding(&desk.path().join(".baton"), &secrets()), Vec::<String>::new());
    let handoff = desk.run(&["inbox", "--as", "builder", "--quiet"]).ok();
    let package = desk.json(&["accept", handoff.trim(), "--as", "builder"]).to_string();
    assert!(secrets().iter().all(|secret| !package.contains(secret)), "{package}");
    assert!(package.contains("password: hunter-is-the-example-1"), "{package}");
    assert!(package.contains(r#""masked":5"#), "{package}");
    assert!(package.contains("[masked acme-key]"), "{package}");
    desk.run(&["stop"]).ok();
    assert_eq!(holding(&desk.path().join(".baton"), &secrets()), Vec::<String>::new());
}

/// Runs `baton secrets mask` with this on stdin.
fn filtered(desk: &Desk, args: &[&str], text: &str) -> (String, String, bool) {
    let mut command = desk.baton(&[&["secrets", "mask"][..], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("a write");
    let output = child.wait_with_output().expect("an end");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr), output.status.success())
}

#[test]
fn a_filter_masks_what_comes_in_and_tells_how_often() {
    let desk = Desk::new();
    fs::write(desk.path().join(".baton/secrets.toml"), RULES).expect("a file");
    let [_, acme, password, ..] = &secrets();
    let text = format!("a {acme}\nDB_PASSWORD={password}\nPATH=/usr/bin\n[masked jwt]\n");
    let (out, err, _) = filtered(&desk, &[], &text);
    let masked =
        "a [masked acme-key]\nDB_PASSWORD=[masked env-value]\nPATH=/usr/bin\n[masked jwt]\n";
    assert_eq!(
        (out.as_str(), err.trim()),
        (masked, "note: 2 secrets masked: 1 acme-key, 1 env-value")
    );
    let (out, ..) = filtered(&desk, &["--json"], &text);
    let told: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(told, json!({"text": masked, "masked": {"acme-key": 1, "env-value": 1}}));
    assert_eq!(filtered(&desk, &[], "fine\n").1.trim(), "note: nothing was masked");
}

#[test]
fn a_wrong_rule_stops_the_start_and_names_file_line_and_field() {
    let desk = Desk::new();
    let file = desk.path().join(".baton/secrets.toml");
    fs::write(&file, "\n[[secret]]\nname = \"a\"\nprefix = \"x\"\n").expect("a file");
    let (_, err, done) = filtered(&desk, &[], "x");
    assert!(!done && err.contains("secrets.toml: line 2: prefix `x`; expected 3 to 40"), "{err}");
    let ran = desk.run(&["start", "Something"]);
    assert!(ran.err.contains("secrets.toml: line 2: prefix `x`"), "{ran}");
    fs::remove_file(&file).expect("a file");
    let config = desk.path().join(".baton/config.toml");
    fs::write(config, "[secrets]\nrules = \"rules/ours.toml\"\n").expect("a file");
    let ran = desk.run(&["start", "Something"]);
    assert!(ran.err.contains("rules/ours.toml: No such file"), "{ran}");
}
