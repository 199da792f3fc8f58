//! The state of a tree, read with plain recursion, and the comparison of two states with an answer.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use watch::{Changes, Entries};

/// The metadata of an entry, as `lstat` returns it. Times and link counts of directories change with their
/// entries and do not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Device number and inode number.
    key: (u64, u64),
    kind: &'static str,
    size: u64,
    /// The number of links. A change in the same clock tick as the creation does not change `ctime`.
    links: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

impl Entry {
    fn of(path: &Path) -> Option<Entry> {
        let found = fs::symlink_metadata(path).ok()?;
        let kind = found.file_type();
        let kind = match () {
            () if kind.is_dir() => "directory",
            () if kind.is_file() => "file",
            () if kind.is_symlink() => "link",
            () if kind.is_fifo() => "fifo",
            () => "other",
        };
        let (size, links, mtime, ctime) = match kind {
            "directory" => (0, 0, (0, 0), (0, 0)),
            _ => (
                found.len(),
                found.nlink(),
                (found.mtime(), found.mtime_nsec()),
                (found.ctime(), found.ctime_nsec()),
            ),
        };
        Some(Entry { key: (found.dev(), found.ino()), kind, size, links, mtime, ctime })
    }
}

/// All entries below some directories.
#[derive(Debug, Default)]
pub(crate) struct State(BTreeMap<PathBuf, Entry>);

impl State {
    pub(crate) fn of(roots: &[PathBuf]) -> State {
        let mut state = State::default();
        for root in roots {
            state.add_below(root);
        }
        state
    }

    fn add_below(&mut self, dir: &Path) {
        let Ok(list) = fs::read_dir(dir) else { return };
        for path in list.filter_map(|entry| Some(entry.ok()?.path())) {
            let Some(entry) = Entry::of(&path) else { continue };
            let is_dir = entry.kind == "directory";
            self.0.insert(path.clone(), entry);
            if is_dir {
                self.add_below(&path);
            }
        }
    }

    /// Returns the paths whose entries differ.
    pub(crate) fn changed<'a>(&'a self, after: &'a State) -> Vec<&'a Path> {
        let all: HashSet<&PathBuf> = self.0.keys().chain(after.0.keys()).collect();
        let differs = |path: &&&PathBuf| self.0.get(**path) != after.0.get(**path);
        let mut changed: Vec<&Path> =
            all.iter().filter(differs).map(|path| path.as_path()).collect();
        changed.sort();
        changed
    }
}

/// Fails unless a scan that checks only what an answer names finds every entry that has changed.
pub(crate) fn assert_covered(before: &State, after: &State, changes: &Changes, what: &str) {
    let keys = |path: &Path| -> Vec<(u64, u64)> {
        [before, after].iter().filter_map(|state| Some(state.0.get(path)?.key)).collect()
    };
    let all: HashSet<&PathBuf> = before.0.keys().chain(after.0.keys()).collect();
    // A scan also checks the other names of files that are named.
    let named = all.iter().filter(|path| is_named(changes, path));
    let mut files: HashSet<(u64, u64)> = named.flat_map(|path| keys(path)).collect();
    files.extend(changes.inodes.iter().map(|&(device, inode)| (as_stat(device), inode)));
    for path in before.changed(after) {
        let is_covered =
            is_named(changes, path) || keys(path).iter().any(|key| files.contains(key));
        assert!(is_covered, "{what}: {} is not named: {changes:#?}", path.display());
    }
}

/// Returns whether changes name an entry.
pub(crate) fn is_named(changes: &Changes, path: &Path) -> bool {
    changes.dirs.iter().any(|dir| {
        let Ok(rest) = path.strip_prefix(dir.path()) else { return false };
        let mut parts = rest.components().map(std::path::Component::as_os_str);
        match (&dir.entries, parts.next()) {
            (Entries::Tree, _) => true,
            (_, None) => false,
            (entries, Some(first)) => {
                let is_deeper = parts.next().is_some();
                let is_dir_now = dir.path().join(first).is_dir();
                let (is_listed, is_other_dir) = match entries {
                    Entries::Names(names) => {
                        let name = |(name, _): &&(Vec<u8>, bool)| name == first.as_encoded_bytes();
                        let found = names.iter().find(name);
                        (found.is_some(), found.is_some_and(|(_, is_dir)| *is_dir))
                    }
                    _ => (true, false),
                };
                // If a directory is gone, so is everything in it.
                is_listed && (!is_deeper || is_other_dir || !is_dir_now)
            }
        }
    })
}

/// Converts a device number of lop to one of `stat` (`gnu_dev_makedev` in sys/sysmacros.h).
fn as_stat(device: u64) -> u64 {
    let (major, minor) = (device >> 32, device & 0xFFFF_FFFF);
    (major & 0xFFF) << 8 | (major & !0xFFF) << 32 | minor & 0xFF | (minor & !0xFF) << 12
}
