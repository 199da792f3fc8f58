//! Finds directories in the destination that may be the source, so that they are not removed.
//!
//! File systems such as sshfs, mergerfs and overlayfs can show a directory with different device and inode numbers,
//! and without its `ctime`. The names of the entries and the modification time stay the same. A directory may be the
//! source if it has the same entry names and modification time as the top directory of the source. It may also be a
//! copy of the source, because a copy has the same names and time.
//!
//! A source whose top directory is merged from several directories is not detected.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::io;

use fsops::{Dir, DirBuffer, DirItem, Kind, Stat, Time};
use runtime::Progress;

use crate::roots::{Roots, TopDir};

/// Maximum difference in seconds between two modification times of the same directory. Some file systems round times
/// to one or two seconds.
const PRECISION_S: i64 = 2;

/// The properties of the source's top directory that stay the same on every file system that shows it.
pub(crate) struct Lookalike<'a> {
    top: &'a TopDir,
    /// The names in the top directory, which are read on first use, or `None` if it cannot be listed.
    names: OnceCell<Option<HashSet<CString>>>,
}

impl Roots {
    /// Returns the properties that identify the source, or `None` if no other path can lead to it.
    pub(crate) fn lookalike(&self) -> Option<Lookalike<'_>> {
        let top = self.source.as_ref().map(|source| &source.top)?;
        self.may_be_aliased().then(|| Lookalike { top, names: OnceCell::new() })
    }
}

impl Lookalike<'_> {
    /// Searches `name` and the directories below it on the same mount for a directory that may be the source. Returns
    /// the path of that directory relative to `parent`.
    pub(crate) fn find(&self, parent: &Dir, name: &CStr, progress: &Progress) -> Option<Vec<u8>> {
        let mut waiting = vec![name.to_bytes().to_vec()];
        while let Some(path) = waiting.pop() {
            if progress.poll_stop() {
                return None;
            }
            // A directory that cannot be opened cannot be removed either. The failed removal is reported.
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

    /// Returns true if a directory has the modification time of the source and may be the same directory.
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

/// Lists a directory that has just been opened.
fn list(dir: &Dir, mut each: impl FnMut(DirItem<'_>)) -> io::Result<()> {
    dir.list_quietly();
    let mut buffer = DirBuffer::default();
    while dir.list_some(&mut buffer, &mut each)?.is_some() {}
    Ok(())
}
