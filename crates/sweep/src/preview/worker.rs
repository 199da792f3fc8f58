//! The state of a worker thread, and the directories that wait for a worker.

use std::io;
use std::sync::Arc;

use device::Queue;
use fsops::{Dir, DirBuffer, Op};
use runtime::Progress;

use crate::git::Repositories;
use crate::matcher::Place;
use crate::matcher::automaton::NodeId;
use crate::preview::listing::Listing;
use crate::preview::request::{Compiled, Request};
use crate::preview::scope::DirNode;
use crate::preview::{Match, Problem};
use crate::rule::Rule;

/// A directory to list.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    pub(crate) inode: u64,
    pub(crate) node: Arc<DirNode>,
    pub(crate) place: Place,
}

/// The results of one worker.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) matches: Vec<Match>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) dirs: u64,
    pub(crate) names: u64,
}

/// A worker thread.
pub(crate) struct Worker<'a> {
    pub(crate) request: &'a Request<'a>,
    pub(crate) compiled: &'a Compiled,
    pub(crate) queue: &'a Queue<Pending>,
    pub(crate) progress: &'a Progress,
    pub(crate) stack: Vec<Pending>,
    /// The open directories above the current one, outermost first, with their nodes.
    pub(crate) open: Vec<(Arc<DirNode>, Dir)>,
    pub(crate) buffer: DirBuffer,
    pub(crate) listing: Listing,
    pub(crate) folded: Vec<u8>,
    pub(crate) next: Vec<NodeId>,
    pub(crate) next_protected: Vec<NodeId>,
    pub(crate) repositories: Repositories<'a>,
    pub(crate) found: Found,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        request: &'a Request<'a>,
        compiled: &'a Compiled,
        queue: &'a Queue<Pending>,
        progress: &'a Progress,
    ) -> Worker<'a> {
        Worker {
            request,
            compiled,
            queue,
            progress,
            stack: Vec::new(),
            open: Vec::new(),
            buffer: DirBuffer::default(),
            listing: Listing::default(),
            folded: Vec::new(),
            next: Vec::new(),
            next_protected: Vec::new(),
            repositories: Repositories::new(request.root, request.path),
            found: Found::default(),
        }
    }

    /// Opens a directory of the target.
    pub(crate) fn open_path(&self, path: &[u8]) -> io::Result<Dir> {
        let path = if path.is_empty() { b".".as_slice() } else { path };
        self.request.root.open_below_same_mount(path)
    }

    pub(crate) fn rule(&self, rule: u32) -> &'a Rule {
        &self.request.rules[rule as usize]
    }

    pub(crate) fn problem(&mut self, path: Vec<u8>, op: Op, source: io::Error) {
        self.found.problems.push(Problem { path, op, source });
    }
}

impl PartialEq for Pending {
    fn eq(&self, other: &Pending) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Pending {}

impl PartialOrd for Pending {
    fn partial_cmp(&self, other: &Pending) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pending {
    fn cmp(&self, other: &Pending) -> std::cmp::Ordering {
        let key = |pending: &Pending| (pending.inode, Arc::as_ptr(&pending.node).addr());
        key(self).cmp(&key(other))
    }
}
