//! Writes a scan's result in one transaction, and only what differs from what is stored.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use content::ContentId;
use rusqlite::{OptionalExtension, params};
use walk::{DirId, FileId, Problem, Tree};

use crate::delta::{CopiesByRow, Delta};
use crate::dirs::{TOP, components, range_below};
use crate::error::{At, Error};
use crate::insert::insert_files;
use crate::open::{Catalog, Writer};
use crate::recall::{Recall, Stored};

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

impl Writer {
    /// Commits what a scan found about `tree`.
    ///
    /// # Errors
    ///
    /// The catalog is then as it was before.
    pub fn commit(
        self,
        tree: &Tree,
        recall: Recall,
        copies: impl Iterator<Item = Copies>,
        problems: &[&Problem],
        record: &ScanRecord,
    ) -> Result<(), Error> {
        let is_new = self.is_new();
        let catalog = &self.catalog;
        catalog.run("BEGIN IMMEDIATE")?;
        let Recall { facts, memory } = recall;
        let next_content = catalog.next_id("content")?;
        let mut delta = Delta::new(tree, &facts, memory, record.started_ms, next_content);
        catalog.remove_gone(&mut delta)?;
        catalog.make_dirs(&mut delta)?;
        catalog.touch_dropped(&mut delta)?;
        catalog.write_files(&mut delta, is_new)?;
        catalog.doubt_away(&mut delta)?;
        catalog.write_volumes(&delta)?;
        catalog.write_contents(&delta)?;
        let copies = delta.rows_of(copies);
        catalog.count_copies(&mut delta, &copies, is_new)?;
        write_scan(catalog, tree, problems, record)?;
        self.index()?;
        self.catalog.run("COMMIT")?;
        self.publish()
    }
}

impl Catalog {
    fn remove_gone(&self, delta: &mut Delta<'_>) -> Result<(), Error> {
        let gone = std::mem::take(&mut delta.memory.gone_files);
        self.delete_files(gone.iter().map(|(dir, name)| (*dir, name.as_ref())))?;
        self.delete_dirs(&delta.memory.gone_dirs)
    }

    /// Notes the contents that lose a file because the engine gave the file up.
    fn touch_dropped(&self, delta: &mut Delta<'_>) -> Result<(), Error> {
        let Delta { tree, facts, memory, .. } = delta;
        let sql = "SELECT content FROM file WHERE dir = ?1 AND name = ?2 AND content IS NOT NULL";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        for (id, stored) in (0u32..).zip(&memory.stored) {
            if *stored == Stored::Nothing || !facts.dropped(id) {
                continue;
            }
            let dir = memory.dir_rows[tree.file(FileId(id)).dir.0 as usize];
            let name = tree.name(FileId(id)).to_bytes();
            let content = query.query_row(params![dir, name], |row| row.get::<_, i64>(0));
            memory.touched.extend(content.optional().at(&self.path)?);
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
        let Delta { tree, facts, memory, new_contents, .. } = delta;
        let unproven = memory.away.unproven(&memory.contents, tree, facts, new_contents);
        let sql = "UPDATE file SET content = NULL WHERE dir = ?1 AND name = ?2";
        let mut update = self.db.prepare(sql).at(&self.path)?;
        for (dir, name, content) in unproven {
            update.execute(params![dir, name]).at(&self.path)?;
            memory.touched.insert(content);
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
            if delta.memory.dir_rows[index] != 0 {
                continue;
            }
            let id = DirId(u32::try_from(index).unwrap_or(u32::MAX));
            let dir = delta.tree.dir(id);
            let row = match (dir.parent, delta.tree.dir_name(id)) {
                (Some(parent), Some(name)) => {
                    child(delta.memory.dir_rows[parent.0 as usize], name.to_bytes()).at(path)?
                }
                _ => components(&delta.tree.root_of(id).absolute)
                    .try_fold(TOP, &mut child)
                    .at(path)?,
            };
            delta.memory.dir_rows[index] = row;
        }
        Ok(())
    }

    fn write_volumes(&self, delta: &Delta<'_>) -> Result<(), Error> {
        let volumes = &delta.memory.volumes;
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
    fn write_contents(&self, delta: &Delta<'_>) -> Result<(), Error> {
        let path = &self.path;
        let db = &self.db;
        let sizes = delta.sizes();
        let mut insert = db
            .prepare(
                "INSERT INTO content (id, size, digest, inodes, reclaimable) VALUES (?1, ?2, ?3, 1, 0)",
            )
            .at(path)?;
        for &content in &delta.new_contents {
            let row = delta.content_rows[content.index()];
            let size = sizes.get(&content).copied().unwrap_or(0).cast_signed();
            let digest = delta.facts.digest(content).map(|digest| digest.0);
            insert.execute(params![row, size, digest]).at(path)?;
        }
        let mut update = db.prepare("UPDATE content SET digest = ?2 WHERE id = ?1").at(path)?;
        let known = delta.memory.contents.row_of.iter().enumerate();
        for (index, &row) in known {
            let had = delta.memory.contents.row(row).is_some_and(|c| c.digest.is_some());
            let digest = delta.facts.digest_at(index).filter(|_| !had);
            if let Some(digest) = digest {
                update.execute(params![row, digest.0]).at(path)?;
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
            let mut touched: HashSet<i64> = std::mem::take(&mut delta.memory.touched);
            touched.extend(delta.written.iter().map(|w| w.0));
            for row in touched {
                counts.push((row, self.count_inodes(row)?));
            }
        }
        self.write_counts(&counts, copies)
    }
}

impl Catalog {
    fn next_id(&self, table: &str) -> Result<i64, Error> {
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
        let sql =
            "SELECT count(*) FROM (SELECT DISTINCT volume, inode FROM file WHERE content = ?1)";
        let mut query = self.db.prepare_cached(sql).at(&self.path)?;
        query.query_row([content], |row| row.get(0)).at(&self.path)
    }

    /// Stores how many inodes have each content, and forgets contents that none has.
    ///
    /// What can be reclaimed is taken from `copies` if that counted the same inodes, and is else
    /// the size of all copies but one.
    pub(crate) fn write_counts(
        &self,
        counts: &[(i64, u32)],
        copies: &CopiesByRow,
    ) -> Result<(), Error> {
        let path = &self.path;
        let mut delete = self.db.prepare("DELETE FROM content WHERE id = ?1").at(path)?;
        let sql = "UPDATE content SET inodes = ?2, reclaimable = coalesce(?3, size * (?2 - 1)) \
                   WHERE id = ?1";
        let mut update = self.db.prepare(sql).at(path)?;
        for &(row, inodes) in counts {
            if inodes == 0 {
                delete.execute([row]).at(path)?;
                continue;
            }
            let measured = copies.get(&row).filter(|(n, _)| *n == inodes);
            let reclaimable = measured.map(|(_, bytes)| bytes.cast_signed());
            update.execute(params![row, inodes, reclaimable]).at(path)?;
        }
        Ok(())
    }
}

fn write_scan(
    catalog: &Catalog,
    tree: &Tree,
    problems: &[&Problem],
    record: &ScanRecord,
) -> Result<(), Error> {
    let (db, path) = (&catalog.db, &catalog.path);
    let scan = catalog.next_id("scan")?;
    db.execute(
        "INSERT INTO scan (id, started_ms, finished_ms, options, files, bytes, problems) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            scan,
            record.started_ms,
            record.finished_ms,
            record.options,
            record.files.cast_signed(),
            record.bytes.cast_signed(),
            i64::try_from(problems.len()).unwrap_or(i64::MAX),
        ],
    )
    .at(path)?;
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
    Ok(())
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
