//! Clients of coding agents are set up, looked after and left again, with the real binary.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::desk::{OWN, Ran};

/// A home, a project that is no workspace yet, and a PATH that leads to this `baton`.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().expect("a folder") };
        for folder in ["home", "project", "bin"] {
            fs::create_dir(bench.at(folder)).expect("a folder");
        }
        symlink(env!("CARGO_BIN_EXE_baton"), bench.at("bin/baton")).expect("a link");
        bench
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn baton(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.at("bin/baton"));
        command.args(args).current_dir(self.at("project")).stdin(Stdio::null());
        for name in OWN {
            command.env_remove(name);
        }
        let clients = [
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "GEMINI_CLI_HOME",
            "XDG_CONFIG_HOME",
            "XDG_STATE_HOME",
        ];
        for name in clients {
            command.env_remove(name);
        }
        command.env("HOME", self.at("home")).env("PATH", self.at("bin"));
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::new(self.baton(args).output().expect("the binary runs"), args)
    }

    fn json(&self, args: &[&str]) -> Value {
        let said = self.run(&[args, &["--json"]].concat()).out;
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    /// The files of the project and the home, but for the workspace's own.
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        let mut folders = vec![self.at("project"), self.at("home")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                let name = path.strip_prefix(self.folder.path()).expect("inside");
                match path.is_dir() {
                    true if name == Path::new("project/.baton") => (),
                    true => folders.push(path),
                    false => files.push(name.display().to_string()),
                }
            }
        }
        files.sort();
        files
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.baton(&["stop"]).output();
    }
}

const CLIENTS: [(&str, &[&str]); 4] = [
    (
        "claude-code",
        &[
            "project/.claude/commands/handoff.md",
            "project/.claude/commands/inbox.md",
            "project/.claude/settings.json",
            "project/.claude/skills/baton/SKILL.md",
            "project/.mcp.json",
            "project/CLAUDE.md",
        ],
    ),
    (
        "codex",
        &[
            "project/.agents/skills/baton/SKILL.md",
            "project/.codex/config.toml",
            "project/.codex/hooks.json",
            "project/AGENTS.md",
        ],
    ),
    (
        "gemini",
        &[
            "project/.agents/skills/baton/SKILL.md",
            "project/.gemini/settings.json",
            "project/GEMINI.md",
        ],
    ),
    (
        "opencode",
        &[
            "project/.agents/skills/baton/SKILL.md",
            "project/.opencode/plugins/baton.js",
            "project/AGENTS.md",
            "project/opencode.json",
        ],
    ),
];

#[test]
fn one_command_takes_a_newcomer_from_nothing_to_a_known_agent() {
    for (client, files) in CLIENTS {
        let bench = Bench::new();
        let missing = bench.run(&["setup", client, "--check"]);
        assert!(missing.out.contains("missing .baton  (the workspace)"), "{missing}");
        assert!(missing.fails(1).contains(&format!("run `baton setup {client}`")));
        assert!(!bench.at("project/.baton").exists(), "a check writes nothing");

        let said = bench.run(&["setup", client]);
        assert!(said.out.contains("is a workspace now"), "{said}");
        assert_eq!(said.out.matches("wrote ").count(), files.len(), "{said}");
        assert!(said.err.contains("next: "), "{said}");
        assert!(!said.err.contains("warning"), "{said}");
        said.ok();
        assert_eq!(bench.files(), files);
        assert!(bench.run(&["agent", "list", "--quiet"]).ok().contains(client));
        let token = bench.at(&format!("project/.baton/sessions/{client}.token"));
        let mode = fs::metadata(token).expect("a token").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        bench.run(&["setup", client, "--check"]).ok();
        let again = bench.run(&["setup", client]).ok();
        assert_eq!(again.matches("same ").count(), files.len(), "{again}");

        let gone = bench.run(&["setup", client, "--remove"]).ok();
        assert_eq!(gone.matches("deleted ").count(), files.len(), "{gone}");
        assert_eq!(bench.files(), Vec::<String>::new());
        let left: Vec<_> = fs::read_dir(bench.at("project")).expect("a folder").flatten().collect();
        assert_eq!(left.len(), 1, "no empty folder stays: {left:?}");
        assert!(bench.run(&["setup", client, "--remove"]).ok().contains("was not set up"));
    }
}

#[test]
fn what_is_written_is_what_the_clients_read() {
    let bench = Bench::new();
    for (client, _) in CLIENTS {
        bench.run(&["setup", client]).ok();
    }
    let json = |path: &str| -> Value { serde_json::from_str(&bench.read(path)).expect("JSON") };
    let claude = &json("project/.mcp.json")["mcpServers"]["baton"];
    assert_eq!(claude["command"], "baton");
    assert_eq!(claude["args"], serde_json::json!(["mcp", "--agent", "claude-code"]));
    let settings = json("project/.claude/settings.json");
    let hook = &settings["hooks"]["PreToolUse"][0];
    assert_eq!(hook["matcher"], "Edit|Write|MultiEdit|NotebookEdit");
    assert_eq!(
        hook["hooks"][0]["command"],
        "baton hook pre-tool-use --agent claude-code --client claude-code"
    );
    assert_eq!(settings["hooks"].as_object().map(serde_json::Map::len), Some(9));
    assert_eq!(settings["statusLine"]["command"], "baton statusline --agent claude-code");
    let codex: toml::Table = bench.read("project/.codex/config.toml").parse().expect("TOML");
    let server = &codex["mcp_servers"]["baton"];
    assert_eq!(server["command"].as_str(), Some("baton"));
    assert_eq!(json("project/.codex/hooks.json")["hooks"].as_object().map(|it| it.len()), Some(9));
    let gemini = json("project/.gemini/settings.json");
    assert_eq!(gemini["mcpServers"]["baton"]["args"][2], "gemini");
    assert_eq!(gemini["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 5_000);
    let opencode = &json("project/opencode.json")["mcp"]["baton"];
    assert_eq!(opencode["command"], serde_json::json!(["baton", "mcp", "--agent", "opencode"]));
    let plugin = bench.read("project/.opencode/plugins/baton.js");
    assert!(plugin.contains("const agent = \"opencode\""), "{plugin}");
    assert_eq!(bench.read("project/AGENTS.md").matches("baton:begin").count(), 1);

    let rows = bench.json(&["setup", "--list"]);
    for row in rows.as_array().expect("rows") {
        assert_eq!((&row["project"], &row["global"]), (&Value::Bool(true), &Value::Bool(false)));
    }
    let table = bench.run(&["setup", "--list"]).ok();
    assert!(table.starts_with("CLIENT"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
}

#[test]
fn a_users_own_settings_outlive_setup_and_removal() {
    let bench = Bench::new();
    let settings = "\u{feff}{\r\n\t// My rules.\r\n\
                    \t\"permissions\": {\"allow\": [\"Bash(ls:*)\"]},\r\n\
                    \t\"statusLine\": {\"type\": \"command\", \"command\": \"mine\"},\r\n\
                    \t\"hooks\": {\"Stop\": []},\r\n}";
    bench.file("project/.claude/settings.json", settings);
    bench.file("project/.claude/commands/handoff.md", "My own.\n");
    bench.file("project/CLAUDE.md", "# Mine");
    let said = bench.run(&["setup", "claude-code", "--agent", "reviewer"]).ok();
    assert!(said.contains("kept   .claude/commands/handoff.md  (it is your own)"), "{said}");
    let now = bench.read("project/.claude/settings.json");
    assert!(now.contains("--agent reviewer") && now.contains("// My rules."), "{now}");
    assert!(now.contains("\"command\": \"mine\"") && !now.contains("statusline"), "{now}");
    // All of ours is there; only the program takes no comments, and then not the file either.
    let why = bench.run(&["setup", "claude-code", "--check"]).fails(1);
    assert!(why.contains("cannot read 1 of its files") && why.contains("take out"), "{why}");
    // The agent stays who it is until another is named.
    bench.run(&["setup", "claude-code", "--agent", "writer"]).ok();
    assert!(!bench.read("project/.claude/settings.json").contains("reviewer"));
    bench.run(&["setup", "claude-code", "--remove"]).ok();
    assert_eq!(bench.read("project/.claude/settings.json"), settings);
    assert_eq!(bench.read("project/CLAUDE.md"), "# Mine");
    let own = [
        "project/.claude/commands/handoff.md",
        "project/.claude/settings.json",
        "project/CLAUDE.md",
    ];
    assert_eq!(bench.files(), own);
}

#[test]
fn a_user_can_be_set_up_for_everything() {
    let bench = Bench::new();
    let config = bench.at("home/elsewhere");
    let run = |args: &[&str]| {
        let output = bench.baton(args).env("CLAUDE_CONFIG_DIR", &config).output().expect("a run");
        Ran::new(output, args)
    };
    bench.file("home/elsewhere/.claude.json", "{\"numStartups\": 3}");
    let said = run(&["setup", "claude-code", "--global"]).ok();
    assert!(said.contains("wrote  ~/elsewhere/.claude.json  (the MCP server)"), "{said}");
    assert!(!bench.at("project/.baton").exists(), "for a user there need not be a workspace");
    assert!(bench.at("home/.local/state/baton/setup/claude-code.json").exists());
    // The client writes this file all the time.
    let now = bench.read("home/elsewhere/.claude.json").replace('3', "4");
    bench.file("home/elsewhere/.claude.json", &now);
    let gone = run(&["setup", "claude-code", "--global", "--remove"]).ok();
    assert!(gone.contains("changed  ~/elsewhere/.claude.json"), "{gone}");
    assert_eq!(bench.read("home/elsewhere/.claude.json"), "{\"numStartups\": 4}");
    let left = ["home/.local/state/baton/setup/lock", "home/elsewhere/.claude.json"];
    assert_eq!(bench.files(), left);
}

#[test]
fn a_file_in_the_way_is_told_and_nothing_is_written() {
    let bench = Bench::new();
    bench.file("project/.codex/config.toml", "model = \"x\"\nmodel = \"y\"\n");
    let said = bench.run(&["setup", "codex"]).fails(3);
    assert!(said.contains("cannot change .codex/config.toml: line 2: duplicate key"), "{said}");
    assert!(said.contains("nothing was written"), "{said}");
    assert_eq!(bench.files(), ["project/.codex/config.toml"]);
    assert!(!bench.at("project/.baton").exists());
    let check = bench.run(&["setup", "codex", "--check"]);
    assert!(check.out.contains("line 2: duplicate key"), "{check}");
    assert!(bench.run(&["setup", "codex", "--agent", "operator"]).fails(2).contains("operator"));
    bench.run(&["setup"]).fails(2);
    bench.run(&["setup", "vim"]).fails(2);
    bench.run(&["setup", "codex", "--check", "--remove"]).fails(2);
    bench.run(&["setup", "codex", "--project", "--global"]).fails(2);
}

#[test]
fn without_baton_in_path_a_project_is_warned_and_a_user_gets_the_whole_path() {
    let bench = Bench::new();
    let run = |args: &[&str]| {
        let output = bench.baton(args).env("PATH", "/nowhere").output().expect("a run");
        Ran::new(output, args)
    };
    let said = run(&["setup", "gemini"]);
    assert!(said.err.contains("warning: there is no baton in PATH"), "{said}");
    said.ok();
    run(&["setup", "gemini", "--global"]).ok();
    let settings: Value =
        serde_json::from_str(&bench.read("home/.gemini/settings.json")).expect("JSON");
    let program = settings["mcpServers"]["baton"]["command"].as_str().expect("a program");
    assert!(Path::new(program).is_absolute(), "{program}");
}

#[test]
fn a_doctor_says_what_is_wrong_and_how_to_mend_it() {
    let bench = Bench::new();
    let said = bench.run(&["doctor"]);
    assert!(said.out.contains("problem  there is no workspace"), "{said}");
    assert!(said.fails(1).contains("1 thing has to be mended"));

    bench.run(&["setup", "claude-code"]).ok();
    let well = bench.run(&["doctor"]).ok();
    for part in [
        "ok       `baton` is this program",
        "ok       its settings can be read",
        "ok       the coordinator runs as process",
        "ok       the coordinator alone has the ledger open",
        "ok       claude-code's token is accepted",
        "ok       claude-code is set up in this workspace",
        "ok       only you can look into .baton",
    ] {
        assert!(well.contains(part), "no {part} in {well}");
    }
    assert_eq!(bench.json(&["doctor"])["problems"], 0);
    bench.run(&["stop"]).ok();
    assert!(bench.run(&["doctor"]).ok().contains("the coordinator was started and runs"));

    let mode = |path: &str, mode| {
        fs::set_permissions(bench.at(path), fs::Permissions::from_mode(mode)).expect("a mode");
    };
    let token = "project/.baton/sessions/claude-code.token";
    mode(token, 0o644);
    mode("project/.baton", 0o755);
    fs::remove_file(bench.at("project/.mcp.json")).expect("a file");
    bench.file("project/.baton/config.toml", "agent = \"ghost\"\n");
    let ill = bench.run(&["doctor"]);
    for part in [
        "problem  others may read claude-code's token (mode 644)",
        "hint: chmod 600 ",
        "problem  others may look into ",
        "hint: chmod 700 ",
        "problem  claude-code is set up in this workspace, but for: .mcp.json",
        "hint: run `baton setup claude-code` again",
        "warning  ghost, whom sessions are by the settings, has no token yet",
    ] {
        assert!(ill.out.contains(part), "no {part} in {ill}");
    }
    assert!(ill.fails(1).contains("3 things have to be mended"));

    mode(token, 0o600);
    mode("project/.baton", 0o700);
    bench.run(&["setup", "claude-code"]).ok();
    let id = bench.run(&["token", "list", "--quiet"]).ok();
    bench.run(&["token", "revoke", id.trim()]).ok();
    bench.file("project/.baton/config.toml", "agnet = \"x\"\n");
    let ill = bench.json(&["doctor"]);
    let told = ill["findings"].to_string();
    assert_eq!(ill["problems"], 2, "{told}");
    assert!(told.contains("claude-code's token is not accepted"), "{told}");
    assert!(told.contains("line 1: unknown field `agnet`"), "{told}");
}
