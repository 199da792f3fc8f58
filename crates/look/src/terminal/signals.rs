//! The signals that the event loop handles.
//!
//! A handler sets a flag and writes to a socket, which wakes the loop. If the process ignored a signal when it started,
//! it continues to ignore the signal, as `nohup` expects. The handlers stay until the program ends.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use runtime::SignalsBlocked;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::{flag, low_level};

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// The process has to end, with the default action of this signal.
    End(i32),
    /// The process has to stop.
    Stop,
    /// The process continues after a stop.
    Continue,
    /// The terminal has another size.
    Resize,
}

const CAUGHT: [i32; 7] = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH];

/// The caught signals.
#[derive(Debug)]
pub(super) struct Signals {
    arrived: Vec<(i32, Arc<AtomicBool>)>,
    wake: UnixStream,
}

impl Signals {
    /// Starts to catch signals.
    ///
    /// # Errors
    ///
    /// Fails if the system refuses a socket or a handler.
    pub(super) fn catch() -> io::Result<Signals> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        // A signal between two registrations arrives after all of them.
        let _later = SignalsBlocked::new();
        let mut arrived = Vec::new();
        for signal in CAUGHT.into_iter().filter(|&signal| !runtime::is_ignored(signal)) {
            let is_set = Arc::new(AtomicBool::new(false));
            // The handler sets the flag before it wakes the loop.
            flag::register(signal, Arc::clone(&is_set))?;
            low_level::pipe::register(signal, theirs.try_clone()?)?;
            arrived.push((signal, is_set));
        }
        Ok(Signals { arrived, wake: ours })
    }

    /// Returns signals for a test, without handlers. While the flag is set, `SIGTERM` counts as arrived.
    #[cfg(test)]
    pub(super) fn pretended(is_set: Arc<AtomicBool>, wake: UnixStream) -> Signals {
        Signals { arrived: vec![(SIGTERM, is_set)], wake }
    }

    /// Returns the same signals for another waiter. Only one of the waiters takes each signal.
    ///
    /// # Errors
    ///
    /// Fails if the system refuses to duplicate the socket.
    pub(super) fn try_clone(&self) -> io::Result<Signals> {
        Ok(Signals { arrived: self.arrived.clone(), wake: self.wake.try_clone()? })
    }

    /// Returns a signal that ends the process and has arrived. [`Signals::take`] returns it later.
    pub(super) fn ending(&self) -> Option<i32> {
        let is_end = |signal: i32| !matches!(signal, SIGTSTP | SIGCONT | SIGWINCH);
        let mut arrived = self.arrived.iter();
        let found = arrived.find(|(signal, is_set)| is_end(*signal) && is_set.load(Relaxed));
        found.map(|(signal, _)| *signal)
    }

    /// Makes the descriptor unreadable until another signal arrives. Keeps the signals that have arrived.
    pub(super) fn drain(&mut self) {
        let _drained = self.wake.read(&mut [0; 64]);
    }

    /// Returns a signal that has arrived. Signals that end the process come first.
    pub(super) fn take(&mut self) -> Option<Signal> {
        // Each signal writes one byte. The flags tell which signals have arrived.
        self.drain();
        let found = self.arrived.iter().find(|(_, is_set)| is_set.swap(false, Relaxed))?;
        Some(match found.0 {
            SIGTSTP => Signal::Stop,
            SIGCONT => Signal::Continue,
            SIGWINCH => Signal::Resize,
            other => Signal::End(other),
        })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}
