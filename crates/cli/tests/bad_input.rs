//! Bad input, row by row, against the real coordinator: each gets one clear refusal, and the
//! ledger stays as it was.

#[path = "crash/coordinator.rs"]
mod coordinator;
#[path = "bad_input/objects.rs"]
mod objects;
#[path = "bad_input/scene.rs"]
mod scene;
#[path = "bad_input/table.rs"]
mod table;
#[path = "crash/wire.rs"]
mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use baton_protocol::limits::REQUEST_BYTES_MAX;
use scene::Scene;
use serde_json::{Map, Value, json};
use wire::{Caller, Reply, Request, Wire};

/// The test that a marked process runs instead of its own, and the socket that it asks at.
const MARKED: &str = "asks_as_a_marked_process_if_told_to";
const SOCKET: &str = "BATON_TEST_SOCKET";

#[test]
fn bad_input_is_refused_once_and_changes_nothing() {
    let mut play = Play::new();
    let good = good();
    let fields = [table::FIELDS, objects::FIELDS].map(rows).concat();
    assert!(fields.len() > 150, "the table was not read: {} rows", fields.len());
    for row in &fields {
        let (path, who, command) = spoilt(row, &good);
        let expected = Expected { status: 422, code: "bad-input", field: Some(path) };
        let command = play.scene.spelled(&command);
        play.check(row, expected, |scene| scene.command(who, None, command.as_bytes()));
    }
    for row in &rows(table::TOO_MANY) {
        let (_, who, command) = spoilt(row, &good);
        let expected = Expected { status: 422, code: "too-many", field: None };
        let command = play.scene.spelled(&command);
        play.check(row, expected, |scene| scene.command(who, None, command.as_bytes()));
    }
    // What was spoilt was good: without the wrong field each of them is granted.
    for (who, command) in good.values() {
        let command = play.scene.spelled(command);
        play.scene.command(who, None, command.as_bytes()).granted();
    }
    play.end();
}

#[test]
fn what_may_not_be_is_refused_by_its_name_and_nothing_is_recorded() {
    let mut play = Play::new();
    for row in [table::REFUSED, objects::REFUSED].map(rows).concat() {
        let [who, status, code, command] = words(&row);
        let status = status.parse().expect("a status");
        let command = play.scene.spelled(command);
        let expected = Expected { status, code, field: (code == "bad-input").then_some("as") };
        play.check(&row, expected, |scene| scene.command(who, None, command.as_bytes()));
    }
    for row in rows(table::ROUTES) {
        let [who, status, code, request] = words(&row);
        let status = status.parse().expect("a status");
        let (method, rest) = request.split_once(' ').expect("a method and a path");
        let (path, body) = rest.split_once(' ').unwrap_or((rest, ""));
        let method = ["GET", "POST", "DELETE"].into_iter().find(|known| *known == method);
        let (method, path) = (method.expect("a method"), play.scene.spelled(path));
        let expected = Expected { status, code, field: None };
        let ask = |scene: &mut Scene| scene.ask(method, &path, who, None, body.as_bytes());
        play.check(&row, expected, ask);
    }
    play.end();
}

#[test]
fn what_is_no_command_at_all_is_refused_and_nothing_is_recorded() {
    let mut play = Play::new();
    let title = |title: &[u8]| [b"{\"start\": {\"title\": \"", title, b"\"}}"].concat();
    let history = |json: &str| {
        let pass = r#"{"pass": {"to_agent": "builder", "reason": "r", "context": "#;
        format!(r#"{pass}{{"conversation_history": {json}}}}}}}"#).into_bytes()
    };
    let deep = |levels| "[".repeat(levels) + &"]".repeat(levels);
    let history_field = Some("pass.context.conversation_history");
    let bodies: [(&str, Vec<u8>, Option<&str>); 13] = [
        ("an empty body", Vec::new(), None),
        ("white space", b"  \n".to_vec(), None),
        ("no JSON", b"start Work".to_vec(), None),
        ("a list", b"[]".to_vec(), None),
        ("null", b"null".to_vec(), None),
        ("an unknown command", br#"{"begin": {"title": "Work"}}"#.to_vec(), None),
        ("two commands", br#"{"start": {"title": "a"}, "stop": {}}"#.to_vec(), None),
        ("JSON that breaks off", br#"{"start": {"title": "Wo"#.to_vec(), None),
        ("words after the command", br#"{"start": {"title": "a"}} b"#.to_vec(), None),
        ("broken UTF-8", title(b"\xff\xfe"), Some("start.title")),
        ("UTF-8 that breaks off", title(b"\xe2\x82"), Some("start.title")),
        ("1000-deep JSON", history(&deep(1_000)), history_field),
        ("100000-deep JSON", history(&deep(100_000)), history_field),
    ];
    for (row, body, field) in &bodies {
        let expected = Expected { status: 422, code: "bad-input", field: *field };
        play.check(row, expected, |scene| scene.command("operator", None, body));
    }
    for extra in [1, 1024 * 1024] {
        let body = title(&vec![b'x'; REQUEST_BYTES_MAX - title(b"").len() + extra]);
        let expected = Expected { status: 413, code: "too-large", field: None };
        let row = format!("a body of {} bytes", body.len());
        play.check(&row, expected, |scene| {
            let reply = scene.command("operator", None, &body);
            scene.reconnect();
            reply
        });
    }
    let large = too_large_once_recorded();
    let expected = Expected { status: 422, code: "too-many", field: None };
    let large = play.scene.spelled(&large);
    play.check("a record that is too large", expected, |scene| {
        scene.command("builder", None, large.as_bytes())
    });
    for (row, key) in [("an empty key", String::new()), ("a long key", "k".repeat(256))] {
        let expected = Expected { status: 422, code: "bad-input", field: Some("Idempotency-Key") };
        let start = title(b"Work");
        play.check(row, expected, |scene| scene.command("operator", Some(&key), &start));
    }
    play.end();
}

#[test]
fn a_process_marked_as_an_agent_is_refused_as_the_operator() {
    let mut play = Play::new();
    let expected = Expected { status: 403, code: "operator-only", field: None };
    play.check("a marked process", expected, |scene| {
        let asked = Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", MARKED, "--nocapture", "--test-threads=1"])
            .env("BATON_AGENT", "builder")
            .env(SOCKET, scene.coordinator.socket())
            .output()
            .expect("this binary runs");
        let told = String::from_utf8_lossy(&asked.stdout).into_owned();
        let (_, told) = told.split_once("reply: ").unwrap_or_else(|| panic!("{asked:?}"));
        let (status, body) = told.lines().next().expect("a line").split_once(' ').expect("two");
        Reply { status: status.parse().expect("a status"), body: body.as_bytes().to_vec() }
    });
    play.end();
}

/// No story of its own: what a process does that was started as an agent.
#[test]
fn asks_as_a_marked_process_if_told_to() {
    let Some(socket) = std::env::var_os(SOCKET).map(PathBuf::from) else { return };
    let mut wire = Wire::connect(&socket).expect("a coordinator");
    let start = json!({"start": {"title": "Work"}}).to_string();
    let request = Request::command(&Caller::OPERATOR, "marked", start.as_bytes());
    println!("reply: {}", wire.ask(&request).expect("an answer"));
}

/// A return within the limit of a request whose record, where changes stand twice, is beyond
/// what a line of the ledger can hold.
fn too_large_once_recorded() -> String {
    let variable = |n| (format!("v{n}"), Value::from("x".repeat(16_300)));
    let variables: Map<_, _> = (0..127).map(variable).collect();
    let artifacts = vec![json!({"path": "a.rs"}); 512];
    let updates = json!({"variables_changed": variables, "artifacts_produced": artifacts});
    let give = json!({
        "handoff": "$held", "fence": 2, "status": "success", "context_updates": updates,
    });
    json!({"return": give}).to_string()
}

/// What must be said about a row.
struct Expected<'a> {
    status: u16,
    code: &'a str,
    /// The field that must be named, if one is wrong.
    field: Option<&'a str>,
}

/// A scene, and the rows that went wrong on it.
struct Play {
    scene: Scene,
    wrong: Vec<String>,
}

impl Play {
    fn new() -> Self {
        Self { scene: Scene::new(), wrong: Vec::new() }
    }

    /// Plays one row. All rows are played before the test fails, so that one run shows them all.
    fn check(&mut self, row: &str, expected: Expected<'_>, ask: impl FnOnce(&mut Scene) -> Reply) {
        let before = self.scene.records();
        let reply = ask(&mut self.scene);
        let after = self.scene.records();
        let mut wrong = judge(&reply, &expected);
        if before != after {
            wrong.push(format!("the ledger grew from {before} to {after} records"));
        }
        if !wrong.is_empty() {
            self.wrong.push(format!("{row}\n    {}\n    {reply}", wrong.join("\n    ")));
        }
    }

    fn end(self) {
        let Self { wrong, .. } = self;
        assert!(wrong.is_empty(), "{} rows are wrong:\n  {}", wrong.len(), wrong.join("\n  "));
    }
}

/// What is wrong with a refusal: it says what stands in the way, where, and what to do next.
fn judge(reply: &Reply, expected: &Expected<'_>) -> Vec<String> {
    let Expected { status, code, field } = expected;
    let mut wrong = Vec::new();
    let Ok(problem) = serde_json::from_slice::<Value>(&reply.body) else {
        return vec!["the answer is not JSON".to_owned()];
    };
    if (reply.status, &problem["code"]) != (*status, &json!(code)) {
        wrong.push(format!("expected {status} {code}"));
    }
    for word in ["title", "detail", "hint"] {
        if problem[word].as_str().is_none_or(|said| said.trim().is_empty()) {
            wrong.push(format!("it has no {word}"));
        }
    }
    if let Some(field) = field.map(named)
        && !names(&problem, &field)
    {
        wrong.push(format!("it does not name {field}"));
    }
    wrong
}

/// A path as refusals spell it: places in lists in brackets.
fn named(path: &str) -> String {
    path.replace(".0", "[0]")
}

/// Whether the refusal names the field or a part of it; a missing one is named in the sentence.
fn names(problem: &Value, field: &str) -> bool {
    let said = problem["field"].as_str().unwrap_or_default();
    let inside = said
        .strip_prefix(field)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with('['));
    let (parent, last) = field.rsplit_once('.').unwrap_or(("", field));
    let missing = format!("missing field `{last}`");
    let detail = problem["detail"].as_str().unwrap_or_default();
    inside || said == parent && detail.starts_with(&missing)
}

/// The rows of a table. An indented line goes on with the one before.
fn rows(table: &str) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty()) {
        match (line.starts_with(' '), rows.last_mut()) {
            (true, Some(row)) => {
                row.push(' ');
                row.push_str(line.trim());
            }
            _ => rows.push(line.to_owned()),
        }
    }
    rows
}

/// Three words and the rest.
fn words(row: &str) -> [&str; 4] {
    let mut parts = row.splitn(4, ' ');
    [(); 4].map(|()| parts.next().unwrap_or_else(|| panic!("too few words: {row}")))
}

/// The good commands by their verbs, and who asks them.
fn good() -> BTreeMap<String, (&'static str, String)> {
    let command = |row: &'static str| {
        let (who, command) = row.split_once(' ').expect("who and what");
        let command = command.trim();
        let verb = command.split('"').nth(1).expect("a verb");
        (verb.to_owned(), (who, command.to_owned()))
    };
    table::GOOD.lines().filter(|line| !line.is_empty()).map(command).collect()
}

/// The good command of the row's verb with one field spoilt: the field, who asks, and what.
fn spoilt<'a>(
    row: &'a str,
    good: &BTreeMap<String, (&'static str, String)>,
) -> (&'a str, &'static str, String) {
    let (path, wrong) = row.split_once(' ').expect("a field and a value");
    let (verb, _) = path.split_once('.').expect("a verb and its field");
    let (who, command) = good.get(verb).unwrap_or_else(|| panic!("nothing good to spoil: {row}"));
    let mut command: Value = serde_json::from_str(command).expect("a good command");
    spoil(&mut command, path, wrong);
    (path, *who, command.to_string())
}

/// Puts a wrong value at `path`, with whatever must be around it.
fn spoil(command: &mut Value, path: &str, wrong: &str) {
    let mut place = command;
    let (parents, last) = path.rsplit_once('.').expect("a field of a verb");
    for name in parents.split('.') {
        place = inside(place, name);
    }
    match (value(wrong), last) {
        (None, _) => drop(place.as_object_mut().expect("an object").remove(last)),
        (Some(wrong), last) => *inside(place, last) = wrong,
    }
}

fn inside<'a>(place: &'a mut Value, name: &str) -> &'a mut Value {
    if name == "0" {
        if !place.is_array() {
            *place = json!([null]);
        }
        return &mut place[0];
    }
    if !place.is_object() {
        *place = Value::Object(Map::new());
    }
    &mut place[name]
}

/// The value that a row describes; nothing if the field is to be left out.
fn value(wrong: &str) -> Option<Value> {
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("no number: {wrong}"));
    let parsed = |text: &str| serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {wrong}"));
    let (word, rest) = wrong.split_once(' ').unwrap_or((wrong, ""));
    Some(match word {
        "absent" => return None,
        "text" => Value::from("x".repeat(number(rest))),
        "list" => {
            let (count, item) = rest.split_once(' ').expect("a count and an item");
            Value::from(vec![parsed(item); number(count)])
        }
        "map" => {
            let (count, item) = rest.split_once(' ').expect("a count and an item");
            (0..number(count)).map(|n| (format!("v{n}"), parsed(item))).collect()
        }
        "deep" => (0..number(rest)).fold(json!([]), |inner, _| json!([inner])),
        _ => parsed(wrong),
    })
}
