//! Which file of the source has become which file of the destination, as long as names of it are to come.
//!
//! A file with several names is copied when the first of them is found, and the others are linked to
//! that. It is forgotten when all of its names were seen, so that memory follows the groups that are open,
//! and not the tree.
//!
//! # Memory
//!
//! 20 bytes, a quarter more at most, for each open group, in memory; and 13 bytes and the name in
//! [`walk::Names`], which the bound on memory can put into files.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fsops::{FileKey, Stat};
use walk::Names;

use crate::engine::dir_state::Waiter;
use crate::hardlinks::inode_set::Claimed;
use crate::hardlinks::table::Group;
use crate::hardlinks::table::Key;
use crate::hardlinks::table::MANY;
use crate::hardlinks::table::Table;
use crate::model::dir_node::Node;

/// What names are linked to.
#[derive(Clone, Debug)]
pub(crate) struct Leader {
    pub(crate) node: Arc<Node>,
    pub(crate) name: CString,
    /// Its inode at the destination; 0 if that was not looked at, since no name there can have it.
    pub(crate) inode: u64,
    pub(crate) born: u16,
}

impl Leader {
    /// Returns its inode as the destination has it.
    pub(crate) fn key(&self) -> FileKey {
        FileKey { device: self.node.device_there().unwrap_or(0), inode: self.inode }
    }

    /// Returns whether the two are one name.
    pub(crate) fn is(&self, other: &Leader) -> bool {
        Arc::ptr_eq(&self.node, &other.node) && self.name == other.name
    }
}

/// What is known of a file of the source.
#[derive(Debug)]
pub(crate) enum Known {
    /// Nothing.
    No,
    /// Somebody is copying it.
    Busy,
    /// This name of it is at the destination.
    Yes(Leader),
}

#[derive(Debug, Default)]
pub(crate) struct Links(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    devices: Vec<u64>,
    table: Table,
    busy: HashMap<Key, Vec<Waiter>>,
    /// Names that wait for these.
    waiting: usize,
    names: Names,
    holders: Holders,
    /// Groups that take more than one file at the destination, and the inodes that their names may have.
    split: HashMap<Key, Vec<FileKey>>,
}

/// The directories that leaders are in.
#[derive(Debug, Default)]
struct Holders {
    slots: Vec<Option<(Arc<Node>, u32)>>,
    free: Vec<u32>,
    /// By their addresses, which are theirs as long as they are held.
    numbers: HashMap<usize, u32>,
}

/// Bytes of a record before the name: the directory, the inode, the length.
const HEAD: usize = 4 + 8 + 1;

impl Links {
    /// Returns the number of a device of the source.
    pub(crate) fn device(&self, device: u64) -> u16 {
        let mut inner = self.lock();
        let known = inner.devices.iter().position(|&known| known == device);
        let index = known.unwrap_or_else(|| {
            inner.devices.push(device);
            inner.devices.len() - 1
        });
        u16::try_from(index).unwrap_or(u16::MAX)
    }

    /// Returns what is known of a file.
    pub(crate) fn look(&self, key: Key) -> Known {
        self.lock().look(key)
    }

    /// Has `waiter` wait for a file that somebody is copying; gives it back if nobody is any more.
    pub(crate) fn wait(&self, key: Key, waiter: Waiter) -> Option<Waiter> {
        let mut inner = self.lock();
        match inner.busy.get_mut(&key) {
            Some(waiters) => waiters.push(waiter),
            None => return Some(waiter),
        }
        inner.waiting += 1;
        None
    }

    /// Returns how many names wait for files.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Returns what is known of a file that was born then; if that is nothing, the caller MUST make it known, or give
    /// up. A file that was born at another time, and had the number before, is forgotten.
    pub(crate) fn begin(&self, key: Key, born: u16) -> Known {
        let mut inner = self.lock();
        if let Some(group) = inner.table.get(key)
            && group.born != born
        {
            inner.close(group);
        }
        let known = inner.look(key);
        if matches!(known, Known::No) {
            inner.busy.insert(key, Vec::new());
        }
        known
    }

    /// Makes known what became of a file with `left` more names; returns who waits for that.
    pub(crate) fn ready(&self, key: Key, leader: &Leader, left: u32) -> Vec<Waiter> {
        let mut inner = self.lock();
        if left > 0 {
            inner.put(key, leader, u16::try_from(left).unwrap_or(MANY));
        }
        inner.end_wait(key)
    }

    /// Gives up; returns who waits.
    pub(crate) fn give_up(&self, key: Key) -> Vec<Waiter> {
        self.lock().end_wait(key)
    }

    /// Has further names linked to another leader.
    pub(crate) fn lead(&self, key: Key, leader: &Leader, full: FileKey) {
        let mut inner = self.lock();
        inner.split.entry(key).or_default().extend([full, leader.key()]);
        let Some(group) = inner.table.get(key) else { return };
        inner.forget(group);
        inner.put(key, leader, group.left);
    }

    /// Notes that a file has more names than one at the destination can have.
    pub(crate) fn expect_split(&self, key: Key) {
        self.lock().split.entry(key).or_default();
    }

    /// Returns whether a file takes more than one at the destination.
    pub(crate) fn is_split(&self, key: Key) -> bool {
        self.lock().split.contains_key(&key)
    }

    /// Returns whether `there` is known as an inode that names of the file may have.
    pub(crate) fn is_copy(&self, key: Key, there: FileKey) -> bool {
        self.lock().is_copy(key, there)
    }

    /// Takes an inode that is alike for one that names of the file may have; returns false if it is
    /// another file's already.
    pub(crate) fn take_for_copy(&self, key: Key, there: FileKey, claimed: &Claimed) -> bool {
        // In one step: of two names of it that are seen at the same time both have to hear that it is.
        let mut inner = self.lock();
        if inner.is_copy(key, there) {
            return true;
        }
        let is_free = claimed.claim(there);
        if is_free {
            inner.split.entry(key).or_default().push(there);
        }
        is_free
    }

    /// Counts a name that was seen; the last one closes the group.
    pub(crate) fn seen(&self, key: Key) {
        let mut inner = self.lock();
        let Some(mut group) = inner.table.get(key) else { return };
        if group.left == MANY {
            return;
        }
        group.left -= 1;
        if group.left > 0 {
            inner.table.put(group);
        } else {
            inner.close(group);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn look(&self, key: Key) -> Known {
        if let Some(group) = self.table.get(key) {
            return Known::Yes(self.leader(group));
        }
        if self.busy.contains_key(&key) { Known::Busy } else { Known::No }
    }

    fn is_copy(&self, key: Key, there: FileKey) -> bool {
        self.split.get(&key).is_some_and(|copies| copies.contains(&there))
    }

    fn end_wait(&mut self, key: Key) -> Vec<Waiter> {
        let waiters = self.busy.remove(&key).unwrap_or_default();
        self.waiting -= waiters.len();
        waiters
    }

    fn leader(&self, group: Group) -> Leader {
        let (holder, inode, name) = self.record(group);
        let name = CString::new(name).unwrap_or_default();
        Leader { node: Arc::clone(self.holders.get(holder)), name, inode, born: group.born }
    }

    fn record(&self, group: Group) -> (u32, u64, &[u8]) {
        let take = |from: usize, length: usize| {
            self.names.get(
                group.page,
                group.at + u16::try_from(from).unwrap_or(0),
                u16::try_from(length).unwrap_or(0),
            )
        };
        let head = take(0, HEAD);
        let holder = u32::from_ne_bytes(head[..4].try_into().unwrap_or_default());
        let inode = u64::from_ne_bytes(head[4..12].try_into().unwrap_or_default());
        (holder, inode, take(HEAD, usize::from(head[12])))
    }

    fn put(&mut self, key: Key, leader: &Leader, left: u16) {
        let holder = self.holders.hold(&leader.node);
        let name = leader.name.as_bytes();
        let mut record = Vec::with_capacity(HEAD + name.len());
        record.extend_from_slice(&holder.to_ne_bytes());
        record.extend_from_slice(&leader.inode.to_ne_bytes());
        // Names have at most 255 bytes.
        record.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        record.extend_from_slice(name);
        let (page, at) = self.names.put(&record);
        self.table.put(Group { key, page, at, left, born: leader.born });
    }

    /// Forgets a group.
    fn close(&mut self, group: Group) {
        self.forget(group);
        self.table.remove(group.key);
        self.split.remove(&group.key);
    }

    /// Lets go of what names of a group are linked to.
    fn forget(&mut self, group: Group) {
        let (holder, ..) = self.record(group);
        self.holders.let_go(holder);
        self.names.remove(group.page);
    }
}

impl Holders {
    fn get(&self, number: u32) -> &Arc<Node> {
        let (node, _) = self.slots[number as usize].as_ref().expect("it is held");
        node
    }

    fn hold(&mut self, node: &Arc<Node>) -> u32 {
        if let Some(&number) = self.numbers.get(&Arc::as_ptr(node).addr()) {
            if let Some((_, uses)) = &mut self.slots[number as usize] {
                *uses += 1;
            }
            return number;
        }
        let slot = Some((Arc::clone(node), 1));
        let number = if let Some(number) = self.free.pop() {
            self.slots[number as usize] = slot;
            number
        } else {
            self.slots.push(slot);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        };
        self.numbers.insert(Arc::as_ptr(node).addr(), number);
        number
    }

    fn let_go(&mut self, number: u32) {
        let slot = &mut self.slots[number as usize];
        let Some((node, uses)) = slot else { return };
        *uses -= 1;
        if *uses == 0 {
            self.numbers.remove(&Arc::as_ptr(node).addr());
            *slot = None;
            self.free.push(number);
        }
    }
}

/// Returns something of a file's time of birth.
pub(crate) fn born(stat: &Stat) -> u16 {
    let mixed = stat.born_ns.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    u16::try_from(mixed >> 48).unwrap_or(0)
}

/// Returns a leader.
pub(crate) fn leader(node: &Arc<Node>, name: &CStr, inode: u64, stat: &Stat) -> Leader {
    Leader { node: Arc::clone(node), name: name.to_owned(), inode, born: born(stat) }
}

#[cfg(test)]
mod tests {
    use fsops::FileKey;

    use super::{Known, Links};
    use crate::hardlinks::inode_set::Claimed;
    use crate::hardlinks::table::Key;
    use crate::model::dir_node::Node;

    const KEY: Key = Key { device: 0, inode: 7 };

    fn made_known(links: &Links, born: u16, left: u32) {
        let leader =
            super::Leader { node: Node::top(), name: c"first".to_owned(), inode: 70, born };
        assert!(matches!(links.begin(KEY, born), Known::No));
        assert!(matches!(links.begin(KEY, born), Known::Busy));
        assert!(links.ready(KEY, &leader, left).is_empty());
    }

    #[test]
    fn a_file_is_forgotten_when_all_names_were_seen_or_another_has_its_number() {
        let links = Links::default();
        made_known(&links, 1, 2);
        links.seen(KEY);
        assert!(matches!(links.begin(KEY, 1), Known::Yes(leader) if leader.inode == 70));
        made_known(&links, 2, 1);
        links.seen(KEY);
        assert!(matches!(links.look(KEY), Known::No));
    }

    #[test]
    fn an_inode_is_a_copy_of_one_file_only() {
        let (links, claimed) = (Links::default(), Claimed::default());
        let there = |inode| FileKey { device: 1, inode };
        for _ in 0..2 {
            assert!(links.take_for_copy(KEY, there(71), &claimed));
        }
        assert!(claimed.claim(there(72)) && !links.take_for_copy(KEY, there(72), &claimed));
        assert!(!links.take_for_copy(Key { inode: 8, ..KEY }, there(71), &claimed));
    }
}
