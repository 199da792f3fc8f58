//! A table of open link groups: 20 bytes for each, and never more than an eighth of it free for long.
//!
//! A table that doubles when it is full has half of it empty then, and both of them at the same time. This one
//! is many small ones, each of which grows by a quarter, so that millions of groups take little more than
//! their bytes.

/// A file with several names: what identifies it in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SourceInode {
    pub(crate) device: u16,
    pub(crate) inode: u64,
}

/// One group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkGroup {
    pub(crate) key: SourceInode,
    /// Where in [`walk::Names`] it says what names are linked to.
    pub(crate) page: u32,
    pub(crate) at: u16,
    /// Names that were not seen yet; [`MANY`] is not counted.
    pub(crate) left: u16,
    /// Something of its time of birth, to tell it from a later file of the same number.
    pub(crate) birth_tag: u16,
}

pub(crate) const UNCOUNTED: u16 = u16::MAX;

/// A group as it is kept: free if nothing is left.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    inode: [u32; 2],
    page: u32,
    at: u16,
    left: u16,
    birth_tag: u16,
    device: u16,
}

const SHARDS: usize = 256;

/// The groups.
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

    /// Puts a group in, instead of the one of the same key if there is one.
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

/// Mixes all bits of a key (the finaliser of `SplitMix64`): numbers of inodes are neighbours.
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
    /// Returns where a key would be if all places were free.
    fn home(&self, key: SourceInode) -> usize {
        let high = u128::from(mixed(key) >> 8 << 8) * self.slots.len() as u128;
        // Less than the number of slots.
        usize::try_from(high >> 64).unwrap_or(0)
    }

    /// Returns where a key is, or where it would be put.
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

    /// Frees a place, moving up what had to go past it.
    fn remove(&mut self, mut free: usize) {
        self.used -= 1;
        let mut at = self.next(free);
        while self.slots[at].left > 0 {
            let home = self.home(self.slots[at].key());
            // Whether home lies at or before the free place, going round.
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
        let &Slot { page, at, left, birth_tag, .. } = self;
        LinkGroup { key: self.key(), page, at, left, birth_tag }
    }
}

impl From<LinkGroup> for Slot {
    fn from(group: LinkGroup) -> Slot {
        let LinkGroup { key: SourceInode { device, inode }, page, at, left, birth_tag } = group;
        let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
        // An eight-byte number would have four bytes of every slot empty.
        let inode = [half(inode), half(inode >> 32)];
        Slot { inode, page, at, left, birth_tag, device }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{GroupTable, LinkGroup, SourceInode};

    #[test]
    fn it_is_a_map() {
        let mut state = 7u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % end
        };
        let (mut table, mut map) = (GroupTable::default(), HashMap::new());
        for step in 0..200_000u32 {
            // First it grows, then it shrinks.
            let key = SourceInode { device: u16::from(below(2) > 0), inode: below(40_000) };
            if below(200_000) > u64::from(step) {
                let group = LinkGroup {
                    key,
                    page: step,
                    at: 7,
                    left: 1 + u16::from(step % 9 > 0),
                    birth_tag: 3,
                };
                table.put(group);
                map.insert(key, group);
            } else {
                table.remove(key);
                map.remove(&key);
            }
            let asked = SourceInode { device: 0, inode: below(40_000) };
            assert_eq!(table.get(asked), map.get(&asked).copied());
        }
        assert!(map.values().all(|group| table.get(group.key) == Some(*group)));
        assert_eq!(table.shards.iter().map(|shard| shard.used).sum::<usize>(), map.len());
    }

    #[test]
    fn a_group_takes_little_more_than_its_bytes() {
        assert_eq!(size_of::<super::Slot>(), 20);
        let mut table = GroupTable::default();
        for inode in 0..1_000_000 {
            table.put(LinkGroup {
                key: SourceInode { device: 0, inode },
                page: 0,
                at: 0,
                left: 1,
                birth_tag: 0,
            });
        }
        let slots: usize = table.shards.iter().map(|shard| shard.slots.len()).sum();
        assert!(slots < 1_450_000, "{slots}");
    }
}
