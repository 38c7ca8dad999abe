//! The same primitives with two natures: outside of [`explore`] the standard ones, inside it
//! shuttle's, which let a scheduler decide at each of their calls who runs next.

use std::cell::Cell;
use std::io;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LockResult, PoisonError, atomic};
use std::time::Duration;

use shuttle::rand::Rng;
use shuttle::scheduler::{PctScheduler, RandomScheduler, ReplayScheduler};
use shuttle::{Config, Runner};
use tokio::sync::mpsc;

thread_local! {
    /// Shuttle runs all threads of an execution as coroutines of the one that called it.
    static EXPLORING: Cell<bool> = const { Cell::new(false) };
}

/// How many schedules a test tries of what it says, times what the environment says.
fn schedules(few: usize) -> usize {
    let times = std::env::var("BATON_SCHEDULES").ok().map(|text| text.parse());
    few * times.unwrap_or(Ok(1)).expect("BATON_SCHEDULES is a number of times")
}

/// Room for SQLite and serde in a debug build; shuttle's own default is for toys.
const STACK_BYTES: usize = 1024 * 1024;
/// How often the scheduler of the second half takes a running thread's turn away.
const TURNS_TAKEN: usize = 3;

/// Plays `story` in many schedules, half of them with a random turn at every step and half with
/// random priorities that change a few times, which finds what takes one long and unlucky pause.
///
/// Shuttle prints a schedule that fails; with `BATON_SCHEDULE` naming a file that holds it, that
/// one is played and no other.
pub(crate) fn explore(few: usize, story: impl Fn() + Send + Sync + 'static) {
    let half = schedules(few).div_ceil(2);
    let story = Arc::new(story);
    let mut config = Config::new();
    config.stack_size = STACK_BYTES;
    EXPLORING.set(true);
    if let Ok(file) = std::env::var("BATON_SCHEDULE") {
        let one = ReplayScheduler::new_from_file(file).expect("the schedule can be read");
        Runner::new(one, config).run(move || story());
    } else {
        let play = story.clone();
        Runner::new(RandomScheduler::new(half), config.clone()).run(move || play());
        Runner::new(PctScheduler::new(TURNS_TAKEN, half), config).run(move || story());
    }
    EXPLORING.set(false);
}

/// Lets the scheduler choose who goes on, if there is one.
pub(crate) fn turn() {
    if EXPLORING.get() {
        shuttle::thread::sleep(Duration::ZERO);
    }
}

/// A lock of either nature.
pub(crate) enum Mutex<T> {
    Standard(std::sync::Mutex<T>),
    Explored(shuttle::sync::Mutex<T>),
}

/// A lock that is held.
pub(crate) enum MutexGuard<'a, T> {
    Standard(std::sync::MutexGuard<'a, T>),
    Explored(shuttle::sync::MutexGuard<'a, T>),
}

/// Changes what a lock gave, poisoned or not.
fn map<A, B>(locked: LockResult<A>, change: impl FnOnce(A) -> B) -> LockResult<B> {
    match locked {
        Ok(guard) => Ok(change(guard)),
        Err(poisoned) => Err(PoisonError::new(change(poisoned.into_inner()))),
    }
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        match EXPLORING.get() {
            true => Self::Explored(shuttle::sync::Mutex::new(value)),
            false => Self::Standard(std::sync::Mutex::new(value)),
        }
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        match self {
            Self::Standard(lock) => map(lock.lock(), MutexGuard::Standard),
            Self::Explored(lock) => map(lock.lock(), MutexGuard::Explored),
        }
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Standard(guard) => guard,
            Self::Explored(guard) => guard,
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match self {
            Self::Standard(guard) => guard,
            Self::Explored(guard) => guard,
        }
    }
}

/// A wake-up of either nature.
pub(crate) enum Condvar {
    Standard(std::sync::Condvar),
    Explored(Arc<shuttle::sync::Condvar>),
}

/// Whether a wait ended because its time was over.
pub(crate) struct TimedOut(bool);

impl TimedOut {
    pub(crate) fn timed_out(&self) -> bool {
        self.0
    }
}

const ONE_NATURE: &str = "a lock and its wake-up are of one nature";

impl Condvar {
    pub(crate) fn new() -> Self {
        match EXPLORING.get() {
            true => Self::Explored(Arc::default()),
            false => Self::Standard(std::sync::Condvar::new()),
        }
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        match (self, guard) {
            (Self::Standard(wake), MutexGuard::Standard(guard)) => {
                map(wake.wait(guard), MutexGuard::Standard)
            }
            (Self::Explored(wake), MutexGuard::Explored(guard)) => {
                map(wake.wait(guard), MutexGuard::Explored)
            }
            _ => unreachable!("{ONE_NATURE}"),
        }
    }

    pub(crate) fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits until woken or until the time is over. Shuttle knows no time; here it is over
    /// whenever the scheduler lets a thread run that does nothing else than end this wait.
    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, TimedOut)> {
        match (self, guard) {
            (Self::Standard(wake), MutexGuard::Standard(guard)) => {
                map(wake.wait_timeout(guard, time), |(guard, result)| {
                    (MutexGuard::Standard(guard), TimedOut(result.timed_out()))
                })
            }
            (Self::Explored(wake), MutexGuard::Explored(guard)) => {
                let (over, awake) = (Arc::new(atomic::AtomicBool::new(false)), Arc::new(()));
                let (end, alarm, asleep) = (over.clone(), wake.clone(), Arc::downgrade(&awake));
                shuttle::thread::spawn(move || {
                    // The first ring may come before the other one sleeps.
                    while asleep.strong_count() > 0 {
                        end.store(true, Ordering::SeqCst);
                        // Who else waits here is woken for nothing, which it must expect anyway.
                        alarm.notify_all();
                        shuttle::thread::yield_now();
                    }
                });
                let woken = map(wake.wait(guard), |guard| {
                    (MutexGuard::Explored(guard), TimedOut(over.load(Ordering::SeqCst)))
                });
                drop(awake);
                woken
            }
            _ => unreachable!("{ONE_NATURE}"),
        }
    }

    pub(crate) fn notify_one(&self) {
        match self {
            Self::Standard(wake) => wake.notify_one(),
            Self::Explored(wake) => wake.notify_one(),
        }
    }

    pub(crate) fn notify_all(&self) {
        match self {
            Self::Standard(wake) => wake.notify_all(),
            Self::Explored(wake) => wake.notify_all(),
        }
    }
}

impl Default for Condvar {
    fn default() -> Self {
        Self::new()
    }
}

/// A shared number; each use of it is a turn.
#[derive(Default)]
pub(crate) struct AtomicU64(atomic::AtomicU64);

impl AtomicU64 {
    pub(crate) fn load(&self, order: Ordering) -> u64 {
        turn();
        self.0.load(order)
    }

    pub(crate) fn store(&self, value: u64, order: Ordering) {
        turn();
        self.0.store(value, order);
    }

    pub(crate) fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        turn();
        self.0.fetch_add(value, order)
    }
}

/// A shared flag; each use of it is a turn.
#[derive(Default)]
pub(crate) struct AtomicBool(atomic::AtomicBool);

impl AtomicBool {
    pub(crate) fn load(&self, order: Ordering) -> bool {
        turn();
        self.0.load(order)
    }

    pub(crate) fn store(&self, value: bool, order: Ordering) {
        turn();
        self.0.store(value, order);
    }
}

/// A moment. Explored, it was just now or long ago, as the schedule likes.
pub(crate) struct Instant(std::time::Instant);

impl Instant {
    pub(crate) fn now() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        match EXPLORING.get() {
            true if shuttle::rand::thread_rng().gen_bool(0.5) => Duration::from_secs(3600),
            true => Duration::ZERO,
            false => self.0.elapsed(),
        }
    }
}

/// A thread that can be waited for.
pub(crate) enum JoinHandle<T> {
    Standard(std::thread::JoinHandle<T>),
    Explored(shuttle::thread::JoinHandle<std::thread::Result<T>>, Arc<atomic::AtomicBool>),
}

impl<T> JoinHandle<T> {
    pub(crate) fn join(self) -> std::thread::Result<T> {
        match self {
            Self::Standard(thread) => thread.join(),
            Self::Explored(thread, _) => thread.join().and_then(|result| result),
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        match self {
            Self::Standard(thread) => thread.is_finished(),
            Self::Explored(_, finished) => finished.load(Ordering::SeqCst),
        }
    }
}

/// Starts a thread.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    if !EXPLORING.get() {
        let thread = std::thread::Builder::new().name(name.to_owned());
        return thread.spawn(run).map(JoinHandle::Standard);
    }
    let finished = Arc::new(atomic::AtomicBool::new(false));
    let end = finished.clone();
    // A panic ends this thread and not the execution; whoever joins it hears.
    let run = move || {
        let result = catch_unwind(AssertUnwindSafe(run));
        end.store(true, Ordering::SeqCst);
        result
    };
    let thread = shuttle::thread::Builder::new().name(name.to_owned());
    thread.spawn(run).map(|thread| JoinHandle::Explored(thread, finished))
}

/// Waits for the next of `queue`.
pub(crate) fn receive<T>(queue: &mut mpsc::Receiver<T>) -> Option<T> {
    if EXPLORING.get() { shuttle::future::block_on(queue.recv()) } else { queue.blocking_recv() }
}

/// Runs `work` on a thread that may wait for a disk; explored, on this one.
pub(crate) async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if EXPLORING.get() {
        return Some(work());
    }
    tokio::task::spawn_blocking(work).await.ok()
}
