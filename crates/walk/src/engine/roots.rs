//! Examines the roots before the walk: which are directories, and on which device. A root on a
//! mount whose server is gone does not delay the others.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use fsops::Dir;
use runtime::{Interrupted, Progress};

use crate::tree::records::{DirId, Root};

/// Time after which an unanswered root is deferred. A disk that has to spin up takes longer, which
/// only means that it is walked last.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// Interval between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What a path is.
pub(crate) enum RootKind {
    /// A directory, and its device number.
    Directory(Root, u64),
    /// A file at this path. A link stands for its target.
    File(PathBuf),
}

/// A path's index among those given, and what was found there.
pub(crate) type Answer = (usize, io::Result<RootKind>);

/// Paths being examined, in detached threads.
pub(crate) struct PendingRoots {
    shared: Arc<Shared>,
    answers: Receiver<Answer>,
    /// Indices without an answer so far.
    open: BTreeSet<usize>,
}

struct Shared {
    paths: Vec<PathBuf>,
    next: AtomicUsize,
    answers: Sender<Answer>,
}

impl PendingRoots {
    pub(crate) fn at(paths: &[PathBuf]) -> PendingRoots {
        let (sender, answers) = channel();
        let shared = Shared { paths: paths.to_vec(), next: AtomicUsize::new(0), answers: sender };
        PendingRoots { shared: Arc::new(shared), answers, open: (0..paths.len()).collect() }
    }

    /// Returns the answers that arrive in time, in the order given.
    pub(crate) fn timely_answers(
        &mut self,
        progress: &Progress,
    ) -> Result<Vec<Answer>, Interrupted> {
        let mut known = Vec::with_capacity(self.open.len());
        let (mut helpers, mut since) = (1, Instant::now());
        self.spawn_helper();
        while !self.open.is_empty() {
            progress.check()?;
            if let Some(answer) = self.answer() {
                known.push(answer);
                since = Instant::now();
            } else if since.elapsed() >= ANSWER_TIME {
                if self.shared.next.load(Relaxed) >= self.shared.paths.len() {
                    break;
                }
                // A thread that is stuck cannot examine further paths, which may be on the same
                // mount.
                (0..helpers).for_each(|_| self.spawn_helper());
                (helpers, since) = (2 * helpers, Instant::now());
            }
        }
        known.sort_unstable_by_key(|&(at, _)| at);
        Ok(known)
    }

    /// Waits for one of the late answers, which fail if they have not arrived by `end`. Returns
    /// `None` if no answer is missing.
    pub(crate) fn late_answer(
        &mut self,
        end: Instant,
        progress: &Progress,
    ) -> Result<Option<Answer>, Interrupted> {
        while !self.open.is_empty() {
            progress.check()?;
            if let Some(answer) = self.answer() {
                return Ok(Some(answer));
            }
            if Instant::now() >= end {
                let unresponsive = self.open.pop_first();
                return Ok(unresponsive.map(|at| (at, Err(io::ErrorKind::TimedOut.into()))));
            }
        }
        Ok(None)
    }

    /// Waits briefly for an answer.
    fn answer(&mut self) -> Option<Answer> {
        loop {
            let answer = self.answers.recv_timeout(POLL_INTERVAL).ok()?;
            // The answer of a root that was given up comes too late.
            if self.open.remove(&answer.0) {
                return Some(answer);
            }
        }
    }

    /// Starts one more thread. If none can be started, the only option is to wait.
    fn spawn_helper(&self) {
        let shared = Arc::clone(&self.shared);
        if Builder::new().spawn(move || shared.inspect_all()).is_err() {
            self.shared.inspect_all();
        }
    }
}

/// Returns the indices of the paths that do not answer within `patience`. An error is an answer.
pub fn unresponsive(paths: &[PathBuf], patience: Duration) -> BTreeSet<usize> {
    let end = Instant::now() + patience;
    let mut pending = PendingRoots::at(paths);
    // Nobody requests a stop.
    let _answers = pending.timely_answers(&Progress::default());
    while !pending.open.is_empty() && Instant::now() < end {
        pending.answer();
    }
    pending.open
}

impl Shared {
    fn inspect_all(&self) {
        loop {
            let at = self.next.fetch_add(1, Relaxed);
            let Some(path) = self.paths.get(at) else { return };
            // Nobody receives the answer if the walk was interrupted.
            if self.answers.send((at, inspect(path))).is_err() {
                return;
            }
        }
    }
}

/// Finds out what a path is.
fn inspect(path: &Path) -> io::Result<RootKind> {
    let is_dir = std::fs::metadata(path).is_ok_and(|found| found.is_dir());
    if !is_dir {
        let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
        let target = if is_link { path.canonicalize()? } else { path.to_path_buf() };
        return Ok(RootKind::File(target));
    }
    let absolute = path.canonicalize()?.into_os_string().into_vec();
    let device = Dir::open(path)?.stat()?.device;
    let given = path.as_os_str().as_bytes().to_vec();
    Ok(RootKind::Directory(Root { given, absolute, dir: DirId(0), whole: true }, device))
}
