//! Tells whether a file may be another path to a file that is already known: a view of it.
//!
//! FUSE file systems (sshfs, mergerfs, bindfs), network file systems and overlayfs can show a directory of this machine a
//! second time, under another device number and other inode numbers. A file there looks like a copy, and goes when the
//! file that it shows is deleted. Nothing that the kernel tells identifies the file that is shown, so [`Views`] compares
//! what a view passes on: size, mtime and ctime. Two files are different ones for certain only if these differ and a
//! cache cannot explain the difference.
//!
//! Files with the same device number are never views of each other here: their inode numbers tell.
//!
//! A view that shows another mtime than its file has (`rclone mount --no-modtime`) is not recognised.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};

use fsops::{Stat, Volume};
use walk::{FileId, Tree};

/// How long after a change a file system may still report the metadata from before it. sshfs keeps metadata for 20 seconds
/// and NFS for 60 (`acregmax` in nfs(5)), unless the user asked for more.
const LAG_NS: i64 = 120_000_000_000;

/// How much two times with fractions of a second differ at least if they are different times.
const FINE_NS: i64 = 1_000_000;

/// How much two times differ at least if one of them may have been rounded: SFTP has whole seconds, FAT even ones.
const COARSE_NS: i64 = 2_000_000_000;

/// How many files with times like its own a file is compared with before it is taken for a view of one of them.
const MOST: usize = 1_000;

/// The metadata of a file by which a view of it is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    device: u64,
    storage: Storage,
    size: u64,
    mtime_ns: i64,
    ctime_ns: i64,
}

/// Where the files of a file system are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    /// On the file system itself.
    Own,
    /// On other file systems of this machine, whose metadata is passed on as it is (overlayfs).
    Stacked,
    /// Anywhere. Metadata may come from a cache.
    Foreign,
}

impl Storage {
    fn of(volume: &Volume, device: u64) -> Storage {
        match (volume.is_local(device), volume.is_stacked()) {
            (true, false) => Storage::Own,
            (true, true) => Storage::Stacked,
            (false, _) => Storage::Foreign,
        }
    }
}

impl Sight {
    /// Returns that of a file with this metadata, on a file system of this kind.
    pub fn new(stat: &Stat, volume: &Volume) -> Sight {
        let &Stat { device, size, ctime_ns, .. } = stat;
        let storage = Storage::of(volume, device);
        Sight { device, storage, size, mtime_ns: stat.mtime_ns(), ctime_ns }
    }

    /// Returns that of a file of a tree.
    pub fn of(tree: &Tree, file: FileId) -> Sight {
        let record = tree.file(file);
        let device = tree.device_of(record.dir);
        Sight {
            device: device.number,
            storage: Storage::of(&device.volume, device.number),
            size: record.size,
            mtime_ns: record.mtime_ns,
            ctime_ns: record.ctime_ns,
        }
    }

    /// Returns whether the file is on a file system that can show files of others.
    pub fn may_be_view(&self) -> bool {
        self.storage != Storage::Own
    }

    /// Returns whether the ctime is one: SFTP has none, and sshfs reports the mtime in its place.
    fn has_ctime(&self) -> bool {
        self.storage == Storage::Own || self.ctime_ns != self.mtime_ns && self.ctime_ns != 0
    }

    /// Returns whether this and another file have different times.
    fn has_other_times(&self, other: &Sight) -> bool {
        let have_ctimes = self.has_ctime() && other.has_ctime();
        are_different(self.mtime_ns, other.mtime_ns)
            || have_ctimes && are_different(self.ctime_ns, other.ctime_ns)
    }
}

/// Returns whether two times are different ones, if either of them may have been rounded.
fn are_different(one_ns: i64, other_ns: i64) -> bool {
    let is_rounded = |ns: i64| ns % 1_000_000_000 == 0;
    let least = if is_rounded(one_ns) || is_rounded(other_ns) { COARSE_NS } else { FINE_NS };
    one_ns.abs_diff(other_ns) >= least.unsigned_abs()
}

/// Files of which others may be views.
#[derive(Debug)]
pub struct Views {
    by_device: HashMap<u64, Shown>,
    now_ns: i64,
}

/// The files of a device.
#[derive(Debug)]
struct Shown {
    storage: Storage,
    files: BTreeSet<(u64, i64, i64)>,
    /// Sizes of those that changed a moment ago.
    fresh: HashSet<u64>,
}

impl Default for Views {
    fn default() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Views::at(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl Views {
    /// Returns none yet, at a time in nanoseconds since the epoch.
    fn at(now_ns: i64) -> Views {
        Views { by_device: HashMap::new(), now_ns }
    }

    /// Adds a file.
    pub fn add(&mut self, sight: &Sight) {
        let is_fresh = self.is_fresh(sight);
        let shown = self.by_device.entry(sight.device).or_insert_with(|| Shown {
            storage: sight.storage,
            files: BTreeSet::new(),
            fresh: HashSet::new(),
        });
        shown.files.insert((sight.size, sight.mtime_ns, sight.ctime_ns));
        if is_fresh {
            shown.fresh.insert(sight.size);
        }
    }

    /// Returns whether a file may be the same as one that was added.
    pub fn has(&self, sight: &Sight) -> bool {
        let is_fresh = self.is_fresh(sight);
        let others = self.by_device.iter().filter(|(device, _)| **device != sight.device);
        others.map(|(_, shown)| shown).any(|shown| shown.has(sight, is_fresh))
    }

    /// Returns whether a file changed so recently that a cache may have it as it was before.
    fn is_fresh(&self, sight: &Sight) -> bool {
        sight.ctime_ns > self.now_ns.saturating_sub(LAG_NS)
    }
}

impl Shown {
    fn has(&self, sight: &Sight, is_fresh: bool) -> bool {
        let Sight { size, mtime_ns, storage, .. } = *sight;
        if (storage, self.storage) == (Storage::Own, Storage::Own) {
            return false;
        }
        if storage == Storage::Foreign && self.fresh.contains(&size)
            || self.storage == Storage::Foreign && is_fresh && self.has_size(size)
        {
            return true;
        }
        let least = (size, mtime_ns.saturating_sub(COARSE_NS), i64::MIN);
        let most = (size, mtime_ns.saturating_add(COARSE_NS), i64::MAX);
        let mut alike = self.files.range(least..=most).enumerate();
        alike.any(|(at, &(size, mtime_ns, ctime_ns))| {
            let shown = Sight { device: 0, storage: self.storage, size, mtime_ns, ctime_ns };
            at == MOST || !sight.has_other_times(&shown)
        })
    }

    fn has_size(&self, size: u64) -> bool {
        let all = (size, i64::MIN, i64::MIN)..=(size, i64::MAX, i64::MAX);
        self.files.range(all).next().is_some()
    }
}

/// Returns whether files of a tree are on file systems that can show files of others.
pub fn may_have_views(tree: &Tree) -> bool {
    let mut devices = tree.devices().iter();
    devices.any(|device| Storage::of(&device.volume, device.number) != Storage::Own)
}

/// Returns by file, in the order of `sights`, whether it may be a view of another one of them that counts. Of two that
/// may be the same file, the one that is on its own file system counts, or the first one. `None` stands for a file that
/// is certainly no view.
pub fn views_among(sights: &[Option<Sight>]) -> Vec<bool> {
    let mut counted = Views::default();
    let mut is_view = vec![false; sights.len()];
    let all = || sights.iter().enumerate().filter_map(|(at, sight)| Some((at, sight.as_ref()?)));
    if !all().any(|(_, sight)| sight.may_be_view()) {
        return is_view;
    }
    for are_candidates in [false, true] {
        for (at, sight) in all().filter(|(_, sight)| sight.may_be_view() == are_candidates) {
            is_view[at] = counted.has(sight);
            if !is_view[at] {
                counted.add(sight);
            }
        }
    }
    is_view
}

#[cfg(test)]
mod tests {
    use super::{LAG_NS, Sight, Storage, Views, views_among};

    const SECOND: i64 = 1_000_000_000;
    const NOW: i64 = 1_000_000 * SECOND;
    const OLD: i64 = NOW - 2 * LAG_NS + 123_456_789;

    fn sight(device: u64, storage: Storage, mtime_ns: i64, ctime_ns: i64) -> Sight {
        Sight { device, storage, size: 9, mtime_ns, ctime_ns }
    }

    fn may_be_same(one: &Sight, other: &Sight) -> bool {
        let may_be = |one: &Sight, other: &Sight| {
            let mut views = Views::at(NOW);
            views.add(one);
            views.has(other)
        };
        assert_eq!(may_be(one, other), may_be(other, one), "{one:?} {other:?}");
        may_be(one, other)
    }

    #[test]
    fn a_view_passes_times_on() {
        let file = sight(1, Storage::Own, OLD, OLD + SECOND);
        let whole = OLD / SECOND * SECOND;
        for (view, why) in [
            (sight(2, Storage::Foreign, OLD, OLD + SECOND), "bindfs, mergerfs"),
            (sight(2, Storage::Stacked, OLD, OLD + SECOND), "overlayfs"),
            (sight(2, Storage::Foreign, whole, whole), "sshfs"),
            (sight(2, Storage::Foreign, whole, 0), "no ctime"),
        ] {
            assert!(may_be_same(&file, &view), "{why}");
        }
    }

    #[test]
    fn files_with_other_times_are_others() {
        let file = sight(1, Storage::Own, OLD, OLD + SECOND);
        let whole = OLD / SECOND * SECOND;
        for (other, why) in [
            (sight(2, Storage::Own, OLD, OLD + SECOND), "no view at all"),
            (sight(1, Storage::Foreign, OLD, OLD + SECOND), "the inode number tells"),
            (sight(2, Storage::Foreign, OLD, OLD + SECOND + 5_000_000), "copied with its mtime"),
            (sight(2, Storage::Foreign, whole - 3 * SECOND, whole - 3 * SECOND), "another mtime"),
            (sight(2, Storage::Foreign, OLD, NOW), "copied a moment ago"),
            (Sight { size: 8, ..file }, "another size"),
        ] {
            assert!(!may_be_same(&file, &other), "{why}");
        }
    }

    #[test]
    fn a_cache_may_have_the_times_from_before_a_change() {
        let fresh = sight(1, Storage::Own, NOW - SECOND, NOW - SECOND);
        assert!(may_be_same(&fresh, &sight(2, Storage::Foreign, OLD, OLD + SECOND)));
        assert!(!may_be_same(&fresh, &sight(2, Storage::Stacked, OLD, OLD + SECOND)), "no cache");
        let [one, other] = [2, 3].map(|device| sight(device, Storage::Foreign, OLD, OLD));
        assert!(may_be_same(&Sight { ctime_ns: NOW, ..one }, &other));
    }

    #[test]
    fn of_a_file_and_its_views_one_counts() {
        let view = sight(2, Storage::Foreign, OLD, OLD);
        let file = Sight { device: 1, storage: Storage::Own, ..view };
        let copy = Sight { mtime_ns: OLD - 9 * SECOND, ..view };
        let again = Sight { device: 3, ..view };
        assert_eq!(views_among(&[view, file, copy, again].map(Some)), [true, false, false, true]);
        assert_eq!(views_among(&[again, view].map(Some)), [false, true]);
        assert_eq!(views_among(&[None, Some(view)]), [false, false]);
    }
}
