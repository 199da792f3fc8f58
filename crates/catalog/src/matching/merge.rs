//! Merges the rows below the roots of a tree with the tree's files, and finds rows of files that
//! are gone.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::sync::mpsc::{Receiver, sync_channel};

use walk::{DirId, FileId, Remembered, Tree};

use super::stored::{NamedRow, Orphans, Stored};
use super::{RowMap, TreeMatch, joined};
use crate::error::Error;
use crate::open::Catalog;
use crate::tables::rows::{FileRow, ROWS_PER_BATCH, RowBatch};
use crate::tables::versions::{files_by_name, sizes, version};

/// Number of batches that a reader may be ahead of the merge.
const BATCHES_AHEAD: usize = 2;

impl TreeMatch {
    /// Merges the files of each directory with its rows, both sorted by name.
    ///
    /// This thread reads the rows, and another one merges them. Reading takes longer than merging,
    /// so if there is a `second` connection, one more thread reads with it. The two readers then
    /// take alternate short runs of directories. Because the readers are never far apart, a hard
    /// disk reads the catalog almost sequentially.
    pub(super) fn match_rows(
        &mut self,
        catalog: &Catalog,
        second: Option<Catalog>,
        tree: &Tree,
        orphans: &mut Orphans,
        outside: &mut Vec<NamedRow>,
    ) -> Result<(), Error> {
        let dirs = self.dirs_with_rows();
        let runs = &runs(tree, &dirs);
        let (sender, batches) = sync_channel(BATCHES_AHEAD);
        let mut readers = vec![batches];
        let second = second.map(|catalog| {
            let (sender, batches) = sync_channel(BATCHES_AHEAD);
            readers.push(batches);
            (catalog, sender)
        });
        let count = readers.len();
        let rows_of = move |reader| {
            runs.iter().skip(reader).step_by(count).map(|run| run.iter().map(|dir| dir.0))
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // This thread owns the receivers, so the readers stop if the merge panics.
                let readers = readers;
                let sizes: LazyCell<HashSet<u64>, _> = LazyCell::new(|| sizes(tree));
                self.merge(tree, &dirs, runs.len(), &readers, orphans, |dir, name, row| {
                    if sizes.contains(&row.size) {
                        outside.push(NamedRow { dir, name: name.into(), row });
                    }
                });
            });
            let second = second.map(|(catalog, sender)| {
                scope.spawn(move || catalog.send_files_of(rows_of(1), &sender))
            });
            let read = catalog.send_files_of(rows_of(0), &sender);
            // After an error, the merge waits for this reader until its sender is gone.
            drop(sender);
            read.and(second.map_or(Ok(()), joined))
        })
    }

    /// Merges batches of rows with the files of their directories. `dirs` is sorted by row. The
    /// readers take turns: each sends all batches of one run of directories. `runs` is the number of runs. Calls
    /// `outside` with each row that has no file in the tree, but whose file is not known to be gone.
    pub(super) fn merge(
        &mut self,
        tree: &Tree,
        dirs: &[(i64, DirId)],
        runs: usize,
        readers: &[Receiver<RowBatch>],
        orphans: &mut Orphans,
        mut outside: impl FnMut(i64, &[u8], FileRow),
    ) {
        let mut groups = dirs.chunk_by(|a, b| a.0 == b.0);
        let (mut at, mut here, mut files) = (0, &dirs[..0], Vec::new().into_iter().peekable());
        let mut merge_row = |row, name: &[u8], stored: FileRow| {
            while at != row {
                let Some(same) = groups.next() else { return };
                at = same[0].0;
                if at == row {
                    here = same;
                    let named = files_by_name(tree, same.iter().map(|&(_, id)| id));
                    files = named.into_iter().peekable();
                }
            }
            while files.next_if(|&(n, _)| n < name).is_some() {}
            match files.peek() {
                Some(&(n, file)) if n == name => self.match_row(tree, file, &stored),
                _ if self.is_gone(tree, here, name, &stored) => {
                    self.remove_row(row, name, stored, orphans);
                }
                _ => outside(row, name, stored),
            }
        };
        for run in 0..runs {
            loop {
                // A reader that failed reports the error.
                let Ok(batch) = readers[run % readers.len()].recv() else { return };
                batch.iter().for_each(|(dir, name, row)| merge_row(dir, name, row));
                if batch.ends_run {
                    break;
                }
            }
        }
    }

    /// Returns whether the file of an unmatched row is gone from its directory. `here` contains the
    /// records of the directory in the tree, one for each device with files of the directory.
    fn is_gone(&mut self, tree: &Tree, here: &[(i64, DirId)], name: &[u8], row: &FileRow) -> bool {
        let FileRow { inode, size, mtime_ns, ctime_ns, .. } = *row;
        let file = Remembered { size, inode, mtime_ns, ctime_ns };
        let mut listed =
            here.iter().map(|&(_, dir)| dir).filter(|&dir| tree.has_examined(dir, name)).peekable();
        if listed.peek().is_none() || here.iter().any(|&(_, dir)| tree.left_out(dir, name, file)) {
            return false;
        }
        let RowMap { volumes, offline, .. } = &mut self.rows;
        let volume = |dir| &tree.device_of(dir).volume;
        let is_offline = listed.all(|dir| volumes.is_offline(row.volume, volume(dir)));
        *offline += u64::from(is_offline);
        !is_offline
    }

    /// Compares a file with the row of the same name.
    fn match_row(&mut self, tree: &Tree, file: FileId, row: &FileRow) {
        let now = version(tree, file, &mut self.rows.volumes);
        let is_same = row.same_version(&now);
        if let Some(examined) = &mut self.rows.examined {
            examined.note(row, !is_same);
        }
        if is_same {
            if row.allocated != now.allocated {
                self.rows.resized.insert(file);
            }
            let stored = self.rows.attach(&self.fingerprints, file, row);
            self.rows.stored[file.0 as usize] = stored;
            if stored != Stored::UntrustedContent && !stored.is_suspect() {
                return;
            }
        }
        self.rows.touched.extend(row.content);
    }

    fn remove_row(&mut self, dir: i64, name: &[u8], row: FileRow, orphans: &mut Orphans) {
        self.rows.gone_files.push((dir, name.into()));
        self.rows.lose(&row, orphans);
    }

    /// Finds directories that are gone. A directory is gone if it is missing from the tree, its
    /// parent was listed completely, and no filter excluded it by name.
    pub(super) fn match_gone_dirs(
        &mut self,
        catalog: &Catalog,
        tree: &Tree,
        orphans: &mut Orphans,
    ) -> Result<(), Error> {
        let present: HashSet<i64> = self.rows.dir_rows.iter().copied().collect();
        let mut missing = Vec::new();
        for (id, &row) in (0u32..).map(DirId).zip(&self.rows.dir_rows) {
            if row == 0 {
                continue;
            }
            let volume = tree.device_of(id).volume;
            for child in self.rows.dirs.children(row) {
                let is_gone = !present.contains(&child.id)
                    && tree.has_examined(id, &child.name)
                    && !tree.left_out_unseen(id, &child.name);
                if is_gone {
                    self.rows.dirs.each_below(child.id, |id| missing.push((id, volume)));
                }
            }
        }
        let mut statement = catalog.files_in_statement()?;
        // Directories with a file on a disk that is not mounted, and their ancestors.
        let mut kept: HashSet<i64> = HashSet::new();
        for &(dir, volume) in missing.iter().rev() {
            let (mut lost, before) = (Vec::new(), self.rows.offline);
            let rows = &mut self.rows;
            catalog.each_file_in(&mut statement, dir, |name, row| {
                if rows.volumes.is_offline(row.volume, &volume) {
                    rows.offline += 1;
                    return;
                }
                lost.push((dir, name.into()));
                rows.lose(&row, orphans);
            })?;
            if rows.offline > before || kept.contains(&dir) {
                self.rows.gone_files.append(&mut lost);
                kept.extend(self.rows.dirs.row(dir).map(|row| row.parent));
            } else {
                self.rows.gone_dirs.push(dir);
            }
        }
        Ok(())
    }
}

impl RowMap {
    /// Notes that the file of a row is gone from its directory.
    fn lose(&mut self, row: &FileRow, orphans: &mut Orphans) {
        self.touched.extend(row.content);
        if row.head.is_some() || row.state.is_bad() {
            orphans.insert((row.volume, row.inode), *row);
        }
        if let Some(examined) = &mut self.examined {
            examined.note_gone(row);
        }
    }
}

/// Splits directories, sorted by row, into runs. Each run, except the last, has at least
/// [`ROWS_PER_BATCH`] files. Directories of the tree with the same row are in the same run.
fn runs<'a>(tree: &Tree, dirs: &'a [(i64, DirId)]) -> Vec<&'a [(i64, DirId)]> {
    let mut files = 0;
    let is_in_same_run = |a: &(i64, DirId), b: &(i64, DirId)| {
        files += tree.files_in(a.1).len();
        let ends = files >= ROWS_PER_BATCH && a.0 != b.0;
        if ends {
            files = 0;
        }
        !ends
    };
    dirs.chunk_by(is_in_same_run).collect()
}
