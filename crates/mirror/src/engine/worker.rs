//! One thread of a run: takes tasks from the queue, lists directories, and processes their names.
//!
//! The methods of [`Worker`] are spread over the crate by what they do; see the module table of [`crate`]. A worker
//! owns its caches and its part of the [`Outcome`], and shares everything else through the [`Job`].

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
use crate::hardlinks::table::SourceInode;
use crate::model::dir_node::{DirNode, MOVED_AWAY};
use crate::model::reason::Reason;
use crate::model::settled::Failure;
use crate::outcome::Outcome;
use crate::reconcile::buffer::Buffer;

pub(crate) mod source;

use source::Source;

/// How long a directory may have no known name after another worker renamed it. Setting a flag takes far less.
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
    /// Tasks that this worker created and takes next, unless others are idle.
    stack: Vec<Task>,
    /// Tasks that this worker has not put into the queue yet.
    pub(crate) outbox: Vec<Task>,
    /// Names whose file is at the destination now, or failed to get there.
    pub(crate) waiters: Vec<Waiter>,
    /// The file whose inode number was checked last: it is still the same file.
    pub(crate) verified: Option<SourceInode>,
    /// The entry that was last reported to have attributes that could not be read.
    pub(crate) partial_attributes: Option<(usize, usize)>,
    /// Whether this worker copies files at once instead of deferring them.
    pub(crate) copies_at_once: bool,
    /// The batch that this worker is processing, if others may help.
    shared_batch: Option<Arc<SharedBatch>>,
    /// The names that `job.progress` already counts.
    counted_names: u64,
    /// The counts that `job.running_totals` already contains.
    reported: Counts,
    /// The bytes of the current file that `job.progress` already counts.
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
            verified: None,
            partial_attributes: None,
            copies_at_once: false,
            shared_batch: None,
            counted_names: 0,
            reported: Counts::default(),
            counted_bytes: 0,
        }
    }

    /// Runs tasks until no worker has any left.
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

    /// Runs a task.
    pub(crate) fn run_task(&mut self, task: Task, meter: &mut WaitMeter<'_>) {
        match task {
            // Other tasks were started before the stop, and are completed.
            Task::MirrorDir { .. } if self.stopped() => {}
            Task::MirrorDir { node, .. } => self.mirror_dir(&node, meter),
            Task::Help(shared) => self.help(&shared, meter),
            Task::Copy(deferred) => self.copy_deferred(&deferred, meter),
            Task::Dispatch { arrival, .. } => self.source.dispatch(self, &arrival, meter),
        }
    }

    /// Waits for the next task; returns `None` when no worker has any left.
    pub(crate) fn next_task(&mut self) -> Option<Task> {
        if self.stack.is_empty() && self.source.is_local() && !self.job.uses_disk_order() {
            self.dir_cache.clear();
        }
        self.source.flush(self);
        self.job.queue.next(&mut self.stack)
    }

    /// Adds the names processed since the last call to the progress, and everything else to the running totals.
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

    /// Returns whether to stop: the user asked for it, or the connection is lost.
    pub(crate) fn stopped(&self) -> bool {
        self.job.progress.poll_stop() || self.source.is_lost()
    }

    /// Adds a directory to this worker's tasks.
    pub(crate) fn push(&mut self, inode: u64, node: Arc<DirNode>) {
        self.stack.push(Task::MirrorDir { inode, node });
    }

    /// Opens a directory of one of the trees, or returns it from the cache.
    pub(crate) fn open(&mut self, side: Side, node: &Arc<DirNode>) -> io::Result<Rc<Dir>> {
        if let Some(dir) = self.dir_cache.get(side, node) {
            return Ok(dir);
        }
        let mut end = None;
        loop {
            let placed = self.job.published_dirs.load(Acquire);
            let may_move = side == Side::Destination && node.may_move();
            match self.open_now(side, node) {
                // Another worker is renaming the directory, or one above it.
                Err(e)
                    if is_elsewhere(&e)
                        && (may_move || placed != self.job.published_dirs.load(Acquire)) =>
                {
                    if Instant::now() > *end.get_or_insert_with(|| Instant::now() + RENAME_WAIT) {
                        // Another process moved it. Other workers need not wait for it too.
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

    /// Opens a directory below its parent, if that is in the cache, or below the top.
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

    /// Counts and keeps a problem with an entry of a directory.
    pub(crate) fn fail(&mut self, node: &DirNode, name: &[u8], reason: Reason) {
        self.outcome.fail(|| node.child_path(name), reason);
    }

    /// Counts a directory that could not be mirrored, and everything below it as missing.
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

    /// Adds the counts of what is missing below a directory that failed.
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

    /// Lists the source's directory, and processes its names together with workers that have nothing to do.
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

    /// Processes names of a batch, as others may do at the same time.
    pub(crate) fn join_batch(&mut self, shared: &Arc<SharedBatch>, meter: &mut WaitMeter<'_>) {
        self.verified = None;
        // Names from another host are processed by one worker after the other.
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

    /// Asks an idle worker to help with the current batch. Called often: a batch may have few names, of large files,
    /// and other workers may have become idle just now.
    pub(crate) fn call_for_help(&self) {
        let queue = &self.job.queue;
        if let Some(shared) = self.shared_batch.as_ref().filter(|_| queue.has_free())
            && shared.request_help()
        {
            queue.offer(Task::Help(Arc::clone(shared)));
        }
    }

    /// Releases the directory. The last release completes it.
    pub(crate) fn release_dir(&mut self, dir_state: &Arc<DirState>) {
        if dir_state.release() {
            self.complete_dir(dir_state);
        }
    }
}

/// Returns whether an error says that there is no directory at a path, or another entry in its place.
fn is_elsewhere(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    [libc::ENOENT, libc::ENOTDIR, libc::ELOOP].map(Some).contains(&number)
}
