//! Files that may be second paths to files that count. Those below a `--distinct DIR` are not.

use std::cell::OnceCell;
use std::path::PathBuf;

use dupes::{Sight, Sights, Views};
use fsops::Volume;
use walk::{DirId, FileId, Tree};

use crate::error::CommandError;
use crate::paths::{is_at_or_below, resolve_all};

/// Directories whose files, as the user said, are not second paths to files elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Distinct(Vec<Vec<u8>>);

impl Distinct {
    /// Makes the directories that were typed absolute.
    pub(crate) fn new(typed: &[PathBuf]) -> Result<Distinct, CommandError> {
        Ok(Distinct(resolve_all(typed)?))
    }

    /// Returns whether an absolute path is one of the directories, or below one.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.0.iter().any(|dir| is_at_or_below(dir, path))
    }
}

/// Tells which files elsewhere may be second paths to files of a tree.
pub(crate) struct TreeAliases<'a> {
    tree: &'a Tree,
    distinct: &'a Distinct,
    /// Whether files of the tree may themselves be views.
    is_view: bool,
    /// The files of the tree, collected on first use.
    views: OnceCell<Views>,
}

impl<'a> TreeAliases<'a> {
    /// Prepares to recognise files of `tree`, except for those below `distinct`.
    pub(crate) fn new(tree: &'a Tree, distinct: &'a Distinct) -> TreeAliases<'a> {
        let is_view = dupes::may_have_views(tree);
        TreeAliases { tree, distinct, is_view, views: OnceCell::new() }
    }

    /// Returns whether a file on `disk`, if that is known, may be a file of the tree. Costs no system call.
    pub(crate) fn may_have(&self, disk: Option<Volume>) -> bool {
        self.is_view || may_show_others(disk)
    }

    /// Returns whether the file at an absolute path may be a file of the tree.
    pub(crate) fn has(&self, path: &[u8], sight: &Sight) -> bool {
        if !(self.is_view || sight.may_be_view()) || self.distinct.has(path) {
            return false;
        }
        let views = self.views.get_or_init(|| {
            let (sights, mut views) = (Sights::read(), Views::within_devices());
            let dirs = (0u32..).map(DirId).take(self.tree.dirs().len());
            let dirs = dirs.filter(|&dir| !self.distinct.has(&self.tree.absolute_dir_path(dir)));
            let files = dirs.flat_map(|dir| self.tree.files_in(dir)).map(FileId);
            files.for_each(|file| views.add(&sights.of(self.tree, file)));
            views
        });
        views.has(sight)
    }
}

/// Returns whether a remembered file on `disk` may be a view, as far as its file system tells.
pub(crate) fn may_show_others(disk: Option<Volume>) -> bool {
    disk.is_none_or(|disk| disk.may_show_others())
}
