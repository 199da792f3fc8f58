//! Which private directory a file goes through: one per file system and run ([`crate::staging`]).
//!
//! A rename works only within one mount, and on btrfs within one subvolume, so there is one directory for each.
//! Files that stay in a store (quarantine) are in one above their own directory, so that nobody who removes another
//! tree removes them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fsops::{Context, Dir, Op, Stat};
use walk::Reach;

use crate::error::{Error, Reason};
use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::Lines;
use crate::journal::log::Journal;
use crate::journal::record::Record;
use crate::plan::kind::Kind;
use crate::staging::dir::{
    Staging, choose_parent, is_closed, make_staging, open_staging, store_name, store_path,
    try_remove_staging,
};

/// All stores of a run, shared by its workers.
#[derive(Debug)]
pub(crate) struct StagingDirs {
    id: String,
    /// What is done with files; nothing for whole trees.
    kind: Option<Kind>,
    placed: Mutex<Placements>,
}

#[derive(Debug, Default)]
struct Placements {
    stores: Vec<PlacedStaging>,
    /// Those that could not be made, and why.
    failed: Vec<(StagingScope, Reason)>,
    /// Numbers that the journal knows; one that came to nothing is not used again.
    noted: u32,
    /// Devices whose file systems were synced.
    synced: HashSet<u64>,
}

/// Where a store is, or is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StagingScope {
    mount: u64,
    device: u64,
    above: Vec<u8>,
    /// There is no directory, but names beside files.
    beside: bool,
}

impl StagingScope {
    /// Returns whether files of a directory can go through a store here.
    fn serves(&self, file: &Stat, dir_path: &[u8], stays: bool) -> bool {
        let rest = dir_path.strip_prefix(&self.above[..]);
        let is_above = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        let is_near = if self.beside { dir_path == self.above } else { is_above || !stays };
        (self.mount, self.device) == (file.mount, file.device) && is_near
    }
}

#[derive(Clone, Debug)]
struct PlacedStaging {
    scope: StagingScope,
    number: u32,
    /// Path of the run's own directory in it, or what the paths of its names begin with.
    path: Vec<u8>,
}

/// Why there is no store for a file.
pub(crate) enum StagingFailure {
    /// For this file.
    Here(Reason),
    /// For none: the journal failed.
    Anywhere(Error),
}

impl From<Error> for StagingFailure {
    fn from(error: Error) -> StagingFailure {
        StagingFailure::Anywhere(error)
    }
}

impl StagingDirs {
    /// Returns none yet, for what is done with files or, if that is nothing, for whole trees.
    pub(crate) fn new(id: &str, kind: Option<Kind>) -> StagingDirs {
        StagingDirs { id: id.into(), kind, placed: Mutex::default() }
    }

    /// Returns whether files stay in them.
    fn stays(&self) -> bool {
        self.kind == Some(Kind::Quarantine)
    }

    fn placed(&self) -> MutexGuard<'_, Placements> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has everything that a file's file system has in memory written to its disk, once in a run.
    ///
    /// A file that was copied a moment ago may be nowhere but in memory. If its older equal were removed
    /// before it is on the disk, a power failure would take both.
    pub(crate) fn sync(&self, device: u64, dir: &Dir) -> io::Result<()> {
        let mut placed = self.placed();
        if !placed.synced.contains(&device) {
            dir.sync_file_system()?;
            placed.synced.insert(device);
        }
        Ok(())
    }

    /// Returns the store for a file in a directory, made if need be.
    fn find(
        &self,
        file: &Stat,
        dir_path: &[u8],
        reach: &mut Reach,
        journal: &Journal,
    ) -> Result<PlacedStaging, StagingFailure> {
        let mut placed = self.placed();
        let serves = |store: &&PlacedStaging| store.scope.serves(file, dir_path, self.stays());
        if let Some(store) = placed.stores.iter().find(serves) {
            return Ok(store.clone());
        }
        let above = choose_parent(dir_path, reach).map_err(StagingFailure::Here)?;
        let scope = StagingScope { mount: file.mount, device: file.device, above, beside: false };
        if let Some((_, reason)) = placed.failed.iter().find(|(failed, _)| *failed == scope) {
            return Err(StagingFailure::Here(reason.for_another_file()));
        }
        let failed = |source| Reason::Staging { at: store_path(&scope.above), source };
        let volume = reach.dir(&scope.above).and_then(|dir| dir.volume());
        let fsid = volume.map_err(|e| StagingFailure::Here(failed(e)))?.fsid;
        let path = [store_path(&scope.above).as_slice(), b"/", self.id.as_bytes()].concat();
        let number = placed.noted;
        placed.noted += 1;
        journal.note(&Record::Store { store: number, path: JsonBytes(path.clone()), fsid })?;
        let store = match make_staging(&scope.above, &self.id, reach, false) {
            Ok(()) => PlacedStaging { scope, number, path },
            Err(reason) if reason.is_full() && self.may_be_beside(dir_path, reach) => {
                self.beside(file, dir_path, fsid, &mut placed, journal)?
            }
            Err(reason) => {
                placed.failed.push((scope, reason.for_another_file()));
                return Err(StagingFailure::Here(reason));
            }
        };
        placed.stores.push(store.clone());
        Ok(store)
    }

    /// Returns whether files may go through names beside them, for want of room for a directory.
    fn may_be_beside(&self, dir_path: &[u8], reach: &mut Reach) -> bool {
        // The others take room themselves.
        let frees = matches!(self.kind, Some(Kind::Delete | Kind::Hardlink | Kind::Symlink));
        frees && reach.dir(dir_path).and_then(|dir| dir.stat()).is_ok_and(|stat| is_closed(&stat))
    }

    fn beside(
        &self,
        file: &Stat,
        dir_path: &[u8],
        fsid: u64,
        placed: &mut Placements,
        journal: &Journal,
    ) -> Result<PlacedStaging, Error> {
        let above = dir_path.to_vec();
        let scope = StagingScope { mount: file.mount, device: file.device, above, beside: true };
        let path = format!("/{}-{}-", store_name(), self.id);
        let path = [dir_path, path.as_bytes()].concat();
        let number = placed.noted;
        placed.noted += 1;
        let mut lines = Lines::default();
        lines.push(&Record::Store { store: number, path: JsonBytes(path.clone()), fsid });
        // Nothing is made before intents are on the disk, and this comes before them.
        journal.append(&lines, false)?;
        Ok(PlacedStaging { scope, number, path })
    }

    /// Removes the run's directories that nothing is left in. If anything was `done`, has it on the disk: only
    /// then may the journal say that the run is over.
    pub(crate) fn finish(&self, done: bool, reach: &mut Reach) -> Result<(), fsops::Error> {
        for PlacedStaging { scope, path, .. } in &self.placed().stores {
            let shown = |path: &[u8]| OsStr::from_bytes(path).to_owned();
            try_remove_staging(path, reach).context(Op::Remove, || shown(path))?;
            if !done {
                continue;
            }
            let above = if scope.above.is_empty() { b"/" } else { &scope.above[..] };
            let synced = reach.dir(&scope.above).and_then(|dir| dir.sync_file_system());
            synced.context(Op::Sync, || shown(above))?;
        }
        Ok(())
    }
}

/// The stores that one worker has used.
#[derive(Debug, Default)]
pub(crate) struct WorkerStagings(Vec<(StagingScope, Staging)>);

impl WorkerStagings {
    /// Returns the run's directory for a file in a directory.
    pub(crate) fn staging(
        &mut self,
        stores: &StagingDirs,
        file: &Stat,
        dir_path: &[u8],
        reach: &mut Reach,
        journal: &Journal,
    ) -> Result<Staging, StagingFailure> {
        let serves = |(scope, _): &&(StagingScope, _)| scope.serves(file, dir_path, stores.stays());
        if let Some((_, staging)) = self.0.iter().find(serves) {
            return Ok(staging.clone());
        }
        let PlacedStaging { scope, number, path } = stores.find(file, dir_path, reach, journal)?;
        let staging = open_staging(number, &path, reach)
            .map_err(|source| StagingFailure::Here(Reason::Staging { at: path, source }))?;
        self.0.push((scope, staging.clone()));
        Ok(staging)
    }
}
