//! One tree that is seen by two paths through a file system that passes on what others keep: FUSE, a network file
//! system, layers. Device and inode numbers do not tell there that two directories are one.
//!
//! What tells for certain is a name that nobody else can have: a directory under a temporary name in the destination.
//! Where it shows up in the source, or in a directory that the source is in, that is the destination. It is made only
//! if the source or the destination is on such a file system, or something is mounted in the source, and goes when the
//! run ends.
//!
//! A pool of several directories (mergerfs) may make it in another one than the source is in. So what the destination
//! has in the place of the source is compared with the source as well, by times that nobody can set. A dry run makes
//! nothing, and has only that.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fsops::{Dir, DirBuffer, Kind, Stat, Time, Volume};

use crate::part::Parts;
use crate::roots::{Refusal, Roots, Source, Top};

/// Entries of a directory that are compared to find out whether it is another one.
const SOME: usize = 16;

/// The name in the destination by which it is known elsewhere.
#[derive(Debug)]
pub(crate) struct Marker {
    name: CString,
    /// Whether the destination may be seen on any file system, and not only on one that passes on what others keep.
    anywhere: bool,
}

impl Roots {
    /// Refuses a source that is in the destination by another path, and sees to it that the destination is known
    /// again where it is in the source.
    pub(crate) fn see_through(&mut self, dry_run: bool) -> Result<(), Refusal> {
        let (Some(source), Some(there)) = (&self.source, &self.destination) else { return Ok(()) };
        let is_one_shown = source.top.is_shown() || there.is_shown();
        if !is_one_shown && (dry_run || !source.mounts_below) {
            return Ok(());
        }
        let marker = if dry_run { None } else { there.mark_by_name() };
        let is_seen = marker.as_ref().is_some_and(|name| source.is_in_marked(name));
        let tells = marker.as_ref().is_some_and(|name| there.tells_status_changes(name));
        let is_inside = is_seen || is_one_shown && source.is_shown_in(there, tells);
        let refused = is_inside.then(|| source.seen_inside(there));
        self.marker = marker.map(|name| Marker { name, anywhere: there.is_shown() });
        match refused {
            Some(refusal) => {
                self.unmark();
                Err(refusal)
            }
            None => Ok(()),
        }
    }

    /// Returns whether a directory of the source is the destination.
    pub(crate) fn is_destination(&self, dir: &Dir, stat: &Stat, volume: &Volume) -> bool {
        let Some(there) = &self.destination else { return false };
        let has_marker = |marker: &Marker| {
            stat.device != there.stat.device
                && (marker.anywhere || passes_on(volume, stat.device))
                && dir.stat_child(&marker.name).is_ok()
        };
        stat.key() == there.stat.key() || self.marker.as_ref().is_some_and(has_marker)
    }

    /// Removes the name that was made in the destination, and gives that the times that it had.
    fn unmark(&mut self) {
        let Some((marker, there)) = self.marker.take().zip(self.destination.as_ref()) else {
            return;
        };
        if there.dir.remove_empty_dir(&marker.name).is_ok() {
            // Times that cannot be set are no failure: nothing else was changed.
            let _refused = there.dir.set_times(there.stat.atime, there.stat.mtime);
        }
    }

    /// Removes the name if that is still there, and leaves the times that the destination has got.
    pub(crate) fn clear_marker(&mut self) {
        let Some((marker, there)) = self.marker.take().zip(self.destination.as_ref()) else {
            return;
        };
        let Ok(now) = there.dir.stat() else { return };
        // At its end a run removes all temporary names.
        if there.dir.remove_empty_dir(&marker.name).is_ok() {
            let _refused = there.dir.set_times(now.atime, now.mtime);
        }
    }
}

impl Top {
    /// Returns whether it may be shown by another path as well, under other numbers.
    fn is_shown(&self) -> bool {
        self.dir.volume().is_ok_and(|volume| passes_on(&volume, self.stat.device))
    }

    /// Makes a directory in it that nobody else can have the name of; nothing if that cannot be done.
    fn mark_by_name(&self) -> Option<CString> {
        let name = Parts::new().of(c"");
        self.dir.make_private_dir(&name).ok().map(|()| name)
    }

    /// Returns whether a status change time here is no copy of the modification time, which some file systems give
    /// for it.
    fn tells_status_changes(&self, marker: &CStr) -> bool {
        let long_ago = Time::from_ns(1_000_000_000);
        self.dir.set_child_times(marker, long_ago, long_ago).is_ok()
            && self.dir.stat_child_now(marker).is_ok_and(|now| now.ctime_ns > long_ago.as_ns())
    }
}

impl Source {
    /// Returns why the source is not mirrored.
    pub(crate) fn seen_inside(&self, there: &Top) -> Refusal {
        let (path, destination) = (self.top.absolute.clone(), there.absolute.clone());
        Refusal::SourceSeenInside { path, destination }
    }

    /// Returns whether the source, or a directory that it is in, has this name in it.
    fn is_in_marked(&self, marker: &CStr) -> bool {
        let marker = std::ffi::OsStr::from_bytes(marker.to_bytes());
        let is_marked = |dir: &Path| Stat::of_path(&dir.join(marker)).is_ok();
        self.top.absolute.ancestors().any(is_marked)
    }

    /// Returns whether the destination has the source itself where it would have that if it was one of the directories
    /// that the source is in.
    fn is_shown_in(&self, there: &Top, tells: bool) -> bool {
        let path = &self.top.absolute;
        path.ancestors().filter_map(|above| path.strip_prefix(above).ok()).any(|rest| {
            let other = match rest.as_os_str().as_bytes() {
                b"" => there.dir.open_child(c"."),
                rest => there.dir.open_below(rest),
            };
            other.is_ok_and(|other| is_same(&self.top.dir, &other, tells))
        })
    }
}

/// Returns whether a file system may show files that another one keeps.
fn passes_on(volume: &Volume, device: u64) -> bool {
    !volume.is_local(device) || !volume.has_one_device()
}

/// Returns whether two directories are one, as far as the times of some entries tell; without files, of directories,
/// and without any, of the two themselves. Of a directory that is in several places a pool shows one.
fn is_same(one: &Dir, other: &Dir, tells: bool) -> bool {
    let (mut files, mut dirs): (Vec<CString>, Vec<CString>) = (Vec::new(), Vec::new());
    let listed = one.open_child(c".").and_then(|list| {
        list.list_quietly();
        list.list_some(&mut DirBuffer::default(), |item| {
            let some = if item.kind == Kind::Dir { &mut dirs } else { &mut files };
            if some.len() < SOME {
                some.push(item.name.to_owned());
            }
        })
    });
    let some = if files.is_empty() { dirs } else { files };
    let is_same = |one: &Stat, other: &Stat| is_same_inode(one, other, tells);
    let is_one = |name: &CString| {
        let both = one.stat_child(name).and_then(|one| Ok((one, other.stat_child(name)?)));
        both.is_ok_and(|(one, other)| is_same(&one, &other))
    };
    let are_one = || Ok::<_, std::io::Error>(is_same(&one.stat()?, &other.stat()?));
    listed.is_ok()
        && if some.is_empty() { are_one().unwrap_or(false) } else { some.iter().all(is_one) }
}

/// Returns whether two inodes are one by what nobody can set: the status change time, to the nanosecond.
fn is_same_inode(one: &Stat, other: &Stat, tells: bool) -> bool {
    let size = |stat: &Stat| if stat.kind == Kind::Dir { 0 } else { stat.size };
    let known = |stat: &Stat| (stat.kind, size(stat), stat.mtime, stat.ctime_ns);
    // With one device the numbers tell.
    one.device != other.device
        && known(one) == known(other)
        // Where times are whole seconds many are alike.
        && one.ctime_ns % 1_000_000_000 != 0
        && (tells || one.ctime_ns != one.mtime_ns())
}
