//! Decides whether a path may be removed at all, before anything is removed.
//!
//! The same directory can have many paths: `/`, `//`, a link to the root directory and a bind mount
//! of it are all the root directory. Protected directories are therefore identified by device and
//! inode. If a file system is mounted more than once, protected directories are also identified by
//! their location on it.

pub(crate) mod refusal;

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fsops::{Dir, DirLocation, FileKey, Kind, Mounts, Stat};
use walk::{QUARANTINE_PREFIX, split_path};

use crate::outcome::Reason;
use crate::quarantine::holds_store;
use refusal::{Refusal, Why};

/// A path that may be removed.
#[derive(Debug)]
pub struct Target {
    pub(crate) given: Vec<u8>,
    /// Absolute path. Symbolic links are resolved in every component except the last.
    pub(crate) path: Vec<u8>,
    pub(crate) parent: Arc<Dir>,
    pub(crate) name: CString,
    pub(crate) stat: Stat,
    /// True if a file system is mounted below the target.
    pub(crate) mounts_below: bool,
}

impl Target {
    /// Returns whether the target is a directory.
    pub fn is_dir(&self) -> bool {
        self.stat.kind == Kind::Dir
    }

    /// Returns the path as given.
    pub fn given(&self) -> &[u8] {
        &self.given
    }

    /// Returns the absolute path. Symbolic links are resolved in every component except the last.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// Returns the metadata at the time of the check.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Returns the reason why the target cannot be renamed away and must be emptied in place, if
    /// any.
    pub fn pinned(&self) -> Option<Reason> {
        if self.mounts_below {
            return Some(Reason::MountBelow);
        }
        let dir = self.is_dir().then(|| self.parent.open_child_same_mount(&self.name));
        dir.and_then(Result::ok).filter(holds_store).map(|_| Reason::Store)
    }
}

/// Set of protected directories.
#[derive(Debug)]
pub struct Guard {
    keys: HashMap<FileKey, Why>,
    places: Vec<(DirLocation, Why)>,
    mounts: Mounts,
    /// Parent directories of checked paths. The key is the path as given.
    holders: HashMap<PathBuf, Holder>,
    /// Maximum number of parent directories to keep open.
    room: usize,
}

/// The parent directory of a checked path.
#[derive(Clone, Debug)]
struct Holder {
    dir: Arc<Dir>,
    absolute: PathBuf,
}

impl Guard {
    /// Returns a guard that protects the root directory, the working directory, the directories of
    /// `catalogs` (even if they do not exist yet), and all of their ancestors.
    pub fn new(working_directory: Option<&Path>, catalogs: &[PathBuf]) -> Guard {
        let mut guard = Guard {
            keys: HashMap::new(),
            places: Vec::new(),
            mounts: Mounts::read(),
            holders: HashMap::new(),
            // The removal needs the other half of the descriptors.
            room: runtime::raise_descriptor_limit() / 2,
        };
        for catalog in catalogs {
            // The catalog may be a link, or may not exist yet.
            for path in [Some(catalog.as_path()), catalog.parent()].into_iter().flatten() {
                if let Some(there) = path.ancestors().find_map(|dir| dir.canonicalize().ok()) {
                    guard.keep(&there, Why::Catalog);
                }
            }
        }
        if let Some(path) = working_directory {
            guard.keep(path, Why::WorkingDirectory);
        }
        guard.climb();
        if let Ok(stat) = Stat::of_path(Path::new("/")) {
            guard.keys.insert(stat.key(), Why::Root);
        }
        guard
    }

    /// Protects a directory and its ancestors. `path` must be absolute and contain no links.
    pub fn keep(&mut self, path: &Path, why: Why) {
        for dir in path.ancestors() {
            if let Ok(stat) = Stat::of_path(dir) {
                self.keys.insert(stat.key(), why);
            }
        }
        self.keep_place(path.as_os_str().as_bytes(), why);
    }

    /// Protects the directories mounted below `path`, except those below `left_out`. `path` must be
    /// absolute and contain no links. The mount points are not accessed, because a network file
    /// system may not respond.
    pub fn keep_mounted(&mut self, path: &Path, left_out: Option<&Path>, why: Why) {
        let points = self.mounts.points_below(path.as_os_str().as_bytes());
        let points = points.map(|point| PathBuf::from(OsStr::from_bytes(point)));
        let is_kept = |point: &PathBuf| left_out.is_none_or(|path| !point.starts_with(path));
        for point in points.filter(is_kept).collect::<Vec<_>>() {
            self.keep_place(point.as_os_str().as_bytes(), why);
        }
    }

    /// Protects the location of a path. If a FUSE file system shows another directory at this path,
    /// also protects the location of that directory.
    fn keep_place(&mut self, path: &[u8], why: Why) {
        let places = [self.mounts.location(path), self.mounts.location_shown(path)];
        self.places.extend(places.into_iter().flatten().map(|place| (place, why)));
    }

    /// Protects the working directory and its ancestors. Climbs through `..`, so the path of the
    /// working directory may have any length.
    fn climb(&mut self) {
        let mut here = Dir::open(Path::new("."));
        let mut below = None;
        while let Ok(dir) = here {
            let Ok(stat) = dir.stat() else { return };
            // The root directory is its own parent.
            if below.replace(stat.key()) == Some(stat.key()) {
                return;
            }
            self.keys.insert(stat.key(), Why::WorkingDirectory);
            here = dir.open_parent();
        }
    }

    /// Returns the device and inode numbers of the protected directories.
    pub fn keys(&self) -> HashSet<FileKey> {
        self.keys.keys().copied().collect()
    }

    /// Checks whether `path` may be removed. Opens its parent directory.
    ///
    /// # Errors
    ///
    /// Returns the reason for the refusal. It is [`Refusal::TooMany`] if the open parent
    /// directories would take descriptors that the removal needs.
    pub fn check(&mut self, path: &Path) -> Result<Target, Refusal> {
        let given = path.as_os_str().as_bytes();
        if given.is_empty() {
            return Err(Refusal::Empty);
        }
        let end = given.iter().rposition(|&b| b != b'/').ok_or(Refusal::Protected(Why::Root))?;
        let (bare, slash) = (&given[..=end], end + 1 < given.len());
        let cut = bare.iter().rposition(|&b| b == b'/').map_or(0, |at| at + 1);
        let (above, name) = bare.split_at(cut);
        if matches!(name, b"." | b"..") {
            return Err(Refusal::Dots);
        }
        let above = if above.is_empty() { b".".as_slice() } else { above };
        let above = PathBuf::from(OsStr::from_bytes(above));
        let holder = self.holder(above)?;
        let absolute = holder.absolute.join(OsStr::from_bytes(name));
        let is_store = |name: &OsStr| name.as_bytes().starts_with(QUARANTINE_PREFIX.as_bytes());
        if absolute.iter().any(is_store) {
            return Err(Refusal::Store);
        }
        let target = self.check_in(holder.dir, absolute.as_os_str().as_bytes(), given)?;
        if target.stat.kind == Kind::Symlink {
            if slash {
                return Err(Refusal::Link);
            }
            self.follow(Path::new(OsStr::from_bytes(bare)))?;
        }
        Ok(target)
    }

    /// Returns the directory at a path, opening it if necessary.
    fn holder(&mut self, path: PathBuf) -> Result<Holder, Refusal> {
        if let Some(holder) = self.holders.get(&path) {
            return Ok(holder.clone());
        }
        if self.holders.len() >= self.room {
            return Err(Refusal::TooMany);
        }
        let dir = Arc::new(Dir::open_for_search(&path).map_err(Refusal::Failed)?);
        let absolute = path.canonicalize().map_err(Refusal::Failed)?;
        let holder = Holder { dir, absolute };
        self.holders.insert(path, holder.clone());
        Ok(holder)
    }

    /// Checks whether an entry of `parent` may be removed. The name of the entry is the last
    /// component of the absolute path `path`. Links are not followed.
    ///
    /// # Errors
    ///
    /// Returns the reason for the refusal.
    pub fn check_in(&self, parent: Arc<Dir>, path: &[u8], given: &[u8]) -> Result<Target, Refusal> {
        let name = CString::new(split_path(path).1).map_err(|e| Refusal::Failed(e.into()))?;
        let stat = parent.stat_child(&name).map_err(Refusal::Failed)?;
        if let Some(&why) = self.keys.get(&stat.key()) {
            return Err(Refusal::Protected(why));
        }
        if is_mount(&stat, &parent.stat().map_err(Refusal::Failed)?) {
            return Err(Refusal::Mount);
        }
        if stat.kind == Kind::Dir {
            self.look_at_place(path)?;
        }
        let mounts_below = self.mounts.any_below(path);
        Ok(Target { given: given.to_vec(), path: path.to_vec(), parent, name, stat, mounts_below })
    }

    /// Checks that the target of a link is not protected.
    fn follow(&self, path: &Path) -> Result<(), Refusal> {
        // A dangling link may be removed.
        let Ok(target) = path.canonicalize() else { return Ok(()) };
        let Ok(stat) = Stat::of_path(&target) else { return Ok(()) };
        if let Some(&why) = self.keys.get(&stat.key()) {
            return Err(Refusal::LinkToProtected(why));
        }
        let around = target.parent().and_then(|above| Stat::of_path(above).ok());
        match around {
            Some(around) if is_mount(&stat, &around) => Err(Refusal::LinkToMount),
            _ => Ok(()),
        }
    }

    fn look_at_place(&self, absolute: &[u8]) -> Result<(), Refusal> {
        let Some(place) = self.mounts.location(absolute) else { return Ok(()) };
        match self.places.iter().find(|(kept, _)| kept.is_below(&place)) {
            Some(&(_, why)) => Err(Refusal::Protected(why)),
            None => Ok(()),
        }
    }
}

/// Returns whether an entry is a mount point. `holder` is the metadata of the parent directory.
fn is_mount(stat: &Stat, holder: &Stat) -> bool {
    // Before Linux 5.8, mounts can be told apart only by their device numbers.
    let unknown = stat.mount == 0 || holder.mount == 0;
    if unknown { stat.device != holder.device } else { stat.mount != holder.mount }
}
