//! What the sessions of an agent hold, noted in `.baton/run/holds/`: their MCP servers write it,
//! and the hooks of the same sessions go by it.
//!
//! The program that runs a session starts both its MCP server and its hooks, so it stands above
//! both; that is how a hook tells its own session's holds from those of others.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use baton_protocol::id::AgentId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::workspace::Workspace;

/// Bytes of the file.
const BYTES_MAX: u64 = 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Notes<H> {
    holds: Vec<Noted<H>>,
}

/// A hold, and the session that took it.
#[derive(Serialize, Deserialize)]
struct Noted<H> {
    /// The process of its MCP server.
    #[serde(default)]
    session: u32,
    /// The program that runs the session; absent means that it cannot be told.
    #[serde(default)]
    client: Option<i32>,
    #[serde(flatten)]
    hold: H,
}

/// Where it is noted.
pub(crate) fn path(workspace: &Workspace, agent: &AgentId) -> PathBuf {
    workspace.run().join("holds").join(format!("{agent}.json"))
}

/// Notes what this session holds, beside what others of the same agent do. What sessions that are
/// gone held is left out.
pub(crate) fn note(path: &Path, holds: &[impl Serialize]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let turn = File::create(folder.join("lock"))?;
    turn.lock()?;
    let mut all: Vec<Noted<serde_json::Value>> = read(path);
    all.retain(is_beside_us);
    let session = std::process::id();
    let client = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    for hold in holds {
        all.push(Noted { session, client, hold: serde_json::to_value(hold)? });
    }
    let mut file = NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut file, &Notes { holds: all })?;
    file.flush()?;
    file.persist(path)?;
    Ok(())
}

/// Whether another session of the same agent, one that lives, has noted this handoff.
pub(crate) fn is_beside(path: &Path, handoff: &str) -> bool {
    let all: Vec<Noted<serde_json::Value>> = read(path);
    all.iter().any(|noted| noted.hold["handoff"] == handoff && is_beside_us(noted))
}

/// Whether it is of another session that lives.
fn is_beside_us<H>(noted: &Noted<H>) -> bool {
    let other = noted.session;
    let stat = fs::read_to_string(format!("/proc/{other}/stat")).unwrap_or_default();
    // One that has ended and that nobody has asked about is still listed.
    other != std::process::id() && !stat.is_empty() && !stat.contains(") Z ")
}

/// What the session of this process holds; nothing if that is not noted.
pub(crate) fn own<H: DeserializeOwned>(workspace: &Workspace, agent: &AgentId) -> Vec<H> {
    let mut all: Vec<Noted<H>> = read(&path(workspace, agent));
    if all.iter().any(|noted| noted.client.is_some()) {
        let above = i32::try_from(std::process::id()).map(baton_server::ancestors);
        let above = above.unwrap_or_default();
        all.retain(|noted| noted.client.is_none_or(|client| above.contains(&client)));
    }
    all.into_iter().map(|noted| noted.hold).collect()
}

fn read<H: DeserializeOwned>(path: &Path) -> Vec<Noted<H>> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut text));
    let notes = read.ok().and_then(|_| serde_json::from_slice::<Notes<H>>(&text).ok());
    notes.map(|notes| notes.holds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_session_knows_its_own_and_forgets_those_that_are_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (workspace, _) = Workspace::create(folder.path()).expect("a workspace");
        let agent: AgentId = "coder".parse().expect("a name");
        let path = path(&workspace, &agent);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        // One of a session that ended, one of a session of another program that lives.
        let others = json!({ "holds": [
            { "session": u32::MAX, "client": 1, "fence": 7 },
            { "session": 1, "client": i32::MAX, "fence": 8 },
        ]});
        fs::write(&path, others.to_string()).expect("a file");
        note(&path, &[json!({ "fence": 9 })]).expect("a note");
        let fences = |all: Vec<Value>| all.iter().map(|hold| hold["fence"].clone()).collect();
        let noted: Vec<Value> = read::<Value>(&path).into_iter().map(|noted| noted.hold).collect();
        assert_eq!(fences(noted), [json!(8), json!(9)] as [Value; 2], "the dead one is gone");
        let own: Vec<Value> = fences(own(&workspace, &agent));
        assert_eq!(own, [json!(9)], "the other program's is not ours");
    }
}
