//! Idling out: a coordinator that nobody needs ends by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::routes::App;

/// Who is here, and whether somebody came since.
#[derive(Default)]
pub(crate) struct Activity {
    present: AtomicUsize,
    came: Notify,
}

/// Somebody is here for as long as this is.
pub(crate) struct Present(Arc<App>);

impl Present {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        app.activity.present.fetch_add(1, Ordering::SeqCst);
        Self(app.clone())
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.0.activity.present.fetch_sub(1, Ordering::SeqCst);
        self.0.activity.came.notify_one();
    }
}

/// Returns once nobody came for `span`, nobody is here, and no handoff waits for its time.
pub(crate) async fn idled_out(app: &App, span: Duration) {
    loop {
        let came = tokio::time::timeout(span, app.activity.came.notified()).await;
        if came.is_ok() || app.activity.present.load(Ordering::SeqCst) > 0 {
            continue;
        }
        let waits = app.engine.next_wake().await.ok().flatten().is_some();
        let owes = app.engine.status().await.is_ok_and(|status| status.outbox > 0);
        if !waits && !owes {
            return;
        }
    }
}
