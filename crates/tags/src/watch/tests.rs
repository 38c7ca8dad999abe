//! What a watcher sees on a real disk. Nothing sleeps: each step waits for what it expects.

use std::fs;
use std::thread;

use tempfile::TempDir;

use super::*;

/// Longer than any test waits, unless it fails.
fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Reports at once, and never looks at everything by itself.
const EAGER: Pace = Pace {
    quiet: Duration::from_millis(5),
    longest: Duration::from_millis(50),
    rescan_every: Duration::from_secs(3600),
};

fn watch(folder: &TempDir, pace: Pace) -> Watcher {
    let mut watcher = Watcher::start(folder.path(), true, pace).unwrap();
    assert_eq!(watcher.next(soon()), [Batch::Everything(Why::Beginning)]);
    watcher
}

/// Collects reported files until all of these were.
fn wait_for(watcher: &mut Watcher, names: &[PathBuf]) {
    let deadline = soon();
    let mut left: HashSet<_> = names.iter().cloned().collect();
    while !left.is_empty() {
        let batches = watcher.next(deadline);
        assert!(!batches.is_empty(), "never seen: {left:?}");
        for batch in batches {
            match batch {
                Batch::Files(files) => left.retain(|file| !files.contains(file)),
                Batch::Everything(why) => panic!("not asked for: {why:?}"),
            }
        }
    }
}

#[test]
fn changes_are_seen_and_what_is_no_work_is_not() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir_all(path(".git")).unwrap();
    fs::create_dir_all(path("target")).unwrap();
    fs::write(path(".gitignore"), "target\n").unwrap();
    let mut watcher = watch(&folder, EAGER);
    for noise in [".git/a", "target/a", ".hidden", ".a.md.baton-aside", ".state.json", "x.db"] {
        fs::write(path(noise), "x").unwrap();
    }
    fs::write(path("a.md"), "x").unwrap();
    fs::write(path(".b.tmp"), "x").unwrap();
    fs::rename(path(".b.tmp"), path("b.md")).unwrap();
    let mut seen = HashSet::new();
    while seen.len() < 2 {
        for batch in watcher.next(soon()) {
            let Batch::Files(files) = batch else {
                panic!("not asked for: {batch:?}");
            };
            seen.extend(files);
        }
    }
    assert_eq!(seen, HashSet::from([path("a.md"), path("b.md")]));
    assert!(!watcher.is_partial());
}

#[test]
fn files_in_folders_that_were_just_made_are_not_missed() {
    let folder = TempDir::new().unwrap();
    let mut watcher = watch(&folder, EAGER);
    let mut names = Vec::new();
    for at in 0..50 {
        let inner = folder.path().join(format!("{at}/a/b"));
        fs::create_dir_all(&inner).unwrap();
        for name in [inner.join("x.md"), folder.path().join(format!("{at}/y.md"))] {
            fs::write(&name, "x").unwrap();
            names.push(name);
        }
    }
    wait_for(&mut watcher, &names);
    let aside = TempDir::new().unwrap();
    fs::create_dir(aside.path().join("in")).unwrap();
    fs::write(aside.path().join("in/z.md"), "x").unwrap();
    fs::rename(aside.path().join("in"), folder.path().join("in")).unwrap();
    wait_for(&mut watcher, &[folder.path().join("in/z.md")]);
    fs::remove_dir_all(folder.path().join("in")).unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    fs::write(folder.path().join("in/again.md"), "x").unwrap();
    wait_for(&mut watcher, &[folder.path().join("in/again.md")]);
}

#[test]
fn everything_is_looked_at_when_reports_were_lost_and_now_and_then() {
    let folder = TempDir::new().unwrap();
    let mut watcher = watch(&folder, EAGER);
    let event = notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
    report(Ok(event), &watcher.stopper.wake, &watcher.lost);
    assert_eq!(watcher.next(soon()), [Batch::Everything(Why::Lost)]);

    for at in 0..=REPORTS_MAX {
        let event = notify::Event::new(EventKind::Any).add_path(at.to_string().into());
        report(Ok(event), &watcher.stopper.wake, &watcher.lost);
    }
    assert_eq!(watcher.next(soon()), [Batch::Everything(Why::Lost)]);
    assert_eq!(watcher.next(Instant::now()), []);

    let often = Pace { rescan_every: Duration::from_millis(1), ..EAGER };
    let mut watcher = watch(&folder, often);
    assert_eq!(watcher.next(soon()), [Batch::Everything(Why::Time)]);
}

#[test]
fn a_stopped_watcher_returns_at_once() {
    let folder = TempDir::new().unwrap();
    let mut watcher = watch(&folder, EAGER);
    let stopper = watcher.stopper();
    thread::scope(|scope| {
        let waiting = scope.spawn(move || watcher.next(soon()));
        stopper.stop();
        assert_eq!(waiting.join().unwrap(), []);
    });
    assert!(Watcher::start(Path::new("no-such-folder"), true, EAGER).is_err());
}

#[test]
fn a_tag_is_awaited_in_a_file_and_in_a_tree() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("a.md");
    let pattern: crate::TagPattern = "#done-fix".parse().unwrap();
    let mut in_file = Awaiting::file(&file, pattern.clone()).unwrap();
    let mut in_tree = Awaiting::tree(folder.path(), pattern.clone()).unwrap();
    assert_eq!(in_file.wait(Instant::now()), None, "not there yet");
    thread::scope(|scope| {
        let in_file = scope.spawn(move || in_file.wait(soon()));
        let in_tree = scope.spawn(move || in_tree.wait(soon()));
        fs::write(folder.path().join("b.md"), "# B\n**Tags**: #needs-fix\n").unwrap();
        fs::write(&file, "# A\n**Tags**: #claimed-fix\n").unwrap();
        let files = crate::Files::within(folder.path()).unwrap();
        let (old, new) = ("#claimed-fix".parse().unwrap(), "#done-fix".parse().unwrap());
        let worker = crate::lifecycle::Mover::Worker;
        files.swap(&file, &[old], &new, crate::Place::TagsLine, worker).unwrap();
        for found in [in_file.join().unwrap().unwrap(), in_tree.join().unwrap().unwrap()] {
            assert_eq!((found.path, found.title.as_deref()), (file.clone(), Some("A")));
        }
    });
    let there = Awaiting::file(&file, pattern.clone()).unwrap().wait(Instant::now());
    assert_eq!(there.unwrap().sightings.len(), 1, "it was there before");
    let missing = folder.path().join("no/a.md");
    assert!(Awaiting::file(&missing, pattern).is_err());
}
