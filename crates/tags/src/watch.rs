//! Tells when files change, so that nobody has to look all the time.
//!
//! What the system reports is taken as a hint, never as the truth: reports get lost under load, a
//! file written into a folder that was just made is often missed, and a watch may be refused. So
//! new folders are looked through, lost reports lead to a look at everything, and everything is
//! looked at now and then anyway.

mod await_tag;
mod debounce;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use ignore::WalkBuilder;
use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::find::is_left_out;

pub use await_tag::Awaiting;
pub use debounce::Debounce;

/// How many reports may wait to be read. With more, everything is looked at instead.
pub const REPORTS_MAX: usize = 10_000;

/// How many folders are watched. The rest is found by looking at everything.
pub const FOLDERS_MAX: usize = 100_000;

/// How often everything is looked at when not every folder could be watched, at least.
const RESCAN_PARTIAL: Duration = Duration::from_secs(5);

/// How often folders are listed again because more of them came up meanwhile.
const ROUNDS_MAX: u32 = 8;

/// How patient a watcher is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long a file must rest before it is reported.
    pub quiet: Duration,
    /// After how long it is reported though it does not rest.
    pub longest: Duration,
    /// How often everything is looked at, whatever was reported.
    pub rescan_every: Duration,
}

impl Default for Pace {
    /// Three seconds of rest, half a minute at most, and a look at everything every minute.
    fn default() -> Self {
        Self {
            quiet: Duration::from_secs(3),
            longest: Duration::from_secs(30),
            rescan_every: Duration::from_secs(60),
        }
    }
}

/// What to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Batch {
    /// These files have changed and rest now, in the order of their paths.
    Files(Vec<PathBuf>),
    /// Everything, and why.
    Everything(Why),
}

/// Why everything has to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// What was there before the watch began.
    Beginning,
    /// It was time again.
    Time,
    /// The system lost reports, or there were too many.
    Lost,
}

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The tree is not there.
    #[error("cannot watch {}", path.display())]
    Unreachable {
        /// The path as given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The system has no watches to give.
    #[error("cannot watch any files")]
    System {
        /// What the system said.
        source: notify::Error,
    },
}

/// A report, on its way from the system's thread.
enum Report {
    Changed(PathBuf),
    /// A flag was set that is to be looked at.
    Wake,
}

/// Ends a watcher from elsewhere. It can be copied, and used from any thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    stopped: Arc<AtomicBool>,
    wake: SyncSender<Report>,
}

impl Stopper {
    /// Lets the watcher return at once, now and from now on.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        // A full queue wakes it as well.
        let _ = self.wake.try_send(Report::Wake);
    }

    /// Tells whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

/// What is watched.
#[derive(Clone, Debug)]
enum Scope {
    /// A folder and all below it, but for what is hidden or ignored.
    Tree { root: PathBuf, honour_ignores: bool },
    /// One name in a folder, so that a file counts that is yet to be made.
    File { folder: PathBuf, name: std::ffi::OsString },
}

/// Watches a tree, and says which files to look at.
pub struct Watcher {
    scope: Scope,
    pace: Pace,
    system: RecommendedWatcher,
    watched: HashSet<PathBuf>,
    partial: bool,
    reports: Receiver<Report>,
    lost: Arc<AtomicBool>,
    stopper: Stopper,
    debounce: Debounce,
    everything: Option<Why>,
    rescan_at: Instant,
}

impl Watcher {
    /// Begins to watch a tree. The first call of [`Watcher::next`] asks for a look at everything.
    ///
    /// Left out are hidden files and folders, and folders that an ignore file names if these are
    /// honoured, as [`find`](crate::find()) does it.
    pub fn start(tree: &Path, honour_ignores: bool, pace: Pace) -> Result<Self, WatchError> {
        tree.metadata()
            .map_err(|source| WatchError::Unreachable { path: tree.to_owned(), source })?;
        Self::begin(Scope::Tree { root: tree.to_owned(), honour_ignores }, pace)
    }

    /// Begins to watch one file, which need not be there yet. Its folder must.
    fn start_file(path: &Path, pace: Pace) -> Result<Self, WatchError> {
        let unreachable = |source| WatchError::Unreachable { path: path.to_owned(), source };
        let no_name = || unreachable(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let folder = match path.parent() {
            None => PathBuf::from("."),
            Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
            Some(parent) => parent.to_owned(),
        };
        folder.metadata().map_err(unreachable)?;
        Self::begin(Scope::File { folder, name }, pace)
    }

    fn begin(scope: Scope, pace: Pace) -> Result<Self, WatchError> {
        let (sender, reports) = sync_channel(REPORTS_MAX);
        let lost = Arc::new(AtomicBool::new(false));
        let stopper = Stopper { stopped: Arc::default(), wake: sender.clone() };
        let flag = Arc::clone(&lost);
        let system = notify::recommended_watcher(move |event| report(event, &sender, &flag))
            .map_err(|source| WatchError::System { source })?;
        let now = Instant::now();
        let mut watcher = Self {
            scope,
            pace,
            system,
            watched: HashSet::new(),
            partial: false,
            reports,
            lost,
            stopper,
            debounce: Debounce::new(pace.quiet, pace.longest),
            everything: Some(Why::Beginning),
            rescan_at: now + pace.rescan_every,
        };
        watcher.watch_everything();
        Ok(watcher)
    }

    /// Returns a handle that ends this watcher.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Tells whether some folders are not watched, because the system gave no more watches.
    ///
    /// Then everything is looked at more often.
    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// Waits until there is something to look at.
    ///
    /// Returns nothing when the deadline has passed, or when it was stopped.
    pub fn next(&mut self, deadline: Instant) -> Vec<Batch> {
        loop {
            if self.stopper.stopped.load(Ordering::SeqCst) {
                return Vec::new();
            }
            // Not until there are none: under a storm there always are.
            for _ in 0..REPORTS_MAX {
                let Ok(report) = self.reports.try_recv() else {
                    break;
                };
                self.take(report);
            }
            let now = Instant::now();
            let batches = self.due(now);
            if !batches.is_empty() || now >= deadline {
                return batches;
            }
            let wake = [Some(deadline), Some(self.rescan_at), self.debounce.due()];
            let wake = wake.into_iter().flatten().min().unwrap_or(deadline);
            match self.reports.recv_timeout(wake.saturating_duration_since(now)) {
                Ok(report) => self.take(report),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => (),
            }
        }
    }

    fn due(&mut self, now: Instant) -> Vec<Batch> {
        if self.lost.swap(false, Ordering::SeqCst) {
            self.everything = Some(Why::Lost);
        }
        if now >= self.rescan_at {
            self.everything.get_or_insert(Why::Time);
        }
        let mut batches = Vec::new();
        if let Some(why) = self.everything.take() {
            if why != Why::Beginning {
                // First watch, then look: what comes in between is seen twice and not missed.
                self.watch_everything();
            }
            let every = self.pace.rescan_every;
            let every = if self.partial { every.min(RESCAN_PARTIAL) } else { every };
            self.rescan_at = now + every;
            batches.push(Batch::Everything(why));
        }
        let files = self.debounce.ready(now);
        if !files.is_empty() {
            batches.push(Batch::Files(files));
        }
        batches
    }

    fn take(&mut self, report: Report) {
        let Report::Changed(path) = report else {
            return;
        };
        if let Scope::File { folder, name } = &self.scope {
            if path.file_name() == Some(name) {
                let path = folder.join(name);
                self.touch(path);
            }
            return;
        }
        let name = path.file_name().unwrap_or_default();
        match path.symlink_metadata() {
            Ok(found) if found.is_dir() && !is_hidden(name) => self.watch_below(&path),
            Ok(found) if found.is_file() && name == ".gitignore" => {
                self.everything.get_or_insert(Why::Time);
            }
            Ok(found) if found.is_file() && !is_hidden(name) && !is_left_out(name) => {
                self.touch(path);
            }
            // Something else, or gone already.
            Ok(_) | Err(_) => (),
        }
    }

    fn touch(&mut self, path: PathBuf) {
        if !self.debounce.touch(path, Instant::now()) {
            self.everything = Some(Why::Lost);
        }
    }

    fn watch_everything(&mut self) {
        // A folder that went and came back has the same name and another watch.
        self.watched.retain(|folder| folder.is_dir());
        match self.scope.clone() {
            Scope::File { folder, .. } => self.watch(folder),
            Scope::Tree { root, .. } => {
                self.watch_folders(&root);
            }
        }
    }

    /// Watches a folder that came up, and looks through it: its files may be older than the watch.
    fn watch_below(&mut self, folder: &Path) {
        self.watched.retain(|watched| !watched.starts_with(folder));
        for file in self.watch_folders(folder) {
            self.touch(file);
        }
    }

    /// Watches all folders below `top`, until there are no new ones, and lists the files.
    fn watch_folders(&mut self, top: &Path) -> Vec<PathBuf> {
        for _ in 0..ROUNDS_MAX {
            let (folders, files) = self.listed(top);
            let new: Vec<_> =
                folders.into_iter().filter(|folder| !self.watched.contains(folder)).collect();
            if new.is_empty() || self.partial {
                return files;
            }
            for folder in new {
                self.watch(folder);
            }
        }
        self.everything = Some(Why::Lost);
        Vec::new()
    }

    fn watch(&mut self, folder: PathBuf) {
        if self.watched.len() >= FOLDERS_MAX {
            self.partial = true;
            return;
        }
        match self.system.watch(&folder, RecursiveMode::NonRecursive) {
            Ok(()) => {
                self.watched.insert(folder);
            }
            Err(error) if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => {
                self.partial = true;
            }
            // Gone again, or not ours to read. Listing it once more would not help.
            Err(_) => {
                self.watched.insert(folder);
            }
        }
    }

    /// Lists the folders and files below `top`, by the ignore files of the whole tree.
    fn listed(&self, top: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let Scope::Tree { root, honour_ignores } = &self.scope else {
            return (Vec::new(), Vec::new());
        };
        let wanted = top.to_owned();
        let walk = WalkBuilder::new(root)
            .parents(false)
            .require_git(false)
            .ignore(*honour_ignores)
            .git_ignore(*honour_ignores)
            .git_exclude(*honour_ignores)
            .git_global(false)
            .filter_entry(move |entry| {
                entry.path().starts_with(&wanted) || wanted.starts_with(entry.path())
            })
            .build();
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        for entry in walk.flatten().filter(|entry| entry.path().starts_with(top)) {
            match entry.file_type() {
                Some(kind) if kind.is_dir() => folders.push(entry.into_path()),
                Some(kind) if kind.is_file() && !is_left_out(entry.file_name()) => {
                    files.push(entry.into_path());
                }
                Some(_) | None => (),
            }
        }
        (folders, files)
    }
}

/// Passes on what may have changed a file. Runs on the system's thread, so it never waits.
fn report(event: notify::Result<notify::Event>, to: &SyncSender<Report>, lost: &AtomicBool) {
    let Ok(event) = event else {
        lost.store(true, Ordering::SeqCst);
        let _ = to.try_send(Report::Wake);
        return;
    };
    let changes = match event.kind {
        EventKind::Create(_) | EventKind::Any => true,
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) => false,
        EventKind::Modify(_) => true,
        EventKind::Access(kind) => kind == AccessKind::Close(AccessMode::Write),
        EventKind::Remove(_) | EventKind::Other => false,
    };
    if event.need_rescan() {
        lost.store(true, Ordering::SeqCst);
        let _ = to.try_send(Report::Wake);
    }
    if !changes {
        return;
    }
    for path in event.paths {
        if let Err(TrySendError::Full(_)) = to.try_send(Report::Changed(path)) {
            lost.store(true, Ordering::SeqCst);
        }
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

#[cfg(test)]
mod tests;
