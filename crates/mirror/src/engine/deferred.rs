//! Copies that are put off, to read a disk with an arm in the order in which files lie there.
//!
//! Directories that wait are in one line, by inode number, and files that are to be copied behind them, by
//! place: the line is gone through from its beginning to its end, and again as long as there is something in
//! it ([`device::Queue`]).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use device::WaitMeter;
use fsops::{File, Stat};

use crate::engine::disk_probe as probe;
use crate::engine::entry::Entry;
use crate::engine::task::{DeferredCopy, Task};
use crate::engine::worker::Worker;
use crate::model::change::Differences;
use crate::model::settled::{Failure, Settled};

/// Files that are put off, and names that wait for one of them to have another, before no more directories are
/// listed; each takes some 400 bytes at most, and holds its directory.
const MAX_DEFERRED: usize = 16 << 10;

/// Files that are fetched while one is copied, and bytes of each.
const PREFETCHED_FILES: usize = 32;
const PREFETCHED_BYTES: u64 = 1 << 20;

/// Bytes that take longer to read than to get at. A file of more that has other names is not put off, as all who
/// come to these meanwhile leave them with it: 16 threads took 28 MB instead of 13 for files of 32,766 names each.
const MAX_DEFERRED_LINKED_BYTES: u64 = 1 << 20;

impl Worker<'_> {
    /// Returns whether a file was put off, as its content lies on a disk with an arm.
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
        // What lies nowhere need not be waited for; many file systems that do not tell number their files in
        // about the order in which they lie.
        let disk_offset = source.place(0).map_or(stat.inode, Option::unwrap_or_default);
        let deferred = DeferredCopy { waiter: entry.waiter(), stat: *stat, replaces, disk_offset };
        let number = self.job.deferred_files.fetch_add(1, Relaxed) + 1;
        self.job.queue.enqueue_sorted(&mut vec![Task::Copy(Arc::new(deferred))]);
        if number == probe::PROBED_FILES {
            self.probe_disk();
        }
        true
    }

    /// Copies a file that was put off, and those that lie behind it.
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

    /// Has the disk fetch the beginning of a file.
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

    /// Copies what was put off, if that, and what waits for it, is as much as may be.
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
