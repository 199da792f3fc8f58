//! Attaches what is remembered to the files of a walk.
//!
//! One pass over the rows below the roots, directory by directory and name by name, tells which
//! files are unchanged, which rows a commit has to write, and which are gone. A file whose
//! directory was moved is found again by its inode.
//!
//! # What is gone
//!
//! A remembered file is forgotten only if its directory was listed to its end, the name was not met, and
//! the file system that is there is the one that the file was on. Everything else stays remembered: what a
//! filter left out ([`Tree::left_out`]), what could not be looked at, and what is on a disk that is not
//! mounted.

mod inodes;
mod merge;
mod outside;
pub(crate) mod stored;
mod unreachable;

use std::collections::HashSet;

use content::{Digest, Facts, Head};
use walk::{FileId, Tree};

use crate::error::Error;
use crate::open::Catalog;
use crate::state::FileState;
use crate::tables::dirs::Dirs;
use crate::tables::rows::{Contents, FileRow};
use crate::tables::volumes::Volumes;
use stored::{Orphans, Stored};
use unreachable::UnreachableRows;

/// What the catalog knows of the files of a tree.
#[derive(Debug)]
pub struct TreeMatch {
    /// What is known of contents, for the engine to use and add to.
    pub fingerprints: Facts,
    /// How the tree and the catalog relate, for a commit.
    pub rows: RowMap,
}

/// How the tree and the catalog's rows relate.
#[derive(Debug, Default)]
pub struct RowMap {
    pub(crate) dirs: Dirs,
    /// The row of each directory of the tree, 0 for none.
    pub(crate) dir_rows: Vec<i64>,
    /// What is stored of each file of the tree; `None` if there is no row or it is out of date.
    pub(crate) stored: Vec<Stored>,
    pub(crate) volumes: Volumes,
    pub(crate) contents: Contents,
    /// Rows of files that are gone.
    pub(crate) gone_files: Vec<(i64, Box<[u8]>)>,
    /// Rows of directories that are gone, with all that is in them.
    pub(crate) gone_dirs: Vec<i64>,
    /// Contents that lost a file.
    pub(crate) touched: HashSet<i64>,
    /// Files below the roots that are on a disk that is not mounted.
    pub(crate) offline: u64,
    /// Rows that have the size of a file of the tree and are out of reach.
    pub(crate) unreachable: UnreachableRows,
    pub(crate) suspects: Vec<Suspect>,
    /// Whether nothing is believed of the tree's files.
    reread: bool,
    /// The row of the scan, once it has one.
    pub(crate) scan: Option<i64>,
}

/// A file that is read again although its metadata is that of the last scan: it was found bad since, or everything is
/// read again.
#[derive(Clone, Copy, Debug)]
pub struct Suspect {
    /// The file.
    pub file: FileId,
    /// Its head when it was scanned.
    pub head: Option<Head>,
    /// BLAKE3 of its content when it was scanned.
    pub digest: Option<Digest>,
    content: Option<i64>,
}

impl Suspect {
    /// Returns row and digest of the content that the file had.
    pub(crate) fn content(&self) -> Option<(Digest, i64)> {
        self.digest.zip(self.content)
    }
}

impl RowMap {
    /// Tells `facts` what is remembered of a file that is in the tree, or makes it a suspect; returns what is
    /// stored of it.
    fn attach(&mut self, fingerprints: &Facts, file: FileId, row: &FileRow) -> Stored {
        let FileRow { head, content, state, .. } = *row;
        let stored = Stored::of(row);
        if !state.is_bad() && !self.reread {
            self.contents.attach(fingerprints, file.0, row);
            return stored;
        }
        let digest = content.and_then(|content| self.contents.row(content)?.digest);
        self.suspects.push(Suspect { file, head, digest, content });
        if state == FileState::Known && (head.is_some() || content.is_some()) {
            Stored::Reread
        } else {
            stored
        }
    }
}

impl Catalog {
    /// Returns what is known of the files of `tree`.
    ///
    /// With `compare_all`, files outside the tree's roots that have the size of one in it are
    /// added to it, so that groups can span what was scanned at different times.
    pub fn match_tree(&self, tree: &mut Tree, compare_all: bool) -> Result<TreeMatch, Error> {
        self.match_tree_with(tree, compare_all, false)
    }

    /// Does so for a scan that reads all files of `tree` again, with what is known of others only.
    pub fn match_tree_for_reread(&self, tree: &mut Tree) -> Result<TreeMatch, Error> {
        self.match_tree_with(tree, true, true)
    }

    fn match_tree_with(
        &self,
        tree: &mut Tree,
        compare_all: bool,
        reread: bool,
    ) -> Result<TreeMatch, Error> {
        let mut rows = RowMap {
            reread,
            volumes: Volumes::load(self)?,
            contents: Contents::load(self)?,
            dirs: Dirs::load(self)?,
            ..RowMap::default()
        };
        rows.stored = vec![Stored::Nothing; tree.files().len()];
        rows.dir_rows = rows.dirs.of_tree(tree);
        let mut matched = TreeMatch { fingerprints: Facts::new(tree.files().len()), rows };
        let (mut orphans, mut outside) = (Orphans::new(), Vec::new());
        matched.match_rows(self, tree, &mut orphans, &mut outside)?;
        matched.match_gone_dirs(self, tree, &mut orphans)?;
        if compare_all {
            matched.add_outside(self, tree, outside, &mut orphans)?;
        }
        matched.match_moved_inodes(tree, &orphans);
        matched.share_among_names(tree);
        Ok(matched)
    }
}

impl TreeMatch {
    /// Returns the files that are to be read again.
    pub fn suspects(&self) -> &[Suspect] {
        &self.rows.suspects
    }

    /// Returns fingerprints that hold nothing, for a scan without a catalog or with a new one.
    pub fn empty(tree: &Tree) -> TreeMatch {
        let rows = RowMap {
            stored: vec![Stored::Nothing; tree.files().len()],
            dir_rows: vec![0; tree.dirs().len()],
            ..RowMap::default()
        };
        TreeMatch { fingerprints: Facts::new(tree.files().len()), rows }
    }

    /// Returns how many remembered files below the roots are on a disk that is not mounted; they stay
    /// remembered.
    pub fn offline(&self) -> u64 {
        self.rows.offline
    }
}
