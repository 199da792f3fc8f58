//! Writes the names, and finds the inodes that they belong to.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use catalog::{Catalog, FileRow};

use super::{Output, Tables};
use crate::error::Error;
use crate::inodes::{Contents, Inodes};
use crate::key::Key;
use crate::manifest::{Names, TableFile};
use crate::schema::NAMES;
use crate::table::writer::{TableWriter, Value};

/// Number of names in a message between threads; large enough to make the cost of messages
/// negligible.
const NAMES_PER_BATCH: usize = 4096;

/// Most inodes for which memory is reserved before they are read. A damaged catalog may promise more
/// than it has.
const MOST_EXPECTED: u64 = 10_000_000;

impl Output<'_> {
    /// Writes the names, and returns the inodes that they belong to. One thread reads the catalog, and
    /// another one finds the inodes and writes.
    pub(super) fn names(
        &self,
        catalog: &Catalog,
        dirs: &[i64],
        contents: &Contents,
        tables: &mut Tables,
    ) -> Result<Inodes, Error> {
        let out = match self.options.names {
            Names::None => None,
            Names::Plain | Names::Keyed => Some(self.folder.table(&NAMES, None)?),
        };
        let expected = catalog.last_scan_rows()?.iter().map(|scan| scan.files).max().unwrap_or(0);
        let expected = usize::try_from(expected.min(MOST_EXPECTED)).unwrap_or(0);
        let (sender, batches) = sync_channel(4);
        let (read, written) = thread::scope(|scope| {
            let writer = scope.spawn(move || self.write_names(out, batches, expected, contents));
            let read = {
                let read = self.read_names(catalog, dirs, &sender);
                drop(sender);
                read
            };
            let written = writer.join();
            (read, written.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let (inodes, files) = written?;
        read?;
        tables.insert(NAMES.name.into(), files.into_iter().collect());
        Ok(inodes)
    }

    fn read_names(
        &self,
        catalog: &Catalog,
        dirs: &[i64],
        to: &SyncSender<Batch>,
    ) -> Result<(), Error> {
        let mut known = dirs.iter().copied().peekable();
        let mut batch = Batch::default();
        let mut hidden = self.hidden_names();
        let ended = catalog.each_file_row(|dir, name, file| {
            while known.next_if(|&known| known < dir).is_some() {}
            if known.peek() != Some(&dir) {
                let path = catalog.path().to_owned();
                let error = catalog::Error::Orphans { path, dirs: 0, files: 1 };
                return Err(ReadEnd::Failed(error.into()));
            }
            match &mut hidden {
                Some(hidden) => hidden.push(dir, name, file, &mut batch),
                None => batch.push(dir, name, file),
            }
            if batch.rows.len() >= NAMES_PER_BATCH {
                self.progress.check().map_err(|e| ReadEnd::Failed(e.into()))?;
                let full = std::mem::take(&mut batch);
                to.send(full).map_err(|_| ReadEnd::WriterFailed)?;
            }
            Ok(())
        });
        if let Some(hidden) = &mut hidden {
            hidden.end_dir(&mut batch);
        }
        match ended {
            Ok(()) => {
                let _writer_failed = to.send(batch);
                Ok(())
            }
            // The writer returns the error.
            Err(ReadEnd::WriterFailed) => Ok(()),
            Err(ReadEnd::Failed(error)) => Err(error),
        }
    }

    /// Returns the table that hides names, if they are exported as keyed hashes.
    fn hidden_names(&self) -> Option<HiddenNames<'_>> {
        let key = self.options.key.as_ref().filter(|_| self.options.names == Names::Keyed);
        key.map(|key| HiddenNames { key, dir: 0, names: Vec::new() })
    }

    fn write_names(
        &self,
        mut out: Option<TableWriter>,
        batches: Receiver<Batch>,
        expected: usize,
        contents: &Contents,
    ) -> Result<(Inodes, Option<TableFile>), Error> {
        let mut inodes = Inodes::with_capacity(expected);
        for batch in batches {
            for (dir, name, file) in batch.iter() {
                let inode = inodes.add(file, contents);
                let Some(out) = &mut out else { continue };
                out.push(&[Value::Int64(dir), Value::Bytes(name), Value::Int64(inode.into())]);
                if out.is_group_full() {
                    out.end_group(&NAMES)?;
                }
            }
            self.progress.files_done.fetch_add(batch.rows.len() as u64, Relaxed);
        }
        Ok((inodes, out.map(|out| out.finish(&NAMES)).transpose()?))
    }
}

/// Replaces the names of a directory by keyed hashes, and sorts them by these. Otherwise the order of the
/// names, and the numbers of their inodes, would reveal the alphabetical order.
struct HiddenNames<'a> {
    key: &'a Key,
    dir: i64,
    names: Vec<([u8; 16], FileRow)>,
}

impl HiddenNames<'_> {
    fn push(&mut self, dir: i64, name: &[u8], file: &FileRow, to: &mut Batch) {
        if dir != self.dir {
            self.end_dir(to);
            self.dir = dir;
        }
        self.names.push((self.key.name(name), *file));
    }

    fn end_dir(&mut self, to: &mut Batch) {
        self.names.sort_unstable_by_key(|(name, _)| *name);
        for (name, file) in self.names.drain(..) {
            to.push(self.dir, &name, &file);
        }
    }
}

/// The reason why reading the names ended early.
enum ReadEnd {
    /// The thread that writes the names has failed.
    WriterFailed,
    Failed(Error),
}

impl From<catalog::Error> for ReadEnd {
    fn from(error: catalog::Error) -> ReadEnd {
        ReadEnd::Failed(error.into())
    }
}

/// Names and their rows, on the way to another thread.
#[derive(Default)]
struct Batch {
    /// The directory, the end of the name in `names`, and the row.
    rows: Vec<(i64, usize, FileRow)>,
    names: Vec<u8>,
}

impl Batch {
    fn push(&mut self, dir: i64, name: &[u8], file: &FileRow) {
        self.names.extend_from_slice(name);
        self.rows.push((dir, self.names.len(), *file));
    }

    fn iter(&self) -> impl Iterator<Item = (i64, &[u8], &FileRow)> {
        let starts = std::iter::once(0).chain(self.rows.iter().map(|row| row.1));
        starts
            .zip(&self.rows)
            .map(|(start, (dir, end, file))| (*dir, &self.names[start..*end], file))
    }
}
