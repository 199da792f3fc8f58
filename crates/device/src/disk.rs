//! A physical disk, its measured properties, and the strategy for reading from it.

use runtime::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::disk_info::DiskInfo;
use crate::probe::Probe;

/// Type of storage according to the user (`--io`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// No type was given, so lop detects it.
    #[default]
    Auto,
    /// A hard disk, with nothing cached.
    Hdd,
    /// An SSD, with nothing cached.
    Ssd,
    /// Everything is in the page cache.
    Cached,
}

/// A disk counts as cold once threads have waited for it this long. In this time, a hard disk
/// performs three seeks, and an SSD about 300 reads. Scans with a warm cache also wait, for locks
/// and memory, but less often and for less time.
const COLD: Duration = Duration::from_millis(30);

/// Amount of processor time that cancels a wait, as a multiple of the waiting time.
///
/// Under memory pressure, the kernel drops a few files from the cache. Fetching them again must not
/// switch a scan to the strategy for cold disks. With that strategy, a scan that had to fetch 600
/// of 180,000 files took a quarter longer.
const WORK_PER_WAIT: u32 = 4;

/// A cold disk counts as warm again once threads have worked on it this long, all together, without
/// fetching anything.
///
/// The wait that made the disk cold was then an exception, for example a few pages that had been
/// evicted, read while another process kept the disk busy.
const WARM: Duration = Duration::from_millis(30);

/// A disk on which parallel reads are at least this many times as fast as single reads is not a
/// hard disk.
///
/// With 8 requests in flight, a hard disk can serve the nearest request first, which makes it 1.5
/// to 2 times as fast as with one request at a time. For an SSD, the factor is 4 to 8.
const SPEED_UP: u32 = 3;

/// Minimum time that a single random read takes on a hard disk. This is used if [`SPEED_UP`] does
/// not rule out a hard disk. The value is half the access time of the fastest hard disks.
const SLOW: Duration = Duration::from_millis(2);

/// A random read that takes less time than this cannot have come from a hard disk. The rotational
/// delay alone averages at least 2 ms.
///
/// The value is much smaller than 2 ms because the benchmarks simulate a hard disk with a scaled
/// clock.
const FAST: Duration = Duration::from_micros(150);

/// Number of threads on a cold disk, each with [`AHEAD`] requests in flight.
///
/// On a virtual SSD with 154,000 files, 8 threads took a tenth longer, and so did 32 threads with
/// one request each. On the simulated hard disk, where requests are issued in disk order, the times
/// with 2 to 16 threads are within 3 % of each other.
const DEPTH: usize = 16;

/// Number of requests that a thread on a cold disk issues in advance. The thread does not wait for
/// these requests, so they need no additional threads. Values of 4 and 16 were no faster.
const AHEAD: usize = 8;

/// Properties of a disk, and the measurements that show them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskProfile {
    /// The kernel's description of the disk.
    pub info: DiskInfo,
    /// True if data had to be fetched from the disk.
    pub cold: bool,
    /// True if lop treated the disk as a hard disk.
    pub seek_bound: bool,
    /// Result of the probe, if there was one.
    pub probe: Option<Probe>,
    /// Total time that threads waited for the disk.
    pub waited: Duration,
}

/// A physical disk. The server behind a network file system also counts as a disk.
#[derive(Debug)]
pub struct Disk {
    info: DiskInfo,
    io: Io,
    /// Waiting time minus the part that work has cancelled. Once this reaches [`COLD`], work no
    /// longer reduces it. [`Disk::note_cached`] resets it.
    level_ns: AtomicU64,
    waited_ns: AtomicU64,
    /// Time for which threads have worked since they last fetched data.
    unfetched_ns: AtomicU64,
    /// [`NOT_SEEK_BOUND`], [`SEEK_BOUND`], or 0 if the disk is not classified.
    seek_bound: AtomicU8,
    probe: Mutex<Option<Probe>>,
}

const NOT_SEEK_BOUND: u8 = 1;
const SEEK_BOUND: u8 = 2;

impl Disk {
    fn new(info: DiskInfo, io: Io) -> Disk {
        let seek_bound = match io {
            Io::Auto => 0,
            Io::Hdd => SEEK_BOUND,
            Io::Ssd | Io::Cached => NOT_SEEK_BOUND,
        };
        let [level_ns, waited_ns, unfetched_ns] = [const { AtomicU64::new(0) }; 3];
        let (seek_bound, probe) = (AtomicU8::new(seek_bound), Mutex::new(None));
        Disk { info, io, level_ns, waited_ns, unfetched_ns, seek_bound, probe }
    }

    /// Returns the disk's name, which is unique among disks.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns true if lop detects the type of the disk, and false if the user specified it.
    pub fn is_auto(&self) -> bool {
        self.io == Io::Auto
    }

    /// Returns true if data has to be read from the disk because it is not in the page cache.
    pub fn is_cold(&self) -> bool {
        match self.io {
            Io::Auto => self.level_ns.load(Relaxed) >= nanos(COLD),
            Io::Hdd | Io::Ssd => true,
            Io::Cached => false,
        }
    }

    /// Returns true if this is a block device. The kernel counts fetched pages only for block
    /// devices.
    pub fn is_block_device(&self) -> bool {
        self.info.rotates.is_some()
    }

    /// Records that a thread waited for the disk.
    pub fn note_wait(&self, time: Duration) {
        self.level_ns.fetch_add(nanos(time), Relaxed);
        self.waited_ns.fetch_add(nanos(time), Relaxed);
    }

    /// Records that a thread worked without waiting for the disk.
    pub fn note_work(&self, time: Duration) {
        let less = |waited: u64| {
            let warm = waited < nanos(COLD);
            warm.then(|| waited.saturating_sub(nanos(time / WORK_PER_WAIT)))
        };
        let _settled = self.level_ns.fetch_update(Relaxed, Relaxed, less);
    }

    /// Records that a thread was busy for some time, and whether it fetched data from the disk in that
    /// time.
    pub fn note_sample(&self, busy: Duration, has_fetched: bool) {
        if has_fetched {
            self.unfetched_ns.store(0, Relaxed);
        } else if self.is_auto() && self.is_cold() {
            let before = self.unfetched_ns.fetch_add(nanos(busy), Relaxed);
            if before + nanos(busy) >= nanos(WARM) {
                self.unfetched_ns.store(0, Relaxed);
                self.note_cached();
            }
        }
    }

    /// Records that some data was not in the page cache. The disk counts as cold.
    pub fn note_cold(&self) {
        self.level_ns.fetch_max(nanos(COLD), Relaxed);
    }

    /// Records that all data to be read from now on is in the page cache. The disk counts as warm.
    pub fn note_cached(&self) {
        self.level_ns.store(0, Relaxed);
    }

    /// Returns true if random reads on the disk need a seek. Until the disk is classified, the
    /// answer is based on the type reported by the kernel.
    pub fn is_seek_bound(&self) -> bool {
        match self.seek_bound.load(Relaxed) {
            NOT_SEEK_BOUND => false,
            SEEK_BOUND => true,
            _ => self.info.rotates == Some(true),
        }
    }

    /// Returns true if the answer of [`Disk::is_seek_bound`] is final, because it comes from a
    /// probe or from the user.
    pub fn is_classified(&self) -> bool {
        self.seek_bound.load(Relaxed) != 0
    }

    /// Uses the result of a probe to decide whether the disk is seek-bound.
    ///
    /// The type given in `/sys` is used unless the probe contradicts it. Slow reads that gain
    /// little from parallelism indicate a hard disk. Fast reads, or a large gain from parallelism,
    /// rule out a hard disk.
    pub fn classify(&self, probe: Probe) {
        let faster = probe.single < FAST || probe.parallel * SPEED_UP <= probe.single;
        let seek_bound =
            if self.info.rotates == Some(true) { !faster } else { probe.single >= SLOW && !faster };
        self.seek_bound.store(if seek_bound { SEEK_BOUND } else { NOT_SEEK_BOUND }, Relaxed);
        *self.probe.lock() = Some(probe);
    }

    /// Returns the maximum useful number of threads on a machine with `processors` processors.
    pub fn depth(&self, processors: usize) -> usize {
        if self.io == Io::Cached { processors } else { processors.max(DEPTH) }
    }

    /// Returns the number of requests that a thread should issue in advance.
    pub fn prefetch_depth(&self) -> usize {
        if self.is_cold() { AHEAD } else { 1 }
    }

    /// Returns the number of bytes that can be read sequentially in the time that one access takes.
    ///
    /// For cached data, an access is a system call. On an SSD it is one of several parallel
    /// requests, and on a hard disk it is a seek.
    pub fn quantum(&self) -> u64 {
        match (self.is_cold(), self.is_seek_bound()) {
            (false, _) => 16 << 10,
            (true, false) => 128 << 10,
            (true, true) => 1 << 20,
        }
    }

    /// Returns what is known about the disk.
    pub fn profile(&self) -> DiskProfile {
        DiskProfile {
            info: self.info.clone(),
            cold: self.is_cold(),
            seek_bound: self.is_seek_bound(),
            probe: *self.probe.lock(),
            waited: Duration::from_nanos(self.waited_ns.load(Relaxed)),
        }
    }
}

/// The disks of all files seen so far.
#[derive(Debug, Default)]
pub struct Disks {
    io: Io,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_number: HashMap<u64, Arc<Disk>>,
    /// All disks, in the order in which they were first used.
    all: Vec<Arc<Disk>>,
}

impl Disks {
    /// Returns an empty set of disks. `io` is the type of storage that the user specified.
    pub fn new(io: Io) -> Disks {
        Disks { io, known: Mutex::default() }
    }

    /// Returns the disk that holds the device with this number (encoded as in
    /// [`fsops::Stat::device`]).
    pub fn of(&self, number: u64) -> Arc<Disk> {
        let mut known = self.known.lock();
        if let Some(disk) = known.by_number.get(&number) {
            return Arc::clone(disk);
        }
        let info = DiskInfo::of(number);
        let same = known.all.iter().find(|disk| disk.info.name == info.name).map(Arc::clone);
        let disk = same.unwrap_or_else(|| {
            let disk = Arc::new(Disk::new(info, self.io));
            known.all.push(Arc::clone(&disk));
            disk
        });
        known.by_number.insert(number, Arc::clone(&disk));
        disk
    }

    /// Returns the profile of each disk, in the order in which the disks were first used.
    pub fn profiles(&self) -> Vec<DiskProfile> {
        let known = self.known.lock();
        known.all.iter().map(|disk| disk.profile()).collect()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{COLD, Disk, Disks, Io, Probe, WARM};
    use crate::disk_info::DiskInfo;

    fn disk(rotates: Option<bool>, io: Io) -> Disk {
        Disk::new(DiskInfo { name: "sdx".into(), rotates }, io)
    }

    fn probe(alone_us: u64, together_us: u64) -> Probe {
        let micros = Duration::from_micros;
        Probe { single: micros(alone_us), parallel: micros(together_us) }
    }

    #[test]
    fn probe_overrides_wrong_reports_of_the_kernel() {
        let cases = [
            // A hard disk, reported correctly, without a type, or as the wrong type.
            (Some(true), probe(12_000, 7_000), true),
            (None, probe(12_000, 7_000), true),
            (Some(false), probe(9_000, 5_000), true),
            // An SSD, a virtual SSD that is reported as rotational, an SSD so fast that two
            // processors gain little from parallel reads, and a remote server.
            (Some(false), probe(90, 15), false),
            (Some(true), probe(900, 120), false),
            (Some(true), probe(50, 25), false),
            (None, probe(4_000, 600), false),
            // A disk that is slower than an SSD and faster than a hard disk, reported as not
            // rotational.
            (Some(false), probe(900, 700), false),
        ];
        for (rotates, probe, seek_bound) in cases {
            let disk = disk(rotates, Io::Auto);
            assert_eq!(disk.is_seek_bound(), rotates == Some(true), "before a probe");
            assert!(!disk.is_classified());
            disk.classify(probe);
            assert!(disk.is_classified());
            assert_eq!(disk.is_seek_bound(), seek_bound, "{rotates:?}, {probe:?}");
            assert_eq!(disk.profile().probe, Some(probe));
        }
    }

    #[test]
    fn waits_make_a_disk_cold_until_pages_are_cached() {
        let disk = disk(Some(false), Io::Auto);
        disk.note_wait(COLD / 2);
        assert!(!disk.is_cold());
        disk.note_wait(COLD / 2);
        assert!(disk.is_cold());
        assert_eq!((disk.prefetch_depth() > 1, disk.quantum()), (true, 128 << 10));
        disk.note_cached();
        assert!(!disk.is_cold());
        assert_eq!((disk.prefetch_depth(), disk.quantum()), (1, 16 << 10));
        disk.note_cold();
        assert!(disk.is_cold());
    }

    #[test]
    fn few_waits_leave_a_disk_warm() {
        let disk = disk(Some(false), Io::Auto);
        for _ in 0..100 {
            disk.note_wait(COLD / 4);
            disk.note_work(COLD * 3);
        }
        assert!(!disk.is_cold());
        // Once a disk counts as cold, work does not make it warm again.
        for _ in 0..4 {
            disk.note_wait(COLD / 2);
            disk.note_work(COLD);
        }
        assert!(disk.is_cold());
        disk.note_work(COLD * 100);
        assert!(disk.is_cold());
    }

    #[test]
    fn a_cold_disk_is_warm_again_after_work_without_fetches() {
        let disk = disk(Some(true), Io::Auto);
        disk.note_cold();
        disk.note_sample(WARM / 2, false);
        assert!(disk.is_cold());
        disk.note_sample(WARM / 4, true);
        disk.note_sample(WARM * 3 / 4, false);
        assert!(disk.is_cold(), "a fetch starts the time again");
        disk.note_sample(WARM, false);
        assert!(!disk.is_cold());
    }

    #[test]
    fn user_overrides_the_detected_type() {
        for (io, cold, seek_bound) in
            [(Io::Hdd, true, true), (Io::Ssd, true, false), (Io::Cached, false, false)]
        {
            let disk = disk(None, io);
            disk.note_wait(Duration::from_secs(1));
            assert_eq!((disk.is_cold(), disk.is_seek_bound()), (cold, seek_bound), "{io:?}");
            assert!(disk.is_classified() && !disk.is_auto());
            assert_eq!(disk.depth(2) > 2, cold);
            assert_eq!(disk.depth(100), 100);
        }
    }

    #[test]
    fn device_numbers_map_to_disks() {
        let disks = Disks::new(Io::Auto);
        let here = fsops::Stat::of_path(".".as_ref()).expect("metadata").device;
        let proc = fsops::Stat::of_path("/proc/self".as_ref()).expect("metadata").device;
        assert!(std::sync::Arc::ptr_eq(&disks.of(here), &disks.of(here)));
        assert!(!std::sync::Arc::ptr_eq(&disks.of(here), &disks.of(proc)));
        assert_eq!(disks.profiles().len(), 2);
    }
}
