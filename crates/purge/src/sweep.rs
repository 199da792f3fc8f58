//! Removal from a disk that has an arm and nothing in memory: what is needed is fetched in the order of the
//! disk, and then removed in that of the tree.
//!
//! Directory by directory the arm moves for nearly every name: what is in one directory of an old tree lies
//! all over the disk. So directories are listed in the order of their inodes until there are names enough,
//! and the blocks of the names' inodes are fetched in their order. Then these directories are removed, one
//! after the other.
//!
//! # Measured
//!
//! 100,000 names of 20 backups, ext4 on the simulated disk: it was busy for 4.1 to 4.2 s with `rm -rf`, 0.50 to
//! 1.3 s with this (78 movements of the arm and not 734), and 1.9 s with sixteen threads at it; so there is
//! one, as an arm can be at one place only. To remove the names in the order of their inodes, over all
//! directories, took 66 s: each block of a directory was changed again and again, and written with each
//! commit of the journal, where a directory that goes at once is hardly written at all.

use std::io::ErrorKind;

use fsops::Op;

use crate::Deed;
use crate::job::{Job, Tally, Task};
use crate::nodes::NodeId;
use crate::outcome::Reason;
use crate::probe;
use crate::window::Window;
use crate::worker::{Scratch, Worker};

/// Bytes of names, and of what is to be known of them, that a sweep is made of.
const ENOUGH: usize = 8 << 20;

/// Bytes that a directory takes besides.
const EACH: usize = 128;

/// Inodes in a block: of 256 bytes in 4096, as ext4 has them; others have more.
const INODES: u64 = 16;

/// So many directories are in line at most; others are gone into depth first, as without an arm. A tree of
/// millions of directories is not to take memory for each.
const LINE: usize = 1 << 14;

/// To directories so far below others it is a long way, if the one above is not open: of a chain of
/// directories a sweep has tens of thousands, and each look would go through all of them.
const FAR: usize = 256;

/// What is fetched in advance under a bound on the rate is to be removed in this time, in seconds. Later it
/// may have left the cache.
const SOON: u64 = 10;

/// Bytes of a window for each name, about.
const NAME: u64 = 32;

/// As many bytes have names enough to find out whether there is an arm at all: directories that are not
/// listed yet are of use for that too.
const SOME: usize = 4 << 10;

/// A name to be removed: its inode, the number of its window, and its number in that.
pub(crate) type Place = (u64, u32, u32);

/// Lists directories until there is enough to be removed, and removes that. Finds out before whether there
/// is an arm, if that is not known.
pub(crate) fn round(job: &Job<'_>, tally: &mut Tally) {
    let mut worker = Worker::new(job);
    let is_trial = !job.disk.is_classified();
    let windows = list(&mut worker, if is_trial { SOME } else { enough(job) }, LINE);
    if is_trial {
        probe::run(&mut worker, &windows);
        job.was_tried();
    }
    if job.disk.is_classified() && job.disk.is_seek_bound() {
        // Names alone are counted without it.
        if job.options.deed != Deed::Count {
            for place in places(&windows) {
                look(&mut worker, &windows, place);
            }
        }
        worker.tally.outcome.sweeps = 1;
    }
    remove(&mut worker, &windows);
    tally.add(vec![worker.end()]);
}

/// Returns how many bytes a sweep is made of.
fn enough(job: &Job<'_>) -> usize {
    let bound = job.options.throttle.rate().map(|rate| rate.get().saturating_mul(SOON * NAME));
    bound.map_or(ENOUGH, |bytes| ENOUGH.min(usize::try_from(bytes).unwrap_or(ENOUGH)))
}

/// Lists directories in the order of their inodes until there are `enough` bytes; `line` is as [`LINE`].
fn list(worker: &mut Worker<'_>, enough: usize, line: usize) -> Vec<Window> {
    let job = worker.job;
    let (mut windows, mut scratch, mut listed) = (Vec::new(), Scratch::default(), 0);
    job.queue.join();
    // What is left of the tree comes in order too.
    worker.stack = job.queue.drain();
    job.queue.enqueue_sorted(&mut worker.stack);
    while let Some(task) = job.queue.next(&mut worker.stack) {
        if let Task::Empty { dir, place, inode } = task {
            list_one(worker, (dir, place, inode), enough, &mut scratch);
            if scratch.window.len() > 0 {
                listed += scratch.window.bytes() + EACH;
                windows.push(std::mem::take(&mut scratch.window));
            }
        }
        if job.queue.in_line() + worker.stack.len() <= line {
            job.queue.enqueue_sorted(&mut worker.stack);
        }
        worker.count();
        if worker.stopped() || listed >= enough {
            // What is on the stack still is left for later.
            job.queue.close();
            break;
        }
    }
    windows
}

fn list_one(
    worker: &mut Worker<'_>,
    task: (NodeId, u64, u64),
    enough: usize,
    scratch: &mut Scratch,
) {
    let (id, place, inode) = task;
    scratch.window.clear();
    let Some(dir) = worker.enter(id, place) else { return };
    scratch.window.dir = id;
    let bottom = worker.stack.len();
    let enough = if worker.job.can_put_off { enough } else { usize::MAX };
    let rest = worker.fill(id, &dir, enough, scratch);
    drop(dir);
    if scratch.window.len() > 0 {
        // It is not finished before these are removed.
        worker.job.nodes().hold(id);
    }
    match rest {
        // First come those that were found: of millions there is to be no more than a part at a time.
        Some(place) => worker.stack.insert(bottom, Task::Empty { inode, dir: id, place }),
        None => worker.settle(id),
    }
}

/// Returns one name for each block of inodes, in the order of those.
pub(crate) fn places(windows: &[Window]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::with_capacity(windows.iter().map(Window::len).sum());
    for (number, window) in (0u32..).zip(windows) {
        places.extend(window.inodes().zip(0u32..).map(|(inode, at)| (inode, number, at)));
    }
    places.sort_unstable();
    places.dedup_by_key(|place| place.0 / INODES);
    places
}

/// Has the block of a name's inode fetched.
pub(crate) fn look(worker: &mut Worker<'_>, windows: &[Window], (_, window, at): Place) {
    if worker.stopped() {
        return;
    }
    let window = &windows[window as usize];
    if worker.held.get(window.dir).is_none() && worker.job.nodes().is_deeper(window.dir, FAR) {
        return;
    }
    // What is wrong with it shows when it is removed.
    let _seen = worker.open(window.dir).and_then(|dir| dir.stat_child(window.name(at as usize)));
}

/// Removes what was listed, one directory after the other.
fn remove(worker: &mut Worker<'_>, windows: &[Window]) {
    for window in windows {
        match worker.open(window.dir) {
            Ok(dir) => worker.remove_some(&dir, window, 0..window.len()),
            // Somebody else removed it.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(source) => worker.fail(window.dir, b"", Reason::Failed { op: Op::Open, source }),
        }
        if worker.stopped() {
            return;
        }
        worker.settle(window.dir);
        worker.count();
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::sync::Arc;

    use device::Io;
    use runtime::Progress;
    use testkit::{TempTree, TreeBuilder};

    use super::{enough, list};
    use crate::example::{options, top};
    use crate::job::{Job, Task};
    use crate::worker::Worker;
    use runtime::Throttle;

    /// Lists a tree of so many directories, with a file in each of the first twenty, until there is anything;
    /// returns how many had something, and what is left on the stack.
    fn list_some(dirs: u32) -> (usize, Vec<Task>) {
        let (tree, mut made) = (TempTree::new(), TreeBuilder::new());
        for n in 0..dirs {
            let name = n.to_string();
            made = if n < 20 { made.file(format!("{name}/file"), "") } else { made.dir(name) };
        }
        made.make(tree.path());
        let (options, progress) = (options(Io::Hdd), Progress::default());
        let mut job = Job::new(top(tree.path()), &options, &progress).expect("it is open");
        job.can_put_off = true;
        let mut worker = Worker::new(&job);
        let windows = list(&mut worker, 1, 1);
        (windows.len(), std::mem::take(&mut worker.stack))
    }

    #[test]
    fn a_sweep_ends_when_there_is_enough_whatever_else_waits() {
        let (windows, stack) = list_some(20);
        let untouched = |task: &&Task| matches!(task, Task::Empty { place: 0, .. });
        assert_eq!((windows, stack.iter().filter(untouched).count()), (1, 19));
    }

    #[test]
    fn of_a_wide_directory_a_part_is_listed_at_a_time() {
        let (_, stack) = list_some(10_000);
        let goes_on = |task: &Task| matches!(task, Task::Empty { place, .. } if *place > 0);
        assert!(stack.first().is_some_and(goes_on), "it was listed to its end");
    }

    #[test]
    fn no_more_is_fetched_in_advance_than_may_be_removed_soon() {
        let mut options = options(Io::Hdd);
        options.throttle = Arc::new(Throttle::new(NonZeroU64::new(10)));
        let (tree, progress) = (TempTree::new(), Progress::default());
        let job = Job::new(top(tree.path()), &options, &progress).expect("it is open");
        assert_eq!(enough(&job), 10 * 10 * 32);
    }
}
