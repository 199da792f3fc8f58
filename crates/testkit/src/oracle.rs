//! The naive oracle. It reads every file completely and treats files of equal size and SHA-256 as
//! duplicates.
//!
//! It walks with `std` alone and shares no code with the program. It considers only regular files
//! and does not follow symbolic links, except that a root may be one. Hidden files are included.
//! Empty files are included only on request. Hard links count as one file under its smallest path,
//! unless requested otherwise. There are no stages or shortcuts: even a large sparse file is read
//! from end to end. Paths beyond `PATH_MAX` cannot be reached with `std` and are reported as
//! unread.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::groups::Groups;

/// The definition of a duplicate. The default rules match those of `lop scan` without options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rules {
    /// True if empty files are duplicates of each other.
    pub empty: bool,
    /// True if every name of an inode counts, so that two names of one file are a group.
    pub every_link: bool,
}

/// The answer of the oracle.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Truth {
    /// Groups of two or more identical files.
    pub groups: Groups,
    /// Paths that could not be examined: directories that were not listed and files that were not
    /// read.
    pub unread: BTreeSet<Vec<u8>>,
}

/// Device and inode number of a file.
pub(crate) type Identity = (u64, u64);

/// A name of a regular file.
pub(crate) struct Name {
    pub(crate) path: PathBuf,
    pub(crate) identity: Identity,
    size_bytes: u64,
}

/// Returns the duplicates below one directory by the default [`Rules`].
///
/// Paths are `root` joined with the relative path, so they are absolute if `root` is.
///
/// # Panics
///
/// Panics if anything cannot be read. Use [`naive_truth`] if that is expected.
pub fn naive_groups(root: impl AsRef<Path>) -> Groups {
    let truth = naive_truth(&[root], Rules::default());
    let unread: Vec<_> = truth.unread.iter().map(|path| String::from_utf8_lossy(path)).collect();
    assert!(unread.is_empty(), "the oracle could not read {unread:?}");
    truth.groups
}

/// Returns the duplicates among everything below `roots`, and the paths that could not be read.
///
/// A file that can be reached by several paths (overlapping roots, bind mounts) is one file, unless
/// [`Rules::every_link`] counts each path as a name.
pub fn naive_truth(roots: &[impl AsRef<Path>], rules: Rules) -> Truth {
    let mut truth = Truth::default();
    let mut classes: BTreeMap<(u64, [u8; 32]), BTreeSet<Vec<u8>>> = BTreeMap::new();
    for name in chosen(regular_files(roots, &mut truth.unread), rules) {
        let path = name.path.as_os_str().as_bytes().to_vec();
        if let Ok(digest) = sha256(&name.path) {
            classes.entry((name.size_bytes, digest)).or_default().insert(path);
        } else {
            truth.unread.insert(path);
        }
    }
    truth.groups = classes.into_values().filter(|class| class.len() > 1).collect();
    truth
}

/// Maps every path to the smallest path of its inode below `root`, and drops groups of one.
///
/// This makes answers comparable that list different names of the same file. Relative paths are
/// interpreted, and returned, relative to `root`. A path that does not lead to a regular file below
/// `root` is unchanged.
pub fn collapse_links(root: impl AsRef<Path>, groups: &Groups) -> Groups {
    let root = root.as_ref();
    let smallest = smallest_paths(&regular_files(&[root], &mut BTreeSet::new()));
    let collapse = |path: &Vec<u8>| {
        let given = Path::new(OsStr::from_bytes(path));
        let identity = fs::symlink_metadata(root.join(given)).map(|m| (m.dev(), m.ino()));
        let Some(found) = identity.ok().and_then(|id| smallest.get(&id)) else {
            return path.clone();
        };
        let relative = found.strip_prefix(root).unwrap_or(found);
        let kept = if given.is_absolute() { found } else { relative };
        kept.as_os_str().as_bytes().to_vec()
    };
    let collapsed = groups.iter().map(|group| group.iter().map(collapse).collect());
    collapsed.filter(|group: &BTreeSet<_>| group.len() > 1).collect()
}

/// Drops the names that the rules exclude.
fn chosen(names: Vec<Name>, rules: Rules) -> Vec<Name> {
    let smallest = smallest_paths(&names);
    let counts = |name: &Name| {
        (rules.empty || name.size_bytes > 0)
            && (rules.every_link || smallest[&name.identity] == name.path)
    };
    names.into_iter().filter(counts).collect()
}

/// Returns the bytewise smallest path of each inode.
pub(crate) fn smallest_paths(names: &[Name]) -> BTreeMap<Identity, PathBuf> {
    let mut smallest: BTreeMap<Identity, PathBuf> = BTreeMap::new();
    for name in names {
        let path = smallest.entry(name.identity).or_insert_with(|| name.path.clone());
        if name.path.as_os_str().as_bytes() < path.as_os_str().as_bytes() {
            path.clone_from(&name.path);
        }
    }
    smallest
}

/// Returns every name of a regular file below `roots`, once per path, in arbitrary order.
pub(crate) fn regular_files(
    roots: &[impl AsRef<Path>],
    unread: &mut BTreeSet<Vec<u8>>,
) -> Vec<Name> {
    let mut names = BTreeMap::new();
    let mut unlisted: Vec<PathBuf> = Vec::new();
    for root in roots.iter().map(AsRef::as_ref) {
        match fs::metadata(root) {
            Ok(metadata) => sort_in(root.to_path_buf(), &metadata, &mut names, &mut unlisted),
            Err(_) => drop(unread.insert(root.as_os_str().as_bytes().to_vec())),
        }
    }
    while let Some(dir) = unlisted.pop() {
        if list(&dir, &mut names, &mut unlisted).is_err() {
            unread.insert(dir.as_os_str().as_bytes().to_vec());
        }
    }
    names.into_values().collect()
}

fn list(
    dir: &Path,
    names: &mut BTreeMap<PathBuf, Name>,
    unlisted: &mut Vec<PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        sort_in(path.clone(), &fs::symlink_metadata(&path)?, names, unlisted);
    }
    Ok(())
}

fn sort_in(
    path: PathBuf,
    metadata: &Metadata,
    names: &mut BTreeMap<PathBuf, Name>,
    unlisted: &mut Vec<PathBuf>,
) {
    if metadata.is_dir() {
        unlisted.push(path);
    } else if metadata.is_file() {
        let identity = (metadata.dev(), metadata.ino());
        names.insert(path.clone(), Name { path, identity, size_bytes: metadata.len() });
    }
}

fn sha256(path: &Path) -> io::Result<[u8; 32]> {
    sha256_of(File::open(path)?)
}

/// Returns the SHA-256 of everything that the reader yields.
pub(crate) fn sha256_of(mut reader: impl Read) -> io::Result<[u8; 32]> {
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let n = reader.read(&mut buffer)?;
        if n == 0 {
            return Ok(digest.finalize().into());
        }
        digest.update(&buffer[..n]);
    }
}
