//! Finds directories in the destination that may be the source, before they are removed.
//!
//! sshfs, mergerfs, overlayfs and others can show a directory with other device and inode numbers, and without its
//! status change time. They keep the names of the entries and the modification time. A directory that has those of the
//! source's top directory may be the source. A copy of the source has them too, so nothing can be said for certain.
//!
//! This does not detect a source whose top directory is merged from several directories.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::io;

use fsops::{Dir, DirBuffer, DirItem, Kind, Stat, Time};
use runtime::Progress;

use crate::roots::{Roots, TopDir};

/// How much two modification times of one directory differ at most, in seconds: some file systems keep whole or even
/// seconds.
const PRECISION_S: i64 = 2;

/// The source's top directory, as far as any file system shows it.
pub(crate) struct Lookalike<'a> {
    top: &'a TopDir,
    /// The names in it, once they are needed; `None` if it cannot be listed.
    names: OnceCell<Option<HashSet<CString>>>,
}

impl Roots {
    /// Returns what the source looks like, if another path may lead to it.
    pub(crate) fn lookalike(&self) -> Option<Lookalike<'_>> {
        let top = self.source.as_ref().map(|source| &source.top)?;
        self.may_be_aliased().then(|| Lookalike { top, names: OnceCell::new() })
    }
}

impl Lookalike<'_> {
    /// Returns the path from `parent` to a directory that may be the source: `name` or one below it, on the same mount.
    pub(crate) fn find(&self, parent: &Dir, name: &CStr, progress: &Progress) -> Option<Vec<u8>> {
        let mut waiting = vec![name.to_bytes().to_vec()];
        while let Some(path) = waiting.pop() {
            if progress.poll_stop() {
                return None;
            }
            // A directory that cannot be opened cannot be removed either, which is reported.
            let Ok(dir) = parent.open_below_same_mount(&path) else { continue };
            let is_like = dir.stat().is_ok_and(|stat| self.has_time_of(&stat, &dir));
            let mut names = HashSet::new();
            let listed = list(&dir, |item| {
                if matches!(item.kind, Kind::Dir | Kind::Unknown) {
                    waiting.push([&path, &b"/"[..], item.name.to_bytes()].concat());
                }
                if is_like {
                    names.insert(item.name.to_owned());
                }
            });
            if is_like && listed.is_ok() && !names.is_empty() && self.names() == Some(&names) {
                return Some(path);
            }
        }
        None
    }

    /// Returns whether a directory has the modification time of the source and is not known to be another one.
    fn has_time_of(&self, stat: &Stat, dir: &Dir) -> bool {
        let top = &self.top.stat;
        let is_near = |time: Time| time.s.abs_diff(stat.mtime.s) <= PRECISION_S.unsigned_abs();
        let keeps_inode_numbers = || dir.volume().is_ok_and(|volume| volume.keeps_inode_numbers());
        let is_other =
            || top.device == stat.device && top.inode != stat.inode && keeps_inode_numbers();
        let now = || self.top.dir.stat().is_ok_and(|now| is_near(now.mtime));
        (is_near(top.mtime) || now()) && !is_other()
    }

    fn names(&self) -> Option<&HashSet<CString>> {
        let listed = || {
            let mut names = HashSet::new();
            let dir = self.top.dir.open_child(c".").ok()?;
            let add = |item: DirItem<'_>| {
                names.insert(item.name.to_owned());
            };
            list(&dir, add).ok()?;
            Some(names)
        };
        self.names.get_or_init(listed).as_ref()
    }
}

/// Lists a directory that was just opened.
fn list(dir: &Dir, mut each: impl FnMut(DirItem<'_>)) -> io::Result<()> {
    dir.list_quietly();
    let mut buffer = DirBuffer::default();
    while dir.list_some(&mut buffer, &mut each)?.is_some() {}
    Ok(())
}
