//! Link groups, which map hard-linked source files to their files in the destination.
//!
//! The first name that a worker processes is copied and becomes the *leader*. The other names are linked to it. A group
//! is forgotten when all of its names have been processed, so memory use depends on the number of open groups and not
//! on the size of the tree.
//!
//! # Memory
//!
//! Each open group takes a slot of 20 bytes in the table, plus 21 bytes and the name in [`walk::Names`], which can
//! spill to files.

use runtime::Mutex;
use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, MutexGuard};

use fsops::{FileKey, Stat};
use walk::Names;

use crate::engine::dir_state::Waiter;
use crate::hardlinks::birth::Identity;
use crate::hardlinks::inode_set::InodeSet;
use crate::hardlinks::table::{GroupTable, LinkGroup, SourceInode, UNCOUNTED};
use crate::model::dir_node::DirNode;
use crate::model::settled::DestInode;

/// The name to which the other names of a file are linked.
#[derive(Clone, Debug)]
pub(crate) struct Leader {
    pub(crate) node: Arc<DirNode>,
    pub(crate) name: CString,
    /// Inode number in the destination; 0 if it was not looked up because no other name in the destination can have it.
    pub(crate) inode: u64,
    /// Distinguishes the source file from a later one with the same inode number.
    pub(crate) identity: Identity,
}

impl Leader {
    /// Returns a leader for the source file with the metadata `stat`.
    pub(crate) fn new(node: &Arc<DirNode>, name: &CStr, inode: DestInode, stat: &Stat) -> Leader {
        let inode = inode.number_or_zero();
        Leader {
            node: Arc::clone(node),
            name: name.to_owned(),
            inode,
            identity: Identity::of(stat),
        }
    }

    /// Returns the key of the leader's inode in the destination.
    pub(crate) fn key(&self) -> FileKey {
        FileKey { device: self.node.dest_device().unwrap_or(0), inode: self.inode }
    }

    /// Returns whether two leaders are the same name.
    pub(crate) fn is(&self, other: &Leader) -> bool {
        Arc::ptr_eq(&self.node, &other.node) && self.name == other.name
    }
}

/// State of the link group of a source file.
#[derive(Debug)]
pub(crate) enum GroupState {
    /// No name of the file has been processed.
    Unknown,
    /// A worker is copying the file.
    InProgress,
    /// The destination has the file under this name.
    Placed(Leader),
}

#[derive(Debug, Default)]
pub(crate) struct LinkGroups(Mutex<Groups>);

#[derive(Debug, Default)]
struct Groups {
    devices: Vec<u64>,
    table: GroupTable,
    busy: HashMap<SourceInode, Vec<Waiter>>,
    /// Number of names in `busy`.
    waiting: usize,
    names: Names,
    holders: LeaderDirs,
    /// Keys of all copies, for groups that need several files in the destination because of the link limit.
    copies: HashMap<SourceInode, Vec<FileKey>>,
}

/// The directories of the leaders. Each directory is stored once.
#[derive(Debug, Default)]
struct LeaderDirs {
    slots: Vec<Option<(Arc<DirNode>, u32)>>,
    free: Vec<u32>,
    /// Directory numbers by the address of the node. The address is unique while the node is held.
    numbers: HashMap<usize, u32>,
}

/// Size of a record before the name: directory number, inode number, identity and length of the name.
const RECORD_HEAD_BYTES: usize = 4 + 8 + 8 + 1;

/// The leader of a group as it is stored.
struct Record<'n> {
    holder: u32,
    inode: u64,
    identity: Identity,
    name: &'n [u8],
}

impl LinkGroups {
    /// Returns a small number for a device of the source.
    pub(crate) fn device(&self, device: u64) -> u16 {
        let mut inner = self.lock();
        let known = inner.devices.iter().position(|&known| known == device);
        let index = known.unwrap_or_else(|| {
            inner.devices.push(device);
            inner.devices.len() - 1
        });
        u16::try_from(index).expect("fewer than 65,536 devices")
    }

    /// Returns the state of a file's link group.
    pub(crate) fn state(&self, key: SourceInode) -> GroupState {
        self.lock().state(key)
    }

    /// Makes `waiter` wait for a file that a worker is copying. Returns `waiter` if no worker is copying the file.
    pub(crate) fn wait(&self, key: SourceInode, waiter: Waiter) -> Option<Waiter> {
        let mut inner = self.lock();
        match inner.busy.get_mut(&key) {
            Some(waiters) => waiters.push(waiter),
            None => return Some(waiter),
        }
        inner.waiting += 1;
        None
    }

    /// Returns the number of waiting names.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting
    }

    /// Returns the state of a file's link group. If it is [`GroupState::Unknown`], the file is marked as in progress,
    /// and the caller MUST call [`LinkGroups::finish`] or [`LinkGroups::abandon`]. A group with the same inode number
    /// but another identity belongs to an earlier file and is forgotten.
    pub(crate) fn begin(&self, key: SourceInode, identity: Identity) -> GroupState {
        let mut inner = self.lock();
        if let Some(group) = inner.table.get(key)
            && inner.record(group).identity != identity
        {
            inner.close(group);
        }
        let known = inner.state(key);
        if matches!(known, GroupState::Unknown) {
            inner.busy.insert(key, Vec::new());
        }
        known
    }

    /// Sets the leader of a file with `left` unprocessed names. Returns the names that waited for the file.
    pub(crate) fn finish(&self, key: SourceInode, leader: &Leader, left: u32) -> Vec<Waiter> {
        let mut inner = self.lock();
        if left > 0 {
            inner.put(key, leader, u16::try_from(left).unwrap_or(UNCOUNTED));
        }
        inner.end_wait(key)
    }

    /// Gives up on a file. Returns the names that waited for it.
    pub(crate) fn abandon(&self, key: SourceInode) -> Vec<Waiter> {
        self.lock().end_wait(key)
    }

    /// Sets a new leader for the remaining names, because the file `full` reached the link limit.
    pub(crate) fn set_leader(&self, key: SourceInode, leader: &Leader, full: FileKey) {
        let mut inner = self.lock();
        inner.copies.entry(key).or_default().extend([full, leader.key()]);
        let Some(group) = inner.table.get(key) else { return };
        inner.release_leader(group);
        inner.put(key, leader, group.left);
    }

    /// Records that a source file has more names than one file in the destination can have.
    pub(crate) fn expect_copies(&self, key: SourceInode) {
        self.lock().copies.entry(key).or_default();
    }

    /// Returns whether a source file needs more than one file in the destination.
    pub(crate) fn has_copies(&self, key: SourceInode) -> bool {
        self.lock().copies.contains_key(&key)
    }

    /// Returns whether an inode in the destination is a known copy of a source file.
    pub(crate) fn is_copy(&self, key: SourceInode, dest: FileKey) -> bool {
        self.lock().is_copy(key, dest)
    }

    /// Adopts an inode in the destination as a copy of an identical source file. Returns false if the inode belongs to
    /// another source file.
    pub(crate) fn adopt_copy(
        &self,
        key: SourceInode,
        dest: FileKey,
        claimed_inodes: &InodeSet,
    ) -> bool {
        // Check and adopt the inode under one lock. If two workers process two names of the inode at the same time,
        // both calls must return true.
        let mut inner = self.lock();
        if inner.is_copy(key, dest) {
            return true;
        }
        let is_free = claimed_inodes.claim(dest);
        if is_free {
            inner.copies.entry(key).or_default().push(dest);
        }
        is_free
    }

    /// Counts a processed name. The last one closes the group.
    pub(crate) fn name_done(&self, key: SourceInode) {
        let mut inner = self.lock();
        let Some(mut group) = inner.table.get(key) else { return };
        if group.left == UNCOUNTED {
            return;
        }
        group.left -= 1;
        if group.left > 0 {
            inner.table.put(group);
        } else {
            inner.close(group);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Groups> {
        self.0.lock()
    }
}

impl Groups {
    fn state(&self, key: SourceInode) -> GroupState {
        if let Some(group) = self.table.get(key) {
            return GroupState::Placed(self.leader(group));
        }
        if self.busy.contains_key(&key) { GroupState::InProgress } else { GroupState::Unknown }
    }

    fn is_copy(&self, key: SourceInode, dest: FileKey) -> bool {
        self.copies.get(&key).is_some_and(|copies| copies.contains(&dest))
    }

    fn end_wait(&mut self, key: SourceInode) -> Vec<Waiter> {
        let waiters = self.busy.remove(&key).unwrap_or_default();
        self.waiting -= waiters.len();
        waiters
    }

    fn leader(&self, group: LinkGroup) -> Leader {
        let Record { holder, inode, identity, name } = self.record(group);
        let name = CString::new(name).unwrap_or_default();
        Leader { node: Arc::clone(self.holders.get(holder)), name, inode, identity }
    }

    fn record(&self, group: LinkGroup) -> Record<'_> {
        let take = |from: usize, length: usize| {
            self.names.get(
                group.page,
                group.at + u16::try_from(from).unwrap_or(0),
                u16::try_from(length).unwrap_or(0),
            )
        };
        let head = take(0, RECORD_HEAD_BYTES);
        Record {
            holder: u32::from_ne_bytes(head[..4].try_into().unwrap_or_default()),
            inode: u64::from_ne_bytes(head[4..12].try_into().unwrap_or_default()),
            identity: Identity(i64::from_ne_bytes(head[12..20].try_into().unwrap_or_default())),
            name: take(RECORD_HEAD_BYTES, usize::from(head[20])),
        }
    }

    fn put(&mut self, key: SourceInode, leader: &Leader, left: u16) {
        let holder = self.holders.hold(&leader.node);
        let name = leader.name.as_bytes();
        let mut record = Vec::with_capacity(RECORD_HEAD_BYTES + name.len());
        record.extend_from_slice(&holder.to_ne_bytes());
        record.extend_from_slice(&leader.inode.to_ne_bytes());
        record.extend_from_slice(&leader.identity.0.to_ne_bytes());
        record.push(u8::try_from(name.len()).expect("a name has at most 255 bytes"));
        record.extend_from_slice(name);
        let (page, at) = self.names.put(&record);
        self.table.put(LinkGroup { key, page, at, left });
    }

    /// Forgets a group and its copies.
    fn close(&mut self, group: LinkGroup) {
        self.release_leader(group);
        self.table.remove(group.key);
        self.copies.remove(&group.key);
    }

    /// Releases the leader of a group.
    fn release_leader(&mut self, group: LinkGroup) {
        let Record { holder, .. } = self.record(group);
        self.holders.release(holder);
        self.names.remove(group.page);
    }
}

impl LeaderDirs {
    fn get(&self, number: u32) -> &Arc<DirNode> {
        let (node, _) = self.slots[number as usize].as_ref().expect("it is held");
        node
    }

    fn hold(&mut self, node: &Arc<DirNode>) -> u32 {
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
            walk::to_u32(self.slots.len() - 1)
        };
        self.numbers.insert(Arc::as_ptr(node).addr(), number);
        number
    }

    fn release(&mut self, number: u32) {
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

#[cfg(test)]
mod tests;
