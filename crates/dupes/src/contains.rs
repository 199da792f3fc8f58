//! Determines whether all content of one directory also exists in another, so that the user can
//! delete the first.
//!
//! A file of the first directory is found if the second directory has a file with the same content
//! or another name of the same inode. It is certainly missing if no file of the second directory
//! has the same size. Files that are in both directories do not count, whatever their paths: they
//! are deleted with the first directory.

use std::collections::{HashMap, HashSet};

use fsops::FileKey;
use walk::{DirId, FileId, Tree};

use crate::folders::Layout;

/// Files found by a walk, and what the catalog remembers about their contents.
#[derive(Clone, Copy, Debug)]
pub struct Walked<'a> {
    /// The files.
    pub tree: &'a Tree,
    /// Knowledge about the current content of each file.
    pub contents: &'a [Content],
}

/// Knowledge about the current content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The catalog does not know the content, because the file is new or has changed.
    Unknown,
    /// No other remembered file has the same content.
    Alone,
    /// The number of the content in the catalog.
    Known(i64),
    /// The number of the content. The file is in the second directory and may be an alias of a file
    /// in the first.
    Alias(i64),
}

/// The place where the content of a file was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentLocation {
    /// In a file of the second directory.
    Copied,
    /// In another name of the same inode, in the second directory.
    Linked,
    /// Not in the second directory.
    Missing,
    /// Unknown: the only files with this content in the second directory may be aliases of files in
    /// the first.
    Alias,
    /// Unknown: the second directory has a file of the same size whose content is unknown.
    Undecided,
    /// Unknown: nothing is remembered about the current content of the file, and a file in the
    /// second directory has the same size.
    Unknown,
}

/// Locates in `other` the content of each file of `one`.
pub fn locate_contents(one: Walked<'_>, other: Walked<'_>) -> Vec<ContentLocation> {
    let (mut inodes, mut contents, mut aliases) = (HashSet::new(), HashSet::new(), HashSet::new());
    // Maps each size to whether the contents of all files of that size are known.
    let mut sizes: HashMap<u64, bool> = HashMap::new();
    for file in outside(one.tree, other.tree) {
        inodes.insert(other.tree.key(file));
        let content = other.contents[file.0 as usize];
        match content {
            Content::Known(content) => contents.insert(content),
            Content::Alias(content) => aliases.insert(content),
            Content::Unknown | Content::Alone => false,
        };
        let size = other.tree.file(file).size;
        *sizes.entry(size).or_insert(true) &= content != Content::Unknown;
    }
    let found = |(id, content): (u32, &Content)| {
        let file = FileId(id);
        if inodes.contains(&one.tree.key(file)) {
            return ContentLocation::Linked;
        }
        match (*content, sizes.get(&one.tree.file(file).size)) {
            (Content::Known(content), _) if contents.contains(&content) => ContentLocation::Copied,
            (Content::Known(content), _) if aliases.contains(&content) => ContentLocation::Alias,
            (_, None) => ContentLocation::Missing,
            (Content::Known(_) | Content::Alias(_) | Content::Alone, Some(true)) => {
                ContentLocation::Missing
            }
            (Content::Unknown, _) => ContentLocation::Unknown,
            (_, Some(false)) => ContentLocation::Undecided,
        }
    };
    (0u32..).zip(one.contents).map(found).collect()
}

/// Returns the files of `other` that are not in a directory of `one`.
pub fn outside(one: &Tree, other: &Tree) -> Vec<FileId> {
    let gone = dirs_of(one);
    let layout = Layout::new(other);
    let is_outside = |dir: DirId| key(other, layout.main(dir)).is_none_or(|k| !gone.contains(&k));
    let dirs = (0u32..).map(DirId).take(other.dirs().len()).filter(|&dir| is_outside(dir));
    dirs.flat_map(|dir| other.files_in(dir)).map(FileId).collect()
}

/// Returns whether the root of `other` is a directory of `one`. If so, [`outside`] returns no
/// files.
pub fn is_inside(one: &Tree, other: &Tree) -> bool {
    let gone = dirs_of(one);
    let roots = other.roots();
    !roots.is_empty()
        && roots.iter().all(|root| key(other, root.dir).is_some_and(|key| gone.contains(&key)))
}

/// Returns the identities of a tree's directories. The identities show whether a file in another
/// tree is also in this one, even under a different path.
pub fn dirs_of(tree: &Tree) -> HashSet<FileKey> {
    (0u32..).take(tree.dirs().len()).filter_map(|dir| key(tree, DirId(dir))).collect()
}

fn key(tree: &Tree, dir: DirId) -> Option<FileKey> {
    let (device, inode) = (tree.device_of(dir).number, tree.dir(dir).inode);
    (inode != 0).then_some(FileKey { device, inode })
}
