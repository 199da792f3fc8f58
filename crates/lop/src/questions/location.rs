//! Where a path is: inside the directory in question, outside of it, or in a place that does not count.

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
    /// Where a copy counts.
    Outside,
    /// In the directory in question.
    Inside,
    /// Outside, but perhaps an alias of a file inside.
    Alias,
    /// Where a copy does not count.
    Elsewhere,
}

/// The bounds of a directory. A path is inside by its name, or because it leads to one of the directories inside.
pub(super) struct Bounds<'a> {
    tree: &'a Tree,
    /// The directories of the tree, so that other paths to them count as inside.
    dirs: HashSet<FileKey>,
    aliases: TreeAliases<'a>,
}

impl<'a> Bounds<'a> {
    /// Returns the bounds of a tree; the files below `distinct` are no aliases of its files.
    pub(super) fn new(tree: &'a Tree, distinct: &'a Distinct) -> Bounds<'a> {
        Bounds { tree, dirs: dirs_of(tree), aliases: TreeAliases::new(tree, distinct) }
    }

    /// Returns the location of an existing file. `disk` is the file system that the catalog has for it, if any. Files
    /// in the trash or in a snapshot are elsewhere, because they do not count as copies.
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
