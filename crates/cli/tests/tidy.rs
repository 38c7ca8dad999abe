//! Fails the build where the standard slips: sizes, words, and which crate may know which.
//!
//! It reads the sources as text. It is a simple scan and not a compiler: where it cannot know, it
//! lets pass, and what it reports is real. It must never need an exception list for our own code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use code::{code_of, function_lines, function_on, functions, names};

#[path = "tidy/code.rs"]
mod code;

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_COLUMNS_MAX: usize = 100;

/// Which of our crates each of our crates may name. An arrow that is not here is a wrong turn.
const ALLOWED: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("store", &["protocol"]),
    ("flow", &["protocol"]),
    ("context", &["protocol"]),
    ("rules", &["protocol", "flow"]),
    ("engine", &["protocol", "store", "flow", "context", "rules"]),
    ("tags", &[]),
    ("mcp", &["context"]),
    ("server", &["protocol", "engine", "flow", "context", "mcp"]),
    ("cli", &["protocol", "engine", "flow", "context", "rules", "tags", "mcp", "server"]),
];

/// What others call their modules is theirs, and so are the methods of their traits.
const THEIR_MODULES: &[&str] = &["use cel::", "use jsonc_parser::", "use rmcp::"];
const THEIR_METHODS: &[&str] = &["get_info", "get_tool", "get_prompt"];

/// What a pure decision cannot have: a clock, randomness, input and output, waiting.
const IMPURE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant",
    "Timestamp::now",
    "async fn",
    "getrandom",
    "new_v4",
    "tokio",
];

#[test]
fn files_functions_and_lines_stay_small() {
    settle(sources().iter().flat_map(sizes).collect());
}

#[test]
fn crates_depend_only_on_what_lies_below_them() {
    let mut found = Vec::new();
    for folder in children(&root().join("crates")) {
        let manifest = folder.join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else {
            continue;
        };
        found.extend(forbidden_dependencies(&name_of(&folder), &text));
    }
    settle(found);
}

#[test]
fn bugs_on_purpose_are_for_tests_alone() {
    let root = root();
    let mut manifests = vec![root.join("Cargo.toml")];
    manifests.extend(children(&root.join("crates")).iter().map(|it| it.join("Cargo.toml")));
    let texts = manifests.iter().filter_map(|path| fs::read_to_string(path).ok());
    settle(texts.flat_map(|text| planted_for_people(&text)).collect());
}

#[test]
fn fixtures_of_the_conformance_suite_are_never_shipped() {
    let everywhere = fs::read_to_string(root().join("Cargo.toml")).expect("the root manifest");
    assert!(!everywhere.contains("conformance"), "the root manifest gives the fixtures to all");
    for folder in children(&root().join("crates")) {
        let Ok(text) = fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let mut manifest: toml::Table = text.parse().expect("cargo has read this manifest too");
        let features = manifest.remove("features");
        let by_itself = features.as_ref().and_then(|all| all.get("default"));
        let in_baton = name_of(&folder) == "cli" && text.contains("conformance");
        let given = manifest.get("dependencies").map(ToString::to_string).unwrap_or_default();
        let given = given + &by_itself.map(ToString::to_string).unwrap_or_default();
        let shipped = in_baton || given.contains("conformance");
        assert!(!shipped, "{} brings the fixtures into `baton`", folder.display());
    }
}

#[test]
fn the_protocol_is_pure_and_only_the_engine_knows_the_store() {
    settle(sources().iter().flat_map(out_of_place).collect());
}

#[test]
fn names_say_what_things_are_and_nothing_is_left_for_later() {
    settle(sources().iter().flat_map(banned).collect());
}

#[test]
fn every_source_file_says_what_it_is_for() {
    settle(sources().iter().flat_map(without_a_purpose).collect());
}

#[test]
fn every_conformance_row_names_a_test_that_exists() {
    let functions = sources().iter().flat_map(|source| functions(&source.code)).collect();
    let found = match fs::read_to_string(root().join("docs/conformance.md")) {
        Ok(text) => broken_rows(&text, &functions),
        Err(error) => vec![format!("docs/conformance.md: {error}, expected one line a row")],
    };
    settle(found);
}

/// One Rust file, as it is and with comments and literals blanked out.
struct Source {
    /// Relative to the root, with `/` between the parts.
    path: String,
    text: String,
    code: String,
}

impl Source {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned(), code: code_of(text) }
    }

    fn within(&self, folder: &str) -> bool {
        self.path.starts_with(folder)
    }
}

fn settle(found: Vec<String>) {
    assert!(found.is_empty(), "the standard slipped:\n  {}", found.join("\n  "));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn name_of(path: &Path) -> String {
    path.file_name().expect("a listed path has a name").to_string_lossy().into_owned()
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be listed");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![(root().join("crates"), "crates".to_owned())];
    while let Some((folder, shown)) = folders.pop() {
        for path in children(&folder) {
            let name = name_of(&path);
            let shown = format!("{shown}/{name}");
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push((path, shown));
            } else if name.ends_with(".rs") {
                let text = fs::read_to_string(&path).expect("a source file is UTF-8");
                found.push(Source::new(&shown, &text));
            }
        }
    }
    assert!(!found.is_empty(), "no sources found: the scan looks in the wrong place");
    found
}

fn sizes(source: &Source) -> Vec<String> {
    let path = &source.path;
    let mut found = Vec::new();
    let lines = source.text.lines().count();
    if lines > FILE_LINES_MAX {
        found.push(format!("{path}: {lines} lines, expected at most {FILE_LINES_MAX}"));
    }
    for (number, line) in (1..).zip(source.text.lines()) {
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX {
            let most = LINE_COLUMNS_MAX;
            found.push(format!("{path}:{number}: {columns} columns, expected at most {most}"));
        }
    }
    let lines: Vec<_> = source.code.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_on(line) else {
            continue;
        };
        let length = function_lines(&lines[at..]);
        if length > FUNCTION_LINES_MAX {
            let (number, most) = (at + 1, FUNCTION_LINES_MAX);
            let what = format!("`{name}` has {length} lines");
            found.push(format!("{path}:{number}: {what}, expected at most {most}"));
        }
    }
    found
}

fn forbidden_dependencies(folder: &str, manifest: &str) -> Vec<String> {
    let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == folder) else {
        return vec![format!("crates/{folder}: a new crate, expected a row in ALLOWED of tidy.rs")];
    };
    let manifest: toml::Table = manifest.parse().expect("cargo has read this manifest too");
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let mut tables = vec![&manifest];
    tables.extend(targets.into_iter().flatten().filter_map(|(_, target)| target.as_table()));

    let mut found = Vec::new();
    for table in tables {
        // Tests obey too: there is no second way to change state, not even for them.
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let named = table.get(kind).and_then(toml::Value::as_table);
            for (key, value) in named.into_iter().flatten() {
                let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
                let Some(ours) = package.strip_prefix("baton-") else {
                    continue;
                };
                if !allowed.contains(&ours) {
                    let rule = format!("expected only {allowed:?} of ours");
                    found.push(format!("crates/{folder}/Cargo.toml: {kind} has {package}, {rule}"));
                }
            }
        }
    }
    found
}

/// Finds where a manifest brings planted bugs to more than tests: a feature of that name may pass
/// itself on, and dev-dependencies may switch it on.
fn planted_for_people(manifest: &str) -> Vec<String> {
    let mut manifest: toml::Table = manifest.parse().expect("cargo has read this manifest too");
    let package = manifest.get("package").and_then(|it| it.get("name")).map(ToString::to_string);
    manifest.remove("dev-dependencies");
    if let Some(features) = manifest.get_mut("features").and_then(toml::Value::as_table_mut) {
        features.remove("planted");
    }
    let named = manifest.to_string().contains("planted");
    let place = package.unwrap_or_else(|| "Cargo.toml".to_owned());
    let found = format!("{place}: `planted` outside dev-dependencies, expected bugs only in tests");
    named.then_some(found).into_iter().collect()
}

fn out_of_place(source: &Source) -> Vec<String> {
    let (path, mut found) = (&source.path, Vec::new());
    if source.within("crates/protocol/src/") {
        for needle in IMPURE.iter().filter(|needle| names(&source.code, needle)) {
            found.push(format!("{path}: `{needle}`, expected time, chance and facts as arguments"));
        }
    }
    let entry = source.within("crates/server/src/") || source.within("crates/cli/src/");
    if entry && names(&source.code, "baton_store") {
        found.push(format!("{path}: `baton_store`, expected a call of the engine"));
    }
    found
}

fn banned(source: &Source) -> Vec<String> {
    let path = &source.path;
    let mut found = Vec::new();
    let vague = |word: &str| {
        let parts: BTreeSet<_> = word.split('_').collect();
        let whole = parts.contains("utils") || parts.contains("common");
        whole || word.contains("Manager") || word.contains("Helper")
    };
    if path.split(['/', '.']).any(vague) {
        found.push(format!("{path}: a vague file name, expected one that says what it is for"));
    }
    for (number, line) in (1..).zip(source.code.lines()) {
        let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        let ours = !THEIR_MODULES.iter().any(|module| line.starts_with(module));
        for word in words.filter(|word| ours && vague(word)) {
            found.push(format!("{path}:{number}: `{word}`, expected a name that says what it is"));
        }
        let getter = |name: &&str| name.starts_with("get_") && !THEIR_METHODS.contains(name);
        if let Some(name) = function_on(line).filter(getter) {
            found.push(format!("{path}:{number}: `{name}`, expected a name without `get_`"));
        }
        for unfinished in ["todo!(", "unimplemented!(", "#[ignore"] {
            if line.contains(unfinished) {
                found.push(format!("{path}:{number}: `{unfinished}`, expected it done or absent"));
            }
        }
    }
    found
}

fn without_a_purpose(source: &Source) -> Option<String> {
    let told = source.text.starts_with("//!") || !source.path.contains("/src/");
    (!told).then(|| format!("{}: no `//!` at the start, expected what it is for", source.path))
}

/// Checks the table rows that open with a requirement's id, such as `| A12 |`.
///
/// A row names its tests in backticks (`store::chain::a_cut_tail_shows`). One that is not built
/// yet names the issue that brings it instead, so that no row is silently empty.
fn broken_rows(conformance: &str, functions: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(conformance.lines()) {
        let Some(id) = row_id(line) else { continue };
        let at = format!("docs/conformance.md:{number}: {id}");
        let quoted = line.split('`').skip(1).step_by(2);
        let tests: Vec<_> = quoted.filter_map(|quoted| Some(quoted.rsplit_once("::")?.1)).collect();
        if tests.is_empty() && !line.contains("issue ") {
            found.push(format!("{at} names no test, expected `crate::file::test` or `issue N`"));
        }
        for test in tests.into_iter().filter(|test| !functions.contains(*test)) {
            found.push(format!("{at} names `{test}`, expected a `fn {test}` under crates/"));
        }
    }
    found
}

fn row_id(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['|', '-', '*', ' ']);
    let id = line.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let digits = id.strip_prefix(|c: char| c.is_ascii_uppercase())?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(id)
}

#[test]
fn the_scan_finds_what_is_too_large() {
    let body = "        step();\n".repeat(70);
    let long = format!("impl A {{\n    pub(crate) async fn long() {{\n{body}    }}\n}}\n");
    let found = sizes(&Source::new("a.rs", &long));
    assert_eq!(found, ["a.rs:2: `long` has 72 lines, expected at most 70"]);

    let declared = format!("fn short(&self);\n{}", "// Padding.\n".repeat(500));
    assert_eq!(sizes(&Source::new("a.rs", &declared)), ["a.rs: 501 lines, expected at most 500"]);
    let wide = format!("// {}\n", "ä".repeat(98));
    assert_eq!(sizes(&Source::new("a.rs", &wide)), ["a.rs:1: 101 columns, expected at most 100"]);
}

#[test]
fn the_scan_finds_a_forbidden_arrow() {
    let direct = "[dependencies]\nbaton-store.workspace = true\nserde.workspace = true\n";
    assert_eq!(forbidden_dependencies("server", direct).len(), 1);
    assert_eq!(forbidden_dependencies("engine", direct).len(), 0);
    let hidden = "[target.'cfg(unix)'.dev-dependencies]\nledger = { package = \"baton-store\" }\n";
    assert_eq!(forbidden_dependencies("cli", hidden).len(), 1);
    assert_eq!(forbidden_dependencies("cloud", "").len(), 1);
}

#[test]
fn the_scan_finds_bugs_that_people_would_get() {
    let feature = "[features]\nplanted = [\"baton-protocol/planted\"]\n";
    let tests = "[dev-dependencies]\nbaton-store = { features = [\"planted\"] }\n";
    let people = "[dependencies]\nbaton-store = { features = [\"planted\"] }\n";
    let by_default = "[features]\ndefault = [\"planted\"]\n";
    let found = |text: &str| planted_for_people(text).len();
    assert_eq!([feature, tests, people, by_default].map(found), [0, 0, 1, 1]);
}

#[test]
fn the_scan_finds_what_is_out_of_place() {
    let pure = |text: &str| out_of_place(&Source::new("crates/protocol/src/a.rs", text)).len();
    assert_eq!(pure("// A clock such as SystemTime is read elsewhere.\nfn instantiate() {}"), 0);
    assert_eq!(pure("use std::{\n    fmt,\n    fs::File,\n};"), 1);
    assert_eq!(pure("let now = SystemTime::now();"), 1);
    assert_eq!(pure("pub async fn decide() {}"), 1);
    let entry = Source::new("crates/cli/src/main.rs", "use baton_store::Ledger;");
    assert_eq!(out_of_place(&entry).len(), 1);
}

#[test]
fn the_scan_finds_banned_words_and_missing_purposes() {
    let found = |text: &str| banned(&Source::new("crates/a/src/b.rs", text)).len();
    assert_eq!(found("struct TaskManager;\nmod common;\npub fn get_name() {}\n"), 3);
    assert_eq!(found("#[ignore = \"slow\"]\nfn a() { todo!() }\n"), 2);
    assert_eq!(found("let uncommon = map.get_mut(key);\n"), 0);
    assert_eq!(banned(&Source::new("crates/a/src/utils.rs", "")).len(), 1);
    assert!(without_a_purpose(&Source::new("crates/a/src/b.rs", "fn a() {}")).is_some());
}

#[test]
fn the_scan_finds_a_row_without_its_test() {
    let rows = "| A1 | fields | `protocol::record::fields_are_named` |\n\
                | A2 | sequential | `store::gone` |\n\
                | A3 | delegation | |\n\
                | E8 | daemon | issue 7 |\n";
    let functions = BTreeSet::from(["fields_are_named".to_owned()]);
    assert_eq!(
        broken_rows(rows, &functions),
        [
            "docs/conformance.md:2: A2 names `gone`, expected a `fn gone` under crates/",
            "docs/conformance.md:3: A3 names no test, expected `crate::file::test` or `issue N`",
        ]
    );
}
