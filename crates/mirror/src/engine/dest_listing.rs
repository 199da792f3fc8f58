//! What a directory of the destination has in it already, by name.

use std::ffi::CStr;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use fsops::{Dir, DirBuffer, Kind};
use hashbrown::HashTable;

use crate::model::temp_name::is_part;
use crate::model::temp_name::start_of;

/// The names of a directory.
#[derive(Debug, Default)]
pub(crate) struct Present {
    items: Vec<Item>,
    names: Vec<u8>,
    by_name: HashTable<u32>,
    /// Temporary names, which runs have left that were killed.
    parts: Vec<u32>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Item {
    at: u32,
    there: There,
    wanted: AtomicBool,
}

/// What a name is at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct There {
    pub(crate) kind: Kind,
    pub(crate) inode: u64,
}

impl Present {
    pub(crate) fn list(dir: &Dir, buffer: &mut DirBuffer) -> io::Result<Present> {
        let mut present = Present::default();
        dir.for_each(buffer, |item| {
            let kind = match item.kind {
                Kind::Unknown => dir.stat_child(item.name).map_or(Kind::Unknown, |stat| stat.kind),
                kind => kind,
            };
            let at = u32::try_from(present.names.len()).unwrap_or(u32::MAX);
            let there = There { kind, inode: item.inode };
            present.items.push(Item { at, there, wanted: AtomicBool::new(false) });
            present.names.extend_from_slice(item.name.to_bytes_with_nul());
        })?;
        present.index();
        Ok(present)
    }

    fn index(&mut self) {
        let Present { items, names, by_name, parts, hasher } = self;
        let hash = |&index: &u32| hasher.hash_one(name(names, &items[index as usize]).to_bytes());
        by_name.reserve(items.len(), hash);
        for index in 0..u32::try_from(items.len()).unwrap_or(u32::MAX) {
            by_name.insert_unique(hash(&index), index, hash);
            if is_part(name(names, &items[index as usize]).to_bytes()) {
                parts.push(index);
            }
        }
        parts.sort_by_key(|&index| name(names, &items[index as usize]));
    }

    /// Returns what is there under a name that the source has too.
    pub(crate) fn find(&self, wanted: &CStr) -> Option<There> {
        let item = self.item(wanted)?;
        item.wanted.store(true, Relaxed);
        Some(item.there)
    }

    /// Returns whether there are temporary names.
    pub(crate) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Returns what is there under temporary names for `wanted`.
    pub(crate) fn parts_of(&self, wanted: &CStr) -> impl Iterator<Item = (&CStr, There)> {
        let start = if self.has_parts() { start_of(wanted) } else { Vec::new() };
        let called = |index: &u32| name(&self.names, &self.items[*index as usize]);
        let first = self.parts.partition_point(|index| called(index).to_bytes() < &start[..]);
        let these = self.parts[first..].iter();
        let these = these.take_while(move |index| called(index).to_bytes().starts_with(&start));
        these.map(move |index| (called(index), self.items[*index as usize].there))
    }

    /// Returns what is there under a name that nobody asks for by that.
    pub(crate) fn peek(&self, unwanted: &CStr) -> Option<There> {
        self.item(unwanted).map(|item| item.there)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn item(&self, called: &CStr) -> Option<&Item> {
        let hash = self.hasher.hash_one(called.to_bytes());
        let is_it = |&index: &u32| name(&self.names, &self.items[index as usize]) == called;
        Some(&self.items[*self.by_name.find(hash, is_it)? as usize])
    }

    /// Returns the names that nobody asked for.
    pub(crate) fn unwanted(&self) -> impl Iterator<Item = (&CStr, Kind)> {
        let unwanted = self.items.iter().filter(|item| !item.wanted.load(Relaxed));
        unwanted.map(|item| (name(&self.names, item), item.there.kind))
    }
}

fn name<'n>(names: &'n [u8], item: &Item) -> &'n CStr {
    CStr::from_bytes_until_nul(&names[item.at as usize..]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use fsops::{Dir, Kind};
    use testkit::{TempTree, TreeBuilder};

    use super::Present;
    use crate::model::temp_name::Parts;

    #[test]
    fn names_are_found_and_the_rest_is_unwanted() {
        let temp = TempTree::new();
        TreeBuilder::new().file("a", "1").dir("b").symlink("c", "x").make(temp.path());
        let dir = Dir::open(temp.path()).expect("it is there");
        let present = Present::list(&dir, &mut fsops::DirBuffer::default()).expect("it is listed");
        assert_eq!(present.find(c"b").map(|there| there.kind), Some(Kind::Dir));
        assert_eq!(present.find(c"d"), None);
        assert_eq!(present.peek(c"a").map(|there| there.kind), Some(Kind::File));
        let mut unwanted: Vec<_> = present.unwanted().collect();
        unwanted.sort_by_key(|(name, _)| *name);
        assert_eq!(unwanted, [(c"a", Kind::File), (c"c", Kind::Symlink)]);
    }

    #[test]
    fn temporary_names_are_found_by_what_they_are_for() {
        let runs = [Parts::new(), Parts::new()];
        let names = [c"a", c"b", c"c"].map(|name| runs.each_ref().map(|run| run.of(name)));
        let mut tree = TreeBuilder::new().file("a", "");
        for part in names.iter().flatten() {
            tree = tree.file(part.to_str().expect("digits"), "half");
        }
        let temp = tree.make_temp();
        let dir = Dir::open(temp.path()).expect("it is there");
        let present = Present::list(&dir, &mut fsops::DirBuffer::default()).expect("it is listed");
        for (name, [one, two]) in [c"a", c"b", c"c"].into_iter().zip(names) {
            let found: Vec<_> = present.parts_of(name).map(|(name, _)| name.to_owned()).collect();
            assert!(found == [one.clone(), two.clone()] || found == [two, one], "{name:?}");
        }
        assert_eq!(present.parts_of(c"d").count(), 0);
    }
}
