//! A worker thread of a removal. It takes directories from the queue, lists them, and removes their
//! entries.

use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::Arc;

use device::WaitMeter;
use fsops::{Dir, DirBuffer, DirItem, Kind, Op};
use runtime::Progress;

use crate::engine::batch::{Batch, CHUNK_NAMES};
use crate::engine::job::{Job, PurgeTask, Tally};
use crate::engine::nodes::NodeId;
use crate::outcome::Reason;
use crate::paths::joined;
use crate::select::Choice;
use walk::DirCache;

/// Maximum number of directories that one listing adds to the stack. A directory with ten million
/// subdirectories is therefore listed in parts.
const MAX_STACK_DIRS: usize = 1 << 12;

/// Size in bytes of a batch for a directory that is larger than one buffer or is on a cold disk.
///
/// Each commit of the ext4 journal writes all changed blocks, both inode blocks and directory
/// blocks. With more names per batch, more of the names share an inode block, so fewer blocks are
/// written.
///
/// Time to remove a flat directory of 1,000,000 names with a cold cache and a journal of 64 MiB:
///
/// | batch | time |
/// |---|---|
/// | 250 KB | 34 s |
/// | 1 MB | 27 s |
/// | 4 MiB | 21 s |
/// | 7 and 10 MB | 19 s |
/// | 16 MB | 21 s |
const BATCH_BYTES: usize = 8 << 20;

/// Maximum total size in bytes of the batches of all workers.
const ALL: usize = 2 * BATCH_BYTES;

/// Minimum number of names for which it is worth waking another worker.
const MIN_SHARED_NAMES: usize = 4 * CHUNK_NAMES;

pub(crate) struct Worker<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) stack: Vec<PurgeTask>,
    pub(crate) dirs: DirCache<NodeId>,
    pub(crate) tally: Tally,
    /// Number of entries already added to `job.progress`.
    counted: u64,
}

/// Buffers that are reused from one listing to the next.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    buffer: DirBuffer,
    children: Children,
    pub(crate) batch: Batch,
}

/// Subdirectories found in a listing.
#[derive(Debug, Default)]
struct Children {
    items: Vec<(u64, bool, usize)>,
    names: Vec<u8>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(job: &'a Job<'a>) -> Worker<'a> {
        Worker {
            job,
            stack: Vec::new(),
            dirs: DirCache::new(job.options.open_dirs),
            tally: Tally::default(),
            counted: 0,
        }
    }

    pub(crate) fn run(mut self, meter: &mut WaitMeter<'_>) -> Tally {
        let job = self.job;
        job.queue.join();
        let _guard = job.queue.close_on_panic();
        let mut scratch = Scratch::default();
        while let Some(task) = self.next() {
            if job.progress.poll_stop() {
                job.queue.close();
                break;
            }
            meter.begin();
            let may_end = match task {
                PurgeTask::Empty { dir, place, .. } => {
                    self.empty(dir, place, &mut scratch, meter);
                    true
                }
                // A helper continues even if a round in disk order is due, because the owner of the
                // batch also continues.
                PurgeTask::Help(number) => {
                    self.help(number, meter);
                    false
                }
            };
            job.queue.share(&mut self.stack);
            self.count();
            meter.tick();
            if may_end && job.goes_by_disk_order() {
                job.queue.close();
                break;
            }
        }
        self.end()
    }

    /// Returns the next task. Before waiting for a task, closes all directories (see
    /// [`Worker::settle`]).
    fn next(&mut self) -> Option<PurgeTask> {
        let job = self.job;
        if self.stack.is_empty() || job.queue.is_to_rest() {
            self.let_go();
        }
        job.queue.next(&mut self.stack)
    }

    /// Returns the results and the remaining tasks.
    pub(crate) fn end(mut self) -> Tally {
        self.count();
        self.tally.rest = self.stack;
        self.tally
    }

    /// Adds the number of entries processed since the last call to the progress counters.
    pub(crate) fn count(&mut self) {
        let done = self.tally.outcome.files + self.tally.outcome.dirs;
        if done > self.counted {
            self.job.count(done - self.counted);
            self.counted = done;
        }
    }

    pub(crate) fn stopped(&self) -> bool {
        Progress::poll_stop(self.job.progress)
    }

    /// Lists a directory from position `from` and removes its entries. If there are too many
    /// entries, leaves the rest for a later task.
    fn empty(&mut self, id: NodeId, from: u64, made: &mut Scratch, meter: &mut WaitMeter<'_>) {
        let Some(dir) = self.enter(id, from) else { return };
        let bottom = self.stack.len();
        let mut enough = if self.job.disk.is_cold() { self.large() } else { 0 };
        loop {
            made.batch.clear();
            made.batch.dir = id;
            let rest = self.fill(id, &dir, enough, made);
            self.remove_all(&dir, &mut made.batch, meter);
            if self.stopped() {
                return;
            }
            let Some(rest) = rest else { break };
            enough = self.large();
            let is_wanted = self.job.goes_by_disk_order() || self.job.queue.is_to_rest();
            if self.job.can_resume_listing
                && (is_wanted || self.stack.len() > bottom + MAX_STACK_DIRS)
            {
                self.stack.insert(bottom, PurgeTask::Empty { inode: 0, dir: id, place: rest });
                return;
            }
        }
        drop(dir);
        self.settle(id);
    }

    /// Returns the maximum size of a large batch in bytes.
    fn large(&self) -> usize {
        (ALL / self.job.queue.most()).min(BATCH_BYTES)
    }

    /// Adds names to a batch and directories to the stack. Stops after the first buffer with which
    /// the batch reaches `enough` bytes of names. Returns the position at which to continue the
    /// listing, or `None` if it is complete.
    pub(crate) fn fill(
        &mut self,
        id: NodeId,
        dir: &Dir,
        enough: usize,
        scratch: &mut Scratch,
    ) -> Option<u64> {
        let job = self.job;
        let Scratch { buffer, children, batch } = scratch;
        let selection = &job.options.selection;
        let (path, chosen) = {
            let nodes = job.nodes();
            (selection.path(|| nodes.path(id)), nodes.is_chosen(id))
        };
        let wide = if job.can_resume_listing { MAX_STACK_DIRS } else { usize::MAX };
        let rest = loop {
            let rest = dir.list_some(buffer, |item| {
                let name = item.name.to_bytes();
                let path = path.as_ref().map(|dir| joined(dir, name));
                let kind = kind(dir, &item);
                let is_dir = kind == Kind::Dir;
                match selection.choose(name, path.as_deref(), is_dir, chosen) {
                    Choice::Stays => self.keep(id),
                    Choice::Store => self.fail(id, name, Reason::Store),
                    choice if is_dir => children.push(&item, choice == Choice::Goes),
                    _ => batch.push(item.inode, item.name),
                }
            });
            match rest {
                Ok(Some(_)) if self.stopped() => break rest,
                Ok(Some(_)) if batch.bytes() < enough && children.items.len() < wide => {}
                rest => break rest,
            }
        };
        self.add(id, children);
        batch.sort();
        match rest {
            Ok(rest) => rest,
            // Another process removed the directory.
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(source) => {
                self.fail(id, b"", Reason::Failed { op: Op::List, source });
                None
            }
        }
    }

    /// Pushes subdirectories onto the stack so that the one with the lowest inode number is taken
    /// first. A worker that takes half of this stack then works in a different part of the disk. On
    /// XFS, two threads in one allocation group took six times as long as two threads in different
    /// groups.
    fn add(&mut self, parent: NodeId, children: &mut Children) {
        if children.items.is_empty() {
            return;
        }
        children.items.sort_unstable_by(|a, b| b.cmp(a));
        let takes_emptied = self.job.options.selection.takes_emptied();
        let mut nodes = self.job.nodes();
        for &(inode, chosen, at) in &children.items {
            let name = children.names[at..].split(|&b| b == 0).next().unwrap_or_default();
            let dir = nodes.add(parent, name, chosen);
            if !chosen && !takes_emptied {
                nodes.stay(dir);
            }
            self.stack.push(PurgeTask::Empty { inode, dir, place: 0 });
        }
        drop(nodes);
        children.items.clear();
        children.names.clear();
    }

    /// Removes the names of a batch. If the batch is large, idle workers help.
    fn remove_all(&mut self, dir: &Rc<Dir>, batch: &mut Batch, meter: &mut WaitMeter<'_>) {
        if batch.len() < MIN_SHARED_NAMES || !self.job.queue.has_free() {
            while let Some(taken) = batch.take() {
                self.remove_some(dir, batch, taken);
                meter.tick();
            }
            return;
        }
        let shared = Arc::new(std::mem::replace(batch, Batch::new(batch.dir)));
        // The directory must not be removed before the names in the batch.
        self.job.nodes().hold(shared.dir);
        let number = self.job.offer(&shared);
        let is_last = self.take_part(dir, &shared, true, meter);
        self.job.withdraw(number);
        if is_last {
            self.settle(shared.dir);
        }
    }

    /// Helps with the batch of another worker.
    fn help(&mut self, number: u32, meter: &mut WaitMeter<'_>) {
        let Some(batch) = self.job.batch(number) else { return };
        let is_last = match self.open(batch.dir) {
            Ok(dir) => self.take_part(&dir, &batch, false, meter),
            Err(_) => return,
        };
        if is_last {
            self.settle(batch.dir);
        }
    }

    /// Removes names of a shared batch. Returns true if it removed the last names of the batch. The
    /// caller must then call [`Worker::settle`].
    fn take_part(
        &mut self,
        dir: &Dir,
        batch: &Batch,
        is_own: bool,
        meter: &mut WaitMeter<'_>,
    ) -> bool {
        while let Some(taken) = batch.take() {
            self.remove_some(dir, batch, taken.clone());
            meter.tick();
            if batch.is_done(&taken) {
                return true;
            }
            if self.job.queue.is_crowded() && !is_own {
                break;
            }
        }
        false
    }

    pub(crate) fn remove_some(&mut self, dir: &Dir, batch: &Batch, taken: std::ops::Range<usize>) {
        for index in taken {
            if self.stopped() {
                break;
            }
            self.remove(dir, batch.dir, batch.name(index));
        }
        self.count();
    }
}

impl Children {
    fn push(&mut self, item: &DirItem<'_>, chosen: bool) {
        self.items.push((item.inode, chosen, self.names.len()));
        self.names.extend_from_slice(item.name.to_bytes_with_nul());
    }
}

fn kind(dir: &Dir, item: &DirItem<'_>) -> Kind {
    match item.kind {
        // If the type is unknown and cannot be queried, the entry is treated as a file.
        Kind::Unknown => dir.stat_child(item.name).map_or(Kind::File, |stat| stat.kind),
        kind => kind,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use device::Io;
    use runtime::Progress;
    use testkit::TempTree;

    use super::Worker;
    use crate::engine::batch::Batch;
    use crate::engine::job::Job;
    use crate::engine::nodes::TOP;
    use crate::example::{options, top};

    /// Workers stop when a round in disk order or a probe is due. If helpers stopped too, one
    /// worker would have to remove the names of a huge directory alone.
    #[test]
    fn helpers_continue_while_a_round_is_due() {
        let (tree, options, progress) = (TempTree::new(), options(Io::Hdd), Progress::default());
        let job = Job::new(top(tree.path()), &options, &progress).expect("metadata");
        let _beginning = job.queue.drain();
        for name in [c"a", c"b"] {
            let mut batch = Batch::new(TOP);
            batch.push(1, name);
            batch.sort();
            job.nodes().hold(TOP);
            job.offer(&Arc::new(batch));
        }
        assert!(job.goes_by_disk_order());
        let tallies = job.pool().run(|meter| Worker::new(&job).run(meter));
        assert_eq!(tallies[0].outcome.files, 2);
    }
}
