//! A tree as data: its entries, and the counts that a correct program would find.

use std::collections::HashMap;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use blake3::Hasher;
use serde::{Deserialize, Serialize};

use super::content::Content;

/// A tree to make.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Paths of directories relative to the root, each after its parent. The first one is the root.
    dirs: Vec<PathBuf>,
    /// The contents of the regular files.
    pub(super) inodes: Vec<Content>,
    /// The names of the regular files. The first name of an inode comes before its other names.
    pub(super) names: Vec<Name>,
    /// Entries that are not regular files.
    pub(super) others: Vec<Other>,
    places: HashMap<PathBuf, u32>,
}

/// A name of a regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) dir: u32,
    pub(super) inode: u32,
    pub(super) text: Box<str>,
}

/// An entry that is not a regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Other {
    pub(super) dir: u32,
    pub(super) name: Box<str>,
    pub(super) kind: OtherKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum OtherKind {
    Symlink(Box<str>),
    Fifo,
}

/// The counts of a tree, planned or on a disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Number of directories below the root.
    pub(crate) dirs: u64,
    /// Number of names that are not directories.
    pub names: u64,
    /// Number of regular files. A file with several names counts once.
    pub inodes: u64,
    /// Number of regular files with more than one name.
    pub linked: u64,
    /// The sum of the sizes of regular files, including holes.
    pub bytes: u64,
    /// Number of empty files and of entries that are not regular files.
    pub(crate) empty_or_other: u64,
    /// Number of files with a unique size.
    pub(crate) lone: u64,
    /// Number of files that have a duplicate.
    pub in_groups: u64,
    /// Number of groups of identical files.
    pub groups: u64,
    /// Number of files whose size is shared but whose content is unique.
    pub(crate) unlike: u64,
}

impl Plan {
    pub(super) fn new() -> Self {
        let places = HashMap::from([(PathBuf::new(), 0)]);
        let dirs = vec![PathBuf::new()];
        Self { dirs, inodes: Vec::new(), names: Vec::new(), others: Vec::new(), places }
    }

    /// Returns the number of a directory. Adds the directory and its parents if they are new.
    pub(super) fn dir(&mut self, path: impl AsRef<Path>) -> u32 {
        let path = path.as_ref();
        if let Some(&number) = self.places.get(path) {
            return number;
        }
        self.dir(path.parent().expect("only the root has none, and it is known"));
        let number = number(self.dirs.len());
        self.dirs.push(path.to_owned());
        self.places.insert(path.to_owned(), number);
        number
    }

    /// Adds a file and returns the number of its inode.
    pub(super) fn file(&mut self, dir: u32, name: impl Into<Box<str>>, content: Content) -> u32 {
        let inode = number(self.inodes.len());
        self.inodes.push(content);
        self.names.push(Name { dir, inode, text: name.into() });
        inode
    }

    /// Adds a name to a file.
    pub(super) fn link(&mut self, dir: u32, name: impl Into<Box<str>>, inode: u32) {
        self.names.push(Name { dir, inode, text: name.into() });
    }

    /// Adds an entry that is not a regular file.
    pub(super) fn other(&mut self, dir: u32, name: impl Into<Box<str>>, kind: OtherKind) {
        self.others.push(Other { dir, name: name.into(), kind });
    }

    /// Returns the paths of the regular files, relative to the root.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.names.iter().map(|name| self.dirs[name.dir as usize].join(&*name.text))
    }

    /// Returns the directories, the root first.
    pub(super) fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Returns a digest of the whole plan that identifies the tree.
    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = Hasher::new();
        for dir in &self.dirs {
            hasher.update(dir.as_os_str().as_bytes()).update(b"\0");
        }
        for Content { size, seed, shape } in &self.inodes {
            hasher.update(&size.to_le_bytes()).update(&seed.to_le_bytes());
            hasher.update(format!("{shape:?}").as_bytes());
        }
        for Name { dir, inode, text } in &self.names {
            hasher.update(&dir.to_le_bytes()).update(&inode.to_le_bytes());
            hasher.update(text.as_bytes()).update(b"\0");
        }
        for other in &self.others {
            hasher.update(format!("{other:?}").as_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// Returns the counts that a correct program would find.
    pub fn counts(&self) -> Counts {
        let mut names_of = vec![0_u32; self.inodes.len()];
        for name in &self.names {
            names_of[name.inode as usize] += 1;
        }
        let mut counts = Counts {
            dirs: self.dirs.len() as u64 - 1,
            names: (self.names.len() + self.others.len()) as u64,
            linked: names_of.iter().filter(|&&names| names > 1).count() as u64,
            empty_or_other: self.others.len() as u64,
            ..Counts::default()
        };
        counts.add_files(self.inodes.iter().map(|content| (content.size, *content)));
        counts
    }
}

impl Counts {
    /// Counts regular files by size and by key. Identical files MUST have equal keys.
    pub(super) fn add_files<K>(&mut self, files: impl Iterator<Item = (u64, K)>)
    where
        K: std::hash::Hash + Eq,
    {
        let mut classes: HashMap<u64, HashMap<K, u64>> = HashMap::new();
        for (size, key) in files {
            self.inodes += 1;
            self.bytes += size;
            if size == 0 {
                self.empty_or_other += 1;
            } else {
                *classes.entry(size).or_default().entry(key).or_default() += 1;
            }
        }
        for class in classes.into_values() {
            let members: u64 = class.values().sum();
            if members == 1 {
                self.lone += 1;
                continue;
            }
            for count in class.into_values() {
                if count > 1 {
                    self.groups += 1;
                    self.in_groups += count;
                } else {
                    self.unlike += 1;
                }
            }
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dirs, names, inodes, linked, bytes, .. } = self;
        writeln!(f, "{names} names of {inodes} files in {dirs} directories, {bytes} bytes")?;
        writeln!(f, "{linked} files have several names")?;
        writeln!(f, "{} empty or not regular", self.empty_or_other)?;
        writeln!(f, "{} of a size that no other has", self.lone)?;
        writeln!(f, "{} in {} groups of equal files", self.in_groups, self.groups)?;
        write!(f, "{} of a shared size, but unlike any other", self.unlike)
    }
}

/// Converts an index to the type that stores it.
///
/// # Panics
///
/// The index is 2^32 or more. No corpus is that large.
fn number(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than 2^32 entries")
}
