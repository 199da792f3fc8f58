//! Writes the result of a scan in one transaction. Writes only what differs from the stored rows.

use std::collections::HashSet;

use rusqlite::{OptionalExtension, params};
use walk::{DirId, Problem, Tree, to_u32};

use super::counts::{CopiesByRow, estimated, measured};
use super::delta::{Committed, Delta, Dropped, NewContent};
use super::findings::{CopyCount, Findings, ScanRecord};
use super::scans::write_scan;
use super::sizes::ScanSizes;
use crate::error::{At, Error};
use crate::matching::changes::MAX_COMPLETE;
use crate::matching::{RowMap, TreeMatch};
use crate::open::{Catalog, Writer};
use crate::state::FileState;
use crate::tables::contents::ContentRow;
use crate::tables::dirs::{TOP, components};
use crate::tables::insert::{Existing, store_files};

impl Writer {
    /// Commits what a scan found about `tree`, and the sizes of the directories below its roots.
    ///
    /// Stores `sizes` only for roots that the scan covered completely, and only if they changed since
    /// the last scan. Thins out the sizes that older scans stored.
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
        sizes: &[ScanSizes],
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
        let written = self.write(rows, found, std::iter::empty(), &[]);
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
        sizes: &[ScanSizes],
    ) -> Result<(Committed, i64), Error> {
        self.reopen_if_needed()?;
        let existing = match (self.is_new(), &rows.examined) {
            (true, _) => Existing::None,
            (false, None) => Existing::Some,
            (false, Some(_)) => Existing::Most,
        };
        let catalog = &self.catalog;
        catalog.run("BEGIN IMMEDIATE")?;
        let mut delta = Delta::new(found, rows, catalog.next_content()?);
        catalog.remove_gone(rows)?;
        catalog.make_dirs(&mut delta)?;
        catalog.mark_dropped(&mut delta)?;
        catalog.write_files(&mut delta, existing)?;
        catalog.drop_unproven_contents(&mut delta)?;
        catalog.write_volumes(&delta)?;
        let copies = delta.rows_of(copies);
        let counts = delta.written_inodes();
        let (known, new) = counts.split_at(counts.partition_point(|count| delta.is_known(count.0)));
        catalog.insert_contents(&mut delta, new, &copies)?;
        catalog.add_digests(&mut delta)?;
        catalog.recount_copies(&mut delta, known, &copies)?;
        let scan = write_scan(catalog, rows.scan, found)?;
        catalog.write_sizes(scan, found.tree, sizes)?;
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
            let content = content.optional().at(path)?.flatten();
            delta.touched.extend(content);
            delta.recounted.extend(content);
            delta.stored.push((file, state.into()));
        }
        Ok(())
    }

    /// Writes the rows that differ from the stored ones, while another thread prepares them.
    fn write_files(&self, delta: &mut Delta<'_>, existing: Existing) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let (sender, batches) = std::sync::mpsc::sync_channel(8);
            scope.spawn(move || delta.send_files(&sender));
            store_files(self, existing, batches)
        })
    }

    /// Clears the content of unreachable files that could not be compared with a new content.
    fn drop_unproven_contents(&self, delta: &mut Delta<'_>) -> Result<(), Error> {
        let Delta { tree, fingerprints, rows, new_contents, touched, recounted, unproven, .. } =
            delta;
        let new = new_contents.iter().map(|new| new.content);
        let rows_without_proof = rows.unreachable.unproven(&rows.contents, tree, fingerprints, new);
        let sql = "UPDATE file SET content = NULL, state = ?3 WHERE dir = ?1 AND name = ?2";
        let mut update = self.db.prepare(sql).at(&self.path)?;
        for (dir, name, content) in rows_without_proof {
            let pending = FileState::Pending.number();
            update.execute(params![dir, name, pending]).at(&self.path)?;
            touched.insert(content);
            recounted.insert(content);
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

    /// Inserts new contents together with their copy counts. `counts` lists the number of inodes by
    /// row, in ascending order of rows.
    fn insert_contents(
        &self,
        delta: &mut Delta<'_>,
        counts: &[(i64, u32)],
        copies: &CopiesByRow,
    ) -> Result<(), Error> {
        let sql = "INSERT INTO content (id, size, digest, inodes, reclaimable) \
                   VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut insert = self.db.prepare(sql).at(&self.path)?;
        let is_unfinished = delta.is_unfinished();
        let mut counts = counts.iter().peekable();
        for &NewContent { content, row, size } in &delta.new_contents {
            let inodes = counts.next_if(|count| count.0 == row).map_or(1, |count| count.1);
            let reclaimable =
                measured(copies, row, inodes).unwrap_or_else(|| estimated(size, inodes));
            let digest = delta.fingerprints.digest(content);
            let values = params![
                row,
                size.cast_signed(),
                digest.map(|digest| digest.0),
                inodes,
                reclaimable.cast_signed(),
            ];
            insert.execute(values).at(&self.path)?;
            if is_unfinished {
                delta.inserted.push((row, ContentRow { digest, inodes, reclaimable }));
            }
        }
        Ok(())
    }

    /// Adds new digests to known contents.
    fn add_digests(&self, delta: &mut Delta<'_>) -> Result<(), Error> {
        let sql = "UPDATE content SET digest = ?2 WHERE id = ?1";
        let mut update = self.db.prepare(sql).at(&self.path)?;
        let is_unfinished = delta.is_unfinished();
        for (index, row) in delta.rows.contents.row_of.iter().enumerate() {
            let known = delta.rows.contents.row(*row).filter(|content| content.digest.is_none());
            let Some((known, digest)) = known.zip(delta.fingerprints.digest_at(index)) else {
                continue;
            };
            update.execute(params![row, digest.0]).at(&self.path)?;
            if is_unfinished {
                delta.inserted.push((*row, ContentRow { digest: Some(digest), ..*known }));
            }
        }
        Ok(())
    }

    /// Returns the number of inodes with each of these known contents. If only changed entries were examined, many
    /// copies are not counted anew. Instead, the number before the scan is adjusted.
    fn count_copies(&self, delta: &Delta<'_>, rows: &[i64]) -> Result<Vec<(i64, u32)>, Error> {
        let examined = delta.rows.examined.as_ref();
        // Another process may have marked files meanwhile, which changes the number of copies.
        let version = self.data_version()?;
        let others = |row: i64| {
            let examined = examined.filter(|rows| rows.version == version)?;
            let known = delta.rows.contents.row(row).filter(|known| known.inodes > MAX_COMPLETE)?;
            let is_adjusted = !delta.recounted.contains(&row) && !examined.is_recounted(row);
            let others = (known.inodes as usize).saturating_sub(examined.copies(row));
            is_adjusted.then_some(others)
        };
        let adjusted = rows.iter().copied().filter(|&row| others(row).is_some()).collect();
        let examined = delta.examined_copies(&adjusted);
        let count = |row: i64| match others(row) {
            Some(others) => Ok(to_u32(others + examined.get(&row).copied().unwrap_or(0))),
            None => self.count_inodes(row),
        };
        rows.iter().map(|&row| Ok((row, count(row)?))).collect()
    }

    /// Updates the copy counts of known contents that gained or lost a file, and deletes those that
    /// have no files left. `gained` lists the contents of the files that were written.
    fn recount_copies(
        &self,
        delta: &mut Delta<'_>,
        gained: &[(i64, u32)],
        copies: &CopiesByRow,
    ) -> Result<(), Error> {
        let lost = delta.touched.iter().chain(&delta.rows.touched);
        let mut rows: Vec<i64> = gained.iter().map(|count| count.0).chain(lost.copied()).collect();
        // In the order of the rows, so that the pages of the catalog are visited once.
        rows.sort_unstable();
        rows.dedup();
        // The final commit may refer to these contents again, so a save must not delete them.
        let known = delta.known.values().filter(|_| delta.is_unfinished());
        let kept: HashSet<i64> = known.copied().collect();
        let counts = self.count_copies(delta, &rows)?;
        let (kept, counts): (Vec<_>, Vec<_>) =
            counts.into_iter().partition(|&(row, _)| kept.contains(&row));
        self.update_counts(&kept, copies)?;
        self.write_counts(&counts, copies)
    }
}
