//! Matches the rows of the catalog with the files of a walk.
//!
//! One pass over the rows below the roots, sorted by directory and name, determines which files are
//! unchanged, which rows a commit has to write, and which rows belong to files that are gone. Files
//! in a directory that was moved are found by inode.
//!
//! # Which files are forgotten
//!
//! A file is forgotten only if a complete listing of its directory does not contain its name, and
//! if the file system mounted there is still the one that held the file. All other files stay in
//! the catalog: files that a filter excluded ([`Tree::left_out`]), files that could not be
//! inspected, and files on a disk that is not mounted.

mod candidates;
pub(crate) mod changes;
mod inodes;
mod live_dirs;
mod merge;
mod outside;
pub(crate) mod stored;
mod unreachable;

use std::collections::HashSet;
use std::thread::ScopedJoinHandle;

use content::{Digest, Fingerprints, Head};
use walk::{DirId, FileId, Tree};

use crate::error::Error;
use crate::open::{CACHE_SIZE, COMMIT_TIMEOUT, Catalog, SMALL_CACHE_SIZE};
use crate::state::FileState;
use crate::tables::contents::Contents;
use crate::tables::dirs::Dirs;
use crate::tables::rows::FileRow;
use crate::tables::volumes::Volumes;
use changes::ExaminedRows;
use stored::{Orphans, Stored};
use unreachable::UnreachableRows;

/// The files of a tree, matched with the catalog.
#[derive(Debug)]
pub struct TreeMatch {
    /// The fingerprints of the files, which the engine uses and extends.
    pub fingerprints: Fingerprints,
    /// The rows of the files, for a commit.
    pub rows: RowMap,
}

/// Maps the files of a tree to rows of the catalog.
#[derive(Debug, Default)]
pub struct RowMap {
    pub(crate) dirs: Dirs,
    /// The row of each directory of the tree; 0 if it has none.
    pub(crate) dir_rows: Vec<i64>,
    /// The stored parts of each file of the tree; [`Stored::Nothing`] if its row is missing or
    /// outdated.
    pub(crate) stored: Vec<Stored>,
    /// Files whose row is the same version and stays, but has outdated disk space.
    pub(crate) resized: HashSet<FileId>,
    pub(crate) volumes: Volumes,
    pub(crate) contents: Contents,
    /// Files that are gone, by directory row and name.
    pub(crate) gone_files: Vec<(i64, Box<[u8]>)>,
    /// Rows of directories that are gone together with everything in them.
    pub(crate) gone_dirs: Vec<i64>,
    /// Contents that lost a file.
    pub(crate) touched: HashSet<i64>,
    /// Number of files below the roots on disks that are not mounted.
    pub(crate) offline: u64,
    /// Rows of unreachable files that have the same size as a file of the tree.
    pub(crate) unreachable: UnreachableRows,
    pub(crate) suspects: Vec<Suspect>,
    /// True if all files of the tree are read again, regardless of what the catalog knows about
    /// them.
    reread: bool,
    /// The rows of the examined names, if the tree contains only changed entries.
    pub(crate) examined: Option<ExaminedRows>,
    /// The row of the scan, once it exists.
    pub(crate) scan: Option<i64>,
}

/// A file that is read again even if its metadata is unchanged since the last scan. Either it was
/// later found damaged or unreadable, or the scan reads every file again.
#[derive(Clone, Copy, Debug)]
pub struct Suspect {
    /// The file.
    pub file: FileId,
    /// Its head when it was scanned.
    pub head: Option<Head>,
    /// BLAKE3 of the file's content when it was scanned.
    pub digest: Option<Digest>,
    content: Option<i64>,
}

impl Suspect {
    /// Returns the digest and the row of the content that the file had when it was scanned.
    pub(crate) fn content(&self) -> Option<(Digest, i64)> {
        self.digest.zip(self.content)
    }
}

impl RowMap {
    /// Adds what is remembered about a file of the tree to `fingerprints`, or makes the file a
    /// suspect. Returns what is stored about the file.
    fn attach(&mut self, fingerprints: &Fingerprints, file: FileId, row: &FileRow) -> Stored {
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

/// Minimum number of files for which a second connection pays off. Opening the catalog again takes
/// as long as reading a thousand rows.
const MIN_FILES_FOR_TWO_READERS: usize = 16 * 1024;

impl Catalog {
    /// Matches the files of `tree` with the catalog.
    ///
    /// With `compare_all`, adds to the tree all remembered files outside its roots that have the
    /// same size as a file in it. Groups can then span files that were scanned at different times.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged. The catalog is unchanged, but files may
    /// have been added to `tree`.
    pub fn match_tree(&self, tree: &mut Tree, compare_all: bool) -> Result<TreeMatch, Error> {
        self.match_tree_with(tree, compare_all, false)
    }

    /// Matches the files of `tree` for a scan that reads all of them again. The catalog is used
    /// only for files outside the roots of `tree`.
    ///
    /// # Errors
    ///
    /// Fails like [`Catalog::match_tree`].
    pub fn match_tree_for_reread(&self, tree: &mut Tree) -> Result<TreeMatch, Error> {
        self.match_tree_with(tree, true, true)
    }

    /// Opens the catalog again, so that another thread can read part of the rows. Returns `None` if
    /// the catalog cannot be opened, or if its path may now lead to a different file.
    fn second_connection(&self) -> Option<Catalog> {
        let catalog = Catalog::connect(&self.path).and_then(Catalog::with_known_format).ok()?;
        catalog.run(SMALL_CACHE_SIZE).ok()?;
        catalog.db.busy_timeout(COMMIT_TIMEOUT).ok()?;
        (catalog.file.is_some() && catalog.file == self.file).then_some(catalog)
    }

    fn match_tree_with(
        &self,
        tree: &mut Tree,
        compare_all: bool,
        reread: bool,
    ) -> Result<TreeMatch, Error> {
        // If matching fails, the cache stays small. This affects only speed.
        self.run(SMALL_CACHE_SIZE)?;
        // Without a second connection, this thread reads all rows.
        let is_large = tree.files().len() >= MIN_FILES_FOR_TWO_READERS;
        let mut second = is_large.then(|| self.second_connection()).flatten();
        let (dirs, contents) = match &mut second {
            Some(second) => std::thread::scope(|scope| {
                let contents = scope.spawn(move || Contents::load(second));
                (Dirs::load(self), joined(contents))
            }),
            None => (Dirs::load(self), Contents::load(self)),
        };
        let mut rows = RowMap {
            reread,
            volumes: Volumes::load(self)?,
            contents: contents?,
            dirs: dirs?,
            ..RowMap::default()
        };
        // An interrupted scan may have left contents without files. The commit counts the files of these contents
        // again, and deletes a content that no file refers to.
        let without_copies = rows.contents.iter().filter(|(_, content)| content.inodes == 0);
        rows.touched = without_copies.map(|(row, _)| row).collect();
        rows.stored = vec![Stored::Nothing; tree.files().len()];
        rows.dir_rows = rows.dirs.of_tree(tree);
        let mut matched = TreeMatch { fingerprints: Fingerprints::new(tree.files().len()), rows };
        let (mut orphans, mut outside) = (Orphans::new(), Vec::new());
        matched.match_rows(self, second, tree, &mut orphans, &mut outside)?;
        self.run(CACHE_SIZE)?;
        matched.match_gone_dirs(self, tree, &mut orphans)?;
        if compare_all {
            matched.add_outside(self, tree, outside, &mut orphans)?;
        }
        matched.relate(tree, &orphans);
        Ok(matched)
    }
}

impl TreeMatch {
    /// Returns the files that have to be read again.
    pub fn suspects(&self) -> &[Suspect] {
        &self.rows.suspects
    }

    /// Uses what is known about an inode for its names without a row.
    fn relate(&mut self, tree: &Tree, orphans: &Orphans) {
        self.match_moved_inodes(tree, orphans);
        self.share_among_names(tree);
        // Scans of changes call this function twice.
        self.rows.suspects.sort_by_key(|suspect| suspect.file);
        self.rows.suspects.dedup_by_key(|suspect| suspect.file);
    }

    /// Returns the rows of the tree's directories, in ascending order. Leaves out directories without a row.
    fn dirs_with_rows(&self) -> Vec<(i64, DirId)> {
        let dirs = (0u32..).zip(&self.rows.dir_rows).filter(|&(_, &row)| row != 0);
        let mut dirs: Vec<(i64, DirId)> = dirs.map(|(id, &row)| (row, DirId(id))).collect();
        dirs.sort_unstable();
        dirs
    }

    /// Returns a match without rows, for a scan without a catalog or with a new one.
    pub fn empty(tree: &Tree) -> TreeMatch {
        let rows = RowMap {
            stored: vec![Stored::Nothing; tree.files().len()],
            dir_rows: vec![0; tree.dirs().len()],
            ..RowMap::default()
        };
        TreeMatch { fingerprints: Fingerprints::new(tree.files().len()), rows }
    }

    /// Returns the number of remembered files below the roots that are on a disk that is not
    /// mounted. They stay remembered.
    pub fn offline(&self) -> u64 {
        self.rows.offline
    }
}

/// Waits for a thread. Panics if the thread has panicked.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
