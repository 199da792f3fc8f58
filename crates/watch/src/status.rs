//! The connection between a running watcher and other threads of its process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use runtime::Mutex;
use rustix::event::EventfdFlags;

use crate::answer::Counts;

/// Changes that no answer contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The number of changed entries. It is not exact after events were lost, but not zero.
    pub counts: Counts,
    /// When the first of them was noted.
    pub first: Option<Instant>,
    /// When the last of them was noted.
    pub last: Option<Instant>,
}

/// Shows the status of a watcher, and stops it. Clones belong to the same watcher.
#[derive(Clone, Debug)]
pub struct Control(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The status, and the number of the last change.
    status: Mutex<(Status, u64)>,
    stop: OwnedFd,
}

impl Control {
    pub(crate) fn new() -> io::Result<Control> {
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Control(Arc::new(Shared { status: Mutex::new((Status::default(), 0)), stop })))
    }

    /// Returns the changes that no answer contains.
    pub fn status(&self) -> Status {
        self.0.status.lock().0
    }

    /// Ends the watcher. Does not wait for its end.
    pub fn stop(&self) {
        // The only possible failure is that it was stopped 2^64 times before.
        let _full = rustix::io::write(&self.0.stop, &1_u64.to_ne_bytes());
    }

    /// Returns a descriptor that is readable after [`Control::stop`].
    pub(crate) fn stopped(&self) -> BorrowedFd<'_> {
        self.0.stop.as_fd()
    }

    /// Stores the changes that no answer contains, and the number of the last change.
    pub(crate) fn update(&self, counts: Counts, number: u64) {
        let mut guard = self.0.status.lock();
        let (status, known) = *guard;
        let is_new = number != known || status.last.is_none();
        let now = Instant::now();
        *guard = match counts {
            Counts { entries: 0, .. } => (Status::default(), number),
            _ if is_new => {
                (Status { counts, first: status.first.or(Some(now)), last: Some(now) }, number)
            }
            _ => (Status { counts, ..status }, number),
        };
    }
}
