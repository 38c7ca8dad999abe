//! The FORMAT file: which version of the stored form a ledger is in, and the way up to today's.
//!
//! It is written before the first segment and replaced only after an upgrade is durable. A ledger
//! from a newer program is never opened: what we do not know we would break.

use std::io;
use std::sync::Arc;

use super::LogError;
use crate::disk::{Disk, read_all, write_whole};

/// The version this program writes.
const VERSION: u32 = 1;
const MARK: &str = "baton-ledger ";
const FORMAT: &str = "ledger/FORMAT";
const ASIDE: &str = "ledger/FORMAT.tmp";
const FORMAT_BYTES_MAX: u64 = 64;

/// One step from a version to the next.
///
/// It must leave a ledger that is still valid in the old version until its last rename, and do
/// nothing the second time: a crash in the middle repeats it.
type Upgrade = fn(&dyn Disk) -> Result<(), LogError>;

/// `UPGRADES[n]` leads from version `n + 1` to `n + 2`. There was only one version so far.
const UPGRADES: [Upgrade; VERSION as usize - 1] = [];

/// Makes sure that the folder is in today's format: marks a new one, upgrades an old one, refuses
/// what it does not know.
pub(super) fn settle(disk: &Arc<dyn Disk>, fresh: bool) -> Result<(), LogError> {
    let disk = &**disk;
    let found = match disk.open(FORMAT) {
        Ok(file) => read(disk, &*file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound && fresh => return mark(disk),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(LogError::Unmarked { place: disk.place(FORMAT), found: String::new() });
        }
        Err(error) => return Err(LogError::io("open", disk, FORMAT, error)),
    };
    if found > VERSION {
        let place = disk.place(FORMAT);
        return Err(LogError::TooNew { place, found, known: VERSION });
    }
    if found == VERSION {
        return Ok(());
    }
    for upgrade in &UPGRADES[found as usize - 1..] {
        upgrade(disk)?;
    }
    mark(disk)
}

fn mark(disk: &dyn Disk) -> Result<(), LogError> {
    write_whole(disk, ASIDE, FORMAT, format!("{MARK}{VERSION}\n").as_bytes())
        .map_err(|error| LogError::io_or_full("write", disk, FORMAT, error))
}

fn read(disk: &dyn Disk, file: &dyn crate::disk::DiskFile) -> Result<u32, LogError> {
    let bytes = read_all(file, FORMAT_BYTES_MAX)
        .map_err(|error| LogError::io("read", disk, FORMAT, error))?;
    let text = String::from_utf8_lossy(&bytes);
    let version = text.strip_prefix(MARK).and_then(|rest| rest.strip_suffix('\n'));
    match version.and_then(|digits| digits.parse().ok()) {
        Some(version) if version > 0 => Ok(version),
        _ => Err(LogError::Unmarked { place: disk.place(FORMAT), found: text.into_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::FOLDER;
    use super::*;
    use crate::sim::SimDisk;

    fn settled(text: Option<&str>, fresh: bool) -> Result<Option<Vec<u8>>, String> {
        let disk = SimDisk::new(0);
        disk.create_dir(FOLDER).unwrap();
        if let Some(text) = text {
            disk.create(FORMAT).unwrap().write_at(text.as_bytes(), 0).unwrap();
        }
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        settle(&shared, fresh).map(|()| disk.bytes(FORMAT)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_ledger_says_its_format_and_a_strange_one_is_refused() {
        let today = Some(b"baton-ledger 1\n".to_vec());
        assert_eq!(settled(None, true), Ok(today.clone()));
        assert_eq!(settled(Some("baton-ledger 1\n"), false), Ok(today));
        let refusal = |text, fresh| settled(text, fresh).unwrap_err();
        assert_eq!(
            refusal(Some("baton-ledger 2\n"), false),
            "sim:ledger/FORMAT says format 2, this program knows formats up to 1"
        );
        assert_eq!(
            refusal(Some("something else\n"), true),
            r#"sim:ledger/FORMAT does not name the ledger's format, found "something else\n""#
        );
        assert_eq!(
            refusal(None, false),
            r#"sim:ledger/FORMAT does not name the ledger's format, found """#
        );
        assert!(settled(Some("baton-ledger 0\n"), false).is_err());
    }
}
