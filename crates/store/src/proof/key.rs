//! The key that signs checkpoints: made at first need, readable by its owner alone.
//!
//! It gets its final name only once a checkpoint that it signed is durable. So where it has that
//! name, there must be checkpoints, and if there are none, somebody took them away.

use std::io;
use std::sync::Arc;

use super::note::Signer;
use crate::disk::{Disk, read_all};

const FOLDER: &str = "keys";
const KEY: &str = "keys/checkpoint.key";
const NEW: &str = "keys/checkpoint.key.new";
const KEY_BYTES_MAX: u64 = 1024;

/// The key of a ledger.
pub(crate) struct Key {
    pub(crate) signer: Arc<Signer>,
    /// Whether a checkpoint that it signed is known to be durable.
    pub(crate) used: bool,
}

/// Reads the key, if there is one.
pub(crate) fn read(disk: &dyn Disk) -> io::Result<Option<Key>> {
    for (path, used) in [(KEY, true), (NEW, false)] {
        let bytes = match disk.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => read_all(&*file?, KEY_BYTES_MAX)?,
        };
        match Signer::read(&String::from_utf8_lossy(&bytes)) {
            Ok(signer) => return Ok(Some(Key { signer: Arc::new(signer), used })),
            // A crash left it half written, and nothing was signed with it yet.
            Err(_) if !used => (),
            Err(error) => {
                let why = format!("{} is no signing key: {error}", disk.place(path));
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
        }
    }
    Ok(None)
}

/// Makes a key.
pub(crate) fn make(disk: &dyn Disk) -> io::Result<Key> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|error| io::Error::other(error.to_string()))?;
    let signer = Signer::new(&secret);
    keep(disk, &signer)?;
    Ok(Key { signer: Arc::new(signer), used: false })
}

fn keep(disk: &dyn Disk, signer: &Signer) -> io::Result<()> {
    disk.create_dir(FOLDER)?;
    disk.sync_dir("")?;
    let file = disk.create(NEW)?;
    file.write_at(signer.secret().as_bytes(), 0)?;
    file.sync_data()?;
    disk.sync_dir(FOLDER)
}

/// Says that a checkpoint is durable that the key signed.
pub(crate) fn used(disk: &dyn Disk) -> io::Result<()> {
    disk.rename(NEW, KEY)?;
    disk.sync_dir(FOLDER)
}

/// Takes that back, because an operator accepted that the checkpoints are gone.
pub(crate) fn unused(disk: &dyn Disk) -> io::Result<()> {
    disk.rename(KEY, NEW)?;
    disk.sync_dir(FOLDER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimDisk;

    #[test]
    fn a_key_is_there_whole_or_not_at_all() {
        for nth in 0..8 {
            for seed in 0..20 {
                let disk = SimDisk::new(nth);
                disk.cut_power_at(nth);
                let made = make(&disk).ok();
                let renamed = made.is_some() && used(&disk).is_ok();
                let found = read(&disk.crash(seed)).unwrap();
                let name = |key: &Key| key.signer.verifier().to_string();
                assert!(made.is_none() || made.as_ref().map(name) == found.as_ref().map(name));
                assert!(!renamed || found.is_some_and(|key| key.used));
            }
        }
    }
}
