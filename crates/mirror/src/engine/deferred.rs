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
use crate::engine::entry::Name;
use crate::engine::task::PutOff;
use crate::engine::task::Task;
use crate::engine::worker::Worker;
use crate::model::change::Differs;
use crate::model::settled::Failure;
use crate::model::settled::Settled;

/// Files that are put off, and names that wait for one of them to have another, before no more directories are
/// listed; each takes some 400 bytes at most, and holds its directory.
const MOST: usize = 16 << 10;

/// Files that are fetched while one is copied, and bytes of each.
const AHEAD: usize = 32;
const FETCHED: u64 = 1 << 20;

/// Bytes that take longer to read than to get at. A file of more that has other names is not put off, as all who
/// come to these meanwhile leave them with it: 16 threads took 28 MB instead of 13 for files of 32,766 names each.
const LONG: u64 = 1 << 20;

impl Worker<'_> {
    /// Returns whether a file was put off, as its content lies on a disk with an arm.
    pub(crate) fn puts_off(
        &mut self,
        name: Name<'_>,
        source: &File,
        stat: &Stat,
        instead: Option<Differs>,
    ) -> bool {
        let is_read = stat.size > 0 && !name.site.manner.clones;
        let is_waited_for = stat.links > 1 && stat.size > LONG;
        if !is_read || is_waited_for || self.at_once || !self.job.goes_by_place() {
            return false;
        }
        // What lies nowhere need not be waited for; many file systems that do not tell number their files in
        // about the order in which they lie.
        let place = source.place(0).map_or(stat.inode, Option::unwrap_or_default);
        let put_off = PutOff { waiter: name.waiter(), stat: *stat, instead, place };
        let number = self.job.put_off.fetch_add(1, Relaxed) + 1;
        self.job.queue.enqueue_sorted(&mut vec![Task::Copy(Arc::new(put_off))]);
        if number == probe::FILES {
            self.try_disk();
        }
        true
    }

    /// Copies a file that was put off, and those that lie behind it.
    pub(crate) fn make_up(&mut self, first: &Arc<PutOff>, meter: &mut WaitMeter<'_>) {
        let mut ahead = VecDeque::from([self.fetch(first)]);
        while let Some((put_off, source)) = ahead.pop_front() {
            while ahead.len() < AHEAD
                && !self.job.queue.is_to_rest()
                && let Some(Task::Copy(next)) = self.job.queue.take_if(Task::is_copy)
            {
                ahead.push_back(self.fetch(&next));
            }
            self.make_up_one(&put_off, source);
            self.count();
            meter.tick();
        }
    }

    /// Has the disk fetch the beginning of a file.
    fn fetch(&mut self, put_off: &Arc<PutOff>) -> (Arc<PutOff>, Result<File, Failure>) {
        self.job.put_off.fetch_sub(1, Relaxed);
        let source = if self.stopped() { Err(None) } else { self.source_file(put_off.name()) };
        if let Ok(source) = &source {
            source.fetch(0, put_off.stat.size.min(FETCHED));
        }
        (Arc::clone(put_off), source)
    }

    fn make_up_one(&mut self, put_off: &PutOff, source: Result<File, Failure>) {
        let PutOff { waiter, stat, instead, .. } = put_off;
        let name = put_off.name();
        let copied = source.and_then(|source| self.copy(name, &source, stat, instead.is_some()));
        if copied.is_ok() {
            self.note_made(name, stat, *instead);
        }
        self.conclude(name, stat, copied.map(Settled::Is));
        self.deal_with_later();
        self.leave(&waiter.shared.site);
    }

    /// Copies what was put off, if that, and what waits for it, is as much as may be.
    pub(crate) fn make_up_if_many(&mut self, meter: &mut WaitMeter<'_>) {
        let job = self.job;
        if job.put_off.load(Relaxed) + job.links.waiting() < MOST {
            return;
        }
        if let Some(Task::Copy(first)) = job.queue.take_if(Task::is_copy) {
            self.make_up(&first, meter);
        }
    }
}
