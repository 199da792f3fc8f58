//! The journal of a run that discards trees, written and read.
//!
//! A tree is moved only after the journal says so on the disk. What is in the run's private directory, and
//! was noted, is to be removed. That it is gone is only known from that directory itself.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use fsops::{Lock, Stat};
use serde::{Deserialize, Serialize};
use walk::{STORE_PREFIX, split};

use crate::error::Error;
use crate::journal::ids::{TREES_SUFFIX, journal_path, run_numbers};
use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::replay;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(crate) enum TrashRecord {
    /// A run begins.
    Begin { format_version: u32, run: u64, id: String, started_ms: i64 },
    /// Trees on this file system are moved into the directory `path`, which is made after this.
    Store { store: u32, path: JsonBytes },
    /// What is at this path is moved into the store under its number, and then removed.
    Tree(TreeRecord),
    /// It is there.
    Moved { n: u64 },
    /// It was not moved, or it was something else and is back where it was.
    Not { n: u64 },
    /// What could not be removed of it is back where it was.
    Back { n: u64 },
    /// The store is gone, and the tree with it.
    Gone { n: u64 },
    /// So many entries more are gone. A process that is through with all says how many it could not remove.
    Removed { entries: u64, failed: Option<u64> },
    /// Nothing is left.
    End { ended_ms: i64 },
}

/// A run that discards trees, as its journal tells of it.
#[derive(Clone, Debug, Default)]
pub struct TrashSummary {
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
    /// Entries removed so far: who is at it notes that every few seconds.
    pub entries: u64,
    /// Entries that could not be removed when that was last tried.
    pub failed: u64,
    /// The process that is removing them now.
    pub process: Option<u32>,
}

impl TrashSummary {
    /// Returns all runs of a folder that discard trees, the oldest first.
    ///
    /// An error in place of a run tells that its journal cannot be read.
    pub fn list(folder: &Path) -> Result<Vec<Result<TrashSummary, Error>>, Error> {
        let replay =
            |run| Ok(TrashReplay::read(folder, run)?.map(|replay| replay.now(folder, run)));
        Ok(run_numbers(folder, TREES_SUFFIX)?
            .into_iter()
            .filter_map(|run| replay(run).transpose())
            .collect())
    }
}

/// Returns the path of the lock that who removes a run's trees has.
pub(crate) fn lock_path(folder: &Path, run: u64) -> std::path::PathBuf {
    folder.join(format!("{run}.purge.lock"))
}

/// A store as it was noted.
#[derive(Clone, Debug)]
pub(crate) struct StagingRecord {
    pub(crate) number: u32,
    pub(crate) path: Vec<u8>,
}

/// A tree as it was noted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TreeRecord {
    pub(crate) n: u64,
    pub(crate) store: u32,
    pub(crate) path: JsonBytes,
    pub(crate) is: TreeIdentity,
    /// The directory that it was in.
    pub(crate) was_in: TreeIdentity,
    /// The directory that the store is in: where this is, its file system is mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) store_in: Option<TreeIdentity>,
    /// What came to the store was looked at.
    #[serde(skip)]
    pub(crate) moved: bool,
    /// The tree is gone: lop gave it back, or its store is gone.
    #[serde(skip)]
    pub(crate) over: bool,
}

/// What tells something from anything else on its file system, also after a restart: device numbers are
/// others then, and inode numbers are used again. All subvolumes of btrfs have the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TreeIdentity {
    inode: u64,
    /// Nothing where the file system does not know.
    born_ns: Option<i64>,
}

impl TreeIdentity {
    /// Returns whether something is what was marked, beyond doubt: a number without a time of birth may have
    /// been given to something else.
    pub(crate) fn is_of(&self, stat: &Stat) -> bool {
        self.born_ns.is_some() && *self == TreeIdentity::from(stat)
    }
}

impl From<&Stat> for TreeIdentity {
    fn from(stat: &Stat) -> TreeIdentity {
        TreeIdentity { inode: stat.inode, born_ns: (stat.born_ns != 0).then_some(stat.born_ns) }
    }
}

/// A journal that was read.
#[derive(Debug, Default)]
pub(crate) struct TrashReplay {
    id: String,
    started_ms: i64,
    pub(crate) ended_ms: Option<i64>,
    pub(crate) stores: Vec<StagingRecord>,
    /// By their numbers.
    pub(crate) trees: BTreeMap<u64, TreeRecord>,
    entries: u64,
    failed: u64,
}

impl TrashReplay {
    /// Reads a run's journal; one that was cut off before it began, or is gone, tells of no run.
    pub(crate) fn read(folder: &Path, run: u64) -> Result<Option<TrashReplay>, Error> {
        let path = journal_path(folder, run, TREES_SUFFIX);
        let begin = |line: &[u8]| match serde_json::from_slice(line) {
            Ok(TrashRecord::Begin { started_ms, id, .. }) => {
                Some(TrashReplay { id, started_ms, ..TrashReplay::default() })
            }
            _ => None,
        };
        let apply = |replay: &mut TrashReplay, line: &[u8], _| {
            // A tree whose line is damaged is found in the private directory as an unknown entry.
            serde_json::from_slice(line).is_ok_and(|line| {
                replay.apply(line);
                true
            })
        };
        match replay(&path, "it is not the journal of a purge", begin, apply) {
            Err(Error::File(e)) if e.source.kind() == ErrorKind::NotFound => Ok(None),
            read => Ok(read?.map(|(replay, _)| replay)),
        }
    }

    /// Returns the store that a tree was to be moved to.
    pub(crate) fn store_of(&self, tree: &TreeRecord) -> Option<&StagingRecord> {
        self.stores.iter().find(|store| store.number == tree.store)
    }

    fn apply(&mut self, line: TrashRecord) {
        match line {
            TrashRecord::Begin { .. } => {}
            TrashRecord::Store { store, path } => {
                if is_store(&path.0, &self.id) {
                    self.stores.push(StagingRecord { number: store, path: path.0 });
                }
            }
            TrashRecord::Tree(tree) => drop(self.trees.insert(tree.n, tree)),
            TrashRecord::Moved { n } => {
                self.trees.entry(n).and_modify(|tree| tree.moved = true);
            }
            TrashRecord::Back { n } | TrashRecord::Gone { n } => {
                self.trees.entry(n).and_modify(|tree| tree.over = true);
            }
            TrashRecord::Not { n } => drop(self.trees.remove(&n)),
            TrashRecord::Removed { entries, failed } => {
                self.entries = self.entries.saturating_add(entries);
                self.failed = failed.unwrap_or(self.failed);
            }
            TrashRecord::End { ended_ms } => self.ended_ms = Some(ended_ms),
        }
    }

    /// Returns what is known of the run, also who is at it.
    fn now(&self, folder: &Path, run: u64) -> TrashSummary {
        let &TrashReplay { started_ms, ended_ms, entries, failed, .. } = self;
        let trees = self.trees.values().map(|tree| tree.path.0.clone()).collect();
        let stores = self.stores.iter().map(|store| store.path.clone()).collect();
        let held = || Lock::try_take(&lock_path(folder, run)).ok()?.err().flatten();
        let process = if ended_ms.is_none() { held() } else { None };
        TrashSummary { run, started_ms, ended_ms, trees, stores, entries, failed, process }
    }
}

/// Returns whether a path may be that of a run's private directory: nothing else is ever removed, whatever a
/// journal says.
fn is_store(path: &[u8], id: &str) -> bool {
    let (store, own) = split(path);
    let above = split(store);
    path.starts_with(b"/") && own == id.as_bytes() && above.1.starts_with(STORE_PREFIX.as_bytes())
}
