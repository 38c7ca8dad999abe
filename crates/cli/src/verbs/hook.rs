//! `baton hook` and `baton statusline`: what the programs of coding agents run. Their command lines
//! are read by [`crate::hook`] when a program runs them; what is here is for people.

use baton_protocol::id::AgentId;
use clap::Args;

use crate::args::Global;
use crate::failure::Failure;
use crate::hook::{self, Moment, Program, Session};

/// Answer a hook of a coding agent's program
///
/// Reads the program's JSON on stdin and answers in its form on stdout:
///
///   session-start   what `baton prime` says, if there is anything to do
///   user-prompt     what is new in the inbox, once
///   pre-tool-use    refuses to edit a file that another agent has locked, and
///                   any file once the session's work was taken away
///   post-tool-use   says that the agent is there
///   pre-compact     keeps a packet (see `baton packet`)
///   stop            asks once about work that is held without a word on it; at
///                   the end of a session gives back what was not begun
///   subagent-start, subagent-stop   note it as progress
///
/// It never starts a coordinator, waits at most a quarter of a second for one,
/// and always ends with 0: without a workspace, a token or a coordinator it says
/// nothing. BATON_LOG=debug makes it say why on stderr. docs/hooks.md tells all.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  baton hook session-start --agent claude-code --client claude-code
  echo '{\"tool_name\":\"Edit\",\"tool_input\":{\"file_path\":\"a.rs\"}}' \\
      | BATON_LOG=debug baton hook pre-tool-use --agent codex --client codex"
)]
pub(crate) struct Hook {
    /// What happens
    #[arg(value_name = "EVENT", value_parser = Moment::WORDS)]
    event: String,
    /// Which agent the session is; otherwise BATON_AGENT, BATON_TOKEN or the
    /// configuration says so
    #[arg(long, value_name = "NAME")]
    agent: Option<AgentId>,
    /// Whose form is spoken; otherwise the one that is recognised
    #[arg(long, value_name = "CLIENT", value_parser = Program::WORDS)]
    client: Option<String>,
}

impl Hook {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let wrong = |why: String| Failure::usage(why, "`baton hook --help` lists the words");
        let moment: Moment = self.event.parse().map_err(wrong)?;
        let program: Option<Program> =
            self.client.map(|client| client.parse()).transpose().map_err(wrong)?;
        let session = Session { agent: self.agent, workspace: global.workspace };
        hook::hook(moment, program, &session);
        Ok(())
    }
}

/// Print one line on a session's work for Claude Code's status line
///
/// Reads Claude Code's JSON on stdin. It is as harmless as a hook: without a
/// workspace, a token or a coordinator it says nothing, and it always ends with 0.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_long_help = "\
Examples:
  baton statusline --agent claude-code
  echo '{\"cwd\":\"/home/ada/shop\"}' | baton statusline"
)]
pub(crate) struct Statusline {
    /// Which agent the session is; otherwise BATON_AGENT, BATON_TOKEN or the
    /// configuration says so
    #[arg(long, value_name = "NAME")]
    agent: Option<AgentId>,
}

impl Statusline {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        hook::statusline(&Session { agent: self.agent, workspace: global.workspace });
        Ok(())
    }
}
