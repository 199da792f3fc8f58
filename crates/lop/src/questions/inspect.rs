//! Examines remembered files at their recorded paths. Links are not followed, so that a directory that was replaced by
//! a link is noticed.

use std::cell::OnceCell;
use std::io;

use catalog::Entry;
use dupes::{AliasKey, AliasKeyReader, State, aliases_among};
use fsops::{FileKey, Stat, Volume, is_gone};
use walk::{PathOpener, split_path};

use crate::questions::aliases::{Distinct, may_show_others};
use crate::questions::knowledge::state_of;

/// Examines files. The most recently used directory stays open.
pub(crate) struct Inspector {
    reach: PathOpener,
    sights: OnceCell<AliasKeyReader>,
}

impl Default for Inspector {
    fn default() -> Self {
        Inspector { reach: PathOpener::new(1), sights: OnceCell::new() }
    }
}

impl Inspector {
    /// Returns the metadata of the file at an absolute path.
    ///
    /// # Errors
    ///
    /// Fails if the file is gone, or cannot be reached without following a link.
    pub(crate) fn stat(&mut self, path: &[u8]) -> io::Result<Stat> {
        self.reach.stat(path)
    }

    /// Returns the identity of the parent directory of an absolute path.
    ///
    /// # Errors
    ///
    /// Fails if the directory is gone, or cannot be reached without following a link.
    pub(crate) fn dir_key(&mut self, path: &[u8]) -> io::Result<FileKey> {
        Ok(self.reach.dir(split_path(path).0)?.stat()?.key())
    }

    /// Returns the metadata that identifies aliases of the file at an absolute path.
    ///
    /// # Errors
    ///
    /// Fails if the file is gone, or cannot be reached without following a link.
    pub(crate) fn sight(&mut self, path: &[u8]) -> io::Result<AliasKey> {
        let volume = self.reach.dir(split_path(path).0)?.volume()?;
        let stat = self.stat(path)?;
        Ok(self.sights.get_or_init(AliasKeyReader::read).of_stat(&stat, &volume))
    }

    /// Returns the current state of a remembered file.
    pub(crate) fn state(&mut self, entry: &Entry) -> State {
        let state = match self.stat(&entry.path) {
            Ok(now) if entry.is_unchanged(&now) => return state_of(entry.state),
            Ok(_) => State::Changed,
            Err(e) if is_gone(&e) => State::Gone,
            Err(_) => return State::Unknown,
        };
        if self.is_offline(entry) { State::Offline } else { state }
    }

    /// Returns for each entry whether it may be an alias of another entry. The entries must be unchanged and have the
    /// same content. For one entry in each set of aliases, the result is false. Files below `distinct` are never
    /// aliases.
    pub(crate) fn aliases_among(&mut self, entries: &[&Entry], distinct: &Distinct) -> Vec<bool> {
        if !entries.iter().any(|entry| may_show_others(entry.file_system)) {
            return vec![false; entries.len()];
        }
        let candidates = entries.iter().map(|entry| {
            let sight = self.sight(&entry.path).ok();
            sight.filter(|_| !distinct.has(&entry.path))
        });
        aliases_among(&candidates.collect::<Vec<_>>())
    }

    /// Returns whether the directory of a remembered file is now on a different file system.
    fn is_offline(&mut self, entry: &Entry) -> bool {
        entry
            .file_system
            .is_some_and(|volume| self.is_offline_at(&volume, split_path(&entry.path).0))
    }

    /// Returns whether the absolute path `dir`, which used to be on `disk`, is now on a different file system.
    pub(crate) fn is_offline_at(&mut self, disk: &Volume, dir: &[u8]) -> bool {
        self.reach.is_offline_at(disk, dir)
    }
}
