//! Determines whether a path is inside or outside the directory that a question is about.

use std::collections::HashSet;

use dupes::dirs_of;
use fsops::{FileKey, Volume};
use walk::{Tree, in_system_dir};

use crate::paths::is_below;
use crate::questions::aliases::{Distinct, TreeAliases};
use crate::questions::inspect::Inspector;

/// The location of a remembered file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Location {
    /// Outside the directory, in a place where a copy counts.
    Outside,
    /// Inside the directory.
    Inside,
    /// Outside the directory, but possibly an alias of a file inside it.
    Alias,
    /// In a place where a copy does not count.
    Elsewhere,
}

/// Decides which paths are inside a directory: those whose parent is a directory of the tree. Directories are compared
/// by device and inode number, so any path to such a directory counts.
pub(super) struct Bounds<'a> {
    tree: &'a Tree,
    /// Device and inode number of each directory in the tree.
    dirs: HashSet<FileKey>,
    aliases: TreeAliases<'a>,
}

impl<'a> Bounds<'a> {
    /// Returns the bounds of a tree. Files below `distinct` are never aliases of files in the tree.
    pub(super) fn new(tree: &'a Tree, distinct: &'a Distinct) -> Bounds<'a> {
        Bounds { tree, dirs: dirs_of(tree), aliases: TreeAliases::new(tree, distinct) }
    }

    /// Returns the location of an existing file. `disk` is the file system of the file according to the catalog. For a
    /// file in the trash or in a snapshot, returns [`Location::Elsewhere`], because such a file does not count as a
    /// copy.
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

    /// Returns whether an existing file is or may be outside the directory.
    pub(super) fn is_outside(&self, path: &[u8], inspector: &mut Inspector) -> bool {
        matches!(self.place(path, None, inspector), Location::Outside | Location::Alias)
    }

    /// Returns whether a file is outside the directory and in the trash or another system directory.
    pub(super) fn is_in_system_dir(&self, path: &[u8]) -> bool {
        in_system_dir(path) && !self.is_below(path)
    }

    fn is_below(&self, path: &[u8]) -> bool {
        self.tree.roots().iter().any(|root| is_below(&root.absolute, path))
    }
}
