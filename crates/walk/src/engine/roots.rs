//! Examines the roots before the walk.
//!
//! For each root, this module finds out whether it is a directory and which device it is on. The
//! threads that do this are detached, so a root on an unresponsive network mount does not delay the
//! others.

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

/// Time after which a root is deferred if it could not be examined yet. A disk that is spinning up
/// may take longer. Its roots are then walked after the other disks.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// Interval between checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Kind of a root.
pub(crate) enum RootKind {
    /// A directory, and its device number.
    Directory(Root, u64),
    /// A file at this path. If the root is a link, this is the path of its target.
    File(PathBuf),
}

/// The index of a root, and the result of examining it.
pub(crate) type Answer = (usize, io::Result<RootKind>);

/// Roots that are being examined by detached threads.
pub(crate) struct PendingRoots {
    shared: Arc<Shared>,
    answers: Receiver<Answer>,
    /// Indices of the roots for which there is no answer yet.
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

    /// Returns the answers that arrive in time, sorted by index.
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
                // A stuck thread cannot examine further paths. Other threads may get stuck on the
                // same mount, so the number of threads is doubled each time.
                (0..helpers).for_each(|_| self.spawn_helper());
                (helpers, since) = (2 * helpers, Instant::now());
            }
        }
        known.sort_unstable_by_key(|&(at, _)| at);
        Ok(known)
    }

    /// Waits for the next late answer. After `end`, each root without an answer fails with a
    /// timeout. Returns `None` once there is a result for every root.
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

    /// Waits up to [`POLL_INTERVAL`] for an answer.
    fn answer(&mut self) -> Option<Answer> {
        loop {
            let answer = self.answers.recv_timeout(POLL_INTERVAL).ok()?;
            // Answers for roots that have already timed out are ignored.
            if self.open.remove(&answer.0) {
                return Some(answer);
            }
        }
    }

    /// Starts one more thread. If the thread cannot be started, examines the remaining paths on the
    /// calling thread.
    fn spawn_helper(&self) {
        let shared = Arc::clone(&self.shared);
        if Builder::new().spawn(move || shared.inspect_all()).is_err() {
            self.shared.inspect_all();
        }
    }
}

/// Returns the indices of the paths that do not respond within `timeout`. An error counts as a
/// response.
pub fn unresponsive(paths: &[PathBuf], timeout: Duration) -> BTreeSet<usize> {
    let end = Instant::now() + timeout;
    let mut pending = PendingRoots::at(paths);
    // A fresh `Progress` is never stopped, so this cannot fail.
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
            // The receiver is gone if the walk was interrupted.
            if self.answers.send((at, inspect(path))).is_err() {
                return;
            }
        }
    }
}

/// Determines the kind of a root.
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
