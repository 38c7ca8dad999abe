//! What an edit on disk promises, and that a kill at any moment breaks none of it.

use std::env;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use rustix::process::{Signal, getpid, kill_process};
use tempfile::TempDir;

use super::*;

const BEFORE: &str = "# A\n**Tags**: #delegated-x\n";
const AFTER: &str = "# A\n**Tags**: #claimed-x\n";

fn folder_with(text: &[u8]) -> (TempDir, Files, PathBuf) {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.md"), text).unwrap();
    let files = Files::within(folder.path()).unwrap();
    let path = folder.path().join("a.md");
    (folder, files, path)
}

fn tag(text: &str) -> Tag {
    text.parse().unwrap()
}

fn claim(files: &Files, path: &Path) -> Result<Moved, FileError> {
    let (old, new) = (tag("#delegated-x"), tag("#claimed-x"));
    files.swap(path, &[old], &new, Place::TagsLine, Mover::Worker)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_swap_is_won_once_and_leaves_nothing_behind() {
    let (folder, files, path) = folder_with(BEFORE.as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let moved = claim(&files, Path::new("a.md")).unwrap();
    assert_eq!((moved.from, moved.line), (tag("#delegated-x"), 2));
    assert_eq!(fs::read_to_string(&path).unwrap(), AFTER);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);

    let lost = claim(&files, &path).unwrap_err().to_string();
    assert!(lost.ends_with("a.md: #delegated-x is not on the Tags line"), "{lost}");
    assert_eq!(names_in(folder.path()), ["a.md"]);
}

#[test]
fn the_rules_are_asked_under_the_lock() {
    let (folder, files, path) = folder_with(b"# A\n**Tags**: #needs-x\n");
    let (old, new) = (tag("#needs-x"), tag("#delegated-x"));
    let swap = |mover| files.swap(&path, std::slice::from_ref(&old), &new, Place::TagsLine, mover);
    assert!(matches!(swap(Mover::Worker), Err(FileError::Refused { .. })));
    assert!(files.add(&path, &new, Mover::Worker).is_err());
    swap(Mover::Person).unwrap();
    assert!(!files.add(&path, &new, Mover::Worker).unwrap());
    assert!(files.remove(&path, &new, Place::TagsLine).unwrap());
    assert!(!files.remove(&path, &new, Place::TagsLine).unwrap());
    assert_eq!(names_in(folder.path()), ["a.md"]);
}

#[test]
fn nothing_but_texts_within_the_root_is_touched() {
    let (outside, _, secret) = folder_with(BEFORE.as_bytes());
    let (folder, files, path) = folder_with(b"# A\0\n**Tags**: #delegated-x\n");
    symlink(&secret, folder.path().join("out.md")).unwrap();
    symlink(outside.path(), folder.path().join("away")).unwrap();
    symlink(&path, folder.path().join("in.md")).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();

    for escape in ["out.md", "away/a.md", "../a.md"] {
        let error = claim(&files, Path::new(escape)).unwrap_err();
        let turned_away =
            matches!(error, FileError::Outside { .. } | FileError::Failed { doing: "find it", .. });
        assert!(turned_away, "{escape}: {error:?}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), BEFORE);
    for (path, found) in [("a.md", "binary"), ("sub", "a folder"), (".", "a folder")] {
        let error = claim(&files, Path::new(path)).unwrap_err();
        let expected = format!("{path} is {found}, expected a text file");
        assert_eq!(error.to_string(), expected);
    }
    // A link that stays inside is followed, and stays a link.
    fs::write(&path, BEFORE).unwrap();
    claim(&files, Path::new("in.md")).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), AFTER);
    assert!(fs::symlink_metadata(folder.path().join("in.md")).unwrap().is_symlink());
}

#[test]
fn what_is_too_large_or_missing_is_said_so() {
    let (folder, files, path) = folder_with(b"");
    File::options().write(true).open(&path).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
    assert!(matches!(claim(&files, &path), Err(FileError::TooLarge { .. })));
    let missing = claim(&files, Path::new("b.md")).unwrap_err();
    assert_eq!(missing.to_string(), "b.md: cannot find it");
    assert_eq!(names_in(folder.path()), ["a.md"]);
}

#[test]
fn a_save_by_an_editor_in_the_middle_is_kept() {
    let (_folder, files, path) = folder_with(BEFORE.as_bytes());
    let mut saved = false;
    let swap = |text: &[u8]| {
        let old = [tag("#delegated-x")];
        let swapped = edit::swap(text, &old, &tag("#claimed-x"), Place::TagsLine).unwrap();
        Ok((Some(swapped.text), ()))
    };
    let save = |step| {
        if step == Step::WrittenAside && !saved {
            saved = true;
            fs::write(&path, format!("{BEFORE}More.\n")).unwrap();
        }
    };
    files.edit_stepwise(&path, swap, save).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{AFTER}More.\n"));
}

#[test]
fn a_planted_aside_is_not_written_through() {
    let (folder, files, path) = folder_with(BEFORE.as_bytes());
    let (_other, _, victim) = folder_with(b"mine");
    let aside = folder.path().join(".a.md.baton-aside");
    symlink(&victim, &aside).unwrap();
    assert!(claim(&files, &path).is_err());
    fs::remove_file(&aside).unwrap();
    fs::hard_link(&victim, &aside).unwrap();
    assert!(claim(&files, &path).is_err());
    assert_eq!(fs::read(&victim).unwrap(), b"mine");
}

const STEPS: [Step; 5] =
    [Step::Locked, Step::Decided, Step::WrittenAside, Step::Replaced, Step::Durable];

#[test]
fn a_kill_at_any_step_leaves_a_whole_file_that_can_be_claimed_or_is() {
    for (at, step) in STEPS.into_iter().enumerate() {
        let (folder, files, path) = folder_with(BEFORE.as_bytes());
        let status = Command::new(env::current_exe().unwrap())
            .args(["--exact", "file::tests::the_child_that_is_killed"])
            .env("BATON_TEST_KILL", format!("{at}"))
            .env("BATON_TEST_ROOT", folder.path())
            .output()
            .unwrap()
            .status;
        assert_eq!(status.signal(), Some(9), "{step:?}");

        let won = matches!(step, Step::Replaced | Step::Durable);
        let expected = if won { AFTER } else { BEFORE };
        assert_eq!(fs::read_to_string(&path).unwrap(), expected, "{step:?}");
        assert_eq!(claim(&files, &path).is_ok(), !won, "{step:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), AFTER);
        assert_eq!(names_in(folder.path()), ["a.md"], "{step:?}");
    }
}

/// Not a test by itself: the one above starts it, and it kills itself where it is told.
#[test]
fn the_child_that_is_killed() {
    let (Ok(at), Ok(root)) = (env::var("BATON_TEST_KILL"), env::var("BATON_TEST_ROOT")) else {
        return;
    };
    let last = STEPS[at.parse::<usize>().unwrap()];
    let swap = |text: &[u8]| {
        let old = [tag("#delegated-x")];
        let swapped = edit::swap(text, &old, &tag("#claimed-x"), Place::TagsLine).unwrap();
        Ok((Some(swapped.text), ()))
    };
    let die = |step| {
        if step == last {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    };
    let files = Files::within(root).unwrap();
    files.edit_stepwise(Path::new("a.md"), swap, die).unwrap();
}

#[test]
fn one_piece_of_work_is_on_the_tags_line_once() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.md"), "# A\n**Tags**: #done-fix\n").unwrap();
    let files = Files::within(folder.path()).unwrap();
    let add = |tag: &str| files.add(Path::new("a.md"), &tag.parse().unwrap(), Mover::Person);
    let refused = add("#needs-fix").unwrap_err();
    assert!(refused.to_string().contains("the work is at #done-fix already"), "{refused}");
    assert!(add("#needs-chores").unwrap());
    assert!(!add("#done-fix").unwrap());
}
