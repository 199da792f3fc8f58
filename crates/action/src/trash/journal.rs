//! The journal of a trash run.
//!
//! A tree is renamed only after its record in the journal is on the disk. An entry of a staging
//! directory is removed only if the journal names it. The journal does not record the removal,
//! which shows only in the staging directory. The names of variants and fields are part of the
//! format on disk.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use fsops::{Lock, Stat};
use serde::{Deserialize, Serialize};
use walk::{QUARANTINE_PREFIX, split_path};

use crate::error::Error;
use crate::journal::ids::{TREES_SUFFIX, journal_path, run_numbers};
use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::replay;

/// One line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(crate) enum TrashRecord {
    /// The run begins.
    Begin { format_version: u32, run: u64, id: String, started_ms: i64 },
    /// Trees on one file system are moved into the staging directory `path`. The directory is
    /// created after this record is written.
    Store { store: u32, path: JsonBytes },
    /// The tree at this path is about to be moved into the staging directory. Its name there is its
    /// number. It is removed later.
    Tree(TreeRecord),
    /// The tree is in the staging directory, and its identity was checked.
    Moved { n: u64 },
    /// The tree was not moved. If a different entry was moved by mistake, it was moved back.
    Not { n: u64 },
    /// The rest of a tree that could not be removed completely was moved back to its path.
    Back { n: u64 },
    /// The tree is gone together with its staging directory.
    Gone { n: u64 },
    /// Number of entries removed since the previous record. A process that finishes also records
    /// how many entries it could not remove.
    Removed { entries: u64, failed: Option<u64> },
    /// All trees are gone.
    End { ended_ms: i64 },
}

/// Summary of a trash run according to its journal.
#[derive(Clone, Debug, Default)]
pub struct TrashSummary {
    /// The number of the run.
    pub run: u64,
    /// The time when the run began, in milliseconds since the epoch.
    pub started_ms: i64,
    /// The time when the last tree was removed, in milliseconds since the epoch. `None` if some
    /// trees are left.
    pub ended_ms: Option<i64>,
    /// The former paths of the trees.
    pub trees: Vec<Vec<u8>>,
    /// The staging directories that contain the trees, one for each file system.
    pub staging_dirs: Vec<Vec<u8>>,
    /// Number of entries removed so far. The removing process updates it every few seconds.
    pub entries: u64,
    /// Number of entries that the last attempt could not remove.
    pub failed: u64,
    /// The ID of the process that is currently removing the trees.
    pub process: Option<u32>,
}

impl TrashSummary {
    /// Returns all trash runs of a folder, oldest first. If the journal of a run cannot be read,
    /// the list contains the error in place of the run.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be listed. Nothing on disk changes.
    pub fn list(folder: &Path) -> Result<Vec<Result<TrashSummary, Error>>, Error> {
        let replay =
            |run| Ok(TrashReplay::read(folder, run)?.map(|replay| replay.now(folder, run)));
        Ok(run_numbers(folder, TREES_SUFFIX)?
            .into_iter()
            .filter_map(|run| replay(run).transpose())
            .collect())
    }
}

/// Returns the path of the lock that a process holds while it removes the trees of a run.
pub(crate) fn lock_path(folder: &Path, run: u64) -> std::path::PathBuf {
    folder.join(format!("{run}.purge.lock"))
}

/// The journal record of a tree.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TreeRecord {
    pub(crate) n: u64,
    pub(crate) store: u32,
    pub(crate) path: JsonBytes,
    pub(crate) is: TreeIdentity,
    /// The directory that contained the tree.
    pub(crate) was_in: TreeIdentity,
    /// The directory that contains `.lop-quarantine-UID`. Its presence shows that the file system
    /// is mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) store_in: Option<TreeIdentity>,
    /// Whether the entry in the staging directory was checked.
    #[serde(skip)]
    pub(crate) is_verified: bool,
    /// Whether nothing is left to do for the tree, because lop moved it back or its staging
    /// directory is gone.
    #[serde(skip)]
    pub(crate) is_settled: bool,
}

/// Identifies an entry on its file system, even after a restart. Device numbers are not part of the
/// identity, because they may change with a restart. The birth time is needed because inode numbers
/// are reused, and because all subvolumes of btrfs have the same inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TreeIdentity {
    inode: u64,
    /// The birth time in nanoseconds since the epoch. `None` if the file system does not record it.
    born_ns: Option<i64>,
}

impl TreeIdentity {
    /// Returns true only if an entry is certainly the identified one. Without a birth time, this is
    /// never certain, because the inode number may have been reused.
    pub(crate) fn is_of(&self, stat: &Stat) -> bool {
        self.born_ns.is_some() && *self == TreeIdentity::from(stat)
    }
}

impl From<&Stat> for TreeIdentity {
    fn from(stat: &Stat) -> TreeIdentity {
        TreeIdentity { inode: stat.inode, born_ns: (stat.born_ns != 0).then_some(stat.born_ns) }
    }
}

/// The state of a trash run after the replay of its journal.
#[derive(Debug, Default)]
pub(crate) struct TrashReplay {
    id: String,
    started_ms: i64,
    pub(crate) ended_ms: Option<i64>,
    /// The paths of the staging directories, by number.
    pub(crate) staging_dirs: BTreeMap<u32, Vec<u8>>,
    /// The trees, by number.
    pub(crate) trees: BTreeMap<u64, TreeRecord>,
    entries: u64,
    failed: u64,
}

impl TrashReplay {
    /// Replays the journal of a run. Returns `None` if the journal is gone, or if its first line
    /// was cut off.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read, has another format or kind, or others may have written to it.
    pub(crate) fn read(folder: &Path, run: u64) -> Result<Option<TrashReplay>, Error> {
        let path = journal_path(folder, run, TREES_SUFFIX);
        let begin = |line: &[u8]| match serde_json::from_slice(line) {
            Ok(TrashRecord::Begin { started_ms, id, .. }) => {
                Some(TrashReplay { id, started_ms, ..TrashReplay::default() })
            }
            _ => None,
        };
        let apply = |replay: &mut TrashReplay, line: &[u8], _| {
            // If a tree's line is damaged, the tree is later found in the staging directory as an
            // unknown entry.
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

    fn apply(&mut self, line: TrashRecord) {
        match line {
            TrashRecord::Begin { .. } => {}
            TrashRecord::Store { store, path } => {
                if is_staging_dir(&path.0, &self.id) {
                    self.staging_dirs.entry(store).or_insert(path.0);
                }
            }
            TrashRecord::Tree(tree) => drop(self.trees.insert(tree.n, tree)),
            TrashRecord::Moved { n } => {
                self.trees.entry(n).and_modify(|tree| tree.is_verified = true);
            }
            TrashRecord::Back { n } | TrashRecord::Gone { n } => {
                self.trees.entry(n).and_modify(|tree| tree.is_settled = true);
            }
            TrashRecord::Not { n } => drop(self.trees.remove(&n)),
            TrashRecord::Removed { entries, failed } => {
                self.entries = self.entries.saturating_add(entries);
                self.failed = failed.unwrap_or(self.failed);
            }
            TrashRecord::End { ended_ms } => self.ended_ms = Some(ended_ms),
        }
    }

    /// Returns a summary of the run, including the process that is working on it.
    fn now(&self, folder: &Path, run: u64) -> TrashSummary {
        let &TrashReplay { started_ms, ended_ms, entries, failed, .. } = self;
        let trees = self.trees.values().map(|tree| tree.path.0.clone()).collect();
        let staging_dirs = self.staging_dirs.values().cloned().collect();
        let held = || Lock::try_take(&lock_path(folder, run)).ok()?.err().flatten();
        let process = if ended_ms.is_none() { held() } else { None };
        TrashSummary { run, started_ms, ended_ms, trees, staging_dirs, entries, failed, process }
    }
}

/// Returns whether a path may be that of the run's staging directory. Nothing outside of such a
/// directory is removed, regardless of the journal.
fn is_staging_dir(path: &[u8], id: &str) -> bool {
    let (outer, own) = split_path(path);
    let above = split_path(outer);
    path.starts_with(b"/")
        && own == id.as_bytes()
        && above.1.starts_with(QUARANTINE_PREFIX.as_bytes())
}
