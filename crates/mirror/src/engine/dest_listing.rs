//! The entries of a destination directory before the run changes it, indexed by name.
//!
//! An entry is *claimed* if the source has an entry of the same name. `--delete` deletes every entry that is not
//! claimed. [`DestListing::claim`] marks an entry as claimed, and [`DestListing::get`] looks it up without marking it.

use std::ffi::CStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fsops::{Dir, DirBuffer, Kind};
use hashbrown::HashTable;

use crate::model::temp_name::{is_temp_name, temp_name_prefix};

/// The entries of a directory.
#[derive(Debug, Default)]
pub(crate) struct DestListing {
    items: Vec<Row>,
    names: Vec<u8>,
    by_name: HashTable<u32>,
    /// Indices of the temporary names that killed runs left, sorted by name.
    temp_names: Vec<u32>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Row {
    name_offset: u32,
    dest: DestEntry,
    claimed: AtomicBool,
}

/// An entry of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DestEntry {
    pub(crate) kind: Kind,
    pub(crate) inode: u64,
}

impl DestListing {
    pub(crate) fn list(dir: &Dir, buffer: &mut DirBuffer) -> io::Result<DestListing> {
        let mut dest_listing = DestListing::default();
        dir.for_each(buffer, |item| {
            let kind = match item.kind {
                Kind::Unknown => dir.stat_child(item.name).map_or(Kind::Unknown, |stat| stat.kind),
                kind => kind,
            };
            let name_offset = walk::to_u32(dest_listing.names.len());
            let dest = DestEntry { kind, inode: item.inode };
            dest_listing.items.push(Row { name_offset, dest, claimed: AtomicBool::new(false) });
            dest_listing.names.extend_from_slice(item.name.to_bytes_with_nul());
        })?;
        dest_listing.index();
        Ok(dest_listing)
    }

    fn index(&mut self) {
        let DestListing { items, names, by_name, temp_names, hasher } = self;
        let hash = |&index: &u32| hasher.hash_one(name(names, &items[index as usize]).to_bytes());
        by_name.reserve(items.len(), hash);
        for index in 0..walk::to_u32(items.len()) {
            by_name.insert_unique(hash(&index), index, hash);
            if is_temp_name(name(names, &items[index as usize]).to_bytes()) {
                temp_names.push(index);
            }
        }
        temp_names.sort_by_key(|&index| name(names, &items[index as usize]));
    }

    /// Returns the entry named `called` and marks it as claimed, so that `--delete` keeps it.
    pub(crate) fn claim(&self, called: &CStr) -> Option<DestEntry> {
        let item = self.item(called)?;
        item.claimed.store(true, Relaxed);
        Some(item.dest)
    }

    /// Returns whether the directory has any temporary names.
    pub(crate) fn has_temp_names(&self) -> bool {
        !self.temp_names.is_empty()
    }

    /// Returns the temporary names that killed runs created for the final name `called`, with their entries.
    pub(crate) fn temp_names_of(&self, called: &CStr) -> impl Iterator<Item = (&CStr, DestEntry)> {
        let start = if self.has_temp_names() { temp_name_prefix(called) } else { Vec::new() };
        let called = |index: &u32| name(&self.names, &self.items[*index as usize]);
        let first = self.temp_names.partition_point(|index| called(index).to_bytes() < &start[..]);
        let these = self.temp_names[first..].iter();
        let these = these.take_while(move |index| called(index).to_bytes().starts_with(&start));
        these.map(move |index| (called(index), self.items[*index as usize].dest))
    }

    /// Returns the entry named `called` without claiming it.
    pub(crate) fn get(&self, called: &CStr) -> Option<DestEntry> {
        self.item(called).map(|item| item.dest)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn item(&self, called: &CStr) -> Option<&Row> {
        let hash = self.hasher.hash_one(called.to_bytes());
        let is_it = |&index: &u32| name(&self.names, &self.items[index as usize]) == called;
        Some(&self.items[*self.by_name.find(hash, is_it)? as usize])
    }

    /// Returns the names that were not claimed: extraneous entries and temporary names.
    pub(crate) fn unclaimed(&self) -> impl Iterator<Item = (&CStr, Kind)> {
        let unclaimed = self.items.iter().filter(|item| !item.claimed.load(Relaxed));
        unclaimed.map(|item| (name(&self.names, item), item.dest.kind))
    }
}

fn name<'n>(names: &'n [u8], item: &Row) -> &'n CStr {
    CStr::from_bytes_until_nul(&names[item.name_offset as usize..]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use fsops::{Dir, Kind};
    use testkit::{TempTree, TreeBuilder};

    use super::DestListing;
    use crate::model::temp_name::TempNames;

    #[test]
    fn names_that_are_not_claimed_are_extraneous() {
        let temp = TempTree::new();
        TreeBuilder::new().file("a", "1").dir("b").symlink("c", "x").make(temp.path());
        let dir = Dir::open(temp.path()).expect("it is there");
        let dest_listing =
            DestListing::list(&dir, &mut fsops::DirBuffer::default()).expect("it is listed");
        assert_eq!(dest_listing.claim(c"b").map(|dest| dest.kind), Some(Kind::Dir));
        assert_eq!(dest_listing.claim(c"d"), None);
        assert_eq!(dest_listing.get(c"a").map(|dest| dest.kind), Some(Kind::File));
        let mut unclaimed: Vec<_> = dest_listing.unclaimed().collect();
        unclaimed.sort_by_key(|(name, _)| *name);
        assert_eq!(unclaimed, [(c"a", Kind::File), (c"c", Kind::Symlink)]);
    }

    #[test]
    fn temporary_names_are_found_by_their_final_name() {
        let runs = [TempNames::new(), TempNames::new()];
        let names = [c"a", c"b", c"c"].map(|name| runs.each_ref().map(|run| run.of(name)));
        let mut tree = TreeBuilder::new().file("a", "");
        for part in names.iter().flatten() {
            tree = tree.file(part.to_str().expect("digits"), "half");
        }
        let temp = tree.make_temp();
        let dir = Dir::open(temp.path()).expect("it is there");
        let dest_listing =
            DestListing::list(&dir, &mut fsops::DirBuffer::default()).expect("it is listed");
        for (name, [one, two]) in [c"a", c"b", c"c"].into_iter().zip(names) {
            let found: Vec<_> =
                dest_listing.temp_names_of(name).map(|(name, _)| name.to_owned()).collect();
            assert!(found == [one.clone(), two.clone()] || found == [two, one], "{name:?}");
        }
        assert_eq!(dest_listing.temp_names_of(c"d").count(), 0);
    }
}
