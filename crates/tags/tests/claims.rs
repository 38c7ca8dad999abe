//! Many claimants, one winner: across threads, across processes, and through kill -9.
//!
//! The processes are this very test binary, started again for the one test that is a claimant.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::thread;

use baton_tags::edit::EditError;
use baton_tags::lifecycle::Mover;
use baton_tags::{Document, FileError, Files, Place, Tag};
use tempfile::TempDir;

const REQUESTS: usize = 40;
const CLAIMANTS: usize = 8;

fn tag(text: &str) -> Tag {
    text.parse().unwrap()
}

fn name(request: usize) -> String {
    format!("request-{request}.md")
}

fn requests() -> TempDir {
    let folder = TempDir::new().unwrap();
    for request in 0..REQUESTS {
        let text = format!("# Request {request}\r\n**Tags**: #delegated-fix #P1\r\n\r\nBody.");
        fs::write(folder.path().join(name(request)), text).unwrap();
    }
    folder
}

/// Tries to claim one request. Anything but winning or having lost is a failure of the test.
fn claim(files: &Files, request: usize) -> bool {
    let (old, new) = (tag("#delegated-fix"), tag("#claimed-fix"));
    let path = name(request);
    match files.swap(Path::new(&path), &[old], &new, Place::TagsLine, Mover::Worker) {
        Ok(_) => true,
        Err(FileError::Edit { source: EditError::Gone { .. }, .. }) => false,
        Err(error) => panic!("{error}: {error:?}"),
    }
}

/// Checks that every request is claimed exactly once, and that nothing else happened to it.
fn check_claimed(folder: &Path) {
    for request in 0..REQUESTS {
        let text = fs::read(folder.join(name(request))).unwrap();
        let expected = format!("# Request {request}\r\n**Tags**: #claimed-fix #P1\r\n\r\nBody.");
        assert_eq!(String::from_utf8(text.clone()).unwrap(), expected);
        assert_eq!(Document::read(&text).tags().count(), 2);
    }
}

/// Starts a claimant that waits until its standard input closes.
fn start(folder: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "the_claimant", "--nocapture"])
        .env("BATON_TEST_FOLDER", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads which requests a claimant says that it won.
fn wins(claimant: &mut Child) -> impl Iterator<Item = usize> + use<> {
    let output = BufReader::new(claimant.stdout.take().unwrap());
    let line = |line: Result<String, _>| -> Option<usize> {
        let line: String = line.ok()?;
        // The test harness may have begun the line.
        line.split_once("won ")?.1.trim().parse().ok()
    };
    output.lines().filter_map(line)
}

/// Not a test by itself: the others start it as a process of its own.
#[test]
fn the_claimant() {
    let Ok(folder) = env::var("BATON_TEST_FOLDER") else {
        return;
    };
    let files = Files::within(folder).unwrap();
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    for request in 0..REQUESTS {
        if claim(&files, request) {
            println!("\nwon {request}");
        }
    }
}

#[test]
fn of_many_processes_exactly_one_wins_each_request() {
    let folder = requests();
    let mut claimants: Vec<_> = (0..CLAIMANTS).map(|_| start(folder.path())).collect();
    for claimant in &mut claimants {
        drop(claimant.stdin.take());
    }
    let mut winners = BTreeMap::new();
    for claimant in &mut claimants {
        for request in wins(claimant) {
            *winners.entry(request).or_insert(0) += 1;
        }
        assert!(claimant.wait().unwrap().success());
    }
    let expected: BTreeMap<_, _> = (0..REQUESTS).map(|request| (request, 1)).collect();
    assert_eq!(winners, expected);
    check_claimed(folder.path());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), REQUESTS);
}

#[test]
fn killed_claimants_neither_lose_nor_double_a_request() {
    let folder = requests();
    let mut winners = BTreeMap::new();
    // Each is killed right after it reported a win, while it is in the middle of the next claim.
    let mut doomed: Vec<_> = (0..CLAIMANTS).map(|_| start(folder.path())).collect();
    for claimant in &mut doomed {
        drop(claimant.stdin.take());
    }
    for claimant in &mut doomed {
        let mut wins = wins(claimant);
        let first = wins.next();
        claimant.kill().unwrap();
        for request in first.into_iter().chain(wins) {
            *winners.entry(request).or_insert(0) += 1;
        }
        claimant.wait().unwrap();
    }
    let files = Files::within(folder.path()).unwrap();
    for request in (0..REQUESTS).filter(|&request| claim(&files, request)) {
        *winners.entry(request).or_insert(0) += 1;
    }
    // One who was killed between the claim and the report won silently; nobody won twice.
    assert!(winners.values().all(|&count| count == 1), "{winners:?}");
    check_claimed(folder.path());
}

#[test]
fn of_many_threads_exactly_one_wins_each_request() {
    let folder = requests();
    let files = Files::within(folder.path()).unwrap();
    let barrier = Barrier::new(CLAIMANTS);
    let won: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..CLAIMANTS)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    (0..REQUESTS).filter(|&request| claim(&files, request)).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(won, REQUESTS);
    check_claimed(folder.path());
}

#[test]
fn edits_of_one_file_from_all_sides_are_all_kept() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.md"), "# A\n").unwrap();
    let files = Files::within(folder.path()).unwrap();
    thread::scope(|scope| {
        for writer in 0..CLAIMANTS {
            let files = &files;
            scope.spawn(move || {
                for at in 0..10 {
                    let tag = tag(&format!("#t{writer}-{at}"));
                    assert!(files.add(Path::new("a.md"), &tag, Mover::Worker).unwrap());
                }
            });
        }
    });
    let text = fs::read(folder.path().join("a.md")).unwrap();
    assert_eq!(Document::read(&text).tags().count(), CLAIMANTS * 10);
}
