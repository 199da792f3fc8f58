//! Detects a source that is also visible inside the destination under a second path. FUSE, overlayfs and network
//! file systems can show the files of another file system. Device and inode numbers may then differ between the two
//! paths, so they do not reveal that two directories are the same.
//!
//! The reliable test uses a marker, which is a directory in the destination with a unique name. If the marker is
//! visible in a directory of the source or in a directory above the source, that directory is the destination. The
//! marker is created only if the source or the destination is on a file system of this kind, or if something is
//! mounted inside the source. It is removed at the end of the run. If the marker cannot be created, nothing may be
//! deleted from the destination.
//!
//! The marker is not sufficient for a pool of several directories (mergerfs), which may create the marker in a branch
//! that does not contain the source. A second test therefore assumes for each directory above the source that it is
//! the destination. It compares the source with the directory at the corresponding path in the destination. The test
//! relies on `ctime`, which cannot be set to a chosen value. A dry run creates no marker and uses only the second
//! test.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fsops::{Ctimes, Dir, DirBuffer, Kind, Stat, Time, Volume};

use crate::model::temp_name::TempNames;
use crate::roots::refusal::Refusal;
use crate::roots::{Roots, Source, TopDir};

/// Maximum number of entries to compare when checking whether two directories are the same.
const MAX_COMPARED: usize = 16;

/// A directory in the destination that has a unique name, so that it identifies the destination under any path.
#[derive(Debug)]
pub(crate) struct Marker {
    name: CString,
    /// True if the destination is on a file system that shows files of other file systems. In that case, the
    /// destination may also be visible on an ordinary file system.
    any_file_system: bool,
}

impl Roots {
    /// Refuses a source that is inside the destination under a second path. Creates the marker if it is needed.
    pub(crate) fn check_aliases(&mut self, dry_run: bool) -> Result<(), Refusal> {
        let (Some(source), Some(dest)) = (&self.source, &self.destination) else { return Ok(()) };
        let may_be_aliased = source.may_alias(dest);
        if !may_be_aliased && (dry_run || !source.mounts_below) {
            return Ok(());
        }
        let marker = if dry_run { None } else { Some(dest.create_marker()) };
        let (marker, marker_error) = match marker {
            Some(Err(error)) => (None, Some(error)),
            marker => (marker.and_then(Result::ok), None),
        };
        let is_seen = marker.as_ref().is_some_and(|name| source.is_below_marker(name));
        let has_ctimes = || dest.has_ctimes(marker.as_deref());
        let is_inside = is_seen || may_be_aliased && source.is_shown_in(dest, has_ctimes());
        let refused = is_inside.then(|| source.aliased_inside(dest));
        self.marker = marker.map(|name| Marker { name, any_file_system: dest.shows_other_files() });
        self.marker_error = marker_error.filter(|_| may_be_aliased);
        match refused {
            Some(refusal) => {
                self.undo_marker();
                Err(refusal)
            }
            None => Ok(()),
        }
    }

    /// Refuses to delete anything from the destination if it may contain the source and the marker could not be
    /// created. In that case, the destination is removed if this run created it.
    ///
    /// # Errors
    ///
    /// Fails with [`Refusal::Unmarked`]. The run has changed nothing that existed before it.
    pub fn check_deletion(&self) -> Result<(), Refusal> {
        let (Some(error), Some(source), Some(dest)) =
            (&self.marker_error, &self.source, &self.destination)
        else {
            return Ok(());
        };
        self.undo();
        let (path, destination) = (source.top.absolute.clone(), dest.absolute.clone());
        let source = error.raw_os_error().map_or(error.kind().into(), io::Error::from_raw_os_error);
        Err(Refusal::Unmarked { path, destination, source })
    }

    /// Returns true if an extraneous entry may be the only copy of something in the source. This is possible if part
    /// of the source could not be copied, and another path may lead from the source into the destination.
    pub(crate) fn may_show_source(&self, is_incomplete: bool) -> bool {
        let (Some(source), Some(dest)) = (&self.source, &self.destination) else { return false };
        let shows_other_files = || source.mounts_below || source.may_alias(dest);
        self.marker_error.is_some() || is_incomplete && shows_other_files()
    }

    /// Returns true if the source or the destination is on a file system that can show files of another file system.
    pub(crate) fn may_be_aliased(&self) -> bool {
        let both = self.source.as_ref().zip(self.destination.as_ref());
        both.is_some_and(|(source, dest)| source.may_alias(dest))
    }

    /// Returns true if a directory of the source is the destination.
    pub(crate) fn is_destination(&self, dir: &Dir, stat: &Stat, volume: &Volume) -> bool {
        let Some(dest) = &self.destination else { return false };
        let has_marker = |marker: &Marker| {
            // Inode numbers on the same device are reliable, unless the file system makes them up.
            (stat.device != dest.stat.device || !volume.keeps_inode_numbers())
                && (marker.any_file_system || volume.shows_others(stat.device))
                && dir.stat_child(&marker.name).is_ok()
        };
        stat.key() == dest.stat.key() || self.marker.as_ref().is_some_and(has_marker)
    }

    /// Removes the marker and restores the previous times of the destination.
    fn undo_marker(&mut self) {
        let Some((marker, dest)) = self.marker.take().zip(self.destination.as_ref()) else {
            return;
        };
        if dest.dir.remove_empty_dir(&marker.name).is_ok() {
            // If the times cannot be set, the error is ignored, because nothing else was changed.
            let _refused = dest.dir.set_times(dest.stat.atime, dest.stat.mtime);
        }
    }

    /// Removes the marker if it still exists. The destination keeps the times that the run set.
    pub(crate) fn clear_marker(&mut self) {
        let Some((marker, dest)) = self.marker.take().zip(self.destination.as_ref()) else {
            return;
        };
        let Ok(now) = dest.dir.stat() else { return };
        // The run may have removed the marker together with other temporary names.
        if dest.dir.remove_empty_dir(&marker.name).is_ok() {
            let _refused = dest.dir.set_times(now.atime, now.mtime);
        }
    }
}

impl TopDir {
    /// Returns true if the directory is on a file system that can show files of another file system.
    fn shows_other_files(&self) -> bool {
        self.dir.volume().is_ok_and(|volume| volume.shows_others(self.stat.device))
    }

    /// Creates the marker and returns its name. Restores the times of the directory, which count as metadata to
    /// compare.
    fn create_marker(&self) -> io::Result<CString> {
        let name = TempNames::new().of(c"");
        self.dir.make_private_dir(&name)?;
        // If the times cannot be set, the run reports that they differ.
        let _refused = self.dir.set_times(self.stat.atime, self.stat.mtime);
        Ok(name)
    }

    /// Returns true if the file system reports the real `ctime` of a file. Some file systems report the modification
    /// time instead. If there is a marker, it is used to test this.
    fn has_ctimes(&self, marker: Option<&CStr>) -> bool {
        let volume = self.dir.volume();
        if volume.is_ok_and(|volume| Ctimes::read().are_likely(&volume, self.stat.device)) {
            return true;
        }
        let long_ago = Time::from_ns(1_000_000_000);
        marker.is_some_and(|marker| {
            self.dir.set_child_times(marker, long_ago, long_ago).is_ok()
                && self
                    .dir
                    .stat_child_uncached(marker)
                    .is_ok_and(|now| now.ctime_ns > long_ago.as_ns())
        })
    }
}

impl Source {
    /// Returns the refusal of a source that is visible inside the destination.
    pub(crate) fn aliased_inside(&self, dest: &TopDir) -> Refusal {
        let (path, destination) = (self.top.absolute.clone(), dest.absolute.clone());
        Refusal::SourceSeenInside { path, destination }
    }

    /// Returns true if the source or the destination is on a file system that can show files of another file system.
    fn may_alias(&self, dest: &TopDir) -> bool {
        self.top.shows_other_files() || dest.shows_other_files()
    }

    /// Returns true if the marker is visible in the source or in a directory above the source.
    fn is_below_marker(&self, marker: &CStr) -> bool {
        let marker = std::ffi::OsStr::from_bytes(marker.to_bytes());
        let is_marked = |dir: &Path| Stat::of_path(&dir.join(marker)).is_ok();
        self.top.absolute.ancestors().any(is_marked)
    }

    /// Returns true if the source is found inside the destination. For each directory above the source, this
    /// assumes that the directory is the destination, and looks for the source at the corresponding path in the
    /// destination.
    fn is_shown_in(&self, dest: &TopDir, has_ctimes: bool) -> bool {
        let path = &self.top.absolute;
        path.ancestors().filter_map(|above| path.strip_prefix(above).ok()).any(|rest| {
            let other = match rest.as_os_str().as_bytes() {
                b"" => dest.dir.open_child(c"."),
                rest => dest.dir.open_below(rest),
            };
            other.is_ok_and(|other| is_same(&self.top.dir, &other, has_ctimes))
        })
    }
}

/// Returns true if two directories appear to be the same. Compares some of their files. If there are no files,
/// compares some subdirectories, and if there are no entries, the directories themselves. This order is needed because
/// a pool shows the metadata of only one branch for a directory that exists in several branches.
fn is_same(one: &Dir, other: &Dir, has_ctimes: bool) -> bool {
    let (mut files, mut dirs): (Vec<CString>, Vec<CString>) = (Vec::new(), Vec::new());
    let listed = one.open_child(c".").and_then(|list| {
        list.list_quietly();
        list.list_some(&mut DirBuffer::default(), |item| {
            let some = if item.kind == Kind::Dir { &mut dirs } else { &mut files };
            if some.len() < MAX_COMPARED {
                some.push(item.name.to_owned());
            }
        })
    });
    let some = if files.is_empty() { dirs } else { files };
    let is_same = |one: &Stat, other: &Stat| is_same_inode(one, other, has_ctimes);
    let is_one = |name: &CString| {
        let both = one.stat_child(name).and_then(|one| Ok((one, other.stat_child(name)?)));
        both.is_ok_and(|(one, other)| is_same(&one, &other))
    };
    let are_one = || Ok::<_, io::Error>(is_same(&one.stat()?, &other.stat()?));
    listed.is_ok()
        && if some.is_empty() { are_one().unwrap_or(false) } else { some.iter().all(is_one) }
}

/// Returns true if two inodes appear to be the same. Compares their `ctime`, because no program can set it to a
/// chosen value.
fn is_same_inode(one: &Stat, other: &Stat, has_ctimes: bool) -> bool {
    let size = |stat: &Stat| if stat.kind == Kind::Dir { 0 } else { stat.size };
    let known = |stat: &Stat| (stat.kind, size(stat), stat.mtime, stat.ctime_ns);
    // On one device, inode numbers are enough to tell inodes apart, so other metadata is not compared.
    one.device != other.device
        && known(one) == known(other)
        // A `ctime` in whole seconds is too coarse, because many files share it.
        && one.ctime_ns % 1_000_000_000 != 0
        && (has_ctimes || one.ctime_ns != one.mtime_ns())
}
