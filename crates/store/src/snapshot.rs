//! Snapshots of the state in memory, so that a restart need not replay history.
//!
//! A snapshot is a shortcut and never the truth: one that is damaged is passed over, and without
//! any the log tells everything. It lies beside the log as `ledger/snapshot-<seq>.json` and ends in
//! a line with the hash of all before it.

use std::io;

use crate::disk::{Disk, read_all, write_whole};
use crate::hash::Hash;
use crate::log::FOLDER;

/// The largest snapshot. It holds live work only, so a larger one is no snapshot of ours.
pub const SNAPSHOT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// How many are kept: the newest may be damaged.
const KEPT_MAX: usize = 2;
const PREFIX: &str = "snapshot-";
const SUFFIX: &str = ".json";
const DIGITS: usize = 12;
const ASIDE: &str = "ledger/snapshot.tmp";
/// The newline before the hash, the hash, the newline after it.
const SEAL_BYTES: usize = 1 + Hash::HEX_LENGTH + 1;

/// Stores the state as of record `seq`, which must be durable, and drops all but the newest two.
pub fn write(disk: &dyn Disk, seq: u64, bytes: &[u8]) -> io::Result<()> {
    let mut sealed = Vec::with_capacity(bytes.len() + SEAL_BYTES);
    sealed.extend_from_slice(bytes);
    sealed.push(b'\n');
    sealed.extend_from_slice(&Hash::of(bytes).hex());
    sealed.push(b'\n');
    write_whole(disk, ASIDE, &path(seq), &sealed)?;
    for old in list(disk)?.into_iter().skip(KEPT_MAX) {
        disk.remove(&path(old))?;
    }
    Ok(())
}

/// Returns the newest snapshot that is whole, and the record it is the state after.
///
/// One that cannot be read is passed over with a warning, because an older one, or none, gives the
/// same state by way of the log.
pub fn newest(disk: &dyn Disk) -> io::Result<Option<(u64, Vec<u8>)>> {
    for seq in list(disk)? {
        let path = path(seq);
        let read = disk.open(&path).and_then(|file| read_all(&*file, SNAPSHOT_BYTES_MAX));
        match read.map(unsealed) {
            Ok(Some(bytes)) => return Ok(Some((seq, bytes))),
            Ok(None) => tracing::warn!(path = disk.place(&path), "passed over a damaged snapshot"),
            Err(error) => {
                tracing::warn!(path = disk.place(&path), %error, "passed over a snapshot");
            }
        }
    }
    Ok(None)
}

/// Drops all snapshots, because what they point into is about to change.
pub(crate) fn forget(disk: &dyn Disk) -> io::Result<()> {
    for seq in list(disk)? {
        disk.remove(&path(seq))?;
    }
    disk.sync_dir(FOLDER)
}

fn path(seq: u64) -> String {
    format!("{FOLDER}/{PREFIX}{seq:0DIGITS$}{SUFFIX}")
}

/// Lists the snapshots, newest first. A ledger that was never opened has none.
fn list(disk: &dyn Disk) -> io::Result<Vec<u64>> {
    let names = match disk.list(FOLDER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names?,
    };
    let digits = |name: &String| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok();
    Ok(names.iter().rev().filter_map(digits).collect())
}

fn unsealed(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let seal = bytes.split_off(bytes.len().checked_sub(SEAL_BYTES)?);
    let hex = seal.strip_prefix(b"\n")?.strip_suffix(b"\n")?;
    (Hash::from_hex(hex).ok()? == Hash::of(&bytes)).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimDisk;

    fn ledger(seed: u64) -> SimDisk {
        let disk = SimDisk::new(seed);
        disk.create_dir(FOLDER).unwrap();
        disk.sync_dir("").unwrap();
        disk
    }

    #[test]
    fn the_newest_two_are_kept_and_a_damaged_one_is_passed_over() {
        let disk = ledger(0);
        assert_eq!(newest(&disk).unwrap(), None);
        assert_eq!(newest(&SimDisk::new(0)).unwrap(), None);
        for seq in [5, 70, 800] {
            write(&disk, seq, format!("state {seq}").as_bytes()).unwrap();
        }
        assert_eq!(
            disk.list(FOLDER).unwrap(),
            ["snapshot-000000000070.json", "snapshot-000000000800.json"]
        );
        assert_eq!(newest(&disk).unwrap(), Some((800, b"state 800".to_vec())));
        disk.corrupt(&path(800), |bytes| bytes[0] ^= 1);
        assert_eq!(newest(&disk).unwrap(), Some((70, b"state 70".to_vec())));
        disk.corrupt(&path(70), |bytes| bytes.truncate(30));
        assert_eq!(newest(&disk).unwrap(), None);
    }

    #[test]
    fn a_power_cut_leaves_the_old_snapshot_or_the_new_one() {
        for nth in 0..20 {
            let disk = ledger(nth);
            for seq in 1..=3 {
                write(&disk, seq, &[seq as u8; 1500]).unwrap();
            }
            disk.cut_power_at(nth);
            let done = write(&disk, 4, &[4; 1500]).is_ok();
            for seed in 0..40 {
                let (seq, bytes) = newest(&disk.crash(seed)).unwrap().unwrap();
                assert!(seq == 4 || seq == 3 && !done, "call {nth}, seed {seed}: {seq}");
                assert_eq!(bytes, [seq as u8; 1500]);
            }
        }
    }
}
