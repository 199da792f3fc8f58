//! Writes to the terminal, without missing signals.
//!
//! A terminal may take no bytes for a long time, for example after Ctrl-S or over a broken connection. A signal that
//! ends the process MUST end such a write, too. [`unblocked`] therefore opens the terminal again without blocking: the
//! same flag on the descriptor of the caller would also apply to the shell.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};

use super::signals::Signals;

/// Time to wait until the terminal takes the sequence that restores it.
const LAST_WRITE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Opens a terminal again, for writing without blocking. If the system refuses this, returns the same descriptor, whose
/// writes may block.
pub(super) fn unblocked(terminal: File) -> File {
    let path = format!("/proc/self/fd/{}", terminal.as_fd().as_raw_fd());
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).map_or(terminal, File::from)
}

/// Writes to a terminal until a signal ends the process.
pub(super) struct Output {
    terminal: File,
    signals: Signals,
}

impl Output {
    pub(super) fn new(terminal: &File, signals: &Signals) -> io::Result<Output> {
        Ok(Output { terminal: terminal.try_clone()?, signals: signals.try_clone()? })
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            // The rest of a drawing must not follow the sequence that restores the terminal.
            if self.signals.ending().is_some() {
                return Err(io::Error::other("a signal ends the program"));
            }
            match self.terminal.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let out = PollFd::new(&self.terminal, PollFlags::OUT);
                    let signals = PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN);
                    let _interrupted = poll(&mut [out, signals], None);
                    self.signals.drain();
                }
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the last bytes. Waits at most a second until the terminal takes them.
///
/// # Errors
///
/// Fails if the terminal has hung up, or takes no bytes for a second.
pub(super) fn write_last(mut terminal: &File, bytes: &[u8]) -> io::Result<()> {
    match terminal.write_all(bytes) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            poll(&mut [PollFd::new(&terminal, PollFlags::OUT)], Some(&LAST_WRITE))?;
            terminal.write_all(bytes)
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{Output, unblocked, write_last};
    use crate::terminal::signals::Signals;

    #[test]
    fn a_signal_ends_a_write_that_nobody_reads() {
        let (_reader, writer) = std::io::pipe().expect("a pipe");
        let terminal = unblocked(File::from(OwnedFd::from(writer)));
        let (ours, mut theirs) = UnixStream::pair().expect("a socket");
        ours.set_nonblocking(true).expect("possible");
        let is_set = Arc::new(AtomicBool::new(false));
        let signals = Signals::pretended(Arc::clone(&is_set), ours);
        let mut output = Output::new(&terminal, &signals).expect("duplicated");
        // A pipe takes 64 KiB.
        let write = std::thread::spawn(move || output.write_all(&vec![b'x'; 1 << 20]).is_err());
        is_set.store(true, Ordering::Relaxed);
        theirs.write_all(&[0]).expect("written");
        assert!(write.join().expect("no panic"), "the write ends with an error");
        assert_eq!(signals.ending(), Some(15), "the event loop sees the signal, too");
        assert!(Output::new(&terminal, &signals).expect("duplicated").write_all(b"x").is_err());
        while (&terminal).write(&[b'x'; 4096]).is_ok() {}
        write_last(&terminal, b"x").expect_err("nobody reads");
    }
}
