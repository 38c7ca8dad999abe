//! The configured summariser: a conversation in, a text out, within a time limit, and nothing of it
//! left behind.

use std::path::Path;

use baton_protocol::reach::Argv;
use baton_protocol::time::Allowance;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::Mutex;

use super::child::Child;
use super::listen::Listen;
use crate::engine::Engine;

/// Bytes of a summariser's answer; whatever it says beyond is heard and left out.
const SUMMARY_BYTES_MAX: usize = 256 * 1024;

impl Engine {
    /// What the summariser makes of a conversation, or why it did not.
    pub(crate) async fn summary(
        &self,
        argv: &Argv,
        within: Allowance,
        conversation: String,
    ) -> Result<String, String> {
        // Each may be a model that is paid for: a few at once, and the others wait their turn.
        let _turn = tokio::select! {
            turn = self.runs.summarisers.turn() => turn,
            () = self.runs.stopped() => return Err("was not started: the coordinator ends".into()),
        };
        let folder = match &self.runs.outside {
            Some(outside) => outside.workspace.clone(),
            None => std::env::temp_dir(),
        };
        run(argv, &folder, conversation, within, self.runs.stopped()).await
    }
}

async fn run(
    argv: &Argv,
    folder: &Path,
    conversation: String,
    within: Allowance,
    stopped: impl Future<Output = ()>,
) -> Result<String, String> {
    // A process that Baton starts is never the operator.
    let facts = [("BATON_AGENT", "summariser".to_owned())];
    let started = Child::start(argv, folder, &facts, conversation.into_bytes());
    let mut child = started.map_err(|error| format!("could not start: {error}"))?;
    let (said, limit) = (Mutex::new(Vec::new()), within.as_duration());
    let (out, err) = child.output();
    let hear = std::pin::pin!(async {
        let unheard = Mutex::new(Vec::new());
        tokio::join!(hear(out, &said), hear(err, &unheard));
    });
    let mut listen = Listen::new(hear);
    let ended = listen.during(async {
        tokio::select! {
            status = child.ended() => status.map_err(|error| format!("was lost: {error}")),
            () = tokio::time::sleep(limit) => Err(format!("did not answer within {within}")),
            () = stopped => Err("was ended: the coordinator ends".to_owned()),
        }
    });
    let ended = ended.await;
    if ended.is_ok() {
        listen.until_the_end().await;
    }
    // Whatever it left running must not go on behind our back.
    listen.during(child.end()).await;
    let status = ended?;
    let said = std::mem::take(&mut *said.lock().await);
    let text = String::from_utf8_lossy(&said).trim().to_owned();
    match (status.success(), text.is_empty()) {
        (true, false) => Ok(baton_protocol::mask(&text).into_owned()),
        (true, true) => Err("said nothing".to_owned()),
        (false, _) => Err(format!("ended with {status}")),
    }
}

/// Hears one to its end, and keeps as much as there is room for.
async fn hear(from: Option<impl AsyncRead + Unpin>, said: &Mutex<Vec<u8>>) {
    let Some(mut from) = from else { return };
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut chunk).await {
        let mut said = said.lock().await;
        let room = SUMMARY_BYTES_MAX - said.len();
        said.extend_from_slice(&chunk[..count.min(room)]);
    }
}
