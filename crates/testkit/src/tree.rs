//! A tree that is described as data and created below a directory.
//!
//! [`TreeBuilder::make`] creates the nodes in the order of the description, missing parents first. Describing a name
//! twice is an error. Owners, extended attributes, times and modes are set last, deepest path first. Creating a child
//! therefore does not change the time of its parent, and a directory without permissions can still be filled.

mod make;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::content::Content;
use crate::path_bytes::PathBytes;
use crate::temp::TempTree;

/// A tree as data. Every method adds a node or property and returns the builder.
///
/// Paths are bytes relative to the directory given to [`make`](Self::make).
#[derive(Debug, Clone, Default)]
#[must_use = "a description makes nothing until `make` is called"]
pub struct TreeBuilder {
    nodes: Vec<(PathBuf, Node)>,
    attributes: BTreeMap<PathBuf, Attributes>,
}

/// A node to create.
#[derive(Debug, Clone)]
enum Node {
    Dir,
    File(Content),
    HardLink { original: PathBuf },
    Symlink { target: PathBuf },
    Special(FileType),
    Device { kind: FileType, major: u32, minor: u32 },
    DeepChain { levels: usize, name: Vec<u8>, content: Content },
}

/// Metadata to set once all nodes exist.
#[derive(Debug, Clone, Default)]
struct Attributes {
    owner: Option<(u32, u32)>,
    mode: Option<u32>,
    mtime: Option<(i64, u32)>,
    xattrs: Vec<(String, Vec<u8>)>,
}

/// A created tree.
#[derive(Debug, Clone)]
pub struct Made {
    /// The directory that contains the tree.
    pub root: PathBuf,
    /// Described paths of device nodes that were skipped for lack of permission.
    pub skipped: Vec<PathBuf>,
}

impl Made {
    /// Returns the full path of `relative`.
    pub fn path(&self, relative: impl PathBytes) -> PathBuf {
        self.root.join(relative.to_path())
    }

    /// Returns whether `relative` was created. False only for a device node that may not be
    /// created.
    pub fn was_made(&self, relative: impl PathBytes) -> bool {
        !self.skipped.contains(&relative.to_path())
    }
}

impl TreeBuilder {
    /// Returns the empty tree.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a directory.
    pub fn dir(self, path: impl PathBytes) -> Self {
        self.node(path, Node::Dir)
    }

    /// Adds a regular file with the given content.
    pub fn file(self, path: impl PathBytes, content: impl Into<Content>) -> Self {
        self.node(path, Node::File(content.into()))
    }

    /// Adds a file of `len` bytes of noise. See [`Content::Seeded`].
    pub fn seeded(self, path: impl PathBytes, seed: u64, len: u64) -> Self {
        self.file(path, Content::Seeded { seed, len })
    }

    /// Adds a file like [`seeded`](Self::seeded), except for the byte at offset `at`. See
    /// [`Content::Differing`].
    pub fn differing(
        self,
        path: impl PathBytes,
        seed: u64,
        len: u64,
        at: u64,
        variant: u8,
    ) -> Self {
        self.file(path, Content::Differing { seed, len, at, variant })
    }

    /// Adds a file that is a hole of `len` bytes with data at the given offsets.
    pub fn sparse(self, path: impl PathBytes, len: u64, islands: &[(u64, &[u8])]) -> Self {
        let islands = islands.iter().map(|(at, data)| (*at, data.to_vec())).collect();
        self.file(path, Content::Sparse { len, islands })
    }

    /// Adds another name for a file that was described earlier.
    pub fn hard_link(self, original: impl PathBytes, link: impl PathBytes) -> Self {
        self.node(link, Node::HardLink { original: original.to_path() })
    }

    /// Adds one file under all of `paths`.
    ///
    /// # Panics
    ///
    /// Panics if `paths` is empty.
    pub fn hard_links<P: PathBytes>(mut self, content: impl Into<Content>, paths: &[P]) -> Self {
        let (first, rest) = paths.split_first().expect("a hard-link group has at least one name");
        self = self.file(first, content);
        for link in rest {
            self = self.hard_link(first, link);
        }
        self
    }

    /// Adds a symbolic link with exactly this `target`, which need not exist.
    pub fn symlink(self, path: impl PathBytes, target: impl PathBytes) -> Self {
        self.node(path, Node::Symlink { target: target.to_path() })
    }

    /// Adds a symbolic link to a target that does not exist.
    pub fn dangling_symlink(self, path: impl PathBytes) -> Self {
        self.symlink(path, "there is no such file")
    }

    /// Adds two symbolic links in one directory that point at each other.
    pub fn symlink_loop(self, one: impl PathBytes, other: impl PathBytes) -> Self {
        let (to_one, to_other) = (last_name(&one.to_path()), last_name(&other.to_path()));
        self.symlink(&one, to_other).symlink(&other, to_one)
    }

    /// Adds a FIFO.
    pub fn fifo(self, path: impl PathBytes) -> Self {
        self.node(path, Node::Special(FileType::Fifo))
    }

    /// Adds a unix socket without a listening process.
    pub fn socket(self, path: impl PathBytes) -> Self {
        self.node(path, Node::Special(FileType::Socket))
    }

    /// Adds a character device. If creating it is not permitted, the node is left out and listed in
    /// [`Made::skipped`].
    pub fn char_device(self, path: impl PathBytes, major: u32, minor: u32) -> Self {
        self.node(path, Node::Device { kind: FileType::CharacterDevice, major, minor })
    }

    /// Adds a block device. If creating it is not permitted, the node is left out and listed in
    /// [`Made::skipped`].
    pub fn block_device(self, path: impl PathBytes, major: u32, minor: u32) -> Self {
        self.node(path, Node::Device { kind: FileType::BlockDevice, major, minor })
    }

    /// Adds `levels` nested directories called `name`, and a file [`BOTTOM`](crate::deep::BOTTOM)
    /// in the last one.
    ///
    /// The full path may be far longer than `PATH_MAX`. It is created relative to descriptors, and
    /// can be reached only that way (see [`open_beneath`](crate::deep::open_beneath)).
    pub fn deep_chain(
        self,
        levels: usize,
        name: impl PathBytes,
        content: impl Into<Content>,
    ) -> Self {
        let name = name.path_bytes().to_vec();
        self.node("", Node::DeepChain { levels, name, content: content.into() })
    }

    /// Sets the permission bits of a node, regardless of the umask. Not for symbolic links.
    pub fn mode(self, path: impl PathBytes, mode: u32) -> Self {
        self.attribute(path, |a| a.mode = Some(mode))
    }

    /// Sets the modification time, in seconds and nanoseconds since 1970. Links are not followed.
    pub fn mtime(self, path: impl PathBytes, seconds: i64, nanoseconds: u32) -> Self {
        self.attribute(path, |a| a.mtime = Some((seconds, nanoseconds)))
    }

    /// Sets the owner (needs root). Links are not followed.
    pub fn owner(self, path: impl PathBytes, uid: u32, gid: u32) -> Self {
        self.attribute(path, |a| a.owner = Some((uid, gid)))
    }

    /// Sets an extended attribute such as `user.note`. Links are not followed.
    pub fn xattr(self, path: impl PathBytes, name: &str, value: &[u8]) -> Self {
        self.attribute(path, |a| a.xattrs.push((name.to_owned(), value.to_vec())))
    }

    /// Creates the tree in `root`, which is also created if missing.
    ///
    /// # Panics
    ///
    /// Panics with the path and the reason if something other than a device node cannot be created.
    pub fn make(&self, root: impl AsRef<Path>) -> Made {
        make::make(self, root.as_ref())
    }

    /// Creates the tree in a new temporary directory. The directory is removed on drop, however
    /// deep the tree is.
    ///
    /// # Panics
    ///
    /// Same as [`make`](Self::make).
    pub fn make_temp(&self) -> TempTree {
        let temp = TempTree::new();
        self.make(temp.path());
        temp
    }

    /// Like [`make_temp`](Self::make_temp), but in memory if possible. See
    /// [`TempTree::in_memory`].
    ///
    /// # Panics
    ///
    /// Same as [`make`](Self::make).
    pub fn make_in_memory(&self) -> TempTree {
        let temp = TempTree::in_memory();
        self.make(temp.path());
        temp
    }

    fn node(mut self, path: impl PathBytes, node: Node) -> Self {
        self.nodes.push((path.to_path(), node));
        self
    }

    fn attribute(mut self, path: impl PathBytes, set: impl FnOnce(&mut Attributes)) -> Self {
        set(self.attributes.entry(path.to_path()).or_default());
        self
    }
}

/// Returns the last component of a described path.
fn last_name(path: &Path) -> PathBuf {
    PathBuf::from(path.file_name().expect("a path with a last component"))
}
