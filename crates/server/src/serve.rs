//! Running a coordinator: one for each workspace, on a socket in its data folder.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use baton_engine::{Allow, Engine, LedgerFailure, Outside, Packing, causes};
use baton_protocol::retention::Retention;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::door::{Door, House};
use crate::idle::{self, Activity};
use crate::network::{Network, Opened};
use crate::rate::Rates;
use crate::routes::{App, router};
use crate::socket::Socket;
use crate::telemetry;
use crate::tenure;

/// How often the coordinator looks whether its socket is still there.
const SOCKET_LOOK: Duration = Duration::from_secs(1);

/// How long open connections may take to finish when the coordinator ends.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// How a coordinator runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder that holds `.baton`.
    pub workspace: PathBuf,
    /// After how long without a caller it ends; absent means never.
    pub idle_after: Option<Duration>,
    /// How long records are kept at least before a prune may drop them.
    pub retention: Retention,
    /// How conversations are packed.
    pub packing: Packing,
    /// Where the audit is also written as files, if it is.
    pub audit_dir: Option<PathBuf>,
    /// Which addresses agents may be called at, beside the public network.
    pub outgoing: Allow,
    /// Whether to start although records are missing that a checkpoint was signed over.
    pub accept_loss: bool,
    /// How it is reached over the network, if it is.
    pub network: Option<Network>,
    /// Requests of one token in a second; absent means no limit.
    pub requests_per_second: Option<u32>,
    /// Where spans go, as the settings say it; the environment may say otherwise.
    pub otlp: Option<String>,
}

/// Why a coordinator did not run, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another one runs.
    #[error("a coordinator runs already for {workspace}")]
    AlreadyRunning {
        /// The folder that holds `.baton`.
        workspace: String,
    },
    /// The ledger could not be opened.
    #[error("{why}")]
    Ledger {
        /// Everything that is known about it.
        why: String,
    },
    /// The ledger stopped; what was acknowledged is safe, and the next start goes on from it.
    #[error("the ledger stopped; nothing that was acknowledged is lost")]
    Stopped,
    /// It would listen in a way that nobody can want.
    #[error("{why}")]
    Unsafe {
        /// What speaks against it.
        why: String,
        /// What to do instead.
        hint: &'static str,
    },
    /// The system failed.
    #[error("cannot {doing}")]
    Io {
        /// What was tried.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
}

impl ServeError {
    pub(crate) fn of_ledger(failure: LedgerFailure) -> Self {
        Self::Ledger { why: causes(&failure) }
    }
}

fn io_error(doing: impl Into<String>) -> impl FnOnce(io::Error) -> ServeError {
    let doing = doing.into();
    move |source| ServeError::Io { doing, source }
}

/// Runs the workspace's coordinator until it is told to stop, idles out, or the ledger stops.
pub fn serve(options: &Options) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(io_error("start the runtime"))?;
    runtime.block_on(run(options))
}

async fn run(options: &Options) -> Result<(), ServeError> {
    let data = options.workspace.join(".baton");
    let folder = data.join("run");
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(io_error(format!("make {}", folder.display())))?;
    let engine = Arc::new(open(options, &data)?);
    let socket = Socket::of(&data).map_err(io_error("name the socket"))?;
    let network = match &options.network {
        Some(network) => Some(network.open(&engine).await?),
        None => None,
    };
    let listener = listen(socket.path())?;
    tracing::info!(workspace = %options.workspace.display(), "the coordinator listens");

    let app = Arc::new(App {
        engine: engine.clone(),
        activity: Activity::default(),
        stopping: watch::Sender::new(false),
        url: network.as_ref().map(|opened| opened.url.clone()),
        rates: Rates::new(options.requests_per_second),
        listeners: Default::default(),
        under_way: Default::default(),
        metrics: Default::default(),
        hosts: options.network.iter().flat_map(|network| network.hosts.clone()).collect(),
    });
    let audit_dir = options.audit_dir.clone();
    let background = [
        tokio::spawn({
            let engine = engine.clone();
            async move {
                if let Some(folder) = audit_dir {
                    engine.run_audit_files(folder).await;
                }
            }
        }),
        telemetry::start(&engine, &data, options.otlp.as_deref()),
        tokio::spawn(tenure::watch_over(app.clone())),
        tokio::spawn({
            let engine = engine.clone();
            async move { engine.run_timers().await }
        }),
        tokio::spawn({
            let engine = engine.clone();
            async move { engine.run_outbox().await }
        }),
        tokio::spawn({
            let engine = engine.clone();
            async move { engine.run_health_checks().await }
        }),
    ];
    let ended = accept((listener, network), app.clone(), options.idle_after, socket.path()).await;
    for task in background {
        task.abort();
        // An aborted task is what was asked for; a panic in it has said so itself.
        let _ = task.await;
    }
    // While the ledger is still open: what they hold is looked at once more.
    engine.end_runs().await;
    // The name goes while the ledger is still locked, so no other coordinator's socket is hit.
    let _ = fs::remove_file(socket.path());
    ended
}

fn open(options: &Options, data: &Path) -> Result<Engine, ServeError> {
    let opened = match options.accept_loss {
        true => Engine::open_accepting_loss(data),
        false => Engine::open(data),
    };
    let engine = opened.map_err(|failure| match &failure {
        LedgerFailure::InUse { .. } => {
            ServeError::AlreadyRunning { workspace: options.workspace.display().to_string() }
        }
        other => ServeError::Ledger { why: causes(other) },
    })?;
    let outside = Outside { workspace: options.workspace.clone(), allow: options.outgoing.clone() };
    let engine = engine.with_outside(outside).map_err(io_error("make folders for runs"))?;
    Ok(engine.with_retention(options.retention).with_packing(options.packing.clone()))
}

/// Listens where only the system user of the workspace can reach it.
///
/// Whoever holds the ledger's lock is the only coordinator, so a socket that is already there was
/// left behind by one that died.
fn listen(path: &Path) -> Result<UnixListener, ServeError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(io_error(format!("remove {}", path.display()))(error));
        }
        Ok(()) | Err(_) => (),
    }
    let listener =
        UnixListener::bind(path).map_err(io_error(format!("listen at {}", path.display())))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .map_err(io_error(format!("protect {}", path.display())))?;
    Ok(listener)
}

/// Answers callers until there is a reason to stop.
async fn accept(
    (listener, network): (UnixListener, Option<Opened>),
    app: Arc<App>,
    idle_after: Option<Duration>,
    socket: &Path,
) -> Result<(), ServeError> {
    let mut stop = app.stopping.subscribe();
    let house = || House::new(router(app.clone()), app.stopping.subscribe());
    let mut doors = tokio::task::JoinSet::new();
    doors.spawn(house().open(Door::Socket(listener)));
    if let Some(Opened { listener, tls, url }) = network {
        tracing::info!(url, "the coordinator listens on the network");
        doors.spawn(house().open(match tls {
            Some(tls) => Door::Tls(listener, tls),
            None => Door::Clear(listener),
        }));
    }
    let dead = tokio::select! {
        dead = reason(&app, &mut stop, idle_after) => dead?,
        () = lost(socket) => {
            tracing::warn!("the socket is gone; whoever needs a coordinator starts another");
            false
        }
    };
    app.stopping.send_replace(true);
    // Whoever does not finish in time finds the answer by asking the next coordinator again.
    let _ = tokio::time::timeout(DRAIN_MAX, doors.join_all()).await;
    if dead { Err(ServeError::Stopped) } else { Ok(()) }
}

/// Returns once nobody can reach the socket any more, because somebody removed or replaced it.
async fn lost(socket: &Path) {
    let named = || fs::metadata(socket).map(|found| found.ino()).ok();
    let ours = named();
    while named() == ours {
        tokio::time::sleep(SOCKET_LOOK).await;
    }
}

/// Waits for a reason to stop. Returns whether it is that the ledger died.
async fn reason(
    app: &App,
    stop: &mut watch::Receiver<bool>,
    idle_after: Option<Duration>,
) -> Result<bool, ServeError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(io_error("listen for signals"))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(io_error("listen for signals"))?;
    let idle = async {
        match idle_after {
            Some(span) => idle::idled_out(app, span).await,
            None => std::future::pending().await,
        }
    };
    let dead = tokio::select! {
        _ = stop.wait_for(|stopping| *stopping) => false,
        _ = terminate.recv() => false,
        _ = interrupt.recv() => false,
        () = idle => { tracing::info!("nobody called for a while"); false }
        () = app.engine.stopped() => true,
    };
    Ok(dead)
}
