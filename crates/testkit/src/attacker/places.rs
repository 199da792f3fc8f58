//! Open directories below the roots, and the names found in them.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, fstat, openat};

use super::Ground;
use crate::dice::Dice;

/// Device and inode.
pub(super) type Identity = (u64, u64);

/// Maximum number of directories in one sample. It bounds the number of descriptors.
const MAX_SAMPLED_DIRS: usize = 48;

/// A directory and the names in it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) dir: OwnedFd,
    pub(super) files: Vec<CString>,
    pub(super) dirs: Vec<CString>,
}

impl Place {
    /// Lists the files and subdirectories of an open directory.
    pub(super) fn list(dir: OwnedFd) -> io::Result<Self> {
        let (mut files, mut dirs) = (Vec::new(), Vec::new());
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let name = entry.file_name();
            match entry.file_type() {
                FileType::RegularFile => files.push(name.to_owned()),
                FileType::Directory if name != c"." && name != c".." => dirs.push(name.to_owned()),
                _ => {}
            }
        }
        Ok(Self { dir, files, dirs })
    }

    /// Opens a subdirectory, unless it is the bait.
    pub(super) fn enter(&self, ground: &Ground, name: &CStr) -> io::Result<OwnedFd> {
        enter(ground, &self.dir, name)
    }
}

/// Opens the subdirectory `name` without following a link. Fails if it is the bait.
pub(super) fn enter(ground: &Ground, dir: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let child = open_in(dir, name, OFlags::NOFOLLOW)?;
    if identity(&child)? == ground.bait {
        return Err(io::Error::other("the bait"));
    }
    Ok(child)
}

/// Walks down from the roots at random and returns the directories on the way, each once.
pub(super) fn sample(ground: &Ground, dice: &mut Dice) -> Vec<Place> {
    let (mut places, mut seen): (Vec<Place>, Vec<Identity>) = (Vec::new(), Vec::new());
    for _ in 0..MAX_SAMPLED_DIRS {
        let mut next = dice.pick(&ground.roots).and_then(|root| root.try_clone().ok());
        while let Some(place) = next.take().and_then(|dir| Place::list(dir).ok()) {
            let down = dice.pick(&place.dirs);
            next = down.and_then(|name| place.enter(ground, name).ok());
            if places.len() < MAX_SAMPLED_DIRS
                && let Ok(identity) = identity(&place.dir)
                && !seen.contains(&identity)
            {
                seen.push(identity);
                places.push(place);
            }
        }
    }
    places
}

pub(super) fn open_dir(path: &Path) -> io::Result<OwnedFd> {
    open_in(CWD, path, OFlags::empty())
}

fn open_in(dir: impl AsFd, name: impl rustix::path::Arg, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(dir, name, flags, Mode::empty())?)
}

pub(super) fn identity(dir: &OwnedFd) -> io::Result<Identity> {
    let stat = fstat(dir)?;
    Ok((stat.st_dev, stat.st_ino))
}
