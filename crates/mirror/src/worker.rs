//! One thread of a mirroring: takes directories from the queue, lists them, and deals with their names.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use device::Pace;
use fsops::{Dir, DirBuffer, Kind, Op, Watch};

use crate::buffer::Buffer;
use crate::held::{Held, Side};
use crate::job::{Job, Task, takes};
use crate::node::{ASIDE, Node};
use crate::outcome::{Outcome, Reason};
use crate::part::is_part;
use crate::present::Present;
use crate::site::{Shared, Site, Waiter};
use crate::table::Key;
use crate::window::Window;

/// Bytes of names in a window: 8,000 names or so, which a listing gives in some five calls.
const WINDOW: usize = 256 << 10;

/// How long a directory that was just renamed may be without a name that is known: far longer than it takes
/// to set a flag.
const RENAMED: Duration = Duration::from_secs(1);

pub(crate) struct Worker<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) outcome: Outcome,
    pub(crate) held: Held,
    pub(crate) buffer: Buffer,
    pub(crate) scratch: content::Scratch,
    listing: DirBuffer,
    stack: Vec<Task>,
    /// Names whose file is at the destination now, or failed to get there.
    pub(crate) later: Vec<Waiter>,
    /// The file of which it is known that it is the one of this number still.
    pub(crate) sure: Option<Key>,
    /// What was counted in `job.watch` already.
    counted: u64,
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
            later: Vec::new(),
            sure: None,
            counted: 0,
        }
    }

    pub(crate) fn run(mut self, pace: &mut Pace<'_>) -> Outcome {
        let job = self.job;
        job.queue.join();
        let _guard = job.queue.close_on_panic();
        while let Some(task) = self.next() {
            // What was begun is brought to an end also then.
            let stopped = job.watch.stopped();
            pace.begin();
            match task {
                Task::Enter { .. } if stopped => {}
                Task::Enter { node, .. } => self.enter(&node, pace),
                Task::Help(shared) => self.help(&shared, pace),
            }
            job.queue.share(&mut self.stack);
            self.count();
            pace.tick();
        }
        self.outcome
    }

    fn next(&mut self) -> Option<Task> {
        if self.stack.is_empty() {
            self.held.clear();
        }
        self.job.queue.next(&mut self.stack)
    }

    /// Passes on how many names were dealt with to who shows progress.
    pub(crate) fn count(&mut self) {
        self.job.watch.files_done.fetch_add(self.outcome.names - self.counted, Relaxed);
        self.counted = self.outcome.names;
    }

    pub(crate) fn stopped(&self) -> bool {
        Watch::stopped(self.job.watch)
    }

    pub(crate) fn push(&mut self, inode: u64, node: Arc<Node>) {
        self.stack.push(Task::Enter { inode, node });
    }

    /// Returns a directory of one of the trees, open.
    pub(crate) fn open(&mut self, side: Side, node: &Arc<Node>) -> io::Result<Rc<Dir>> {
        if let Some(dir) = self.held.get(side, node) {
            return Ok(dir);
        }
        let mut was_aside = side == Side::Destination && node.is(ASIDE);
        loop {
            match self.open_now(side, node) {
                // Another worker is just giving it its name.
                Err(e) if e.kind() == io::ErrorKind::NotFound && was_aside => {
                    let wait = Instant::now() + RENAMED;
                    while node.is(ASIDE) && Instant::now() < wait {
                        std::thread::yield_now();
                    }
                    was_aside = false;
                }
                opened => return Ok(self.held.put(side, node, opened?)),
            }
        }
    }

    fn open_now(&mut self, side: Side, node: &Arc<Node>) -> io::Result<Dir> {
        let roots = self.job.roots;
        let top = match side {
            Side::Source => Some(&roots.source.dir),
            Side::Destination => roots.destination.as_ref().map(|top| &top.dir),
            Side::Base => roots.base.as_ref(),
        };
        let top = top.ok_or(io::ErrorKind::NotFound)?;
        let there = side == Side::Destination;
        let Some(parent) = node.parent() else { return top.open_child(c".") };
        match self.held.get(side, parent) {
            Some(dir) if there => dir.open_child(&node.name_there()),
            Some(dir) => dir.open_child(node.name()),
            None if there => top.open_below(&node.path_there()),
            None => top.open_below(&node.path()),
        }
    }

    /// Notes that something of a directory could not be mirrored.
    pub(crate) fn fail(&mut self, node: &Node, name: &[u8], reason: Reason) {
        self.outcome.fail(|| joined(node, name), reason);
    }

    /// Mirrors a directory, but for directories in it.
    fn enter(&mut self, node: &Arc<Node>, pace: &mut Pace<'_>) {
        match self.begin(node) {
            Ok(Some(site)) => {
                if node.facts().is_some_and(|facts| facts.is_entered) {
                    self.list(&site, pace);
                }
                self.leave(&site);
            }
            Ok(None) => self.abandon(node),
            Err(reason) => {
                self.fail(node, b"", reason);
                self.abandon(node);
            }
        }
    }

    /// Lists the source, and deals with the names, together with others that have nothing to do.
    fn list(&mut self, site: &Arc<Site>, pace: &mut Pace<'_>) {
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
            let (window, more) = self.fill(site, &dir);
            let shared = Arc::new(Shared { site: Arc::clone(site), window });
            if shared.window.len() > 1 && self.job.queue.has_free() {
                site.hold();
                self.job.queue.offer(Task::Help(Arc::clone(&shared)));
            }
            self.take_part(&shared, pace);
            match more {
                Ok(true) if !self.stopped() => {}
                Ok(more) => return site.whole.store(!more && !self.stopped(), Relaxed),
                Err(source) => {
                    return self.fail(&site.node, b"", Reason::Source { op: Op::List, source });
                }
            }
        }
    }

    /// Returns some names, and whether there are more.
    fn fill(&mut self, site: &Site, dir: &Dir) -> (Window, io::Result<bool>) {
        let mut window = Window::default();
        let more = loop {
            let skipped = &mut self.outcome.skipped;
            let job = self.job;
            let more = dir.list_some(&mut self.listing, |item| {
                let kind = match item.kind {
                    Kind::Unknown => dir.stat_child(item.name).map_or(Kind::File, |stat| stat.kind),
                    kind => kind,
                };
                let name = item.name.to_bytes();
                if is_part(name) {
                    *skipped += 1;
                } else if takes(job.options, name, || joined(&site.node, name), kind == Kind::Dir) {
                    window.push(&item, kind);
                }
            });
            match more {
                Ok(Some(_)) if window.bytes() < WINDOW => {}
                Ok(more) => break Ok(more.is_some()),
                Err(e) => break Err(e),
            }
        };
        window.sort();
        (window, more)
    }

    /// Returns what a directory of the destination has in it.
    pub(crate) fn present(&mut self, dir: &Dir) -> io::Result<Present> {
        Present::list(dir, &mut self.listing)
    }

    fn help(&mut self, shared: &Shared, pace: &mut Pace<'_>) {
        self.take_part(shared, pace);
        self.leave(&shared.site);
    }

    fn take_part(&mut self, shared: &Shared, pace: &mut Pace<'_>) {
        self.sure = None;
        while let Some(taken) = shared.window.take() {
            for index in taken {
                if self.stopped() {
                    return;
                }
                self.deal_with(&shared.site, shared.window.get(index));
                self.deal_with_later();
            }
            self.count();
            pace.tick();
        }
    }

    /// Notes that this worker is done with names of a directory.
    pub(crate) fn leave(&mut self, site: &Arc<Site>) {
        if site.release() {
            self.complete(site);
        }
    }
}

/// Returns the path of something in a directory, below the top.
pub(crate) fn joined(node: &Node, name: &[u8]) -> Vec<u8> {
    let mut path = node.path();
    if !name.is_empty() && !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
