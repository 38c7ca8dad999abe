//! Whether the agents of this workspace can prove who they are.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use baton_protocol::id::AgentId;

use super::Finding;
use crate::caller::Caller;
use crate::identity::Identity;
use crate::workspace::Workspace;

const CHECK: &str = "token";
/// Tokens that are looked at.
const TOKENS_MAX: usize = 200;

pub(super) fn examine(workspace: &Workspace, reachable: bool) -> Vec<Finding> {
    let folder = workspace.root().join(Workspace::FOLDER).join("sessions");
    let files = fs::read_dir(&folder).into_iter().flatten().flatten().take(TOKENS_MAX);
    let mut agents: Vec<_> = files
        .filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            name.strip_suffix(".token")?.parse::<AgentId>().ok()
        })
        .collect();
    agents.sort();
    let mut findings: Vec<_> =
        agents.iter().map(|agent| token(workspace, agent, reachable)).collect();
    let default = workspace.settings().ok().and_then(|settings| settings.agent);
    if let Some(agent) = default.filter(|agent| !agents.contains(agent)) {
        findings.push(Finding::warning(
            CHECK,
            format!("{agent}, whom sessions are by the settings, has no token yet"),
            "its first session gets one; nothing needs to be done",
        ));
    }
    findings
}

fn token(workspace: &Workspace, agent: &AgentId, reachable: bool) -> Finding {
    let path = workspace.agent_token(agent);
    let shown = path.display();
    let anew = format!("rm {shown}, and the agent's next session gets another");
    if let Some(finding) = open_to_others(&path, agent) {
        return finding;
    }
    let token = match fs::read_to_string(&path) {
        Ok(token) => token.trim().to_owned(),
        Err(error) => {
            return Finding::problem(CHECK, format!("cannot read {shown}: {error}"), anew);
        }
    };
    if !token.starts_with(&format!("bt1_{agent}_")) {
        return Finding::problem(CHECK, format!("{shown} holds no token of {agent}"), anew);
    }
    if !reachable {
        let hint = "mend the coordinator first";
        return Finding::warning(CHECK, format!("cannot ask whether {agent}'s token holds"), hint);
    }
    let caller = Caller::Bearer { token, on_behalf: None };
    let identity = Identity { agent: agent.clone(), caller };
    match identity.client(workspace).and_then(|client| client.read("/v1/inbox")) {
        Ok(_) => Finding::ok(CHECK, format!("{}'s token is accepted", identity.agent)),
        Err(failure) => {
            let why = failure.sentence;
            Finding::problem(CHECK, format!("{agent}'s token is not accepted: {why}"), anew)
        }
    }
}

fn open_to_others(path: &Path, agent: &AgentId) -> Option<Finding> {
    let mode = fs::metadata(path).ok()?.mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        let sentence = format!("others may read {agent}'s token (mode {mode:o})");
        Finding::problem(CHECK, sentence, format!("chmod 600 {}", path.display()))
    })
}
