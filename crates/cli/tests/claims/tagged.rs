//! Tagged files under load: many workers race for each, some die, and each file is done once.
//!
//! `BATON_TAG_RACERS=64 BATON_TAG_FILES=1000 cargo test -p baton-cli --test claims tagged` is the
//! full size.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

fn size(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|size| size.parse().ok()).unwrap_or(usual)
}

fn baton(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.args(args).current_dir(root).env_remove("BATON_TOKEN").env_remove("BATON_AGENT");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A request whose body must come through whole, with line ends that are easily lost.
fn request(number: usize) -> String {
    format!("# Request {number}\r\n**Tags**: #delegated-fix #P1\r\n\r\nBody {number}: ü\r\n")
}

/// Every third worker is killed by its own skill, as a crash would, and one in nine leaves a number
/// that another process has.
const SKILL: &str = "#!/bin/sh\ncat > /dev/null\nn=$(od -An -N1 -tu1 /dev/urandom)\n\
    [ $((n % 3)) -eq 0 ] && kill -9 $PPID\necho did\n";

#[test]
fn each_tagged_file_is_done_once_however_many_race_and_die() {
    let (racers, files) = (size("BATON_TAG_RACERS", 6), size("BATON_TAG_FILES", 12));
    let folder = TempDir::new().expect("a folder");
    let root = folder.path();
    assert!(baton(root, &["init"]).status().expect("a run").success());
    let skill = root.join(".baton/fix.sh");
    fs::write(&skill, SKILL).expect("a script");
    let table = format!(
        "requeue: delegated\nkinds:\n  fix:\n    mode: agent\n    command: [sh, {:?}]\n",
        skill.display().to_string()
    );
    fs::write(root.join(".baton/dispatch.yaml"), table).expect("a table");
    let name = |number: usize| format!("r{number}.md");
    for number in 0..files {
        fs::write(root.join(name(number)), request(number)).expect("a file");
    }
    let (next, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let is_done = |number: usize| {
        let text = fs::read_to_string(root.join(name(number))).expect("a text");
        text.contains("#done-fix")
    };
    thread::scope(|scope| {
        for _ in 0..racers {
            scope.spawn(|| {
                // Each goes round; two or more meet at every file all the time.
                while !over.load(Ordering::SeqCst) {
                    let number = next.fetch_add(1, Ordering::SeqCst) / 2 % files;
                    if !is_done(number) {
                        let file = name(number);
                        let _ = baton(root, &["work", "--headless", &file]).status();
                    }
                }
            });
        }
        scope.spawn(|| {
            while !(0..files).all(is_done) {
                // The daemon recovers what died; what used its approval up, a person sees again.
                reuse_a_number(root);
                let mut daemon = baton(root, &["run", "--monitor-tags", "--once", "--headless"]);
                let mut daemon = daemon.spawn().expect("a daemon");
                if next.load(Ordering::SeqCst).is_multiple_of(5) {
                    let _ = daemon.kill();
                }
                let _ = daemon.wait();
                for number in 0..files {
                    let text = fs::read_to_string(root.join(name(number))).expect("a text");
                    if text.contains("#needs-fix") {
                        let file = name(number);
                        let swap = ["tag", "swap", &file, "#needs-fix", "#delegated-fix"];
                        let _ = baton(root, &swap).status();
                    }
                }
            }
            over.store(true, Ordering::SeqCst);
        });
    });
    check(root, files, name);
}

/// Gives a dead worker's state the number of a process that is alive.
fn reuse_a_number(root: &Path) {
    for state in states(root) {
        let (path, mut state) = state;
        let pid = state["pid"].as_u64().unwrap_or_default();
        if pid % 9 == 0 && !Path::new(&format!("/proc/{pid}")).exists() {
            state["pid"] = std::process::id().into();
            // Written aside, so that nobody reads half of it.
            let aside = path.with_extension("new");
            fs::write(&aside, state.to_string()).expect("a state");
            fs::rename(&aside, &path).expect("a state");
        }
    }
}

fn states(root: &Path) -> Vec<(std::path::PathBuf, Value)> {
    let sessions = fs::read_dir(root.join(".baton/sessions")).into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let path = entry.path().join(".state.json");
        let state = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
        Some((path, state))
    };
    sessions.filter_map(read).collect()
}

fn check(root: &Path, files: usize, name: impl Fn(usize) -> String) {
    let mut fences: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (_, state) in states(root) {
        let file = state["file"].as_str().expect("a file").to_owned();
        // A session that was killed before its claim, or lost it, has no number.
        let fence = state["fence"].as_u64().filter(|fence| *fence > 0);
        fences.entry(file).or_default().extend(fence);
    }
    for number in 0..files {
        let text = fs::read_to_string(root.join(name(number))).expect("a text");
        let body = format!("Body {number}: ü\r\n");
        assert!(text.contains("**Tags**: #done-fix #P1\r\n"), "{text}");
        assert!(text.starts_with(&format!("# Request {number}\r\n")), "{text}");
        assert_eq!(text.matches(&body).count(), 1, "{text}");
        assert_eq!(text.matches("[response](").count(), 1, "done once: {text}");
        assert!(!text.replace("\r\n", "").contains('\n'), "its line ends stay: {text:?}");
        let mut given = fences.remove(&name(number)).unwrap_or_default();
        given.sort_unstable();
        let before = given.len();
        given.dedup();
        assert_eq!(given.len(), before, "a fence is given once: {given:?}");
        let crashes = text.matches("## Recovery").count();
        let last = text.split("fence ").nth(1).and_then(|rest| rest.split('\r').next());
        let last: usize = last.and_then(|fence| fence.parse().ok()).expect("a fence");
        assert_eq!(last, crashes + 1, "one reason for each crash: {text}");
    }
    let left = fs::read_dir(root).expect("a folder").flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().ends_with("-aside"));
    assert_eq!(left.count(), 0, "nothing is left beside the files");
}
