//! Windows of tmux, in which people can watch what agents do.
//!
//! Tmux reads more into its arguments than one would like: it runs `#(…)` in names and folders, a
//! lone word through a shell, and takes a `;` at the end of a word for its own. So names are made
//! here, folders are escaped, and a program is always given as several words.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The session that holds the windows of agents.
pub(crate) const SESSION: &str = "dispatch";
/// Names that are tried for one window.
const NAMES_MAX: u32 = 1_000;

/// A tmux server: the user's own, or that of another socket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tmux {
    /// The name of its socket (`tmux -L`).
    pub(crate) socket: Option<String>,
}

/// A pane, and the process that was started in it.
pub(crate) struct Pane {
    pub(crate) pid: u32,
    /// Where it is, such as `dispatch:3.0`.
    pub(crate) target: String,
}

impl Tmux {
    /// Opens a window that runs `words` in `folder`, and returns its name. It makes the session if
    /// there is none.
    pub(crate) fn open(
        &self,
        kind: &str,
        seconds: i64,
        folder: &Path,
        words: &[OsString],
    ) -> io::Result<String> {
        let taken = self.windows()?;
        let name = (1..NAMES_MAX).map(|turn| window(kind, seconds, turn));
        let name = name.into_iter().find(|name| !taken.contains(name));
        let name = name.ok_or_else(|| io::Error::other("every name of a window is taken"))?;
        let folder = doubled(folder);
        let begin = |verb: &[&str]| {
            let mut command = self.command();
            command.args(verb).args(["-d", "-n", &name, "-c"]).arg(&folder).arg("--");
            command.args(words.iter().map(escaped)).output()
        };
        let target = format!("={SESSION}:");
        let opened = begin(&["new-window", "-t", &target])?;
        if opened.status.success() {
            return Ok(name);
        }
        // There is no such session, or no server at all.
        let made = begin(&["new-session", "-s", SESSION])?;
        if made.status.success() {
            return Ok(name);
        }
        // Somebody else made it meanwhile.
        let again = begin(&["new-window", "-t", &target])?;
        if again.status.success() { Ok(name) } else { Err(refused(&made)) }
    }

    /// The names of the windows of the session; none if there is no session.
    fn windows(&self) -> io::Result<Vec<String>> {
        let target = format!("={SESSION}:");
        let listed = self.command().args(["list-windows", "-t", &target, "-F", "#W"]).output();
        let listed = listed.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::other("tmux is not installed (or --headless)"),
            _ => error,
        })?;
        Ok(String::from_utf8_lossy(&listed.stdout).lines().map(str::to_owned).collect())
    }

    /// All panes of the server.
    pub(crate) fn panes(&self) -> io::Result<Vec<Pane>> {
        let form = "#{pane_pid} #{session_name}:#{window_index}.#{pane_index}";
        let listed = self.command().args(["list-panes", "-a", "-F", form]).output()?;
        let pane = |line: &str| {
            let (pid, target) = line.split_once(' ')?;
            Some(Pane { pid: pid.parse().ok()?, target: target.to_owned() })
        };
        Ok(String::from_utf8_lossy(&listed.stdout).lines().filter_map(pane).collect())
    }

    /// Tmux itself, with the socket that is meant.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        if let Some(socket) = &self.socket {
            command.args(["-L", socket]);
        }
        command.stdin(Stdio::null());
        command
    }
}

/// The name of a window: ours alone, so nothing in it can be run.
fn window(kind: &str, seconds: i64, turn: u32) -> String {
    match turn {
        1 => format!("agent-{kind}-{seconds}"),
        turn => format!("agent-{kind}-{seconds}-{turn}"),
    }
}

/// A folder as tmux takes it for itself: in it `#` begins a format.
fn doubled(folder: &Path) -> OsString {
    let bytes = folder.as_os_str().as_bytes();
    let double = |byte: &u8| if *byte == b'#' { vec![b'#', b'#'] } else { vec![*byte] };
    OsString::from_vec(bytes.iter().flat_map(double).collect())
}

/// A word of a program: a `;` at its end would end the command for tmux.
fn escaped(word: &OsString) -> OsString {
    let mut bytes = word.as_bytes().to_vec();
    if bytes.last() == Some(&b';') {
        bytes.insert(bytes.len() - 1, b'\\');
    }
    OsString::from_vec(bytes)
}

fn refused(output: &Output) -> io::Error {
    let said = String::from_utf8_lossy(&output.stderr);
    io::Error::other(format!("tmux said: {}", said.trim()))
}

/// A name that a socket may have.
pub(crate) fn socket(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = (1..=64).contains(&text.len()) && !text.starts_with(['-', '.']);
    match fits && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("expected a name of letters, digits, dashes and dots".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_word_or_a_folder_is_for_tmux() {
        assert_eq!(doubled(Path::new("/a/#(touch x)")), "/a/##(touch x)");
        assert_eq!(escaped(&"a;".into()), "a\\;");
        assert_eq!(escaped(&"a;b".into()), "a;b");
        assert_eq!(window("fix", 7, 1), "agent-fix-7");
        assert_eq!(window("fix", 7, 2), "agent-fix-7-2");
    }

    #[test]
    fn a_socket_has_a_plain_name() {
        assert!(socket("baton-test.1").is_ok());
        for bad in ["", "../x", "-L", "a b", "a;b"] {
            assert!(socket(bad).is_err(), "{bad}");
        }
    }
}
