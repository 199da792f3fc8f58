//! What a run is about to do and what it did, one JSON object a line, appended and never rewritten.
//!
//! An intent is on the disk before anything is done about it. What was done is noted afterwards, and
//! need not be on the disk: after a crash the file system tells. A line that was cut off by a crash is
//! passed over; nothing had been done about what it said.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use fsops::{Context, Dir, FileKey, Log, Op, Stat};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::kind::Kind;
use crate::name::Name;
use crate::target::Version;

/// The format of the journals that this version writes.
pub(crate) const FORMAT: u32 = 1;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(crate) enum Record {
    /// A run begins.
    Begin { format: u32, run: u64, id: String, by: Kind, started_ms: i64 },
    /// Files on this file system go through the directory `path`, which is made after this.
    Store { store: u32, path: Name, fsid: u64 },
    /// Something is to be done with a file.
    Will(Box<Intent>),
    /// It was done, freeing so many bytes.
    Did { n: u64, freed: u64 },
    /// It was not done.
    Not { n: u64, why: String },
    /// The run is over.
    End { ended_ms: i64, done: u64, failed: u64, freed: u64 },
    /// The run is to be undone.
    UndoBegin,
    /// What could be undone is.
    UndoEnd,
    /// A copy was made that takes the place of what an action put there.
    Made { n: u64, inode: u64 },
    /// A file is what it was before the run.
    Undone { n: u64 },
    /// A file was removed from quarantine.
    Purged { n: u64 },
}

/// What is to be done with a file, and what it was before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Intent {
    pub(crate) n: u64,
    pub(crate) kind: Kind,
    pub(crate) path: Name,
    pub(crate) keep: Name,
    /// Number of the store; none where no name changes.
    pub(crate) store: Option<u32>,
    /// What a symbolic link to the kept file has in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<Name>,
    pub(crate) was: Former,
    pub(crate) kept: Version,
    pub(crate) kept_fsid: u64,
    /// BLAKE3 of the content, if it was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
}

/// All there is to a file but for its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Former {
    #[serde(flatten)]
    pub(crate) version: Version,
    pub(crate) atime_ns: i64,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) links: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) xattrs: Vec<(Name, Name)>,
}

impl Former {
    /// Returns the identity of the file.
    pub(crate) fn key(&self) -> FileKey {
        FileKey { device: self.version.device, inode: self.version.inode }
    }

    pub(crate) fn new(stat: &Stat, xattrs: Vec<fsops::Xattr>) -> Former {
        Former {
            version: stat.into(),
            atime_ns: stat.atime_ns,
            mode: stat.mode,
            uid: stat.uid,
            gid: stat.gid,
            links: stat.links,
            xattrs: xattrs.into_iter().map(|(name, value)| (Name(name), Name(value))).collect(),
        }
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: std::path::PathBuf,
    log: Log,
    next: AtomicU64,
    /// Whether a line may have been cut off.
    cut: AtomicBool,
}

impl Journal {
    /// Opens the journal `name` in `folder`, made if missing; intents are numbered from `next`,
    /// which is 0 for a new journal and for no other.
    pub(crate) fn open(folder: &Path, name: &str, next: u64) -> Result<Journal, Error> {
        let path = folder.join(name);
        let opened = std::ffi::CString::new(name)
            .map_err(std::io::Error::from)
            .and_then(|name| Log::open(&Dir::open(folder)?, &name));
        let log = opened.context(Op::Create, || &path)?;
        if next > 0 {
            // A crash may have cut the last line off.
            log.append(b"\n").context(Op::Write, || &path)?;
        }
        Ok(Journal { path, log, next: AtomicU64::new(next), cut: AtomicBool::new(false) })
    }

    /// Returns a number for an intent.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Relaxed)
    }

    /// Appends lines; if they are `urgent`, waits until they are on the disk.
    pub(crate) fn append(&self, lines: &Lines, urgent: bool) -> Result<(), Error> {
        if !lines.0.is_empty() {
            if self.cut.load(Relaxed) {
                self.log.append(b"\n").context(Op::Write, || &self.path)?;
            }
            let appended = self.log.append(&lines.0);
            // Part of them may be there, and what follows must not run into that.
            self.cut.store(appended.is_err(), Relaxed);
            appended.context(Op::Write, || &self.path)?;
        }
        if urgent {
            self.log.sync().context(Op::Sync, || &self.path)?;
        }
        Ok(())
    }

    /// Appends one line and waits until it is on the disk.
    pub(crate) fn note(&self, record: &Record) -> Result<(), Error> {
        let mut lines = Lines::default();
        lines.push(record);
        self.append(&lines, true)
    }
}

/// Lines to be appended at once.
#[derive(Debug, Default)]
pub(crate) struct Lines(Vec<u8>);

impl Lines {
    pub(crate) fn push(&mut self, record: &Record) {
        // Neither a vector nor our types, whose keys are all strings, can fail.
        let _infallible = serde_json::to_writer(&mut self.0, record);
        self.0.push(b'\n');
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What has become of an intent, as far as the journal tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing was noted: the run was cut off.
    Open,
    Done,
    NotDone,
    Undone,
    Purged,
}

/// An intent and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) intent: Intent,
    pub(crate) fate: Fate,
    /// The inode of a copy that was made to undo it.
    pub(crate) made: Option<u64>,
}

/// A journal that was read.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    pub(crate) by: Kind,
    pub(crate) started_ms: i64,
    pub(crate) ended_ms: Option<i64>,
    pub(crate) freed: u64,
    /// Whether an undo was begun and is not over.
    pub(crate) undoing: bool,
    pub(crate) stores: BTreeMap<u32, (Vec<u8>, u64)>,
    pub(crate) entries: BTreeMap<u64, Entry>,
}

impl Past {
    /// Returns whether a journal's last line says that all it tells of is over.
    pub(crate) fn is_over(path: &Path) -> Result<bool, Error> {
        /// More than such a line has.
        const TAIL: u64 = 4096;
        let file = fsops::File::open(path).context(Op::Open, || path)?;
        let size = file.stat().context(Op::Stat, || path)?.size;
        let mut tail = vec![0; 4096];
        let read = file.read_at(&mut tail, size.saturating_sub(TAIL)).context(Op::Read, || path)?;
        let lines = tail[..read].strip_suffix(b"\n").unwrap_or_default();
        let last = lines.rsplit(|&b| b == b'\n').next().unwrap_or_default();
        Ok(matches!(
            serde_json::from_slice(last),
            Ok(Record::End { .. } | Record::UndoEnd | Record::Purged { .. })
        ))
    }

    /// Reads a journal; one that was cut off before it began tells of no run.
    pub(crate) fn read(path: &Path) -> Result<Option<Past>, Error> {
        let file = std::fs::File::open(path).context(Op::Open, || path)?;
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let bad = |why: &str| Error::Journal { path: path.into(), why: why.into() };
        let (mut past, mut line) = (None, Vec::new());
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).context(Op::Read, || path)?;
            if read == 0 {
                break;
            }
            match (serde_json::from_slice(&line), &mut past) {
                (Ok(Record::Begin { format, .. }), None) if format > FORMAT => {
                    return Err(bad("it was written by a later version"));
                }
                (Ok(Record::Begin { by, started_ms, .. }), None) => {
                    let (stores, entries) = Default::default();
                    past = Some(Past {
                        by,
                        started_ms,
                        ended_ms: None,
                        freed: 0,
                        undoing: false,
                        stores,
                        entries,
                    });
                }
                (Ok(record), Some(past)) => past.take(record),
                (Ok(_), None) => return Err(bad("it does not begin as one")),
                (Err(_), Some(_)) => {}
                (Err(_), None) if line.last() != Some(&b'\n') => {}
                (Err(e), None) => return Err(bad(&e.to_string())),
            }
        }
        Ok(past)
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Begin { .. } => {}
            Record::Store { store, path, fsid } => {
                self.stores.insert(store, (path.0, fsid));
            }
            Record::Will(intent) => {
                self.entries
                    .insert(intent.n, Entry { intent: *intent, fate: Fate::Open, made: None });
            }
            Record::Did { n, freed } => {
                self.freed = self.freed.saturating_add(freed);
                self.settle(n, Fate::Done);
            }
            Record::Not { n, .. } => self.settle(n, Fate::NotDone),
            Record::Undone { n } => self.settle(n, Fate::Undone),
            Record::Purged { n } => self.settle(n, Fate::Purged),
            Record::Made { n, inode } => {
                if let Some(entry) = self.entries.get_mut(&n) {
                    entry.made = Some(inode);
                }
            }
            Record::UndoBegin => self.undoing = true,
            Record::UndoEnd => self.undoing = false,
            Record::End { ended_ms, .. } => self.ended_ms = Some(ended_ms),
        }
    }

    fn settle(&mut self, n: u64, fate: Fate) {
        if let Some(entry) = self.entries.get_mut(&n) {
            entry.fate = fate;
        }
    }
}
