//! What a disk may look like after a power cut. It never brings back less than was synced.

use super::{Inode, Node, World, Write, XorShift};

/// The unit a disk writes; not even that is promised to arrive whole.
const SECTOR_BYTES: usize = 512;

/// Draws one of the disks that may be found when the power comes back.
pub(super) fn after_power_cut(world: &World, seed: u64) -> World {
    let mut random = XorShift::new(seed);
    // One mood for the whole cut: some lose nearly everything, some nearly nothing, most a mix.
    // Drawn per sector alone, a large write would never be found whole or wholly lost.
    let mood = Mood::draw(&mut random);
    let mut names = world.durable.clone();
    for change in &world.renaming {
        if mood.keeps(&mut random) {
            change.apply(&mut names);
        }
    }
    let all = names.clone();
    names.retain(|path, _| folders_above(path).all(|f| all.get(f) == Some(&Node::Folder)));

    let inodes = world.inodes.iter().map(|inode| {
        let mut bytes = inode.synced.clone();
        for write in &inode.pending {
            tear_in(mood, write, &mut bytes, &mut random);
        }
        Inode { live: bytes.clone(), synced: bytes, pending: Vec::new() }
    });
    World { inodes: inodes.collect(), live: names.clone(), durable: names, ..World::new(seed) }
}

/// Lets a write arrive sector by sector: whole, not at all, or in part.
pub(super) fn tear(write: &Write, bytes: &mut Vec<u8>, random: &mut XorShift) {
    let mood = Mood::draw(random);
    tear_in(mood, write, bytes, random);
}

/// How much of what was not synced survives.
#[derive(Clone, Copy)]
enum Mood {
    Nothing,
    Everything,
    Half,
    Most,
}

impl Mood {
    fn draw(random: &mut XorShift) -> Self {
        match random.below(6) {
            0 => Self::Nothing,
            1 => Self::Everything,
            2 | 3 => Self::Half,
            _ => Self::Most,
        }
    }

    fn keeps(self, random: &mut XorShift) -> bool {
        match self {
            Self::Nothing => false,
            Self::Everything => true,
            Self::Half => random.below(2) == 0,
            Self::Most => random.below(8) != 0,
        }
    }
}

fn tear_in(mood: Mood, write: &Write, bytes: &mut Vec<u8>, random: &mut XorShift) {
    let mut start = 0;
    while start < write.bytes.len() {
        let sector_end = (write.offset + start) / SECTOR_BYTES * SECTOR_BYTES + SECTOR_BYTES;
        let end = (sector_end - write.offset).min(write.bytes.len());
        let torn = matches!(mood, Mood::Half | Mood::Most) && random.below(8) == 0;
        let (from, to) = match (torn, random.below(2)) {
            (false, _) if mood.keeps(random) => (start, end),
            (false, _) => (start, start),
            (true, 0) => (start, start + random.below(end - start + 1)),
            (true, _) => (start + random.below(end - start + 1), end),
        };
        if from < to {
            let part = Write { offset: write.offset + from, bytes: write.bytes[from..to].to_vec() };
            part.apply(bytes);
        }
        start = end;
    }
}

fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = path;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        rest = rest.rsplit_once('/').map_or("", |(folder, _)| folder);
        Some(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Fault, SimDisk};
    use crate::disk::Disk;

    #[test]
    fn what_was_synced_survives_and_what_was_not_may_go_or_stay() {
        let disk = SimDisk::new(0);
        disk.create_dir("d").unwrap();
        disk.sync_dir("").unwrap();
        let file = disk.create("d/f").unwrap();
        file.write_at(&[1; 2048], 0).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir("d").unwrap();
        file.write_at(&[2; 1024], 512).unwrap();
        disk.create("d/g").unwrap();

        let mut found = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let after = disk.crash(seed);
            let bytes = after.bytes("d/f").unwrap();
            assert_eq!(
                (bytes.len(), &bytes[..512], &bytes[1536..]),
                (2048, &[1; 512][..], &[1; 512][..])
            );
            let twos = bytes.iter().filter(|&&byte| byte == 2).count();
            found.insert((after.bytes("d/g").is_some(), twos.min(1), twos / 1024));
        }
        assert_eq!(found.len(), 6, "all mixtures turn up: {found:?}");
    }

    #[test]
    fn a_file_whose_folder_was_not_synced_may_be_gone_with_all_its_bytes() {
        let disk = SimDisk::new(0);
        disk.create_dir("d").unwrap();
        let file = disk.create("d/f").unwrap();
        file.write_at(b"x", 0).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir("d").unwrap();
        let survivals = (0..100).filter(|&seed| disk.crash(seed).bytes("d/f").is_some());
        assert!((1..100).contains(&survivals.count()));
    }

    #[test]
    fn syncing_again_after_a_failed_sync_does_not_bring_the_data_back() {
        let lost = (0..100).filter(|&seed| {
            let disk = SimDisk::new(seed);
            let file = disk.create("f").unwrap();
            disk.sync_dir("").unwrap();
            file.write_at(b"x", 0).unwrap();
            disk.fail_at(0, Fault::Broken);
            assert!(file.sync_data().is_err());
            assert!(file.sync_data().is_ok());
            assert_eq!(disk.bytes("f").unwrap(), b"x");
            disk.crash(seed).bytes("f").unwrap().is_empty()
        });
        assert!((1..100).contains(&lost.count()));
    }
}
