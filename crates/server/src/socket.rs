//! Where the coordinator listens: a socket in the workspace's data folder, however deep that lies.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The system takes no longer names for sockets than this.
const NAME_BYTES_MAX: usize = 100;
const NAME: &str = "baton.sock";

/// The socket of a workspace.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    /// Keeps the short name of a deep folder alive.
    _folder: Option<File>,
}

impl Socket {
    /// The socket in the data folder `data`, by a name that is short enough for the system.
    ///
    /// A folder that lies too deep is opened, and the socket is named through the open folder.
    pub fn of(data: &Path) -> io::Result<Self> {
        let folder = data.join("run");
        let path = folder.join(NAME);
        if path.as_os_str().len() <= NAME_BYTES_MAX {
            return Ok(Self { path, _folder: None });
        }
        let open = File::open(&folder)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{NAME}", open.as_raw_fd()));
        Ok(Self { path, _folder: Some(open) })
    }

    /// The name to listen at or to connect to, good for as long as this value lives.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
