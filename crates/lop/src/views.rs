//! Files that may be other paths to files that count: what is below a `--distinct DIR` is not.

use std::cell::OnceCell;
use std::path::PathBuf;

use dupes::{Sight, Sights, Views};
use fsops::Volume;
use walk::{DirId, FileId, Tree};

use crate::error::CommandError;
use crate::plans::{absolute, is_in};

/// Directories of which the user said that nothing below them is another path to a file elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Distinct(Vec<Vec<u8>>);

impl Distinct {
    /// Resolves directories as they were typed.
    pub(crate) fn new(typed: &[PathBuf]) -> Result<Distinct, CommandError> {
        Ok(Distinct(absolute(typed)?))
    }

    /// Returns whether an absolute path is one of them, or below one.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.0.iter().any(|dir| is_in(dir, path))
    }
}

/// Tells which files elsewhere may be files of a tree by another path.
pub(crate) struct Shown<'a> {
    tree: &'a Tree,
    distinct: &'a Distinct,
    /// Whether files of the tree may be views themselves.
    is_view: bool,
    /// The files of the tree, collected when they are needed first.
    views: OnceCell<Views>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(tree: &'a Tree, distinct: &'a Distinct) -> Shown<'a> {
        let is_view = dupes::may_have_views(tree);
        Shown { tree, distinct, is_view, views: OnceCell::new() }
    }

    /// Returns whether a file may be one of the tree, as far as its file system tells, if that is known.
    pub(crate) fn may_have(&self, disk: Option<Volume>) -> bool {
        self.is_view || disk.is_none_or(|disk| disk.may_show_others())
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
