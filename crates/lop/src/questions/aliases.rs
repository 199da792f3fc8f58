//! Recognises aliases: paths on a network, FUSE or overlay file system that may lead to a file that also has another
//! path.
//!
//! An alias must not count as a copy. With `--distinct DIR`, the user asserts that no file below `DIR` is an alias.

use std::cell::OnceCell;
use std::path::PathBuf;

use dupes::{AliasDetector, AliasKey, AliasKeyReader};
use fsops::Volume;
use walk::{DirId, FileId, Tree};

use crate::error::CommandError;
use crate::paths::{is_at_or_below, resolve_all};

/// Directories from `--distinct`. Files below them are never treated as aliases.
#[derive(Debug, Default)]
pub(crate) struct Distinct(Vec<Vec<u8>>);

impl Distinct {
    /// Resolves the directories that the user typed.
    ///
    /// # Errors
    ///
    /// Fails if a directory does not exist.
    pub(crate) fn new(typed: &[PathBuf]) -> Result<Distinct, CommandError> {
        Ok(Distinct(resolve_all(typed)?))
    }

    /// Returns whether an absolute path is at or below one of the directories.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.0.iter().any(|dir| is_at_or_below(dir, path))
    }
}

/// Decides whether a file outside a tree may be an alias of a file in the tree.
pub(crate) struct TreeAliases<'a> {
    tree: &'a Tree,
    distinct: &'a Distinct,
    /// True if files in the tree may themselves be aliases.
    is_view: bool,
    /// Alias keys of the files in the tree, collected on first use.
    views: OnceCell<AliasDetector>,
}

impl<'a> TreeAliases<'a> {
    /// Creates a detector for aliases of the files in `tree`. Files below `distinct` are never treated as aliases.
    pub(crate) fn new(tree: &'a Tree, distinct: &'a Distinct) -> TreeAliases<'a> {
        let is_view = dupes::may_have_aliases(tree);
        TreeAliases { tree, distinct, is_view, views: OnceCell::new() }
    }

    /// Returns whether a file on `disk` may be an alias of a file in the tree. Makes no system call.
    pub(crate) fn may_have(&self, disk: Option<Volume>) -> bool {
        self.is_view || may_show_others(disk)
    }

    /// Returns whether the file at an absolute path may be an alias of a file in the tree.
    pub(crate) fn has(&self, path: &[u8], sight: &AliasKey) -> bool {
        if !(self.is_view || sight.may_be_alias()) || self.distinct.has(path) {
            return false;
        }
        let views = self.views.get_or_init(|| {
            let (sights, mut views) = (AliasKeyReader::read(), AliasDetector::within_devices());
            let dirs = (0u32..).map(DirId).take(self.tree.dirs().len());
            let dirs = dirs.filter(|&dir| !self.distinct.has(&self.tree.absolute_dir_path(dir)));
            let files = dirs.flat_map(|dir| self.tree.files_in(dir)).map(FileId);
            files.for_each(|file| views.add(&sights.of(self.tree, file)));
            views
        });
        views.has(sight)
    }
}

/// Returns whether a remembered file on `disk` may be an alias, based on the type of the file system. If the type is
/// unknown, returns true.
pub(crate) fn may_show_others(disk: Option<Volume>) -> bool {
    disk.is_none_or(|disk| disk.may_show_others())
}
