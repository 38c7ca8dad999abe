//! Large bodies, each in a file named by its hash. They are synced before any record names them.
//!
//! A blob is never changed: the same bytes have the same name, so writing them again is nothing to
//! do, and bytes that do not match their name are damage.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::disk::{Disk, is_full, read_all};
use crate::hash::Hash;

/// The largest body.
pub const BLOB_BYTES_MAX: usize = 64 * 1024 * 1024;

const FOLDER: &str = "blobs";
/// How the names of bodies begin that are being written.
pub(crate) const ASIDE: &str = "tmp-";

/// The store of large bodies.
pub struct Blobs {
    disk: Arc<dyn Disk>,
    /// Which of the 256 folders are known to be durable.
    folders: Mutex<[bool; 256]>,
    /// Numbers the files being written, so that two threads never share one.
    writing: AtomicU64,
}

/// Why a body could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// It is larger than any body may be.
    #[error("a body has at most {BLOB_BYTES_MAX} bytes, found {found}")]
    TooLarge {
        /// Its size.
        found: usize,
    },
    /// There is none of that name.
    #[error("body {hash} is not there")]
    Missing {
        /// The name.
        hash: Hash,
    },
    /// The file is not what its name says.
    #[error("body {hash} is damaged")]
    Damaged {
        /// The name.
        hash: Hash,
    },
    /// No room. Nothing was recorded; it may be tried again.
    #[error("no room left for body {hash}")]
    DiskFull {
        /// The name.
        hash: Hash,
        /// What the system said.
        source: io::Error,
    },
    /// The system failed.
    #[error("cannot {doing} body {hash}")]
    Io {
        /// What was tried, as a verb.
        doing: &'static str,
        /// The name.
        hash: Hash,
        /// What the system said.
        source: io::Error,
    },
}

/// Deletes a body that no record names any more. One that is not there is not an error.
pub(crate) fn remove(disk: &dyn Disk, hash: &Hash) -> io::Result<()> {
    let (folder, path) = place(hash);
    match disk.remove(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| disk.sync_dir(&folder)),
    }
}

impl Blobs {
    /// Opens the store, making it where there is none. Whoever opens it holds the ledger's lock.
    pub fn open(disk: Arc<dyn Disk>) -> io::Result<Self> {
        disk.create_dir(FOLDER)?;
        disk.sync_dir("")?;
        // What a crash left half written is named by nothing.
        for name in disk.list(FOLDER)? {
            if name.starts_with(ASIDE) {
                disk.remove(&format!("{FOLDER}/{name}"))?;
            }
        }
        Ok(Self { disk, folders: Mutex::new([false; 256]), writing: AtomicU64::new(0) })
    }

    /// Stores a body and returns its name. When this returns, a power cut does not take it back.
    pub fn put(&self, bytes: &[u8]) -> Result<Hash, BlobError> {
        if bytes.len() > BLOB_BYTES_MAX {
            return Err(BlobError::TooLarge { found: bytes.len() });
        }
        let hash = Hash::of(bytes);
        self.write(&hash, bytes).map_err(|source| {
            if is_full(&source) {
                BlobError::DiskFull { hash, source }
            } else {
                BlobError::Io { doing: "write", hash, source }
            }
        })?;
        Ok(hash)
    }

    /// Returns a body, checked against its name.
    pub fn read(&self, hash: &Hash) -> Result<Vec<u8>, BlobError> {
        let hash = *hash;
        let (_, path) = place(&hash);
        let read = self.disk.open(&path).and_then(|file| read_all(&*file, BLOB_BYTES_MAX as u64));
        let bytes = read.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => BlobError::Missing { hash },
            io::ErrorKind::FileTooLarge => BlobError::Damaged { hash },
            _ => BlobError::Io { doing: "read", hash, source },
        })?;
        if Hash::of(&bytes) == hash { Ok(bytes) } else { Err(BlobError::Damaged { hash }) }
    }

    fn write(&self, hash: &Hash, bytes: &[u8]) -> io::Result<()> {
        let (folder, path) = place(hash);
        self.make_folder(hash, &folder)?;
        // One that is there whole needs no writing, but its name may not have been synced by
        // whoever wrote it. A damaged one is replaced: we have the true bytes in hand.
        if self.read(hash).is_err() {
            let number = self.writing.fetch_add(1, Ordering::Relaxed);
            let aside = format!("{FOLDER}/{ASIDE}{number}");
            let written = self.write_aside(&aside, bytes);
            if let Err(error) = written.and_then(|()| self.disk.rename(&aside, &path)) {
                let _ = self.disk.remove(&aside);
                return Err(error);
            }
        }
        self.disk.sync_dir(&folder)
    }

    fn write_aside(&self, aside: &str, bytes: &[u8]) -> io::Result<()> {
        let file = self.disk.create(aside)?;
        file.write_at(bytes, 0)?;
        file.sync_data()
    }

    fn make_folder(&self, hash: &Hash, folder: &str) -> io::Result<()> {
        let number = usize::from(hash.as_bytes()[0]);
        let known = |folders: &[bool; 256]| folders[number];
        if known(&self.folders.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(());
        }
        self.disk.create_dir(folder)?;
        self.disk.sync_dir(FOLDER)?;
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)[number] = true;
        Ok(())
    }
}

/// Returns the folder and the path of a body. Folders by first byte keep any one of them small.
fn place(hash: &Hash) -> (String, String) {
    let hex = hash.to_string();
    let folder = format!("{FOLDER}/{}", &hex[..2]);
    let path = format!("{folder}/{}", &hex[2..]);
    (folder, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{Fault, SimDisk};

    fn open(disk: &SimDisk) -> io::Result<Blobs> {
        Blobs::open(Arc::new(disk.clone()))
    }

    #[test]
    fn a_body_comes_back_and_is_written_once() {
        let disk = SimDisk::new(0);
        let blobs = open(&disk).unwrap();
        let hash = blobs.put(b"abc").unwrap();
        let path = "blobs/ba/7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(disk.bytes(path).unwrap(), b"abc");
        disk.fail_at(4, Fault::Full);
        assert_eq!(blobs.put(b"abc").unwrap(), hash);
        assert_eq!(blobs.read(&hash).unwrap(), b"abc");
        assert_eq!(blobs.put(b"").unwrap(), Hash::of(b""));
        assert_eq!(blobs.read(&Hash::of(b"")).unwrap(), b"");
        let missing = blobs.read(&Hash::of(b"other")).unwrap_err();
        assert!(matches!(missing, BlobError::Missing { .. }));
    }

    #[test]
    fn a_damaged_body_is_reported_and_putting_it_again_heals_it() {
        let disk = SimDisk::new(0);
        let blobs = open(&disk).unwrap();
        let hash = blobs.put(b"abc").unwrap();
        disk.corrupt(&place(&hash).1, |bytes| bytes[1] ^= 1);
        assert!(matches!(blobs.read(&hash), Err(BlobError::Damaged { .. })));
        blobs.put(b"abc").unwrap();
        assert_eq!(blobs.read(&hash).unwrap(), b"abc");
    }

    #[test]
    fn a_body_that_was_stored_survives_a_power_cut_at_any_call() {
        let bodies: [&[u8]; 3] = [&[7; 3000], b"small", &[7; 3000]];
        for nth in 0..40 {
            let disk = SimDisk::new(nth);
            disk.cut_power_at(nth);
            let mut stored = Vec::new();
            if let Ok(blobs) = open(&disk) {
                stored.extend(bodies.iter().map_while(|body| blobs.put(body).ok()));
            }
            for seed in 0..20 {
                let found = disk.crash(seed);
                let blobs = open(&found).unwrap();
                for (hash, body) in stored.iter().zip(bodies) {
                    assert_eq!(blobs.read(hash).unwrap(), body, "call {nth}, seed {seed}");
                }
                assert!(found.list(FOLDER).unwrap().iter().all(|name| !name.starts_with(ASIDE)));
            }
        }
    }

    #[test]
    fn a_body_found_after_a_kill_is_durable_once_put_again() {
        for nth in 0..16 {
            let disk = SimDisk::new(nth);
            let blobs = open(&disk).unwrap();
            disk.cut_power_at(nth);
            let _ = blobs.put(b"abc");
            let next = disk.restart();
            let hash = open(&next).unwrap().put(b"abc").unwrap();
            for seed in 0..20 {
                assert_eq!(open(&next.crash(seed)).unwrap().read(&hash).unwrap(), b"abc");
            }
        }
    }

    #[test]
    fn a_full_disk_is_said_to_be_full_and_leaves_nothing_behind() {
        let disk = SimDisk::new(0);
        let blobs = open(&disk).unwrap();
        for nth in 0..9 {
            disk.fail_at(nth, Fault::Full);
            let body = [nth as u8; 600];
            if let Err(error) = blobs.put(&body) {
                assert!(matches!(error, BlobError::DiskFull { .. }), "{error}");
            }
            disk.heal();
            assert!(disk.list(FOLDER).unwrap().iter().all(|name| !name.starts_with(ASIDE)));
            let hash = blobs.put(&body).unwrap();
            assert_eq!(blobs.read(&hash).unwrap(), body);
        }
    }
}
