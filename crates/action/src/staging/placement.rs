//! Assigns a staging directory to each file. There is one per run and file system.
//!
//! A rename works only within one mount, and on btrfs only within one subvolume, so each mount and
//! each subvolume has its own directory. Files in quarantine stay in a directory above their
//! original location, so that removing a different tree does not remove them.

use runtime::Mutex;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::sync::MutexGuard;

use fsops::{Context, Dir, Op, Stat};
use walk::PathOpener;

use crate::error::{Error, Reason};
use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::Lines;
use crate::journal::log::Journal;
use crate::journal::record::Record;
use crate::plan::kind::Kind;
use crate::staging::dir::{
    Staging, choose_parent, is_writable_only_by_user, make_staging, open_staging, outer_name,
    outer_path, remove_staging_if_empty,
};

/// All staging directories of a run. The workers share them.
#[derive(Debug)]
pub(crate) struct StagingDirs {
    id: String,
    /// The action on the files. `None` if the run trashes trees.
    kind: Option<Kind>,
    placements: Mutex<Placements>,
}

#[derive(Debug, Default)]
struct Placements {
    staging_dirs: Vec<PlacedStaging>,
    /// Scopes for which no directory could be created, with the reasons.
    failed: Vec<(StagingScope, Reason)>,
    /// The number that the next directory gets in the journal. If a directory cannot be created,
    /// its number is not reused.
    next_number: u32,
    /// Devices whose file systems have been synced.
    synced: HashSet<u64>,
}

/// The set of files that may use a staging directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StagingScope {
    mount: u64,
    device: u64,
    above: Vec<u8>,
    /// Whether the run uses names beside the files instead of a staging directory.
    beside: bool,
}

impl StagingScope {
    /// Returns whether a file in the directory `dir_path` may use this staging directory.
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
    /// The path of the staging directory, or the prefix of the names beside the files.
    path: Vec<u8>,
}

/// The reason why there is no staging directory for a file.
pub(crate) enum StagingFailure {
    /// There is no staging directory for this file.
    File(Reason),
    /// There is no staging directory for any file, because the journal cannot be written.
    Run(Error),
}

impl From<Error> for StagingFailure {
    fn from(error: Error) -> StagingFailure {
        StagingFailure::Run(error)
    }
}

impl StagingDirs {
    /// Creates an empty set for a run with the action `kind`. If `kind` is `None`, the run trashes
    /// trees.
    pub(crate) fn new(id: &str, kind: Option<Kind>) -> StagingDirs {
        StagingDirs { id: id.into(), kind, placements: Mutex::default() }
    }

    /// Returns whether files stay in the staging directories after the run.
    fn stays(&self) -> bool {
        self.kind.is_some_and(Kind::fills_quarantine)
    }

    fn placements(&self) -> MutexGuard<'_, Placements> {
        self.placements.lock()
    }

    /// Returns whether a staging directory of this run is below the directory at an absolute path.
    pub(crate) fn any_below(&self, path: &[u8]) -> bool {
        let is_below = |placed: &PlacedStaging| {
            placed.path.strip_prefix(path).is_some_and(|rest| rest.starts_with(b"/"))
        };
        self.placements().staging_dirs.iter().any(is_below)
    }

    /// Syncs the file system of a file to its disk, once per run.
    ///
    /// The content of a recently copied file may exist only in memory. If its older duplicate were
    /// removed before the content is on the disk, a power failure would destroy both.
    pub(crate) fn sync(&self, device: u64, dir: &Dir) -> io::Result<()> {
        let mut placements = self.placements();
        if !placements.synced.contains(&device) {
            dir.sync_file_system()?;
            placements.synced.insert(device);
        }
        Ok(())
    }

    /// Returns the staging directory for a file, and creates it if necessary.
    fn find(
        &self,
        file: &Stat,
        dir_path: &[u8],
        reach: &mut PathOpener,
        journal: &Journal,
    ) -> Result<PlacedStaging, StagingFailure> {
        let mut placements = self.placements();
        let serves = |placed: &&PlacedStaging| placed.scope.serves(file, dir_path, self.stays());
        if let Some(placed) = placements.staging_dirs.iter().find(serves) {
            return Ok(placed.clone());
        }
        let above = choose_parent(dir_path, reach).map_err(StagingFailure::File)?;
        let scope = StagingScope { mount: file.mount, device: file.device, above, beside: false };
        if let Some((_, reason)) = placements.failed.iter().find(|(failed, _)| *failed == scope) {
            return Err(StagingFailure::File(reason.for_another_file()));
        }
        let failed = |source| Reason::Staging { at: outer_path(&scope.above), source };
        let volume = reach.dir(&scope.above).and_then(|dir| dir.volume());
        let fsid = volume.map_err(|e| StagingFailure::File(failed(e)))?.fsid;
        let path = [outer_path(&scope.above).as_slice(), b"/", self.id.as_bytes()].concat();
        let number = placements.next_number;
        placements.next_number += 1;
        journal.append_record(&Record::Store {
            store: number,
            path: JsonBytes(path.clone()),
            fsid,
        })?;
        let placed = match make_staging(&scope.above, &self.id, reach, false) {
            Ok(()) => PlacedStaging { scope, number, path },
            Err(reason) if reason.is_full() && self.may_be_beside(dir_path, reach) => {
                self.beside(file, dir_path, fsid, &mut placements, journal)?
            }
            Err(reason) => {
                placements.failed.push((scope, reason.for_another_file()));
                return Err(StagingFailure::File(reason));
            }
        };
        placements.staging_dirs.push(placed.clone());
        Ok(placed)
    }

    /// Returns whether files in `dir_path` may use names beside them if the disk has no room for a
    /// staging directory.
    fn may_be_beside(&self, dir_path: &[u8], reach: &mut PathOpener) -> bool {
        // The other kinds of actions need free disk space themselves.
        let frees = matches!(self.kind, Some(Kind::Delete | Kind::Hardlink | Kind::Symlink));
        frees
            && reach
                .dir(dir_path)
                .and_then(|dir| dir.stat())
                .is_ok_and(|stat| is_writable_only_by_user(&stat))
    }

    fn beside(
        &self,
        file: &Stat,
        dir_path: &[u8],
        fsid: u64,
        placements: &mut Placements,
        journal: &Journal,
    ) -> Result<PlacedStaging, Error> {
        let above = dir_path.to_vec();
        let scope = StagingScope { mount: file.mount, device: file.device, above, beside: true };
        let path = format!("/{}-{}-", outer_name(), self.id);
        let path = [dir_path, path.as_bytes()].concat();
        let number = placements.next_number;
        placements.next_number += 1;
        let mut lines = Lines::default();
        lines.push(&Record::Store { store: number, path: JsonBytes(path.clone()), fsid });
        // This need not be synced yet. The record comes before the intents in the journal, and
        // nothing is created until the intents are on the disk.
        journal.append(&lines, false)?;
        Ok(PlacedStaging { scope, number, path })
    }

    /// Removes the run's empty staging directories. If anything was `done`, also waits until the
    /// changes are on the disk. The journal must not record the end of the run before that.
    ///
    /// # Errors
    ///
    /// Fails if an empty directory cannot be removed, or a file system cannot be synced.
    pub(crate) fn finish(&self, done: bool, reach: &mut PathOpener) -> Result<(), fsops::Error> {
        for PlacedStaging { scope, path, .. } in &self.placements().staging_dirs {
            let shown = |path: &[u8]| OsStr::from_bytes(path).to_owned();
            remove_staging_if_empty(path, reach).context(Op::Remove, || shown(path))?;
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

/// The staging directories that one worker has open.
#[derive(Debug, Default)]
pub(crate) struct WorkerStagings(Vec<(StagingScope, Staging)>);

impl WorkerStagings {
    /// Returns the staging directory for a file, and opens it if necessary.
    pub(crate) fn staging(
        &mut self,
        staging_dirs: &StagingDirs,
        file: &Stat,
        dir_path: &[u8],
        reach: &mut PathOpener,
        journal: &Journal,
    ) -> Result<Staging, StagingFailure> {
        let serves =
            |(scope, _): &&(StagingScope, _)| scope.serves(file, dir_path, staging_dirs.stays());
        if let Some((_, staging)) = self.0.iter().find(serves) {
            return Ok(staging.clone());
        }
        let PlacedStaging { scope, number, path } =
            staging_dirs.find(file, dir_path, reach, journal)?;
        let staging = open_staging(number, &path, reach)
            .map_err(|source| StagingFailure::File(Reason::Staging { at: path, source }))?;
        self.0.push((scope, staging.clone()));
        Ok(staging)
    }
}
