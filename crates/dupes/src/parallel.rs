//! Runs workers over lists of items, on all disks at once. Each worker has its own open
//! directories, buffers and problems.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use device::{Disk, WaitMeter, WorkerPool};
use runtime::{Interrupted, spawn_with_own_descriptors};
use walk::{FileId, Problem};

use crate::work::Work;
use crate::worker::Worker;

/// A work item that reads one file and therefore belongs to that file's disk.
pub(crate) trait DiskItem: Sync {
    /// Returns the file.
    fn file(&self) -> FileId;
}

impl DiskItem for FileId {
    fn file(&self) -> FileId {
        *self
    }
}

impl<T: Sync> DiskItem for (T, FileId) {
    fn file(&self) -> FileId {
        self.1
    }
}

impl Work<'_> {
    /// Runs `each` over `items` like [`Work::on_threads_with_prefetch`], but without prefetch.
    pub(crate) fn on_threads<T: DiskItem, R: Send + Default>(
        &self,
        items: &[T],
        step: usize,
        each: impl Fn(&mut Worker<'_>, &mut R, &T) -> Result<(), Interrupted> + Sync,
    ) -> Result<(Vec<R>, Vec<Problem>), Interrupted> {
        let nothing = |_: &mut Worker<'_>, _: &T| ();
        self.on_threads_with_prefetch(items, step, nothing, |worker, result, item, ()| {
            each(worker, result, item)
        })
    }

    /// Runs `each` over `items`, on all disks at once. Returns the results of all threads and the
    /// problems they reported.
    ///
    /// Threads take `step` items of the same disk at a time, in the given order. On a cold disk,
    /// they take single items, because otherwise the disk head would move back and forth between
    /// the items of different threads. Threads on a cold disk also call `prepare` for several items
    /// before processing the first of them.
    pub(crate) fn on_threads_with_prefetch<T: DiskItem, P, R: Send + Default>(
        &self,
        items: &[T],
        step: usize,
        prepare: impl Fn(&mut Worker<'_>, &T) -> P + Sync,
        each: impl Fn(&mut Worker<'_>, &mut R, &T, P) -> Result<(), Interrupted> + Sync,
    ) -> Result<(Vec<R>, Vec<Problem>), Interrupted> {
        let job = ItemJob { step, prepare, each };
        let results = match self.disks() {
            [] => Vec::new(),
            [only] => self.in_disk(only, items.len(), |n| &items[n], &job),
            disks => std::thread::scope(|scope| {
                let by_disk = self.by_disk(items);
                let job = &job;
                let running: Vec<_> = disks
                    .iter()
                    .zip(by_disk)
                    .filter(|(_, items)| !items.is_empty())
                    .map(|(disk, own)| {
                        let run =
                            move || self.in_disk(disk, own.len(), |n| &items[own[n] as usize], job);
                        spawn_with_own_descriptors(scope, run).expect("a thread")
                    })
                    .collect();
                let join = |disk: std::thread::ScopedJoinHandle<'_, _>| {
                    disk.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                running.into_iter().flat_map(join).collect()
            }),
        };
        let mut all = (Vec::with_capacity(results.len()), Vec::new());
        for result in results {
            let (result, problems) = result?;
            all.0.push(result);
            all.1.extend(problems);
        }
        Ok(all)
    }

    /// Returns the indexes of the items of each disk, in order.
    fn by_disk<T: DiskItem>(&self, items: &[T]) -> Vec<Vec<u32>> {
        let mut by_disk = vec![Vec::new(); self.disks().len()];
        for (number, item) in (0u32..).zip(items) {
            by_disk[self.disk_number(item.file())].push(number);
        }
        by_disk
    }

    fn in_disk<'t, T: 't, P, R: Send + Default>(
        &self,
        disk: &Disk,
        count: usize,
        item: impl Fn(usize) -> &'t T + Sync,
        job: &ItemJob<
            impl Fn(&mut Worker<'_>, &T) -> P + Sync,
            impl Fn(&mut Worker<'_>, &mut R, &T, P) -> Result<(), Interrupted> + Sync,
        >,
    ) -> Vec<Result<(R, Vec<Problem>), Interrupted>> {
        if count == 0 {
            return Vec::new();
        }
        let next = AtomicUsize::new(0);
        let step = if disk.is_cold() { 1 } else { job.step };
        let (threads, progress) = (self.options.threads, self.progress);
        let pool = WorkerPool {
            disk,
            threads,
            pieces: Some(count.div_ceil(step)),
            all_at_once: true,
            writes: false,
            progress,
        };
        pool.run(|meter: &mut WaitMeter<'_>| {
            let mut worker = Worker::new(self);
            let mut result = R::default();
            let mut prepared: VecDeque<(&T, P)> = VecDeque::new();
            loop {
                self.progress.check()?;
                meter.begin();
                let step = if disk.is_cold() { 1 } else { job.step };
                let start = next.fetch_add(step, Relaxed).min(count);
                let end = count.min(start + step);
                for n in start..end {
                    prepared.push_back((item(n), (job.prepare)(&mut worker, item(n))));
                    if prepared.len() >= disk.prefetch_depth().min(self.options.open_files) {
                        each_prepared(&mut prepared, 1, &mut worker, &mut result, &job.each)?;
                    }
                }
                if start == end {
                    each_prepared(&mut prepared, usize::MAX, &mut worker, &mut result, &job.each)?;
                    return Ok((result, worker.problems));
                }
                meter.tick();
            }
        })
    }
}

/// The functions to call for each item of a list, and the number of items to take at a time.
struct ItemJob<P, E> {
    step: usize,
    prepare: P,
    each: E,
}

/// Processes up to `most` prepared items, in the order in which they were prepared.
fn each_prepared<'w, T, P, R>(
    prepared: &mut VecDeque<(&T, P)>,
    most: usize,
    worker: &mut Worker<'w>,
    result: &mut R,
    each: impl Fn(&mut Worker<'w>, &mut R, &T, P) -> Result<(), Interrupted>,
) -> Result<(), Interrupted> {
    let number = prepared.len().min(most);
    prepared.drain(..number).try_for_each(|(item, ready)| each(worker, result, item, ready))
}
