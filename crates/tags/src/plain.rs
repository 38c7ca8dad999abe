//! Opening files of which nobody knows what they are.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Opens a plain file to read it. Anything else is refused: a pipe would hold up whoever opens it,
/// and a device has no end.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_holds_nobody_up() {
        let folder = tempfile::TempDir::new().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
        assert!(open_plain(&pipe).is_err());
        assert!(open_plain(folder.path()).is_err());
        std::fs::write(folder.path().join("a"), "a").unwrap();
        assert!(open_plain(&folder.path().join("a")).is_ok());
    }
}
