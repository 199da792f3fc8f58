//! Finds out by looking at files whether the disk has an arm, before it is decided in which order to go.
//!
//! Inodes and directories that are far from each other are fetched one by one, and then several at once: an SSD is much
//! faster at that, an arm is not (`device::Lane::judge`). How long threads waited before tells nothing: what
//! they waited for was in part beside each other, and the kernel had fetched some of it in advance.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use device::Trial;
use fsops::{ThreadUsage, own_descriptor_table};

use crate::job::{Job, Task};
use crate::nodes::NodeId;
use crate::sweep::{Place, look, places};
use crate::window::Window;
use crate::worker::Worker;

/// Blocks of 512 bytes that take hardly longer than one. Of ext4 the kernel fetches 256 blocks of inodes
/// where it needs one, and for those an SSD takes its time too.
const LITTLE: u64 = 64;

/// Inodes that had to be fetched one by one, and at least as many together.
const READS: usize = 24;

/// How many at once when together.
const TOGETHER: u32 = 8;

/// Something that may have to be fetched.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// The inode of a name.
    Name(Place),
    /// A directory that is not listed yet.
    Dir(NodeId),
}

/// Looks at inodes of the names in windows, and at directories that wait, until the lane is settled, or none
/// is left: what comes from the cache tells nothing.
pub(crate) fn run(worker: &mut Worker<'_>, windows: &[Window]) {
    let job = worker.job;
    worker.stack.extend(job.queue.drain());
    let dirs = worker.stack.iter().filter_map(|task| match *task {
        Task::Empty { dir, place: 0, .. } => Some(Look::Dir(dir)),
        _ => None,
    });
    let looks: Vec<Look> = dirs.chain(places(windows).into_iter().map(Look::Name)).collect();
    let looks = scattered(&looks);
    let (mut next, mut times) = (looks.iter(), Vec::new());
    while times.len() < READS {
        let Some(&what) = next.next() else { return };
        times.extend(fetched(|| take(worker, windows, what)));
    }
    if let Some(together) = at_once(job, windows, next.as_slice()) {
        job.lane.judge(Trial { alone: median(times), together });
    }
}

fn take(worker: &mut Worker<'_>, windows: &[Window], what: Look) {
    match what {
        Look::Name(place) => look(worker, windows, place),
        Look::Dir(id) => {
            // What is wrong with it shows when its turn comes.
            let _seen = worker.open(id).and_then(|dir| dir.fetch_beginning());
        }
    }
}

/// Puts things in an order in which each is far from the one before.
fn scattered<T: Copy>(all: &[T]) -> Vec<T> {
    // Steps of the golden section; with a prime number of them each is met once.
    let steps = (all.len()..=2 * all.len() + 2).find(|&n| is_prime(n)).unwrap_or(1);
    let step = (steps * 618 / 1000).max(1);
    (0..steps).filter_map(|n| all.get(n * step % steps).copied()).collect()
}

fn is_prime(n: usize) -> bool {
    n > 1 && (2..n).take_while(|by| by * by <= n).all(|by| !n.is_multiple_of(by))
}

/// Returns how long something took that had to be fetched, if that was little.
fn fetched(what: impl FnOnce()) -> Option<Duration> {
    let before = ThreadUsage::now().blocks_fetched;
    let start = Instant::now();
    what();
    let took = start.elapsed();
    let blocks = ThreadUsage::now().blocks_fetched - before;
    (1..=LITTLE).contains(&blocks).then_some(took)
}

/// Returns the median time of looks that come together, divided by the number of those that come at a time;
/// none if few had to be fetched.
fn at_once(job: &Job<'_>, windows: &[Window], looks: &[Look]) -> Option<Duration> {
    let (next, times) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let times_so_far = || times.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for _ in 0..TOGETHER {
            let one = || {
                own_descriptor_table();
                let mut worker = Worker::new(job);
                while times_so_far().len() < READS {
                    let Some(&what) = looks.get(next.fetch_add(1, Relaxed)) else { return };
                    let time = fetched(|| take(&mut worker, windows, what));
                    times_so_far().extend(time);
                }
            };
            // With fewer of them an SSD may be found where there is an arm; that costs time, and no more.
            let _unstarted = std::thread::Builder::new().spawn_scoped(scope, one);
        }
    });
    let times = times.into_inner().unwrap_or_else(PoisonError::into_inner);
    (times.len() >= READS).then(|| median(times) / TOGETHER)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::scattered;

    #[test]
    fn every_place_is_met_once_and_neighbours_are_not_neighbours() {
        for all in 0..200 {
            let places: Vec<u32> = (0..all).collect();
            let mut met = scattered(&places);
            let apart = |pair: &[u32]| pair[0].abs_diff(pair[1]) > all / 5;
            assert!(all < 40 || met.windows(2).all(apart), "{met:?}");
            met.sort_unstable();
            assert_eq!(met, places);
        }
    }
}
