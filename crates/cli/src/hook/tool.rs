//! Which files a tool writes, by its name and what it is given.

use serde_json::Value;

/// Files of one call that are looked at; a patch of more is judged by its first ones.
const FILES_MAX: usize = 256;

/// Where a call says which file it writes, in the words of the different programs.
const PLACES: [&str; 8] = [
    "source",
    "file_path",
    "filePath",
    "notebook_path",
    "path",
    "absolute_path",
    "target_file",
    "destination",
];

/// Where a call has its patch.
const PATCHES: [&str; 4] = ["command", "patch", "patchText", "input"];

/// What a tool writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    /// As the tool names them; empty if it writes nothing that we know of.
    pub(crate) files: Vec<String>,
}

/// Tools that only look, in the words of the different programs.
const READERS: [&str; 26] = [
    "read",
    "read_file",
    "read_many_files",
    "glob",
    "grep",
    "grep_files",
    "grep_search",
    "search_file_content",
    "ls",
    "list",
    "list_dir",
    "list_directory",
    "view_image",
    "notebookread",
    "websearch",
    "webfetch",
    "web_fetch",
    "web_search",
    "google_web_search",
    "todowrite",
    "todoread",
    "update_plan",
    "write_todos",
    "activate_skill",
    "ask_user",
    "toolsearch",
];

/// Whether a tool may have begun the work. Whoever cannot be told to only look, acts.
pub(super) fn acts(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let ours = ["mcp__baton__", "mcp_baton_", "baton_"].iter().any(|it| lower.starts_with(it));
    !ours && !READERS.contains(&bare(&lower))
}

/// The name that a tool has by itself. Those of MCP servers are `mcp__SERVER__TOOL`, and
/// `mcp_SERVER_TOOL` in Gemini CLI.
fn bare(name: &str) -> &str {
    match (name.rsplit_once("__"), name.strip_prefix("mcp_")) {
        (Some((_, tool)), _) => tool,
        (None, Some(rest)) => rest.split_once('_').map_or(rest, |(_, tool)| tool),
        (None, None) => name,
    }
}

/// What a call of the tool `name` with `input` writes.
pub(super) fn edit(name: &str, input: &Value) -> Edit {
    let name = name.to_ascii_lowercase();
    let mut files = match bare(&name) {
        "edit" | "write" | "multiedit" | "notebookedit" | "write_file" | "replace"
        | "edit_file" | "create_file" | "move_file" | "create" | "str_replace" | "insert" => {
            named(input)
        }
        "str_replace_based_edit_tool" | "str_replace_editor" => {
            let looks = input.get("command").and_then(Value::as_str) == Some("view");
            if looks { Vec::new() } else { named(input) }
        }
        "patch" | "apply_patch" | "applypatch" => {
            let mut files = named(input);
            files.extend(patched(&patch_in(input)));
            files
        }
        // A patch can also go through the shell.
        "bash" | "shell" | "exec_command" | "local_shell" | "run_shell_command" => {
            let patch = patch_in(input);
            if patch.contains("*** Begin Patch") { patched(&patch) } else { Vec::new() }
        }
        _ => Vec::new(),
    };
    files.truncate(FILES_MAX);
    Edit { files }
}

fn named(input: &Value) -> Vec<String> {
    let text = |place: &&str| input.get(*place).and_then(Value::as_str).map(str::to_owned);
    PLACES.iter().filter_map(text).filter(|path| !path.is_empty()).collect()
}

/// The text that a patch is in; a command may also be a list of words.
fn patch_in(input: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    match input {
        Value::String(patch) => patch.clone(),
        input => {
            PATCHES.iter().find_map(|place| input.get(*place).and_then(text)).unwrap_or_default()
        }
    }
}

/// The files that a patch names: in the form of Codex, or as a unified diff.
fn patched(patch: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    let heads = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    for line in patch.lines() {
        let ours = heads.iter().find_map(|head| line.strip_prefix(head));
        let unified = || {
            let name = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- "))?;
            let name = name.split('\t').next().unwrap_or(name);
            let name = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
            (name != "/dev/null").then_some(name)
        };
        let Some(name) = ours.or_else(unified).map(str::trim) else { continue };
        if !name.is_empty() && !files.iter().any(|known| known == name) {
            files.push(name.to_owned());
        }
        if files.len() >= FILES_MAX {
            break;
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_programs_tools_say_what_they_write() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n\
                     *** Add File: b.rs\n+z\n\
                     *** Move to: c.rs\n*** Delete File: d.rs\n*** End Patch\n";
        let diff = "--- a/src/a.rs\t2026\n+++ b/src/a.rs\n@@ -1 +1 @@\n-x\n+y\n\
                    --- /dev/null\n+++ b/new.rs\n";
        let shell = format!("apply_patch <<'EOF'\n{patch}EOF");
        let cases = [
            ("Edit", json!({ "file_path": "/w/a" }), "/w/a"),
            ("Write", json!({ "file_path": "/w/a", "content": "*** Add File: x" }), "/w/a"),
            ("MultiEdit", json!({ "file_path": "a", "edits": [] }), "a"),
            ("NotebookEdit", json!({ "notebook_path": "n.ipynb" }), "n.ipynb"),
            ("write_file", json!({ "file_path": "g", "content": "" }), "g"),
            ("replace", json!({ "file_path": "g", "old_string": "" }), "g"),
            ("edit", json!({ "filePath": "o" }), "o"),
            ("apply_patch", json!({ "command": patch }), "src/a.rs b.rs c.rs d.rs"),
            (
                "apply_patch",
                json!({ "command": ["apply_patch", patch] }),
                "src/a.rs b.rs c.rs d.rs",
            ),
            ("apply_patch", json!({ "patchText": patch }), "src/a.rs b.rs c.rs d.rs"),
            ("apply_patch", json!(patch), "src/a.rs b.rs c.rs d.rs"),
            ("Bash", json!({ "command": shell }), "src/a.rs b.rs c.rs d.rs"),
            ("patch", json!({ "patch": diff }), "src/a.rs new.rs"),
            ("mcp__filesystem__write_file", json!({ "path": "m" }), "m"),
            ("mcp_filesystem_write_file", json!({ "path": "m" }), "m"),
            ("mcp__fs__move_file", json!({ "path": "m", "destination": "n" }), "m n"),
            ("Bash", json!({ "command": "echo '--- a'" }), ""),
            ("Read", json!({ "file_path": "/w/a" }), ""),
            ("str_replace_based_edit_tool", json!({ "command": "view", "path": "a" }), ""),
            ("str_replace_based_edit_tool", json!({ "command": "insert", "path": "a" }), "a"),
            ("Edit", json!({ "file_path": 7 }), ""),
            ("Edit", json!(null), ""),
            ("apply_patch", json!({ "command": { "a": 1 } }), ""),
        ];
        for (name, input, expected) in cases {
            assert_eq!(edit(name, &input).files.join(" "), expected, "{name} {input}");
        }
        for looks in ["Read", "grep_search", "mcp_baton_accept_handoff", "mcp__baton__list_inbox"] {
            assert!(!acts(looks), "{looks}");
        }
        for does in ["Bash", "replace", "mcp_github_create_issue", "mcp__github__create_issue"] {
            assert!(acts(does), "{does}");
        }
        let many: String = (0..1_000).map(|n| format!("*** Add File: {n}\n")).collect();
        assert_eq!(edit("apply_patch", &json!(many)).files.len(), FILES_MAX);
    }
}
