//! Files as users have them, drawn at random: comments, trailing commas, odd spaces, other servers
//! and hooks, both kinds of line ends, a byte order mark, no last newline.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// What stands between two tokens of JSON.
const GAPS: [&str; 9] =
    ["", " ", "\n", "\n  ", "\n\t", "\n    ", " // a, b: \"c\"\n  ", " /* x\n y */ ", "\n\n"];

/// JSON in a file of a client.
pub(crate) fn jsonc() -> impl Strategy<Value = String> {
    let style = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let members = vec((select(ROOT.to_vec()), 0_usize..6), 0..4);
    let random = (members, vec(select(GAPS.to_vec()), 1..12), any::<bool>(), style);
    let usual = prop_oneof![
        Just("{}".to_owned()),
        Just(String::new()),
        Just("\n".to_owned()),
        Just("// nothing yet\n".to_owned()),
        Just("{ /* none */ }\n".to_owned()),
        Just("{\n}\n".to_owned()),
    ];
    let random = random.prop_map(|(members, gaps, pretty, (trailing, crlf, bom, last))| {
        let mut pen = Pen { gaps, at: 0, pretty, trailing, text: String::new() };
        let mut seen = Vec::new();
        let fresh = |(name, _): &(&str, usize)| {
            let new = !seen.contains(&name.to_string());
            seen.push(name.to_string());
            new
        };
        let members: Vec<_> = members.into_iter().filter(fresh).collect();
        pen.object(
            0,
            &members.iter().map(|(name, n)| (*name, value(name, *n))).collect::<Vec<_>>(),
        );
        let text = if last { pen.text + "\n" } else { pen.text };
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        if bom { format!("\u{feff}{text}") } else { text }
    });
    prop_oneof![9 => random, 1 => usual]
}

const ROOT: [&str; 8] =
    ["mcpServers", "mcp", "hooks", "statusLine", "permissions", "model", "näme", "a"];

#[derive(Clone)]
enum Sample {
    Word(&'static str),
    List(Vec<Sample>),
    Object(Vec<(&'static str, Sample)>),
}

use Sample::{List, Object, Word};

/// What a member of that name may be.
fn value(name: &str, n: usize) -> Sample {
    let server = || Object(vec![("command", Word("\"db\"")), ("args", List(vec![Word("\"-x\"")]))]);
    let hook = |command| Object(vec![("type", Word("\"command\"")), ("command", Word(command))]);
    let group = |command| Object(vec![("hooks", List(vec![hook(command)]))]);
    match (name, n) {
        ("mcpServers" | "mcp", 0) => Object(vec![]),
        ("mcpServers" | "mcp", 1 | 2) => Object(vec![("db", server())]),
        ("mcpServers" | "mcp", _) => Object(vec![("db", server()), ("Baton", server())]),
        ("hooks", 0) => Object(vec![]),
        ("hooks", 1) => Object(vec![("Stop", List(vec![]))]),
        ("hooks", 2) => Object(vec![("Stop", List(vec![group("\"say done\"")]))]),
        ("hooks", 3) => Object(vec![("Other", List(vec![group("\"batons hook\"")]))]),
        ("hooks", _) => Object(vec![
            ("PreToolUse", List(vec![group("\"a\""), Object(vec![("hooks", List(vec![]))])])),
            ("BeforeTool", List(vec![group("\"b\"")])),
        ]),
        ("statusLine", _) => hook("\"my line\""),
        (_, 0) => Word("null"),
        (_, 1) => Word("-1.5e3"),
        (_, 2) => Word("\"a \\\" // b, {\""),
        (_, 3) => List(vec![Word("true"), Word("\"ü\"")]),
        (_, _) => Object(vec![("x", Object(vec![])), ("y", List(vec![]))]),
    }
}

/// Writes values, neatly or with whatever comes between tokens.
struct Pen {
    gaps: Vec<&'static str>,
    at: usize,
    pretty: bool,
    trailing: bool,
    text: String,
}

impl Pen {
    fn gap(&mut self, depth: usize) {
        if self.pretty {
            self.text.push_str(&format!("\n{}", "  ".repeat(depth)));
        } else {
            self.at += 1;
            self.text.push_str(self.gaps[self.at % self.gaps.len()]);
        }
    }

    fn value(&mut self, depth: usize, value: &Sample) {
        match value {
            Word(word) => self.text.push_str(word),
            List(items) => self.items(depth, "[]", items.len(), |pen, n| {
                pen.value(depth + 1, &items[n]);
            }),
            Object(fields) => self.object(depth, fields),
        }
    }

    fn object(&mut self, depth: usize, fields: &[(&str, Sample)]) {
        self.items(depth, "{}", fields.len(), |pen, n| {
            let (name, value) = &fields[n];
            pen.text.push_str(&format!("\"{name}\":"));
            if pen.pretty {
                pen.text.push(' ');
            } else {
                pen.gap(depth);
            }
            pen.value(depth + 1, value);
        });
    }

    fn items(
        &mut self,
        depth: usize,
        brackets: &str,
        count: usize,
        item: impl Fn(&mut Self, usize),
    ) {
        self.text.push_str(&brackets[..1]);
        for n in 0..count {
            self.gap(depth + 1);
            item(self, n);
            if n + 1 < count || self.trailing {
                if !self.pretty {
                    self.gap(depth);
                }
                self.text.push(',');
            }
        }
        if count > 0 || !self.pretty {
            self.gap(depth);
        }
        self.text.push_str(&brackets[1..]);
    }
}

/// A file of settings in TOML.
pub(crate) fn toml() -> impl Strategy<Value = String> {
    const TOP: [&str; 8] = [
        "# A comment",
        "",
        "model = \"x\" # why",
        "list = [\n  1, # one\n  2,\n]",
        "mcp_servers.db.command = \"db\"",
        "mcp_servers = { db = { command = \"db\" } }",
        "mcp_servers = {}",
        "text = '''\n[mcp_servers.baton]\n'''",
    ];
    const TABLES: [&str; 6] = [
        "[mcp_servers.db]\ncommand = \"db\"\n# inside\nargs = []",
        "[profiles.a]\nx = 1",
        "[[rules]]\nname = \"a\"\n\n[[rules]]",
        "[mcp_servers]",
        "[features]\nhooks = true\n# the end",
        "  [  spaced . out  ]  # odd\n\ty = 2\n\n",
    ];
    let top = vec(select(TOP.to_vec()), 0..4);
    let tables = vec(select(TABLES.to_vec()), 0..4);
    let style = (any::<bool>(), any::<bool>(), any::<bool>());
    (top, tables, style)
        .prop_map(|(top, tables, (crlf, bom, last))| {
            let text = [top, tables].concat().join("\n");
            let text = if last { text + "\n" } else { text };
            let text = if crlf { text.replace('\n', "\r\n") } else { text };
            if bom { format!("\u{feff}{text}") } else { text }
        })
        // What is drawn twice is no TOML any more.
        .prop_filter("not TOML", |text| {
            text.trim_start_matches('\u{feff}').parse::<::toml::Table>().is_ok()
        })
}

/// A file for people and agents.
pub(crate) fn markdown() -> impl Strategy<Value = String> {
    const LINES: [&str; 9] = [
        "# Title",
        "",
        "",
        "Some words, ünd mehr.",
        "```sh\nbaton inbox\n```",
        "<!-- a comment -->",
        "  - indented ",
        "@AGENTS.md",
        "text <!-- baton:begin --> inside",
    ];
    let style = (any::<bool>(), any::<bool>(), any::<bool>());
    (vec(select(LINES.to_vec()), 0..6), style).prop_map(|(lines, (crlf, bom, last))| {
        let text = lines.join("\n");
        let text = if last { text + "\n" } else { text };
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        if bom { format!("\u{feff}{text}") } else { text }
    })
}
