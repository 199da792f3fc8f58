//! Turns handles into paths and metadata.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use fsops::{Dir, Stat, descriptor_path, descriptor_stat};

use super::event::Inode;
use crate::area::Areas;
use crate::paths::as_path;

/// The kernel sometimes fails with `ENOMEM` to open the handle of a directory that another process creates, renames or
/// removes at that moment, although there is memory (seen with Linux 6.18 on ext4). It succeeds a moment later.
const BUSY_ATTEMPTS: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// A directory that was looked for.
pub(super) enum Found {
    /// It was removed.
    Gone,
    /// Its paths below the roots.
    Paths(Vec<Vec<u8>>),
    /// Its path is too long. Contains the path of a directory above it.
    Deep(Vec<u8>),
}

/// Resolves handles. It keeps mount points open, which then cannot be unmounted, so it MUST be
/// dropped soon.
#[derive(Default)]
pub(crate) struct Resolver {
    /// The open mount points by their number in [`Areas`]. `None` if one is not there.
    dirs: HashMap<usize, Option<Dir>>,
}

impl Resolver {
    /// Finds the paths of a directory below the roots.
    pub(super) fn find(&mut self, inode: Inode<'_>, areas: &Areas) -> io::Result<Found> {
        let mut paths = Vec::new();
        let mut is_gone_everywhere = true;
        for at in areas.of_file_system(inode.fsid) {
            let Some(fd) = self.open(at, inode, areas)? else { continue };
            is_gone_everywhere = false;
            match descriptor_path(&fd) {
                Ok(path) => {
                    // The path may belong to another directory, if this mount does not show this one.
                    let is_right = areas.is_inside(&path)
                        && !paths.contains(&path)
                        && is_at(&fd, as_path(&path));
                    paths.extend(Some(path).filter(|_| is_right));
                }
                Err(error) if error.raw_os_error() == Some(libc::ENAMETOOLONG) => {
                    match path_above(&fd) {
                        Ok(path) => return Ok(Found::Deep(path)),
                        // It was removed in the meantime.
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
        let dir = self.dirs.entry(at).or_insert_with(|| areas.open(at));
        let Some(dir) = dir else { return Ok(None) };
        let is_busy = |error: &io::Error| error.raw_os_error() == Some(libc::ENOMEM);
        let mut opened = dir.open_handle(inode.kind, inode.handle);
        for _ in 0..BUSY_ATTEMPTS {
            if opened.as_ref().is_err_and(is_busy) {
                std::thread::sleep(BUSY_PAUSE);
                opened = dir.open_handle(inode.kind, inode.handle);
            }
        }
        match opened {
            Ok(fd) => Ok(Some(fd)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
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

/// Returns the path of the lowest directory above a descriptor whose path is short enough.
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
