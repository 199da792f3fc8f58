//! Finds out whether a remembered directory exists now, and on which volume.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use fsops::Dir;
use walk::Device;

use super::outside::SPIN_UP_TIMEOUT;
use crate::error::Error;
use crate::open::Catalog;
use crate::tables::volumes::Volumes;

/// The directory that now has the path of a remembered directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveDir {
    /// No directory that can be opened.
    Gone,
    /// A directory on this row of `volume`, if there is one.
    On(Option<i64>),
    /// A directory whose files may be on several volumes.
    OnSeveral,
}

impl LiveDir {
    /// Returns whether the files in the directory can be on this volume.
    pub(super) fn may_hold(self, volume: i64) -> bool {
        match self {
            LiveDir::Gone => false,
            LiveDir::On(here) => here == Some(volume),
            LiveDir::OnSeveral => true,
        }
    }
}

/// Opens remembered directories, each at most once.
pub(super) struct LiveDirs<'a> {
    catalog: &'a Catalog,
    volumes: &'a Volumes,
    top: Option<Dir>,
    known: HashMap<i64, LiveDir>,
    /// Whether each volume responds, judged by one directory.
    responds: HashMap<i64, bool>,
}

impl<'a> LiveDirs<'a> {
    pub(super) fn new(catalog: &'a Catalog, volumes: &'a Volumes) -> LiveDirs<'a> {
        let top = Dir::open(Path::new("/")).ok();
        LiveDirs { catalog, volumes, top, known: HashMap::new(), responds: HashMap::new() }
    }

    /// Returns the directory to which the path of the row `dir`, which has files on `volume`, leads now. Does not open
    /// a directory on a volume that does not respond.
    pub(super) fn find(&mut self, dir: i64, volume: i64) -> Result<LiveDir, Error> {
        if self.responds.get(&volume) == Some(&false) {
            return Ok(LiveDir::Gone);
        }
        if let Some(&known) = self.known.get(&dir) {
            return Ok(known);
        }
        let path = self.catalog.path_in(dir, b"")?;
        if let Entry::Vacant(entry) = self.responds.entry(volume) {
            let path = PathBuf::from(OsString::from_vec(path.clone()));
            let responds = walk::unresponsive(&[path], SPIN_UP_TIMEOUT).is_empty();
            if !*entry.insert(responds) {
                return Ok(LiveDir::Gone);
            }
        }
        let found = self.open(&path).unwrap_or(LiveDir::Gone);
        self.known.insert(dir, found);
        Ok(found)
    }

    /// Returns the volumes that do not respond.
    pub(super) fn silent(&self) -> impl Iterator<Item = i64> {
        self.responds.iter().filter(|(_, responds)| !**responds).map(|(volume, _)| *volume)
    }

    /// Opens the directory at an absolute path that ends with a slash.
    fn open(&self, path: &[u8]) -> Option<LiveDir> {
        let below =
            path.strip_prefix(b"/").and_then(|path| path.strip_suffix(b"/")).unwrap_or(b".");
        let dir = self.top.as_ref()?.open_below(below).ok()?;
        let (number, volume) = (dir.stat().ok()?.device, dir.volume().ok()?);
        if !volume.has_one_device() {
            return Some(LiveDir::OnSeveral);
        }
        Some(LiveDir::On(self.volumes.find(&Device { number, volume })))
    }
}
