//! Finds out by looking at files whether the disk has an arm, before it is decided in which order to go.
//!
//! Fetched are inodes and directories that are far from each other ([`device::Probe`]). How long threads waited
//! before tells nothing: what they waited for was in part beside each other, and the kernel had fetched some
//! of it in advance.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use device::{Probe, spread};
use runtime::ThreadUsage;

use crate::job::Task;
use crate::nodes::NodeId;
use crate::sweep::{Place, look, places};
use crate::window::Window;
use crate::worker::Worker;

/// Blocks of 512 bytes that take hardly longer than one. Of ext4 the kernel fetches 256 blocks of inodes
/// where it needs one, and for those an SSD takes its time too.
const LITTLE: u64 = 64;

/// Where so many fetches were larger, the next ones are too.
const IN_VAIN: usize = 2 * Probe::READS;

/// Something that may have to be fetched.
#[derive(Clone, Copy, Debug)]
enum Look {
    /// The inode of a name.
    Name(Place),
    /// A directory that is not listed yet.
    Dir(NodeId),
}

/// Looks at inodes of the names in windows, and at directories that wait, until the disk is settled, or none
/// is left: what comes from the cache tells nothing.
pub(crate) fn run(worker: &mut Worker<'_>, windows: &[Window]) {
    let job = worker.job;
    worker.stack.extend(job.queue.drain());
    let dirs = worker.stack.iter().filter_map(|task| match *task {
        Task::Empty { dir, place: 0, .. } => Some(Look::Dir(dir)),
        _ => None,
    });
    let looks: Vec<Look> = dirs.chain(places(windows).into_iter().map(Look::Name)).collect();
    let in_vain = AtomicUsize::new(0);
    let fetch = |worker: &mut Worker<'_>, what| {
        if worker.stopped() || in_vain.load(Relaxed) > IN_VAIN {
            return None;
        }
        fetched(&in_vain, || take(worker, windows, what))
    };
    let looks: Vec<Look> = spread(looks.len()).map(|n| looks[n]).collect();
    if let Some(probe) = Probe::run(&looks, || Worker::new(job), fetch) {
        job.disk.classify(probe);
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

/// Returns how long something took that had to be fetched, if that was little. Counts what was much.
fn fetched(in_vain: &AtomicUsize, what: impl FnOnce()) -> Option<Duration> {
    let before = ThreadUsage::now().blocks_fetched;
    let start = Instant::now();
    what();
    let took = start.elapsed();
    let blocks = ThreadUsage::now().blocks_fetched - before;
    if blocks > LITTLE {
        in_vain.fetch_add(1, Relaxed);
    }
    (1..=LITTLE).contains(&blocks).then_some(took)
}
