//! Names of one directory of the source, in the order of their inodes.
//!
//! Names of one file come after each other that way, and files in about the order in which they were
//! written. Several workers take from one window, the fewer at a time the fewer are left: a directory with
//! a few large files keeps all of them at work to its end.

use std::ffi::CStr;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fsops::{Dir, DirBuffer, DirItem, Kind, Stat};
use wire::LeftOut;

use crate::Options;
use crate::model::attributes::Attributes;
use crate::model::content::ContentHint;
use crate::model::dir_node::DirNode;
use crate::model::selection::{is_quarantine, selects};
use crate::model::temp_name::is_temp_name;
use crate::remote::receiver::connection::ListingCredit;

/// Bytes of names in a window: 2,000 names or so, a call or two of the listing. With four times as much, sixteen
/// threads took 21 MB instead of 16 for the tree of 3.2 million links, and one directory of 200,000 files took as long.
const BATCH_BYTES: usize = 64 << 10;

/// Most names that a worker takes at once.
const MAX_TAKEN: usize = 64;

/// Parts of what is left that a worker takes one of.
const TAKE_FRACTION: usize = 8;

/// Some names of one directory.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    items: Vec<Row>,
    names: Vec<u8>,
    /// Of a source on another host, what the names are, the number that the sender has this by, and what it
    /// takes of what may be sent ahead.
    remote_entries: Vec<RemoteEntry>,
    pub(crate) listing: u64,
    _credit: Option<ListingCredit>,
    next: AtomicUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    inode: u64,
    name_offset: u32,
    is_dir: bool,
    remote_index: u32,
    /// Where it was listed.
    position: u32,
}

/// One name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchItem<'a> {
    pub(crate) name: &'a CStr,
    pub(crate) inode: u64,
    pub(crate) is_dir: bool,
    /// What the source said of it, if it is on another host.
    pub(crate) remote: Option<&'a RemoteEntry>,
}

/// When a name of a file is dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precedence {
    /// The destination has it: what is there may be the file already, and nothing need be copied.
    First,
    /// The destination does not have it.
    Next,
    /// The destination has a directory of that name, which may have to stay.
    Last,
}

/// How much memory a batch of remote names needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchSizes {
    pub(crate) remote_entries: usize,
    pub(crate) names: usize,
    /// Bytes of all names, each with its NUL.
    pub(crate) name_bytes: usize,
}

/// What a name is in the source.
#[derive(Debug)]
pub(crate) struct RemoteEntry {
    pub(crate) stat: Stat,
    pub(crate) attributes: Attributes,
    /// What it is a symbolic link to.
    pub(crate) target: Vec<u8>,
    /// What was known of its content from earlier.
    pub(crate) hint: Option<Box<ContentHint>>,
}

impl Batch {
    /// Returns names of a directory of the source, and whether there are more; `leave_out` is told of those that are
    /// left out as they are lop's own.
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
                if let Some(why) = is_own(name, kind) {
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
        let name_offset = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let position = u32::try_from(self.items.len()).unwrap_or(u32::MAX);
        self.items.push(Row { inode, name_offset, is_dir, remote_index, position });
        self.names.extend_from_slice(name.to_bytes_with_nul());
    }

    /// Returns one with the number that the sender has it by, and room for so many records, names, and bytes of these.
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

    /// Returns the numbers of the directories.
    pub(crate) fn dirs(&self) -> impl Iterator<Item = u64> {
        self.items.iter().filter(|item| item.is_dir).map(|item| item.inode)
    }

    /// Adds a directory that was listed on another host, by the number that it has there.
    pub(crate) fn add_dir(&mut self, name: &CStr, listing: u64) {
        self.add(name, listing, true, u32::MAX);
    }

    /// Adds what was listed on another host, under all of these names.
    pub(crate) fn add_remote<'n>(
        &mut self,
        entry: RemoteEntry,
        names: impl Iterator<Item = &'n CStr>,
    ) {
        let index = u32::try_from(self.remote_entries.len()).unwrap_or(u32::MAX);
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

    /// Puts the names in order.
    fn sort(&mut self) {
        self.items.sort_unstable();
    }

    /// Has each file that has several names here dealt with first under the one whose turn comes first: others are
    /// then linked to that.
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

    /// Returns where the sender listed a name.
    pub(crate) fn position(&self, index: usize) -> u32 {
        self.items[index].position
    }

    /// Returns the names that a worker takes next. All names of a file go to one worker, because the first decides what
    /// becomes of the others.
    pub(crate) fn take(&self) -> Option<Range<usize>> {
        let step = |next: usize| {
            let left = self.items.len().saturating_sub(next);
            (left > 0).then(|| self.end_of_file(next + (left / TAKE_FRACTION).clamp(1, MAX_TAKEN)))
        };
        let start = self.next.fetch_update(Relaxed, Relaxed, step).ok()?;
        Some(start..step(start)?)
    }

    /// Moves `end` behind the last name of the file that the name before `end` belongs to.
    fn end_of_file(&self, end: usize) -> usize {
        let (taken, rest) = self.items.split_at(end);
        let is_last = |last: &Row, item: &Row| !item.is_dir && item.inode == last.inode;
        let last = taken.last();
        end + rest.iter().take_while(|item| last.is_some_and(|last| is_last(last, item))).count()
    }

    /// Returns whether there are names that nobody has taken.
    pub(crate) fn has_more(&self) -> bool {
        self.next.load(Relaxed) < self.items.len()
    }

    pub(crate) fn get(&self, index: usize) -> BatchItem<'_> {
        let Row { inode, name_offset, is_dir, remote_index, .. } = self.items[index];
        let name = name_at(&self.names, name_offset);
        BatchItem { name, inode, is_dir, remote: self.remote_entries.get(remote_index as usize) }
    }
}

/// Returns why a name of the source is left out as it is lop's own.
fn is_own(name: &[u8], kind: Kind) -> Option<LeftOut> {
    let is_store = kind == Kind::Dir && is_quarantine(name);
    is_temp_name(name)
        .then_some(LeftOut::Temporary)
        .or_else(|| is_store.then_some(LeftOut::Quarantine))
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
    fn of_names_of_a_file_one_that_is_there_comes_first() {
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
