//! Writes the result of a scan in one transaction. Writes only what differs from the stored rows.

use rusqlite::{OptionalExtension, params};
use walk::{DirId, Problem, Tree, to_u32};

use super::counts::CopiesByRow;
use super::delta::{Committed, Delta, Dropped};
use super::findings::{CopyCount, Findings, ScanRecord};
use super::scans::write_scan;
use super::sizes::ScanSizes;
use crate::error::{At, Error};
use crate::matching::{RowMap, TreeMatch};
use crate::open::{Catalog, Writer};
use crate::state::FileState;
use crate::tables::contents::ContentRow;
use crate::tables::dirs::{TOP, components};
use crate::tables::insert::insert_files;

impl Writer {
    /// Commits what a scan found about `tree`, and the sizes of the directories below its roots.
    ///
    /// Calls `sizes` after all rows are written, so another thread can compute the sizes in the
    /// meantime. They are stored only for roots that the scan covered, and only if they changed. Those of
    /// older scans are thinned out.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
    pub fn commit(
        mut self,
        tree: &Tree,
        matched: TreeMatch,
        copies: impl Iterator<Item = CopyCount>,
        problems: &[&Problem],
        record: &ScanRecord,
        sizes: impl FnOnce() -> Vec<ScanSizes>,
    ) -> Result<(), Error> {
        let TreeMatch { fingerprints, rows } = matched;
        let found = Findings { tree, fingerprints: &fingerprints, problems, record, pending: None };
        self.write(&rows, &found, copies, sizes)?;
        self.publish()
    }

    /// Commits what a scan has found so far. The scan can continue and commit again. Files that
    /// have not been compared yet ([`Findings::pending`]) are stored as pending.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. The catalog is then unchanged, and the scan can
    /// continue.
    pub fn save(&mut self, rows: &mut RowMap, found: &Findings<'_>) -> Result<(), Error> {
        let written = self.write(rows, found, std::iter::empty(), Vec::new);
        let published = written.and_then(|written| self.publish().map(|()| written));
        let (committed, scan) = published.inspect_err(|_| self.roll_back())?;
        rows.record_committed(committed);
        rows.scan = Some(scan);
        self.reopen_if_needed()
    }

    /// Writes all differences from the stored rows in one transaction. Returns what was stored, and
    /// the row of the scan.
    fn write(
        &mut self,
        rows: &RowMap,
        found: &Findings<'_>,
        copies: impl Iterator<Item = CopyCount>,
        sizes: impl FnOnce() -> Vec<ScanSizes>,
    ) -> Result<(Committed, i64), Error> {
        self.reopen_if_needed()?;
        let is_new = self.is_new();
        let catalog = &self.catalog;
        catalog.run("BEGIN IMMEDIATE")?;
        let mut delta = Delta::new(found, rows, catalog.next_id("content")?);
        catalog.remove_gone(rows)?;
        catalog.make_dirs(&mut delta)?;
        catalog.mark_dropped(&mut delta)?;
        catalog.write_files(&mut delta, is_new)?;
        catalog.drop_unproven_contents(&mut delta)?;
        catalog.write_volumes(&delta)?;
        catalog.write_contents(&mut delta)?;
        let copies = delta.rows_of(copies);
        catalog.count_copies(&mut delta, &copies, is_new)?;
        let scan = write_scan(catalog, rows.scan, found)?;
        catalog.write_sizes(scan, found.tree, &sizes())?;
        self.create_indexes()?;
        catalog.run("COMMIT")?;
        Ok((delta.committed(), scan))
    }
}

impl Catalog {
    fn remove_gone(&self, rows: &RowMap) -> Result<(), Error> {
        self.delete_files(rows.gone_files.iter().map(|(dir, name)| (*dir, name.as_ref())))?;
        self.delete_dirs(&rows.gone_dirs)
    }

    /// Marks the rows of files that the engine dropped, and collects the contents that lose a file.
    fn mark_dropped(&self, delta: &mut Delta<'_>) -> Result<(), Error> {
        let dropped = delta.dropped();
        let path = &self.path;
        let sql = "UPDATE file SET state = ?3 WHERE dir = ?1 AND name = ?2 RETURNING content";
        let mut mark = self.db.prepare(sql).at(path)?;
        for Dropped { file, state } in dropped {
            let dir = delta.dir_rows[delta.tree.file(file).dir.0 as usize];
            let name = delta.tree.name(file).to_bytes();
            let values = params![dir, name, state.number()];
            let content = mark.query_row(values, |row| row.get::<_, Option<i64>>(0));
            delta.touched.extend(content.optional().at(path)?.flatten());
            delta.stored.push((file, state.into()));
        }
        Ok(())
    }

    /// Writes the rows that differ from the stored ones, while another thread prepares them.
    fn write_files(&self, delta: &mut Delta<'_>, is_new: bool) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let (sender, batches) = std::sync::mpsc::sync_channel(8);
            scope.spawn(move || delta.send_files(&sender));
            insert_files(self, !is_new, batches)
        })
    }

    /// Clears the content of unreachable files that could not be compared with a new content.
    fn drop_unproven_contents(&self, delta: &mut Delta<'_>) -> Result<(), Error> {
        let Delta { tree, fingerprints, rows, new_contents, touched, unproven, .. } = delta;
        let rows_without_proof =
            rows.unreachable.unproven(&rows.contents, tree, fingerprints, new_contents);
        let sql = "UPDATE file SET content = NULL, state = ?3 WHERE dir = ?1 AND name = ?2";
        let mut update = self.db.prepare(sql).at(&self.path)?;
        for (dir, name, content) in rows_without_proof {
            let pending = FileState::Pending.number();
            update.execute(params![dir, name, pending]).at(&self.path)?;
            touched.insert(content);
            unproven.push((dir, name.into()));
        }
        Ok(())
    }

    fn make_dirs(&self, delta: &mut Delta<'_>) -> Result<(), Error> {
        let db = &self.db;
        let path = &self.path;
        let mut insert = db
            .prepare("INSERT OR IGNORE INTO dir (id, parent, name) VALUES (?1, ?2, ?3)")
            .at(path)?;
        let mut find = db.prepare("SELECT id FROM dir WHERE parent = ?1 AND name = ?2").at(path)?;
        let mut next = self.next_id("dir")?;
        let mut child = |parent: i64, name: &[u8]| -> rusqlite::Result<i64> {
            if insert.execute(params![next, parent, name])? == 0 {
                // The directory has already been created for another root or for another record of
                // the same directory.
                return find.query_row(params![parent, name], |row| row.get(0));
            }
            next += 1;
            Ok(next - 1)
        };
        for index in 0..delta.tree.dirs().len() {
            if delta.dir_rows[index] != 0 {
                continue;
            }
            let id = DirId(to_u32(index));
            let dir = delta.tree.dir(id);
            let row = match (dir.parent, delta.tree.dir_name(id)) {
                (Some(parent), Some(name)) => {
                    child(delta.dir_rows[parent.0 as usize], name.to_bytes()).at(path)?
                }
                _ => components(&delta.tree.root_of(id).absolute)
                    .try_fold(TOP, &mut child)
                    .at(path)?,
            };
            delta.dir_rows[index] = row;
        }
        Ok(())
    }

    fn write_volumes(&self, delta: &Delta<'_>) -> Result<(), Error> {
        let volumes = &delta.volumes;
        for &index in &volumes.changed {
            let row = volumes.row(index);
            let bits = |n: u64| n.cast_signed();
            self.db
                .execute(
                    "INSERT OR REPLACE INTO volume (id, magic, fsid, device) VALUES (?1, ?2, ?3, ?4)",
                    params![row.id, bits(row.magic), bits(row.fsid), bits(row.device)],
                )
                .at(&self.path)?;
        }
        Ok(())
    }

    /// Inserts new contents, and adds new digests to known contents.
    fn write_contents(&self, delta: &mut Delta<'_>) -> Result<(), Error> {
        let path = &self.path;
        let db = &self.db;
        let sizes = delta.sizes();
        let is_unfinished = delta.is_unfinished();
        let mut insert = db
            .prepare(
                "INSERT INTO content (id, size, digest, inodes, reclaimable) VALUES (?1, ?2, ?3, 1, 0)",
            )
            .at(path)?;
        for &content in &delta.new_contents {
            let row = delta.content_rows[content.index()];
            let size = sizes.get(&content).copied().unwrap_or(0).cast_signed();
            let digest = delta.fingerprints.digest(content);
            insert.execute(params![row, size, digest.map(|digest| digest.0)]).at(path)?;
            if is_unfinished {
                delta.inserted.push((row, ContentRow { digest, inodes: 1, reclaimable: 0 }));
            }
        }
        let mut update = db.prepare("UPDATE content SET digest = ?2 WHERE id = ?1").at(path)?;
        for (index, row) in delta.rows.contents.row_of.iter().enumerate() {
            let known = delta.rows.contents.row(*row).filter(|content| content.digest.is_none());
            let Some((known, digest)) = known.zip(delta.fingerprints.digest_at(index)) else {
                continue;
            };
            update.execute(params![row, digest.0]).at(path)?;
            if is_unfinished {
                delta.inserted.push((*row, ContentRow { digest: Some(digest), ..*known }));
            }
        }
        Ok(())
    }

    /// Updates the copy counts of all contents that gained or lost a file.
    fn count_copies(
        &self,
        delta: &mut Delta<'_>,
        copies: &CopiesByRow,
        is_new: bool,
    ) -> Result<(), Error> {
        let mut counts: Vec<(i64, u32)> = Vec::new();
        if is_new {
            delta.written.sort_unstable();
            delta.written.dedup();
            for same in delta.written.chunk_by(|a, b| a.0 == b.0) {
                counts.push((same[0].0, to_u32(same.len())));
            }
        } else {
            let mut touched = std::mem::take(&mut delta.touched);
            touched.extend(delta.written.iter().map(|w| w.0));
            touched.extend(&delta.rows.touched);
            // In the order of the rows, so that the pages of the catalog are visited once.
            let mut rows: Vec<i64> = touched.iter().copied().collect();
            rows.sort_unstable();
            for row in rows {
                counts.push((row, self.count_inodes(row)?));
            }
            delta.touched = touched;
        }
        self.write_counts(&counts, copies)
    }
}
