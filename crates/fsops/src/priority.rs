//! Lets others go first.

use std::io;

/// `IOPRIO_WHO_PROCESS`, and `IOPRIO_CLASS_IDLE` in the place of the class (linux/ioprio.h).
const PROCESS: libc::c_int = 1;
const IDLE: libc::c_int = 3 << 13;

/// Puts the calling thread, and those it starts from now on, into the idle I/O class: they are served when
/// nobody else wants the disk.
///
/// # Platform behavior
///
/// It is for the scheduler of each disk to heed: BFQ does, `none` and mq-deadline do not or hardly.
#[expect(unsafe_code, reason = "ioprio_set has no wrapper")]
pub fn idle_io_class() -> io::Result<()> {
    // SAFETY: three integers; 0 is the calling thread.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, PROCESS, 0, IDLE) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has programs that this process starts from now on inherit no descriptor but the standard ones.
///
/// # Platform behavior
///
/// Before Linux 5.11 they inherit what was inherited here.
#[expect(unsafe_code, reason = "close_range has no wrapper")]
pub fn keep_open_files_to_itself() {
    let all = libc::c_uint::MAX;
    // SAFETY: no descriptor is closed; only the flag is set that has them closed in another program.
    let _unknown =
        unsafe { libc::syscall(libc::SYS_close_range, 3, all, libc::CLOSE_RANGE_CLOEXEC) };
}
