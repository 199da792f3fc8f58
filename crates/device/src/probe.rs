//! Measures random reads from a disk, first one at a time and then several in parallel.
//!
//! Parallel reads are much faster on an SSD, but hardly faster on a hard disk
//! ([`crate::Disk::classify`]).

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use runtime::{Mutex, spawn_with_own_descriptors};

/// Number of reads in flight in the parallel part of a probe.
const PARALLEL: u32 = 8;

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Median time of a read with no other read in flight.
    pub single: Duration,
    /// Mean time per read with 8 reads in flight, which is the mean latency divided by 8.
    pub parallel: Duration,
}

impl Probe {
    /// Number of reads in each part.
    pub const READS: usize = 24;

    /// Measures how long it takes to read `things`, which should be spread over the disk. `fetch`
    /// reads one thing and returns the time taken, or `None` if the data did not come from the
    /// disk. `own` creates the state that a thread passes to `fetch`.
    ///
    /// Returns `None` unless at least [`Probe::READS`] reads in each part came from the disk.
    pub fn run<T: Copy + Sync, O>(
        things: &[T],
        own: impl Fn() -> O + Sync,
        fetch: impl Fn(&mut O, T) -> Option<Duration> + Sync,
    ) -> Option<Probe> {
        let (mut rest, mut times, mut first) = (things.iter(), Vec::new(), own());
        while times.len() < Probe::READS {
            times.extend(fetch(&mut first, *rest.next()?));
        }
        times.sort_unstable();
        let single = times[times.len() / 2];
        let (things, next, times) = (rest.as_slice(), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let so_far = || times.lock();
        let one = || {
            let mut own = own();
            while so_far().len() < Probe::READS {
                let Some(&thing) = things.get(next.fetch_add(1, Relaxed)) else { return };
                let time = fetch(&mut own, thing);
                so_far().extend(time);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..PARALLEL {
                // If some threads fail to start, a hard disk may be mistaken for an SSD. The scan
                // is then slower but still correct.
                let _unstarted = spawn_with_own_descriptors(scope, one);
            }
        });
        let times = times.into_inner();
        let number = u32::try_from(times.len()).unwrap_or(u32::MAX);
        // This is the mean and not the median, because a disk may serve some requests quickly and
        // delay others.
        let parallel = times.iter().sum::<Duration>() / number.max(1) / PARALLEL;
        (times.len() >= Probe::READS).then_some(Probe { single, parallel })
    }
}

/// Returns each number below `len` once, in an order in which consecutive numbers are far apart.
pub fn spread(len: usize) -> impl Iterator<Item = usize> + Clone {
    // The step is about 0.618 times a prime. Modulo that prime, its multiples include each number
    // exactly once.
    let steps = (len..=2 * len + 2).find(|&n| is_prime(n)).unwrap_or(1);
    let step = (steps * 618 / 1000).max(1);
    (0..steps).map(move |n| n * step % steps).filter(move |&n| n < len)
}

fn is_prime(n: usize) -> bool {
    n > 1 && (2..n).take_while(|by| by * by <= n).all(|by| !n.is_multiple_of(by))
}

#[cfg(test)]
mod tests {
    use runtime::Mutex;
    use std::time::Duration;

    use super::{Probe, spread};

    const READS: usize = Probe::READS;

    #[test]
    fn probe_detects_serialized_reads() {
        let head = Mutex::new(());
        let fetch = |(): &mut (), n: usize| {
            let start = std::time::Instant::now();
            let _turn = head.lock();
            std::thread::sleep(Duration::from_millis(2));
            // Every other item is in memory.
            n.is_multiple_of(2).then(|| start.elapsed())
        };
        let things: Vec<usize> = (0..5 * READS).collect();
        let Probe { single, parallel } = Probe::run(&things, || (), fetch).expect("enough");
        assert!(parallel * 3 > single, "{single:?} {parallel:?}");
    }

    #[test]
    fn too_few_reads_give_no_result() {
        let fetch = |(): &mut (), _: usize| Some(Duration::from_millis(1));
        for number in [0, READS, 2 * READS - 1] {
            let things: Vec<usize> = (0..number).collect();
            assert_eq!(Probe::run(&things, || (), fetch), None);
        }
        let things: Vec<usize> = (0..2 * READS).collect();
        let (single, parallel) = (Duration::from_millis(1), Duration::from_micros(125));
        assert_eq!(Probe::run(&things, || (), fetch), Some(Probe { single, parallel }));
    }

    #[test]
    fn spread_numbers_occur_once_and_neighbours_are_far_apart() {
        for len in 0..200 {
            let mut met: Vec<usize> = spread(len).collect();
            let apart = |pair: &[usize]| pair[0].abs_diff(pair[1]) > len / 5;
            assert!(len < 40 || met.windows(2).all(apart), "{met:?}");
            met.sort_unstable();
            assert!(met.into_iter().eq(0..len));
        }
    }
}
