//! A disk in memory that can lose power, for tests.
//!
//! It keeps apart what was written and what was synced, names as well as bytes, and is as unkind
//! as a disk may be: unsynced sectors survive in any combination, a name whose folder was not
//! synced may vanish, and after a failed sync the data is gone although it still reads back. Real
//! code must never depend on this module being gentler than the promises of [`Disk`].

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk::{Disk, DiskFile};

mod image;

/// A disk in memory. Clones share it, as processes share a disk.
#[derive(Clone)]
pub struct SimDisk {
    world: Arc<Mutex<World>>,
}

/// What a call that was told to fail answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The medium failed (EIO).
    Broken,
    /// No room is left (ENOSPC). Reading and removing need none and are spared; on a disk that
    /// stays full, so are overwriting and syncing.
    Full,
}

impl SimDisk {
    /// Makes an empty disk. The seed decides what survives failed syncs.
    pub fn new(seed: u64) -> Self {
        Self::with(World::new(seed))
    }

    fn with(world: World) -> Self {
        Self { world: Arc::new(Mutex::new(world)) }
    }

    /// Returns how many calls were made that could fail.
    pub fn calls(&self) -> u64 {
        self.world().calls
    }

    /// Lets only the call number `nth` (0: the next one) fail.
    pub fn fail_at(&self, nth: u64, fault: Fault) {
        let mut world = self.world();
        let at = world.calls + nth;
        world.trouble = Some(Trouble { at, fault, lasting: false });
    }

    /// Lets every call from number `nth` (0: the next one) on fail, as for a process whose machine
    /// has gone.
    pub fn cut_power_at(&self, nth: u64) {
        let mut world = self.world();
        let at = world.calls + nth;
        world.trouble = Some(Trouble { at, fault: Fault::Broken, lasting: true });
    }

    /// Lets the disk be full from call number `nth` (0: the next one) on.
    pub fn fill_at(&self, nth: u64) {
        let mut world = self.world();
        let at = world.calls + nth;
        world.trouble = Some(Trouble { at, fault: Fault::Full, lasting: true });
    }

    /// Returns how many bytes were read from files.
    pub fn bytes_read(&self) -> u64 {
        self.world().bytes_read
    }

    /// Lets all calls succeed again.
    pub fn heal(&self) {
        self.world().trouble = None;
    }

    /// Returns the disk as it might be found after a power cut now. Each seed finds another.
    pub fn crash(&self, seed: u64) -> Self {
        Self::with(image::after_power_cut(&self.world(), seed))
    }

    /// Returns the disk as the next process finds it after this one was killed: everything
    /// written is there to read, and what was unsynced still is.
    pub fn restart(&self) -> Self {
        Self::with(self.world().after_kill())
    }

    /// Changes bytes that are already durable, as rot or a meddler would.
    pub fn corrupt(&self, path: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut world = self.world();
        let node = world.file(path).expect("a test corrupts a file that exists");
        let inode = &mut world.inodes[node];
        change(&mut inode.live);
        inode.synced = inode.live.clone();
        inode.pending.clear();
    }

    /// Returns a file's bytes as a process reads them now.
    pub fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        let world = self.world();
        world.file(path).ok().map(|node| world.inodes[node].live.clone())
    }

    fn world(&self) -> MutexGuard<'_, World> {
        // While a disk works, others do too.
        #[cfg(test)]
        crate::sync::explored::turn();
        // A test that panicked elsewhere has already failed; its disk may still be looked at.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone)]
struct World {
    inodes: Vec<Inode>,
    /// Names as processes see them.
    live: BTreeMap<String, Node>,
    /// Names as of the last sync of their folder.
    durable: BTreeMap<String, Node>,
    /// What lies between the two, in order.
    renaming: Vec<NameChange>,
    locks: BTreeMap<String, Arc<()>>,
    calls: u64,
    bytes_read: u64,
    trouble: Option<Trouble>,
    random: XorShift,
}

#[derive(Clone, Copy)]
struct Trouble {
    at: u64,
    fault: Fault,
    lasting: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    Folder,
    File(usize),
}

/// One atomic change of names within one folder.
#[derive(Clone)]
struct NameChange {
    folder: String,
    gone: Option<String>,
    here: Option<(String, Node)>,
}

#[derive(Clone, Default)]
struct Inode {
    live: Vec<u8>,
    synced: Vec<u8>,
    pending: Vec<Write>,
}

#[derive(Clone)]
struct Write {
    offset: usize,
    bytes: Vec<u8>,
}

/// What a call does, as far as failing is concerned.
#[derive(PartialEq, Eq)]
enum Need {
    /// More room than before.
    Room,
    /// Only room that was there before, on a disk that writes in place.
    SameRoom,
    NoRoom,
}

impl World {
    fn new(seed: u64) -> Self {
        let root = BTreeMap::from([(String::new(), Node::Folder)]);
        Self {
            inodes: Vec::new(),
            live: root.clone(),
            durable: root,
            renaming: Vec::new(),
            locks: BTreeMap::new(),
            calls: 0,
            bytes_read: 0,
            trouble: None,
            random: XorShift::new(seed),
        }
    }

    fn after_kill(&self) -> Self {
        Self { locks: BTreeMap::new(), trouble: None, ..self.clone() }
    }

    /// Counts a call and says whether it fails.
    fn call(&mut self, need: Need) -> io::Result<()> {
        let nth = self.calls;
        self.calls += 1;
        let Some(Trouble { at, fault, lasting }) = self.trouble else { return Ok(()) };
        if nth != at && !(lasting && nth > at) {
            return Ok(());
        }
        match fault {
            Fault::Broken => Err(io::Error::other("simulated I/O error")),
            Fault::Full if need == Need::NoRoom => Ok(()),
            Fault::Full if lasting && need == Need::SameRoom => Ok(()),
            Fault::Full => Err(io::Error::from(io::ErrorKind::StorageFull)),
        }
    }

    /// Says whether the power went with an earlier call, so that this one does nothing at all.
    fn is_dark(&self) -> bool {
        self.trouble.is_some_and(|trouble| {
            trouble.lasting && trouble.fault == Fault::Broken && self.calls > trouble.at + 1
        })
    }

    fn file(&self, path: &str) -> io::Result<usize> {
        match self.live.get(path) {
            Some(Node::File(inode)) => Ok(*inode),
            Some(Node::Folder) | None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn folder_of(&self, path: &str) -> io::Result<String> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        match self.live.get(folder) {
            Some(Node::Folder) => Ok(folder.to_owned()),
            Some(Node::File(_)) | None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn change(&mut self, change: NameChange) {
        change.apply(&mut self.live);
        self.renaming.push(change);
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, Node>) {
        if let Some(gone) = &self.gone {
            names.remove(gone);
        }
        if let Some((path, node)) = &self.here {
            names.insert(path.clone(), *node);
        }
    }
}

impl Write {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let end = self.offset + self.bytes.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[self.offset..end].copy_from_slice(&self.bytes);
    }
}

impl Disk for SimDisk {
    fn create_dir(&self, path: &str) -> io::Result<()> {
        let mut world = self.world();
        world.call(Need::Room)?;
        if world.live.get(path) == Some(&Node::Folder) {
            return Ok(());
        }
        let folder = world.folder_of(path)?;
        world.change(NameChange {
            folder,
            gone: None,
            here: Some((path.to_owned(), Node::Folder)),
        });
        Ok(())
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut world = self.world();
        world.call(Need::NoRoom)?;
        world.folder_of(&format!("{path}/x"))?;
        let names = world.live.keys().filter(|name| !name.is_empty());
        let split = names.map(|name| name.rsplit_once('/').unwrap_or(("", name)));
        let inside = split.filter(|(folder, _)| *folder == path);
        Ok(inside.map(|(_, name)| name.to_owned()).collect())
    }

    fn open(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut world = self.world();
        world.call(Need::NoRoom)?;
        let inode = world.file(path)?;
        Ok(Arc::new(SimFile { disk: self.clone(), inode }))
    }

    fn create(&self, path: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut world = self.world();
        world.call(Need::Room)?;
        let folder = world.folder_of(path)?;
        let inode = world.inodes.len();
        world.inodes.push(Inode::default());
        let here = Some((path.to_owned(), Node::File(inode)));
        world.change(NameChange { folder, gone: None, here });
        Ok(Arc::new(SimFile { disk: self.clone(), inode }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut world = self.world();
        world.call(Need::Room)?;
        let here = Some((to.to_owned(), Node::File(world.file(from)?)));
        let (left, entered) = (world.folder_of(from)?, world.folder_of(to)?);
        let gone = Some(from.to_owned());
        if left == entered {
            world.change(NameChange { folder: entered, gone, here });
        } else {
            // Two folders are synced apart, so either half may survive alone.
            world.change(NameChange { folder: entered, gone: None, here });
            world.change(NameChange { folder: left, gone, here: None });
        }
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let mut world = self.world();
        world.call(Need::NoRoom)?;
        world.file(path)?;
        let folder = world.folder_of(path)?;
        world.change(NameChange { folder, gone: Some(path.to_owned()), here: None });
        Ok(())
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        let mut world = self.world();
        world.call(Need::SameRoom)?;
        let (synced, rest) =
            std::mem::take(&mut world.renaming).into_iter().partition(|c| c.folder == path);
        world.renaming = rest;
        let synced: Vec<NameChange> = synced;
        synced.iter().for_each(|change| change.apply(&mut world.durable));
        Ok(())
    }

    fn lock(&self, path: &str) -> io::Result<Box<dyn Send + Sync>> {
        let mut world = self.world();
        world.call(Need::Room)?;
        let held = world.locks.get(path).is_some_and(|lock| Arc::strong_count(lock) > 1);
        if held {
            return Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        let lock = Arc::new(());
        world.locks.insert(path.to_owned(), lock.clone());
        Ok(Box::new(lock))
    }

    fn place(&self, path: &str) -> String {
        format!("sim:{path}")
    }
}

struct SimFile {
    disk: SimDisk,
    inode: usize,
}

impl DiskFile for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut world = self.disk.world();
        world.call(Need::NoRoom)?;
        let live = &world.inodes[self.inode].live;
        let start = live.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        let length = buffer.len().min(live.len() - start);
        buffer[..length].copy_from_slice(&live[start..start + length]);
        world.bytes_read += length as u64;
        Ok(length)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut world = self.disk.world();
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let grows = offset + bytes.len() > world.inodes[self.inode].live.len();
        let outcome = world.call(if grows { Need::Room } else { Need::SameRoom });
        let length = match outcome {
            Ok(()) => bytes.len(),
            Err(_) if world.is_dark() => 0,
            // A write that fails may have got anywhere.
            Err(_) => world.random.below(bytes.len() + 1),
        };
        let write = Write { offset, bytes: bytes[..length].to_vec() };
        let inode = &mut world.inodes[self.inode];
        if length > 0 {
            write.apply(&mut inode.live);
            inode.pending.push(write);
        }
        outcome
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut world = self.disk.world();
        let outcome = world.call(Need::SameRoom);
        if world.is_dark() {
            return outcome;
        }
        let mut random = world.random.clone();
        let inode = &mut world.inodes[self.inode];
        let pending = std::mem::take(&mut inode.pending);
        for write in &pending {
            match outcome {
                Ok(()) => write.apply(&mut inode.synced),
                // The system marks the pages clean although they never arrived.
                Err(_) => image::tear(write, &mut inode.synced, &mut random),
            }
        }
        world.random = random;
        outcome
    }

    fn len(&self) -> io::Result<u64> {
        let mut world = self.disk.world();
        world.call(Need::NoRoom)?;
        Ok(world.inodes[self.inode].live.len() as u64)
    }
}

/// A small generator whose sequence follows from its seed, so that a failing seed can be replayed.
#[derive(Clone)]
pub(crate) struct XorShift(u64);

impl XorShift {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds must not give neighbouring sequences, and zero gives none at all.
        Self((seed.wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9)) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 33) as usize) % limit
    }
}
