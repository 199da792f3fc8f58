//! A table of open link groups: 20 bytes for each, and never more than an eighth of it free for long.
//!
//! A table that doubles when it is full has half of it empty then, and both of them at the same time. This one
//! is many small ones, each of which grows by a quarter, so that millions of groups take little more than
//! their bytes.

/// A file with several names: what identifies it in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) device: u16,
    pub(crate) inode: u64,
}

/// One group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) key: Key,
    /// Where in [`walk::Names`] it says what names are linked to.
    pub(crate) page: u32,
    pub(crate) at: u16,
    /// Names that were not seen yet; [`MANY`] is not counted.
    pub(crate) left: u16,
    /// Something of its time of birth, to tell it from a later file of the same number.
    pub(crate) born: u16,
}

pub(crate) const MANY: u16 = u16::MAX;

/// A group as it is kept: free if nothing is left.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    inode: [u32; 2],
    page: u32,
    at: u16,
    left: u16,
    born: u16,
    device: u16,
}

const PARTS: usize = 256;

/// The groups.
#[derive(Debug)]
pub(crate) struct Table {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Default)]
struct Part {
    slots: Vec<Slot>,
    used: usize,
}

impl Default for Table {
    fn default() -> Table {
        Table { parts: vec![Part::default(); PARTS] }
    }
}

impl Table {
    pub(crate) fn get(&self, key: Key) -> Option<Group> {
        let part = &self.parts[part_of(key)];
        part.find(key).ok().map(|at| part.slots[at].group())
    }

    /// Puts a group in, instead of the one of the same key if there is one.
    pub(crate) fn put(&mut self, group: Group) {
        let part = &mut self.parts[part_of(group.key)];
        if part.used * 8 >= part.slots.len() * 7 {
            part.grow();
        }
        match part.find(group.key) {
            Ok(at) => part.slots[at] = Slot::from(group),
            Err(at) => {
                part.slots[at] = Slot::from(group);
                part.used += 1;
            }
        }
    }

    pub(crate) fn remove(&mut self, key: Key) {
        let part = &mut self.parts[part_of(key)];
        if let Ok(at) = part.find(key) {
            part.remove(at);
        }
    }
}

/// Mixes all bits of a key (the finaliser of `SplitMix64`): numbers of inodes are neighbours.
fn mixed(key: Key) -> u64 {
    let mut z = key.inode ^ (u64::from(key.device) << 48);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

fn part_of(key: Key) -> usize {
    usize::from(mixed(key).to_le_bytes()[0])
}

impl Part {
    /// Returns where a key would be if all places were free.
    fn home(&self, key: Key) -> usize {
        let high = u128::from(mixed(key) >> 8 << 8) * self.slots.len() as u128;
        // Less than the number of slots.
        usize::try_from(high >> 64).unwrap_or(0)
    }

    /// Returns where a key is, or where it would be put.
    fn find(&self, key: Key) -> Result<usize, usize> {
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
    fn key(&self) -> Key {
        let inode = u64::from(self.inode[0]) | u64::from(self.inode[1]) << 32;
        Key { device: self.device, inode }
    }

    fn group(&self) -> Group {
        let &Slot { page, at, left, born, .. } = self;
        Group { key: self.key(), page, at, left, born }
    }
}

impl From<Group> for Slot {
    fn from(group: Group) -> Slot {
        let Group { key: Key { device, inode }, page, at, left, born } = group;
        let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0);
        // An eight-byte number would have four bytes of every slot empty.
        let inode = [half(inode), half(inode >> 32)];
        Slot { inode, page, at, left, born, device }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{Group, Key, Table};

    #[test]
    fn it_is_a_map() {
        let mut state = 7u64;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % end
        };
        let (mut table, mut map) = (Table::default(), HashMap::new());
        for step in 0..200_000u32 {
            // First it grows, then it shrinks.
            let key = Key { device: u16::from(below(2) > 0), inode: below(40_000) };
            if below(200_000) > u64::from(step) {
                let group =
                    Group { key, page: step, at: 7, left: 1 + u16::from(step % 9 > 0), born: 3 };
                table.put(group);
                map.insert(key, group);
            } else {
                table.remove(key);
                map.remove(&key);
            }
            let asked = Key { device: 0, inode: below(40_000) };
            assert_eq!(table.get(asked), map.get(&asked).copied());
        }
        assert!(map.values().all(|group| table.get(group.key) == Some(*group)));
        assert_eq!(table.parts.iter().map(|part| part.used).sum::<usize>(), map.len());
    }

    #[test]
    fn a_group_takes_little_more_than_its_bytes() {
        assert_eq!(size_of::<super::Slot>(), 20);
        let mut table = Table::default();
        for inode in 0..1_000_000 {
            table.put(Group { key: Key { device: 0, inode }, page: 0, at: 0, left: 1, born: 0 });
        }
        let slots: usize = table.parts.iter().map(|part| part.slots.len()).sum();
        assert!(slots < 1_450_000, "{slots}");
    }
}
