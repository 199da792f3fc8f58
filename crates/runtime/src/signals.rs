//! Blocks signals in worker threads, and tells which signals are ignored.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// While this value lives, the calling thread and threads that it starts do not receive SIGINT,
/// SIGTERM and SIGHUP.
///
/// The kernel delivers a signal to any thread that does not block it, even one that sleeps in a
/// read from a dead disk. The handler would then never run.
#[derive(Debug)]
#[must_use = "the signals are taken again when it is dropped"]
pub struct SignalsBlocked {
    before: libc::sigset_t,
    /// A signal mask belongs to a thread, so this type is not `Send`.
    _own: PhantomData<*const ()>,
}

impl SignalsBlocked {
    /// Blocks the signals in this thread. They stay pending if no other thread takes them.
    #[expect(unsafe_code, reason = "signal masks have no safe wrapper")]
    #[expect(clippy::new_without_default, reason = "it is a guard, not a value")]
    pub fn new() -> SignalsBlocked {
        let (mut ours, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: sigemptyset initialises the first set, pthread_sigmask reads it and writes the
        // second. Neither fails for these arguments.
        let before = unsafe {
            libc::sigemptyset(ours.as_mut_ptr());
            libc::sigaddset(ours.as_mut_ptr(), libc::SIGINT);
            libc::sigaddset(ours.as_mut_ptr(), libc::SIGTERM);
            libc::sigaddset(ours.as_mut_ptr(), libc::SIGHUP);
            libc::pthread_sigmask(libc::SIG_BLOCK, ours.as_ptr(), before.as_mut_ptr());
            before.assume_init()
        };
        SignalsBlocked { before, _own: PhantomData }
    }
}

impl Drop for SignalsBlocked {
    #[expect(unsafe_code, reason = "signal masks have no safe wrapper")]
    fn drop(&mut self) {
        // SAFETY: the kernel filled the set, and this is the thread it belongs to.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

/// Returns whether this process ignores a signal. False for a number that is no signal.
#[expect(unsafe_code, reason = "signal dispositions have no safe wrapper")]
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: nothing is set, and the action is read only after the kernel has reported success.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use super::is_ignored;

    #[test]
    fn dispositions_are_distinguished() {
        // Rust ignores SIGPIPE at the start of a program. No program ignores SIGSEGV.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGSEGV));
        assert!(!is_ignored(10_000));
    }
}
