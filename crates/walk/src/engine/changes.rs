//! The changed entries that a walk examines instead of everything below its roots.

use std::collections::BTreeMap;

/// Changed entries, by absolute path.
///
/// A walk with a set of changes examines only the entries in the set: single names, whole directories
/// without their subdirectories, or whole trees. It looks up a single name without listing the directory.
/// The resulting [`crate::Tree`] records which names the walk looked up, so a caller can tell a name that is
/// gone from a name that the walk did not examine.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    top: Node,
    names: usize,
}

#[derive(Clone, Debug, Default)]
struct Node {
    extent: Extent,
    children: BTreeMap<Box<[u8]>, Node>,
}

/// The part of a directory that the walk examines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Extent {
    /// The entries in [`Node::children`].
    #[default]
    Children,
    /// All entries. The walk opens only those subdirectories that have a node.
    Entries,
    /// Everything below the directory.
    Tree,
}

/// The part of one directory that a walk examines.
#[derive(Clone, Copy, Debug)]
pub(crate) enum View<'a> {
    /// The walk does not open the directory.
    Nothing,
    /// The walk looks up these names.
    Names(Names<'a>),
    /// The walk lists the directory.
    All,
}

/// The names to look up in a directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a>(&'a BTreeMap<Box<[u8]>, Node>);

impl Names<'_> {
    /// Returns the names in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.keys().map(AsRef::as_ref)
    }
}

impl Changes {
    /// Adds the entry at an absolute path. If it is a directory, the walk does not open it.
    pub fn add_entry(&mut self, path: &[u8]) {
        self.add(path, Extent::Children);
    }

    /// Adds all entries of the directory at an absolute path. The walk does not open subdirectories.
    pub fn add_listing(&mut self, path: &[u8]) {
        self.add(path, Extent::Entries);
    }

    /// Adds the entry at an absolute path. If it is a directory, the walk covers everything below it.
    pub fn add_tree(&mut self, path: &[u8]) {
        self.add(path, Extent::Tree);
    }

    /// Returns the number of paths that were added.
    pub fn len(&self) -> usize {
        self.names
    }

    /// Returns whether no path was added.
    pub fn is_empty(&self) -> bool {
        self.names == 0
    }

    fn add(&mut self, path: &[u8], extent: Extent) {
        self.names += 1;
        let mut node = &mut self.top;
        for name in components(path) {
            if node.extent == Extent::Tree {
                return;
            }
            node = node.children.entry(name.into()).or_default();
        }
        node.extent = node.extent.max(extent);
        if extent == Extent::Tree {
            node.children.clear();
        }
    }

    /// Returns which part of a directory the walk examines. The directory has the path `below` relative to a root with
    /// the absolute path `root`.
    pub(crate) fn view(&self, root: &[u8], below: &[u8]) -> View<'_> {
        let mut node = &self.top;
        for name in components(root).chain(components(below)) {
            match node.children.get(name) {
                _ if node.extent == Extent::Tree => return View::All,
                None => return View::Nothing,
                Some(child) => node = child,
            }
        }
        match node.extent {
            Extent::Children if node.children.is_empty() => View::Nothing,
            Extent::Children => View::Names(Names(&node.children)),
            Extent::Entries | Extent::Tree => View::All,
        }
    }
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&b| b == b'/').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Changes, View};

    /// Returns the view of each path as text.
    fn views<'p>(changes: &Changes, paths: &[&'p str]) -> Vec<(&'p str, String)> {
        let view = |below: &str| match changes.view(b"/root", below.as_bytes()) {
            View::Nothing => "nothing".into(),
            View::All => "all".into(),
            View::Names(names) => {
                names.iter().map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ")
            }
        };
        paths.iter().map(|&below| (below, view(below))).collect()
    }

    #[test]
    fn only_what_was_added_is_examined() {
        let mut changes = Changes::default();
        assert!(changes.is_empty());
        assert_eq!(views(&changes, &[""]), [("", "nothing".into())]);
        changes.add_entry(b"/root/a/file");
        changes.add_entry(b"/root/a/other");
        changes.add_listing(b"/root/b");
        changes.add_tree(b"/root/b/deep");
        changes.add_entry(b"/root/b/deep/x/y");
        changes.add_entry(b"/elsewhere/x");
        assert_eq!(changes.len(), 6);
        let expected = [
            ("", "a b"),
            ("a", "file other"),
            ("a/file", "nothing"),
            ("a/x", "nothing"),
            ("b", "all"),
            ("b/shallow", "nothing"),
            ("b/deep", "all"),
            ("b/deep/x", "all"),
            ("elsewhere", "nothing"),
        ];
        let paths = expected.map(|(path, _)| path);
        assert_eq!(views(&changes, &paths), expected.map(|(path, view)| (path, view.to_string())));
    }

    #[test]
    fn a_tree_replaces_what_was_added_below_it() {
        let mut changes = Changes::default();
        changes.add_entry(b"/root/a/file");
        changes.add_tree(b"/root/a");
        changes.add_listing(b"/root/a");
        let expected = [("", "a".to_string()), ("a", "all".into()), ("a/file", "all".into())];
        assert_eq!(views(&changes, &["", "a", "a/file"]), expected);
    }
}
