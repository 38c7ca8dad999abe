//! The file beside a file: at once its lock and the place where its next version is written.
//!
//! Why one hidden sibling and not a folder of lock files: a name in the same folder means the same
//! to every process, whatever path or mount it came by, and works where there is no workspace. And
//! why the lock is the very file that is renamed: nothing has to be cleaned up. A killed process
//! loses its lock with its life, and what it left is taken over by the next one.
//!
//! It knows bytes and names, no tags.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Write};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};

/// How often a lock may turn out to be that of a version which is no longer there.
const TURNS_MAX: u32 = 100_000;

const SUFFIX: &str = ".baton-aside";

/// The lock on one file of a folder, held until this is dropped.
pub(crate) struct Aside<'f> {
    folder: &'f File,
    target: &'f OsStr,
    name: OsString,
    file: File,
    published: bool,
}

/// Tells whether this is the name of a file that stands beside another and is not work itself.
pub(crate) fn is_aside(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b".") && name.ends_with(SUFFIX.as_bytes())
}

impl<'f> Aside<'f> {
    /// Waits until nobody else holds the lock on `target` and takes it.
    pub(crate) fn take(folder: &'f File, target: &'f OsStr) -> io::Result<Self> {
        let mut name = OsString::from(".");
        name.push(target);
        name.push(SUFFIX);
        for _ in 0..TURNS_MAX {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file =
                File::from(rustix::fs::openat(folder, &name, flags, Mode::RUSR | Mode::WUSR)?);
            lock(&file)?;
            // Whoever held the lock may have renamed this file over the target, or removed it. Then
            // it is not the lock any more, and must not be touched.
            if is_still(&file, folder, &name)? {
                return Ok(Self { folder, target, name, file, published: false });
            }
        }
        Err(io::Error::new(ErrorKind::ResourceBusy, "too many others edit this file"))
    }

    /// Writes the next version, with the mode of `like`, and its owner where we may set that.
    ///
    /// When this returns, the bytes are on the disk, though not yet under the target's name.
    pub(crate) fn write(&mut self, bytes: &[u8], like: &Stat) -> io::Result<()> {
        self.file.set_len(0)?;
        rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Start(0))?;
        self.file.write_all(bytes)?;
        let own = rustix::fs::fstat(&self.file)?;
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid) {
            let (uid, gid) = (Uid::from_raw(like.st_uid), Gid::from_raw(like.st_gid));
            match rustix::fs::fchown(&self.file, Some(uid), Some(gid)) {
                Ok(()) | Err(rustix::io::Errno::PERM) => (),
                Err(error) => return Err(error.into()),
            }
        }
        // After the owner, because a new owner takes the set-id bits away.
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(like.st_mode))?;
        self.file.sync_all()
    }

    /// Writes a version that looks like no other, for a file that only its owner reads.
    pub(crate) fn write_new(&mut self, bytes: &[u8]) -> io::Result<()> {
        let own = rustix::fs::fstat(&self.file)?;
        self.write(bytes, &own)
    }

    /// Puts the next version in the target's place.
    pub(crate) fn publish(&mut self) -> io::Result<()> {
        rustix::fs::renameat(self.folder, &self.name, self.folder, self.target)?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Aside<'_> {
    /// Removes the lock's name before the lock itself goes, so that nobody removes another's.
    fn drop(&mut self) {
        if !self.published {
            // Left in place, it would be taken over by the next one; so a failure costs nothing.
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

fn lock(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            done => return done,
        }
    }
}

fn is_still(file: &File, folder: &File, name: &OsStr) -> io::Result<bool> {
    let held = rustix::fs::fstat(file)?;
    let named = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => return Ok(false),
        named => named?,
    };
    if (held.st_dev, held.st_ino) != (named.st_dev, named.st_ino) {
        return Ok(false);
    }
    // We are about to overwrite it: it must be ours alone, and not some other file's second name.
    if held.st_nlink != 1 || !FileType::from_raw_mode(held.st_mode).is_file() {
        let name = name.to_string_lossy();
        let what = format!("{name} is in the way, expected a plain file of one name");
        return Err(io::Error::new(ErrorKind::AlreadyExists, what));
    }
    Ok(true)
}
