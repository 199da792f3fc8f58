//! Replays the journal of a run: its intents and the outcome of each.
//!
//! A run may have millions of files. Only the position of each intent in the journal, its outcome,
//! and the size of its file are held in memory. [`Replay::intent`] reads the rest from the journal
//! when it is needed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use content::Digest;
use fsops::{Context, FileKey, Log, Op};
use walk::split_path;

use crate::error::Error;
use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::{is_whole, replay};
use crate::journal::record::{Intent, Record, Take};
use crate::plan::kind::Kind;

/// The outcome of an intent according to the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The journal has no outcome because the run was cut off.
    Open,
    Done,
    NotDone,
    /// The file needed no action, because it was already in the desired state.
    Same,
    Undone,
    Purged,
}

/// The position of an intent in the journal, and its outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntentEntry {
    pub(crate) fate: Fate,
    length: u32,
    at: u64,
    /// The length of the file in bytes.
    size: u64,
    /// Whether the file was found equal to the kept file.
    pub(crate) was_equal: bool,
}

/// An intent with the links and copies that the journal records for it.
#[derive(Debug)]
pub(crate) struct LoggedIntent {
    pub(crate) intent: Intent,
    /// The inode of the copy that an undo made.
    pub(crate) made: Option<u64>,
    /// The inodes of the link that the action made, if they differ from the kept file's.
    pub(crate) links: Vec<u64>,
}

/// A directory whose path has changed since the journal was written.
#[derive(Debug)]
struct MovedDir {
    from: Vec<u8>,
    to: Vec<u8>,
}

impl MovedDir {
    fn relocate(&self, path: &mut JsonBytes) {
        if let Some(rest) =
            path.0.strip_prefix(&self.from[..]).filter(|rest| rest.starts_with(b"/"))
        {
            path.0 = [&self.to[..], rest].concat();
        }
    }
}

/// The state of a run after the replay of its journal.
#[derive(Debug)]
pub(crate) struct Replay {
    path: PathBuf,
    file: std::fs::File,
    pub(crate) run: u64,
    pub(crate) kind: Kind,
    pub(crate) started_ms: i64,
    pub(crate) ended_ms: Option<i64>,
    /// The time when the last undo of the run ended, if the journal records it.
    pub(crate) undone_ms: Option<i64>,
    pub(crate) freed: u64,
    /// The number of files that were left alone, if the run has ended. The journal may have no intents for some of
    /// them.
    pub(crate) failed: Option<u64>,
    /// The number of damaged lines, which are ignored.
    pub(crate) damaged: u64,
    /// Whether an undo has begun but has not ended.
    pub(crate) is_undoing: bool,
    pub(crate) staging_dirs: BTreeMap<u32, (Vec<u8>, u64)>,
    /// All intents, by number.
    pub(crate) entries: BTreeMap<u64, IntentEntry>,
    /// The identities of files that had several names when the run began, by intent number.
    pub(crate) linked: HashMap<u64, FileKey>,
    /// The set of all values in `linked`.
    keys: HashSet<FileKey>,
    /// The position and length of each line that says why an intent was not carried out, by intent
    /// number.
    pub(crate) reasons: HashMap<u64, (u64, u32)>,
    /// The digests that the comparison computed, by intent number.
    digests: HashMap<u64, Digest>,
    /// The status change times that the run caused for files with one name, by intent number.
    statuses: HashMap<u64, i64>,
    /// The last status change time that the run caused for each file with several names.
    linked_statuses: HashMap<FileKey, i64>,
    /// The inodes of copies that an undo made, by intent number.
    made: HashMap<u64, u64>,
    /// Intents for which an undo left an entry in a staging directory.
    pub(crate) undo_leftovers: Vec<u64>,
    /// The former and the current path of a directory that has moved since the run.
    moved: Option<MovedDir>,
    /// The inodes of links that differ from the kept file's inode, by intent number.
    links: HashMap<u64, Vec<u64>>,
}

impl Replay {
    /// Returns whether the last line of a journal ends the run or an undo of it.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read.
    pub(crate) fn is_over(path: &Path) -> Result<bool, Error> {
        /// An upper bound for the length of such a line, in bytes.
        const TAIL: u64 = 4096;
        let file = fsops::File::open(path).context(Op::Open, || path)?;
        let size = file.stat().context(Op::Stat, || path)?.size;
        let mut tail = vec![0; 4096];
        let read = file.read_at(&mut tail, size.saturating_sub(TAIL)).context(Op::Read, || path)?;
        let lines = tail[..read].strip_suffix(b"\n").unwrap_or_default();
        let last = lines.rsplit(|&b| b == b'\n').next().unwrap_or_default();
        let ends =
            matches!(serde_json::from_slice(last), Ok(Record::End { .. } | Record::UndoEnd { .. }));
        Ok(ends && is_whole(last))
    }

    /// Replays the journal at `path`. Returns `None` if the first line was cut off, which means
    /// that the run did nothing.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read, has another format or kind, or others may have written to it.
    pub(crate) fn read(path: &Path) -> Result<Option<Replay>, Error> {
        let file = Log::reader(path).context(Op::Open, || path)?;
        let begin = |line: &[u8]| match serde_json::from_slice(line) {
            Ok(Record::Begin { run, by, started_ms, .. }) => {
                Some(Replay { run, started_ms, ..Replay::new(path, file, by) })
            }
            _ => None,
        };
        let wrong_kind = "it is not the journal of a run that acted on files";
        let read = replay(path, wrong_kind, begin, Replay::apply)?;
        Ok(read.map(|(mut replay, damaged)| {
            replay.damaged = damaged;
            replay.settle_unreached();
            replay
        }))
    }

    /// If the run has ended, the journal has the outcomes of all actions that were begun. An interrupted run did not
    /// reach the other intents. Their files may change later without the run, for example if the user removes them, so
    /// a recovery MUST NOT infer outcomes from these files. A damaged line may hide an outcome.
    fn settle_unreached(&mut self) {
        if self.ended_ms.is_none() || self.damaged > 0 {
            return;
        }
        for entry in self.entries.values_mut().filter(|entry| entry.fate == Fate::Open) {
            entry.fate = Fate::NotDone;
        }
    }

    fn new(path: &Path, file: std::fs::File, kind: Kind) -> Replay {
        Replay {
            path: path.into(),
            file,
            run: 0,
            kind,
            started_ms: 0,
            ended_ms: None,
            undone_ms: None,
            freed: 0,
            failed: None,
            damaged: 0,
            is_undoing: false,
            staging_dirs: BTreeMap::new(),
            entries: BTreeMap::new(),
            linked: HashMap::new(),
            keys: HashSet::new(),
            reasons: HashMap::new(),
            digests: HashMap::new(),
            statuses: HashMap::new(),
            linked_statuses: HashMap::new(),
            made: HashMap::new(),
            undo_leftovers: Vec::new(),
            moved: None,
            links: HashMap::new(),
        }
    }

    /// Applies the line at the position `at` of the journal. Returns whether the line is a known
    /// record.
    fn apply(&mut self, line: &[u8], at: u64) -> bool {
        if line.starts_with(br#"{"record":"will","#) {
            // Parsing the intent directly is faster than parsing the tagged record. The tag is
            // ignored as an unknown key.
            let intent = serde_json::from_slice(line);
            return intent.is_ok_and(|intent| {
                self.will(&intent, at, line.len());
                true
            });
        }
        if line.starts_with(br#"{"record":"take","#) {
            let take: Result<Take, _> = serde_json::from_slice(line);
            return take.is_ok_and(|take| {
                self.will(&take.into(), at, line.len());
                true
            });
        }
        let Ok(record) = serde_json::from_slice(line) else { return false };
        self.apply_record(record, at, line.len());
        true
    }

    fn apply_record(&mut self, record: Record, at: u64, length: usize) {
        match record {
            Record::Begin { .. } => {}
            Record::Will(intent) => self.will(&intent, at, length),
            Record::Take(take) => self.will(&(*take).into(), at, length),
            Record::Took { first, last } => {
                for (_, entry) in self.entries.range_mut(first..=last.max(first)) {
                    entry.fate = Fate::Done;
                }
            }
            Record::Store { store, path, fsid } => {
                self.staging_dirs.insert(store, (path.0, fsid));
            }
            Record::Equal { n, digest } => {
                self.digests.extend(digest.map(|digest| (n, digest)));
                if let Some(entry) = self.entries.get_mut(&n) {
                    entry.was_equal = true;
                }
            }
            Record::Did { n, freed, ctime_ns } => {
                self.freed = self.freed.saturating_add(freed);
                self.note_status(n, ctime_ns);
                self.set_fate(n, Fate::Done);
            }
            Record::Same { n } => self.set_fate(n, Fate::Same),
            Record::Not { n, .. } => {
                if let Ok(length) = u32::try_from(length) {
                    self.reasons.insert(n, (at, length));
                }
                self.set_fate(n, Fate::NotDone);
            }
            Record::Undone { n } => self.set_fate(n, Fate::Undone),
            Record::Purged { n } => self.set_fate(n, Fate::Purged),
            Record::Linked { n, inode } => self.links.entry(n).or_default().push(inode),
            Record::Made { n, inode } => {
                self.made.insert(n, inode);
            }
            Record::UndoBegin => self.is_undoing = true,
            Record::UndoEnd { ended_ms } => {
                self.is_undoing = false;
                self.undone_ms = ended_ms.or(self.undone_ms);
            }
            Record::End { ended_ms, freed, failed, .. } => {
                // The freed bytes in this record replace the sum of the individual records, because
                // the process that ended the run knows which files it had to roll back.
                self.freed = freed;
                // The process that finishes an interrupted undo knows only the files with intents.
                self.failed = self.failed.max(Some(failed));
                self.ended_ms = Some(ended_ms);
            }
        }
    }

    fn will(&mut self, &Intent { n, ref was, .. }: &Intent, at: u64, length: usize) {
        let Ok(length) = u32::try_from(length) else { return };
        let key = was.key();
        // A file with one name now may have had several names before, if the run removed the
        // others.
        if was.links > 1 || self.keys.contains(&key) {
            self.linked.insert(n, key);
            self.keys.insert(key);
        }
        let (fate, size) = (Fate::Open, was.version.size);
        self.entries.insert(n, IntentEntry { fate, length, at, size, was_equal: false });
    }

    fn note_status(&mut self, n: u64, ctime_ns: Option<i64>) {
        match (self.linked.get(&n), ctime_ns) {
            (Some(&key), Some(ctime_ns)) => drop(self.linked_statuses.insert(key, ctime_ns)),
            // The run changed the file's status again, and the new time is unknown.
            (Some(key), None) => drop(self.linked_statuses.remove(key)),
            (None, Some(ctime_ns)) => drop(self.statuses.insert(n, ctime_ns)),
            (None, None) => {}
        }
    }

    /// Returns the status change time that the run gave to a file, in nanoseconds since the epoch, if it is known.
    pub(crate) fn status(&self, n: u64) -> Option<i64> {
        match self.linked.get(&n) {
            Some(key) => self.linked_statuses.get(key).copied(),
            None => self.statuses.get(&n).copied(),
        }
    }

    fn set_fate(&mut self, n: u64, fate: Fate) {
        if let Some(entry) = self.entries.get_mut(&n) {
            entry.fate = fate;
        }
    }

    /// Reads an intent from the journal.
    ///
    /// # Errors
    ///
    /// Fails if there is no such intent, or its line has been damaged since the replay.
    pub(crate) fn intent(&self, n: u64) -> Result<LoggedIntent, Error> {
        let bad = |why: String| Error::Journal { path: self.path.clone(), why };
        let Some(entry) = self.entries.get(&n) else { return Err(bad(format!("no intent {n}"))) };
        let mut intent = match self.record(entry.at, entry.length)? {
            Record::Will(intent) => *intent,
            Record::Take(take) => (*take).into(),
            _ => return Err(bad(format!("no intent {n}"))),
        };
        intent.digest = intent.digest.or_else(|| self.digests.get(&n).copied());
        if let Some(moved) = &self.moved {
            moved.relocate(&mut intent.path);
            moved.relocate(&mut intent.keep);
        }
        let links = self.links.get(&n).cloned().unwrap_or_default();
        Ok(LoggedIntent { intent, made: self.made.get(&n).copied(), links })
    }

    /// Returns the maximum number of bytes that an undo copies to restore a file.
    pub(crate) fn copied_bytes(&self, n: u64) -> u64 {
        let size = self.entries.get(&n).map_or(0, |entry| entry.size);
        if self.kind.is_undone_by_copy() { size } else { 0 }
    }

    /// Returns whether the run has files to restore.
    pub(crate) fn has_done(&self) -> bool {
        self.with_fate(Fate::Done).next().is_some()
    }

    /// Adapts the replay of a manifest to the `files` that are in the staging directory at `path`
    /// now. The directory may have had another path when the run filled it. Returns the number of
    /// files that the manifest does not list.
    pub(crate) fn adopt_directory(&mut self, path: &[u8], files: &[u64]) -> u64 {
        let files: HashSet<u64> = files.iter().copied().collect();
        self.entries.retain(|n, _| files.contains(n));
        self.linked.retain(|n, _| files.contains(n));
        for entry in self.entries.values_mut() {
            entry.fate = Fate::Done;
        }
        let above = |path: &[u8]| split_path(split_path(path).0).0.to_vec();
        for (store, _) in self.staging_dirs.values_mut() {
            let (from, to) = (above(store), above(path));
            self.moved = (from != to).then_some(MovedDir { from, to });
            *store = path.to_vec();
        }
        (files.len() - self.entries.len()) as u64
    }

    /// Returns the reason why an intent was not carried out.
    pub(crate) fn why(&self, n: u64) -> Result<String, Error> {
        let unreached = || Ok("the run was interrupted".into());
        let Some(&(at, length)) = self.reasons.get(&n) else { return unreached() };
        match self.record(at, length)? {
            Record::Not { why, .. } => Ok(why),
            _ => Ok(String::new()),
        }
    }

    /// Reads the record at a position of the journal.
    fn record(&self, at: u64, length: u32) -> Result<Record, Error> {
        let bad = |why: String| Error::Journal { path: self.path.clone(), why };
        let mut line = vec![0; length as usize];
        self.file.read_exact_at(&mut line, at).context(Op::Read, || &self.path)?;
        if !is_whole(&line) {
            return Err(bad(format!("the line at {at} is damaged")));
        }
        serde_json::from_slice(&line).map_err(|e| bad(e.to_string()))
    }

    /// Returns a number that is higher than that of any intent.
    pub(crate) fn next(&self) -> u64 {
        self.entries.keys().next_back().map_or(1, |last| last + 1)
    }

    /// Returns the numbers of intents with this outcome in ascending order.
    pub(crate) fn with_fate(&self, fate: Fate) -> impl DoubleEndedIterator<Item = u64> {
        let entries = self.entries.iter();
        entries.filter(move |(_, entry)| entry.fate == fate).map(|(&n, _)| n)
    }
}

#[cfg(test)]
mod tests;
