//! One mirroring, and what the workers at it share.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use device::{Disk, Queue, Threads, WorkerPool};
use fsops::{Dir, Stat, Volume};
use runtime::{Interrupted, Progress, Stage};
use walk::STORE_PREFIX;
use wire::{Broken, FromReceiver, FromSender, Incoming, Outgoing, Summary, decode};

use crate::engine::deferred::PutOff;
use crate::engine::dir_state::Shared;
use crate::engine::worker::Worker;
use crate::hardlinks::groups::Links;
use crate::hardlinks::inode_set::Claimed;
use crate::model::dir_node::{IMAGINED, Node, TOUCHED};
use crate::model::ownership::Rights;
use crate::model::temp_name::Parts;
use crate::outcome::{Change, Outcome, Removal};
use crate::reconcile::delete::Surplus;
use crate::reconcile::metadata_support::{Beyond, Kept};
use crate::remote::receiver::dispatch::Arrived;
use crate::remote::receiver::session::Far;
use crate::reuse::contents::Contents;
use crate::roots::Roots;
use crate::{Consent, Options, Tell, User};

/// Something a worker can do next.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Mirror a directory.
    Enter { inode: u64, node: Arc<Node> },
    /// Take names that another worker listed.
    Help(Arc<Shared>),
    /// Copy a file that was put off.
    Copy(Arc<PutOff>),
    /// Deal with what came from another host, in turn.
    Arrived { turn: u64, what: Arc<Arrived> },
}

/// One mirroring.
pub(crate) struct Job<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) options: &'a Options,
    pub(crate) progress: &'a Progress,
    pub(crate) tell: Option<Tell<'a>>,
    pub(crate) rights: Rights,
    /// The temporary names of this run.
    pub(crate) parts: Parts,
    pub(crate) queue: Queue<Task>,
    pub(crate) links: Links,
    pub(crate) claimed: Claimed,
    /// Held by who begins another copy of a file that has too many names.
    pub(crate) splitting: Mutex<()>,
    /// Workers that have room for bytes on their way.
    pub(crate) buffers: AtomicUsize,
    /// Contents of which the source has said the digests.
    pub(crate) contents: Contents,
    /// Whether files of the destination can share extents, once that was tried.
    pub(crate) clones: OnceLock<bool>,
    /// Directories that were given their names.
    pub(crate) placed: AtomicU64,
    /// What has come of it so far, if somebody wants to know meanwhile.
    pub(crate) so_far: Option<&'a Mutex<Summary>>,
    /// Where the source is, if that is another host.
    pub(crate) far: Option<Arc<Far>>,
    /// What the file systems of the destination keep of metadata.
    pub(crate) kept: Kept,
    /// Files that were put off and not copied yet.
    pub(crate) put_off: AtomicUsize,
    /// There was a trial of the source's disk.
    pub(crate) is_tried: AtomicBool,
    surplus: Mutex<Surplus>,
    volumes: Mutex<HashMap<u64, Volume>>,
    pub(crate) disk: Arc<Disk>,
}

/// Makes the destination like the source. Returns what came of it, and whether it went to its end: `progress` may
/// have asked to stop.
///
/// `progress.files_done` counts names that are dealt with, `progress.bytes_done` bytes of files, also of those that
/// need not be copied.
pub fn mirror(
    roots: &Roots,
    options: &Options,
    progress: &Progress,
    user: User<'_>,
) -> (Outcome, Result<(), Interrupted>) {
    progress.enter(Stage::Mirror);
    let Some(source) = &roots.source else { return (Outcome::default(), Ok(())) };
    let Stat { inode, device, .. } = source.top.stat;
    let start = Task::Enter { inode, node: roots.top() };
    let job = Job::new(roots, options, progress, user.tell, (start, device), None);
    job.limit_pool();
    let mut outcome = Outcome::default();
    let pool = WorkerPool { disk: &job.disk, threads: options.threads, pieces: None };
    for other in pool.run(|meter| Worker::new(&job).run(meter)) {
        outcome.add(other);
    }
    job.end(&mut outcome, user.consent);
    (outcome, progress.check())
}

/// Makes the destination like what a sender on another host has, as [`mirror`] does.
///
/// # Errors
///
/// That the conversation ended before its time: what was done stays, and the next run goes on.
pub fn receive(
    roots: &Roots,
    options: &Options,
    progress: &Progress,
    user: User<'_>,
    talk: (&mut Incoming<File>, &Arc<Outgoing<File>>),
) -> (Outcome, Result<(), Broken>) {
    receive_for(roots, options, progress, user, (false, None), talk)
}

/// Does the same for a user here, or if `asks_sender` for one on the sender's side, and keeps `so_far` what has come
/// of it.
pub(crate) fn receive_for(
    roots: &Roots,
    options: &Options,
    progress: &Progress,
    user: User<'_>,
    (asks_sender, so_far): (bool, Option<&Mutex<Summary>>),
    (incoming, out): (&mut Incoming<File>, &Arc<Outgoing<File>>),
) -> (Outcome, Result<(), Broken>) {
    progress.enter(Stage::Mirror);
    let far = Far::new(Arc::clone(out));
    let top = roots.top();
    let device = roots.destination.as_ref().map_or(0, |top| top.stat.device);
    let _waits_to_be_entered = far.listed(0, Arc::clone(&top));
    let start = Task::Arrived { turn: far.turn(), what: Arc::new(Arrived::Dir(0, top)) };
    let far = Some(far);
    let mut job = Job::new(roots, options, progress, user.tell, (start, device), far.clone());
    job.so_far = so_far;
    let mut outcome = Outcome::default();
    let Threads { first, grows } = options.threads;
    // One more: who listens does nothing else.
    let threads = Threads { first: first + 1, grows };
    let pool = WorkerPool { disk: &job.disk, threads, pieces: None };
    let this = std::thread::current().id();
    let ears = Mutex::new(Some(&mut *incoming));
    // Before the others, who would leave if nobody else were there.
    job.queue.join();
    let results = pool.run(|meter| {
        let worker = Worker::new(&job);
        let ears = || ears.lock().unwrap_or_else(PoisonError::into_inner).take();
        if std::thread::current().id() == this
            && let (Some(far), Some(incoming)) = (&far, ears())
        {
            worker.hear(far, incoming, meter)
        } else {
            (worker.run(meter), Ok(()))
        }
    });
    let mut ended = Ok(());
    for (other, end) in results {
        outcome.add(other);
        ended = ended.and(end);
    }
    if ended.is_ok() && asks_sender {
        let incoming = Mutex::new((incoming, &mut ended));
        let ask = |removal: &Removal| {
            let (incoming, ended) = &mut *incoming.lock().unwrap_or_else(PoisonError::into_inner);
            let answer = ask_sender(removal, progress, (incoming, out));
            answer.unwrap_or_else(|broken| {
                **ended = Err(broken);
                false
            })
        };
        job.end(&mut outcome, Some(&ask));
    } else if ended.is_ok() {
        job.end(&mut outcome, user.consent);
    }
    (outcome, if progress.poll_stop() { Err(Broken::Stopped) } else { ended })
}

/// Asks the user of the sender whether something may be removed.
fn ask_sender(
    removal: &Removal,
    progress: &Progress,
    (incoming, out): (&mut Incoming<File>, &Outgoing<File>),
) -> Result<bool, Broken> {
    let Removal { entries, names, ref some, source, unchanged } = *removal;
    let some = some.iter().map(Vec::as_slice).collect();
    out.say(&FromReceiver::Ask(wire::Removal { entries, names, some, source, unchanged }), &[])?;
    out.flush()?;
    match decode::<FromSender<'_>>(incoming.next(&|| progress.poll_stop())?)?.0 {
        FromSender::Consent { given } => Ok(given),
        _ => Err(Broken::Nonsense("no answer to a question")),
    }
}

impl Roots {
    /// Returns the top directory as it is to be mirrored.
    fn top(&self) -> Arc<Node> {
        let top = Node::top();
        if self.destination.is_none() {
            top.set(IMAGINED);
        }
        if self.made {
            top.set(TOUCHED);
        }
        top
    }
}

impl<'a> Job<'a> {
    fn new(
        roots: &'a Roots,
        options: &'a Options,
        progress: &'a Progress,
        tell: Option<Tell<'a>>,
        (start, device): (Task, u64),
        far: Option<Arc<Far>>,
    ) -> Job<'a> {
        Job {
            roots,
            options,
            progress,
            tell,
            rights: Rights::of_process(),
            parts: Parts::new(),
            queue: Queue::new(start),
            links: Links::default(),
            claimed: Claimed::default(),
            splitting: Mutex::default(),
            buffers: AtomicUsize::new(0),
            contents: Contents::default(),
            clones: OnceLock::new(),
            placed: AtomicU64::new(0),
            so_far: None,
            far,
            kept: Kept::default(),
            put_off: AtomicUsize::new(0),
            is_tried: AtomicBool::new(false),
            surplus: Mutex::default(),
            volumes: Mutex::default(),
            disk: options.disks.of(device),
        }
    }

    /// Does what is to be done when everything else is.
    fn end(&self, outcome: &mut Outcome, consent: Option<Consent<'_>>) {
        (outcome.no_owners, outcome.no_modes) = self.kept.lacking();
        let Beyond { first, last } = self.kept.beyond();
        (outcome.first_time, outcome.last_time) = (first, last);
        if !self.progress.poll_stop() {
            let surplus = std::mem::take(&mut *self.surplus());
            surplus.settle(self, outcome, consent);
        }
    }
}

impl Job<'_> {
    /// Returns whether to go by the order of the source's disk rather than by that of the tree: if it has an
    /// arm, or that is to be found out.
    pub(crate) fn goes_by_place(&self) -> bool {
        let disk = &self.disk;
        let is_open = || disk.is_auto() && !disk.is_classified() && !self.is_tried.load(Relaxed);
        self.far.is_none() && disk.is_cold() && (disk.is_seek_bound() || is_open())
    }

    pub(crate) fn surplus(&self) -> MutexGuard<'_, Surplus> {
        self.surplus.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the top directory is finished, and all in it.
    pub(crate) fn finish(&self) {
        if let Some(far) = &self.far {
            far.finish();
        }
    }

    /// Returns whether what is in a directory on this device of the source is mirrored.
    pub(crate) fn enters(&self, device: u64) -> bool {
        let top = self.roots.source.as_ref().map(|source| source.top.stat.device);
        !self.options.one_file_system || top == Some(device)
    }

    /// Returns whether the source itself is a file system that the kernel makes up, or in one.
    pub(crate) fn source_is_synthetic(&self) -> bool {
        let source = self.roots.source.as_ref();
        source.is_some_and(|source| source.is_synthetic)
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

/// What tells places from inodes.
const PLACES: u64 = 1 << 63;

/// Returns whether a directory of this name has files in quarantine.
pub(crate) fn is_store(name: &[u8]) -> bool {
    name.starts_with(STORE_PREFIX.as_bytes())
}

/// Returns whether a name is one to be mirrored; `path` gives its path below the top.
pub(crate) fn takes(
    options: &Options,
    name: &[u8],
    path: impl FnOnce() -> Vec<u8>,
    is_dir: bool,
) -> bool {
    if is_dir && is_store(name) {
        return false;
    }
    let Options { include, exclude, .. } = options;
    if include.is_empty() && exclude.is_empty() {
        return true;
    }
    let path = (include.want_paths() || exclude.want_paths()).then(path);
    // Both are asked, so that a pattern is not said to match nothing because of another one.
    let includes = !is_dir && include.matches(name, path.as_deref(), false);
    let is_included = is_dir || includes || include.is_empty();
    !exclude.matches(name, path.as_deref(), is_dir) && is_included
}

impl Task {
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Task::Copy(_))
    }

    /// Returns what the order goes by: inodes of directories, then places of files, and addresses where these
    /// are alike.
    fn place(&self) -> (u64, usize) {
        match self {
            Task::Enter { inode, node } => (*inode & !PLACES, Arc::as_ptr(node).addr()),
            Task::Copy(put_off) => (put_off.place | PLACES, Arc::as_ptr(put_off).addr()),
            Task::Help(shared) => (u64::MAX, Arc::as_ptr(shared).addr()),
            Task::Arrived { turn, .. } => (*turn, 0),
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
