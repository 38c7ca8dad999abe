//! One line for the foot of Claude Code: who the session is, what waits, what it holds.

use std::path::PathBuf;

use baton_engine::view::Inbox;
use serde_json::Value;

use super::wire::talk;
use super::{Session, harmless, input};
use crate::identity::Identity;
use crate::prime::Size;

/// Characters of a title.
const SIZE: Size = Size { entries: 1, chars: 40 };

/// Prints the line; nothing without a workspace, a token or a coordinator.
pub(crate) fn statusline(session: &Session) {
    harmless(|| {
        let form = input()?;
        let workspace = session.workspace(folder(&form).as_deref())?;
        let identity = Identity::known(&workspace, session.agent.as_ref()).ok()??;
        let read = async |wire: &mut super::wire::Wire| wire.read::<Inbox>("/v1/inbox").await;
        Some(line(&talk(&workspace, &identity, read)?))
    });
}

/// Where the session is; the folder that it began in comes before the one it went to.
fn folder(form: &Value) -> Option<PathBuf> {
    let workspace = form.get("workspace");
    let within = |name: &str| workspace.and_then(|workspace| workspace.get(name));
    let places = [within("project_dir"), within("current_dir"), form.get("cwd")];
    places.into_iter().flatten().find_map(|place| place.as_str().map(PathBuf::from))
}

fn line(inbox: &Inbox) -> String {
    let mut parts = vec![format!("baton {}", inbox.agent)];
    if !inbox.waiting.is_empty() {
        parts.push(format!("{} waiting", inbox.waiting.len()));
    }
    if let Some(first) = inbox.holding.first() {
        let title = SIZE.word(&first.title);
        parts.push(format!("holds {} ({title}, fence {})", inbox.holding.len(), first.fence));
    }
    parts.join(" · ")
}
