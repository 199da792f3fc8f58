//! The walk: workers list the directories that a rule can reach, and match their names.
//!
//! The walk examines an entry only if a pattern matches its name, or if a rule may take its
//! directory as a whole. Other names cost no system call. The walk follows no link and enters no
//! other file system.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use device::{Queue, WaitMeter, WorkerPool};
use fsops::{Dir, Kind, Op};
use runtime::{Interrupted, Progress, Stage};

use crate::preview::Match;
use crate::preview::decide::{Current, Hits};
use crate::preview::listing::Listing;
use crate::preview::request::{Compiled, Request};
use crate::preview::scope::DirNode;
use crate::preview::worker::{Found, Pending, Worker};

/// Maximum number of directories above the current one that a worker keeps open.
const MAX_OPEN: usize = 16;

/// Walks the target. Returns the results of the workers.
pub(crate) fn walk(
    request: &Request<'_>,
    compiled: &Compiled,
    progress: &Progress,
) -> Result<Vec<Found>, Interrupted> {
    progress.enter(Stage::Walk);
    let node = Arc::new(DirNode::top());
    let top = Pending { inode: 0, node, place: compiled.matcher.start() };
    let queue = Queue::new(top);
    let pool = WorkerPool {
        disk: &request.disk,
        threads: request.threads,
        pieces: None,
        all_at_once: true,
        writes: false,
        progress,
    };
    let found = pool.run(|meter| Worker::new(request, compiled, &queue, progress).run(meter));
    progress.check()?;
    Ok(found)
}

impl Worker<'_> {
    fn run(mut self, meter: &mut WaitMeter<'_>) -> Found {
        self.queue.join();
        let _guard = self.queue.close_on_panic();
        let disk = &self.request.disk;
        while let Some(pending) = self.queue.next(&mut self.stack) {
            if self.progress.poll_stop() {
                self.queue.close();
                break;
            }
            meter.begin();
            self.directory(&pending);
            if disk.is_cold() && disk.is_seek_bound() {
                self.queue.enqueue_sorted(&mut self.stack);
            } else {
                self.queue.share(&mut self.stack);
            }
            meter.tick();
        }
        self.found.matches.sort_unstable_by(Match::order);
        self.found
    }

    /// Lists a directory, and passes its result on to its parent if it has no subdirectories left.
    fn directory(&mut self, pending: &Pending) {
        let node = &pending.node;
        let mut listing = std::mem::take(&mut self.listing);
        let opened = self.open_next(node).map_err(|e| (Op::Open, e)).and_then(|dir| {
            if node.has_scopes() {
                // The access time of the directory may count for its age.
                dir.list_quietly();
            }
            listing.read(&dir, &mut self.buffer).map_err(|e| (Op::List, e))?;
            Ok(dir)
        });
        match opened {
            Ok(dir) => {
                self.found.dirs += 1;
                self.found.names += listing.len() as u64;
                self.progress.entries.fetch_add(listing.len() as u64, Relaxed);
                let depth = self.stack.len();
                self.entries(pending, &dir, &listing);
                if self.stack.len() > depth {
                    self.open.push((Arc::clone(node), dir));
                }
            }
            Err((op, source)) => {
                node.keep_all();
                // A mount point is kept, which is not a problem.
                if source.kind() != io::ErrorKind::CrossesDevices {
                    self.problem(node.path(), op, source);
                }
            }
        }
        self.listing = listing;
        self.finish(node);
    }

    /// Opens the directory to list next. Its parent is open if the worker listed it last.
    fn open_next(&mut self, node: &DirNode) -> io::Result<Dir> {
        let Some(parent) = &node.parent else { return self.open_path(b"") };
        while self.open.last().is_some_and(|(open, _)| !Arc::ptr_eq(open, parent)) {
            self.open.pop();
        }
        if self.open.len() > MAX_OPEN {
            self.open.remove(0);
        }
        match self.open.last() {
            Some((_, parent)) => parent.open_child_same_mount(&node.name),
            None => self.open_path(&node.path()),
        }
    }

    fn entries(&mut self, pending: &Pending, dir: &Dir, listing: &Listing) {
        let mut current = Current::new(pending, dir, listing);
        self.open_scopes(&mut current);
        let (mut folded, mut next) =
            (std::mem::take(&mut self.folded), std::mem::take(&mut self.next));
        let mut hits = Hits::default();
        let matcher = &self.compiled.matcher;
        for (name, kind, inode) in listing.entries() {
            matcher.step(&pending.place.state, name.to_bytes(), &mut folded, &mut next);
            if next.is_empty() && current.scopes.is_empty() && current.route.is_none() {
                continue;
            }
            let kind = match kind {
                Kind::Unknown => dir.stat_child(name).map_or(Kind::Unknown, |stat| stat.kind),
                known => known,
            };
            if name == c".git" {
                self.note_repository(&current);
            }
            hits.find(&matcher.automaton, &next);
            if !hits.takes.is_empty() || !current.scopes.is_empty() {
                hits.is_protected = self.is_protected(&current, name.to_bytes(), &mut folded);
            }
            if kind == Kind::Dir {
                self.subdirectory(&mut current, (name, inode), &hits, &next);
            } else if !hits.takes.is_empty() || !current.scopes.is_empty() {
                self.file(&mut current, name, kind, &hits);
            }
        }
        (self.folded, self.next) = (folded, next);
    }
}
