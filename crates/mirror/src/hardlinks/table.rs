//! A hash table of open link groups, with 20 bytes per slot.
//!
//! A table that doubles when it is full is half empty afterwards, and needs memory for the old and the new slots while
//! it grows. This table consists of 256 small tables. Each of them grows by a quarter when it is seven eighths full, so
//! a table with millions of groups wastes little memory.

/// Identifies a file of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SourceInode {
    pub(crate) device: u16,
    pub(crate) inode: u64,
}

/// A link group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkGroup {
    pub(crate) key: SourceInode,
    /// Position of the leader's record in [`walk::Names`]: the page, and the offset in the page.
    pub(crate) page: u32,
    pub(crate) at: u16,
    /// Number of names that have not been processed yet; [`UNCOUNTED`] if the number does not fit.
    pub(crate) left: u16,
}

pub(crate) const UNCOUNTED: u16 = u16::MAX;

/// A stored group. The slot is free if `left` is 0.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    inode: [u32; 2],
    page: u32,
    at: u16,
    left: u16,
    device: u16,
}

const SHARDS: usize = 256;

/// The table.
#[derive(Debug)]
pub(crate) struct GroupTable {
    shards: Vec<Shard>,
}

#[derive(Clone, Debug, Default)]
struct Shard {
    slots: Vec<Slot>,
    used: usize,
}

impl Default for GroupTable {
    fn default() -> GroupTable {
        GroupTable { shards: vec![Shard::default(); SHARDS] }
    }
}

impl GroupTable {
    pub(crate) fn get(&self, key: SourceInode) -> Option<LinkGroup> {
        let shard = &self.shards[shard_of(key)];
        shard.find(key).ok().map(|at| shard.slots[at].group())
    }

    /// Inserts a group, or replaces the group with the same key.
    pub(crate) fn put(&mut self, group: LinkGroup) {
        let shard = &mut self.shards[shard_of(group.key)];
        if shard.used * 8 >= shard.slots.len() * 7 {
            shard.grow();
        }
        match shard.find(group.key) {
            Ok(at) => shard.slots[at] = Slot::from(group),
            Err(at) => {
                shard.slots[at] = Slot::from(group);
                shard.used += 1;
            }
        }
    }

    pub(crate) fn remove(&mut self, key: SourceInode) {
        let shard = &mut self.shards[shard_of(key)];
        if let Ok(at) = shard.find(key) {
            shard.remove(at);
        }
    }
}

/// Mixes all bits of a key with the finaliser of `SplitMix64`, because inode numbers are usually close together.
fn mixed(key: SourceInode) -> u64 {
    let mut z = key.inode ^ (u64::from(key.device) << 48);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn shard_of(key: SourceInode) -> usize {
    usize::from(mixed(key).to_le_bytes()[0])
}

impl Shard {
    /// Returns the slot where the search for a key starts.
    fn home(&self, key: SourceInode) -> usize {
        let high = u128::from(mixed(key) >> 8 << 8) * self.slots.len() as u128;
        // The result is less than the number of slots.
        usize::try_from(high >> 64).unwrap_or(0)
    }

    /// Returns the slot of a key, or the free slot where it would be inserted.
    fn find(&self, key: SourceInode) -> Result<usize, usize> {
        if self.slots.is_empty() {
            return Err(0);
        }
        let mut at = self.home(key);
        loop {
            let slot = &self.slots[at];
            if slot.left == 0 {
                return Err(at);
            }
            if slot.key() == key {
                return Ok(at);
            }
            at = self.next(at);
        }
    }

    fn next(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    fn grow(&mut self) {
        let more = (self.slots.len() + self.slots.len() / 4).max(16);
        let before = std::mem::replace(&mut self.slots, vec![Slot::default(); more]);
        for slot in before.into_iter().filter(|slot| slot.left > 0) {
            if let Err(at) = self.find(slot.key()) {
                self.slots[at] = slot;
            }
        }
    }

    /// Frees a slot, and fills the gap with later groups that collisions had moved away from their home slots.
    fn remove(&mut self, mut free: usize) {
        self.used -= 1;
        let mut at = self.next(free);
        while self.slots[at].left > 0 {
            let home = self.home(self.slots[at].key());
            // The group stays if its home slot is between the free slot and its current slot, with wraparound.
            let stays =
                if free <= at { free < home && home <= at } else { free < home || home <= at };
            if !stays {
                self.slots[free] = self.slots[at];
                free = at;
            }
            at = self.next(at);
        }
        self.slots[free] = Slot::default();
    }
}

impl Slot {
    fn key(&self) -> SourceInode {
        let inode = u64::from(self.inode[0]) | u64::from(self.inode[1]) << 32;
        SourceInode { device: self.device, inode }
    }

    fn group(&self) -> LinkGroup {
        let &Slot { page, at, left, .. } = self;
        LinkGroup { key: self.key(), page, at, left }
    }
}

impl From<LinkGroup> for Slot {
    fn from(group: LinkGroup) -> Slot {
        let LinkGroup { key: SourceInode { device, inode }, page, at, left } = group;
        let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
        // A `u64` would make the compiler pad each slot by four bytes.
        let inode = [half(inode), half(inode >> 32)];
        Slot { inode, page, at, left, device }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{GroupTable, LinkGroup, SourceInode};

    #[test]
    fn it_behaves_like_a_map() {
        let mut state = 7u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % end
        };
        let (mut table, mut map) = (GroupTable::default(), HashMap::new());
        for step in 0..200_000u32 {
            // The table grows in the first half of the steps and shrinks in the second.
            let key = SourceInode { device: u16::from(below(2) > 0), inode: below(40_000) };
            if below(200_000) > u64::from(step) {
                let group = LinkGroup { key, page: step, at: 7, left: 1 + u16::from(step % 9 > 0) };
                table.put(group);
                map.insert(key, group);
            } else {
                table.remove(key);
                map.remove(&key);
            }
            let key = SourceInode { device: 0, inode: below(40_000) };
            assert_eq!(table.get(key), map.get(&key).copied());
        }
        assert!(map.values().all(|group| table.get(group.key) == Some(*group)));
        assert_eq!(table.shards.iter().map(|shard| shard.used).sum::<usize>(), map.len());
    }

    #[test]
    fn a_group_takes_little_more_than_its_bytes() {
        assert_eq!(size_of::<super::Slot>(), 20);
        let mut table = GroupTable::default();
        for inode in 0..1_000_000 {
            table.put(LinkGroup { key: SourceInode { device: 0, inode }, page: 0, at: 0, left: 1 });
        }
        let slots: usize = table.shards.iter().map(|shard| shard.slots.len()).sum();
        assert!(slots < 1_450_000, "{slots}");
    }
}
