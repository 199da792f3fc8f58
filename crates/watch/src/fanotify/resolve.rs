//! Turns handles into paths and metadata.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use fsops::{Dir, Stat, descriptor_path, descriptor_stat};

use super::event::Inode;
use crate::area::Areas;
use crate::paths::as_path;

/// Number of further attempts to open a handle. While another process creates, renames or removes a directory, the
/// kernel sometimes fails with `ENOMEM` to open its handle, even if enough memory is free (seen with Linux 6.18 on
/// ext4). The call succeeds a moment later.
const BUSY_ATTEMPTS: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// The result of a search for a directory.
pub(super) enum Found {
    /// The directory no longer exists.
    Gone,
    /// The paths of the directory below the roots.
    Paths(Vec<Vec<u8>>),
    /// The path of the directory is too long. Contains the path of a directory above it.
    Deep(Vec<u8>),
}

/// Resolves handles. A resolver keeps mount points open, and an open mount point prevents an unmount, so callers MUST
/// drop the resolver soon.
#[derive(Default)]
pub(crate) struct Resolver {
    /// The open top directories of areas, by their index in [`Areas`]. `None` if [`Areas::open`] found
    /// none.
    dirs: HashMap<usize, Option<Dir>>,
    is_outdated: bool,
}

impl Resolver {
    /// Returns whether the path of an area did not lead to its directory. The results then lack what only this area
    /// shows.
    pub(super) fn is_outdated(&self) -> bool {
        self.is_outdated
    }

    /// Finds the paths of a directory below the roots.
    pub(super) fn find(&mut self, inode: Inode<'_>, areas: &Areas) -> io::Result<Found> {
        let mut paths = Vec::new();
        let mut is_gone_everywhere = true;
        for at in areas.of_file_system(inode.fsid) {
            let Some(fd) = self.open(at, inode, areas)? else { continue };
            is_gone_everywhere = false;
            match descriptor_path(&fd) {
                Ok(path) => {
                    // If this mount does not show the directory, the path may lead to another directory.
                    let is_right = areas.is_inside(&path)
                        && !paths.contains(&path)
                        && is_at(&fd, as_path(&path));
                    paths.extend(Some(path).filter(|_| is_right));
                }
                Err(error) if error.raw_os_error() == Some(libc::ENAMETOOLONG) => {
                    match path_above(&fd) {
                        Ok(path) => return Ok(Found::Deep(path)),
                        // Another process has removed the directory in the meantime.
                        Err(error) if is_gone(&error) => is_gone_everywhere = true,
                        Err(error) => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(if is_gone_everywhere { Found::Gone } else { Found::Paths(paths) })
    }

    /// Returns the metadata of an inode, or `None` if it is gone.
    pub(super) fn stat(&mut self, inode: Inode<'_>, areas: &Areas) -> io::Result<Option<Stat>> {
        for at in areas.of_file_system(inode.fsid) {
            if let Some(fd) = self.open(at, inode, areas)? {
                return descriptor_stat(&fd).map(Some);
            }
        }
        Ok(None)
    }

    /// Opens an inode through a mount.
    fn open(&mut self, at: usize, inode: Inode<'_>, areas: &Areas) -> io::Result<Option<OwnedFd>> {
        let dir = match self.dirs.entry(at) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(areas.open(at)?),
        };
        let Some(dir) = dir else {
            self.is_outdated = true;
            return Ok(None);
        };
        match open_handle(dir, inode.kind, inode.handle) {
            Ok(fd) => Ok(Some(fd)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Opens the inode with a handle on the file system of a directory.
pub(super) fn open_handle(dir: &Dir, kind: i32, handle: &[u8]) -> io::Result<OwnedFd> {
    let is_busy = |error: &io::Error| error.raw_os_error() == Some(libc::ENOMEM);
    let mut opened = dir.open_handle(kind, handle);
    for _ in 0..BUSY_ATTEMPTS {
        if opened.as_ref().is_err_and(is_busy) {
            std::thread::sleep(BUSY_PAUSE);
            opened = dir.open_handle(kind, handle);
        }
    }
    opened
}

/// Returns whether an error means that an inode does not exist any more.
fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ESTALE) || fsops::is_gone(error)
}

/// Returns whether a path leads to the inode of a descriptor.
fn is_at(fd: &OwnedFd, path: &Path) -> bool {
    match (descriptor_stat(fd), Stat::of_path(path)) {
        (Ok(here), Ok(there)) => here.key() == there.key(),
        _ => false,
    }
}

/// Returns the path of the nearest ancestor of a directory whose path is short enough.
fn path_above(fd: &OwnedFd) -> io::Result<Vec<u8>> {
    let mut above = Dir::from(fd.try_clone()?).open_parent()?;
    loop {
        match descriptor_path(&above) {
            Err(error) if error.raw_os_error() == Some(libc::ENAMETOOLONG) => {
                above = above.open_parent()?;
            }
            path => return path,
        }
    }
}
