//! Locates intents on disk by opening the directory of each file and the staging directory of its
//! intent.
//!
//! Paths are opened component by component without following links. If a directory is missing, the
//! result is an error or `None`, never a directory in another place.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::rc::Rc;

use fsops::{Context, Dir, File, Op};
use walk::{PathOpener, split_path};

use crate::error::{Error, Reason};
use crate::journal::record::Intent;
use crate::journal::replay::Replay;
use crate::staging::dir::{
    Staging, open_staging, parent_of_outer, remove_staging_if_empty, restore_staging,
};

/// Maximum number of directories kept open.
const MAX_OPEN_DIRS: usize = 64;

/// The open location of an intent's file.
pub(crate) struct IntentLocation {
    pub(crate) dir: Rc<Dir>,
    pub(crate) name: CString,
    pub(crate) staging: Option<Staging>,
}

/// Opens the locations of a journal's intents.
pub(crate) struct IntentLocator<'a> {
    replay: &'a Replay,
    pub(crate) reach: PathOpener,
}

impl<'a> IntentLocator<'a> {
    pub(crate) fn new(replay: &'a Replay) -> Self {
        IntentLocator { replay, reach: PathOpener::new(MAX_OPEN_DIRS) }
    }

    /// Opens the location of an intent.
    pub(crate) fn locate(&mut self, intent: &Intent) -> std::io::Result<IntentLocation> {
        let staging = self.staging(intent)?;
        let (dir, name) = self.reach.parent_and_name(&intent.path.0)?;
        Ok(IntentLocation { dir, name, staging })
    }

    /// Like [`IntentLocator::locate`], but creates missing parent directories of the file.
    pub(crate) fn locate_or_create(&mut self, intent: &Intent) -> std::io::Result<IntentLocation> {
        let dir = split_path(&intent.path.0).0;
        let mut missing = Vec::new();
        let mut at = dir;
        while let Err(e) = self.reach.dir(at) {
            if e.kind() != std::io::ErrorKind::NotFound || at.is_empty() {
                return Err(e);
            }
            missing.push(at);
            at = split_path(at).0;
        }
        if !missing.is_empty() {
            self.check_mount(intent, at)?;
        }
        for path in missing.into_iter().rev() {
            let (above, name) = self.reach.parent_and_name(path)?;
            above.make_dir(&name)?;
        }
        self.locate(intent)
    }

    /// Checks that a directory is on the same mount as an intent's staging directory, because files
    /// can only be moved within one mount.
    fn check_mount(&mut self, intent: &Intent, path: &[u8]) -> std::io::Result<()> {
        let Some(staging) = self.staging(intent)? else { return Ok(()) };
        let (here, staging_dir) = (self.reach.dir(path)?.stat()?, staging.dir.stat()?);
        if (here.mount, here.device) == (staging_dir.mount, staging_dir.device) {
            return Ok(());
        }
        let text = "its directory is gone, and another file system is mounted there";
        Err(std::io::Error::new(std::io::ErrorKind::CrossesDevices, text))
    }

    /// Opens the staging directory of an intent. Returns `None` if the intent has no staging
    /// directory, or if the directory is gone.
    pub(crate) fn staging(&mut self, intent: &Intent) -> std::io::Result<Option<Staging>> {
        let Some((number, path)) = self.staging_path(intent)? else { return Ok(None) };
        match open_staging(number, path, &mut self.reach) {
            Ok(staging) => Ok(Some(staging)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Opens the staging directory of an intent, and creates the directory again if it is gone.
    pub(crate) fn restore_staging(&mut self, intent: &Intent) -> std::io::Result<Option<Staging>> {
        let Some((number, path)) = self.staging_path(intent)? else { return Ok(None) };
        restore_staging(path, &mut self.reach)?;
        open_staging(number, path, &mut self.reach).map(Some)
    }

    /// Removes the run's staging directories that are empty. Returns true unless the removal of one
    /// of them failed.
    pub(crate) fn cleanup(&mut self) -> bool {
        let mut is_clean = true;
        for (path, _) in self.replay.staging_dirs.values() {
            is_clean &= remove_staging_if_empty(path, &mut self.reach).is_ok();
        }
        is_clean
    }

    /// Like [`IntentLocator::cleanup`], and then waits until all changes on the file systems of the
    /// staging directories are on their disks.
    pub(crate) fn cleanup_and_sync(&mut self) -> Result<bool, Error> {
        // The directories are opened first, because the cleanup may remove them. A directory that
        // cannot be opened is on a file system that is not mounted, where nothing has changed.
        let mut open: Vec<(&[u8], Rc<Dir>)> = Vec::new();
        for (path, _) in self.replay.staging_dirs.values() {
            let dir = self.reach.dir(path).or_else(|_| self.reach.dir(parent_of_outer(path)));
            open.extend(dir.ok().map(|dir| (&path[..], dir)));
        }
        let is_clean = self.cleanup();
        for (path, dir) in open {
            dir.sync_file_system().context(Op::Sync, || OsString::from_vec(path.to_vec()))?;
        }
        Ok(is_clean)
    }

    /// Returns the reason for a file that is not in its staging directory.
    pub(crate) fn not_in_staging(&self, intent: &Intent) -> Reason {
        match self.staging_dir(intent) {
            Some((path, _)) => Reason::NotInStaging { at: path.clone() },
            None => Reason::StagingUnknown,
        }
    }

    /// Returns the path and the file system ID of an intent's staging directory, as recorded in the
    /// journal.
    fn staging_dir(&self, intent: &Intent) -> Option<&'a (Vec<u8>, u64)> {
        self.replay.staging_dirs.get(&intent.store?)
    }

    /// Returns the number and the path of an intent's staging directory. Returns `None` if the
    /// intent has no staging directory. Fails if the journal's line about the directory is damaged.
    fn staging_path(&self, intent: &Intent) -> std::io::Result<Option<(u32, &'a [u8])>> {
        let Some(number) = intent.store else { return Ok(None) };
        match self.staging_dir(intent) {
            Some((path, _)) => Ok(Some((number, path))),
            None => Err(std::io::Error::other("the journal does not say where it was moved")),
        }
    }

    /// Returns the ID of the file system that an intent's file is on.
    pub(crate) fn fsid(&self, intent: &Intent) -> u64 {
        self.staging_dir(intent).map_or(intent.kept_fsid, |(_, fsid)| *fsid)
    }

    /// Opens the file at a path.
    pub(crate) fn open_file(&mut self, path: &[u8]) -> std::io::Result<File> {
        let (dir, name) = self.reach.parent_and_name(path)?;
        dir.open_file(&name)
    }
}
