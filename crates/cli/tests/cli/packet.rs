//! Packets from git and transcripts, through the real binary.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::desk::Desk;

const CLAUDE: &str = include_str!("../../../context/tests/transcripts/claude-code.jsonl");
const CODEX: &str = include_str!("../../../context/tests/transcripts/codex.jsonl");

/// A desk with a home of its own, so that nobody's transcripts get into a test.
struct Bench {
    desk: Desk,
    home: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { desk: Desk::new(), home: tempfile::tempdir().expect("a folder") }
    }

    fn root(&self) -> PathBuf {
        self.desk.path().canonicalize().expect("a folder")
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.desk.baton(args);
        command.env("HOME", self.home.path()).current_dir(self.root());
        command.env_remove("CLAUDE_CONFIG_DIR").env_remove("CODEX_HOME");
        command
    }

    fn packet(&self, args: &[&str]) -> Value {
        let args = [&["packet", "--json"][..], args].concat();
        let output = self.command(&args).output().expect("a run");
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    fn git(&self, args: &[&str]) {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
        let ran = Command::new("git").args(who).args(args).current_dir(self.root()).output();
        assert!(ran.as_ref().is_ok_and(|ran| ran.status.success()), "{args:?}: {ran:?}");
    }

    fn write(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Leaves a transcript where its program would, as if the work had been done here.
    fn leave(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let text = text.replace("/home/ada/shop", self.root().to_str().expect("UTF-8"));
        fs::write(path, text).expect("a file");
    }
}

fn yaml(packet: &Value) -> &str {
    packet["yaml"].as_str().expect("YAML")
}

#[test]
fn a_packet_tells_what_git_knows_in_every_state_of_a_repository() {
    let bench = Bench::new();
    let nothing = bench.packet(&[]);
    assert!(nothing["evidence"]["git"].is_null(), "{nothing}");
    let missing = nothing["missing"].as_array().map(Vec::len);
    assert_eq!(missing, Some(8), "{nothing}");

    bench.git(&["init", "-q", "-b", "feat/keys"]);
    bench.write("a.rs", "fn a() {}\n");
    let fresh = bench.packet(&[]);
    assert!(yaml(&fresh).contains("branch: \"feat/keys\""), "{fresh}");
    assert!(yaml(&fresh).contains("- \"a.rs\""), "{fresh}");

    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "-m", "Add a \"first\" part"]);
    let clean = bench.packet(&[]);
    assert_eq!(clean["evidence"]["git"]["committed"], true);
    assert!(yaml(&clean).contains("- \"a.rs\""), "those of the last commit: {clean}");
    assert!(clean["evidence"]["git"]["commits"].to_string().contains("first"), "{clean}");

    bench.git(&["mv", "a.rs", "b \"b\".rs"]);
    bench.write(OsStr::from_bytes(b"odd\xff.bin"), "\u{0}\u{1}");
    bench.git(&["checkout", "-q", "--detach"]);
    let odd = bench.packet(&[]);
    assert!(yaml(&odd).contains("branch: \"detached at "), "{odd}");
    assert!(yaml(&odd).contains(r#"- "b \"b\".rs""#), "{odd}");
    assert!(yaml(&odd).contains("- \"odd\u{fffd}.bin\""), "{odd}");
    assert!(!yaml(&odd).contains("\"a.rs\""), "the old name is gone: {odd}");
}

#[test]
fn nothing_that_a_repository_names_is_run() {
    let bench = Bench::new();
    bench.git(&["init", "-q"]);
    bench.write("a.rs", "1\n");
    bench.write(".gitattributes", "*.rs diff=evil\n");
    bench.git(&["add", "-A"]);
    bench.git(&["commit", "-q", "-m", "x"]);
    bench.write("a.rs", "2\n");
    let trap = bench.root().join("trap.sh");
    bench.write("trap.sh", "#!/bin/sh\ntouch \"$(dirname \"$0\")/sprung\"\ncat 2>/dev/null\n");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&trap, open).expect("permissions");
    let trap = trap.to_str().expect("UTF-8");
    for key in ["core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv"] {
        bench.git(&["config", key, trap]);
    }
    bench.git(&["config", "core.pager", trap]);
    let packet = bench.packet(&[]);
    assert!(yaml(&packet).contains("a.rs"), "{packet}");
    assert!(!bench.root().join("sprung").exists(), "something of the repository was run");
}

#[test]
fn the_newest_transcript_of_this_folder_is_found_and_told() {
    let bench = Bench::new();
    let munged = bench.root().to_str().expect("UTF-8").replace(|c: char| !c.is_alphanumeric(), "-");
    bench.leave(&format!(".claude/projects/{munged}/5f0c.jsonl"), CLAUDE);
    bench.leave(&format!(".claude/projects/{munged}/agent-1.jsonl"), CODEX);
    bench.leave(".claude/projects/-elsewhere/1.jsonl", CODEX);
    bench.write("src/payments/keys.rs", "");
    let packet = bench.packet(&["--story", "SHOP-12", "--to", "@qa"]);
    assert_eq!(packet["evidence"]["found"]["kind"], "claude-code", "{packet}");
    let yaml = yaml(&packet);
    for part in [
        "from_agent: \"claude-code\"",
        "to_agent: \"qa\"",
        "story_id: \"SHOP-12\"",
        "keys live in PostgreSQL",
        "current_task: \"Reject a key that comes with another body\"",
        "- \"src/payments/keys.rs\"",
        "blocked by the missing migration role",
        "next_action: \"Make `charge` take the key",
    ] {
        assert!(yaml.contains(part), "no {part} in {yaml}");
    }
    assert!(!yaml.contains("docs/callers.md"), "what is gone was not left to anybody: {yaml}");
    assert!(packet["tokens"].as_u64().is_some_and(|tokens| tokens <= 500), "{packet}");
    assert_eq!(packet["evidence"]["found"]["skipped"], 2);

    let rollout = ".codex/sessions/2026/02/24/rollout-2026-02-24T09-00-00-019a.jsonl";
    bench.leave(rollout, CODEX);
    let elsewhere = CODEX.replace("/home/ada/shop", "/home/ada/other");
    bench.leave(".codex/sessions/2026/02/25/rollout-2026-02-25T09-00-00-019b.jsonl", &elsewhere);
    let packet = bench.packet(&[]);
    assert_eq!(packet["evidence"]["found"]["kind"], "codex", "{packet}");
    assert!(self::yaml(&packet).contains("from_agent: \"codex\""), "{packet}");
    assert!(self::yaml(&packet).contains("describe the raw key in the story"), "{packet}");
}

#[test]
fn a_packet_is_shown_with_its_tokens_and_what_is_missing_and_kept_when_asked() {
    let bench = Bench::new();
    bench.write("t.jsonl", CODEX);
    let long = CODEX.replace("raw key as the primary key", &"very raw key ".repeat(80));
    bench.write("long.jsonl", &long);
    let output = bench.command(&["packet", "--transcript", "long.jsonl"]).output().expect("a run");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.stdout.starts_with(b"handoff:\n  version: \"1.0\"\n"), "{said}");
    assert!(said.contains("note: transcript long.jsonl: 22 lines, 0 not understood"), "{said}");
    assert!(said.contains("note: shortened decisions from "), "{said}");
    assert!(said.contains("note: not found: story_id, story_path, story_status"), "{said}");
    assert!(said.contains(" tokens of o200k_base"), "{said}");

    let kept = bench.packet(&["--transcript", "t.jsonl", "--from", "dev", "--to", "qa", "--write"]);
    let path = kept["written"].as_str().expect("a file");
    assert!(path.contains(".baton/handoffs/handoff-dev-to-qa-2"), "{path}");
    assert_eq!(fs::read_to_string(path).expect("a file"), yaml(&kept));
    // Whoever it is for is the one that hands over next.
    assert!(yaml(&bench.packet(&[])).contains("from_agent: \"qa\""));

    for _ in 0..2 {
        bench.packet(&["--write"]);
    }
    let output = bench.command(&["packet", "--write"]).output().expect("a run");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    let dropped = format!("note: dropped {path}");
    assert!(said.replace("\n      ", " ").contains(&dropped), "{said}");

    let none = bench.command(&["packet", "--transcript", "none.jsonl"]).output().expect("a run");
    assert_eq!(none.status.code(), Some(1), "{none:?}");
}
