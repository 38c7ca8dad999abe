//! The tree's nodes in a file: 32 bytes each, a leaf followed by the subtrees that it completes.
//!
//! The file is derived from the log. It can be relied on up to the newest checkpoint, before which
//! it is synced; whatever follows may be torn and is written anew.

use std::io;
use std::sync::Arc;

use super::merkle::{Frontier, Nodes, range};
use crate::disk::{Disk, DiskFile};
use crate::hash::Hash;

/// Where the nodes lie.
pub(crate) const TREE: &str = "ledger/tree";
const NODE_BYTES: u64 = 32;

/// The tree on its disk.
pub(crate) struct Tree {
    file: Arc<dyn DiskFile>,
    frontier: Frontier,
    /// Nodes that are not in the file yet, and where they go.
    fresh: Vec<u8>,
    end: u64,
}

/// The number of the node `(level, n)` in the file.
fn place(level: u32, n: u64) -> u64 {
    // The leaf that completes it, then everything before that leaf, then the levels on top of it.
    let leaf = ((n + 1) << level) - 1;
    count(leaf) + u64::from(level)
}

/// How many nodes a tree of `size` leaves has in the file.
fn count(size: u64) -> u64 {
    2 * size - u64::from(size.count_ones())
}

/// Reads nodes from the file.
pub(crate) struct Stored<'f>(pub(crate) &'f dyn DiskFile);

impl Nodes for Stored<'_> {
    type Error = io::Error;

    fn node(&self, level: u32, n: u64) -> io::Result<Hash> {
        let mut bytes = [0; 32];
        let read = self.0.read_at(&mut bytes, place(level, n) * NODE_BYTES)?;
        if read < bytes.len() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        Ok(Hash::from_bytes(bytes))
    }
}

impl Tree {
    /// Opens the file, making it where there is none, and takes at most `size_max` leaves of it.
    pub(crate) fn open(disk: &dyn Disk, size_max: u64) -> io::Result<Self> {
        let file = match disk.open(TREE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => disk.create(TREE)?,
            file => file?,
        };
        let nodes = file.len()? / NODE_BYTES;
        let mut size = (nodes / 2 + 64).min(size_max);
        while count(size) > nodes {
            size -= 1;
        }
        Self::at(file, size)
    }

    /// Takes the first `size` leaves of the file and forgets the rest.
    fn at(file: Arc<dyn DiskFile>, size: u64) -> io::Result<Self> {
        let stored = Stored(&*file);
        let mut whole = Vec::new();
        let mut done = 0;
        for level in (0..64).rev().filter(|level| size >> level & 1 == 1) {
            whole.push(stored.node(level, done >> level)?);
            done += 1 << level;
        }
        let frontier = Frontier::from_whole(size, whole);
        Ok(Self { file, frontier, fresh: Vec::new(), end: count(size) * NODE_BYTES })
    }

    /// Begins anew.
    pub(crate) fn clear(&mut self) {
        (self.frontier, self.end) = Default::default();
        self.fresh.clear();
    }

    /// How many leaves there are.
    pub(crate) fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// The root over all leaves.
    pub(crate) fn root(&self) -> Hash {
        self.frontier.root()
    }

    /// Adds a leaf.
    pub(crate) fn push(&mut self, leaf: Hash) {
        self.frontier.push(leaf, |node| self.fresh.extend_from_slice(node.as_bytes()));
    }

    /// Writes what was added to the file.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.write_at(&self.fresh, self.end)?;
        self.end += self.fresh.len() as u64;
        self.fresh.clear();
        self.fresh.shrink_to(1 << 20);
        Ok(())
    }

    /// Makes durable what was written.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// The leaf `index`, which must be in the file.
    pub(crate) fn leaf(&self, index: u64) -> io::Result<Hash> {
        Stored(&*self.file).node(0, index)
    }

    /// The root as it was with `size` leaves, which must be in the file.
    pub(crate) fn root_at(&self, size: u64) -> io::Result<Hash> {
        if size == 0 { Ok(Hash::of(b"")) } else { range(&Stored(&*self.file), 0, size) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::merkle::leaf;
    use super::*;
    use crate::sim::SimDisk;

    #[test]
    fn a_tree_goes_on_where_its_file_ends() {
        let disk = SimDisk::new(1);
        disk.create_dir("ledger").unwrap();
        let leaves: Vec<_> = (0..70_u8).map(|n| leaf(&Hash::of(&[n]))).collect();
        let mut roots = vec![Hash::of(b"")];
        for (n, next) in leaves.iter().enumerate() {
            let mut tree = Tree::open(&disk, u64::MAX).unwrap();
            assert_eq!(tree.size(), n as u64);
            tree.push(*next);
            tree.flush().unwrap();
            roots.push(tree.root());
            for (size, root) in roots.iter().enumerate() {
                assert_eq!(tree.root_at(size as u64).unwrap(), *root);
            }
            assert_eq!(tree.leaf(n as u64).unwrap(), *next);
        }
        let shorter = Tree::open(&disk, 37).unwrap();
        assert_eq!((shorter.size(), shorter.root()), (37, roots[37]));
        // A torn file gives whole leaves only.
        disk.corrupt(TREE, |bytes| bytes.truncate(count(64) as usize * 32 - 1));
        let torn = Tree::open(&disk, u64::MAX).unwrap();
        assert_eq!((torn.size(), torn.root()), (63, roots[63]));
    }
}
