//! The trees of whole disks as data, for tests that remove junk by rules: Windows of several
//! generations, Linux, macOS, and a share of a network storage.
//!
//! Each disk contains junk, names that only resemble junk, and files that no rule may remove. A test
//! compares the entries that a run removed with their labels. The entries come from the tables in
//! `disks/tables`. The content of a file is its own path, so that a rewritten file is noticed,
//! unless programs recognise the file by a signature.
//!
//! All times are [`OLD`] seconds, except those of fresh files. Status change times cannot be set,
//! so they are always recent.
//!
//! A symbolic link stands for a junction. On NTFS, [`Disk::make_with_junctions`] makes junctions.

mod contents;
mod fixtures;
mod table;
#[cfg(test)]
mod tests;
mod windows;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::content::Content;
use crate::mounts::{ReparsePoint, make_reparse_points};
use crate::tree::{Made, TreeBuilder};

pub use fixtures::{linux_disk, mac_disk, nas_share};
pub use windows::{
    Profile, windows_10, windows_10_with_windows_old, windows_2000_from_nt4, windows_data_disk,
    windows_vista, windows_xp_english, windows_xp_german,
};

/// The modification time of everything that is not fresh, in seconds since 1970: 2019-03-01.
pub const OLD: i64 = 1_551_398_400;

/// The kinds of junk. The tables use these labels.
pub const LABELS: [&str; 15] = [
    "bins",
    "browser-caches",
    "build-dirs",
    "cachedir-tag",
    "crash-dumps",
    "droppings",
    "logs",
    "mac-caches",
    "nas",
    "package-caches",
    "prefetch",
    "temp",
    "thumbnails",
    "windows-setup",
    "windows-temp",
];

/// A disk as data.
#[derive(Debug, Clone)]
pub struct Disk {
    /// The name of the function that returned the disk.
    pub name: &'static str,
    /// All files and links.
    pub entries: Vec<Entry>,
    /// The profiles of Windows users, without those of services and in `Windows.old`.
    pub profiles: Vec<Profile>,
}

/// A file or link on a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path on the disk.
    pub path: String,
    /// Whether rules may remove the entry.
    pub what: What,
    /// Whether the entry was modified just now. Rules with a minimum age keep it.
    pub is_fresh: bool,
    /// The file or link itself.
    pub node: Node,
}

/// Whether rules may remove an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Junk with these labels. Rules for any of the labels remove it. A second label means that
    /// rules of two kinds reach the entry.
    Junk(Vec<&'static str>),
    /// Resembles junk of this label, but no rule of any kind may remove it.
    Lookalike(&'static str),
    /// Data of the user or the system. No rule for junk may remove it, not even with the
    /// permission of the user. Rules for privacy that name a file are not rules for junk.
    Precious,
    /// Neither junk nor similar to junk. A rule that removes junk beside a plain link may remove or
    /// keep the link, but may never follow it.
    Plain,
}

/// A file or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File(Content),
    /// A symbolic link to this path on the same disk, or a junction or symbolic link of Windows.
    Link(String),
}

impl Disk {
    /// Returns the entries that rules with this label remove, whatever their age.
    pub fn junk_of<'a>(&'a self, label: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.junk().filter(move |entry| entry.has_label(label))
    }

    /// Returns the entries that some rule removes, whatever their age.
    pub fn junk(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| matches!(entry.what, What::Junk(_)))
    }

    /// Returns the entries that are [`What::Precious`].
    pub fn precious(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.what == What::Precious)
    }

    /// Returns the entries that only resemble junk of this label.
    pub fn lookalikes_of(&self, label: &str) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(move |entry| matches!(entry.what, What::Lookalike(l) if l == label))
    }

    /// Returns the labels of the junk on this disk.
    pub fn labels(&self) -> BTreeSet<&'static str> {
        self.junk().flat_map(Entry::labels).copied().collect()
    }

    /// Returns the entry with this path.
    pub fn entry(&self, path: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.path == path)
    }

    /// Returns the tree with relative links. All of them lead to a place on the disk.
    pub fn tree(&self) -> TreeBuilder {
        self.tree_with_links(|link, target| {
            let up = "../".repeat(link.matches('/').count());
            format!("{up}{target}")
        })
    }

    /// Returns the tree with absolute links to places below `mount`, as ntfs-3g shows junctions.
    pub fn tree_mounted_at(&self, mount: &str) -> TreeBuilder {
        self.tree_with_links(|_, target| format!("{mount}/{target}"))
    }

    /// Creates the tree on an NTFS that is mounted with ntfs-3g, with junctions instead of links.
    /// Directories that contain junctions are fresh.
    ///
    /// # Panics
    ///
    /// Panics with the reason if a file or junction cannot be created.
    pub fn make_with_junctions(&self, root: impl AsRef<Path>) -> Made {
        let made = tree_of(self.entries.iter().filter_map(Entry::file)).make(&root);
        let links = self.entries.iter().filter_map(Entry::link);
        let point = |(link, target)| reparse_point(made.path(link), link, target);
        let points: Vec<_> = links.map(point).collect();
        make_reparse_points(&points).expect("junctions on NTFS");
        made
    }

    fn tree_with_links(&self, target_of: impl Fn(&str, &str) -> String) -> TreeBuilder {
        let tree = tree_of(self.entries.iter().filter_map(Entry::file));
        let links = self.entries.iter().filter_map(Entry::link);
        links.fold(tree, |tree, (link, target)| {
            tree.symlink(link, target_of(link, target)).mtime(link, OLD, 0)
        })
    }
}

impl Entry {
    /// Returns the labels of junk, and nothing for other entries.
    pub fn labels(&self) -> &[&'static str] {
        if let What::Junk(labels) = &self.what { labels } else { &[] }
    }

    /// Returns whether the entry is junk with this label.
    pub fn has_label(&self, label: &str) -> bool {
        self.labels().contains(&label)
    }

    /// Returns the path and the target of a link.
    pub fn link(&self) -> Option<(&str, &str)> {
        if let Node::Link(target) = &self.node { Some((&self.path, target)) } else { None }
    }

    fn file(&self) -> Option<(&Self, &Content)> {
        if let Node::File(content) = &self.node { Some((self, content)) } else { None }
    }
}

/// Returns the junction or symbolic link of Windows for a link on drive `C:`. Targets that ntfs-3g
/// shows in `.NTFS-3G/D:` are on drive `D:`.
fn reparse_point(path: PathBuf, link: &str, target: &str) -> ReparsePoint {
    let elsewhere = target.strip_prefix(windows::OTHER_VOLUME).map(|rest| ("D:", rest));
    let (drive, rest) = elsewhere.unwrap_or(("C:", target));
    let target = format!("{drive}\\{}", rest.replace('/', "\\"));
    if windows::SYMLINKS.contains(&link) {
        ReparsePoint::symlink(path, &target)
    } else {
        ReparsePoint::junction(path, &target)
    }
}

/// Returns a tree with old files and directories. The parents of a fresh file are fresh.
fn tree_of<'a>(files: impl Iterator<Item = (&'a Entry, &'a Content)>) -> TreeBuilder {
    let (mut tree, mut old, mut fresh) = (TreeBuilder::new(), BTreeSet::new(), BTreeSet::new());
    for (entry, content) in files {
        tree = tree.file(&entry.path, content.clone());
        let times = if entry.is_fresh { &mut fresh } else { &mut old };
        times.extend(Path::new(&entry.path).ancestors().filter(|path| *path != Path::new("")));
    }
    old.difference(&fresh).fold(tree, |tree, path| tree.mtime(path, OLD, 0))
}
