//! A probe of a device: the same small things fetched one by one, and then several at once.
//!
//! An SSD is much faster at the latter, an arm is not ([`crate::Disk::classify`]).

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use runtime::own_descriptor_table;

/// How many at once when parallel.
const PARALLEL: u32 = 8;

/// Reads at random places, one by one and several at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What a read takes if none other waits, the median.
    pub single: Duration,
    /// What a read takes on average if others wait: the time of each by the number of those.
    pub parallel: Duration,
}

impl Probe {
    /// Things to be fetched one by one, and again as many parallel.
    pub const READS: usize = 24;

    /// Has things fetched from all over a device. `fetch` returns how long that took, or nothing if it
    /// was not fetched from there; each thread that calls it has something of its own, made by `own`.
    ///
    /// The result is nothing if too few had to be fetched.
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
        let so_far = || times.lock().unwrap_or_else(PoisonError::into_inner);
        let one = || {
            own_descriptor_table();
            let mut own = own();
            while so_far().len() < Probe::READS {
                let Some(&thing) = things.get(next.fetch_add(1, Relaxed)) else { return };
                let time = fetch(&mut own, thing);
                so_far().extend(time);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..PARALLEL {
                // With fewer of them an arm looks as if there were none; that costs time, and no more.
                let _unstarted = std::thread::Builder::new().spawn_scoped(scope, one);
            }
        });
        let times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
        let number = u32::try_from(times.len()).unwrap_or(u32::MAX);
        // A device may be fast with some as it lets others wait, so all of them count.
        let parallel = times.iter().sum::<Duration>() / number.max(1) / PARALLEL;
        (times.len() >= Probe::READS).then_some(Probe { single, parallel })
    }
}

/// Returns the numbers below `len`, each once, in an order in which each is far from the one before.
pub fn spread(len: usize) -> impl Iterator<Item = usize> + Clone {
    // Steps of the golden section; with a prime number of them each is met once.
    let steps = (len..=2 * len + 2).find(|&n| is_prime(n)).unwrap_or(1);
    let step = (steps * 618 / 1000).max(1);
    (0..steps).map(move |n| n * step % steps).filter(move |&n| n < len)
}

fn is_prime(n: usize) -> bool {
    n > 1 && (2..n).take_while(|by| by * by <= n).all(|by| !n.is_multiple_of(by))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::{Probe, spread};

    const READS: usize = Probe::READS;

    #[test]
    fn what_is_done_one_after_the_other_takes_as_long_together() {
        let head = Mutex::new(());
        let fetch = |(): &mut (), n: usize| {
            let start = std::time::Instant::now();
            let _turn = head.lock().expect("nobody panics");
            std::thread::sleep(Duration::from_millis(2));
            // Every other is in memory.
            n.is_multiple_of(2).then(|| start.elapsed())
        };
        let things: Vec<usize> = (0..5 * READS).collect();
        let Probe { single, parallel } = Probe::run(&things, || (), fetch).expect("enough");
        assert!(parallel * 3 > single, "{single:?} {parallel:?}");
    }

    #[test]
    fn few_things_are_no_trial() {
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
    fn every_number_is_met_once_and_neighbours_are_far_from_each_other() {
        for len in 0..200 {
            let mut met: Vec<usize> = spread(len).collect();
            let apart = |pair: &[usize]| pair[0].abs_diff(pair[1]) > len / 5;
            assert!(len < 40 || met.windows(2).all(apart), "{met:?}");
            met.sort_unstable();
            assert!(met.into_iter().eq(0..len));
        }
    }
}
