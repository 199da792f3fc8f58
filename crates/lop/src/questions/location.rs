//! Where a path is: inside a directory that is asked about, outside of it, or in a place that does not count.

use std::collections::HashSet;

use dupes::dirs_of;
use fsops::{FileKey, Volume};
use walk::{Tree, in_system_dir};

use crate::paths::is_below;
use crate::questions::aliases::{Distinct, TreeAliases};
use crate::questions::inspect::Inspector;

/// Where a remembered file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Location {
    /// Where a copy counts.
    Outside,
    /// Among the files that are asked about.
    Inside,
    /// Outside, but perhaps a second path to a file inside.
    Alias,
    /// In neither.
    Elsewhere,
}

/// The bounds of a directory: tells whether a path is inside, by its name or because it is a second path to the inside.
pub(super) struct Bounds<'a> {
    tree: &'a Tree,
    /// The directories of the tree, so that second paths to them count as inside.
    dirs: HashSet<FileKey>,
    aliases: TreeAliases<'a>,
}

impl<'a> Bounds<'a> {
    /// Returns the bounds of a tree; `distinct` has directories that are no second path to it.
    pub(super) fn new(tree: &'a Tree, distinct: &'a Distinct) -> Bounds<'a> {
        Bounds { tree, dirs: dirs_of(tree), aliases: TreeAliases::new(tree, distinct) }
    }

    /// Returns where an existing file is. `disk` is the file system that the catalog has for it, if any. Files in the
    /// trash or in a snapshot are elsewhere: they do not count as copies.
    pub(super) fn place(
        &self,
        path: &[u8],
        disk: Option<Volume>,
        inspector: &mut Inspector,
    ) -> Location {
        match inspector.dir_key(path) {
            Ok(dir) if self.dirs.contains(&dir) => Location::Inside,
            Ok(_) if in_system_dir(path) || self.is_below(path) => Location::Elsewhere,
            Ok(_) if !self.aliases.may_have(disk) => Location::Outside,
            Ok(_) => match inspector.sight(path) {
                Ok(sight) if self.aliases.has(path, &sight) => Location::Alias,
                Ok(_) => Location::Outside,
                Err(_) => Location::Elsewhere,
            },
            Err(_) => Location::Elsewhere,
        }
    }

    /// Returns whether an existing file is outside, or may be.
    pub(super) fn is_outside(&self, path: &[u8], inspector: &mut Inspector) -> bool {
        matches!(self.place(path, None, inspector), Location::Outside | Location::Alias)
    }

    /// Returns whether a file is outside, in the trash or another system folder.
    pub(super) fn is_in_system_dir(&self, path: &[u8]) -> bool {
        in_system_dir(path) && !self.is_below(path)
    }

    fn is_below(&self, path: &[u8]) -> bool {
        self.tree.roots().iter().any(|root| is_below(&root.absolute, path))
    }
}
