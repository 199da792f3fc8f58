//! Everything that can be told of a tree, to be compared with the same tree later.
//!
//! A [`Snapshot`] is the judge of programs that change files: what is there no more, what is there
//! now, what is another file than before. It holds the root itself under the empty path and every
//! entry below it. It follows no link, opens nothing but regular files and directories (so it never
//! waits for a FIFO), and leaves access times alone where it may (`O_NOATIME` needs the owner or
//! root). Paths may be of any length. The tree must be at rest: one that changes meanwhile is the
//! test's fault and a panic.

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

/// How many differences a failure lists.
const DIFFERENCES_SHOWN: usize = 40;

/// The size in bytes and the SHA-256 of a regular file.
pub type ContentKey = (u64, [u8; 32]);

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link, and what it holds.
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
    /// What it is.
    pub kind: Kind,
    /// The permission bits, set-id and sticky bits included.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The size in bytes; of no meaning for a directory, and not compared there.
    pub size_bytes: u64,
    /// The modification time in nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Names and values of all extended attributes, access control lists among them; no value where
    /// it may not be read.
    pub xattrs: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// SHA-256 of the content; regular files only.
    pub sha256: Option<[u8; 32]>,
    /// Why the content, or the directory's entries, could not be read.
    pub unread: Option<String>,
    /// The smallest path in the snapshot of the same inode; its own for one with no other name.
    pub same_as: Vec<u8>,
    /// How many names it has in all, those outside the tree included; not compared.
    pub links: u64,
}

/// A tree as it was at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The entries by their path relative to the root; the root's own is empty.
    pub entries: BTreeMap<Vec<u8>, Entry>,
}

impl Snapshot {
    /// Takes the snapshot of the directory `root`, which may be reached through links.
    ///
    /// # Panics
    ///
    /// When `root` is no directory, when the tree changes meanwhile, or when something fails other
    /// than for want of rights; see [`Entry::unread`] for that.
    #[track_caller]
    pub fn of(root: impl AsRef<Path>) -> Self {
        Self::except(root, |_| false)
    }

    /// Does so without entries whose name begins with one of `prefixes`, and all below them.
    ///
    /// # Panics
    ///
    /// As [`of`](Self::of).
    #[track_caller]
    pub fn without_names<P: PathBytes>(root: impl AsRef<Path>, prefixes: &[P]) -> Self {
        Self::except(root, |path| {
            let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
            prefixes.iter().any(|prefix| name.starts_with(prefix.path_bytes()))
        })
    }

    /// Does so without entries whose path `leave_out` picks, and all below them.
    ///
    /// # Panics
    ///
    /// As [`of`](Self::of).
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

    /// Returns the contents of all regular files, each once.
    ///
    /// # Panics
    ///
    /// When a file or directory could not be read: nobody can tell what is in it.
    #[track_caller]
    pub fn contents(&self) -> BTreeSet<ContentKey> {
        let key = |(path, entry): (&Vec<u8>, &Entry)| {
            if let Some(reason) = &entry.unread {
                panic!("the contents cannot be told: {}: {reason}", shown(path));
            }
            entry.sha256.map(|digest| (entry.size_bytes, digest))
        };
        self.entries.iter().filter_map(key).collect()
    }

    /// Returns the paths of the regular files of one content.
    fn paths_of(&self, content: ContentKey) -> Vec<&[u8]> {
        let is_it = |e: &Entry| e.sha256.is_some_and(|digest| (e.size_bytes, digest) == content);
        let paths = self.entries.iter().filter(|(_, entry)| is_it(entry));
        paths.map(|(path, _)| path.as_slice()).collect()
    }

    /// Returns the groups of paths that are names of one inode; those with no other are left out.
    pub fn link_groups(&self) -> crate::Groups {
        let mut groups: BTreeMap<&[u8], BTreeSet<Vec<u8>>> = BTreeMap::new();
        for (path, entry) in &self.entries {
            groups.entry(&entry.same_as).or_default().insert(path.clone());
        }
        groups.into_values().filter(|group| group.len() > 1).collect()
    }

    /// Returns how `after` differs in what counts, one difference per line in the order of paths;
    /// nothing when it does not.
    pub fn diff(&self, after: &Self, what: Compare) -> Vec<String> {
        compare::diff(self, after, what)
    }
}

/// Asserts that a tree is the same as before in what counts.
///
/// # Panics
///
/// When it is not, with what differs.
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

/// Asserts that every content of `before` is still in one of the trees of `after`.
///
/// # Panics
///
/// When one is lost, with the paths that it had.
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
