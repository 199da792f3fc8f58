//! Descriptor limit, descriptor tables and I/O priority of the process and its threads.

use std::io;
use std::sync::mpsc::channel;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// `IOPRIO_WHO_PROCESS`, and `IOPRIO_CLASS_IDLE` shifted to the position of the class bits
/// (linux/ioprio.h).
const PROCESS: libc::c_int = 1;
const IDLE: libc::c_int = 3 << 13;

/// Puts the calling thread, and any threads that it starts later, into the idle I/O class. The
/// kernel serves this class only when no other process uses the disk.
///
/// # Errors
///
/// Returns the error of `ioprio_set(2)`.
///
/// # Platform behavior
///
/// The effect depends on the I/O scheduler. BFQ honours the class, mq-deadline hardly does, and
/// `none` ignores it.
#[expect(unsafe_code, reason = "ioprio_set has no wrapper")]
pub fn set_idle_io_class() -> io::Result<()> {
    // SAFETY: the call takes three integers and accesses no memory of this process. A process id of
    // 0 means the calling thread.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, PROCESS, 0, IDLE) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Marks all descriptors except the three standard ones as close-on-exec, so that child processes
/// do not inherit them.
///
/// # Platform behavior
///
/// This has no effect before Linux 5.11.
#[expect(unsafe_code, reason = "close_range has no wrapper")]
pub fn close_descriptors_on_exec() {
    let all = libc::c_uint::MAX;
    // SAFETY: with this flag, the call closes no descriptor and only sets close-on-exec.
    let _unknown =
        unsafe { libc::syscall(libc::SYS_close_range, 3, all, libc::CLOSE_RANGE_CLOEXEC) };
}

/// Raises the soft limit on open descriptors to the hard limit. Returns the limit that is now in
/// effect, even if it could not be raised.
pub fn raise_descriptor_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let _refused = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let now = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(now).unwrap_or(usize::MAX)
}

/// Starts a thread with a descriptor table of its own, and returns once the thread has it.
///
/// Opening and closing files then does not involve a lock shared with other threads, and looking up
/// a descriptor does not require an atomic operation. With two threads and 130,000 small files, this
/// saved 15 % of the wall time and 18 % of the processor time.
///
/// The table is a copy of the caller's. The copies stay open until the thread exits, even if the
/// caller closes its descriptors. The caller should therefore have no file open for writing, because
/// the kernel grants no lease on a file while a copy of such a descriptor is open. The function
/// waits until the thread has copied the table. Otherwise, the thread might also copy descriptors
/// that the caller opens later. If the kernel refuses the copy (seccomp), the table stays shared,
/// which is slower but correct.
///
/// # Errors
///
/// Fails if the thread cannot be started.
pub fn spawn_with_own_descriptors<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let (copying, copied) = channel::<()>();
    let thread = Builder::new().spawn_scoped(scope, move || {
        own_descriptor_table();
        drop(copying);
        work()
    })?;
    let _dropped = copied.recv();
    Ok(thread)
}

/// Gives the calling thread a descriptor table of its own with only the three standard descriptors.
/// Copies of others would keep locks, pipes and files open until the thread exits.
///
/// # Platform behavior
///
/// This has no effect before Linux 5.9.
#[expect(unsafe_code, reason = "close_range has no safe wrapper")]
pub fn keep_standard_descriptors() {
    let all = libc::c_uint::MAX;
    // SAFETY: the call either gives the thread its own descriptor table and closes the descriptors
    // in it, or fails without effect. The caller uses none of the closed descriptors.
    let _kept = unsafe { libc::syscall(libc::SYS_close_range, 3, all, libc::CLOSE_RANGE_UNSHARE) };
}

/// Gives the calling thread a copy of its descriptor table.
///
/// The thread that started this one may have opened and closed descriptors in the meantime. If that
/// matters, use [`spawn_with_own_descriptors`].
#[expect(unsafe_code, reason = "unshare has no safe wrapper")]
pub fn own_descriptor_table() {
    // SAFETY: CLONE_FILES only copies the descriptor table. Every `OwnedFd` that the thread can
    // access stays open in the copy until this thread closes it or exits.
    let _refused = unsafe { libc::unshare(libc::CLONE_FILES) };
}

#[cfg(test)]
mod tests {
    use std::io::{self, PipeReader, Read};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::{keep_standard_descriptors, spawn_with_own_descriptors};

    /// Returns true if no copy of the other end keeps a pipe open.
    fn is_closed(mut reader: PipeReader) -> bool {
        let (read, done) = channel();
        std::thread::spawn(move || read.send(reader.read(&mut [0])));
        done.recv_timeout(Duration::from_secs(20)).is_ok_and(|read| read.expect("readable") == 0)
    }

    #[test]
    fn descriptors_that_are_opened_later_are_not_copied() {
        for _ in 0..100 {
            std::thread::scope(|scope| {
                let (ending, end) = channel::<()>();
                let thread = spawn_with_own_descriptors(scope, move || end.recv().is_err());
                let (reader, writer) = io::pipe().expect("a pipe");
                // Gives a thread that copies too late the time to do so.
                std::thread::sleep(Duration::from_micros(200));
                drop(writer);
                let is_closed = is_closed(reader);
                drop(ending);
                assert!(is_closed);
                assert!(thread.expect("started").join().expect("no panic"));
            });
        }
    }

    #[test]
    fn only_the_standard_descriptors_can_be_kept() {
        let (reader, writer) = io::pipe().expect("a pipe");
        std::thread::scope(|scope| {
            let (ending, end) = channel::<()>();
            let (ready, is_ready) = channel();
            scope.spawn(move || {
                keep_standard_descriptors();
                ready.send(()).expect("the other end waits");
                end.recv().expect_err("nothing is sent");
            });
            is_ready.recv().expect("the thread runs");
            drop(writer);
            let is_closed = is_closed(reader);
            drop(ending);
            assert!(is_closed);
        });
    }
}
