//! One physical device: what is known of it, and how to work on it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::disk::Disk;
use crate::trial::Trial;

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

/// A read at a random place that is faster than this never waited for an arm: the platter alone
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
pub struct Conclusion {
    /// The disk.
    pub disk: Disk,
    /// Whether anything had to be fetched from it.
    pub cold: bool,
    /// Whether it was taken to have an arm.
    pub arm: bool,
    /// What was measured of it, if anything.
    pub trial: Option<Trial>,
    /// How long threads were seen waiting for it, added up.
    pub waited: Duration,
}

/// One physical device.
#[derive(Debug)]
pub struct Lane {
    disk: Disk,
    io: Io,
    /// How long threads waited, less what their work makes up for; from [`COLD`] on only upwards,
    /// until [`Lane::note_cached`].
    level_ns: AtomicU64,
    waited_ns: AtomicU64,
    /// 0 if it is not settled whether there is an arm, 1 if there is none, 2 if there is one.
    arm: AtomicU8,
    trial: Mutex<Option<Trial>>,
}

const NO_ARM: u8 = 1;
const ARM: u8 = 2;

impl Lane {
    fn new(disk: Disk, io: Io) -> Lane {
        let arm = match io {
            Io::Auto => 0,
            Io::Hdd => ARM,
            Io::Ssd | Io::Cached => NO_ARM,
        };
        let (level_ns, waited_ns) = (AtomicU64::new(0), AtomicU64::new(0));
        let (arm, trial) = (AtomicU8::new(arm), Mutex::new(None));
        Lane { disk, io, level_ns, waited_ns, arm, trial }
    }

    /// Returns the name of its disk, which no other lane has.
    pub fn name(&self) -> &str {
        &self.disk.name
    }

    /// Returns whether what it is like is found out, rather than said by the user.
    pub fn finds_out(&self) -> bool {
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
        self.disk.rotates.is_some()
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
    pub fn has_arm(&self) -> bool {
        match self.arm.load(Relaxed) {
            NO_ARM => false,
            ARM => true,
            _ => self.disk.rotates == Some(true),
        }
    }

    /// Returns whether it is known already whether there is an arm, or made no difference.
    pub fn is_settled(&self) -> bool {
        self.arm.load(Relaxed) != 0
    }

    /// Settles whether there is an arm.
    ///
    /// What `/sys` says stands unless the trial speaks against it: for an arm if reads take long
    /// and are not much faster together, against one if they are much faster together.
    pub fn judge(&self, trial: Trial) {
        let faster = trial.alone < FAST || trial.together * SPEED_UP <= trial.alone;
        let arm =
            if self.disk.rotates == Some(true) { !faster } else { trial.alone >= SLOW && !faster };
        self.arm.store(if arm { ARM } else { NO_ARM }, Relaxed);
        *self.trial.lock().unwrap_or_else(PoisonError::into_inner) = Some(trial);
    }

    /// Returns how many threads are of use at most, where there are `processors`.
    pub fn depth(&self, processors: usize) -> usize {
        if self.io == Io::Cached { processors } else { processors.max(DEPTH) }
    }

    /// Returns how many requests a thread sends in advance.
    pub fn ahead(&self) -> usize {
        if self.is_cold() { AHEAD } else { 1 }
    }

    /// Returns how many bytes are read in the time that it takes to get at any.
    ///
    /// In the page cache that is one more system call, on an SSD a request among many, on a disk the
    /// way of the arm.
    pub fn quantum(&self) -> u64 {
        match (self.is_cold(), self.has_arm()) {
            (false, _) => 16 << 10,
            (true, false) => 128 << 10,
            (true, true) => 1 << 20,
        }
    }

    /// Returns what was concluded.
    pub fn conclusion(&self) -> Conclusion {
        Conclusion {
            disk: self.disk.clone(),
            cold: self.is_cold(),
            arm: self.has_arm(),
            trial: *self.trial.lock().unwrap_or_else(PoisonError::into_inner),
            waited: Duration::from_nanos(self.waited_ns.load(Relaxed)),
        }
    }
}

/// The lanes of all devices met so far.
#[derive(Debug, Default)]
pub struct Lanes {
    io: Io,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    by_number: HashMap<u64, Arc<Lane>>,
    /// In the order in which they were met.
    all: Vec<Arc<Lane>>,
}

impl Lanes {
    /// Returns lanes that find out what `io` does not say.
    pub fn new(io: Io) -> Lanes {
        Lanes { io, known: Mutex::default() }
    }

    /// Returns the lane of the disk that holds device `number` (packed as in
    /// [`fsops::Stat::device`]).
    pub fn of(&self, number: u64) -> Arc<Lane> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = known.by_number.get(&number) {
            return Arc::clone(lane);
        }
        let disk = Disk::of(number);
        let same = known.all.iter().find(|lane| lane.disk.name == disk.name).map(Arc::clone);
        let lane = same.unwrap_or_else(|| {
            let lane = Arc::new(Lane::new(disk, self.io));
            known.all.push(Arc::clone(&lane));
            lane
        });
        known.by_number.insert(number, Arc::clone(&lane));
        lane
    }

    /// Returns what was concluded about each device, in the order in which they were met.
    pub fn conclusions(&self) -> Vec<Conclusion> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.all.iter().map(|lane| lane.conclusion()).collect()
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{COLD, Io, Lane, Lanes, Trial};
    use crate::disk::Disk;

    fn lane(rotates: Option<bool>, io: Io) -> Lane {
        Lane::new(Disk { name: "sdx".into(), rotates }, io)
    }

    fn trial(alone_us: u64, together_us: u64) -> Trial {
        let micros = Duration::from_micros;
        Trial { alone: micros(alone_us), together: micros(together_us) }
    }

    #[test]
    fn a_trial_tells_whether_there_is_an_arm_whatever_the_kernel_says() {
        let cases = [
            // A hard disk; one behind a controller that says nothing, or the wrong thing.
            (Some(true), trial(12_000, 7_000), true),
            (None, trial(12_000, 7_000), true),
            (Some(false), trial(9_000, 5_000), true),
            // An SSD; a virtual one that says that it rotates; one that is too fast for two
            // processors to be much faster together; a server that is far away.
            (Some(false), trial(90, 15), false),
            (Some(true), trial(900, 120), false),
            (Some(true), trial(50, 25), false),
            (None, trial(4_000, 600), false),
            // Slow, but not as slow as an arm, and the kernel says that there is none.
            (Some(false), trial(900, 700), false),
        ];
        for (rotates, trial, arm) in cases {
            let lane = lane(rotates, Io::Auto);
            assert_eq!(lane.has_arm(), rotates == Some(true), "before a trial");
            assert!(!lane.is_settled());
            lane.judge(trial);
            assert!(lane.is_settled());
            assert_eq!(lane.has_arm(), arm, "{rotates:?}, {trial:?}");
            assert_eq!(lane.conclusion().trial, Some(trial));
        }
    }

    #[test]
    fn waits_make_a_lane_cold_and_a_look_at_the_cache_makes_it_warm() {
        let lane = lane(Some(false), Io::Auto);
        lane.note_wait(COLD / 2);
        assert!(!lane.is_cold());
        lane.note_wait(COLD / 2);
        assert!(lane.is_cold());
        assert_eq!((lane.ahead() > 1, lane.quantum()), (true, 128 << 10));
        lane.note_cached();
        assert!(!lane.is_cold());
        assert_eq!((lane.ahead(), lane.quantum()), (1, 16 << 10));
        lane.note_cold();
        assert!(lane.is_cold());
    }

    #[test]
    fn a_few_waits_among_much_work_make_no_lane_cold() {
        let lane = lane(Some(false), Io::Auto);
        for _ in 0..100 {
            lane.note_wait(COLD / 4);
            lane.note_work(COLD * 3);
        }
        assert!(!lane.is_cold());
        // Once there were too many, work is no sign that there will be fewer.
        for _ in 0..4 {
            lane.note_wait(COLD / 2);
            lane.note_work(COLD);
        }
        assert!(lane.is_cold());
        lane.note_work(COLD * 100);
        assert!(lane.is_cold());
    }

    #[test]
    fn what_the_user_says_stands() {
        for (io, cold, arm) in
            [(Io::Hdd, true, true), (Io::Ssd, true, false), (Io::Cached, false, false)]
        {
            let lane = lane(None, io);
            lane.note_wait(Duration::from_secs(1));
            assert_eq!((lane.is_cold(), lane.has_arm()), (cold, arm), "{io:?}");
            assert!(lane.is_settled() && !lane.finds_out());
            assert_eq!(lane.depth(2) > 2, cold);
            assert_eq!(lane.depth(100), 100);
        }
    }

    #[test]
    fn a_device_has_one_lane() {
        let lanes = Lanes::new(Io::Auto);
        let here = fsops::Stat::of_path(".".as_ref()).expect("metadata").device;
        let proc = fsops::Stat::of_path("/proc/self".as_ref()).expect("metadata").device;
        assert!(std::sync::Arc::ptr_eq(&lanes.of(here), &lanes.of(here)));
        assert!(!std::sync::Arc::ptr_eq(&lanes.of(here), &lanes.of(proc)));
        assert_eq!(lanes.conclusions().len(), 2);
    }
}
