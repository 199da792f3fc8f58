//! A batch of names from one directory of the source, sorted by inode number.
//!
//! Sorting puts the names of one file next to each other, and the files roughly in the order in which they were
//! written. Several workers can take names from one batch. As the batch empties, each worker takes fewer names at a
//! time, so all workers stay busy to the end of a directory with a few large files.

use std::ffi::CStr;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fsops::{Dir, DirBuffer, DirItem, Kind, Stat};
use wire::{ContentHint, LeftOut};

use crate::Options;
use crate::model::attributes::Attributes;
use crate::model::dir_node::DirNode;
use crate::model::selection::{left_out_name, selects};
use crate::remote::receiver::connection::ListingCredit;

/// Size of a batch in bytes. It holds about 2,000 names, the result of one or two system calls. With batches four times
/// as large, sixteen threads needed 21 MB of memory instead of 16 MB for a tree of 3.2 million links, and a directory
/// of 200,000 files took just as long.
const BATCH_BYTES: usize = 64 << 10;

/// Maximum number of names that a worker takes at a time.
const MAX_TAKEN: usize = 64;

/// Divisor of the number of remaining names: a worker takes one eighth of them at a time.
const TAKE_FRACTION: usize = 8;

/// Some names of one directory.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    items: Vec<Row>,
    names: Vec<u8>,
    /// Metadata of the names. This field and the next two are used only if the source is on another host.
    remote_entries: Vec<RemoteEntry>,
    /// Number of the sender's listing that the names come from.
    pub(crate) listing: u64,
    /// Credit that the listing uses. It returns to the sender when the batch is dropped.
    _credit: Option<ListingCredit>,
    next: AtomicUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    inode: u64,
    name_offset: u32,
    is_dir: bool,
    remote_index: u32,
    /// Position of the name in the directory listing.
    position: u32,
}

/// One name of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchItem<'a> {
    pub(crate) name: &'a CStr,
    pub(crate) inode: u64,
    pub(crate) is_dir: bool,
    /// Metadata from the sender, if the source is on another host.
    pub(crate) remote: Option<&'a RemoteEntry>,
}

/// Determines which name of a hard-linked file is processed first. The other names become links to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precedence {
    /// The destination has an entry of this name. If its content is correct already, nothing has to be copied.
    First,
    /// The destination does not have this name.
    Next,
    /// The destination has a directory of this name, and may have to keep it.
    Last,
}

/// Capacities to reserve for a batch of remote names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchSizes {
    pub(crate) remote_entries: usize,
    pub(crate) names: usize,
    /// Total length of the names, each with its terminating NUL.
    pub(crate) name_bytes: usize,
}

/// Metadata of an inode on another host.
#[derive(Debug)]
pub(crate) struct RemoteEntry {
    pub(crate) stat: Stat,
    pub(crate) attributes: Attributes,
    /// The target of a symbolic link.
    pub(crate) target: Vec<u8>,
    /// Facts about the content from an earlier scan on the sender's host.
    pub(crate) hint: Option<Box<ContentHint>>,
}

impl Batch {
    /// Lists entries of a source directory until the batch is full. Returns the batch, and whether the directory has
    /// more entries. Calls `leave_out` for each entry that lop itself leaves out.
    pub(crate) fn fill(
        dir: &Dir,
        node: &DirNode,
        options: &Options,
        buffer: &mut DirBuffer,
        mut leave_out: impl FnMut(LeftOut, &[u8]),
    ) -> (Batch, io::Result<bool>) {
        let mut batch = Batch::default();
        let more = loop {
            let more = dir.list_some(buffer, |item| {
                let kind = match item.kind {
                    Kind::Unknown => dir.stat_child(item.name).map_or(Kind::File, |stat| stat.kind),
                    kind => kind,
                };
                let name = item.name.to_bytes();
                if let Some(why) = left_out_name(name, kind) {
                    leave_out(why, name);
                } else if selects(options, name, || node.child_path(name), kind == Kind::Dir) {
                    batch.push(&item, kind);
                }
            });
            match more {
                Ok(Some(_)) if batch.bytes() < BATCH_BYTES => {}
                Ok(more) => break Ok(more.is_some()),
                Err(e) => break Err(e),
            }
        };
        batch.sort();
        (batch, more)
    }

    fn push(&mut self, item: &DirItem<'_>, kind: Kind) {
        self.add(item.name, item.inode, kind == Kind::Dir, u32::MAX);
    }

    fn add(&mut self, name: &CStr, inode: u64, is_dir: bool, remote_index: u32) {
        let name_offset = walk::to_u32(self.names.len());
        let position = walk::to_u32(self.items.len());
        self.items.push(Row { inode, name_offset, is_dir, remote_index, position });
        self.names.extend_from_slice(name.to_bytes_with_nul());
    }

    /// Returns an empty batch for the sender's listing with the number `listing`, with the given capacities.
    pub(crate) fn of_remote(
        listing: u64,
        credit: ListingCredit,
        BatchSizes { remote_entries, names, name_bytes }: BatchSizes,
    ) -> Batch {
        Batch {
            items: Vec::with_capacity(names),
            names: Vec::with_capacity(name_bytes),
            remote_entries: Vec::with_capacity(remote_entries),
            listing,
            _credit: Some(credit),
            ..Batch::default()
        }
    }

    /// Returns the numbers that the sender assigned to the directories in the batch.
    pub(crate) fn dirs(&self) -> impl Iterator<Item = u64> {
        self.items.iter().filter(|item| item.is_dir).map(|item| item.inode)
    }

    /// Adds a directory on another host. `listing` is the number that the sender assigned to it.
    pub(crate) fn add_dir(&mut self, name: &CStr, listing: u64) {
        self.add(name, listing, true, u32::MAX);
    }

    /// Adds an inode on another host, with all of its names.
    pub(crate) fn add_remote<'n>(
        &mut self,
        entry: RemoteEntry,
        names: impl Iterator<Item = &'n CStr>,
    ) {
        let index = walk::to_u32(self.remote_entries.len());
        for name in names {
            self.add(name, entry.stat.inode, false, index);
        }
        self.remote_entries.push(entry);
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    fn bytes(&self) -> usize {
        self.names.len() + size_of_val(&self.items[..])
    }

    /// Sorts the names by inode number.
    fn sort(&mut self) {
        self.items.sort_unstable();
    }

    /// Moves the name with the highest precedence to the front of each group of hard links. The other names will be
    /// linked to it.
    pub(crate) fn order_links(&mut self, turn: impl Fn(&CStr) -> Precedence) {
        let Batch { items, names, .. } = self;
        let turn_of = |item: &Row| turn(name_at(names, item.name_offset));
        for group in items.chunk_by_mut(|one, next| one.inode == next.inode) {
            if group.len() < 2 || group[0].is_dir {
                continue;
            }
            let mut turns = [Precedence::First, Precedence::Next].into_iter();
            let first = turns.find_map(|turn| group.iter().position(|item| turn_of(item) == turn));
            group.swap(0, first.unwrap_or(0));
        }
    }

    /// Returns the index of a name in the sender's listing.
    pub(crate) fn position(&self, index: usize) -> u32 {
        self.items[index].position
    }

    /// Takes the next names for a worker. All names of a file go to one worker, because the result for the first name
    /// determines how the other names are processed.
    pub(crate) fn take(&self) -> Option<Range<usize>> {
        let step = |next: usize| {
            let left = self.items.len().saturating_sub(next);
            (left > 0).then(|| self.end_of_file(next + (left / TAKE_FRACTION).clamp(1, MAX_TAKEN)))
        };
        let start = self.next.fetch_update(Relaxed, Relaxed, step).ok()?;
        Some(start..step(start)?)
    }

    /// Extends a range that ends at `end` so that it includes all names of its last file, and returns the new end.
    fn end_of_file(&self, end: usize) -> usize {
        let (taken, rest) = self.items.split_at(end);
        let is_last = |last: &Row, item: &Row| !item.is_dir && item.inode == last.inode;
        let last = taken.last();
        end + rest.iter().take_while(|item| last.is_some_and(|last| is_last(last, item))).count()
    }

    /// Returns whether any names have not been taken yet.
    pub(crate) fn has_more(&self) -> bool {
        self.next.load(Relaxed) < self.items.len()
    }

    pub(crate) fn get(&self, index: usize) -> BatchItem<'_> {
        let Row { inode, name_offset, is_dir, remote_index, .. } = self.items[index];
        let name = name_at(&self.names, name_offset);
        BatchItem { name, inode, is_dir, remote: self.remote_entries.get(remote_index as usize) }
    }
}

fn name_at(names: &[u8], name_offset: u32) -> &CStr {
    CStr::from_bytes_until_nul(&names[name_offset as usize..]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use fsops::{DirItem, Kind};

    use super::{Batch, Precedence};

    #[test]
    fn every_name_is_taken_once_and_the_last_ones_singly() {
        let mut batch = Batch::default();
        for inode in (0..1000).rev() {
            batch.push(&DirItem { name: c"n", kind: Kind::File, inode }, Kind::File);
        }
        batch.sort();
        let taken: Vec<_> = std::iter::from_fn(|| batch.take()).collect();
        let all: Vec<usize> = taken.iter().cloned().flatten().collect();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        assert_eq!(taken.last().map(ExactSizeIterator::len), Some(1));
        assert!(all.iter().all(|&index| batch.get(index).inode == index as u64));
    }

    #[test]
    fn names_of_a_file_are_taken_together() {
        let mut batch = Batch::default();
        for inode in (0..1000).map(|at| at / 7) {
            batch.push(&DirItem { name: c"n", kind: Kind::File, inode }, Kind::File);
        }
        batch.sort();
        let taken: Vec<_> = std::iter::from_fn(|| batch.take()).collect();
        let ends: Vec<_> = taken.iter().map(|range| range.end).collect();
        assert!(ends.iter().all(|end| end % 7 == 0 || *end == 1000), "{ends:?}");
        assert_eq!(taken.into_iter().flatten().collect::<Vec<_>>(), (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn among_names_of_a_file_an_existing_one_comes_first() {
        let mut batch = Batch::default();
        for (name, inode) in [(c"a", 1), (c"b", 2), (c"c", 2), (c"d", 2), (c"e", 3), (c"f", 3)] {
            batch.push(&DirItem { name, kind: Kind::File, inode }, Kind::File);
        }
        batch.order_links(|name| if name < c"d" { Precedence::Next } else { Precedence::First });
        let names: Vec<_> = (0..6).map(|index| batch.get(index).name).collect();
        assert_eq!(names, [c"a", c"d", c"c", c"b", c"e", c"f"]);
        assert_eq!((batch.position(1), batch.position(3)), (3, 1));
    }
}
