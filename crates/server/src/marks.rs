//! Whether a process was started as an agent.
//!
//! Baton marks every process it starts with `BATON_AGENT`. A child cannot shed the mark by clearing
//! its environment, because its ancestors' are looked at, too. Agents that run as the same system
//! user have other ways; docs/security.md says which, and how to close them.

use std::fs;

/// Ancestors that are looked at; deeper trees are treated as marked, because they may be made to
/// hide one.
const ANCESTORS_MAX: usize = 64;
const MARK: &[u8] = b"BATON_AGENT=";

/// Whether the process or one of its ancestors carries the mark.
///
/// Whoever cannot be looked at counts as marked: a process that has ended already, or one in
/// another process namespace, which has no number here.
pub fn is_marked(pid: i32) -> bool {
    if pid <= 0 || fs::read(environment(pid)).is_err() {
        return true;
    }
    let mut pid = pid;
    for _ in 0..ANCESTORS_MAX {
        if carries_mark(pid) {
            return true;
        }
        if pid == 1 {
            return false;
        }
        match parent(pid) {
            Some(0) => return false,
            Some(parent) => pid = parent,
            None => return true,
        }
    }
    true
}

/// The processes above this one, the nearest first.
pub fn ancestors(pid: i32) -> Vec<i32> {
    let mut above = Vec::new();
    let mut next = parent(pid);
    while let Some(pid) = next.filter(|pid| *pid > 0 && above.len() < ANCESTORS_MAX) {
        above.push(pid);
        next = parent(pid);
    }
    above
}

fn environment(pid: i32) -> String {
    format!("/proc/{pid}/environ")
}

/// An ancestor of another system user cannot be read and was not started by us.
fn carries_mark(pid: i32) -> bool {
    let environment = fs::read(environment(pid)).unwrap_or_default();
    let marked = |entry: &[u8]| entry.starts_with(MARK) && entry.len() > MARK.len();
    environment.split(|byte| *byte == 0).any(marked)
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets and may hold anything, brackets and spaces among it.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    /// Starts a shell that waits for its standard input to close.
    fn waiting(script: &str, mark: Option<&str>) -> std::process::Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env_remove("BATON_AGENT");
        if let Some(mark) = mark {
            command.env("BATON_AGENT", mark);
        }
        command.spawn().expect("sh starts")
    }

    fn printed_pid(child: &mut std::process::Child) -> i32 {
        let mut text = String::new();
        let mut byte = [0];
        let out = child.stdout.as_mut().expect("piped");
        while out.read(&mut byte).expect("readable") == 1 && byte[0] != b'\n' {
            text.push(char::from(byte[0]));
        }
        text.parse().expect("a pid")
    }

    #[test]
    fn a_marked_process_stays_marked_when_it_clears_its_environment() {
        let script = "env -u BATON_AGENT sh -c 'echo $$; cat >/dev/null'; :";
        let mut child = waiting(script, Some("builder"));
        let grandchild = printed_pid(&mut child);
        assert!(is_marked(grandchild));
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }

    #[test]
    fn whoever_cannot_be_looked_at_counts_as_marked() {
        assert!(is_marked(0) && is_marked(-1));
        let mut child = waiting("cat >/dev/null", None);
        let pid = i32::try_from(child.id()).expect("a pid");
        drop(child.stdin.take());
        child.wait().expect("it ends");
        assert!(is_marked(pid));
    }

    #[test]
    fn a_process_that_nobody_marked_is_not_marked() {
        let mut child = waiting("echo $$; cat >/dev/null", None);
        let pid = printed_pid(&mut child);
        // Whoever runs the tests may itself be an agent.
        assert_eq!(is_marked(pid), is_marked(i32::try_from(std::process::id()).expect("a pid")));
        drop(child.stdin.take());
        child.wait().expect("it ends");
    }
}
