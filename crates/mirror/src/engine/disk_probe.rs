//! Finds out whether the disk of the source is seek-bound by timing reads of deferred files. If it is not seek-bound,
//! no more files are deferred.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use device::{Probe, spread};
use runtime::ThreadUsage;

use crate::engine::task::{DeferredCopy, Task};
use crate::engine::worker::Worker;

/// Number of deferred files after which the disk is probed. This is twice the number of files that the probe reads,
/// because some files are cached.
pub(crate) const PROBED_FILES: usize = 4 * Probe::READS;

/// Maximum time to wait for other workers to finish their current tasks.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Size of a read in bytes. It is as small as possible, so that seeking takes most of the time.
const READ_BYTES: usize = 4096;

impl Worker<'_> {
    /// Probes the disk, unless it has been probed already or its kind is known.
    pub(crate) fn probe_disk(&self) {
        let job = self.job;
        if !job.disk.is_auto() || job.disk.is_classified() || job.is_disk_probed.swap(true, Relaxed)
        {
            return;
        }
        // Other workers must not read anything during the probe, including these files.
        let mut files: Vec<Arc<DeferredCopy>> = Vec::new();
        while let Some(Task::Copy(deferred)) = job.queue.take_if(Task::is_copy) {
            files.push(deferred);
        }
        job.queue.limit(1);
        let end = Instant::now() + IDLE_TIMEOUT;
        while !job.queue.is_one_at_work() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        let numbers: Vec<usize> = spread(files.len()).collect();
        let fetch = |worker: &mut Worker<'_>, n: usize| fetch(worker, &files[n]);
        if let Some(probe) = Probe::run(&numbers, || Worker::new(job, self.source), fetch) {
            job.disk.classify(probe);
        }
        job.limit_pool();
        job.queue.enqueue_sorted(&mut files.into_iter().map(Task::Copy).collect());
    }
}

/// Returns how long it took to read the first bytes of a file, or `None` if they were cached.
fn fetch(worker: &mut Worker<'_>, deferred: &DeferredCopy) -> Option<Duration> {
    if worker.stopped() {
        return None;
    }
    // A file that cannot be opened is reported when it is copied.
    let source = worker.open_source_file(deferred.entry()).ok()?;
    source.expect_single_reads();
    let (before, start) = (ThreadUsage::now().blocks_fetched, Instant::now());
    let _unread = source.read_at(&mut [0; READ_BYTES], 0);
    let took = start.elapsed();
    (ThreadUsage::now().blocks_fetched > before).then_some(took)
}
