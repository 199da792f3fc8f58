//! What a commit has to write: the files that differ from what is stored, and new contents.
//!
//! No SQL here, so that it can be worked out on another thread than the one that has the
//! database.

use std::collections::HashMap;
use std::sync::mpsc::SyncSender;

use content::{ContentId, Digest, Facts};
use walk::{DirId, FileId, FileRecord, Tree};

use crate::commit::Copies;
use crate::insert::NewRow;
use crate::recall::{Memory, Stored, files_by_name, version};
use crate::rows::FileRow;

/// Rows handed over at a time; large enough for the handing over to cost nothing.
const BATCH: usize = 1024;

/// Inodes and reclaimable bytes by row of `content`.
pub(crate) type CopiesByRow = HashMap<i64, (u32, u64)>;

/// What differs between a scan and the catalog.
pub(crate) struct Delta<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) facts: &'a Facts,
    pub(crate) memory: Memory,
    /// Files changed at or after this time may change again without its showing.
    started_ns: i64,
    /// The row of each content of the facts, 0 until it is used.
    pub(crate) content_rows: Vec<i64>,
    next_content: i64,
    /// Contents of files that are out of reach, by digest.
    away: HashMap<Digest, i64>,
    /// Contents to insert.
    pub(crate) new_contents: Vec<ContentId>,
    /// Row of content, device and inode of every file written, to count copies.
    pub(crate) written: Vec<(i64, u16, u64)>,
}

impl<'a> Delta<'a> {
    /// `next_content` is the first free row of `content`.
    pub(crate) fn new(
        tree: &'a Tree,
        facts: &'a Facts,
        memory: Memory,
        started_ms: i64,
        next_content: i64,
    ) -> Self {
        let mut content_rows = memory.contents.row_of.clone();
        content_rows.resize(facts.contents(), 0);
        let away = memory.away.digests(&memory.contents);
        Delta {
            tree,
            facts,
            memory,
            started_ns: started_ms.saturating_mul(1_000_000),
            content_rows,
            next_content,
            away,
            new_contents: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Hands over the rows of files that differ from what is stored, in the order of the key.
    ///
    /// Ends early if nobody takes them any more.
    pub(crate) fn send_files(&mut self, to: &SyncSender<Vec<NewRow<'a>>>) {
        let tree = self.tree;
        let mut dirs: Vec<(i64, DirId)> =
            (0u32..).zip(&self.memory.dir_rows).map(|(id, &row)| (row, DirId(id))).collect();
        dirs.sort_unstable();
        let mut batch = Vec::with_capacity(BATCH);
        for same in dirs.chunk_by(|a, b| a.0 == b.0) {
            for (name, file) in files_by_name(tree, same.iter().map(|&(_, id)| id)) {
                batch.extend(self.changed_row(file).map(|row| (same[0].0, name, row)));
                if batch.len() == BATCH {
                    let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
                    if to.send(full).is_err() {
                        return;
                    }
                }
            }
        }
        let _nobody_takes_it = to.send(batch);
    }

    /// Returns the row of a file if it is not what is stored.
    fn changed_row(&mut self, file: FileId) -> Option<FileRow> {
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
            return None;
        }
        let row = content.map(|content| self.content_row(content));
        if let Some(row) = row {
            let device = self.tree.device_index(record.dir);
            self.written.push((row, u16::try_from(device).unwrap_or(u16::MAX), record.inode));
        }
        let version = version(self.tree, file, &mut self.memory.volumes);
        Some(FileRow { head, content: row, ..version })
    }

    fn is_recent(&self, file: &FileRecord) -> bool {
        is_recent(file.mtime_ns, file.ctime_ns, self.started_ns)
    }

    fn content_row(&mut self, content: ContentId) -> i64 {
        let row = &mut self.content_rows[content.index()];
        if *row == 0 {
            let digest = self.facts.digest(content).filter(|_| !self.away.is_empty());
            if let Some(&known) = digest.and_then(|digest| self.away.get(&digest)) {
                *row = known;
            } else {
                *row = self.next_content;
                self.next_content += 1;
                self.new_contents.push(content);
            }
        }
        *row
    }

    /// Returns the copies by row of their content.
    pub(crate) fn rows_of(&self, copies: impl Iterator<Item = Copies>) -> CopiesByRow {
        copies.map(|c| (self.content_rows[c.content.index()], (c.inodes, c.reclaimable))).collect()
    }

    /// Returns the sizes of the new contents.
    pub(crate) fn sizes(&self) -> HashMap<ContentId, u64> {
        if self.new_contents.is_empty() {
            return HashMap::new();
        }
        let files = (0u32..).zip(self.tree.files());
        files.filter_map(|(id, f)| self.facts.content(id).map(|c| (c, f.size))).collect()
    }
}

/// Returns whether a file's times are so recent, seen from when it was looked at, that another change
/// might not show in them.
///
/// The kernel stamps files with the time of its last tick, at most 10 ms ago (HZ = 100). Some file
/// systems keep whole seconds, or even ones (FAT).
pub(crate) fn is_recent(mtime_ns: i64, ctime_ns: i64, looked_ns: i64) -> bool {
    const SECOND: i64 = 1_000_000_000;
    let coarse = ctime_ns % SECOND == 0 && mtime_ns % SECOND == 0;
    let margin = if coarse { 2 * SECOND } else { SECOND / 100 };
    ctime_ns >= looked_ns - margin
}
