//! The command line as a whole: what holds for every verb, and the help that lists them by theme.

use std::path::PathBuf;

use anstream::ColorChoice;
use baton_protocol::id::AgentId;
use baton_protocol::limits::KEY_BYTES_MAX;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, CommandFactory, Parser, ValueEnum};

use crate::line::Address;
use crate::show::width;
use crate::verbs::Verb;

/// Passes work between agents, and proves what took place
#[derive(Debug, Parser)]
#[command(name = "baton", version, after_long_help = AFTER)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What holds for every verb.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Print the coordinator's JSON as it is; errors go to stderr as
    /// {"error": {"code", "message", "hint"}}
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print ids only, and no next steps
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// The workspace; otherwise the nearest folder upwards that has a .baton/ in it
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "BATON_WORKSPACE",
        hide_env_values = true,
        hide_short_help = true
    )]
    pub(crate) workspace: Option<PathBuf>,
    /// A coordinator on the network, such as https://baton.example:7800, instead of any workspace
    /// here; BATON_TOKEN says who asks
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "BATON_URL",
        hide_env_values = true,
        hide_short_help = true
    )]
    pub(crate) url: Option<Address>,
    /// Whether the address was typed, and does not come from the environment.
    #[arg(skip)]
    pub(crate) url_typed: bool,
    /// Act on behalf of an agent (the operator only)
    #[arg(long = "as", global = true, value_name = "AGENT", hide_short_help = true)]
    pub(crate) on_behalf: Option<AgentId>,
    /// Name this command, so that asking again is answered as the first time
    #[arg(long, global = true, value_name = "KEY", hide_short_help = true, value_parser = key)]
    pub(crate) key: Option<String>,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_short_help = true
    )]
    pub(crate) color: When,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

impl Global {
    /// Whoever types a workspace or an address means it, whatever the environment has for others.
    pub(crate) fn typed_first(&mut self, read: &ArgMatches) {
        let typed = |name| read.value_source(name) == Some(ValueSource::CommandLine);
        self.url_typed = typed("url");
        if typed("workspace") && !typed("url") {
            self.url = None;
        }
    }

    pub(crate) fn color(&self) -> ColorChoice {
        match self.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        }
    }
}

/// A key travels in a header, so it must be printable and short.
fn key(text: &str) -> Result<String, String> {
    let fits = (1..=KEY_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        Ok(text.to_owned())
    } else {
        Err(format!("expected 1 to {KEY_BYTES_MAX} printable ASCII characters without spaces"))
    }
}

/// Wider than this, running text is hard to read.
const HELP_WIDTH_MAX: usize = 100;

/// The verbs by theme, in the order in which a newcomer meets them.
const THEMES: &[(&str, &[&str])] = &[
    ("Set up", &["init", "agent", "token", "secrets", "completions"]),
    ("Pass work", &["start", "pass", "escalate", "goto", "wait", "cancel", "reassign"]),
    (
        "Take work",
        &["inbox", "accept", "reject", "defer", "progress", "return", "decide", "complete"],
    ),
    (
        "Guard",
        &["policy", "what-if", "approvals", "approve", "deny", "limits", "breaker", "fall-back"],
    ),
    ("Workflows", &["workflow", "fail", "signal"]),
    ("Share", &["vars", "artifact", "lock", "unlock"]),
    (
        "Coding agents",
        &["setup", "doctor", "prime", "mcp", "hook", "statusline", "switch", "packet"],
    ),
    ("Tags in files", &["tag", "await-tag", "alert", "run", "work", "attach"]),
    ("Look", &["list", "show", "replay", "flow", "logs", "events", "top", "stats", "audit"]),
    ("Coordinator", &["status", "serve", "stop", "backup"]),
    ("See it", &["demo", "bench"]),
];

const AFTER: &str = "\
Ids: any unique beginning of an id will do.

JSON: --json prints the coordinator's answer as it is, on one line unless stdout
is a terminal. `accept` prints the package; `vars`, `artifact list` and
`token list` print their part of the answer; `agent import` one answer a line.

Exit codes:
  0  done
  1  failure: the disk, the network or the coordinator; trying again may help
  2  usage: the command line or its input makes no sense
  3  refused: the rules say no; the error says what stands in the way
  4  not found
  5  no answer in the time that was given
The verbs for tags in files end with 1 on every error, and its message begins
with ERROR; only a time that is up is 5 there, too.

Environment:
  BATON_TOKEN      an agent's credential; without it the caller is the operator,
                   and an empty one is refused
  BATON_AGENT      marks a process as an agent, which then needs BATON_TOKEN;
                   in tagged files an agent cannot approve
  BATON_FENCE      the fence of the hold, as --fence
  BATON_WORKSPACE  the workspace, as --workspace
  BATON_URL        a coordinator on the network, as --url
  BATON_CA         the certificate to trust there, instead of the system's
  BATON_LOG        what the coordinator logs, such as debug
  BATON_HOOKS      off: hooks of coding agents do nothing
  NO_COLOR         no colour

The five-minute tour:
  baton init
  baton agent add builder --capability rust
  baton start \"Add a login page\"
  baton pass WORKFLOW --to builder --reason \"the design is done\"
  baton inbox --as builder
  baton accept HANDOFF --as builder
  baton complete WORKFLOW --as builder --fence 2
  baton show WORKFLOW
  baton audit verify";

/// The whole command line, its verbs listed by theme.
pub(crate) fn command() -> Command {
    let command = Cli::command();
    let mut themes = String::new();
    for (theme, verbs) in THEMES {
        themes.push_str(&format!("{theme}:\n"));
        for verb in *verbs {
            let about = command.find_subcommand(verb).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            themes.push_str(&format!("  {verb:13}{about}\n"));
        }
        themes.push('\n');
    }
    let width = usize::from(width()).min(HELP_WIDTH_MAX);
    command.term_width(width).help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{themes}\
         Global options:\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    /// Puts the long help of every verb together, as a page to read from beginning to end.
    fn document() -> String {
        let mut page = String::from(
            "# The command line\n\n\
             What `baton VERB --help` says. Made from the program itself: after a change, run\n\
             `UPDATE_EXPECT=1 cargo test -p baton-cli help` to write it anew.\n",
        );
        let mut command = command().term_width(80);
        command.build();
        add(&mut page, &mut command, "##");
        page
    }

    fn add(page: &mut String, command: &mut Command, heading: &str) {
        let help = command.render_long_help().to_string();
        let help = if heading == "##" { help } else { without_globals(&help) };
        let lines: Vec<_> = help.trim_end().lines().map(str::trim_end).collect();
        let name = command.get_bin_name().unwrap_or("baton").to_owned();
        page.push_str(&format!("\n{heading} {name}\n\n```text\n{}\n```\n", lines.join("\n")));
        for verb in command.get_subcommands_mut() {
            if verb.get_name() != "help" && !verb.is_hide_set() {
                add(page, verb, "###");
            }
        }
    }

    /// On one page it is enough to read once what holds for every verb.
    fn without_globals(help: &str) -> String {
        let (before, rest) = help.split_once("Global options:\n").expect("global options");
        let (_, after) = rest.split_once("\nExamples:\n").expect("examples");
        format!("{before}Examples:\n{after}")
    }

    #[test]
    fn the_help_of_every_verb_is_the_one_in_the_documentation() {
        expect_file!["../../../docs/cli.md"].assert_eq(&document());
    }

    #[test]
    fn the_help_fits_eighty_columns() {
        for line in document().lines() {
            assert!(line.chars().count() <= 80, "too wide for 80 columns: {line}");
        }
    }

    #[test]
    fn every_verb_has_its_theme_and_an_example() {
        let command = command();
        command.clone().debug_assert();
        let themed: Vec<_> = THEMES.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let name = verb.get_name();
            assert_eq!(
                themed.iter().filter(|themed| **themed == name).count(),
                1,
                "{name} belongs under one theme"
            );
            let after = verb.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.contains(&format!("baton {name}")), "{name} has no example");
        }
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        assert_eq!(themed.len(), shown.count());
    }

    #[test]
    fn the_short_help_lists_the_verbs_by_theme() {
        let help = command().term_width(80).render_help().to_string();
        expect_file!["short-help.txt"].assert_eq(&help);
    }
}
