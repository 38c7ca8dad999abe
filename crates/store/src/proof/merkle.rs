//! The Merkle tree of RFC 6962 over the ledger's records: hashing, roots, and the two proofs.
//!
//! A leaf's data is the record's own hash, 32 bytes, so the tree can be built and checked without
//! the records' text. Nothing here reads a file.

use sha2::{Digest, Sha256};

use crate::hash::Hash;

/// Levels that a tree of any size that we can count to may have.
const LEVELS_MAX: usize = 64;

/// The hash of the leaf of a record.
pub(crate) fn leaf(record: &Hash) -> Hash {
    digest(&[&[0], record.as_bytes()])
}

/// The hash of a node from those of its two children.
pub(crate) fn node(left: &Hash, right: &Hash) -> Hash {
    digest(&[&[1], left.as_bytes(), right.as_bytes()])
}

fn digest(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    Hash::from_bytes(hasher.finalize().into())
}

/// A tree that only grows, kept as its whole subtrees: one hash for each bit of its size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frontier {
    size: u64,
    /// The whole subtrees, the largest first.
    whole: Vec<Hash>,
}

impl Frontier {
    /// Goes on from whole subtrees that were kept, the largest first.
    pub(crate) fn from_whole(size: u64, whole: Vec<Hash>) -> Self {
        Self { size, whole }
    }

    /// How many leaves there are.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Adds a leaf and hands every node that is complete with it to `made`, the leaf first.
    pub(crate) fn push(&mut self, leaf: Hash, mut made: impl FnMut(Hash)) {
        made(leaf);
        let mut top = leaf;
        let mut bits = self.size;
        while bits & 1 == 1 {
            let Some(left) = self.whole.pop() else { break };
            top = node(&left, &top);
            made(top);
            bits >>= 1;
        }
        self.whole.push(top);
        self.size += 1;
    }

    /// The root of the tree as it is now.
    pub(crate) fn root(&self) -> Hash {
        let mut smaller = self.whole.iter().rev();
        match smaller.next() {
            Some(last) => smaller.fold(*last, |right, left| node(left, &right)),
            None => Hash::of(b""),
        }
    }
}

/// Where the nodes of a tree are found: `(level, n)` is the whole subtree over the leaves from
/// `n << level` on, `1 << level` of them.
pub(crate) trait Nodes {
    /// What reading may fail with.
    type Error;

    /// The hash of one whole subtree.
    fn node(&self, level: u32, n: u64) -> Result<Hash, Self::Error>;
}

/// The root over the leaves `from..to`, whose left part is as large a whole subtree as can be.
pub(crate) fn range<N: Nodes>(nodes: &N, from: u64, to: u64) -> Result<Hash, N::Error> {
    let count = to - from;
    if count.is_power_of_two() {
        return nodes.node(count.trailing_zeros(), from / count);
    }
    let middle = from + split(count);
    Ok(node(&range(nodes, from, middle)?, &range(nodes, middle, to)?))
}

/// The largest power of two that is smaller than `count`, which must be two or more.
fn split(count: u64) -> u64 {
    1 << (63 - (count - 1).leading_zeros())
}

/// The proof that leaf `index` is in the tree of `size` leaves: the siblings, lowest first.
pub(crate) fn prove_leaf<N: Nodes>(
    nodes: &N,
    index: u64,
    size: u64,
) -> Result<Vec<Hash>, N::Error> {
    let (mut from, mut to) = (0, size);
    let mut path = Vec::new();
    while to - from > 1 {
        let middle = from + split(to - from);
        if index < middle {
            path.push(range(nodes, middle, to)?);
            to = middle;
        } else {
            path.push(range(nodes, from, middle)?);
            from = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// Whether `path` proves that `leaf` is number `index` of the tree with this size and root.
pub(crate) fn check_leaf(path: &[Hash], size: u64, root: &Hash, index: u64, leaf: Hash) -> bool {
    if index >= size || path.len() > LEVELS_MAX {
        return false;
    }
    let (mut at, mut last) = (index, size - 1);
    let mut hash = leaf;
    for sibling in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            hash = node(sibling, &hash);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            hash = node(&hash, sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && hash == *root
}

/// The proof that the tree of `size` leaves goes on from the one of `old` leaves.
pub(crate) fn prove_growth<N: Nodes>(
    nodes: &N,
    old: u64,
    size: u64,
) -> Result<Vec<Hash>, N::Error> {
    let (mut from, mut to) = (0, size);
    let mut path = Vec::new();
    if old == 0 || old == size {
        return Ok(path);
    }
    // Whether the old tree is all that was left of where we stand.
    let mut whole = true;
    while old != to {
        let middle = from + split(to - from);
        if old <= middle {
            path.push(range(nodes, middle, to)?);
            to = middle;
        } else {
            path.push(range(nodes, from, middle)?);
            from = middle;
            whole = false;
        }
    }
    if !whole {
        path.push(range(nodes, from, to)?);
    }
    path.reverse();
    Ok(path)
}

/// Whether `path` proves that the tree `new` goes on from the tree `old`; each is size and root.
pub(crate) fn check_growth(path: &[Hash], old: (u64, Hash), new: (u64, Hash)) -> bool {
    let ((old_size, old_root), (size, root)) = (old, new);
    if old_size == 0 {
        return path.is_empty() && old_root == Hash::of(b"");
    }
    if old_size >= size || path.len() > LEVELS_MAX + 1 {
        return old_size == size && old_root == root && path.is_empty();
    }
    let shift = old_size.trailing_zeros();
    let (mut at, mut last) = ((old_size - 1) >> shift, (size - 1) >> shift);
    let mut path = path.iter();
    let begin = if old_size.is_power_of_two() { Some(&old_root) } else { path.next() };
    let Some(begin) = begin.copied() else { return false };
    let (mut older, mut newer) = (begin, begin);
    for sibling in path {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            older = node(sibling, &older);
            newer = node(sibling, &newer);
            while at & 1 == 0 && at != 0 {
                at >>= 1;
                last >>= 1;
            }
        } else {
            newer = node(&newer, sibling);
        }
        at >>= 1;
        last >>= 1;
    }
    last == 0 && older == old_root && newer == root
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Leaves(Vec<Hash>);

    impl Nodes for Leaves {
        type Error = std::convert::Infallible;

        fn node(&self, level: u32, n: u64) -> Result<Hash, Self::Error> {
            let width = 1_usize << level;
            Ok(slow(&self.0[n as usize * width..][..width]))
        }
    }

    /// The root as RFC 6962 defines it.
    fn slow(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => Hash::of(b""),
            [only] => *only,
            [..] => {
                let middle = split(leaves.len() as u64) as usize;
                node(&slow(&leaves[..middle]), &slow(&leaves[middle..]))
            }
        }
    }

    fn leaves(count: u64) -> Vec<Hash> {
        (0..count).map(|n| leaf(&Hash::of(&n.to_be_bytes()))).collect()
    }

    #[test]
    fn a_growing_tree_has_the_root_that_the_standard_defines() {
        // The first two are published with RFC 6962's reference implementation.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Frontier::default().root().to_string(), empty);
        let blank = digest(&[&[0], b""]);
        let published = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";
        assert_eq!(blank.to_string(), published);
        let all = leaves(130);
        let mut tree = Frontier::default();
        for (n, leaf) in all.iter().enumerate() {
            assert_eq!(tree.root(), slow(&all[..n]), "{n}");
            tree.push(*leaf, |_| ());
        }
    }

    #[test]
    fn every_leaf_is_proven_and_nothing_else_is() {
        for size in 1..40 {
            let tree = Leaves(leaves(size));
            let root = slow(&tree.0);
            for index in 0..size {
                let path = prove_leaf(&tree, index, size).unwrap();
                let found = tree.0[index as usize];
                assert!(check_leaf(&path, size, &root, index, found), "{index} of {size}");
                assert!(!check_leaf(&path, size, &root, index, Hash::of(b"other")));
                assert!(!check_leaf(&path, size, &root, size, found));
                for other in (0..size).filter(|other| *other != index) {
                    assert!(!check_leaf(&path, size, &root, other, found), "{index} as {other}");
                }
                for n in 0..path.len() {
                    let mut bad = path.clone();
                    bad[n] = Hash::of(b"other");
                    assert!(!check_leaf(&bad, size, &root, index, found));
                    bad.remove(n);
                    assert!(!check_leaf(&bad, size, &root, index, found));
                }
            }
        }
    }

    #[test]
    fn a_tree_that_grew_is_proven_and_one_that_was_rewritten_is_not() {
        for size in 1..40 {
            let tree = Leaves(leaves(size));
            let root = slow(&tree.0);
            for old in 0..=size {
                let old_root = slow(&tree.0[..old as usize]);
                let path = prove_growth(&tree, old, size).unwrap();
                let old = (old, old_root);
                assert!(check_growth(&path, old, (size, root)), "{} to {size}", old.0);
                let other = Hash::of(b"other");
                assert!(!check_growth(&path, (old.0, other), (size, root)));
                assert!(old.0 == 0 || !check_growth(&path, old, (size, other)));
                for n in 0..path.len() {
                    let mut bad = path.clone();
                    bad[n] = other;
                    assert!(!check_growth(&bad, old, (size, root)), "{} to {size}", old.0);
                }
            }
        }
    }
}
