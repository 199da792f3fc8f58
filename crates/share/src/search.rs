//! Searches of paths below the shared directories.

use std::io;
use std::sync::Arc;

use fsops::{Found, Kind};

use crate::file::SharedFile;
use crate::path::Path;
use crate::roots::Place;
use crate::shared::Shared;

/// The result of a search.
pub(crate) enum Searched {
    File(Arc<SharedFile>),
    Dir(Found),
    /// The list of the shared directories.
    Top,
    /// No such name, or a link out of the directory, or neither a file nor a directory.
    Missing,
    /// It exists, but cannot be opened.
    Closed,
}

/// How a search may proceed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// With names and metadata in memory only.
    Cached,
    /// It may wait for a disk.
    Waiting,
}

impl Shared {
    /// Searches a path.
    ///
    /// # Errors
    ///
    /// Fails with [`io::ErrorKind::WouldBlock`] if the search would have to wait.
    pub(crate) fn search(&self, path: &Path, how: How) -> io::Result<Searched> {
        let (root, below) = match self.roots.place(path) {
            None => return Ok(Searched::Missing),
            Some(Place::Top) => return Ok(Searched::Top),
            Some(Place::Below(root, below)) => (root, below),
        };
        // The catalog has to be asked about files, and the identities of directories about lop's own files.
        let needs_more = self.facts.are_useful() && !path.is_dir || self.roots.may_be_own(below);
        let found = match how {
            How::Cached if needs_more => return Err(io::ErrorKind::WouldBlock.into()),
            How::Cached => root.dir.find_beneath_cached(below),
            How::Waiting if self.roots.leads_to_own(root, below) => return Ok(Searched::Missing),
            How::Waiting => root.dir.find_beneath(below),
        };
        let found = match found {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            Err(error) if is_missing(&error) => return Ok(Searched::Missing),
            Err(_) => return Ok(Searched::Closed),
        };
        if how == How::Cached && root.local_device != Some(found.stat.device) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(match found.stat.kind {
            Kind::Dir => Searched::Dir(found),
            Kind::File if !path.is_dir => {
                let digest = match how {
                    How::Cached => None,
                    How::Waiting => self.facts.digest(&root.absolute(below), &found.stat),
                };
                SharedFile::open(&found, path.name(), digest)
                    .map_or(Searched::Closed, |file| Searched::File(Arc::new(file)))
            }
            _ => Searched::Missing,
        })
    }

    /// Returns whether the path of a request still leads to the same version of a file. Returns false if
    /// the answer would have to wait.
    pub(crate) fn is_unchanged(&self, path: &[u8], file: &SharedFile) -> bool {
        let Some(path) = Path::decode(path) else { return false };
        let Some(Place::Below(root, below)) = self.roots.place(&path) else { return false };
        root.dir.find_beneath_cached(below).is_ok_and(|found| {
            root.local_device == Some(found.stat.device)
                && found.stat.same_version(&file.served.stat)
        })
    }
}

/// Returns whether a search failed because there is nothing to be shown: no such name, or a link that
/// leads out of the directory.
fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | CrossesDevices | InvalidFilename)
}
