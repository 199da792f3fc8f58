//! Writes a scan's result in one transaction, and only what differs from what is stored.

use std::collections::{HashMap, HashSet};

use content::{ContentId, Facts};
use rusqlite::{OptionalExtension, Statement, params};
use walk::{DirId, FileId, FileRecord, Problem, Tree};

use crate::dirs::{TOP, components};
use crate::error::{At, Error};
use crate::open::{Catalog, Writer};
use crate::recall::{Memory, Recall, Stored, files_by_name};

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
        let mut commit = Commit::new(catalog, tree, &facts, memory, record.started_ms)?;
        commit.remove_gone()?;
        commit.make_dirs()?;
        commit.write_files()?;
        commit.write_volumes()?;
        let copies = commit.rows_of(copies);
        commit.write_contents()?;
        commit.count_copies(&copies, is_new)?;
        write_scan(catalog, tree, problems, record)?;
        drop(commit);
        self.index()?;
        self.catalog.run("COMMIT")?;
        self.publish()
    }
}

type CopiesByRow = HashMap<i64, (u32, u64)>;

struct Commit<'a> {
    catalog: &'a Catalog,
    tree: &'a Tree,
    facts: &'a Facts,
    memory: Memory,
    /// Files changed at or after this time may change again without its showing.
    recent_ns: i64,
    /// The row of each content of the facts, 0 until it is used.
    content_rows: Vec<i64>,
    next_content: i64,
    /// Contents to insert.
    new_contents: Vec<ContentId>,
    /// Row of content, device and inode of every file written, to count copies.
    written: Vec<(i64, u16, u64)>,
}

impl<'a> Commit<'a> {
    fn new(
        catalog: &'a Catalog,
        tree: &'a Tree,
        facts: &'a Facts,
        memory: Memory,
        started_ms: i64,
    ) -> Result<Self, Error> {
        let mut content_rows = memory.contents.row_of.clone();
        content_rows.resize(facts.contents(), 0);
        let next_content = catalog.next_id("content")?;
        Ok(Commit {
            catalog,
            tree,
            facts,
            memory,
            recent_ns: started_ms.saturating_mul(1_000_000),
            content_rows,
            next_content,
            new_contents: Vec::new(),
            written: Vec::new(),
        })
    }

    fn remove_gone(&mut self) -> Result<(), Error> {
        let gone = std::mem::take(&mut self.memory.gone_files);
        self.catalog.delete_files(gone.iter().map(|(dir, name)| (*dir, name.as_ref())))?;
        self.catalog.delete_dirs(&self.memory.gone_dirs)
    }

    fn make_dirs(&mut self) -> Result<(), Error> {
        let db = &self.catalog.db;
        let path = &self.catalog.path;
        let mut insert = db
            .prepare("INSERT OR IGNORE INTO dir (id, parent, name) VALUES (?1, ?2, ?3)")
            .at(path)?;
        let mut find = db.prepare("SELECT id FROM dir WHERE parent = ?1 AND name = ?2").at(path)?;
        let mut next = self.catalog.next_id("dir")?;
        let mut child = |parent: i64, name: &[u8]| -> rusqlite::Result<i64> {
            if insert.execute(params![next, parent, name])? == 0 {
                // Made before, for another root or for the same directory's files elsewhere.
                return find.query_row(params![parent, name], |row| row.get(0));
            }
            next += 1;
            Ok(next - 1)
        };
        for index in 0..self.tree.dirs().len() {
            if self.memory.dir_rows[index] != 0 {
                continue;
            }
            let id = DirId(u32::try_from(index).unwrap_or(u32::MAX));
            let dir = self.tree.dir(id);
            let row = match (dir.parent, self.tree.dir_name(id)) {
                (Some(parent), Some(name)) => {
                    child(self.memory.dir_rows[parent.0 as usize], name.to_bytes()).at(path)?
                }
                _ => components(&self.tree.root_of(id).absolute)
                    .try_fold(TOP, &mut child)
                    .at(path)?,
            };
            self.memory.dir_rows[index] = row;
        }
        Ok(())
    }

    /// Writes the rows of files that differ from what is stored, in the order of the key.
    fn write_files(&mut self) -> Result<(), Error> {
        let path = &self.catalog.path;
        let sql = "INSERT OR REPLACE INTO file \
                   (dir, name, volume, inode, size, mtime_ns, ctime_ns, head, content) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let mut insert = self.catalog.db.prepare(sql).at(path)?;
        let tree = self.tree;
        let mut dirs: Vec<(i64, DirId)> =
            (0u32..).zip(&self.memory.dir_rows).map(|(id, &row)| (row, DirId(id))).collect();
        dirs.sort_unstable();
        for same in dirs.chunk_by(|a, b| a.0 == b.0) {
            let files = files_by_name(tree, same.iter().map(|&(_, id)| id));
            for (name, file) in files {
                self.write_file(&mut insert, same[0].0, name, file).at(path)?;
            }
        }
        Ok(())
    }

    fn write_file(
        &mut self,
        insert: &mut Statement<'_>,
        dir: i64,
        name: &[u8],
        file: FileId,
    ) -> rusqlite::Result<()> {
        let record = *self.tree.file(file);
        let head = self.facts.head(file.0).filter(|_| !self.is_recent(&record));
        let content = self.facts.content(file.0);
        let now = match (head, content) {
            (None, None) => Stored::Metadata,
            (None, Some(_)) => Stored::Doubtful,
            (Some(_), None) => Stored::Head,
            (Some(_), Some(_)) => Stored::Content,
        };
        let before = self.memory.stored[file.0 as usize];
        if now == before && now != Stored::Doubtful {
            return Ok(());
        }
        let row = content.map(|content| self.content_row(content));
        let device = self.tree.device_of(record.dir);
        insert.execute(params![
            dir,
            name,
            self.memory.volumes.id(device),
            record.inode.cast_signed(),
            record.size.cast_signed(),
            record.mtime_ns,
            record.ctime_ns,
            head.map(|head| head.0.get().cast_signed()),
            row,
        ])?;
        if let Some(row) = row {
            let device = self.tree.device_index(record.dir);
            self.written.push((row, u16::try_from(device).unwrap_or(u16::MAX), record.inode));
        }
        Ok(())
    }

    /// Returns whether a file's times are so recent that another change might not show in them.
    ///
    /// The kernel stamps files with the time of its last tick, at most 10 ms ago (HZ = 100). Some
    /// file systems keep whole seconds, or even ones (FAT).
    fn is_recent(&self, file: &FileRecord) -> bool {
        const SECOND: i64 = 1_000_000_000;
        let coarse = file.ctime_ns % SECOND == 0 && file.mtime_ns % SECOND == 0;
        let margin = if coarse { 2 * SECOND } else { SECOND / 100 };
        file.ctime_ns >= self.recent_ns - margin
    }

    fn content_row(&mut self, content: ContentId) -> i64 {
        let row = &mut self.content_rows[content.index()];
        if *row == 0 {
            *row = self.next_content;
            self.next_content += 1;
            self.new_contents.push(content);
        }
        *row
    }

    fn write_volumes(&self) -> Result<(), Error> {
        let volumes = &self.memory.volumes;
        for &index in &volumes.changed {
            let row = volumes.row(index);
            let bits = |n: u64| n.cast_signed();
            self.catalog
                .db
                .execute(
                    "INSERT OR REPLACE INTO volume (id, magic, fsid, device) VALUES (?1, ?2, ?3, ?4)",
                    params![row.id, bits(row.magic), bits(row.fsid), bits(row.device)],
                )
                .at(&self.catalog.path)?;
        }
        Ok(())
    }

    fn rows_of(&self, copies: impl Iterator<Item = Copies>) -> CopiesByRow {
        copies.map(|c| (self.content_rows[c.content.index()], (c.inodes, c.reclaimable))).collect()
    }

    /// Inserts new contents, and digests found for known ones.
    fn write_contents(&mut self) -> Result<(), Error> {
        let path = &self.catalog.path;
        let db = &self.catalog.db;
        let sizes = self.sizes();
        let mut insert = db
            .prepare(
                "INSERT INTO content (id, size, digest, inodes, reclaimable) VALUES (?1, ?2, ?3, 1, 0)",
            )
            .at(path)?;
        for &content in &self.new_contents {
            let row = self.content_rows[content.index()];
            let size = sizes.get(&content).copied().unwrap_or(0).cast_signed();
            let digest = self.facts.digest(content).map(|digest| digest.0);
            insert.execute(params![row, size, digest]).at(path)?;
        }
        let mut update = db.prepare("UPDATE content SET digest = ?2 WHERE id = ?1").at(path)?;
        let known = self.memory.contents.row_of.iter().enumerate();
        for (index, &row) in known {
            let had = self.memory.contents.row(row).is_some_and(|c| c.digest.is_some());
            let digest = self.facts.digest_at(index).filter(|_| !had);
            if let Some(digest) = digest {
                update.execute(params![row, digest.0]).at(path)?;
            }
        }
        Ok(())
    }

    fn sizes(&self) -> HashMap<ContentId, u64> {
        if self.new_contents.is_empty() {
            return HashMap::new();
        }
        let files = (0u32..).zip(self.tree.files());
        files.filter_map(|(id, f)| self.facts.content(id).map(|c| (c, f.size))).collect()
    }

    /// Brings the copy counts of all contents that gained or lost a file up to date.
    fn count_copies(&mut self, copies: &CopiesByRow, is_new: bool) -> Result<(), Error> {
        let mut counts: Vec<(i64, u32)> = Vec::new();
        if is_new {
            self.written.sort_unstable();
            self.written.dedup();
            for same in self.written.chunk_by(|a, b| a.0 == b.0) {
                counts.push((same[0].0, u32::try_from(same.len()).unwrap_or(u32::MAX)));
            }
        } else {
            let mut touched: HashSet<i64> = std::mem::take(&mut self.memory.touched);
            touched.extend(self.written.iter().map(|w| w.0));
            for row in touched {
                counts.push((row, self.catalog.count_inodes(row)?));
            }
        }
        self.catalog.write_counts(&counts, copies)
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

    /// Deletes directories and the files in them.
    pub(crate) fn delete_dirs(&self, dirs: &[i64]) -> Result<(), Error> {
        let mut files = self.db.prepare("DELETE FROM file WHERE dir = ?1").at(&self.path)?;
        let mut dir = self.db.prepare("DELETE FROM dir WHERE id = ?1").at(&self.path)?;
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
        // 'x/' to 'x0': all that starts with 'x/', as '0' follows '/'.
        let (mut from, mut to) = (root.absolute.clone(), root.absolute.clone());
        if from != b"/" {
            from.push(b'/');
            to.push(b'0');
        } else {
            to[0] = b'0';
        }
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
    Ok(())
}

/// Returns a path that starts with a root as given with the root's absolute path instead.
fn absolute(tree: &Tree, path: &[u8]) -> Vec<u8> {
    let under = |given: &[u8]| path.strip_prefix(given).filter(|_| !given.is_empty());
    let best = tree
        .roots()
        .iter()
        .filter_map(|root| under(&root.given).map(|rest| (root, rest)))
        .min_by_key(|(_, rest)| rest.len());
    match best {
        Some((root, rest)) => [root.absolute.as_slice(), rest].concat(),
        None => path.to_vec(),
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
