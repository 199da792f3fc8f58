//! One mirroring, and what the workers at it share.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use device::{Crew, Lane, Queue};
use fsops::{Dir, Interrupted, Stage, Volume, Watch};
use walk::STORE_PREFIX;

use crate::claimed::Claimed;
use crate::links::Links;
use crate::node::{IMAGINED, Node, TOUCHED};
use crate::outcome::{Change, Outcome};
use crate::rights::Rights;
use crate::roots::Roots;
use crate::site::Shared;
use crate::surplus::Surplus;
use crate::worker::Worker;
use crate::{Options, Tell};

/// Something a worker can do next.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Mirror a directory.
    Enter { inode: u64, node: Arc<Node> },
    /// Take names that another worker listed.
    Help(Arc<Shared>),
}

/// One mirroring.
pub(crate) struct Job<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) options: &'a Options,
    pub(crate) watch: &'a Watch,
    pub(crate) tell: Option<Tell<'a>>,
    pub(crate) rights: Rights,
    pub(crate) queue: Queue<Task>,
    pub(crate) links: Links,
    pub(crate) claimed: Claimed,
    /// Held by who begins another copy of a file that has too many names.
    pub(crate) splitting: Mutex<()>,
    /// Workers that have room for bytes on their way.
    pub(crate) buffers: AtomicUsize,
    surplus: Mutex<Surplus>,
    volumes: Mutex<HashMap<u64, Volume>>,
    lane: Arc<Lane>,
}

/// Makes the destination like the source. Returns what came of it, and whether it went to its end: `watch` may
/// have asked to stop.
///
/// `watch.files_done` counts names that are dealt with, `watch.bytes_done` bytes of files, also of those that
/// need not be copied.
pub fn mirror(
    roots: &Roots,
    options: &Options,
    watch: &Watch,
    tell: Option<Tell<'_>>,
) -> (Outcome, Result<(), Interrupted>) {
    watch.enter(Stage::Mirror);
    let top = Node::top();
    if roots.destination.is_none() {
        top.set(IMAGINED);
    }
    if roots.made {
        top.set(TOUCHED);
    }
    let inode = roots.source.stat.inode;
    let job = Job {
        roots,
        options,
        watch,
        tell,
        rights: Rights::of_process(),
        queue: Queue::new(Task::Enter { inode, node: top }),
        links: Links::default(),
        claimed: Claimed::default(),
        splitting: Mutex::default(),
        buffers: AtomicUsize::new(0),
        surplus: Mutex::default(),
        volumes: Mutex::default(),
        lane: options.lanes.of(roots.source.stat.device),
    };
    let mut outcome = Outcome::default();
    let crew = Crew { lane: &job.lane, threads: options.threads, pieces: None };
    for other in crew.run(|pace| Worker::new(&job).run(pace)) {
        outcome.add(other);
    }
    if !watch.stopped() {
        let surplus = std::mem::take(&mut *job.surplus());
        surplus.settle(&job, &mut outcome);
    }
    (outcome, watch.check())
}

impl Job<'_> {
    pub(crate) fn surplus(&self) -> MutexGuard<'_, Surplus> {
        self.surplus.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the file system that a directory of a device is on.
    pub(crate) fn volume(&self, dir: &Dir, device: u64) -> std::io::Result<Volume> {
        let mut volumes = self.volumes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = volumes.get(&device) {
            return Ok(known);
        }
        let volume = dir.volume()?;
        volumes.insert(device, volume);
        Ok(volume)
    }

    /// Tells of a change, if anybody wants to know.
    pub(crate) fn tell(&self, change: impl FnOnce() -> Change) {
        if let Some(tell) = self.tell {
            tell(&change());
        }
    }
}

/// Returns whether a name is one to be mirrored; `path` gives its path below the top.
pub(crate) fn takes(
    options: &Options,
    name: &[u8],
    path: impl FnOnce() -> Vec<u8>,
    is_dir: bool,
) -> bool {
    if is_dir && name.starts_with(STORE_PREFIX.as_bytes()) {
        return false;
    }
    let Options { include, exclude, .. } = options;
    if include.is_empty() && exclude.is_empty() {
        return true;
    }
    let path = (include.want_paths() || exclude.want_paths()).then(path);
    let included = is_dir || include.is_empty() || include.matches(name, path.as_deref(), false);
    included && !exclude.matches(name, path.as_deref(), is_dir)
}

impl Task {
    /// Returns what the order goes by: inodes, and addresses where these are alike.
    fn place(&self) -> (u64, usize) {
        match self {
            Task::Enter { inode, node } => (*inode, Arc::as_ptr(node).addr()),
            Task::Help(shared) => (u64::MAX, Arc::as_ptr(shared).addr()),
        }
    }
}

impl Ord for Task {
    fn cmp(&self, other: &Task) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Task {
    fn partial_cmp(&self, other: &Task) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Task {
    fn eq(&self, other: &Task) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Task {}
