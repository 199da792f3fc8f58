//! Detects aliases: second paths to files that are already known.
//!
//! FUSE file systems (sshfs, mergerfs, bindfs), network file systems and overlayfs can show a
//! directory of this machine a second time, with a different device number and different inode
//! numbers. A file in such a directory looks like a copy, but vanishes when the original file is
//! deleted. The kernel does not reveal which file an alias refers to, so [`AliasDetector`] compares
//! the metadata that an alias shares with its file: size, mtime and ctime. It treats two files as
//! different only if their metadata differs in a way that caching cannot explain.
//!
//! Inode numbers usually distinguish the files of one device. However, FUSE file systems may invent
//! inode numbers, and an SFTP server may show a directory under two paths because it follows
//! symbolic links or shares a home directory twice. [`AliasDetector::within_devices`] allows for
//! that. Use it if a user may delete files based on the result.
//!
//! An alias whose mtime differs from that of the file (`rclone mount --no-modtime`) is not
//! detected.

use std::collections::{BTreeSet, HashMap, HashSet};

use fsops::{Ctimes, Stat, Volume};
use runtime::epoch::now_ns;
use walk::{FileId, Tree};

/// Maximum time for which a file system may report old metadata after a change. sshfs caches
/// metadata for 20 seconds and NFS for 60 (`acregmax` in nfs(5)), unless the user asked for more.
const MAX_CACHE_LAG_NS: i64 = 120_000_000_000;

/// Modification times are compared modulo this period, because SFTP stores seconds as unsigned
/// 32-bit numbers.
const MTIME_PERIOD_NS: i64 = 1_000_000_000 << 32;

/// Smallest significant difference between two times that both have fractions of a second.
const MIN_FINE_DIFFERENCE_NS: i64 = 1_000_000;

/// Smallest significant difference between two times if one of them may have been rounded. SFTP
/// stores whole seconds, and FAT stores multiples of two seconds.
const MIN_COARSE_DIFFERENCE_NS: i64 = 2_000_000_000;

/// Maximum number of files with a similar mtime to compare a file with. If more files have a
/// similar mtime, the file counts as an alias of one of them.
const MAX_COMPARED_FILES: usize = 1_000;

/// The metadata that a file shares with its aliases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AliasKey {
    device: u64,
    storage: Storage,
    /// True if inode numbers distinguish the files on this file's device.
    is_numbered: bool,
    /// True if the ctime is real. SFTP has no ctime, so sshfs reports the mtime instead.
    has_ctime: bool,
    size: u64,
    mtime_ns: i64,
    ctime_ns: i64,
}

/// Creates the [`AliasKey`]s of files on the mounted file systems.
#[derive(Debug)]
pub struct AliasKeyReader(Ctimes);

/// The place where a file system stores its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    /// On the file system itself.
    Own,
    /// On other file systems (overlayfs). With `metacopy=on`, a file has its own times but shares
    /// its bytes with a lower file. The times of such a file therefore distinguish it only from
    /// other files on an overlayfs.
    Stacked,
    /// Possibly on another file system. Metadata may come from a cache.
    Foreign,
}

impl Storage {
    fn of(volume: &Volume, device: u64) -> Storage {
        match (volume.is_local(device), volume.is_stacked()) {
            (_, true) => Storage::Stacked,
            (true, false) => Storage::Own,
            (false, false) => Storage::Foreign,
        }
    }
}

impl AliasKeyReader {
    /// Reads the mount table.
    pub fn read() -> AliasKeyReader {
        AliasKeyReader(Ctimes::read())
    }

    /// Returns the key of a file with this metadata on this file system.
    pub fn of_stat(&self, stat: &Stat, volume: &Volume) -> AliasKey {
        let &Stat { device, size, ctime_ns, .. } = stat;
        self.key(device, volume, [size.cast_signed(), stat.mtime_ns(), ctime_ns])
    }

    /// Returns the key of a file in a tree.
    pub fn of(&self, tree: &Tree, file: FileId) -> AliasKey {
        let (record, key) = (tree.file(file), tree.key(file));
        let volume = &tree.device_of(record.dir).volume;
        let metadata = [record.size.cast_signed(), record.mtime_ns, record.ctime_ns];
        self.key(key.device, volume, metadata)
    }

    fn key(&self, device: u64, volume: &Volume, [size, mtime_ns, ctime_ns]: [i64; 3]) -> AliasKey {
        let storage = Storage::of(volume, device);
        AliasKey {
            device,
            storage,
            is_numbered: volume.keeps_inode_numbers(),
            has_ctime: self.0.are_real(volume, device) || ctime_ns != mtime_ns && ctime_ns != 0,
            size: size.cast_unsigned(),
            mtime_ns: mtime_ns.rem_euclid(MTIME_PERIOD_NS),
            ctime_ns,
        }
    }
}

impl AliasKey {
    /// Returns whether the file is on a file system that can show files of another file system.
    pub fn may_be_alias(&self) -> bool {
        self.storage != Storage::Own
    }

    /// Returns whether this file and another one have different times.
    fn has_other_times(&self, other: &AliasKey) -> bool {
        let have_ctimes = self.has_ctime && other.has_ctime;
        are_different(self.mtime_ns, other.mtime_ns)
            || have_ctimes && are_different(self.ctime_ns, other.ctime_ns)
    }
}

/// Returns whether two times differ by more than rounding can explain.
fn are_different(one_ns: i64, other_ns: i64) -> bool {
    let is_rounded = |ns: i64| ns % 1_000_000_000 == 0;
    let least = if is_rounded(one_ns) || is_rounded(other_ns) {
        MIN_COARSE_DIFFERENCE_NS
    } else {
        MIN_FINE_DIFFERENCE_NS
    };
    one_ns.abs_diff(other_ns) >= least.unsigned_abs()
}

/// Known files, whose aliases can be detected.
#[derive(Debug)]
pub struct AliasDetector {
    by_device: HashMap<u64, DeviceFiles>,
    /// True if files on the same device can be aliases of each other when inode numbers do not
    /// distinguish them.
    within_devices: bool,
    now_ns: i64,
}

/// The known files of a device.
#[derive(Debug)]
struct DeviceFiles {
    storage: Storage,
    /// Size, mtime and ctime of each file, and whether the ctime is real.
    files: BTreeSet<(u64, i64, i64, bool)>,
    /// Sizes of files that changed so recently that a cache may still have their old metadata.
    fresh: HashSet<u64>,
}

impl Default for AliasDetector {
    fn default() -> Self {
        AliasDetector::at(now_ns())
    }
}

impl AliasDetector {
    /// Returns a detector without files. `now_ns` is in nanoseconds since the epoch.
    fn at(now_ns: i64) -> AliasDetector {
        AliasDetector { by_device: HashMap::new(), within_devices: false, now_ns }
    }

    /// Returns an empty detector that also treats files on the same device as possible aliases of
    /// each other, unless inode numbers distinguish them.
    pub fn within_devices() -> AliasDetector {
        AliasDetector { within_devices: true, ..AliasDetector::default() }
    }

    /// Adds a file.
    pub fn add(&mut self, key: &AliasKey) {
        let is_fresh = self.is_fresh(key);
        let known = self.by_device.entry(key.device).or_insert_with(|| DeviceFiles {
            storage: key.storage,
            files: BTreeSet::new(),
            fresh: HashSet::new(),
        });
        let AliasKey { size, mtime_ns, ctime_ns, has_ctime, .. } = *key;
        known.files.insert((size, mtime_ns, ctime_ns, has_ctime));
        if is_fresh {
            known.fresh.insert(key.size);
        }
    }

    /// Returns whether a file may be an alias of a file that was added.
    pub fn has(&self, key: &AliasKey) -> bool {
        let is_fresh = self.is_fresh(key);
        let with_own = self.within_devices && !key.is_numbered;
        let is_other = |device: u64| device != key.device || with_own;
        let others = self.by_device.iter().filter(|(device, _)| is_other(**device));
        others.map(|(_, known)| known).any(|known| known.has(key, is_fresh))
    }

    /// Returns whether a file changed so recently that a cache may still have its old metadata.
    fn is_fresh(&self, key: &AliasKey) -> bool {
        key.ctime_ns > self.now_ns.saturating_sub(MAX_CACHE_LAG_NS)
    }
}

impl DeviceFiles {
    fn has(&self, key: &AliasKey, is_fresh: bool) -> bool {
        let AliasKey { size, mtime_ns, storage, .. } = *key;
        if (storage, self.storage) == (Storage::Own, Storage::Own) {
            return false;
        }
        if (storage == Storage::Stacked) != (self.storage == Storage::Stacked) {
            return self.has_size(size);
        }
        if storage == Storage::Foreign && self.fresh.contains(&size)
            || self.storage == Storage::Foreign && is_fresh && self.has_size(size)
        {
            return true;
        }
        let least = (size, mtime_ns.saturating_sub(MIN_COARSE_DIFFERENCE_NS), i64::MIN, false);
        let most = (size, mtime_ns.saturating_add(MIN_COARSE_DIFFERENCE_NS), i64::MAX, true);
        let mut alike = self.files.range(least..=most).enumerate();
        alike.any(|(at, &(_, mtime_ns, ctime_ns, has_ctime))| {
            at == MAX_COMPARED_FILES
                || !key.has_other_times(&AliasKey { has_ctime, mtime_ns, ctime_ns, ..*key })
        })
    }

    fn has_size(&self, size: u64) -> bool {
        let all = (size, i64::MIN, i64::MIN, false)..=(size, i64::MAX, i64::MAX, true);
        self.files.range(all).next().is_some()
    }
}

/// Returns whether a tree has directories on file systems that can show files of other file
/// systems.
pub fn may_have_aliases(tree: &Tree) -> bool {
    let mut devices = tree.devices().iter();
    devices.any(|device| device.volume.shows_others(device.number))
}

/// Returns, for each key, whether its file may be an alias of a file that has already been counted.
/// If several keys may belong to the same file, only one counts: the first key on a file system
/// that stores its own files or, if there is none, the first of all. `None` stands for a file that
/// is certainly not an alias.
pub fn aliases_among(keys: &[Option<AliasKey>]) -> Vec<bool> {
    let mut counted = AliasDetector::default();
    let mut is_alias = vec![false; keys.len()];
    let all = || keys.iter().enumerate().filter_map(|(at, key)| Some((at, key.as_ref()?)));
    if !all().any(|(_, key)| key.may_be_alias()) {
        return is_alias;
    }
    for are_candidates in [false, true] {
        for (at, key) in all().filter(|(_, key)| key.may_be_alias() == are_candidates) {
            is_alias[at] = counted.has(key);
            if !is_alias[at] {
                counted.add(key);
            }
        }
    }
    is_alias
}

#[cfg(test)]
mod tests {
    use super::{AliasDetector, AliasKey, MAX_CACHE_LAG_NS, Storage, aliases_among};

    const SECOND: i64 = 1_000_000_000;
    const NOW: i64 = 1_000_000 * SECOND;
    const OLD: i64 = NOW - 2 * MAX_CACHE_LAG_NS + 123_456_789;

    fn key(device: u64, storage: Storage, mtime_ns: i64, ctime_ns: i64) -> AliasKey {
        let has_ctime = storage != Storage::Foreign || ctime_ns != mtime_ns && ctime_ns != 0;
        AliasKey { device, storage, is_numbered: false, has_ctime, size: 9, mtime_ns, ctime_ns }
    }

    fn may_be_same(one: &AliasKey, other: &AliasKey) -> bool {
        let may_be = |one: &AliasKey, other: &AliasKey| {
            let mut detector = AliasDetector::at(NOW);
            detector.add(one);
            detector.has(other)
        };
        assert_eq!(may_be(one, other), may_be(other, one), "{one:?} {other:?}");
        may_be(one, other)
    }

    #[test]
    fn aliases_report_the_times_of_the_file() {
        let file = key(1, Storage::Own, OLD, OLD + SECOND);
        let whole = OLD / SECOND * SECOND;
        for (alias, why) in [
            (key(2, Storage::Foreign, OLD, OLD + SECOND), "bindfs, mergerfs"),
            (key(2, Storage::Stacked, OLD, OLD + SECOND), "overlayfs"),
            (key(2, Storage::Foreign, whole, whole), "sshfs"),
            (key(2, Storage::Foreign, whole, 0), "no ctime"),
        ] {
            assert!(may_be_same(&file, &alias), "{why}");
        }
    }

    #[test]
    fn an_overlay_may_change_the_times_of_a_file() {
        let file = key(1, Storage::Own, OLD, OLD);
        let upper = key(2, Storage::Stacked, OLD + 9 * SECOND, OLD + 9 * SECOND);
        assert!(may_be_same(&file, &upper), "metacopy=on");
        let layers = [upper, AliasKey { device: 3, mtime_ns: OLD, ..upper }];
        assert!(!may_be_same(&layers[0], &layers[1]), "two layers of one overlay");
    }

    #[test]
    fn sftp_times_have_32_bits() {
        let stat = |mtime: i64| mtime.rem_euclid(super::MTIME_PERIOD_NS);
        let file = key(1, Storage::Own, stat(-5 * SECOND), OLD);
        let seen = key(2, Storage::Foreign, stat(((1 << 32) - 5) * SECOND), stat(-5 * SECOND));
        assert!(may_be_same(&file, &AliasKey { has_ctime: false, ..seen }));
    }

    #[test]
    fn files_with_different_times_are_different_files() {
        let file = key(1, Storage::Own, OLD, OLD + SECOND);
        let whole = OLD / SECOND * SECOND;
        for (other, why) in [
            (key(2, Storage::Own, OLD, OLD + SECOND), "not an alias"),
            (key(1, Storage::Foreign, OLD, OLD + SECOND), "one device"),
            (AliasKey { has_ctime: true, ..key(2, Storage::Foreign, OLD, OLD) }, "a real ctime"),
            (key(2, Storage::Foreign, OLD, OLD + SECOND + 5_000_000), "copied with its mtime"),
            (key(2, Storage::Foreign, whole - 3 * SECOND, whole - 3 * SECOND), "another mtime"),
            (key(2, Storage::Foreign, OLD, NOW), "copied a moment ago"),
            (AliasKey { size: 8, ..file }, "another size"),
        ] {
            assert!(!may_be_same(&file, &other), "{why}");
        }
    }

    #[test]
    fn a_detector_within_devices_finds_aliases_on_one_device() {
        let file = key(1, Storage::Foreign, OLD, OLD);
        let mut detector = AliasDetector { within_devices: true, ..AliasDetector::at(NOW) };
        detector.add(&file);
        assert!(detector.has(&file));
        assert!(
            !detector.has(&AliasKey { is_numbered: true, ..file }),
            "inode numbers distinguish the files"
        );
        assert!(!detector.has(&AliasKey { mtime_ns: OLD - 9 * SECOND, ..file }));
    }

    #[test]
    fn a_cache_may_report_the_times_before_a_change() {
        let fresh = key(1, Storage::Own, NOW - SECOND, NOW - SECOND);
        assert!(may_be_same(&fresh, &key(2, Storage::Foreign, OLD, OLD + SECOND)));
        let [one, other] = [2, 3].map(|device| key(device, Storage::Foreign, OLD, OLD));
        assert!(may_be_same(&AliasKey { ctime_ns: NOW, ..one }, &other));
    }

    #[test]
    fn only_one_of_a_file_and_its_aliases_counts() {
        let alias = key(2, Storage::Foreign, OLD, OLD);
        let file = AliasKey { device: 1, storage: Storage::Own, ..alias };
        let copy = AliasKey { mtime_ns: OLD - 9 * SECOND, ..alias };
        let again = AliasKey { device: 3, ..alias };
        assert_eq!(
            aliases_among(&[alias, file, copy, again].map(Some)),
            [true, false, false, true]
        );
        assert_eq!(aliases_among(&[again, alias].map(Some)), [false, true]);
        assert_eq!(aliases_among(&[None, Some(alias)]), [false, false]);
    }
}
