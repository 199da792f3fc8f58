//! The state that a running watcher shares with other threads of its process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use runtime::Mutex;
use rustix::event::EventfdFlags;

use crate::answer::Counts;
use crate::area::Watched;

/// Changes that no answer contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The numbers of changed entries and of their directories. If the watcher has lost events, they are not exact, but
    /// the number of entries is not zero.
    pub counts: Counts,
    /// The time at which the watcher noted the first of these changes.
    pub first: Option<Instant>,
    /// The time at which the watcher noted the last of these changes.
    pub last: Option<Instant>,
    /// The time of the last answer to a scan. The watcher does not know whether the scan has succeeded.
    pub answered: Option<Instant>,
}

/// Returns the state of a watcher, and stops it. All clones control the same watcher.
#[derive(Clone, Debug)]
pub struct Control(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The status, and the number of the last change.
    status: Mutex<(Status, u64)>,
    watched: Mutex<Arc<Vec<Watched>>>,
    stop: OwnedFd,
    check: OwnedFd,
}

impl Control {
    pub(crate) fn new() -> io::Result<Control> {
        let eventfd = || rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Control(Arc::new(Shared {
            status: Mutex::new((Status::default(), 0)),
            watched: Mutex::default(),
            stop: eventfd()?,
            check: eventfd()?,
        })))
    }

    /// Returns the status: the changes that no answer contains.
    pub fn status(&self) -> Status {
        self.0.status.lock().0
    }

    /// Returns the roots and the mounts below them. A root below another one on the same mount is part of its area, and
    /// not in the list. The list changes when a mount appears or disappears, when a root is removed or replaced, and
    /// when the system refuses watches for new directories.
    pub fn watched(&self) -> Arc<Vec<Watched>> {
        Arc::clone(&self.0.watched.lock())
    }

    /// Tells the watcher to compare its roots with the file system, and to try again to watch those that it does not
    /// watch. Does not wait until it has done so.
    pub fn check(&self) {
        set(&self.0.check);
    }

    /// Tells the watcher to stop, and does not wait until it has stopped.
    pub fn stop(&self) {
        set(&self.0.stop);
    }

    /// Returns a descriptor that is readable after [`Control::stop`].
    pub(crate) fn stopped(&self) -> BorrowedFd<'_> {
        self.0.stop.as_fd()
    }

    /// Returns a descriptor that is readable after [`Control::check`].
    pub(crate) fn checks(&self) -> BorrowedFd<'_> {
        self.0.check.as_fd()
    }

    /// Notes that the watcher starts a check.
    pub(crate) fn start_check(&self) {
        // The read can fail only if the counter is zero.
        let _zero = rustix::io::read(&self.0.check, &mut [0; 8]);
    }

    /// Stores the roots and the mounts below them.
    pub(crate) fn publish(&self, watched: Vec<Watched>) {
        let mut known = self.0.watched.lock();
        if **known != watched {
            *known = Arc::new(watched);
        }
    }

    /// Stores the time of an answer to a scan.
    pub(crate) fn answered(&self) {
        self.0.status.lock().0.answered = Some(Instant::now());
    }

    /// Stores the changes that no answer contains, and the number of the last change.
    pub(crate) fn update(&self, counts: Counts, number: u64) {
        let mut guard = self.0.status.lock();
        let (status, known) = *guard;
        let is_new = number != known || status.last.is_none();
        let now = Instant::now();
        *guard = match counts {
            Counts { entries: 0, .. } => {
                (Status { answered: status.answered, ..Status::default() }, number)
            }
            _ if is_new => {
                let (first, last) = (status.first.or(Some(now)), Some(now));
                (Status { counts, first, last, ..status }, number)
            }
            _ => (Status { counts, ..status }, number),
        };
    }
}

/// Makes an eventfd readable.
fn set(eventfd: &OwnedFd) {
    // The write can fail only if the counter is full, after almost 2^64 calls. The descriptor is
    // then readable anyway.
    let _full = rustix::io::write(eventfd, &1_u64.to_ne_bytes());
}
