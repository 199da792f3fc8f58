//! Workers over a list, in the lane of each device: each worker with its own open directories,
//! buffers and problems.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use content::Facts;
use device::{Crew, Lane, Pace};
use fsops::{Interrupted, Watch, own_descriptor_table};
use walk::{FileId, Problem, Tree};

use crate::Options;
use crate::worker::Worker;

/// Files, what is known of them, and how to work on them: what all workers share.
#[derive(Debug)]
pub struct Work<'a> {
    /// The files.
    pub tree: &'a Tree,
    /// What is known of their contents.
    pub facts: &'a Facts,
    /// How to work.
    pub options: &'a Options,
    /// Progress, and the request to stop.
    pub watch: &'a Watch,
    /// The lanes of the tree's devices, each once.
    lanes: Vec<Arc<Lane>>,
    /// By index of a device in the tree, the index of its lane.
    lane_of: Vec<usize>,
}

/// Something that is done in the lane of a file.
pub(crate) trait Piece: Sync {
    /// Returns the file.
    fn file(&self) -> FileId;
}

impl Piece for FileId {
    fn file(&self) -> FileId {
        *self
    }
}

impl<T: Sync> Piece for (T, FileId) {
    fn file(&self) -> FileId {
        self.1
    }
}

impl<'a> Work<'a> {
    /// Returns the work on the files of a tree.
    pub fn new(tree: &'a Tree, facts: &'a Facts, options: &'a Options, watch: &'a Watch) -> Self {
        let mut lanes: Vec<Arc<Lane>> = Vec::new();
        let lane_of = tree.devices().iter().map(|device| {
            let lane = options.lanes.of(device.number);
            lanes.iter().position(|known| Arc::ptr_eq(known, &lane)).unwrap_or_else(|| {
                lanes.push(lane);
                lanes.len() - 1
            })
        });
        let lane_of = lane_of.collect();
        Work { tree, facts, options, watch, lanes, lane_of }
    }

    /// Returns the lanes of the tree's devices.
    pub(crate) fn lanes(&self) -> &[Arc<Lane>] {
        &self.lanes
    }

    /// Returns the lane of a file's device.
    pub(crate) fn lane(&self, file: FileId) -> &Lane {
        &self.lanes[self.lane_number(file)]
    }

    /// Returns whether reading a file may move an arm.
    pub(crate) fn moves_arm(&self, file: FileId) -> bool {
        let lane = self.lane(file);
        lane.is_cold() && lane.has_arm()
    }

    fn lane_number(&self, file: FileId) -> usize {
        // Mostly there is one, and no need to look where the file is.
        if self.lanes.len() == 1 {
            return 0;
        }
        self.lane_of[self.tree.device_index(self.tree.file(file).dir)]
    }

    /// Runs `each` over `items` as [`Work::on_threads_ahead`] does, with nothing to prepare.
    pub(crate) fn on_threads<T: Piece, R: Send + Default>(
        &self,
        items: &[T],
        step: usize,
        each: impl Fn(&mut Worker<'_>, &mut R, &T) -> Result<(), Interrupted> + Sync,
    ) -> Result<(Vec<R>, Vec<Problem>), Interrupted> {
        let nothing = |_: &mut Worker<'_>, _: &T| ();
        self.on_threads_ahead(items, step, nothing, |worker, result, item, ()| {
            each(worker, result, item)
        })
    }

    /// Runs `each` over `items`, in all lanes side by side; returns what the threads made of it and
    /// their problems.
    ///
    /// Threads take `step` items of a lane at a time, in the order given. Where they have to wait for
    /// them, they take single ones, as an arm would otherwise go from one thread's to the other's,
    /// and `prepare` some before they work on the first of those.
    pub(crate) fn on_threads_ahead<T: Piece, P, R: Send + Default>(
        &self,
        items: &[T],
        step: usize,
        prepare: impl Fn(&mut Worker<'_>, &T) -> P + Sync,
        each: impl Fn(&mut Worker<'_>, &mut R, &T, P) -> Result<(), Interrupted> + Sync,
    ) -> Result<(Vec<R>, Vec<Problem>), Interrupted> {
        let job = Job { step, prepare, each };
        let results = match &self.lanes[..] {
            [] => Vec::new(),
            [only] => self.in_lane(only, items.len(), |n| &items[n], &job),
            lanes => std::thread::scope(|scope| {
                let by_lane = self.by_lane(items);
                let job = &job;
                let running: Vec<_> = lanes
                    .iter()
                    .zip(by_lane)
                    .filter(|(_, items)| !items.is_empty())
                    .map(|(lane, own)| {
                        scope.spawn(move || {
                            own_descriptor_table();
                            self.in_lane(lane, own.len(), |n| &items[own[n] as usize], job)
                        })
                    })
                    .collect();
                let join = |lane: std::thread::ScopedJoinHandle<'_, _>| {
                    lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
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

    /// Returns the numbers of the pieces of each lane, in their order.
    fn by_lane<T: Piece>(&self, items: &[T]) -> Vec<Vec<u32>> {
        let mut by_lane = vec![Vec::new(); self.lanes.len()];
        for (number, item) in (0u32..).zip(items) {
            by_lane[self.lane_number(item.file())].push(number);
        }
        by_lane
    }

    fn in_lane<'t, T: 't, P, R: Send + Default>(
        &self,
        lane: &Lane,
        count: usize,
        item: impl Fn(usize) -> &'t T + Sync,
        job: &Job<
            impl Fn(&mut Worker<'_>, &T) -> P + Sync,
            impl Fn(&mut Worker<'_>, &mut R, &T, P) -> Result<(), Interrupted> + Sync,
        >,
    ) -> Vec<Result<(R, Vec<Problem>), Interrupted>> {
        if count == 0 {
            return Vec::new();
        }
        let next = AtomicUsize::new(0);
        let step = if lane.is_cold() { 1 } else { job.step };
        let threads = self.options.threads;
        let crew = Crew { lane, threads, pieces: Some(count.div_ceil(step)) };
        crew.run(|pace: &mut Pace<'_>| {
            let mut worker = Worker::new(self);
            let mut result = R::default();
            let mut prepared: VecDeque<(&T, P)> = VecDeque::new();
            loop {
                self.watch.check()?;
                pace.begin();
                let step = if lane.is_cold() { 1 } else { job.step };
                let start = next.fetch_add(step, Relaxed).min(count);
                let end = count.min(start + step);
                for n in start..end {
                    prepared.push_back((item(n), (job.prepare)(&mut worker, item(n))));
                    if prepared.len() >= lane.ahead().min(self.options.open_files) {
                        each_prepared(&mut prepared, 1, &mut worker, &mut result, &job.each)?;
                    }
                }
                if start == end {
                    each_prepared(&mut prepared, usize::MAX, &mut worker, &mut result, &job.each)?;
                    return Ok((result, worker.problems));
                }
                pace.tick();
            }
        })
    }
}

/// What is to be done with each item of a list.
struct Job<P, E> {
    step: usize,
    prepare: P,
    each: E,
}

/// Does the oldest of the items that have been prepared, at most `most` of them.
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

impl Work<'_> {
    /// Counts the files among `files` whose content is not known yet as work to do.
    pub(crate) fn expect(&self, files: &[FileId], size: u64) {
        let files = self.unknown(files.iter().copied());
        self.watch.files_total.fetch_add(files, Relaxed);
        self.watch.bytes_total.fetch_add(size.saturating_mul(files), Relaxed);
    }

    /// Counts the first `bytes` of the files among `files` whose content is not known yet as work to do
    /// once more.
    pub(crate) fn expect_again(&self, files: &[FileId], bytes: u64) {
        let files = self.unknown(files.iter().copied());
        self.watch.bytes_total.fetch_add(bytes.saturating_mul(files), Relaxed);
    }

    /// Counts the files among `files` whose content is not known yet as decided, before it is
    /// noted.
    pub(crate) fn done(&self, files: impl Iterator<Item = FileId>, size: u64) {
        self.decided(self.unknown(files), size);
    }

    /// Counts this many files as decided.
    pub(crate) fn decided(&self, files: u64, size: u64) {
        self.watch.files_done.fetch_add(files, Relaxed);
        self.watch.bytes_done.fetch_add(size.saturating_mul(files), Relaxed);
    }

    fn unknown(&self, files: impl Iterator<Item = FileId>) -> u64 {
        files.filter(|f| self.facts.content(f.0).is_none()).count() as u64
    }
}
