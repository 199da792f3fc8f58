//! A worker thread of a run. It takes tasks from the queue, lists directories, and processes their names.
//!
//! The methods of [`Worker`] are spread over several modules by topic; see the module table of [`crate`]. Each worker
//! owns its caches and its share of the [`Outcome`]. Everything else is shared through the [`Job`].

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

use device::WaitMeter;
use fsops::{Dir, DirBuffer, Op};
use wire::Counts;

use crate::engine::batch::Batch;
use crate::engine::dir_cache::{DirCache, Side};
use crate::engine::dir_state::{DirState, SharedBatch, Waiter};
use crate::engine::estimate::{SubtreeCount, count_subtree};
use crate::engine::job::Job;
use crate::engine::task::Task;
use crate::model::dir_node::{DirNode, MOVED_AWAY};
use crate::model::reason::Reason;
use crate::model::settled::Failure;
use crate::outcome::Outcome;
use crate::reconcile::buffer::Buffer;

pub(crate) mod source;

use source::Source;

/// Maximum time to wait for the new name of a directory that another worker is renaming. The worker publishes the name
/// by setting a flag, which takes far less time.
const RENAME_WAIT: Duration = Duration::from_millis(500);

/// A worker thread. See the module documentation.
pub(crate) struct Worker<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) source: &'a dyn Source,
    pub(crate) outcome: Outcome,
    pub(crate) dir_cache: DirCache,
    pub(crate) buffer: Buffer,
    /// Buffers for comparing files.
    pub(crate) scratch: content::Scratch,
    list_buffer: DirBuffer,
    /// Tasks that this worker created and will run itself, unless other workers are idle.
    stack: Vec<Task>,
    /// Tasks that this worker has not added to the queue yet.
    pub(crate) outbox: Vec<Task>,
    /// Names that waited for the copy of a file that is now complete or has failed.
    pub(crate) waiters: Vec<Waiter>,
    /// The last entry that was reported for attributes that could not be read.
    pub(crate) partial_attributes: Option<(usize, usize)>,
    /// Whether this worker copies files immediately instead of deferring them.
    pub(crate) copies_at_once: bool,
    /// The batch that this worker is processing, if other workers may help.
    shared_batch: Option<Arc<SharedBatch>>,
    /// Number of names already included in `job.progress`.
    counted_names: u64,
    /// Counts already included in `job.running_totals`.
    reported: Counts,
    /// Number of bytes of the current file already included in `job.progress`.
    pub(crate) counted_bytes: u64,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(job: &'a Job<'a>, source: &'a dyn Source) -> Worker<'a> {
        Worker {
            job,
            source,
            outcome: Outcome::default(),
            dir_cache: DirCache::new(job.options.open_dirs),
            buffer: Buffer::default(),
            scratch: content::Scratch::default(),
            list_buffer: DirBuffer::default(),
            stack: Vec::new(),
            outbox: Vec::new(),
            waiters: Vec::new(),
            partial_attributes: None,
            copies_at_once: false,
            shared_batch: None,
            counted_names: 0,
            reported: Counts::default(),
            counted_bytes: 0,
        }
    }

    /// Runs tasks until all workers have finished.
    pub(crate) fn run(mut self, meter: &mut WaitMeter<'_>) -> Outcome {
        let job = self.job;
        job.queue.join();
        let _guard = job.queue.close_on_panic();
        while let Some(task) = self.next_task() {
            meter.begin();
            self.run_task(task, meter);
            if job.uses_disk_order() {
                job.queue.enqueue_sorted(&mut self.stack);
                self.copy_deferred_if_many(meter);
            } else {
                job.queue.share(&mut self.stack);
            }
            self.report_progress();
            meter.tick();
        }
        self.outcome
    }

    pub(crate) fn run_task(&mut self, task: Task, meter: &mut WaitMeter<'_>) {
        match task {
            // After a stop, only new directories are skipped. Other tasks are part of work that has already begun.
            Task::MirrorDir { .. } if self.stopped() => {}
            Task::MirrorDir { node, .. } => self.mirror_dir(&node, meter),
            Task::Help(shared) => self.help(&shared, meter),
            Task::Copy(deferred) => self.copy_deferred(&deferred, meter),
            Task::Dispatch { arrival, .. } => self.source.dispatch(self, &arrival, meter),
        }
    }

    /// Waits for the next task. Returns `None` when no tasks are left and no worker can create more.
    pub(crate) fn next_task(&mut self) -> Option<Task> {
        if self.stack.is_empty() && self.source.is_local() && !self.job.uses_disk_order() {
            self.dir_cache.clear();
        }
        self.source.flush(self);
        self.job.queue.next(&mut self.stack)
    }

    /// Adds the names processed since the last call to the progress, and all new counts to the running totals.
    pub(crate) fn report_progress(&mut self) {
        self.job
            .progress
            .files_done
            .fetch_add(self.outcome.counts.names - self.counted_names, Relaxed);
        self.counted_names = self.outcome.counts.names;
        if let Some(running_totals) = self.job.running_totals {
            let now = self.outcome.counts;
            running_totals.lock().add(&now.since(&self.reported));
            self.reported = now;
        }
    }

    /// Returns whether to stop, because the user asked for it or the connection is lost.
    pub(crate) fn stopped(&self) -> bool {
        self.job.progress.poll_stop() || self.source.is_lost()
    }

    /// Adds a directory to this worker's tasks.
    pub(crate) fn push(&mut self, inode: u64, node: Arc<DirNode>) {
        self.stack.push(Task::MirrorDir { inode, node });
    }

    /// Returns an open directory in one of the trees, from the cache if possible.
    pub(crate) fn open(&mut self, side: Side, node: &Arc<DirNode>) -> io::Result<Rc<Dir>> {
        if let Some(dir) = self.dir_cache.get(side, node) {
            return Ok(dir);
        }
        let mut end = None;
        loop {
            let placed = self.job.published_dirs.load(Acquire);
            let may_move = side == Side::Destination && node.may_move();
            match self.open_now(side, node) {
                // Another worker may be renaming the directory or one of its ancestors.
                Err(e)
                    if is_elsewhere(&e)
                        && (may_move || placed != self.job.published_dirs.load(Acquire)) =>
                {
                    if Instant::now() > *end.get_or_insert_with(|| Instant::now() + RENAME_WAIT) {
                        // Another process moved the directory. The flag keeps other workers from waiting for it.
                        node.set(MOVED_AWAY);
                        return Err(e);
                    }
                    std::thread::yield_now();
                }
                opened => {
                    let dir = opened?;
                    if side == Side::Source {
                        dir.list_quietly();
                    }
                    return Ok(self.dir_cache.put(side, node, dir));
                }
            }
        }
    }

    /// Opens a directory relative to its parent if the parent is in the cache, and otherwise relative to the top.
    fn open_now(&mut self, side: Side, node: &Arc<DirNode>) -> io::Result<Dir> {
        let roots = self.job.roots;
        let top = match side {
            Side::Source => roots.source.as_ref().map(|source| &source.top.dir),
            Side::Destination => roots.destination.as_ref().map(|top| &top.dir),
            Side::Base => roots.base.as_ref(),
        };
        let top = top.ok_or(io::ErrorKind::NotFound)?;
        let dest = side == Side::Destination;
        let Some(parent) = node.parent() else { return top.open_child(c".") };
        match self.dir_cache.get(side, parent) {
            Some(dir) if dest => dir.open_child(&node.dest_name(&self.job.temp_names)),
            Some(dir) => dir.open_child(node.name()),
            None if dest => top.open_below(&node.dest_path(&self.job.temp_names)),
            None => top.open_below(&node.path()),
        }
    }

    /// Records a problem with an entry of a directory.
    pub(crate) fn fail(&mut self, node: &DirNode, name: &[u8], reason: Reason) {
        self.outcome.fail(|| node.child_path(name), reason);
    }

    /// Records that a directory could not be mirrored, and counts everything below it as missing.
    pub(crate) fn fail_subtree(&mut self, node: &Arc<DirNode>, reason: Reason) {
        if matches!(reason, Reason::Source { .. }) {
            self.outcome.counts.unread_dirs += 1;
        } else {
            self.count_missing(&node.path());
        }
        self.fail(node, b"", reason);
    }

    /// Counts everything below a directory of a local source as missing.
    pub(crate) fn count_missing(&mut self, path: &[u8]) {
        let Some(source) = self.job.roots.source() else { return };
        let below = count_subtree(source, path, self.job.options, &|| self.stopped());
        self.add_missing(&below);
    }

    /// Adds the entries below a failed directory to the counts of missing entries.
    pub(crate) fn add_missing(&mut self, below: &SubtreeCount) {
        self.outcome.counts.names += below.names;
        self.outcome.counts.missing += below.names;
        self.outcome.counts.unread_dirs += below.unread;
        self.outcome.has_files |= below.has_files;
        self.outcome.counts.source_failed |= below.source_failed;
    }

    /// Mirrors a directory without its subdirectories.
    fn mirror_dir(&mut self, node: &Arc<DirNode>, meter: &mut WaitMeter<'_>) {
        match self.start_dir(node) {
            Ok(Some(dir_state)) => {
                if node.metadata().is_some_and(|metadata| metadata.is_entered) {
                    self.list(&dir_state, meter);
                }
                self.release_dir(&dir_state);
            }
            Ok(None) => self.abandon(node),
            Err(reason) => {
                self.fail_subtree(node, reason);
                self.abandon(node);
            }
        }
    }

    /// Lists the source directory, and processes its names with the help of idle workers.
    fn list(&mut self, dir_state: &Arc<DirState>, meter: &mut WaitMeter<'_>) {
        let dir = match self.open(Side::Source, &dir_state.node) {
            Ok(dir) => dir,
            Err(source) => {
                if let Failure::Failed(reason) = self.source_failure(Op::Open, source) {
                    self.fail(&dir_state.node, b"", reason);
                }
                return;
            }
        };
        loop {
            let Worker { list_buffer, outcome, .. } = self;
            let leave_out =
                |why, name: &[u8]| outcome.leave_out(why, || dir_state.node.child_path(name));
            let (mut batch, more) =
                Batch::fill(&dir, &dir_state.node, self.job.options, list_buffer, leave_out);
            dir_state.order_names(&mut batch);
            let shared = SharedBatch::new(dir_state, batch);
            self.join_batch(&shared, meter);
            self.copy_deferred_if_many(meter);
            match more {
                Ok(true) if !self.stopped() => {}
                Ok(more) => {
                    return dir_state.is_fully_listed.store(!more && !self.stopped(), Relaxed);
                }
                Err(source) => {
                    return self.fail(
                        &dir_state.node,
                        b"",
                        Reason::Source { op: Op::List, source },
                    );
                }
            }
        }
    }

    /// Returns the buffer for listings.
    pub(crate) fn list_buffer(&mut self) -> &mut DirBuffer {
        &mut self.list_buffer
    }

    fn help(&mut self, shared: &Arc<SharedBatch>, meter: &mut WaitMeter<'_>) {
        shared.help_started();
        self.join_batch(shared, meter);
        self.release_dir(&shared.dir);
    }

    /// Processes names in a batch, possibly at the same time as other workers.
    pub(crate) fn join_batch(&mut self, shared: &Arc<SharedBatch>, meter: &mut WaitMeter<'_>) {
        // Names from another host are processed by one worker at a time.
        self.shared_batch = self.source.is_local().then(|| Arc::clone(shared));
        self.process_batch(shared, meter);
        self.shared_batch = None;
    }

    fn process_batch(&mut self, shared: &Arc<SharedBatch>, meter: &mut WaitMeter<'_>) {
        while let Some(taken) = shared.batch.take() {
            for index in taken {
                if self.stopped() {
                    return;
                }
                self.call_for_help();
                self.process(shared, index);
                self.process_waiters();
            }
            self.report_progress();
            self.source.flush(self);
            meter.tick();
        }
    }

    /// Asks an idle worker to help with the current batch. This is called often, because even a small batch can
    /// contain large files, and other workers can become idle at any time.
    pub(crate) fn call_for_help(&self) {
        let queue = &self.job.queue;
        if let Some(shared) = self.shared_batch.as_ref().filter(|_| queue.has_free())
            && shared.request_help()
        {
            queue.offer(Task::Help(Arc::clone(shared)));
        }
    }

    /// Releases a unit of work on the directory. The last release completes the directory.
    pub(crate) fn release_dir(&mut self, dir_state: &Arc<DirState>) {
        if dir_state.release() {
            self.complete_dir(dir_state);
        }
    }
}

/// Returns whether an error means that a path does not exist or is not a directory.
fn is_elsewhere(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    [libc::ENOENT, libc::ENOTDIR, libc::ELOOP].map(Some).contains(&number)
}
