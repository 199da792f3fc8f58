//! The areas that a watcher watches. Each root is an area, and so is each mount below a root. A root below another one
//! on the same mount is a part of its area. The watcher chooses one means of watching for each area.
//!
//! Mounts come and go. [`Plan::make`] reads the mount table, and the watcher compares the plan with
//! the areas that it watches. Neither accesses file systems of types that may not respond.

mod plan;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fsops::Dir;

use crate::answer::Unknown;
use crate::notes::Notes;
use crate::paths::{is_at_or_below, joined, open_dir};

pub(crate) use plan::{Plan, Planned};

/// The means by which the watcher watches an area.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// The watcher watches the whole file system with fanotify.
    Fanotify,
    /// The watcher watches each directory with inotify. Contains the number of directories, and the reason why it
    /// cannot use fanotify.
    Inotify(usize, String),
    /// The watcher cannot notice changes, for the given reason.
    Unwatched(String),
}

/// A root, or a mount below a root, and the means by which the watcher watches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The absolute path.
    pub path: Vec<u8>,
    /// True for a root, false for a mount below a root.
    pub is_root: bool,
    /// The type of its file system, such as `ext4`.
    pub file_system: String,
    /// The means by which the watcher watches it.
    pub means: Means,
}

/// A part of a root.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    pub(crate) planned: Planned,
    pub(crate) means: Means,
    /// The identity of its file system in events of fanotify.
    pub(crate) fsid: u64,
    /// The number of inotify watches that the area needs, if the user may not have as many.
    pub(crate) needed: Option<u64>,
}

impl Area {
    /// Returns whether the watcher watches the area.
    pub(crate) fn is_watched(&self) -> bool {
        !matches!(self.means, Means::Unwatched(_))
    }
}

/// All areas, and the paths with a special meaning: the roots, and the files of lop itself.
#[derive(Debug)]
pub(crate) struct Areas {
    pub(crate) roots: Vec<Vec<u8>>,
    pub(crate) list: Vec<Area>,
    pub(crate) own: OwnPaths,
    /// The replaced roots, each with a number. The changes of a root before its number are unknown.
    replaced: HashMap<Vec<u8>, u64>,
}

impl Areas {
    /// Creates an empty list of areas for the given roots.
    pub(crate) fn new(roots: Vec<Vec<u8>>, own: OwnPaths) -> Areas {
        Areas { roots, list: Vec::new(), own, replaced: HashMap::new() }
    }

    /// Returns the indexes of the areas on a file system that the watcher watches with fanotify.
    pub(crate) fn of_file_system(&self, fsid: u64) -> impl Iterator<Item = usize> {
        let all = self.list.iter().enumerate();
        all.filter(move |(_, area)| area.means == Means::Fanotify && area.fsid == fsid)
            .map(|(at, _)| at)
    }

    /// Returns the area that contains a path.
    pub(crate) fn of_path(&self, path: &[u8]) -> Option<&Area> {
        let above = self.list.iter().filter(|area| is_at_or_below(&area.planned.path, path));
        above.max_by_key(|area| area.planned.path.len())
    }

    /// Opens the top directory of an area. Returns `None` if the path does not lead to this directory.
    pub(crate) fn open(&self, at: usize) -> io::Result<Option<Dir>> {
        let Some(Area { planned, .. }) = self.list.get(at) else { return Ok(None) };
        match open_dir(&planned.path) {
            Ok(dir) => Ok((Some(dir.stat()?.key()) == planned.key).then_some(dir)),
            Err(error) if fsops::is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a path is a root or below one.
    pub(crate) fn is_inside(&self, path: &[u8]) -> bool {
        self.roots.iter().any(|root| is_at_or_below(root, path))
    }

    /// Makes the changes of a root before this moment unknown.
    pub(crate) fn replace(&mut self, root: &[u8], notes: &mut Notes) {
        self.replaced.insert(root.to_vec(), notes.advance());
    }

    /// Fails if the watcher does not watch a directory, or has not watched it since the given number.
    pub(crate) fn check(&self, path: &[u8], since: u64) -> Result<(), Unknown> {
        let not_watched = || Unknown::NotWatched(path.to_vec());
        self.of_path(path).filter(|area| area.is_watched()).ok_or_else(not_watched)?;
        let roots = self.replaced.iter().filter(|(root, _)| is_at_or_below(root, path));
        match roots.max_by_key(|(_, number)| **number) {
            Some((root, number)) if since < *number => Err(Unknown::Replaced(root.clone())),
            _ => Ok(()),
        }
    }

    /// Returns the roots, and the mounts below them, that the watcher cannot watch.
    pub(crate) fn unwatched(&self) -> impl Iterator<Item = &[u8]> {
        let unwatched = self.list.iter().filter(|area| !area.is_watched());
        unwatched.map(|area| &area.planned.path[..])
    }
}

/// The files that lop itself changes, such as the catalog. The watcher does not note their changes,
/// because otherwise each scan would cause the next one.
#[derive(Debug, Default)]
pub(crate) struct OwnPaths(Vec<Vec<u8>>);

impl OwnPaths {
    /// Creates the set of these paths. Resolves links in their parents.
    pub(crate) fn new(paths: &[PathBuf]) -> OwnPaths {
        let real = |path: &PathBuf| {
            let parent = path.parent()?.canonicalize().ok()?;
            Some(joined(parent.as_os_str().as_bytes(), path.file_name()?.as_bytes()))
        };
        OwnPaths(paths.iter().filter_map(real).collect())
    }

    /// Returns whether a directory is one of these paths or below one.
    pub(crate) fn contains_dir(&self, path: &[u8]) -> bool {
        self.0.iter().any(|own| is_at_or_below(own, path))
    }

    /// Returns the names of own files in a directory.
    pub(crate) fn names_in(&self, dir: &[u8]) -> Vec<Vec<u8>> {
        let name = |own: &Vec<u8>| {
            let own = Path::new(OsStr::from_bytes(own));
            let parent = own.parent()?.as_os_str().as_bytes();
            (parent == dir).then(|| own.file_name().map(|name| name.as_bytes().to_vec()))?
        };
        self.0.iter().filter_map(name).collect()
    }
}
