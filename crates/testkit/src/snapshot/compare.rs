//! The properties that a comparison of two snapshots includes, and a description of each
//! difference.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{BitOr, Sub};

use super::{Entry, Kind, Snapshot};
use crate::groups::shown;

/// Maximum number of bytes of an attribute value that a difference shows.
const VALUE_BYTES_SHOWN: usize = 32;

/// The compared properties. Add with `|`, remove with `-`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Compare(u16);

impl Compare {
    /// Paths and their kinds, with device numbers.
    pub const NAMES: Self = Self(1);
    /// Contents of regular files and targets of symbolic links.
    pub const BYTES: Self = Self(1 << 1);
    /// Permission bits.
    pub const MODE: Self = Self(1 << 2);
    /// User and group.
    pub const OWNER: Self = Self(1 << 3);
    /// Modification times of everything except directories.
    pub const MTIME: Self = Self(1 << 4);
    /// Extended attributes, including access control lists.
    pub const XATTRS: Self = Self(1 << 5);
    /// The grouping of paths into names of one inode.
    pub const LINKS: Self = Self(1 << 6);
    /// Modification times of directories.
    pub const DIR_MTIMES: Self = Self(1 << 7);
    /// Mode, owner, modification time and extended attributes.
    pub const METADATA: Self = Self(Self::MODE.0 | Self::OWNER.0 | Self::MTIME.0 | Self::XATTRS.0);
    /// The part that a program sees when it reads the tree: paths, kinds and bytes.
    pub const VISIBLE: Self = Self(Self::NAMES.0 | Self::BYTES.0);
    /// All properties.
    pub const ALL: Self = Self(0xff);

    const NAMED: [(Self, &'static str); 8] = [
        (Self::NAMES, "names"),
        (Self::BYTES, "bytes"),
        (Self::MODE, "mode"),
        (Self::OWNER, "owner"),
        (Self::MTIME, "mtime"),
        (Self::XATTRS, "xattrs"),
        (Self::LINKS, "links"),
        (Self::DIR_MTIMES, "mtimes of directories"),
    ];

    fn has(self, one: Self) -> bool {
        self.0 & one.0 != 0
    }
}

impl BitOr for Compare {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Sub for Compare {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl fmt::Debug for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMED.iter().filter(|(one, _)| self.has(*one));
        f.write_str(&named.map(|(_, name)| *name).collect::<Vec<_>>().join(", "))
    }
}

/// Returns one line per difference.
pub(super) fn diff(before: &Snapshot, after: &Snapshot, what: Compare) -> Vec<String> {
    let mut lines: BTreeMap<&[u8], Vec<String>> = BTreeMap::new();
    for (path, entry) in &before.entries {
        let lines = lines.entry(path).or_default();
        match after.entries.get(path) {
            Some(now) => entries(entry, now, what, lines),
            None if what.has(Compare::NAMES) => lines.push(format!("gone: {}", described(entry))),
            None => {}
        }
    }
    if what.has(Compare::NAMES) {
        for (path, entry) in after.entries.iter().filter(|(p, _)| !before.entries.contains_key(*p))
        {
            lines.entry(path).or_default().push(format!("new: {}", described(entry)));
        }
    }
    if what.has(Compare::LINKS) {
        links(before, after, &mut lines);
    }
    let named = |(path, lines): (&[u8], Vec<String>)| {
        let path = if path.is_empty() { "the root".to_owned() } else { shown(path) };
        lines.into_iter().map(move |line| format!("{path}: {line}"))
    };
    lines.into_iter().flat_map(named).collect()
}

/// Adds the differences of one entry. If its kind differs, nothing else is compared.
fn entries(before: &Entry, now: &Entry, what: Compare, lines: &mut Vec<String>) {
    let symlinks = matches!((&before.kind, &now.kind), (Kind::Symlink(_), Kind::Symlink(_)));
    if before.kind != now.kind && !symlinks {
        if what.has(Compare::NAMES) {
            lines.push(format!("was {}, is {}", described(before), described(now)));
        }
        return;
    }
    if what.has(Compare::BYTES) {
        bytes(before, now, lines);
    }
    if what.has(Compare::MODE) && before.mode != now.mode {
        lines.push(format!("mode was {:04o}, is {:04o}", before.mode, now.mode));
    }
    let (was, is) = ((before.uid, before.gid), (now.uid, now.gid));
    if what.has(Compare::OWNER) && was != is {
        lines.push(format!("owner was {}:{}, is {}:{}", was.0, was.1, is.0, is.1));
    }
    let mtime = if now.kind == Kind::Dir { Compare::DIR_MTIMES } else { Compare::MTIME };
    if what.has(mtime) && before.mtime_ns != now.mtime_ns {
        let (was, is) = (seconds(before.mtime_ns), seconds(now.mtime_ns));
        lines.push(format!("mtime was {was}, is {is}"));
    }
    if what.has(Compare::XATTRS) {
        xattrs(before, now, lines);
    }
}

fn bytes(before: &Entry, now: &Entry, lines: &mut Vec<String>) {
    if before.kind != now.kind {
        lines.push(format!("was {}, is {}", described(before), described(now)));
    }
    if (before.sha256, before.size_bytes) != (now.sha256, now.size_bytes) && now.kind == Kind::File
    {
        lines.push(format!("was {}, is {}", described(before), described(now)));
    }
    if before.unread != now.unread {
        lines.push(format!("unread: was {:?}, is {:?}", before.unread, now.unread));
    }
}

fn xattrs(before: &Entry, now: &Entry, lines: &mut Vec<String>) {
    let value = |value: Option<&Option<Vec<u8>>>| match value {
        None => "not there".to_owned(),
        Some(None) => "unread".to_owned(),
        Some(Some(bytes)) => {
            let start = bytes.get(..VALUE_BYTES_SHOWN).unwrap_or(bytes).escape_ascii();
            format!("\"{start}\" ({} bytes)", bytes.len())
        }
    };
    let mut names: Vec<_> = before.xattrs.keys().chain(now.xattrs.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (was, is) = (before.xattrs.get(name), now.xattrs.get(name));
        if was != is {
            let name = name.escape_ascii();
            lines.push(format!("xattr {name} was {}, is {}", value(was), value(is)));
        }
    }
}

/// Adds the paths in both snapshots whose group of hard links differs.
fn links<'a>(
    before: &'a Snapshot,
    after: &'a Snapshot,
    lines: &mut BTreeMap<&'a [u8], Vec<String>>,
) {
    let (was, is) = (partition(before, after), partition(after, before));
    for (path, group) in &was {
        let now = &is[path];
        if group != now {
            let line = format!("{}, {}", others("was", path, group), others("is", path, now));
            lines.entry(path).or_default().push(line);
        }
    }
}

/// Returns the link group of each path that is not a directory in either snapshot.
fn partition<'a>(one: &'a Snapshot, other: &Snapshot) -> BTreeMap<&'a [u8], Vec<&'a [u8]>> {
    let mut groups: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for (path, entry) in &one.entries {
        let there = other.entries.get(path).is_some_and(|other| other.kind != Kind::Dir);
        if there && entry.kind != Kind::Dir {
            groups.entry(&entry.same_as).or_default().push(path);
        }
    }
    let each = |group: Vec<&'a [u8]>| group.clone().into_iter().map(move |p| (p, group.clone()));
    groups.into_values().flat_map(each).collect()
}

fn others(verb: &str, path: &[u8], group: &[&[u8]]) -> String {
    let others: Vec<_> = group.iter().filter(|other| **other != path).collect();
    match others.as_slice() {
        [] => format!("{verb} one file with no other"),
        [one] => format!("{verb} one file with {}", shown(one)),
        [one, more @ ..] => format!("{verb} one file with {} and {} more", shown(one), more.len()),
    }
}

fn described(entry: &Entry) -> String {
    match &entry.kind {
        Kind::File => {
            let digest = entry.sha256.map_or("unread".to_owned(), |d| {
                format!("{:08x}", u32::from_be_bytes([d[0], d[1], d[2], d[3]]))
            });
            format!("a file of {} bytes, SHA-256 {digest}", entry.size_bytes)
        }
        Kind::Dir => "a directory".to_owned(),
        Kind::Symlink(target) => format!("a symbolic link to {}", shown(target)),
        Kind::Fifo => "a FIFO".to_owned(),
        Kind::Socket => "a socket".to_owned(),
        Kind::CharDevice(major, minor) => format!("character device {major}:{minor}"),
        Kind::BlockDevice(major, minor) => format!("block device {major}:{minor}"),
    }
}

fn seconds(ns: i128) -> String {
    format!("{}.{:09}", ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000))
}
