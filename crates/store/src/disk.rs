//! The few file operations that durable storage needs, behind a trait so that tests can pull the
//! plug between any two of them.
//!
//! Nothing above this file may touch `std::fs`: a write that bypasses the trait is a write that no
//! power-loss test sees. (SQLite is the exception. Its file may be thrown away.)

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often a lock is tried, and the pause in between: whoever only looks whether it is held, as
/// `baton status` does, holds it for a moment itself.
const LOCK_TRIES_MAX: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// A folder with files in it. Paths are relative to that folder and separated by `/`; the folder
/// itself is `""`.
///
/// A name is durable only after [`Disk::sync_dir`] on its parent, a file's bytes only after
/// [`DiskFile::sync_data`]. Neither implies the other.
pub trait Disk: Send + Sync {
    /// Makes a folder. One that is already there is not an error; a missing parent is.
    fn create_dir(&self, path: &str) -> io::Result<()>;

    /// Names what lies directly in a folder, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// Opens a file that exists, to read and write.
    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Makes an empty file, in place of any that had its name.
    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>>;

    /// Gives a file another name, in place of any that had it. Atomic within one folder.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Takes a file's name away.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Makes the names in a folder durable.
    fn sync_dir(&self, path: &str) -> io::Result<()>;

    /// Locks a folder against other openers, in this process and others, until the result is
    /// dropped. Held by another: [`io::ErrorKind::WouldBlock`].
    fn lock(&self, path: &str) -> io::Result<Box<dyn Send + Sync>>;

    /// Names the place for error messages, such as the absolute path.
    fn place(&self, path: &str) -> String;
}

/// An open file. All methods take `&self`, so readers share it with the one writer.
pub trait DiskFile: Send + Sync {
    /// Reads up to `buffer.len()` bytes at `offset`; fewer only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `bytes` at `offset`. After an error, any part of them may be there.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes the bytes, and the length needed to read them back, durable.
    ///
    /// After an error nothing is known about any write since the last success: the system may
    /// have dropped them and will not say so again. Do not retry; write them anew.
    fn sync_data(&self) -> io::Result<()>;

    /// Returns how many bytes the file has.
    fn len(&self) -> io::Result<u64>;

    /// Says whether there is nothing in the file.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// Reads a whole file, refusing one longer than `bytes_max` with [`io::ErrorKind::FileTooLarge`].
pub(crate) fn read_all(file: &dyn DiskFile, bytes_max: u64) -> io::Result<Vec<u8>> {
    let len = file.len()?;
    if len > bytes_max {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    let mut bytes = vec![0; usize::try_from(len).map_err(io::Error::other)?];
    let read = file.read_at(&mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Writes a file so that after a crash it is there whole or not at all.
///
/// `aside` must lie in the same folder as `path`, else the rename would not be atomic.
pub(crate) fn write_whole(
    disk: &dyn Disk,
    aside: &str,
    path: &str,
    bytes: &[u8],
) -> io::Result<()> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let file = disk.create(aside)?;
    file.write_at(bytes, 0)?;
    file.sync_data()?;
    disk.rename(aside, path)?;
    disk.sync_dir(folder)
}

/// Says whether an error means that there was no room left, which waiting or cleaning up can cure.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The operating system's files below one folder.
///
/// What it makes is readable by its owner alone: payloads are nobody else's business.
#[derive(Clone, Debug)]
pub struct RealDisk {
    root: PathBuf,
}

impl RealDisk {
    /// Uses the folder `root`, making it and its parents where missing.
    pub fn new(root: &Path) -> io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        // A new root must survive the crash that everything inside it survives.
        if let Some(parent) = root.canonicalize()?.parent() {
            File::open(parent)?.sync_all()?;
        }
        Ok(Self { root: root.to_owned() })
    }

    fn full(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.clone() } else { self.root.join(path) }
    }
}

impl Disk for RealDisk {
    fn create_dir(&self, path: &str) -> io::Result<()> {
        match std::fs::DirBuilder::new().mode(0o700).create(self.full(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(self.full(path))? {
            // All our names are ASCII, so one that is not UTF-8 is a guest and stays unseen.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).open(self.full(path))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.full(path))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.full(from), self.full(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        std::fs::remove_file(self.full(path))
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        File::open(self.full(path))?.sync_all()
    }

    fn lock(&self, path: &str) -> io::Result<Box<dyn Send + Sync>> {
        let folder = File::open(self.full(path))?;
        let mut tries = LOCK_TRIES_MAX;
        loop {
            tries -= 1;
            match folder.try_lock() {
                Ok(()) => return Ok(Box::new(folder)),
                Err(TryLockError::WouldBlock) if tries > 0 => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn place(&self, path: &str) -> String {
        self.full(path).display().to_string()
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < buffer.len() {
            match self.0.read_at(&mut buffer[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_disk_reads_what_it_wrote_and_locks_once() {
        let folder = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(&folder.path().join("a/b")).unwrap();
        disk.create_dir("x").unwrap();
        disk.create_dir("x").unwrap();
        write_whole(&disk, "x/t.tmp", "x/t", b"hello").unwrap();
        assert_eq!(disk.list("x").unwrap(), ["t"]);
        let file = disk.open("x/t").unwrap();
        assert_eq!(read_all(&*file, 5).unwrap(), b"hello");
        assert_eq!(read_all(&*file, 4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);

        let held = disk.lock("x").unwrap();
        assert_eq!(disk.lock("x").err().unwrap().kind(), io::ErrorKind::WouldBlock);
        drop(held);
        disk.lock("x").unwrap();
        disk.remove("x/t").unwrap();
        assert!(disk.open("x/t").is_err());
    }

    #[test]
    fn one_who_only_looks_whether_it_is_locked_keeps_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        let disk = RealDisk::new(folder.path()).unwrap();
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !over.load(std::sync::atomic::Ordering::Relaxed) {
                    let looker = File::open(folder.path()).unwrap();
                    let _ = looker.try_lock_shared();
                }
            });
            let locked = (0..50).all(|_| disk.lock("").is_ok());
            over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(locked);
        });
    }
}
