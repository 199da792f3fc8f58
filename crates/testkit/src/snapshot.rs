//! The complete state of a tree, to compare with its state later.
//!
//! A [`Snapshot`] is for testing programs that change files. It shows which entries are missing,
//! which are new, and which names lead to a different file than before. It contains the root under
//! the empty path, and every entry below it. It does not follow links and opens only regular files
//! and directories, so it never waits for a FIFO. It preserves access times where permitted
//! (`O_NOATIME` requires the owner or root). Paths may have any length. The tree must not change
//! while the snapshot is taken. If the tree changes meanwhile, the test is wrong and panics.

mod compare;
mod read;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use crate::groups::shown;
use crate::path_bytes::PathBytes;

pub use compare::Compare;

/// Maximum number of differences that a failure lists.
const DIFFERENCES_SHOWN: usize = 40;

/// The size in bytes and the SHA-256 of a regular file.
pub type ContentKey = (u64, [u8; 32]);

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link with its target.
    Symlink(Vec<u8>),
    /// A FIFO.
    Fifo,
    /// A unix socket.
    Socket,
    /// A character device, by its major and minor number.
    CharDevice(u32, u32),
    /// A block device, by its major and minor number.
    BlockDevice(u32, u32),
}

/// One entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The kind of the entry.
    pub kind: Kind,
    /// The permission bits, including set-id and sticky bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The size in bytes. It is meaningless for a directory and not compared there.
    pub size_bytes: u64,
    /// The modification time in nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Names and values of all extended attributes, including access control lists. An unreadable
    /// value is `None`.
    pub xattrs: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// SHA-256 of the content; regular files only.
    pub sha256: Option<[u8; 32]>,
    /// The reason why the content, or the directory, could not be read.
    pub unread: Option<String>,
    /// The smallest path of the same inode in the snapshot. It can be the path of this entry.
    pub same_as: Vec<u8>,
    /// The link count, which includes names outside of the tree. It is not compared.
    pub links: u64,
}

/// The state of a tree at one point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The entries, keyed by path relative to the root. The path of the root is empty.
    pub entries: BTreeMap<Vec<u8>, Entry>,
}

impl Snapshot {
    /// Takes a snapshot of the directory `root`, which may be reached through links.
    ///
    /// # Panics
    ///
    /// Panics if `root` is not a directory, if the tree changes meanwhile, or if something fails.
    /// Missing permissions do not cause a panic and are recorded in [`Entry::unread`].
    #[track_caller]
    pub fn of(root: impl AsRef<Path>) -> Self {
        Self::except(root, |_| false)
    }

    /// Takes a snapshot without entries whose names begin with one of `prefixes`, and without
    /// everything below them.
    ///
    /// # Panics
    ///
    /// Same as [`of`](Self::of).
    #[track_caller]
    pub fn without_names<P: PathBytes>(root: impl AsRef<Path>, prefixes: &[P]) -> Self {
        Self::except(root, |path| {
            let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
            prefixes.iter().any(|prefix| name.starts_with(prefix.path_bytes()))
        })
    }

    /// Takes a snapshot without entries whose paths `leave_out` selects, and without everything
    /// below them.
    ///
    /// # Panics
    ///
    /// Same as [`of`](Self::of).
    #[track_caller]
    pub fn except(root: impl AsRef<Path>, leave_out: impl Fn(&[u8]) -> bool) -> Self {
        let root = root.as_ref();
        match read::read(root, &leave_out) {
            Ok(entries) => Self { entries },
            Err(e) => panic!("no snapshot of {}: {e}", root.display()),
        }
    }

    /// Returns the entry at `path`.
    pub fn get(&self, path: impl PathBytes) -> Option<&Entry> {
        self.entries.get(path.path_bytes())
    }

    /// Returns the distinct contents of all regular files.
    ///
    /// # Panics
    ///
    /// Panics if the content of a file, or a directory, could not be read.
    #[track_caller]
    pub fn contents(&self) -> BTreeSet<ContentKey> {
        let key = |(path, entry): (&Vec<u8>, &Entry)| {
            if let Some(reason) = &entry.unread {
                panic!("cannot determine the contents: {}: {reason}", shown(path));
            }
            entry.sha256.map(|digest| (entry.size_bytes, digest))
        };
        self.entries.iter().filter_map(key).collect()
    }

    /// Returns the paths of the regular files with this content.
    fn paths_of(&self, content: ContentKey) -> Vec<&[u8]> {
        let is_it = |e: &Entry| e.sha256.is_some_and(|digest| (e.size_bytes, digest) == content);
        let paths = self.entries.iter().filter(|(_, entry)| is_it(entry));
        paths.map(|(path, _)| path.as_slice()).collect()
    }

    /// Returns a group of paths for each inode with more than one name.
    pub fn link_groups(&self) -> crate::Groups {
        let mut groups: BTreeMap<&[u8], BTreeSet<Vec<u8>>> = BTreeMap::new();
        for (path, entry) in &self.entries {
            groups.entry(&entry.same_as).or_default().insert(path.clone());
        }
        groups.into_values().filter(|group| group.len() > 1).collect()
    }

    /// Compares the selected properties of this tree and `after`, and returns the differences, one
    /// per line, sorted by path. The result is empty if there are no differences.
    pub fn diff(&self, after: &Self, what: Compare) -> Vec<String> {
        compare::diff(self, after, what)
    }
}

/// Asserts that a tree is unchanged in the compared properties.
///
/// # Panics
///
/// Panics with a list of the differences if it changed.
#[track_caller]
pub fn assert_same(before: &Snapshot, after: &Snapshot, what: Compare) {
    let differences = before.diff(after, what);
    if differences.is_empty() {
        return;
    }
    let total = differences.len();
    let mut text = format!("the tree is not what it was, by {what:?}: {total} differences\n");
    for difference in differences.iter().take(DIFFERENCES_SHOWN) {
        let _ = writeln!(text, "  {difference}");
    }
    if total > DIFFERENCES_SHOWN {
        let _ = writeln!(text, "  and {} more", total - DIFFERENCES_SHOWN);
    }
    panic!("{text}");
}

/// Asserts that all content of `before` is still in one of the trees of `after`.
///
/// # Panics
///
/// Panics if some content is lost, and lists its former paths.
#[track_caller]
pub fn assert_contents_kept(before: &Snapshot, after: &[&Snapshot]) {
    let kept: BTreeSet<ContentKey> = after.iter().flat_map(|tree| tree.contents()).collect();
    let contents = before.contents();
    let lost: Vec<_> = contents.difference(&kept).collect();
    if lost.is_empty() {
        return;
    }
    let mut text = format!("{} of {} contents are lost\n", lost.len(), contents.len());
    for content in lost.iter().take(DIFFERENCES_SHOWN) {
        let paths: Vec<_> = before.paths_of(**content).into_iter().take(4).map(shown).collect();
        let _ = writeln!(text, "  {} bytes that were in {}", content.0, paths.join(", "));
    }
    panic!("{text}");
}
