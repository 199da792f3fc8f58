//! The table of all watches, each with its parent and its name.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};

use crate::paths::joined;

/// A watched directory.
#[derive(Debug)]
struct Node {
    /// The watch of its parent, or `None` for the top directory of an area.
    parent: Option<i32>,
    /// Its name, or the absolute path of a top directory.
    name: Box<[u8]>,
}

/// Watches by their numbers (`wd` in inotify(7)). The parent of a watch is always in the table, unless its directory no
/// longer exists, and no directory is below itself.
#[derive(Debug, Default)]
pub(super) struct Table {
    nodes: HashMap<i32, Node>,
    /// All watches that have parents: the parent, the hash of the name, and the watch.
    children: BTreeSet<(i32, u32, i32)>,
    hasher: RandomState,
}

impl Table {
    /// Adds a watch. If it exists, its directory has moved there, together with the directories below it.
    ///
    /// Returns false and adds nothing if the table is outdated: it does not contain the parent, or contains it below
    /// the directory itself. The events that are waiting then tell where the directories are.
    #[must_use]
    pub(super) fn add(&mut self, watch: i32, parent: Option<i32>, name: &[u8]) -> bool {
        if let Some(parent) = parent
            && (!self.contains(parent) || self.up(parent).any(|(above, _)| above == watch))
        {
            return false;
        }
        self.remove(watch);
        if let Some(parent) = parent {
            self.children.insert((parent, self.hash(name), watch));
        }
        self.nodes.insert(watch, Node { parent, name: name.into() });
        true
    }

    pub(super) fn contains(&self, watch: i32) -> bool {
        self.nodes.contains_key(&watch)
    }

    pub(super) fn remove(&mut self, watch: i32) {
        let Some(node) = self.nodes.remove(&watch) else { return };
        if let Some(parent) = node.parent {
            self.children.remove(&(parent, self.hash(&node.name), watch));
        }
    }

    /// Returns the watches from a directory up to the top of its area. If a directory between them no longer exists,
    /// they end below it.
    fn up(&self, watch: i32) -> impl Iterator<Item = (i32, &Node)> {
        let node = |watch: i32| Some((watch, self.nodes.get(&watch)?));
        std::iter::successors(node(watch), move |(_, below)| node(below.parent?))
    }

    /// Returns the path of the top directory above a directory, and the names of the directories between them.
    fn split(&self, watch: i32) -> Option<(&[u8], Vec<&[u8]>)> {
        let mut names: Vec<&[u8]> = Vec::new();
        for (_, node) in self.up(watch) {
            if node.parent.is_none() {
                names.reverse();
                return Some((&node.name, names));
            }
            names.push(&node.name);
        }
        None
    }

    /// Returns the absolute path of a directory.
    pub(super) fn path(&self, watch: i32) -> Option<Vec<u8>> {
        let (top, names) = self.split(watch)?;
        Some(names.iter().fold(top.to_vec(), |path, name| joined(&path, name)))
    }

    /// Returns the path of the top directory of the area that contains a directory, and the path of the directory
    /// relative to it.
    pub(super) fn place(&self, watch: i32) -> Option<(Vec<u8>, Vec<u8>)> {
        let (top, names) = self.split(watch)?;
        Some((top.to_vec(), names.join(&b'/')))
    }

    /// Returns whether `watch` is the watch of the top directory of an area.
    pub(super) fn is_top(&self, watch: i32, path: &[u8]) -> bool {
        let node = self.nodes.get(&watch);
        node.is_some_and(|node| node.parent.is_none() && *node.name == *path)
    }

    /// Returns whether `watch` is the watch of the subdirectory `name` of `parent`.
    pub(super) fn is_child(&self, watch: i32, parent: i32, name: &[u8]) -> bool {
        let node = self.nodes.get(&watch);
        node.is_some_and(|node| node.parent == Some(parent) && *node.name == *name)
    }

    /// Returns the watch of the subdirectory `name` of `parent`.
    pub(super) fn child(&self, parent: i32, name: &[u8]) -> Option<i32> {
        let hash = self.hash(name);
        let found = self.children.range((parent, hash, i32::MIN)..=(parent, hash, i32::MAX));
        found.map(|&(_, _, watch)| watch).find(|&watch| self.is_child(watch, parent, name))
    }

    /// Removes a directory and all directories below it, and returns their watches.
    pub(super) fn remove_tree(&mut self, top: i32) -> Vec<i32> {
        let mut found = vec![top];
        let mut at = 0;
        while let Some(&watch) = found.get(at) {
            let below = self.children.range((watch, 0, i32::MIN)..=(watch, u32::MAX, i32::MAX));
            found.extend(below.map(|&(_, _, child)| child));
            at += 1;
        }
        for &watch in &found {
            self.remove(watch);
        }
        found
    }

    fn hash(&self, name: &[u8]) -> u32 {
        let [a, b, c, d, ..] = self.hasher.hash_one(name).to_ne_bytes();
        u32::from_ne_bytes([a, b, c, d])
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    fn table() -> Table {
        let mut table = Table::default();
        assert!(table.add(1, None, b"/r"));
        for (watch, parent, name) in [(2, 1, b"a"), (3, 2, b"b"), (4, 1, b"c")] {
            assert!(table.add(watch, Some(parent), name));
        }
        table
    }

    #[test]
    fn paths_follow_moved_directories() {
        let mut table = table();
        assert_eq!(table.path(3).as_deref(), Some(&b"/r/a/b"[..]));
        assert_eq!(table.place(3), Some((b"/r".to_vec(), b"a/b".to_vec())));
        assert_eq!(table.place(1), Some((b"/r".to_vec(), Vec::new())));
        assert_eq!((table.child(1, b"c"), table.child(1, b"x")), (Some(4), None));
        assert!(table.is_child(4, 1, b"c") && !table.is_child(4, 1, b"a"));
        assert!(table.is_top(1, b"/r") && !table.is_top(1, b"/") && !table.is_top(4, b"c"));
        assert!(table.add(2, Some(4), b"d"));
        assert_eq!(table.path(3).as_deref(), Some(&b"/r/c/d/b"[..]));
        assert_eq!((table.child(1, b"a"), table.child(4, b"d")), (None, Some(2)));
        assert_eq!(table.path(9), None);
    }

    #[test]
    fn removed_directory_takes_those_below_with_it() {
        let mut table = table();
        assert_eq!(table.remove_tree(2), [2, 3]);
        assert!(table.contains(1) && table.contains(4));
        assert_eq!(table.children.len(), 1);
        assert_eq!(table.remove_tree(9), [9], "the kernel may watch it");
        assert_eq!(table.remove_tree(1), [1, 4]);
        assert!(table.nodes.is_empty() && table.children.is_empty());
    }

    #[test]
    fn outdated_parent_is_refused() {
        let mut table = table();
        assert!(!table.add(2, Some(3), b"a"), "it would be below itself");
        assert!(!table.add(2, Some(2), b"a"));
        assert!(!table.add(5, Some(9), b"a"), "nothing is known about the parent");
        assert!(!table.contains(5));
        assert_eq!(table.path(3).as_deref(), Some(&b"/r/a/b"[..]));
        table.remove(2);
        assert_eq!(table.path(3), None);
    }

    /// With one pass over the table for each removal, this takes minutes.
    #[test]
    fn removal_takes_only_the_time_of_the_removed_tree() {
        let mut table = Table::default();
        assert!(table.add(1, None, b"/r"));
        for watch in 2..100_000 {
            assert!(table.add(watch, Some(1), &watch.to_ne_bytes()));
        }
        for watch in 2..100_000 {
            assert_eq!(table.remove_tree(watch).len(), 1);
        }
        assert_eq!(table.remove_tree(1), [1]);
    }
}
