//! Ours goes in and out, and whatever else is in a file stays as it is.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::json::Slot;
use super::node::Node;
use super::*;
use crate::setup::clients::samples;

fn servers(agent: &str) -> Edit {
    let args = ["mcp", "--agent", agent];
    let node = Node::object([("command", Node::text("baton")), ("args", Node::texts(&args))]);
    Edit::Json(vec![Slot::Server { among: "mcpServers", node }])
}

fn hooks(agent: &str) -> Edit {
    let slot = |event, ours: &str, matcher: Option<&str>| {
        let command = format!("baton hook {ours} --agent {agent} --client claude-code");
        let hook =
            Node::object([("type", Node::text("command")), ("command", Node::text(command))]);
        let hooks = ("hooks", Node::List(vec![hook]));
        let node = match matcher {
            Some(matcher) => Node::object([("matcher", Node::text(matcher)), hooks]),
            None => Node::object([hooks]),
        };
        Slot::Hook { event, node }
    };
    let line = Node::object([
        ("type", Node::text("command")),
        ("command", Node::text("baton statusline")),
    ]);
    Edit::Json(vec![
        slot("Stop", "stop", None),
        slot("PreToolUse", "pre-tool-use", Some("Edit|Write")),
        Slot::Status { node: line },
    ])
}

fn table(agent: &str) -> Edit {
    let args = ["mcp", "--agent", agent].map(str::to_owned).to_vec();
    Edit::Toml(toml::Server { among: "mcp_servers", command: "baton".to_owned(), args })
}

const BLOCK: Edit = Edit::Block("## Baton\n\nLook into your inbox.\n");

#[track_caller]
fn check(edit: &Edit, text: &str, expected: Expect) {
    let put = edit.put(Some(text)).expect("a text that can be changed");
    expected.assert_eq(&put);
    comes_back(edit, text);
}

/// In and out again is the same, and in twice is in once.
#[track_caller]
fn comes_back(edit: &Edit, text: &str) {
    let put = edit.put(Some(text)).unwrap_or_else(|wrong| panic!("{wrong} in {text:?}"));
    assert_eq!(edit.put(Some(&put)).as_ref(), Ok(&put), "twice");
    assert_eq!(edit.touches(&put), Ok(true), "{put}");
    let back = edit.take(&put, Some(text));
    assert_eq!(back, Ok(Some(text.to_owned())), "through {put}");
    assert_eq!(edit.touches(text), Ok(false), "{text}");
}

#[test]
fn a_server_is_put_behind_the_others_in_the_manner_of_the_file() {
    check(
        &servers("claude-code"),
        r#"{
    // Ours.
    "mcpServers": {
        "db": {"command": "db"} // fast
    }
}
"#,
        expect![[r#"
            {
                // Ours.
                "mcpServers": {
                    "db": {"command": "db"}, // fast
                    "baton": {
                        "command": "baton",
                        "args": ["mcp", "--agent", "claude-code"]
                    }
                }
            }
        "#]],
    );
    let one_line = servers("a").put(Some("{ \"x\": 1 }")).expect("a text");
    let server = r#"{"command": "baton", "args": ["mcp", "--agent", "a"]}"#;
    assert_eq!(one_line, format!(r#"{{ "x": 1, "mcpServers": {{"baton": {server}}} }}"#));
    comes_back(&servers("a"), "{ \"x\": 1 }");
}

#[test]
fn hooks_join_the_users_and_a_status_line_of_their_own_stays() {
    check(
        &hooks("a"),
        r#"{
  "statusLine": {"type": "command", "command": "mine"},
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]},
    ],
  },
}
"#,
        expect![[r#"
            {
              "statusLine": {"type": "command", "command": "mine"},
              "hooks": {
                "Stop": [
                  {"hooks": [{"type": "command", "command": "say done"}]},
                  {
                    "hooks": [
                      {
                        "type": "command",
                        "command": "baton hook stop --agent a --client claude-code"
                      }
                    ]
                  },
                ],
                "PreToolUse": [
                  {
                    "matcher": "Edit|Write",
                    "hooks": [
                      {
                        "type": "command",
                        "command": "baton hook pre-tool-use --agent a --client claude-code"
                      }
                    ]
                  }
                ],
              },
            }
        "#]],
    );
}

#[test]
fn a_table_goes_behind_everything_or_among_those_of_one_line() {
    check(
        &table("codex"),
        "model = \"x\" # mine\n\n[mcp_servers.db]\ncommand = \"db\"\n",
        expect![[r#"
            model = "x" # mine

            [mcp_servers.db]
            command = "db"

            [mcp_servers.baton]
            command = "baton"
            args = ["mcp", "--agent", "codex"]
        "#]],
    );
    let (ours, theirs) = ("[\"mcp\", \"--agent\", \"c\"]", "db = { command = \"db\" }");
    let text = format!("mcp_servers = {{ {theirs} }}\n[x]\n");
    let ours = format!("baton = {{ command = \"baton\", args = {ours} }}");
    let expected = format!("mcp_servers = {{ {ours}, {theirs} }}\n[x]\n");
    assert_eq!(table("c").put(Some(&text)), Ok(expected));
    comes_back(&table("c"), &text);
    comes_back(&table("c"), "mcp_servers.db.command = \"db\"\n\n[x]\ny = 1\n");
}

#[test]
fn another_agent_changes_ours_in_place_and_what_the_user_added_to_it_stays() {
    let first = servers("a").put(Some("{\"mcpServers\": {}}")).expect("a text");
    let theirs =
        first.replace("\"command\": \"baton\"", "\"env\": {\"A\": \"1\"}, \"command\": \"baton\"");
    let second = servers("b").put(Some(&theirs)).expect("a text");
    assert_eq!(second, theirs.replace("\"a\"", "\"b\""));
    assert_eq!(
        servers("b").take(&second, Some("{\"mcpServers\": {}}")),
        Ok(Some("{\"mcpServers\": {}}".to_owned()))
    );
    let first = hooks("a").put(None).expect("a text");
    let second = hooks("b").put(Some(&first)).expect("a text");
    assert_eq!(second, first.replace("--agent a", "--agent b"));
    let toml = table("a").put(Some("x = 1")).expect("a text");
    assert_eq!(table("b").put(Some(&toml)), Ok(toml.replace("\"a\"", "\"b\"")));
}

#[test]
fn a_server_of_that_name_that_is_not_ours_is_left_alone() {
    let foreign = "{\n\"mcpServers\": {\"baton\": {\"command\": \"node\", \"args\": [\"x\"]}}}";
    let wrong = servers("a").put(Some(foreign)).expect_err("not ours");
    expect!["line 2: there is a server named baton that is not ours; rename it first"]
        .assert_eq(&wrong.to_string());
    assert_eq!(servers("a").take(foreign, None), Ok(Some(foreign.to_owned())));
    let foreign = "[mcp_servers.baton]\ncommand = \"node\"\n";
    assert!(table("a").put(Some(foreign)).is_err());
    assert_eq!(table("a").take(foreign, None), Ok(Some(foreign.to_owned())));
}

#[test]
fn what_cannot_be_understood_is_named_with_its_line() {
    let said = |edit: &Edit, text: &str| edit.put(Some(text)).expect_err("wrong").to_string();
    let told = [
        said(&servers("a"), "{\n  \"a\": 1,\n  oops\n}"),
        said(&servers("a"), "{\n  \"mcpServers\": []\n}"),
        said(&servers("a"), "[]"),
        said(&hooks("a"), "{\"hooks\": {\n\"Stop\": {}}}"),
        said(&table("a"), "x = 1\ny = = 2\n"),
        said(&table("a"), "mcp_servers = 3\n"),
        said(&BLOCK, "a\n<!-- baton:begin -->\nb\n"),
        said(&BLOCK, "a\n<!-- baton:end -->\n"),
    ];
    expect![[r#"
        line 3: expected string for object property
        line 2: `mcpServers` is not an object
        line 1: expected an object
        line 2: `hooks.Stop` is not a list
        line 2: extra `=`, expected nothing
        line 1: `mcp_servers` cannot hold a server; expected a table
        line 2: <!-- baton:begin --> without <!-- baton:end --> after it
        line 2: <!-- baton:end --> without <!-- baton:begin --> before it"#]]
    .assert_eq(&told.join("\n"));
}

#[test]
fn a_file_that_is_ours_alone_goes() {
    for edit in [servers("a"), hooks("a"), table("a"), BLOCK, Edit::Whole("x\n".to_owned())] {
        let put = edit.put(None).expect("a text");
        assert_eq!(edit.take(&put, None), Ok(None), "{put}");
        let touched = format!("{put} ");
        assert!(!matches!(edit.take(&touched, Some("")), Ok(None)), "{put}");
    }
}

#[test]
fn what_the_user_adds_around_ours_stays() {
    let put = BLOCK.put(Some("# Mine\n")).expect("a text");
    assert_eq!(
        BLOCK.take(&format!("{put}More.\n"), Some("# Mine\n")),
        Ok(Some("# Mine\nMore.\n".into()))
    );
    let put = table("a").put(Some("x = 1\n")).expect("a text");
    let theirs = format!(
        "{put}env = {{ A = \"1\" }} # with ours\n\n# Later.\n[y]\nz = 2\n\
         [mcp_servers.baton.more]\nb = 1\n"
    );
    let left = table("a").take(&theirs, Some("x = 1\n")).expect("a text").expect("a file");
    expect![[r#"
        x = 1

        # Later.
        [y]
        z = 2
    "#]]
    .assert_eq(&left);
    let put = hooks("a").put(Some("{}")).expect("a text");
    let theirs = put.replace(
        "\"hooks\": [\n          {",
        "\"hooks\": [\n          {\"type\": \"command\", \"command\": \"mine\"},\n          {",
    );
    assert_ne!(put, theirs);
    let left = hooks("b").take(&theirs, Some("{}")).expect("a text").expect("a file");
    expect![[r#"
        {
          "hooks": {
            "Stop": [
              {
                "hooks": [
                  {"type": "command", "command": "mine"}
                ]
              }
            ],
            "PreToolUse": [
              {
                "matcher": "Edit|Write",
                "hooks": [
                  {"type": "command", "command": "mine"}
                ]
              }
            ]
          }
        }"#]]
    .assert_eq(&left);
}

/// The text without what may differ when a line is added by hand.
fn normal(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != ',').collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn ours_in_json_comes_out_without_a_trace(text in samples::jsonc(), agent in "[a-z]{1,6}") {
        for edit in [servers(&agent), hooks(&agent)] {
            comes_back(&edit, &text);
            let put = edit.put(Some(&text)).expect("a text");
            let other = if matches!(&edit, Edit::Json(slots) if slots.len() == 1) {
                servers("someone-else")
            } else {
                hooks("someone-else")
            };
            let changed = other.put(Some(&put)).expect("a text");
            prop_assert_eq!(other.take(&changed, Some(&text)), Ok(Some(text.clone())));
        }
    }

    #[test]
    fn a_users_later_line_in_json_outlives_ours(text in samples::jsonc()) {
        prop_assume!(text.contains('{'));
        let edit = hooks("a");
        let add = |text: &str| text.replacen('{', "{\"zz_later\": [1, 2],", 1);
        let put = add(&edit.put(Some(&text)).expect("a text"));
        let left = edit.take(&put, Some(&text)).expect("a text").expect("a file");
        prop_assert_eq!(normal(&left), normal(&add(&text)));
    }

    #[test]
    fn ours_in_toml_comes_out_without_a_trace(text in samples::toml(), agent in "[a-z]{1,6}") {
        comes_back(&table(&agent), &text);
    }

    #[test]
    fn ours_in_markdown_comes_out_without_a_trace(text in samples::markdown()) {
        comes_back(&BLOCK, &text);
    }
}
