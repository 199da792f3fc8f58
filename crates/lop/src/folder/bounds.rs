//! Where a path is: inside a directory that is asked about, outside of it, or in a place that does not count.

use std::collections::HashSet;

use dupes::dirs_of;
use fsops::{FileKey, Volume};
use walk::{Tree, in_system_dir};

use crate::look::Looker;
use crate::verifying::Place;
use crate::views::{Distinct, Shown};

/// The bounds of a directory: tells whether a path is inside, by its name or because it is a second path to the inside.
pub(super) struct Bounds<'a> {
    tree: &'a Tree,
    /// The directories of the tree, so that second paths to them count as inside.
    dirs: HashSet<FileKey>,
    shown: Shown<'a>,
}

impl<'a> Bounds<'a> {
    /// Returns the bounds of a tree; `distinct` has directories that are no second path to it.
    pub(super) fn new(tree: &'a Tree, distinct: &'a Distinct) -> Bounds<'a> {
        Bounds { tree, dirs: dirs_of(tree), shown: Shown::new(tree, distinct) }
    }

    /// Returns where an existing file is. `disk` is the file system that the catalog has for it, if any. Files in the
    /// trash or in a snapshot are elsewhere: they do not count as copies.
    pub(super) fn place(&self, path: &[u8], disk: Option<Volume>, looker: &mut Looker) -> Place {
        match looker.dir_key(path) {
            Ok(dir) if self.dirs.contains(&dir) => Place::Inside,
            Ok(_) if in_system_dir(path) || self.is_below(path) => Place::Elsewhere,
            Ok(_) if !self.shown.may_have(disk) => Place::Outside,
            Ok(_) => match looker.sight(path) {
                Ok(sight) if self.shown.has(path, &sight) => Place::View,
                Ok(_) => Place::Outside,
                Err(_) => Place::Elsewhere,
            },
            Err(_) => Place::Elsewhere,
        }
    }

    /// Returns whether an existing file is outside, or may be.
    pub(super) fn is_outside(&self, path: &[u8], looker: &mut Looker) -> bool {
        matches!(self.place(path, None, looker), Place::Outside | Place::View)
    }

    /// Returns whether a file is outside, in the trash or another system folder.
    pub(super) fn is_in_system_dir(&self, path: &[u8]) -> bool {
        in_system_dir(path) && !self.is_below(path)
    }

    fn is_below(&self, path: &[u8]) -> bool {
        self.tree.roots().iter().any(|root| is_below(&root.absolute, path))
    }
}

/// Returns whether `path` is below directory `dir`, both absolute.
pub(crate) fn is_below(dir: &[u8], path: &[u8]) -> bool {
    let rest = path.strip_prefix(dir);
    rest.is_some_and(|rest| dir.ends_with(b"/") || rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn a_name_that_only_begins_alike_is_not_below() {
        assert!(is_below(b"/a", b"/a/b"));
        assert!(is_below(b"/", b"/a"));
        assert!(!is_below(b"/a", b"/ab/c"));
        assert!(!is_below(b"/a", b"/a"));
    }
}
