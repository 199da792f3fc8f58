//! One physical device: what is known of it, and how to work on it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::disk_info::DiskInfo;
use crate::probe::Probe;

/// What the user says of the storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// Nothing: it is found out.
    #[default]
    Auto,
    /// It has an arm and nothing of it is cached.
    Hdd,
    /// It has no arm and nothing of it is cached.
    Ssd,
    /// It is all in the page cache.
    Cached,
}

/// What is to be seen of waiting before a device counts as cold: three movements of an arm, or some
/// three hundred reads of an SSD. A scan in a warm cache has waits too, for locks and for memory, but
/// shorter and fewer ones.
const COLD: Duration = Duration::from_millis(30);

/// How much work makes up for a wait, by its time.
///
/// Where memory is short a file here and there has left the cache. That is no reason to work as if
/// none were in it: where 600 of 180,000 files had to be fetched, the scan took a quarter longer.
const WORK_PER_WAIT: u32 = 4;

/// How much faster reads have to come of several requests at once to tell that there is no arm.
///
/// A disk that serves the nearest of 8 first gets through them 1.5 to 2 times as fast as one by
/// one, an SSD 4 to 8 times.
const SPEED_UP: u32 = 3;

/// The least time that an arm takes for a read at a random place, if it is not to be told from an
/// SSD by [`SPEED_UP`]: half of what the fastest disks take.
const SLOW: Duration = Duration::from_millis(2);

/// A read at a random place that is faster than this never waited for an arm: the platter single
/// takes 2 ms for half a turn.
///
/// It is well below that for the sake of the arm that lop is measured with, whose time is scaled.
const FAST: Duration = Duration::from_micros(150);

/// Threads kept at work on a cold device, each with [`AHEAD`] requests in flight.
///
/// Measured on a virtual SSD, 154,000 files: 8 threads take a tenth longer, 32 threads with one
/// request each too. On the simulated disk with an arm, where requests are handed out in order of
/// place, 2 to 16 threads are within 3 % of each other.
const DEPTH: usize = 16;

/// Requests that a thread sends in advance while it works on others, on a cold device. They cost no
/// thread and no wait; 4 and 16 were no faster.
const AHEAD: usize = 8;

/// What was concluded about a device, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskProfile {
    /// The disk.
    pub info: DiskInfo,
    /// Whether anything had to be fetched from it.
    pub cold: bool,
    /// Whether it was taken to have an arm.
    pub seek_bound: bool,
    /// What was measured of it, if anything.
    pub probe: Option<Probe>,
    /// How long threads were seen waiting for it, added up.
    pub waited: Duration,
}

/// One physical device.
#[derive(Debug)]
pub struct Disk {
    info: DiskInfo,
    io: Io,
    /// How long threads waited, less what their work makes up for; from [`COLD`] on only upwards,
    /// until [`Disk::note_cached`].
    level_ns: AtomicU64,
    waited_ns: AtomicU64,
    /// 0 if it is not settled whether there is an arm, 1 if there is none, 2 if there is one.
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
        let (level_ns, waited_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        let (seek_bound, probe) = (AtomicU8::new(seek_bound), Mutex::new(None));
        Disk { info, io, level_ns, waited_ns, seek_bound, probe }
    }

    /// Returns the name of its disk, which no other disk has.
    pub fn name(&self) -> &str {
        &self.info.name
    }

    /// Returns whether what it is like is found out, rather than said by the user.
    pub fn is_auto(&self) -> bool {
        self.io == Io::Auto
    }

    /// Returns whether anything has to be fetched from the device.
    pub fn is_cold(&self) -> bool {
        match self.io {
            Io::Auto => self.level_ns.load(Relaxed) >= nanos(COLD),
            Io::Hdd | Io::Ssd => true,
            Io::Cached => false,
        }
    }

    /// Returns whether the kernel counts what is fetched from it.
    pub fn is_block_device(&self) -> bool {
        self.info.rotates.is_some()
    }

    /// Notes that a thread has waited for the device.
    pub fn note_wait(&self, time: Duration) {
        self.level_ns.fetch_add(nanos(time), Relaxed);
        self.waited_ns.fetch_add(nanos(time), Relaxed);
    }

    /// Notes that a thread has worked without waiting for the device.
    pub fn note_work(&self, time: Duration) {
        let less = |waited: u64| {
            let warm = waited < nanos(COLD);
            warm.then(|| waited.saturating_sub(nanos(time / WORK_PER_WAIT)))
        };
        let _settled = self.level_ns.fetch_update(Relaxed, Relaxed, less);
    }

    /// Notes that something was found not to be cached.
    pub fn note_cold(&self) {
        self.level_ns.fetch_max(nanos(COLD), Relaxed);
    }

    /// Notes that what is to be read from now on was found to be cached, whatever was not before.
    pub fn note_cached(&self) {
        self.level_ns.store(0, Relaxed);
    }

    /// Returns whether there is an arm, as far as that is known.
    pub fn is_seek_bound(&self) -> bool {
        match self.seek_bound.load(Relaxed) {
            NOT_SEEK_BOUND => false,
            SEEK_BOUND => true,
            _ => self.info.rotates == Some(true),
        }
    }

    /// Returns whether it is known already whether there is an arm, or made no difference.
    pub fn is_classified(&self) -> bool {
        self.seek_bound.load(Relaxed) != 0
    }

    /// Settles whether there is an arm.
    ///
    /// What `/sys` says stands unless the probe speaks against it: for an arm if reads take long
    /// and are not much faster parallel, against one if they are much faster parallel.
    pub fn classify(&self, probe: Probe) {
        let faster = probe.single < FAST || probe.parallel * SPEED_UP <= probe.single;
        let seek_bound =
            if self.info.rotates == Some(true) { !faster } else { probe.single >= SLOW && !faster };
        self.seek_bound.store(if seek_bound { SEEK_BOUND } else { NOT_SEEK_BOUND }, Relaxed);
        *self.probe.lock().unwrap_or_else(PoisonError::into_inner) = Some(probe);
    }

    /// Returns how many threads are of use at most, where there are `processors`.
    pub fn depth(&self, processors: usize) -> usize {
        if self.io == Io::Cached { processors } else { processors.max(DEPTH) }
    }

    /// Returns how many requests a thread sends in advance.
    pub fn prefetch_depth(&self) -> usize {
        if self.is_cold() { AHEAD } else { 1 }
    }

    /// Returns how many bytes are read in the time that it takes to get at any.
    ///
    /// In the page cache that is one more system call, on an SSD a request among many, on a disk the
    /// way of the arm.
    pub fn quantum(&self) -> u64 {
        match (self.is_cold(), self.is_seek_bound()) {
            (false, _) => 16 << 10,
            (true, false) => 128 << 10,
            (true, true) => 1 << 20,
        }
    }

    /// Returns what was concluded.
    pub fn profile(&self) -> DiskProfile {
        DiskProfile {
            info: self.info.clone(),
            cold: self.is_cold(),
            seek_bound: self.is_seek_bound(),
            probe: *self.probe.lock().unwrap_or_else(PoisonError::into_inner),
            waited: Duration::from_nanos(self.waited_ns.load(Relaxed)),
        }
    }
}

/// The disks of all devices met so far.
#[derive(Debug, Default)]
pub struct Disks {
    io: Io,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_number: HashMap<u64, Arc<Disk>>,
    /// In the order in which they were met.
    all: Vec<Arc<Disk>>,
}

impl Disks {
    /// Returns disks that find out what `io` does not say.
    pub fn new(io: Io) -> Disks {
        Disks { io, known: Mutex::default() }
    }

    /// Returns the disk of the disk that holds device `number` (packed as in
    /// [`fsops::Stat::device`]).
    pub fn of(&self, number: u64) -> Arc<Disk> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Returns what was concluded about each device, in the order in which they were met.
    pub fn profiles(&self) -> Vec<DiskProfile> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.all.iter().map(|disk| disk.profile()).collect()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{COLD, Disk, Disks, Io, Probe};
    use crate::disk_info::DiskInfo;

    fn disk(rotates: Option<bool>, io: Io) -> Disk {
        Disk::new(DiskInfo { name: "sdx".into(), rotates }, io)
    }

    fn probe(alone_us: u64, together_us: u64) -> Probe {
        let micros = Duration::from_micros;
        Probe { single: micros(alone_us), parallel: micros(together_us) }
    }

    #[test]
    fn a_trial_tells_whether_there_is_an_arm_whatever_the_kernel_says() {
        let cases = [
            // A hard disk; one behind a controller that says nothing, or the wrong thing.
            (Some(true), probe(12_000, 7_000), true),
            (None, probe(12_000, 7_000), true),
            (Some(false), probe(9_000, 5_000), true),
            // An SSD; a virtual one that says that it rotates; one that is too fast for two
            // processors to be much faster parallel; a server that is far away.
            (Some(false), probe(90, 15), false),
            (Some(true), probe(900, 120), false),
            (Some(true), probe(50, 25), false),
            (None, probe(4_000, 600), false),
            // Slow, but not as slow as an arm, and the kernel says that there is none.
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
    fn waits_make_a_disk_cold_and_a_look_at_the_cache_makes_it_warm() {
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
    fn a_few_waits_among_much_work_make_no_disk_cold() {
        let disk = disk(Some(false), Io::Auto);
        for _ in 0..100 {
            disk.note_wait(COLD / 4);
            disk.note_work(COLD * 3);
        }
        assert!(!disk.is_cold());
        // Once there were too many, work is no sign that there will be fewer.
        for _ in 0..4 {
            disk.note_wait(COLD / 2);
            disk.note_work(COLD);
        }
        assert!(disk.is_cold());
        disk.note_work(COLD * 100);
        assert!(disk.is_cold());
    }

    #[test]
    fn what_the_user_says_stands() {
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
    fn a_device_has_one_disk() {
        let disks = Disks::new(Io::Auto);
        let here = fsops::Stat::of_path(".".as_ref()).expect("metadata").device;
        let proc = fsops::Stat::of_path("/proc/self".as_ref()).expect("metadata").device;
        assert!(std::sync::Arc::ptr_eq(&disks.of(here), &disks.of(here)));
        assert!(!std::sync::Arc::ptr_eq(&disks.of(here), &disks.of(proc)));
        assert_eq!(disks.profiles().len(), 2);
    }
}
