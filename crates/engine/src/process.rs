//! Running a command of an agent's registration: words, never a shell, and a limit in time.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use baton_protocol::id::AgentId;
use baton_protocol::reach::Argv;
use tokio::process::Command;

/// Runs `argv`, with `words` as its last argument if there are any, on behalf of `agent`, and
/// returns how it ended, or why it did not.
///
/// It is marked as the agent's, so it cannot act as the operator.
pub(crate) async fn run(
    argv: &Argv,
    words: Option<&str>,
    agent: &AgentId,
    facts: &[(&str, String)],
    limit: Duration,
) -> Result<ExitStatus, String> {
    let mut command = Command::new(argv.program());
    command
        .args(argv.arguments())
        .args(words)
        .env("BATON_AGENT", agent.as_str())
        .envs(facts.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    match tokio::time::timeout(limit, command.status()).await {
        Ok(Ok(status)) => Ok(status),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("ended after its time limit".to_owned()),
    }
}
