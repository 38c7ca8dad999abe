//! Moves on disk: the rules are asked, and of many at once one wins.

use std::fs;
use std::sync::Barrier;
use std::thread;

use tempfile::TempDir;

use super::*;

const REQUEST: &str = "# A\n**Tags**: #needs-fix\n\nBody.\n";

fn folder() -> (TempDir, Files) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.md"), REQUEST).unwrap();
    let files = Files::within(folder.path()).unwrap();
    (folder, files)
}

fn fix() -> ItemKey {
    "#fix".parse().unwrap()
}

fn session(at: usize) -> SessionRef {
    format!("sessions/s{at}").parse().unwrap()
}

fn approve(files: &Files) -> Changed {
    let (to, by) = (ApproveTo::Delegated, "anna".parse().unwrap());
    files.approve(Path::new("a.md"), &fix(), to, &by, Timestamp::UNIX_EPOCH).unwrap()
}

fn claim(files: &Files, at: usize, trust: Trust) -> Result<Claimed, FileError> {
    files.claim(Path::new("a.md"), &fix(), &session(at), Fence(1), trust, Mover::Worker)
}

fn recovery() -> Recovery {
    let (reason, action) = ("died".to_owned(), "requeued".to_owned());
    Recovery { at: Timestamp::UNIX_EPOCH, reason, action }
}

fn code(error: &FileError) -> &'static str {
    match error {
        FileError::Request { source, .. } => source.code(),
        FileError::Refused { source, .. } => source.code(),
        _ => "other",
    }
}

/// Runs something on many threads at once, and says how many of them succeeded.
fn wins(race: impl Fn(usize) -> bool + Sync) -> usize {
    const RACERS: usize = 8;
    let barrier = Barrier::new(RACERS);
    thread::scope(|scope| {
        let racer = |at| {
            let (barrier, race) = (&barrier, &race);
            scope.spawn(move || {
                barrier.wait();
                race(at)
            })
        };
        let racers: Vec<_> = (0..RACERS).map(racer).collect();
        racers.into_iter().filter_map(|racer| racer.join().ok()).filter(|won| *won).count()
    })
}

#[test]
fn of_many_claimants_and_of_many_recoverers_one_wins() {
    let (folder, files) = folder();
    let path = Path::new("a.md");
    approve(&files);
    assert_eq!(wins(|at| claim(&files, at, Trust::Recorded).is_ok()), 1);
    let text = fs::read(folder.path().join("a.md")).unwrap();
    let holder = request::session_of(&text, &fix()).unwrap();
    let requeue = |_| {
        let to = RequeueTo::Delegated;
        files.requeue(path, &fix(), to, Some(&holder), &recovery(), Trust::Recorded).is_ok()
    };
    assert_eq!(wins(requeue), 1);
    let text = fs::read(folder.path().join("a.md")).unwrap();
    assert_eq!(request::recoveries(&text, &fix()), 1);
    assert_eq!(claim(&files, 9, Trust::Recorded).unwrap().fence, Fence(2));
    let late = files.finish(path, &fix(), &holder, "sessions/s/RESPONSE.md").unwrap_err();
    assert_eq!(code(&late), "stale");
}

#[test]
fn nothing_skips_a_persons_approval() {
    let (folder, files) = folder();
    let path = Path::new("a.md");
    assert_eq!(code(&claim(&files, 1, Trust::ByHand).unwrap_err()), "elsewhere");
    fs::write(folder.path().join("a.md"), REQUEST.replace("needs", "delegated")).unwrap();
    assert_eq!(code(&claim(&files, 1, Trust::Recorded).unwrap_err()), "unrecorded");
    assert_eq!(code(&files.void(path, &fix(), Trust::ByHand).unwrap_err()), "approval-stands");
    let holder = Holding { session: session(1), fence: Fence(1) };
    claim(&files, 1, Trust::ByHand).unwrap();
    let to = RequeueTo::Delegated;
    let back = files.requeue(path, &fix(), to, Some(&holder), &recovery(), Trust::Recorded);
    assert_eq!(code(&back.unwrap_err()), "approval-needed");
    let to = RequeueTo::Needs;
    files.requeue(path, &fix(), to, Some(&holder), &recovery(), Trust::Recorded).unwrap();
}

#[test]
fn a_changed_request_goes_back_to_a_person() {
    let (folder, files) = folder();
    let path = Path::new("a.md");
    approve(&files);
    assert_eq!(code(&files.void(path, &fix(), Trust::Recorded).unwrap_err()), "approval-stands");
    approve(&files);
    let real = folder.path().join("a.md");
    let text = fs::read_to_string(&real).unwrap();
    fs::write(&real, text.replace("Body.", "Other.")).unwrap();
    let refused = claim(&files, 1, Trust::ByHand).unwrap_err();
    assert_eq!(code(&refused), "changed-since-approval");
    files.void(path, &fix(), Trust::ByHand).unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), REQUEST.replace("Body.", "Other."));
    approve(&files);
    files.set_aside(path, &fix()).unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), REQUEST.replace("Body.", "Other."));
}

#[test]
fn what_was_approved_by_a_tag_goes_on_only_while_it_is_unchanged() {
    let (folder, files) = folder();
    let (path, real) = (Path::new("a.md"), folder.path().join("a.md"));
    let holder = Holding { session: session(1), fence: Fence(1) };
    let go_on = |trust| {
        let to = RequeueTo::Delegated;
        files.requeue(path, &fix(), to, Some(&holder), &recovery(), trust)
    };
    fs::write(&real, REQUEST.replace("needs", "delegated")).unwrap();
    claim(&files, 1, Trust::ByHand).unwrap();
    let text = fs::read_to_string(&real).unwrap();
    assert_eq!(code(&go_on(Trust::Recorded).unwrap_err()), "approval-needed");
    fs::write(&real, text.replace("Body.", "Other.")).unwrap();
    assert_eq!(code(&go_on(Trust::ByHand).unwrap_err()), "approval-needed");
    fs::write(&real, text).unwrap();
    go_on(Trust::ByHand).unwrap();
}

#[test]
fn a_swap_by_hand_obeys_the_rules_first() {
    let (_folder, files) = folder();
    let (old, new) = (["#needs-fix".parse().unwrap()], "#claimed-fix".parse().unwrap());
    let tags = (&old[..], &new);
    let swapped = files.swap_item(Path::new("a.md"), tags, Place::TagsLine, Mover::Person, None);
    assert_eq!(code(&swapped.unwrap_err()), "not-approved");
}
