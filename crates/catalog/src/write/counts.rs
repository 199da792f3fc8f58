//! Deletes rows, and recounts the copies of contents that gained or lost files.

use std::collections::{HashMap, HashSet};

use rusqlite::{OptionalExtension, params};

use crate::error::{At, Error};
use crate::open::Catalog;

/// Number of inodes and reclaimable bytes, by row of `content`.
pub(crate) type CopiesByRow = HashMap<i64, (u32, u64)>;

/// Upper limit of the reclaimable bytes that are stored without having been measured.
pub(crate) const MAX_RECLAIMABLE: u64 = 9_000_000_000_000_000_000;

/// Returns the reclaimable bytes of a content, if `copies` counted the same number of inodes.
pub(crate) fn measured(copies: &CopiesByRow, row: i64, inodes: u32) -> Option<u64> {
    copies.get(&row).filter(|(counted, _)| *counted == inodes).map(|(_, bytes)| *bytes)
}

/// Estimates the reclaimable bytes of a content whose copies were not counted: the usual disk space of all but one.
pub(crate) fn estimated(size: u64, inodes: u32) -> u64 {
    walk::usual_allocation(size).saturating_mul(u64::from(inodes - 1)).min(MAX_RECLAIMABLE)
}

impl Catalog {
    pub(crate) fn next_id(&self, table: &str) -> Result<i64, Error> {
        let sql = format!("SELECT coalesce(max(id), 0) + 1 FROM {table}");
        self.db.query_row(&sql, [], |row| row.get(0)).at(&self.path)
    }

    /// Returns the row for the next new content. It is greater than all rows of `content`, and
    /// greater than all rows that files refer to. In a damaged catalog, a file may refer to a missing
    /// row. A new content with that row would become the content of the file.
    pub(crate) fn next_content(&self) -> Result<i64, Error> {
        let sql = "SELECT max(coalesce((SELECT max(id) FROM content), 0), coalesce( \
                   (SELECT max(content) FROM file WHERE content IS NOT NULL), 0)) + 1";
        self.db.query_row(sql, [], |row| row.get(0)).at(&self.path)
    }

    pub(crate) fn delete_files<'n>(
        &self,
        files: impl Iterator<Item = (i64, &'n [u8])>,
    ) -> Result<(), Error> {
        let sql = "DELETE FROM file WHERE dir = ?1 AND name = ?2";
        let mut delete = self.db.prepare(sql).at(&self.path)?;
        for (dir, name) in files {
            delete.execute(params![dir, name]).at(&self.path)?;
        }
        Ok(())
    }

    /// Deletes directories and the files in them. The root directory stays.
    pub(crate) fn delete_dirs(&self, dirs: &[i64]) -> Result<(), Error> {
        let mut files = self.db.prepare("DELETE FROM file WHERE dir = ?1").at(&self.path)?;
        let mut dir = self.db.prepare("DELETE FROM dir WHERE id = ?1 AND id <> 1").at(&self.path)?;
        for id in dirs {
            files.execute([id]).at(&self.path)?;
            dir.execute([id]).at(&self.path)?;
        }
        Ok(())
    }

    pub(crate) fn count_inodes(&self, content: i64) -> Result<u32, Error> {
        let sql = "SELECT count(*) FROM (SELECT DISTINCT volume, inode FROM file \
                   WHERE content = ?1 AND state = 0)";
        let mut query = self.db.prepare_cached(sql).at(&self.path)?;
        query.query_row([content], |row| row.get(0)).at(&self.path)
    }

    /// Stores the number of inodes with each content, like [`Catalog::update_counts`]. Deletes
    /// contents without files. A file that was found damaged or unreadable still keeps its previous
    /// content from being deleted.
    pub(crate) fn write_counts(
        &self,
        counts: &[(i64, u32)],
        copies: &CopiesByRow,
    ) -> Result<(), Error> {
        let sql = "DELETE FROM content WHERE id = ?1 \
                   AND NOT EXISTS (SELECT 1 FROM file WHERE content = ?1)";
        let mut delete = self.db.prepare(sql).at(&self.path)?;
        for (row, _) in counts.iter().filter(|count| count.1 == 0) {
            delete.execute([row]).at(&self.path)?;
        }
        self.update_counts(counts, copies)
    }

    /// Stores the number of inodes with each content that has a row.
    ///
    /// The reclaimable bytes are taken from `copies` if it counted the same number of inodes.
    /// Otherwise, they stay the same per redundant inode. A content without redundant inodes gets the
    /// usual disk space of all copies but one, as in [`estimated`].
    pub(crate) fn update_counts(
        &self,
        counts: &[(i64, u32)],
        copies: &CopiesByRow,
    ) -> Result<(), Error> {
        // The product may exceed 64 bits, so it is computed as a float and then cast to the integer
        // that the column requires.
        let sql = format!(
            "UPDATE content SET inodes = ?2, reclaimable = coalesce(?3, CAST(min({MAX_RECLAIMABLE}, \
             max(?2 - 1.0, 0.0) * CASE WHEN inodes > 1 THEN reclaimable / (inodes - 1.0) \
             ELSE (size + 4095) / 4096 * 4096 END) \
             AS INTEGER)) WHERE id = ?1"
        );
        let mut update = self.db.prepare(&sql).at(&self.path)?;
        for &(row, inodes) in counts {
            let reclaimable = measured(copies, row, inodes).map(u64::cast_signed);
            update.execute(params![row, inodes, reclaimable]).at(&self.path)?;
        }
        Ok(())
    }
}

impl Catalog {
    /// Deletes the empty directories among `dirs`, and ancestors that become empty as a result.
    /// Works from the bottom up, one level per round.
    pub(crate) fn delete_empty_dirs(&self, mut dirs: HashSet<i64>) -> Result<(), Error> {
        let sql = "DELETE FROM dir WHERE id = ?1 AND id <> 1 \
                   AND NOT EXISTS (SELECT 1 FROM file WHERE file.dir = dir.id) \
                   AND NOT EXISTS (SELECT 1 FROM dir AS below WHERE below.parent = dir.id) \
                   RETURNING parent";
        let mut delete = self.db.prepare(sql).at(&self.path)?;
        while !dirs.is_empty() {
            let mut parents = HashSet::new();
            for id in dirs {
                let deleted = delete.query_row([id], |row| row.get::<_, i64>(0)).optional();
                parents.extend(deleted.at(&self.path)?);
            }
            dirs = parents;
        }
        Ok(())
    }
}
