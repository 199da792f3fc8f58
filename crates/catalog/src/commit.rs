//! Writes a scan's result in one transaction, and only what differs from what is stored.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use content::{ContentId, Facts};
use rusqlite::{OptionalExtension, params};
use walk::{DirId, Problem, Tree};

use crate::delta::{Committed, CopiesByRow, Delta, Dropped};
use crate::dirs::{TOP, components, range_below};
use crate::error::{At, Error};
use crate::insert::insert_files;
use crate::open::{Catalog, Writer};
use crate::recall::{Memory, Recall};
use crate::rows::ContentRow;
use crate::state::FileState;

/// What is remembered of a scan itself.
#[derive(Clone, Debug)]
pub struct ScanRecord {
    /// Start and end, milliseconds since the epoch.
    pub started_ms: i64,
    /// See `started_ms`.
    pub finished_ms: i64,
    /// The options that decided what was looked at, for people to read.
    pub options: String,
    /// Regular files seen.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// How many inodes have a content, and what keeping one of them would free.
#[derive(Clone, Copy, Debug)]
pub struct Copies {
    /// The content.
    pub content: ContentId,
    /// Inodes counted.
    pub inodes: u32,
    /// Bytes.
    pub reclaimable: u64,
}

/// What a scan has found out, at its end or on its way.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'a> {
    /// The files.
    pub tree: &'a Tree,
    /// What is known of their contents. Engines may still be adding to it.
    pub facts: &'a Facts,
    /// What could not be examined.
    pub problems: &'a [&'a Problem],
    /// The scan itself.
    pub record: &'a ScanRecord,
    /// By file, whether it is still to be compared; nothing if the scan came to its end.
    pub pending: Option<&'a [bool]>,
}

impl Writer {
    /// Commits what a scan found about `tree`.
    ///
    /// # Errors
    ///
    /// The catalog is then as it was before.
    pub fn commit(
        mut self,
        tree: &Tree,
        recall: Recall,
        copies: impl Iterator<Item = Copies>,
        problems: &[&Problem],
        record: &ScanRecord,
    ) -> Result<(), Error> {
        let Recall { facts, memory } = recall;
        let found = Findings { tree, facts: &facts, problems, record, pending: None };
        self.write(&memory, &found, copies)?;
        self.publish()
    }

    /// Commits what a scan has found out so far; it can go on, and commit again. What is not compared yet
    /// ([`Findings::pending`]) is stored as such.
    ///
    /// # Errors
    ///
    /// The catalog is then as it was before, and the scan can go on all the same.
    pub fn save(&mut self, memory: &mut Memory, found: &Findings<'_>) -> Result<(), Error> {
        let written = self.write(memory, found, std::iter::empty());
        let published = written.and_then(|written| self.publish().map(|()| written));
        let (committed, scan) = published.inspect_err(|_| self.go_back())?;
        memory.take_over(committed);
        memory.scan = Some(scan);
        self.ready()
    }

    /// Writes what differs from what is stored in one transaction; returns what is stored by that.
    fn write(
        &mut self,
        memory: &Memory,
        found: &Findings<'_>,
        copies: impl Iterator<Item = Copies>,
    ) -> Result<(Committed, i64), Error> {
        self.ready()?;
        let is_new = self.is_new();
        let catalog = &self.catalog;
        catalog.run("BEGIN IMMEDIATE")?;
        let mut delta = Delta::new(found, memory, catalog.next_id("content")?);
        catalog.remove_gone(memory)?;
        catalog.make_dirs(&mut delta)?;
        catalog.mark_dropped(&mut delta)?;
        catalog.write_files(&mut delta, is_new)?;
        catalog.doubt_away(&mut delta)?;
        catalog.write_volumes(&delta)?;
        catalog.write_contents(&mut delta)?;
        let copies = delta.rows_of(copies);
        catalog.count_copies(&mut delta, &copies, is_new)?;
        let scan = write_scan(catalog, memory.scan, found)?;
        self.index()?;
        catalog.run("COMMIT")?;
        Ok((delta.committed(), scan))
    }
}

impl Catalog {
    fn remove_gone(&self, memory: &Memory) -> Result<(), Error> {
        self.delete_files(memory.gone_files.iter().map(|(dir, name)| (*dir, name.as_ref())))?;
        self.delete_dirs(&memory.gone_dirs)
    }

    /// Marks the rows of files that the engine gave up, and notes the contents that lose them.
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

    /// Writes the rows of files that differ from what is stored, worked out meanwhile.
    fn write_files(&self, delta: &mut Delta<'_>, is_new: bool) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let (sender, batches) = std::sync::mpsc::sync_channel(8);
            scope.spawn(move || delta.send_files(&sender));
            insert_files(self, !is_new, batches)
        })
    }

    /// Takes their content from files out of reach that were not compared with a new content.
    fn doubt_away(&self, delta: &mut Delta<'_>) -> Result<(), Error> {
        let Delta { tree, facts, memory, new_contents, touched, doubted, .. } = delta;
        let unproven = memory.away.unproven(&memory.contents, tree, facts, new_contents);
        let sql = "UPDATE file SET content = NULL, state = ?3 WHERE dir = ?1 AND name = ?2";
        let mut update = self.db.prepare(sql).at(&self.path)?;
        for (dir, name, content) in unproven {
            let pending = FileState::Pending.number();
            update.execute(params![dir, name, pending]).at(&self.path)?;
            touched.insert(content);
            doubted.push((dir, name.into()));
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
                // Made before, for another root or for the same directory's files elsewhere.
                return find.query_row(params![parent, name], |row| row.get(0));
            }
            next += 1;
            Ok(next - 1)
        };
        for index in 0..delta.tree.dirs().len() {
            if delta.dir_rows[index] != 0 {
                continue;
            }
            let id = DirId(u32::try_from(index).unwrap_or(u32::MAX));
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

    /// Inserts new contents, and digests found for known ones.
    fn write_contents(&self, delta: &mut Delta<'_>) -> Result<(), Error> {
        let path = &self.path;
        let db = &self.db;
        let sizes = delta.sizes();
        let goes_on = delta.goes_on();
        let mut insert = db
            .prepare(
                "INSERT INTO content (id, size, digest, inodes, reclaimable) VALUES (?1, ?2, ?3, 1, 0)",
            )
            .at(path)?;
        for &content in &delta.new_contents {
            let row = delta.content_rows[content.index()];
            let size = sizes.get(&content).copied().unwrap_or(0).cast_signed();
            let digest = delta.facts.digest(content);
            insert.execute(params![row, size, digest.map(|digest| digest.0)]).at(path)?;
            if goes_on {
                delta.inserted.push((row, ContentRow { digest, inodes: 1, reclaimable: 0 }));
            }
        }
        let mut update = db.prepare("UPDATE content SET digest = ?2 WHERE id = ?1").at(path)?;
        for (index, row) in delta.memory.contents.row_of.iter().enumerate() {
            let known = delta.memory.contents.row(*row).filter(|content| content.digest.is_none());
            let Some((known, digest)) = known.zip(delta.facts.digest_at(index)) else { continue };
            update.execute(params![row, digest.0]).at(path)?;
            if goes_on {
                delta.inserted.push((*row, ContentRow { digest: Some(digest), ..*known }));
            }
        }
        Ok(())
    }

    /// Brings the copy counts of all contents that gained or lost a file up to date.
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
                counts.push((same[0].0, u32::try_from(same.len()).unwrap_or(u32::MAX)));
            }
        } else {
            let mut touched = std::mem::take(&mut delta.touched);
            touched.extend(delta.written.iter().map(|w| w.0));
            touched.extend(&delta.memory.touched);
            for &row in &touched {
                counts.push((row, self.count_inodes(row)?));
            }
            delta.touched = touched;
        }
        self.write_counts(&counts, copies)
    }
}

impl Catalog {
    pub(crate) fn next_id(&self, table: &str) -> Result<i64, Error> {
        let sql = format!("SELECT coalesce(max(id), 0) + 1 FROM {table}");
        self.db.query_row(&sql, [], |row| row.get(0)).at(&self.path)
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

    /// Deletes directories and the files in them; the file system's root stays.
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

    /// Stores how many inodes have each content, and forgets contents that none has or had before it was found
    /// bad.
    ///
    /// What can be reclaimed is taken from `copies` if that counted the same inodes, and is else
    /// the size of all copies but one, or what it was before if inodes became fewer and that is less.
    pub(crate) fn write_counts(
        &self,
        counts: &[(i64, u32)],
        copies: &CopiesByRow,
    ) -> Result<(), Error> {
        let path = &self.path;
        let sql = "DELETE FROM content WHERE id = ?1 \
                   AND NOT EXISTS (SELECT 1 FROM file WHERE content = ?1)";
        let mut delete = self.db.prepare(sql).at(path)?;
        // The product of two large numbers would be a fraction, which the column does not take.
        let sql = "UPDATE content SET inodes = ?2, reclaimable = coalesce(?3, CAST(min( \
                   size * max(?2 - 1.0, 0.0), CASE WHEN ?2 < inodes THEN reclaimable ELSE 9e18 END \
                   ) AS INTEGER)) WHERE id = ?1";
        let mut update = self.db.prepare(sql).at(path)?;
        for &(row, inodes) in counts {
            if inodes == 0 && delete.execute([row]).at(path)? > 0 {
                continue;
            }
            let measured = copies.get(&row).filter(|(n, _)| *n == inodes);
            let reclaimable = measured.map(|(_, bytes)| bytes.cast_signed());
            update.execute(params![row, inodes, reclaimable]).at(path)?;
        }
        Ok(())
    }
}

/// Writes the row of a scan, which is `known` if the scan has one already, and what belongs to it; returns the row.
fn write_scan(catalog: &Catalog, known: Option<i64>, found: &Findings<'_>) -> Result<i64, Error> {
    let (db, path) = (&catalog.db, &catalog.path);
    let Findings { tree, problems, record, pending, .. } = *found;
    let scan = known.map_or_else(|| catalog.next_id("scan"), Ok)?;
    db.execute(
        "INSERT OR REPLACE INTO scan \
         (id, started_ms, finished_ms, options, files, bytes, problems, complete) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            scan,
            record.started_ms,
            record.finished_ms,
            record.options,
            record.files.cast_signed(),
            record.bytes.cast_signed(),
            i64::try_from(problems.len()).unwrap_or(i64::MAX),
            pending.is_none(),
        ],
    )
    .at(path)?;
    db.execute("DELETE FROM problem WHERE scan = ?1", [scan]).at(path)?;
    for root in tree.roots().iter().filter(|root| root.whole) {
        let (from, to) = range_below(&root.absolute);
        let below = "(path = ?1 OR path >= ?2 AND path < ?3)";
        for table in ["root", "problem"] {
            let sql = format!("DELETE FROM {table} WHERE {below}");
            db.execute(&sql, params![root.absolute, from, to]).at(path)?;
        }
        db.execute("INSERT INTO root (path, scan) VALUES (?1, ?2)", params![root.absolute, scan])
            .at(path)?;
    }
    let sql = "INSERT INTO problem (scan, path, reason) VALUES (?1, ?2, ?3)";
    let mut insert = db.prepare(sql).at(path)?;
    for problem in problems {
        let reason = problem.reason.to_string();
        insert.execute(params![scan, absolute(tree, &problem.path), reason]).at(path)?;
    }
    // What was known of paths that are below no root of this scan: missing ones, those of a list.
    let sql = "DELETE FROM problem WHERE scan < ?1 \
               AND path IN (SELECT path FROM problem WHERE scan = ?1)";
    db.execute(sql, [scan]).at(path)?;
    Ok(scan)
}

/// Returns a path that starts with a root as given with the root's absolute path instead; any
/// other relative path starts with the current directory.
fn absolute(tree: &Tree, path: &[u8]) -> Vec<u8> {
    let under = |given: &[u8]| {
        let rest = path.strip_prefix(given).filter(|_| !given.is_empty())?;
        let whole = rest.is_empty() || given.ends_with(b"/") || rest.starts_with(b"/");
        whole.then_some(rest)
    };
    let best = tree
        .roots()
        .iter()
        .filter_map(|root| under(&root.given).map(|rest| (root, rest)))
        .min_by_key(|(_, rest)| rest.len());
    if let Some((root, rest)) = best {
        [root.absolute.as_slice(), rest].concat()
    } else {
        let absolute = std::path::absolute(OsStr::from_bytes(path));
        absolute.map_or_else(|_| path.to_vec(), |path| path.into_os_string().into_vec())
    }
}

impl Catalog {
    /// Returns the row of the directory at an absolute path.
    pub(crate) fn dir_row(&self, absolute: &[u8]) -> Result<Option<i64>, Error> {
        let sql = "SELECT id FROM dir WHERE parent = ?1 AND name = ?2";
        let mut query = self.db.prepare_cached(sql).at(&self.path)?;
        let mut at = TOP;
        for name in components(absolute) {
            let found = query.query_row(params![at, name], |row| row.get(0)).optional();
            match found.at(&self.path)? {
                Some(id) => at = id,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }
}
