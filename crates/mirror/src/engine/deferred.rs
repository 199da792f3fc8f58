//! Defers copies on a hard disk, so that files are read in the order in which they lie on the disk.
//!
//! The queue holds waiting directories by inode number, and behind them the files to copy by disk offset. Workers go
//! through it from the beginning to the end, and start over as long as it has tasks ([`device::Queue`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use device::WaitMeter;
use fsops::{File, Stat};

use crate::engine::disk_probe as probe;
use crate::engine::entry::Entry;
use crate::engine::task::{DeferredCopy, Task};
use crate::engine::worker::Worker;
use crate::model::settled::{Failure, Settled};
use wire::Differences;

/// The most deferred files, plus names that wait to be linked to one of them. With more, workers copy before they list
/// further directories. Each takes at most about 400 bytes, and keeps its directory in memory.
const MAX_DEFERRED: usize = 16 << 10;

/// The number of files that are prefetched while one is copied, and the bytes prefetched of each.
const PREFETCHED_FILES: usize = 32;
const PREFETCHED_BYTES: u64 = 1 << 20;

/// For files larger than this, reading takes longer than seeking. A larger file with several names is not deferred,
/// because every worker that meets another name leaves that name to wait: 16 threads took 28 MB instead of 13 for files
/// of 32,766 names each.
const MAX_DEFERRED_LINKED_BYTES: u64 = 1 << 20;

impl Worker<'_> {
    /// Defers the copy of a file if its content is on a hard disk, and returns whether it did.
    pub(crate) fn defer_copy(
        &mut self,
        entry: Entry<'_>,
        source: &File,
        stat: &Stat,
        replaces: Option<Differences>,
    ) -> bool {
        let is_read = stat.size > 0 && !entry.dir.traits.can_clone;
        let is_waited_for = stat.links > 1 && stat.size > MAX_DEFERRED_LINKED_BYTES;
        if !is_read || is_waited_for || self.copies_at_once || !self.job.uses_disk_order() {
            return false;
        }
        // A file without a disk offset need not wait. Many file systems that report no offsets number their files in
        // about the order in which they lie on the disk.
        let disk_offset = source.device_offset(0).map_or(stat.inode, Option::unwrap_or_default);
        let deferred = DeferredCopy { waiter: entry.waiter(), stat: *stat, replaces, disk_offset };
        let number = self.job.deferred_files.fetch_add(1, Relaxed) + 1;
        self.job.queue.enqueue_sorted(&mut vec![Task::Copy(Arc::new(deferred))]);
        if number == probe::PROBED_FILES {
            self.probe_disk();
        }
        true
    }

    /// Copies a deferred file, and the files behind it on the disk.
    pub(crate) fn copy_deferred(&mut self, first: &Arc<DeferredCopy>, meter: &mut WaitMeter<'_>) {
        let mut prefetched = VecDeque::from([self.fetch(first)]);
        while let Some((deferred, source)) = prefetched.pop_front() {
            while prefetched.len() < PREFETCHED_FILES
                && !self.job.queue.is_to_rest()
                && let Some(Task::Copy(next)) = self.job.queue.take_if(Task::is_copy)
            {
                prefetched.push_back(self.fetch(&next));
            }
            self.copy_one_deferred(&deferred, source);
            self.report_progress();
            meter.tick();
        }
    }

    /// Opens a deferred file and has the kernel prefetch its first bytes.
    fn fetch(
        &mut self,
        deferred: &Arc<DeferredCopy>,
    ) -> (Arc<DeferredCopy>, Result<File, Failure>) {
        self.job.deferred_files.fetch_sub(1, Relaxed);
        let source = if self.stopped() {
            Err(Failure::Stopped)
        } else {
            self.open_source_file(deferred.entry())
        };
        if let Ok(source) = &source {
            source.fetch(0, deferred.stat.size.min(PREFETCHED_BYTES));
        }
        (Arc::clone(deferred), source)
    }

    fn copy_one_deferred(&mut self, deferred: &DeferredCopy, source: Result<File, Failure>) {
        let DeferredCopy { waiter, stat, replaces, .. } = deferred;
        let entry = deferred.entry();
        let copied = source.and_then(|source| self.copy(entry, &source, stat, replaces.is_some()));
        if copied.is_ok() {
            self.record_created(entry, stat, *replaces);
        }
        self.conclude(entry, stat, copied.map(Settled::Done));
        self.process_waiters();
        self.release_dir(&waiter.shared.dir);
    }

    /// Copies deferred files if there are too many of them, counting the names that wait for them.
    pub(crate) fn copy_deferred_if_many(&mut self, meter: &mut WaitMeter<'_>) {
        let job = self.job;
        if job.deferred_files.load(Relaxed) + job.link_groups.waiting() < MAX_DEFERRED {
            return;
        }
        if let Some(Task::Copy(first)) = job.queue.take_if(Task::is_copy) {
            self.copy_deferred(&first, meter);
        }
    }
}
