//! Running a command of an agent's registration: words, never a shell, and a limit in time.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use baton_protocol::id::AgentId;
use baton_protocol::reach::Argv;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

/// Runs `argv` in `folder`, with `words` as its last argument if there are any, on behalf of
/// `agent`, and returns how it ended, or why it did not.
///
/// It is marked as the agent's and has no credential of ours, so it cannot act as the operator.
/// What it leaves behind in its group ends with it.
pub(crate) async fn run(
    argv: &Argv,
    words: Option<&str>,
    agent: &AgentId,
    facts: &[(&str, String)],
    (folder, limit): (Option<&Path>, Duration),
) -> Result<ExitStatus, String> {
    let mut command = Command::new(argv.program());
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    command
        .args(argv.arguments())
        .args(words)
        .env_remove("BATON_URL")
        .env_remove("BATON_CA")
        .env_remove("BATON_TOKEN")
        .env("BATON_AGENT", agent.as_str())
        .envs(facts.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    let mut process = command.spawn().map_err(|error| error.to_string())?;
    let number = process.id().and_then(|id| i32::try_from(id).ok());
    let ended = tokio::time::timeout(limit, process.wait()).await;
    if let Some(group) = number.and_then(Pid::from_raw) {
        // Nobody may be left in it, and then there is nothing to kill.
        let _ = kill_process_group(group, Signal::KILL);
    }
    match ended {
        Ok(Ok(status)) => Ok(status),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("ended after its time limit".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ran(script: &str, limit: Duration) -> Result<ExitStatus, String> {
        let argv = serde_json::json!(["sh", "-c", script]);
        let argv = serde_json::from_value(argv).expect("words");
        let agent = "builder".parse().expect("a name");
        run(&argv, None, &agent, &[("BATON_NEWS", "arrived".to_owned())], (None, limit)).await
    }

    #[tokio::test]
    async fn a_program_that_hangs_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid = folder.path().join("pid");
        let script = format!("sleep 1000 & echo $! > {}; wait", pid.display());
        let ended = ran(&script, Duration::from_secs(5)).await;
        assert_eq!(ended, Err("ended after its time limit".to_owned()));
        let pid = std::fs::read_to_string(pid).expect("it had begun");
        let stat = format!("/proc/{}/stat", pid.trim());
        let runs = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
        // It was told to end, and does so in its own time.
        while runs() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_program_is_marked_as_the_agents() {
        let script = r#"[ "$BATON_AGENT $BATON_NEWS" = "builder arrived" ]"#;
        assert!(ran(script, Duration::from_secs(60)).await.expect("it ran").success());
    }
}
