//! The parts of the roots with one means of watching each: a root, and each mount below it.
//!
//! Mounts come and go. [`Plan::make`] reads the mount table, and the watcher compares the plan with
//! the areas that it watches. Neither touches a file system that may not respond.

mod plan;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fsops::{Dir, FileKey};

use crate::answer::Unknown;
use crate::notes::Notes;
use crate::paths::{as_path, is_at_or_below, joined};

pub(crate) use plan::{Plan, Planned};

/// The means by which an area is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// The whole file system is watched with fanotify.
    Fanotify,
    /// This many directories are watched with inotify. Contains the reason why not with fanotify.
    Inotify(usize, String),
    /// Changes cannot be noticed, for the given reason.
    Unwatched(String),
}

/// A part of a root.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    pub(crate) planned: Planned,
    pub(crate) means: Means,
    /// The identity of its file system in events of fanotify.
    pub(crate) fsid: u64,
}

/// All areas, and the paths to recognize.
#[derive(Debug)]
pub(crate) struct Areas {
    pub(crate) roots: Vec<Vec<u8>>,
    pub(crate) list: Vec<Area>,
    pub(crate) own: OwnPaths,
    /// Roots whose changes before a number are unknown, because they were replaced.
    replaced: HashMap<Vec<u8>, u64>,
}

impl Areas {
    /// Returns no areas yet for the given roots.
    pub(crate) fn new(roots: Vec<Vec<u8>>, own: OwnPaths) -> Areas {
        Areas { roots, list: Vec::new(), own, replaced: HashMap::new() }
    }

    /// Returns the numbers of the areas on a file system that is watched as a whole.
    pub(crate) fn of_file_system(&self, fsid: u64) -> impl Iterator<Item = usize> {
        let all = self.list.iter().enumerate();
        all.filter(move |(_, area)| area.means == Means::Fanotify && area.fsid == fsid)
            .map(|(at, _)| at)
    }

    /// Opens the top directory of an area, or returns `None` if it is not there.
    pub(crate) fn open(&self, at: usize) -> Option<Dir> {
        let planned = &self.list.get(at)?.planned;
        let dir = Dir::open(as_path(&planned.path)).ok()?;
        let key: FileKey = dir.stat().ok()?.key();
        (Some(key) == planned.key).then_some(dir)
    }

    /// Returns whether a path is a root or below one.
    pub(crate) fn is_inside(&self, path: &[u8]) -> bool {
        self.roots.iter().any(|root| is_at_or_below(root, path))
    }

    /// Makes older positions of a root unknown.
    pub(crate) fn replace(&mut self, root: &[u8], notes: &mut Notes) {
        self.replaced.insert(root.to_vec(), notes.advance());
    }

    /// Handles a new name of a directory that is not known to be below a root. It may be a root, or
    /// above one. Only its name is compared, which is enough for a rare event.
    pub(crate) fn renamed(&mut self, name: &[u8], notes: &mut Notes) {
        let is_in = |root: &Vec<u8>| root.split(|&byte| byte == b'/').any(|part| part == name);
        let roots: Vec<_> = self.roots.iter().filter(|root| is_in(root)).cloned().collect();
        for root in roots {
            self.replace(&root, notes);
        }
    }

    /// Fails if a directory is not watched, or not since the given number.
    pub(crate) fn check(&self, path: &[u8], since: u64) -> Result<(), Unknown> {
        let not_watched = || Unknown::NotWatched(path.to_vec());
        let area = self.list.iter().filter(|area| is_at_or_below(&area.planned.path, path));
        let area = area.max_by_key(|area| area.planned.path.len()).ok_or_else(not_watched)?;
        if matches!(area.means, Means::Unwatched(_)) {
            return Err(not_watched());
        }
        let roots = self.replaced.iter().filter(|(root, _)| is_at_or_below(root, path));
        match roots.max_by_key(|(_, number)| **number) {
            Some((root, number)) if since < *number => Err(Unknown::Replaced(root.clone())),
            _ => Ok(()),
        }
    }

    /// Returns the mounts below the roots that cannot be watched.
    pub(crate) fn unwatched(&self) -> impl Iterator<Item = &[u8]> {
        let unwatched = |area: &&Area| matches!(area.means, Means::Unwatched(_));
        self.list.iter().filter(unwatched).map(|area| &area.planned.path[..])
    }
}

/// Files that lop itself changes, such as the catalog. Changes of them are not noted, because a scan
/// would otherwise lead to the next one.
#[derive(Debug, Default)]
pub(crate) struct OwnPaths(Vec<Vec<u8>>);

impl OwnPaths {
    /// Returns the set of some paths, whose parents may contain links.
    pub(crate) fn new(paths: &[PathBuf]) -> OwnPaths {
        let real = |path: &PathBuf| {
            let parent = path.parent()?.canonicalize().ok()?;
            Some(joined(parent.as_os_str().as_bytes(), path.file_name()?.as_bytes()))
        };
        OwnPaths(paths.iter().filter_map(real).collect())
    }

    /// Returns whether a directory belongs to lop.
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
