//! The journal of a run that discards trees, written and read.
//!
//! A tree is moved only after the journal says so on the disk. What is in the run's private directory, and
//! was noted, is to be removed; what is neither there any more is gone.

use std::io::ErrorKind;
use std::path::Path;

use fsops::{Context, Lock, Op};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::journal::FORMAT;
use crate::name::Name;
use crate::numbering::{TREES, journal, numbers};

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(crate) enum Line {
    /// A run begins.
    Begin { format: u32, run: u64, id: String, started_ms: i64 },
    /// Trees on this file system are moved into the directory `path`, which is made after this.
    Store { store: u32, path: Name, fsid: u64 },
    /// What is at this path, with this inode, is moved into the store under its number, and then removed.
    Tree { n: u64, store: u32, path: Name, inode: u64 },
    /// It was not moved.
    Not { n: u64 },
    /// So much was removed by one process, and so much could not be.
    Removed { files: u64, dirs: u64, failed: u64 },
    /// Nothing is left.
    End { ended_ms: i64 },
}

/// A run that discards trees, as its journal tells of it.
#[derive(Clone, Debug, Default)]
pub struct Discarded {
    /// Its number.
    pub run: u64,
    /// When it began, milliseconds since the epoch.
    pub started_ms: i64,
    /// When all was gone; nothing if something is left.
    pub ended_ms: Option<i64>,
    /// Where the trees were.
    pub trees: Vec<Vec<u8>>,
    /// Where they are until they are gone: directories, one for each file system.
    pub stores: Vec<Vec<u8>>,
    /// Names removed so far that are no directories. What a process removed that was killed is not known.
    pub files: u64,
    /// Directories removed so far.
    pub dirs: u64,
    /// Entries that could not be removed when that was last tried.
    pub failed: u64,
    /// The process that is removing them now.
    pub process: Option<u32>,
}

impl Discarded {
    /// Returns all runs of a folder that discard trees, the oldest first.
    pub fn list(folder: &Path) -> Result<Vec<Discarded>, Error> {
        let mut all = Vec::new();
        for run in numbers(folder, TREES)? {
            let Some(past) = Past::read(folder, run)? else { continue };
            let mut discarded = past.account(run);
            if past.ended_ms.is_none() {
                let held = Lock::try_take(&lock(folder, run)).ok();
                discarded.process = held.and_then(Result::err).flatten();
            }
            all.push(discarded);
        }
        Ok(all)
    }
}

/// Returns the path of the lock that who removes a run's trees has.
pub(crate) fn lock(folder: &Path, run: u64) -> std::path::PathBuf {
    folder.join(format!("{run}.purge.lock"))
}

/// A store as it was noted.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) number: u32,
    pub(crate) path: Vec<u8>,
    pub(crate) fsid: u64,
}

/// A tree as it was noted.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(crate) n: u64,
    pub(crate) store: u32,
    pub(crate) path: Vec<u8>,
    pub(crate) inode: u64,
}

/// A journal that was read.
#[derive(Debug, Default)]
pub(crate) struct Past {
    started_ms: i64,
    pub(crate) ended_ms: Option<i64>,
    pub(crate) stores: Vec<Store>,
    pub(crate) trees: Vec<Noted>,
    files: u64,
    dirs: u64,
    failed: u64,
}

impl Past {
    /// Reads a run's journal; one that was cut off before it began tells of no run.
    pub(crate) fn read(folder: &Path, run: u64) -> Result<Option<Past>, Error> {
        let path = journal(folder, run, TREES);
        let bytes = match std::fs::read(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Err(Error::NoRun(run)),
            bytes => bytes.context(Op::Read, || &path)?,
        };
        let mut lines = bytes.split(|&b| b == b'\n');
        let bad = |why: &str| Error::Journal { path: path.clone(), why: why.into() };
        let mut past = Past::default();
        match serde_json::from_slice(lines.next().unwrap_or_default()) {
            Ok(Line::Begin { format, .. }) if format > FORMAT => {
                return Err(bad("it was written by a later version"));
            }
            Ok(Line::Begin { started_ms, .. }) => past.started_ms = started_ms,
            Ok(_) => return Err(bad("it does not begin as one")),
            Err(_) if !bytes.contains(&b'\n') => return Ok(None),
            Err(e) => return Err(bad(&e.to_string())),
        }
        // One that was cut off by a crash says nothing.
        lines.filter_map(|line| serde_json::from_slice(line).ok()).for_each(|line| past.take(line));
        Ok(Some(past))
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Begin { .. } => {}
            Line::Store { store, path, fsid } => {
                self.stores.push(Store { number: store, path: path.0, fsid });
            }
            Line::Tree { n, store, path, inode } => {
                self.trees.push(Noted { n, store, path: path.0, inode });
            }
            Line::Not { n } => self.trees.retain(|tree| tree.n != n),
            Line::Removed { files, dirs, failed } => {
                self.files = self.files.saturating_add(files);
                self.dirs = self.dirs.saturating_add(dirs);
                self.failed = failed;
            }
            Line::End { ended_ms } => self.ended_ms = Some(ended_ms),
        }
    }

    fn account(&self, run: u64) -> Discarded {
        let &Past { started_ms, ended_ms, files, dirs, failed, .. } = self;
        let trees = self.trees.iter().map(|tree| tree.path.clone()).collect();
        let stores = self.stores.iter().map(|store| store.path.clone()).collect();
        Discarded { run, started_ms, ended_ms, trees, stores, files, dirs, failed, process: None }
    }
}
