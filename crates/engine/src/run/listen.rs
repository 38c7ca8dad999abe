//! Hearing what a process says, beside whatever else happens to it.

use std::pin::Pin;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::Mutex;

use super::output::{self, Log, Said};

/// How long what a process left behind may go on talking after the process itself has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Copies all that the process says into the log; its standard output is kept in `said`, too.
pub(super) async fn to(
    (out, err): (Option<ChildStdout>, Option<ChildStderr>),
    log: &Log,
    said: &Mutex<Said>,
) {
    let unheard = Mutex::new(Said::default());
    let out = async {
        if let Some(out) = out {
            output::copy(out, log, said).await
        }
    };
    let err = async {
        if let Some(err) = err {
            output::copy(err, log, &unheard).await
        }
    };
    tokio::join!(out, err);
}

/// Somebody who listens.
pub(super) struct Listen<'a, F> {
    to: Pin<&'a mut F>,
    heard: bool,
}

impl<'a, F: Future<Output = ()>> Listen<'a, F> {
    pub(super) fn new(to: Pin<&'a mut F>) -> Self {
        Self { to, heard: false }
    }

    pub(super) async fn during<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = std::pin::pin!(other);
        loop {
            tokio::select! {
                done = &mut other => return done,
                () = &mut self.to, if !self.heard => self.heard = true,
            }
        }
    }

    /// What it has said may still be on its way to us. Somebody it left behind may keep its output
    /// open, too, and is not waited for.
    pub(super) async fn until_the_end(&mut self) {
        if !self.heard {
            self.heard = tokio::time::timeout(LAST_WORDS, &mut self.to).await.is_ok();
        }
    }
}
