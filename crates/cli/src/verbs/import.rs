//! Reads agents from files: our own YAML, and the front matter of coding agents' definitions.
//!
//! It only reads. Whoever calls gets all agents of all files, or the first mistake with its place.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use baton_protocol::agent::Profile;
use baton_protocol::id::AgentId;
use baton_protocol::limits::REQUEST_BYTES_MAX;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::front::from_markdown;
use crate::failure::Failure;

/// Files that one import reads.
const FILES_MAX: usize = 1_000;

const NO_FRONT: &str = "no front matter; expected --- on the first line, name: …, and --- again";

/// What files hold.
#[derive(Debug)]
pub(crate) struct Imported {
    pub(crate) profiles: Vec<Profile>,
    /// Files that define no agent and lie in a folder among others that do.
    pub(crate) skipped: Vec<PathBuf>,
}

/// Reads every agent from `paths`, or says which file is wrong, where, and what was expected.
pub(crate) fn profiles(paths: &[PathBuf]) -> Result<Imported, Failure> {
    let mut found: BTreeMap<AgentId, PathBuf> = BTreeMap::new();
    let (mut profiles, mut skipped) = (Vec::new(), Vec::new());
    for file in files(paths)? {
        let Some(defined) = read(&file)? else {
            if paths.contains(&file) {
                return Err(wrong(&file, NO_FRONT));
            }
            skipped.push(file);
            continue;
        };
        for profile in defined {
            if profile.id.is_operator() {
                let why = "the name operator is reserved for the person who runs the workspace";
                return Err(wrong(&file, why));
            }
            if let Some(other) = found.insert(profile.id.clone(), file.clone()) {
                let why = format!("agent {} is also in {}", profile.id, other.display());
                return Err(wrong(&file, why));
            }
            profiles.push(profile);
        }
    }
    match (profiles.as_slice(), skipped.first()) {
        ([], Some(file)) => Err(wrong(file, NO_FRONT)),
        _ => Ok(Imported { profiles, skipped }),
    }
}

fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let entries = entries.map_err(|error| wrong(path, error))?;
        let mut inside: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
        inside.retain(|path| kind(path).is_some() && path.is_file());
        inside.sort();
        if inside.is_empty() {
            return Err(wrong(path, "holds no .yaml, .yml or .md file"));
        }
        files.append(&mut inside);
    }
    if files.len() > FILES_MAX {
        let sentence = format!("{} files at once; expected at most {FILES_MAX}", files.len());
        return Err(Failure::usage(sentence, "import them in parts"));
    }
    Ok(files)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    Yaml,
    Markdown,
}

fn kind(path: &Path) -> Option<FileKind> {
    match path.extension()?.to_str()? {
        "yaml" | "yml" => Some(FileKind::Yaml),
        "md" => Some(FileKind::Markdown),
        _ => None,
    }
}

/// The agents that a file defines; nothing if it is a text about something else.
fn read(file: &Path) -> Result<Option<Vec<Profile>>, Failure> {
    let kind = kind(file).ok_or_else(|| wrong(file, "expected a .yaml, .yml or .md file"))?;
    let size = fs::metadata(file).map_err(|error| wrong(file, error))?.len();
    if size > REQUEST_BYTES_MAX as u64 {
        return Err(wrong(file, format!("{size} bytes; expected at most {REQUEST_BYTES_MAX}")));
    }
    let text = fs::read_to_string(file).map_err(|error| wrong(file, error))?;
    let parsed = match kind {
        FileKind::Yaml => from_yaml(&text).map(Some),
        FileKind::Markdown => from_markdown(&text).map(|found| found.map(|one| vec![one])),
    };
    parsed.map_err(|Mistake { line, why }| {
        Failure::usage(
            format!("{}:{line}: {why}", file.display()),
            "`baton agent import --help` shows the form; nothing was imported",
        )
    })
}

fn wrong(file: &Path, why: impl std::fmt::Display) -> Failure {
    let hint = "`baton agent import --help` shows the form; nothing was imported";
    Failure::usage(format!("{}: {why}", file.display()), hint)
}

/// What is wrong with a file, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) line: u64,
    pub(super) why: String,
}

/// Parses YAML into exactly the wanted type, so that a mistake has its place.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Mistake> {
    serde_saphyr::from_str(text).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line().max(1));
        let said = error.without_snippet().to_string();
        // The place is told once, before the sentence.
        let why = said.split(" at line ").next().unwrap_or(&said).lines().next().unwrap_or("");
        let why = why.trim_start_matches("error: ");
        // An untagged form only says what it would have taken.
        let bare = why.starts_with("a ");
        Mistake { line, why: if bare { format!("expected {why}") } else { why.to_owned() } }
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    agents: Vec<Profile>,
}

fn from_yaml(text: &str) -> Result<Vec<Profile>, Mistake> {
    // Looked at first without a type: trying one after the other would hide where a mistake is.
    match parse::<Value>(text)? {
        Value::Array(_) => parse(text),
        Value::Object(fields) if fields.contains_key("agents") => {
            parse(text).map(|listed: Listed| listed.agents)
        }
        Value::Object(_) => parse(text).map(|profile| vec![profile]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let why = "not an agent; expected an agent, a list of agents, or agents: and a list";
            Err(Mistake { line: 1, why: why.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(name: &str, text: &str, said: Expect) {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(name), text).expect("a file");
        let told: String = match profiles(&[folder.path().to_owned()]) {
            Ok(imported) => imported.profiles.iter().map(summary).collect(),
            Err(failure) => {
                let sentence = failure.sentence.replace(&folder.path().display().to_string(), "");
                format!("{sentence:.80}\n")
            }
        };
        said.assert_eq(&told);
    }

    fn summary(profile: &Profile) -> String {
        let json = serde_json::to_value(profile).expect("JSON");
        let fields = ["id", "name", "role", "description", "capabilities", "max_execution_time"];
        let fields = fields.iter().map(|name| &json[*name]).filter(|value| !value.is_null());
        fields.map(ToString::to_string).collect::<Vec<_>>().join(" ") + "\n"
    }

    #[test]
    fn a_file_holds_one_agent_a_list_or_a_named_list() {
        check(
            "a.yaml",
            "id: builder\ncapabilities: [rust, {id: sql, proficiency: 0.6}]\n",
            expect![[r#"
                "builder" "worker" [{"id":"rust","proficiency":1.0},{"id":"sql","proficiency":0.6}]
            "#]],
        );
        check(
            "a.yml",
            "- id: a\n- id: b\n  role: reviewer\n",
            expect![[r#"
                "a" "worker"
                "b" "reviewer"
            "#]],
        );
        check(
            "a.yaml",
            "agents:\n  - id: a\n    max_execution_time: 30m\n",
            expect![[r#"
                "a" "worker" "30m"
            "#]],
        );
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_what_was_expected() {
        check(
            "a.yaml",
            "- id: a\n- id: B!\n",
            expect![[r#"
                /a.yaml:2: `B!` holds 'B'; expected only a-z, 0-9 and `-`, starting with a lette
            "#]],
        );
        check(
            "a.yaml",
            "id: a\nrole: boss\n",
            expect![[r#"
                /a.yaml:2: unknown variant `boss`, expected one of worker, reviewer, architect, 
            "#]],
        );
        check(
            "a.yaml",
            "id: a\n\nmax_tasks: 3\n",
            expect![[r#"
                /a.yaml:3: unknown field `max_tasks`, expected one of id, name, description, rol
            "#]],
        );
        check(
            "a.yaml",
            "id: a\ncapabilities:\n  - {id: sql, proficiency: 7}\n",
            expect![[r#"
                /a.yaml:3: expected a capability name, or {id, proficiency 0.0 to 1.0} and nothi
            "#]],
        );
        check(
            "a.yaml",
            "just words\n",
            expect![[r#"
                /a.yaml:1: not an agent; expected an agent, a list of agents, or agents: and a l
            "#]],
        );
        check(
            "a.yaml",
            "id: [a\n",
            expect![[r#"
            /a.yaml:1: unclosed bracket '['
        "#]],
        );
        check(
            "a.yaml",
            "- id: a\n- id: a\n",
            expect![[r#"
            /a.yaml: agent a is also in /a.yaml
        "#]],
        );
        check(
            "a.yaml",
            "id: operator\n",
            expect![[r#"
            /a.yaml: the name operator is reserved for the person who runs the workspace
        "#]],
        );
        check(
            "a.txt",
            "id: a\n",
            expect![[r#"
            : holds no .yaml, .yml or .md file
        "#]],
        );
    }

    #[test]
    fn a_coding_agents_definition_becomes_an_agent() {
        check(
            "reviewer.md",
            "---\nname: Code Reviewer\ndescription: Reads\ntools: Read, Grep\n\
             model: opus\ncolor: red\ncapabilities: [review]\n---\nYou are a reviewer.\n",
            expect![[r#"
                "code-reviewer" "Code Reviewer" "worker" "Reads" [{"id":"review","proficiency":1.0}]
            "#]],
        );
        check(
            "plain.md",
            "---\r\nname: tester\r\n---\r\nTest.\r\n",
            expect![[r#"
                "tester" "worker"
            "#]],
        );
        check(
            "none.md",
            "You are a reviewer.\n",
            expect![[r#"
                /none.md: no front matter; expected --- on the first line, name: …, and --- agai
            "#]],
        );
        check(
            "open.md",
            "---\nname: x\n",
            expect![[r#"
                /open.md:1: the front matter has no end; expected --- on a line of its own
            "#]],
        );
        check(
            "nameless.md",
            "---\ndescription: x\n---\n",
            expect![[r#"
            /nameless.md:2: missing field `name`
        "#]],
        );
        check(
            "odd.md",
            "---\nname: 評価者\n---\n",
            expect![[r#"
            /odd.md:2: name `評価者` makes no agent name: a name of 0 bytes; expected 1 to 64
        "#]],
        );
        check(
            "bad.md",
            "---\nname: a\nrole: boss\n---\n",
            expect![[r#"
                /bad.md:3: unknown variant `boss`, expected one of worker, reviewer, architect, 
            "#]],
        );
    }

    #[test]
    fn front_matter_that_is_no_yaml_is_read_line_by_line() {
        check(
            "colon.md",
            "---\nname: reviewer\ndescription: Use this: when code changed. Example: a: b\n\
             tools: *\nrole: reviewer\n---\n",
            expect![[r#"
                "reviewer" "reviewer" "Use this: when code changed. Example: a: b"
            "#]],
        );
        check(
            "list.md",
            "---\nname: 'tester'\ndescription: >\n  Tests: all\n  of it\nnote: a: b\n\
             capabilities:\n  - \"rust\"\n---\n",
            expect![[r#"
                "tester" "worker" "Tests: all of it" [{"id":"rust","proficiency":1.0}]
            "#]],
        );
        check(
            "short.md",
            "---\nname: x\nd: a: b\ncapabilities: [a, b]\n---\n",
            expect![[r#"
            "x" "worker" [{"id":"a","proficiency":1.0},{"id":"b","proficiency":1.0}]
        "#]],
        );
        check(
            "boss.md",
            "---\nname: x\nd: a: b\nrole: boss\n---\n",
            expect![[r#"
            /boss.md:4: unknown variant `boss`, expected one of `worker`, `reviewer`, `archi
        "#]],
        );
        check(
            "nobody.md",
            "---\nd: a: b\n---\n",
            expect![[r#"
            /nobody.md:2: missing field `name`
        "#]],
        );
    }

    #[test]
    fn a_text_about_something_else_is_skipped_in_a_folder_and_an_error_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let readme = folder.path().join("README.md");
        fs::write(&readme, "# Our agents\n").expect("a file");
        fs::write(folder.path().join("a.md"), "\u{feff}---\nname: a\n---\n").expect("a file");
        let imported = profiles(&[folder.path().to_owned()]).expect("an agent");
        assert_eq!((imported.profiles.len(), imported.skipped), (1, vec![readme.clone()]));
        let failure = profiles(&[readme]).expect_err("no agent");
        assert!(failure.sentence.contains("no front matter"), "{}", failure.sentence);
    }
}
