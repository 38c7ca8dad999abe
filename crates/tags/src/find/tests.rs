//! What is found in trees and files of every size.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

fn tree(files: &[(&str, &[u8])]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Lists the matches as `path:line tag`.
fn seen(folder: &Path, search: &Search) -> Vec<String> {
    let found = find(folder, search).unwrap();
    assert_eq!(found.skipped, []);
    let mut seen = Vec::new();
    for hit in &found.hits {
        let path = hit.path.strip_prefix(folder).unwrap().display();
        for sighting in &hit.sightings {
            let Occurrence { line, tag, .. } = &sighting.occurrence;
            seen.push(format!("{path}:{line} {tag}"));
        }
    }
    seen
}

fn search(pattern: &str) -> Search {
    Search::new(pattern.parse().unwrap())
}

const TAGGED: &[u8] = b"# A\n**Tags**: #delegated-fix\n\n1. b #delegated-chores\n";

#[test]
fn tags_are_found_in_texts_and_mentions_are_not() {
    let folder = tree(&[
        ("b/a.md", TAGGED),
        ("a.txt", b"\xff #delegated-fix\r\n"),
        ("c.md", b"`#delegated-fix` #delegated-fix-later\n"),
    ]);
    assert_eq!(
        seen(folder.path(), &search("#delegated-fix")),
        ["a.txt:1 #delegated-fix", "b/a.md:2 #delegated-fix"]
    );
    assert_eq!(seen(folder.path(), &search("#delegated-*")).len(), 4);
    assert_eq!(seen(folder.path(), &search("#needs-*")), [""; 0]);
    let tags_line_only = Search { tags_line_only: true, ..search("#delegated-*") };
    assert_eq!(seen(folder.path(), &tags_line_only), ["b/a.md:2 #delegated-fix"]);
}

#[test]
fn each_file_counts_once_and_what_is_no_work_is_left_out() {
    let binary = [TAGGED, b"\0"].concat();
    let folder = tree(&[
        ("a.md", TAGGED),
        ("binary.md", &binary),
        ("x.db", TAGGED),
        ("x.db.bak", TAGGED),
        ("s/.state.json", TAGGED),
        (".a.md.baton-aside", TAGGED),
        (".git/description", TAGGED),
    ]);
    symlink(folder.path().join("a.md"), folder.path().join("link.md")).unwrap();
    symlink(folder.path(), folder.path().join("loop")).unwrap();
    assert_eq!(seen(folder.path(), &search("#delegated-fix")), ["a.md:2 #delegated-fix"]);
    assert_eq!(seen(&folder.path().join("a.md"), &search("#delegated-fix")).len(), 1);
}

#[test]
fn ignore_files_count_inside_the_tree_and_not_above_it() {
    let folder = tree(&[(".gitignore", b"sessions/\n"), ("sessions/a.md", TAGGED)]);
    assert_eq!(seen(folder.path(), &search("#delegated-fix")), [""; 0]);
    assert_eq!(seen(&folder.path().join("sessions"), &search("#delegated-fix")).len(), 1);
    let everything = Search { honour_ignores: false, ..search("#delegated-fix") };
    assert_eq!(seen(folder.path(), &everything).len(), 1);
}

#[test]
fn a_match_comes_with_its_title_and_the_lines_around_it() {
    let folder = tree(&[("a.md", TAGGED)]);
    let with_context = Search { context_lines: 1, ..search("#delegated-chores") };
    let found = find(folder.path(), &with_context).unwrap();
    assert_eq!(found.hits[0].title.as_deref(), Some("A"));
    let sighting = &found.hits[0].sightings[0];
    assert_eq!(sighting.first_line, 3);
    assert_eq!(sighting.lines, ["", "1. b #delegated-chores"]);
    assert_eq!(shown("é".repeat(200).as_bytes()), format!("{}…", "é".repeat(128)));
}

#[test]
fn a_large_tree_is_listed_in_order_and_what_could_not_be_read_is_told() {
    let names: Vec<_> = (0..300).map(|at| format!("{}/{at:03}.md", at % 7)).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), TAGGED)).collect();
    let folder = tree(&files);
    let first = find(folder.path(), &search("#delegated-*")).unwrap();
    assert_eq!(first.hits.len(), 300);
    assert!(first.hits.is_sorted_by(|a, b| a.path < b.path));
    let large = folder.path().join("large.md");
    fs::write(&large, vec![b'x'; PIECE_BYTES]).unwrap();
    File::options().write(true).open(&large).unwrap().set_len(FIND_BYTES_MAX + 1).unwrap();
    let again = find(folder.path(), &search("#delegated-*")).unwrap();
    assert_eq!(again.hits, first.hits);
    assert_eq!(again.skipped[0].path, large);
    fs::write(&large, "#delegated-x ".repeat(SIGHTINGS_MAX + 1)).unwrap();
    let again = find(folder.path(), &search("#delegated-*")).unwrap();
    assert_eq!(again.skipped[0].reason, "found more than 10000 matches, which is no list of work");
    assert!(find(Path::new("no-such-tree"), &search("#a")).is_err());
}

#[test]
fn a_tag_is_found_wherever_it_lies_in_a_large_file() {
    let folder = tree(&[]);
    let path = folder.path().join("a.md");
    let tag = b" #delegated-fix ";
    // Across every place where one piece ends and the next begins, for the first few pieces.
    for end in [PIECE_BYTES, PIECE_BYTES * 2 - 14, PIECE_BYTES * 2] {
        for at in end - 20..end + 5 {
            let mut text = vec![b'x'; PIECE_BYTES * 4];
            text[at..at + tag.len()].copy_from_slice(tag);
            fs::write(&path, &text).unwrap();
            let found = find(folder.path(), &search("#delegated-fix")).unwrap();
            let column = found.hits[0].sightings[0].occurrence.column;
            assert_eq!(column, at + 2, "{at}");
        }
    }
    fs::write(&path, vec![b'x'; PIECE_BYTES * 4]).unwrap();
    assert_eq!(seen(folder.path(), &search("#delegated-fix")), [""; 0]);
}

#[test]
fn a_hundred_megabytes_and_long_lines_are_searched() {
    let line = format!("{} #done-fix {}\n", "word ".repeat(120), "x".repeat(400));
    assert!(line.len() > 1_000);
    let mut text = line.repeat(100_000);
    text.push_str("# A\nthe last #delegated-fix\n");
    assert!(text.len() > 100_000_000);
    let folder = tree(&[("a.md", text.as_bytes())]);
    let found = seen(folder.path(), &search("#delegated-fix"));
    assert_eq!(found, ["a.md:100002 #delegated-fix"]);
    assert_eq!(seen(folder.path(), &search("#delegated-chores")), [""; 0]);
}
