//! Determines what a commit has to write: files that differ from the stored rows, and new contents.
//!
//! This module does not use SQL, so it can run on a different thread from the one that owns the
//! database.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::SyncSender;

use content::{ContentId, Digest, Fingerprints, Head};
use walk::{DirId, FileId, FileRecord, Tree, to_u32};

use super::counts::CopiesByRow;
use super::findings::{CopyCount, Findings};
use crate::matching::stored::Stored;
use crate::matching::{RowMap, Suspect};
use crate::state::FileState;
use crate::tables::contents::ContentRow;
use crate::tables::insert::NewFile;
use crate::tables::rows::FileRow;
use crate::tables::versions::{is_recent, version};
use crate::tables::volumes::Volumes;

/// Number of rows per message; large enough to make the cost of messages negligible.
const ROWS_PER_BATCH: usize = 1024;

/// The differences between a scan and the catalog. The row map is updated only after all
/// differences are committed ([`RowMap::record_committed`]).
pub(crate) struct Delta<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) fingerprints: &'a Fingerprints,
    pub(crate) rows: &'a RowMap,
    /// For each file, true if it still has to be compared; `None` if the scan is finished.
    pending: Option<&'a [bool]>,
    /// A file that changed at or after this time may change again and keep its times.
    started_ns: i64,
    /// The row of each directory of the tree; 0 until it is created.
    pub(crate) dir_rows: Vec<i64>,
    pub(crate) volumes: Volumes,
    /// The row of each content in `fingerprints`; 0 until it is used.
    pub(crate) content_rows: Vec<i64>,
    /// The row of the first new content of this commit. All rows from here on are new.
    first_new: i64,
    /// The row of the next new content.
    next_content: i64,
    /// Contents of files that are unreachable or have to be read again, by digest. In a scan of changes, all contents
    /// that were loaded, because their other files may not be in the tree.
    pub(crate) known: HashMap<Digest, i64>,
    /// Contents to insert, in the order of their rows.
    pub(crate) new_contents: Vec<NewContent>,
    /// For every file written, the row of its content, its device and its inode. Used to count
    /// copies.
    written: Vec<(i64, u16, u64)>,
    /// Other contents whose copies have to be recounted.
    pub(crate) touched: HashSet<i64>,
    /// Contents that gain or lose files from the catalog, or lose files that the engine dropped. Their copies are
    /// always counted.
    pub(crate) recounted: HashSet<i64>,
    /// Files whose rows were written, and what is now stored about them.
    pub(crate) stored: Vec<(FileId, Stored)>,
    /// Contents that were inserted or got a digest; empty if the scan is finished.
    pub(crate) inserted: Vec<(i64, ContentRow)>,
    /// Directory and name of unreachable rows that lost their content.
    pub(crate) unproven: Vec<(i64, Box<[u8]>)>,
}

/// A file that the engine dropped, and its new state.
pub(crate) struct Dropped {
    pub(crate) file: FileId,
    pub(crate) state: FileState,
}

/// A content to insert.
#[derive(Clone, Copy)]
pub(crate) struct NewContent {
    pub(crate) content: ContentId,
    pub(crate) row: i64,
    pub(crate) size: u64,
}

/// A file whose row has to be written.
#[derive(Clone, Copy)]
struct Change {
    file: FileId,
    head: Option<Head>,
    content: Option<ContentId>,
    state: FileState,
    /// What will be stored.
    now: Stored,
    /// True if only the disk space changed.
    only_resized: bool,
}

impl<'a> Delta<'a> {
    /// Compares a scan with the stored rows. `next_content` is the first free row of `content`.
    pub(crate) fn new(found: &Findings<'a>, rows: &'a RowMap, next_content: i64) -> Self {
        let Findings { tree, fingerprints, record, pending, .. } = *found;
        let mut content_rows = rows.contents.row_of.clone();
        content_rows.resize(fingerprints.contents(), 0);
        let loaded = rows.contents.iter().filter(|_| rows.examined.is_some());
        let mut known: HashMap<Digest, i64> =
            loaded.filter_map(|(row, content)| Some((content.digest?, row))).collect();
        known.extend(rows.unreachable.digests(&rows.contents));
        known.extend(rows.suspects.iter().filter_map(Suspect::content));
        Delta {
            tree,
            fingerprints,
            rows,
            pending,
            started_ns: record.started_ms.saturating_mul(1_000_000),
            dir_rows: rows.dir_rows.clone(),
            volumes: rows.volumes.clone(),
            content_rows,
            first_new: next_content,
            next_content,
            known,
            new_contents: Vec::new(),
            written: Vec::new(),
            touched: HashSet::new(),
            recounted: HashSet::new(),
            stored: Vec::new(),
            inserted: Vec::new(),
            unproven: Vec::new(),
        }
    }

    /// Returns whether the scan continues after this commit.
    pub(crate) fn is_unfinished(&self) -> bool {
        self.pending.is_some()
    }

    /// Returns whether a row of `content` existed before this commit.
    pub(crate) fn is_known(&self, row: i64) -> bool {
        row < self.first_new
    }

    /// Returns the files that were dropped and whose stored state has to change.
    pub(crate) fn dropped(&self) -> Vec<Dropped> {
        let files = (0u32..).map(FileId).zip(&self.rows.stored);
        let dropped = files.filter(|&(file, stored)| {
            *stored != Stored::Nothing && self.fingerprints.dropped(file.0)
        });
        let state = |file: FileId| dropped_state(self.fingerprints, file);
        dropped
            .map(|(file, stored)| (Dropped { file, state: state(file) }, stored))
            .filter(|(dropped, stored)| stored.state() != dropped.state)
            .map(|(dropped, _)| dropped)
            .collect()
    }

    /// Sends the rows that differ from the stored ones, in key order.
    ///
    /// Stops early if the receiver is gone.
    pub(crate) fn send_files(&mut self, to: &SyncSender<Vec<NewFile<'a>>>) {
        let tree = self.tree;
        let mut dirs: Vec<(i64, DirId)> =
            (0u32..).zip(&self.dir_rows).map(|(id, &row)| (row, DirId(id))).collect();
        dirs.sort_unstable();
        let mut batch = Vec::with_capacity(ROWS_PER_BATCH);
        let mut changes: Vec<(&[u8], Change)> = Vec::new();
        for same in dirs.chunk_by(|a, b| a.0 == b.0) {
            // In a rescan, few files change. Only their names are read and sorted.
            let files = same.iter().flat_map(|&(_, id)| tree.files_in(id)).map(FileId);
            let name = |change: Change| (tree.name(change.file).to_bytes(), change);
            changes.extend(files.filter_map(|file| self.change(file)).map(name));
            changes.sort_unstable_by_key(|&(name, Change { file, .. })| (name, file));
            for (name, change) in changes.drain(..) {
                batch.push((same[0].0, name, self.changed_row(change)));
                if batch.len() == ROWS_PER_BATCH {
                    let full = std::mem::replace(&mut batch, Vec::with_capacity(ROWS_PER_BATCH));
                    if to.send(full).is_err() {
                        return;
                    }
                }
            }
        }
        let _nobody_takes_it = to.send(batch);
    }

    /// Returns what to store about a file, or `None` if its row stays.
    fn change(&self, file: FileId) -> Option<Change> {
        let record = self.tree.file(file);
        let before = self.rows.stored[file.0 as usize];
        let head = self.fingerprints.head(file.0).filter(|_| !self.is_recent(record));
        let content = self.fingerprints.content(file.0);
        // Contents that the engine found after this commit began are left for the next commit.
        let content = content.filter(|content| content.index() < self.content_rows.len());
        let state = self.state(file, content);
        if before != Stored::Nothing && self.fingerprints.dropped(file.0) {
            // The row keeps what was known; only its state changes.
            return None;
        }
        let has_digest = |content| self.fingerprints.digest(content).is_some();
        if before.is_suspect() && self.pending.is_some() && !content.is_some_and(has_digest) {
            // It is not known yet whether the file is unchanged.
            return None;
        }
        let now = match (state, head, content) {
            (FileState::Known, None, None) => Stored::Metadata,
            (FileState::Known, None, Some(_)) => Stored::UntrustedContent,
            (FileState::Known, Some(_), None) => Stored::Head,
            (FileState::Known, Some(_), Some(_)) => Stored::Content,
            (FileState::Pending, None, _) => Stored::Pending,
            (FileState::Pending, Some(_), _) => Stored::PendingHead,
            (FileState::Damaged, ..) => Stored::Damaged,
            (FileState::Unreadable, ..) => Stored::Unreadable,
        };
        let is_same = now == before && now != Stored::UntrustedContent;
        let has_change = !is_same || self.rows.resized.contains(&file);
        has_change.then_some(Change { file, head, content, state, now, only_resized: is_same })
    }

    /// Returns the new row of a file, and notes what the commit stores. Assigns a row to a new content.
    fn changed_row(&mut self, change: Change) -> FileRow {
        let Change { file, head, content, state, now, only_resized } = change;
        self.stored.push((file, now));
        let record = self.tree.file(file);
        let row = content.map(|content| self.content_row(content, record.size));
        // A change of the disk space alone does not change the number of copies.
        if let Some(row) = row.filter(|_| !only_resized) {
            let device = self.tree.device_index(record.dir);
            self.written.push((
                row,
                u16::try_from(device).expect("a tree has at most 65,536 devices"),
                record.inode,
            ));
            if self.tree.is_remembered(file) {
                self.recounted.insert(row);
            }
        }
        let version = version(self.tree, file, &mut self.volumes);
        FileRow { head, content: row, state, ..version }
    }

    /// Returns the number of inodes with each of these contents among the files that the walk examined.
    pub(crate) fn examined_copies(&self, contents: &HashSet<i64>) -> HashMap<i64, usize> {
        let mut inodes = HashSet::new();
        let mut copies = HashMap::new();
        if contents.is_empty() {
            return copies;
        }
        for (id, file) in (0u32..).zip(self.tree.files()) {
            // Another thread may find new contents during this commit. They have no row yet.
            let content = self.fingerprints.content(id).map(ContentId::index);
            let row = content.and_then(|index| self.content_rows.get(index)).copied().unwrap_or(0);
            if contents.contains(&row)
                && !self.tree.is_remembered(FileId(id))
                && inodes.insert((row, self.tree.device_index(file.dir), file.inode))
            {
                *copies.entry(row).or_default() += 1;
            }
        }
        copies
    }

    fn state(&self, file: FileId, content: Option<ContentId>) -> FileState {
        let waits = |pending: &[bool]| pending.get(file.0 as usize).is_some_and(|&waits| waits);
        if content.is_some() {
            FileState::Known
        } else if self.fingerprints.dropped(file.0) {
            dropped_state(self.fingerprints, file)
        } else if self.pending.is_some_and(waits) {
            FileState::Pending
        } else {
            FileState::Known
        }
    }

    fn is_recent(&self, file: &FileRecord) -> bool {
        is_recent(file.mtime_ns, file.ctime_ns, self.started_ns)
    }

    /// Returns the row of a content whose files have `size` bytes. Assigns a row to a new content.
    fn content_row(&mut self, content: ContentId, size: u64) -> i64 {
        let row = &mut self.content_rows[content.index()];
        if *row == 0 {
            let digest = self.fingerprints.digest(content).filter(|_| !self.known.is_empty());
            if let Some(&known) = digest.and_then(|digest| self.known.get(&digest)) {
                *row = known;
            } else {
                *row = self.next_content;
                self.next_content += 1;
                self.new_contents.push(NewContent { content, row: *row, size });
            }
        }
        *row
    }

    /// Returns the copy counts by row of content.
    pub(crate) fn rows_of(&self, copies: impl Iterator<Item = CopyCount>) -> CopiesByRow {
        copies.map(|c| (self.content_rows[c.content.index()], (c.inodes, c.reclaimable))).collect()
    }

    /// Counts the inodes of the files that were written, by row of content in ascending order.
    ///
    /// For a new content, this is the number of all its inodes: before this commit, no file referred
    /// to its row.
    pub(crate) fn written_inodes(&mut self) -> Vec<(i64, u32)> {
        self.written.sort_unstable();
        self.written.dedup();
        let by_row = self.written.chunk_by(|a, b| a.0 == b.0);
        by_row.map(|same| (same[0].0, to_u32(same.len()))).collect()
    }
}

fn dropped_state(fingerprints: &Fingerprints, file: FileId) -> FileState {
    if fingerprints.unreadable(file.0) { FileState::Unreadable } else { FileState::Pending }
}

/// The rows that a commit has stored.
pub(crate) struct Committed {
    first_new: i64,
    dir_rows: Vec<i64>,
    volumes: Volumes,
    content_rows: Vec<i64>,
    inserted: Vec<(i64, ContentRow)>,
    unproven: Vec<(i64, Box<[u8]>)>,
    written: Vec<(i64, u16, u64)>,
    touched: HashSet<i64>,
    recounted: HashSet<i64>,
    stored: Vec<(FileId, Stored)>,
}

impl Delta<'_> {
    /// Returns what is stored after the transaction is committed.
    pub(crate) fn committed(self) -> Committed {
        Committed {
            first_new: self.first_new,
            dir_rows: self.dir_rows,
            volumes: self.volumes,
            content_rows: self.content_rows,
            inserted: self.inserted,
            unproven: self.unproven,
            written: self.written,
            touched: self.touched,
            recounted: self.recounted,
            stored: self.stored,
        }
    }
}

impl RowMap {
    /// Updates the map after a commit, so that the next commit writes only new differences.
    pub(crate) fn record_committed(&mut self, committed: Committed) {
        let Committed { written, touched, stored, .. } = committed;
        self.dir_rows = committed.dir_rows;
        self.volumes = committed.volumes;
        self.volumes.changed.clear();
        self.contents.row_of = committed.content_rows;
        self.contents.extend(committed.inserted);
        if let Some(examined) = &mut self.examined {
            examined.note_stored(committed.first_new);
            examined.note_recounted(committed.recounted);
        }
        self.unreachable.forget(&committed.unproven);
        self.gone_files.clear();
        self.gone_dirs.clear();
        // The reclaimable bytes of these contents are measured only when the scan is finished.
        self.touched.extend(touched);
        self.touched.extend(written.into_iter().map(|(row, ..)| row));
        for (file, now) in stored {
            self.stored[file.0 as usize] = now;
            self.resized.remove(&file);
        }
    }
}
