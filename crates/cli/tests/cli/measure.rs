//! Measuring work with a definition, through the real binary.

use crate::desk::Desk;

/// A folder that lies on a disk wherever the build does: the usual temporary one may be memory.
const DIR: &str = env!("CARGO_TARGET_TMPDIR");

#[test]
fn workflows_that_are_measured_all_complete() {
    let desk = Desk::new();
    let words = ["bench", "workflows", "--count", "20", "--concurrent", "8", "--dir", DIR];
    let report = desk.json(&words);
    assert_eq!(report["completed"], 20, "{report}");
    // The numbers 5 and 15 have a spreadsheet that fails once.
    assert_eq!(report["retried"], 2, "{report}");
    assert_eq!((&report["quarter"]["live"], &report["all"]["live"]), (&5.into(), &20.into()));
    // With a client rules are asked 7 times, without 6; a failure and its retry ask once more each.
    assert_eq!(report["judging"]["steps"], 18 * 7 + 2 * 6 + 2 * 2, "{report}");
}

#[test]
fn options_of_one_measurement_do_not_go_with_the_other() {
    let desk = Desk::new();
    desk.run(&["bench", "--http", "workflows"]).fails(2);
    desk.run(&["bench", "workflows", "--preload", "5"]).fails(2);
    desk.run(&["bench", "workflows", "--count", "3"]).fails(2);
    desk.run(&["bench", "workflows", "--count", "10001"]).fails(2);
}

#[test]
fn every_hook_that_is_measured_does_what_it_is_for() {
    let desk = Desk::new();
    let report = desk.json(&["bench", "hooks", "--runs", "1", "--dir", DIR]);
    let answered = |name: &str| {
        let rows = report["hooks"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["hook"] == name).expect("a row");
        row["answered"].as_u64().expect("bytes")
    };
    for speaks in ["session-start", "pre-tool-use, locked file", "statusline"] {
        assert!(answered(speaks) > 20, "{speaks}: {report}");
    }
    for silent in ["user-prompt", "pre-tool-use, free file", "post-tool-use", "no workspace"] {
        assert_eq!(answered(silent), 0, "{silent}: {report}");
    }
}
