//! Defers the copying of files on a hard disk, so that files are read in the order of their positions on the disk.
//!
//! The queue holds directories sorted by inode number, followed by the files to copy, sorted by disk offset. Workers
//! take tasks in this order, and return to the start of the queue as long as tasks remain ([`device::Queue`]).

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

/// Maximum number of deferred files plus names that wait to be linked to them. Above this number, workers copy files
/// before they list more directories. Each deferred file or waiting name takes at most about 400 bytes and keeps its
/// directory in memory.
const MAX_DEFERRED: usize = 16 << 10;

/// Number of files that are prefetched while one is copied, and number of bytes to prefetch from each.
const PREFETCHED_FILES: usize = 32;
const PREFETCHED_BYTES: u64 = 1 << 20;

/// Maximum size of a hard-linked file that is deferred. Reading a larger file takes longer than seeking to it, so
/// deferring the file gains little, while all of its other names wait in memory until it is copied. For files with
/// 32,766 names each, 16 threads then needed 28 MB instead of 13 MB.
const MAX_DEFERRED_LINKED_BYTES: u64 = 1 << 20;

impl Worker<'_> {
    /// Defers the copy of a file if its content is on a hard disk. Returns true if the copy was deferred.
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
        // A file without a disk offset does not have to wait, so it gets offset 0. If the file system cannot report
        // offsets, inode numbers are used, because many of these file systems number files roughly in disk order.
        let disk_offset = source.device_offset(0).map_or(stat.inode, Option::unwrap_or_default);
        let deferred = DeferredCopy { waiter: entry.waiter(), stat: *stat, replaces, disk_offset };
        let number = self.job.deferred_files.fetch_add(1, Relaxed) + 1;
        self.job.queue.enqueue_sorted(&mut vec![Task::Copy(Arc::new(deferred))]);
        if number == probe::PROBED_FILES {
            self.probe_disk();
        }
        true
    }

    /// Copies a deferred file, and then the files that follow it on the disk.
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

    /// Opens a deferred file and asks the kernel to prefetch its first bytes.
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

    /// Copies deferred files if too many files are deferred or too many names wait for them.
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
