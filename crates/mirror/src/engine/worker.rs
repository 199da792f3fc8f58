//! One thread of a mirroring: takes directories from the queue, lists them, and deals with their names.

use std::io;
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use device::WaitMeter;
use fsops::{Dir, DirBuffer, Op};
use runtime::Progress;
use wire::Summary;

use crate::engine::batch::Window;
use crate::engine::dest_listing::Present;
use crate::engine::dir_cache::Held;
use crate::engine::dir_cache::Side;
use crate::engine::dir_state::Shared;
use crate::engine::dir_state::Site;
use crate::engine::dir_state::Waiter;
use crate::engine::estimate::Below;
use crate::engine::estimate::names_below;
use crate::engine::job::Job;
use crate::engine::task::Task;
use crate::hardlinks::table::Key;
use crate::model::dir_node::GONE;
use crate::model::dir_node::Node;
use crate::model::reason::Reason;
use crate::outcome::Outcome;
use crate::reconcile::buffer::Buffer;

/// How long a directory that was just renamed may be without a name that is known: far longer than it takes
/// to set a flag.
const RENAMED: Duration = Duration::from_millis(500);

pub(crate) struct Worker<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) outcome: Outcome,
    pub(crate) held: Held,
    pub(crate) buffer: Buffer,
    pub(crate) scratch: content::Scratch,
    listing: DirBuffer,
    stack: Vec<Task>,
    /// What is to be put in line.
    pub(crate) arrived: Vec<Task>,
    /// Names whose file is at the destination now, or failed to get there.
    pub(crate) later: Vec<Waiter>,
    /// The file of which it is known that it is the one of this number still.
    pub(crate) sure: Option<Key>,
    /// The name that it was noted of that its attributes could not all be read.
    pub(crate) in_part: Option<(usize, usize)>,
    /// What it copies it copies at once.
    pub(crate) at_once: bool,
    /// The names that it is at, if others may help.
    at: Option<Arc<Shared>>,
    /// What was counted in `job.watch` already: names,
    counted: u64,
    /// all that it has done,
    told: Summary,
    /// and bytes of the file that it is at.
    pub(crate) ahead: u64,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(job: &'a Job<'a>) -> Worker<'a> {
        Worker {
            job,
            outcome: Outcome::default(),
            held: Held::new(job.options.open_dirs),
            buffer: Buffer::default(),
            scratch: content::Scratch::default(),
            listing: DirBuffer::default(),
            stack: Vec::new(),
            arrived: Vec::new(),
            later: Vec::new(),
            sure: None,
            in_part: None,
            at_once: false,
            at: None,
            counted: 0,
            told: Summary::default(),
            ahead: 0,
        }
    }

    pub(crate) fn run(mut self, meter: &mut WaitMeter<'_>) -> Outcome {
        let job = self.job;
        job.queue.join();
        let _guard = job.queue.close_on_panic();
        while let Some(task) = self.next() {
            meter.begin();
            self.work(task, meter);
            if job.goes_by_place() {
                job.queue.enqueue_sorted(&mut self.stack);
                self.make_up_if_many(meter);
            } else {
                job.queue.share(&mut self.stack);
            }
            self.count();
            meter.tick();
        }
        self.outcome
    }

    pub(crate) fn work(&mut self, task: Task, meter: &mut WaitMeter<'_>) {
        match task {
            // What was begun is brought to an end also then.
            Task::Enter { .. } if self.stopped() => {}
            Task::Enter { node, .. } => self.enter(&node, meter),
            Task::Help(shared) => self.help(&shared, meter),
            Task::Copy(put_off) => self.make_up(&put_off, meter),
            Task::Arrived { what, .. } => {
                if let Some(far) = self.job.far.clone() {
                    self.deal_with_arrival(&far, &what, meter);
                }
            }
        }
    }

    pub(crate) fn next(&mut self) -> Option<Task> {
        if self.stack.is_empty() && self.job.far.is_none() && !self.job.goes_by_place() {
            self.held.clear();
        }
        self.flush();
        self.job.queue.next(&mut self.stack)
    }

    /// Sends what was said to the other host, if there is one, and has others know what there is to do.
    fn flush(&mut self) {
        if let Some(far) = &self.job.far {
            far.connection.flush();
            self.pass_on();
        }
    }

    /// Passes on how many names were dealt with to who shows progress.
    pub(crate) fn count(&mut self) {
        self.job.progress.files_done.fetch_add(self.outcome.names - self.counted, Relaxed);
        self.counted = self.outcome.names;
        if let Some(so_far) = self.job.so_far {
            let now = self.outcome.summary();
            so_far.lock().unwrap_or_else(PoisonError::into_inner).add(&now.since(&self.told));
            self.told = now;
        }
    }

    pub(crate) fn stopped(&self) -> bool {
        Progress::poll_stop(self.job.progress)
            || self.job.far.as_ref().is_some_and(|far| far.connection.is_broken())
    }

    pub(crate) fn push(&mut self, inode: u64, node: Arc<Node>) {
        self.stack.push(Task::Enter { inode, node });
    }

    /// Returns a directory of one of the trees, open.
    pub(crate) fn open(&mut self, side: Side, node: &Arc<Node>) -> io::Result<Rc<Dir>> {
        if let Some(dir) = self.held.get(side, node) {
            return Ok(dir);
        }
        let mut end = None;
        loop {
            let placed = self.job.placed.load(Acquire);
            let may_move = side == Side::Destination && node.may_move();
            match self.open_now(side, node) {
                // Another worker is just giving it its name, or one that it is in.
                Err(e)
                    if is_elsewhere(&e)
                        && (may_move || placed != self.job.placed.load(Acquire)) =>
                {
                    if Instant::now() > *end.get_or_insert_with(|| Instant::now() + RENAMED) {
                        // Somebody else has moved it; others need not wait for it too.
                        node.set(GONE);
                        return Err(e);
                    }
                    std::thread::yield_now();
                }
                opened => {
                    let dir = opened?;
                    if side == Side::Source {
                        dir.list_quietly();
                    }
                    return Ok(self.held.put(side, node, dir));
                }
            }
        }
    }

    fn open_now(&mut self, side: Side, node: &Arc<Node>) -> io::Result<Dir> {
        let roots = self.job.roots;
        let top = match side {
            Side::Source => roots.source.as_ref().map(|source| &source.top.dir),
            Side::Destination => roots.destination.as_ref().map(|top| &top.dir),
            Side::Base => roots.base.as_ref(),
        };
        let top = top.ok_or(io::ErrorKind::NotFound)?;
        let there = side == Side::Destination;
        let Some(parent) = node.parent() else { return top.open_child(c".") };
        match self.held.get(side, parent) {
            Some(dir) if there => dir.open_child(&node.name_there(&self.job.parts)),
            Some(dir) => dir.open_child(node.name()),
            None if there => top.open_below(&node.path_there(&self.job.parts)),
            None => top.open_below(&node.path()),
        }
    }

    /// Notes that something of a directory could not be mirrored.
    pub(crate) fn fail(&mut self, node: &Node, name: &[u8], reason: Reason) {
        self.outcome.fail(|| node.child_path(name), reason);
    }

    /// Notes that a directory could not be mirrored, and counts what is in it and so is not there either.
    pub(crate) fn fail_with_all_below(&mut self, node: &Arc<Node>, reason: Reason) {
        if matches!(reason, Reason::Source { .. }) {
            self.outcome.unread += 1;
        } else {
            self.count_missing(&node.path());
        }
        self.fail(node, b"", reason);
    }

    /// Counts what is below a directory of the source, on this host, that is not mirrored.
    pub(crate) fn count_missing(&mut self, path: &[u8]) {
        let Some(source) = self.job.roots.source() else { return };
        let below = names_below(source, path, self.job.options, &|| self.stopped());
        self.miss_below(&below);
    }

    /// Counts what is below a directory that is not mirrored as it failed.
    pub(crate) fn miss_below(&mut self, below: &Below) {
        self.outcome.names += below.names;
        self.outcome.missing += below.names;
        self.outcome.unread += below.unread;
        self.outcome.has_files |= below.has_files;
        self.outcome.source_failed |= below.source_failed;
    }

    /// Mirrors a directory, but for directories in it.
    fn enter(&mut self, node: &Arc<Node>, meter: &mut WaitMeter<'_>) {
        match self.begin(node) {
            Ok(Some(site)) => {
                if node.facts().is_some_and(|facts| facts.is_entered) {
                    self.list(&site, meter);
                }
                self.leave(&site);
            }
            Ok(None) => self.abandon(node),
            Err(reason) => {
                self.fail_with_all_below(node, reason);
                self.abandon(node);
            }
        }
    }

    /// Lists the source, and deals with the names, together with others that have nothing to do.
    fn list(&mut self, site: &Arc<Site>, meter: &mut WaitMeter<'_>) {
        let dir = match self.open(Side::Source, &site.node) {
            Ok(dir) => dir,
            Err(source) => {
                if let Some(reason) = self.source_failure(Op::Open, source) {
                    self.fail(&site.node, b"", reason);
                }
                return;
            }
        };
        loop {
            let Worker { listing, outcome, .. } = self;
            let leave_out =
                |why, name: &[u8]| outcome.leave_out(why, || site.node.child_path(name));
            let (mut window, more) =
                Window::fill(&dir, &site.node, self.job.options, listing, leave_out);
            site.put_in_order(&mut window);
            let shared = Shared::new(site, window);
            self.take_part(&shared, meter);
            self.make_up_if_many(meter);
            match more {
                Ok(true) if !self.stopped() => {}
                Ok(more) => return site.whole.store(!more && !self.stopped(), Relaxed),
                Err(source) => {
                    return self.fail(&site.node, b"", Reason::Source { op: Op::List, source });
                }
            }
        }
    }

    /// Returns what a directory of the destination has in it.
    pub(crate) fn present(&mut self, dir: &Dir) -> io::Result<Present> {
        Present::list(dir, &mut self.listing)
    }

    /// Returns the room for listings.
    pub(crate) fn listing(&mut self) -> &mut DirBuffer {
        &mut self.listing
    }

    fn help(&mut self, shared: &Arc<Shared>, meter: &mut WaitMeter<'_>) {
        shared.is_helped();
        self.take_part(shared, meter);
        self.leave(&shared.site);
    }

    pub(crate) fn take_part(&mut self, shared: &Arc<Shared>, meter: &mut WaitMeter<'_>) {
        self.sure = None;
        // What another host has sent is for one worker after the other.
        self.at = self.job.far.is_none().then(|| Arc::clone(shared));
        self.take_names(shared, meter);
        self.at = None;
    }

    fn take_names(&mut self, shared: &Arc<Shared>, meter: &mut WaitMeter<'_>) {
        while let Some(taken) = shared.window.take() {
            for index in taken {
                if self.stopped() {
                    return;
                }
                self.call_for_help();
                self.deal_with(shared, index);
                self.deal_with_later();
            }
            self.count();
            self.flush();
            meter.tick();
        }
    }

    /// Has somebody who has nothing to do take part in the names that this worker is at. Asked often: there may be
    /// few names, of large files, and others may have come to nothing to do just now.
    pub(crate) fn call_for_help(&self) {
        let queue = &self.job.queue;
        if let Some(shared) = self.at.as_ref().filter(|_| queue.has_free())
            && shared.asks_for_help()
        {
            queue.offer(Task::Help(Arc::clone(shared)));
        }
    }

    /// Notes that this worker is done with names of a directory.
    pub(crate) fn leave(&mut self, site: &Arc<Site>) {
        if site.release() {
            self.complete(site);
        }
    }
}

/// Returns whether a directory was not found, or what it took the place of in its stead.
fn is_elsewhere(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    [libc::ENOENT, libc::ENOTDIR, libc::ELOOP].map(Some).contains(&number)
}
