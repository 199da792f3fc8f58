//! Records the results of reading remembered files again, without waiting for a scan.
//!
//! Marking does not take the lock of the catalog, because a scan may hold that lock for a whole
//! night. A mark is a single short transaction that changes only states. A scan that runs at the
//! same time preserves a mark unless it has read the file itself.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::{OptionalExtension, params};
use walk::{FileId, Tree, split_path};

use crate::error::{At, Error};
use crate::open::{Catalog, Writer};
use crate::state::FileState;

/// A new state for a version of a remembered file.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its absolute path.
    pub path: Vec<u8>,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// Its new state.
    pub state: FileState,
}

impl Mark {
    /// Returns a mark for a file of a tree.
    pub fn of(tree: &Tree, file: FileId, state: FileState) -> Mark {
        let record = tree.file(file);
        Mark {
            path: tree.absolute_path(file),
            inode: record.inode,
            size: record.size,
            mtime_ns: record.mtime_ns,
            ctime_ns: record.ctime_ns,
            state,
        }
    }
}

/// A catalog that is open for marking files.
#[derive(Debug)]
pub struct Marker(Catalog);

impl Marker {
    /// Opens the catalog at `path`.
    ///
    /// # Errors
    ///
    /// Fails like [`Catalog::open`].
    pub fn open(path: &Path) -> Result<Marker, Error> {
        Ok(Marker(Catalog::open(path)?))
    }

    /// Marks files, except those that have changed or have been scanned since they were read.
    /// Returns the number of rows whose state changed.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
    pub fn mark(&self, marks: &[Mark]) -> Result<u64, Error> {
        self.0.mark(marks)
    }
}

impl Writer {
    /// Marks files like [`Marker::mark`].
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
    pub fn mark(&self, marks: &[Mark]) -> Result<u64, Error> {
        self.catalog().mark(marks)
    }
}

impl Catalog {
    fn mark(&self, marks: &[Mark]) -> Result<u64, Error> {
        self.in_transaction(|| self.mark_now(marks))
    }

    fn mark_now(&self, marks: &[Mark]) -> Result<u64, Error> {
        let find = "SELECT volume, content FROM file WHERE dir = ?1 AND name = ?2 \
                    AND inode = ?3 AND size = ?4 AND mtime_ns = ?5 AND ctime_ns = ?6";
        let mut find = self.db.prepare(find).at(&self.path)?;
        let mut one = self
            .db
            .prepare("UPDATE file SET state = ?3 WHERE dir = ?1 AND name = ?2 AND state <> ?3")
            .at(&self.path)?;
        // Other names of the inode get the same state.
        let mut all = self
            .db
            .prepare(
                "UPDATE file SET state = ?4 WHERE content = ?1 AND volume = ?2 AND inode = ?3 \
                 AND state <> ?4",
            )
            .at(&self.path)?;
        let (mut rows, mut touched) = (0, HashSet::new());
        for mark in marks {
            let (dir, name) = split_path(&mark.path);
            let Some(dir) = self.dir_row(dir)? else { continue };
            let (inode, size) = (mark.inode.cast_signed(), mark.size.cast_signed());
            let version = params![dir, name, inode, size, mark.mtime_ns, mark.ctime_ns];
            let found = find
                .query_row(version, |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?))
                })
                .optional()
                .at(&self.path)?;
            let Some((volume, content)) = found else { continue };
            let state = mark.state.number();
            rows += one.execute(params![dir, name, state]).at(&self.path)?;
            if let Some(content) = content {
                rows += all.execute(params![content, volume, inode, state]).at(&self.path)?;
                touched.insert(content);
            }
        }
        let mut counts = Vec::new();
        for content in touched {
            counts.push((content, self.count_inodes(content)?));
        }
        self.write_counts(&counts, &HashMap::new())?;
        Ok(rows as u64)
    }
}
