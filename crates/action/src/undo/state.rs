//! The state of an undo: restored files, and changes that are not on the disk yet.

use crate::error::{Error, Reason, Refusal};
use crate::journal::lines::Lines;
use crate::journal::log::Journal;
use crate::journal::record::{Intent, Record};
use crate::journal::replay::{LoggedIntent, Replay};
use crate::run::meter::Meter;
use crate::staging::dir::Staging;
use crate::staging::name_swap::{NameSwap, Substitute};
use crate::statuses::Leased;
use crate::undo::method::Finder;
use crate::undo::outcome::UndoOutcome;
use content::Scratch;
use fsops::Dir;
use runtime::Progress;
use std::collections::{BTreeMap, HashSet};
use std::ffi::CString;
use std::io;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// Maximum number of changed names that are not synced yet. When it is reached, the file systems
/// are synced so that the names can be recorded.
pub(crate) const MAX_UNSYNCED_NAMES: usize = 10_000;

/// Changed names on one file system that may not be on the disk yet.
pub(crate) struct Unsynced {
    /// Any directory on that file system.
    pub(crate) dir: Rc<Dir>,
    /// The records to write once the changes are on the disk.
    pub(crate) lines: Lines,
    pub(crate) names: usize,
}

pub(crate) struct Undo<'p> {
    pub(crate) replay: &'p Replay,
    pub(crate) finder: Finder<'p>,
    pub(crate) journal: &'p Journal,
    pub(crate) progress: &'p Progress,
    pub(crate) meter: Meter<'p>,
    pub(crate) scratch: Scratch,
    pub(crate) lines: Lines,
    /// Pending changes by the number of the staging directory.
    pub(crate) unsynced: BTreeMap<u32, Unsynced>,
    pub(crate) undone: UndoOutcome,
    /// The paths of swept trees that this undo could not restore.
    pub(crate) trees_left: HashSet<Vec<u8>>,
}

/// The result of preparing a file.
pub(crate) enum Preparation<'b> {
    /// The file is restored. Contains its directory.
    Restored(Rc<Dir>),
    /// The substitute is ready. It gets the name of the file once it is on the disk.
    Prepared(PreparedSubstitute<'b>),
}

/// A link or copy that is ready to replace the entry that an action put in the file's place.
pub(crate) struct PreparedSubstitute<'b> {
    pub(crate) logged: &'b LoggedIntent,
    pub(crate) dir: Rc<Dir>,
    pub(crate) name: CString,
    pub(crate) staging: Staging,
    pub(crate) inode: u64,
    /// The entry that the action put in the file's place. `None` if it is gone.
    pub(crate) there: Option<Substitute>,
    /// Whether the substitute has the file's former owner.
    pub(crate) has_owner: bool,
}

impl PreparedSubstitute<'_> {
    /// Returns the names that the substitute uses.
    pub(crate) fn names(&self) -> NameSwap<'_> {
        NameSwap::for_undo(&self.dir, &self.name, &self.staging, self.logged.intent.n)
    }
}

impl Undo<'_> {
    pub(crate) fn flush_lines(&mut self, urgent: bool) -> Result<(), Error> {
        self.journal.append(&self.lines, urgent)?;
        self.lines.clear();
        Ok(())
    }

    pub(crate) fn record_restored(&mut self, logged: &LoggedIntent, dir: &Rc<Dir>) {
        self.undone.done += 1;
        self.undone.trees += u64::from(logged.intent.is_tree());
        self.undone.back.push(logged.intent.n);
        self.progress.files_done.fetch_add(1, Relaxed);
        let Intent { n, store, .. } = logged.intent;
        let unsynced = self.unsynced.entry(store.unwrap_or_default()).or_insert_with(|| Unsynced {
            dir: Rc::clone(dir),
            lines: Lines::default(),
            names: 0,
        });
        unsynced.lines.push(&Record::Undone { n });
        unsynced.names += 1;
    }

    pub(crate) fn refuse(&mut self, logged: &LoggedIntent, reason: Reason) {
        self.progress.files_done.fetch_add(1, Relaxed);
        if logged.intent.is_tree() {
            self.trees_left.insert(logged.intent.path.0.clone());
        }
        self.undone.refused.push(Refusal { path: logged.intent.path.0.clone(), reason });
    }

    /// Syncs the file systems that have pending changes and the file systems of `others`. Then
    /// queues the records of the restored files. Returns the errors by the number of the staging
    /// directory.
    pub(crate) fn sync_file_systems(
        &mut self,
        others: &BTreeMap<u32, Rc<Dir>>,
    ) -> BTreeMap<u32, io::Error> {
        let changed = self.unsynced.iter().map(|(&number, unsynced)| (number, &unsynced.dir));
        let dirs: BTreeMap<u32, Rc<Dir>> = others
            .iter()
            .map(|(&number, dir)| (number, dir))
            .chain(changed)
            .map(|(n, dir)| (n, Rc::clone(dir)))
            .collect();
        let mut failed = BTreeMap::new();
        for (number, dir) in dirs {
            match dir.sync_file_system() {
                Ok(()) => {
                    if let Some(unsynced) = self.unsynced.remove(&number) {
                        self.lines.append(&unsynced.lines);
                    }
                }
                Err(error) => drop(failed.insert(number, error)),
            }
        }
        failed
    }

    /// Records the status change time that a file has after its name has been changed, unless
    /// another program has changed the file's status since the run.
    pub(crate) fn record_status(&mut self, n: u64, leased: Option<Leased<'_>>) {
        let Some((before, after)) = leased.map(Leased::end) else { return };
        let statuses = &mut self.undone.statuses;
        let is_known =
            statuses.is_last_change(&before) || self.replay.status(n) == Some(before.ctime_ns);
        statuses.record(&before, after.filter(|_| is_known));
    }
}
