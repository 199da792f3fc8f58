//! The table of all watches, each with its parent and its name.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::paths::joined;

/// A watched directory.
#[derive(Debug)]
struct Node {
    /// The watch of its parent, or `None` for the top directory of an area.
    parent: Option<i32>,
    /// Its name, or the absolute path of a top directory.
    name: Box<[u8]>,
}

/// Watches by their numbers (`wd` in inotify(7)).
#[derive(Debug, Default)]
pub(super) struct Table {
    nodes: HashMap<i32, Node>,
    /// The watches by parent and name. Only `nodes` stores the names.
    children: HashTable<i32>,
    hasher: RandomState,
}

impl Table {
    /// Adds a watch. If it exists, its directory has moved there.
    pub(super) fn add(&mut self, watch: i32, parent: Option<i32>, name: &[u8]) {
        self.remove(watch);
        self.nodes.insert(watch, Node { parent, name: name.into() });
        let Table { nodes, children, hasher } = self;
        let hash_of = |watch: &i32| nodes.get(watch).map_or(0, |node| hash(hasher, node));
        children.insert_unique(hash_of(&watch), watch, hash_of);
    }

    pub(super) fn contains(&self, watch: i32) -> bool {
        self.nodes.contains_key(&watch)
    }

    pub(super) fn remove(&mut self, watch: i32) {
        let Some(node) = self.nodes.remove(&watch) else { return };
        let hash = hash(&self.hasher, &node);
        if let Ok(child) = self.children.find_entry(hash, |other| *other == watch) {
            child.remove();
        }
    }

    /// Returns the watches from a directory up to the top of its area. Returns `None` if a directory between them has
    /// no watch, or if the table contains a cycle.
    fn up(&self, watch: i32) -> Option<Vec<(i32, &Node)>> {
        let mut found = Vec::new();
        let mut at = Some(watch);
        while let Some(watch) = at {
            let node = self.nodes.get(&watch)?;
            found.push((watch, node));
            at = node.parent;
            // The chain of parents is longer than the table, so it contains a cycle: an outdated entry
            // places a directory below itself.
            if found.len() > self.nodes.len() {
                return None;
            }
        }
        Some(found)
    }

    /// Returns the absolute path of a directory.
    pub(super) fn path(&self, watch: i32) -> Option<Vec<u8>> {
        let up = self.up(watch)?;
        let mut nodes = up.into_iter().rev();
        let top = nodes.next()?.1.name.to_vec();
        Some(nodes.fold(top, |path, (_, node)| joined(&path, &node.name)))
    }

    /// Returns the path of a directory relative to the top of its area.
    pub(super) fn path_below_top(&self, watch: i32) -> Option<Vec<u8>> {
        let names = self.up(watch)?.into_iter().rev().skip(1).map(|(_, node)| &node.name[..]);
        Some(names.collect::<Vec<_>>().join(&b'/'))
    }

    /// Returns the path of the top directory of an area.
    pub(super) fn top(&self, watch: i32) -> Option<Vec<u8>> {
        self.up(watch)?.last().map(|(_, top)| top.name.to_vec())
    }

    /// Returns whether `watch` is the watch of the subdirectory `name` of `parent`.
    pub(super) fn is_child(&self, watch: i32, parent: i32, name: &[u8]) -> bool {
        self.nodes
            .get(&watch)
            .is_some_and(|node| node.parent == Some(parent) && *node.name == *name)
    }

    /// Returns the watch of the subdirectory `name` of `parent`.
    pub(super) fn child(&self, parent: i32, name: &[u8]) -> Option<i32> {
        let hash = self.hasher.hash_one((Some(parent), name));
        self.children.find(hash, |&watch| self.is_child(watch, parent, name)).copied()
    }

    /// Removes a directory and all directories below it, and returns their watches. Also removes
    /// directories that have no path, because the table is outdated.
    pub(super) fn remove_tree(&mut self, top: i32) -> Vec<i32> {
        let is_below = |&watch: &i32| {
            self.up(watch).is_none_or(|up| up.iter().any(|(above, _)| *above == top))
        };
        let found: Vec<i32> = self.nodes.keys().copied().filter(|watch| is_below(watch)).collect();
        for &watch in &found {
            self.remove(watch);
        }
        found
    }
}

fn hash(hasher: &RandomState, node: &Node) -> u64 {
    hasher.hash_one((node.parent, &node.name[..]))
}

#[cfg(test)]
mod tests {
    use super::Table;

    fn table() -> Table {
        let mut table = Table::default();
        table.add(1, None, b"/r");
        table.add(2, Some(1), b"a");
        table.add(3, Some(2), b"b");
        table.add(4, Some(1), b"c");
        table
    }

    #[test]
    fn paths_follow_moved_directories() {
        let mut table = table();
        assert_eq!(table.path(3).as_deref(), Some(&b"/r/a/b"[..]));
        assert_eq!(table.path_below_top(3).as_deref(), Some(&b"a/b"[..]));
        assert_eq!(table.path_below_top(1).as_deref(), Some(&b""[..]));
        assert_eq!((table.child(1, b"c"), table.child(1, b"x")), (Some(4), None));
        assert_eq!(table.top(3).as_deref(), Some(&b"/r"[..]));
        assert!(table.is_child(4, 1, b"c") && !table.is_child(4, 1, b"a"));
        table.add(3, Some(4), b"d");
        assert_eq!(table.path(3).as_deref(), Some(&b"/r/c/d"[..]));
        assert_eq!(table.path(9), None);
    }

    #[test]
    fn removed_directory_takes_those_below_with_it() {
        let mut table = table();
        let mut removed = table.remove_tree(2);
        removed.sort_unstable();
        assert_eq!(removed, [2, 3]);
        assert!(table.contains(1) && table.contains(4));
    }

    #[test]
    fn circle_has_no_path() {
        let mut table = table();
        table.add(2, Some(3), b"a");
        assert_eq!(table.path(3), None);
        assert_eq!(table.remove_tree(4).len(), 3, "outdated directories are removed, too");
    }
}
