//! Sorts inodes by size, head, digest and host.
//!
//! An inode is large, and most inodes differ in their size or head. Therefore, small keys of these two
//! are sorted, and each inode is moved only once.

use crate::class::Inode;

/// The size and head of an inode.
#[derive(Clone, Copy)]
struct Key {
    size: u64,
    /// In the order of heads. An inode without a head has the smallest one.
    head: u64,
    index: usize,
}

impl Key {
    fn new(index: usize, inode: &Inode) -> Key {
        const SIGN: u64 = 1 << 63;
        let head = inode.head().map_or(0, |head| head.cast_unsigned() ^ SIGN);
        Key { size: inode.size, head, index }
    }

    /// Returns the size and the head as one number, whose comparison needs no branch.
    fn number(&self) -> u128 {
        u128::from(self.size) << 64 | u128::from(self.head)
    }
}

/// Calls `each` with all inodes of each size, sorted by head, digest and host.
pub(crate) fn each_size(inodes: &[Inode], mut each: impl FnMut(&mut [Inode])) {
    let mut keys: Vec<Key> = (0..).zip(inodes).map(|(at, inode)| Key::new(at, inode)).collect();
    // The inodes of each host are sorted, which a stable sort makes use of.
    keys.sort_by_key(Key::number);
    let mut of_size = Vec::new();
    for keys in keys.chunk_by(|a, b| a.size == b.size) {
        of_size.clear();
        for keys in keys.chunk_by(|a, b| a.head == b.head) {
            let start = of_size.len();
            of_size.extend(keys.iter().map(|key| inodes[key.index]));
            of_size[start..].sort_unstable();
        }
        each(&mut of_size);
    }
}

#[cfg(test)]
mod tests {
    use export::{InodeKey, StoredDigest};

    use super::{Inode, each_size};

    #[test]
    fn the_order_is_that_of_inodes() {
        let mut inodes = Vec::new();
        for number in 0..4_000_u64 {
            // A linear congruential generator makes all combinations of a few values.
            let random = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(12_345) >> 33;
            let pick =
                |from: u64, choices: u64| u8::try_from(random / from % choices).expect("few");
            let heads = [None, Some(i64::MIN), Some(-1), Some(0), Some(i64::MAX)];
            let key = InodeKey {
                inode_id: 0,
                bucket: 0,
                size: [1, 5, u64::MAX][usize::from(pick(1, 3))],
                head: heads[usize::from(pick(3, 5))],
                digest: (pick(1, 7) > 2).then_some(StoredDigest::Blake3([pick(15, 4); 32])),
            };
            inodes.push(Inode::new(pick(60, 9).into(), &key));
        }
        let mut found = Vec::new();
        let mut sizes = 0;
        each_size(&inodes, |of_size| {
            sizes += 1;
            found.extend_from_slice(of_size);
        });
        inodes.sort();
        assert_eq!(sizes, 3);
        assert!(found == inodes);
    }
}
