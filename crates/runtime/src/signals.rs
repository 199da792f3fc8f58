//! Leaves signals to threads that are sure to have time for them, and tells which are ignored.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// While it lives, the calling thread, and threads that it starts, take no SIGINT, SIGTERM and SIGHUP.
///
/// The kernel gives a signal to the first thread that takes it, also if that one sleeps in a read
/// from a disk that never answers; the handler then never runs.
#[derive(Debug)]
#[must_use = "the signals are taken again when it is dropped"]
pub struct SignalsBlocked {
    before: libc::sigset_t,
    /// A mask belongs to a thread.
    _own: PhantomData<*const ()>,
}

impl SignalsBlocked {
    /// Begins to leave the signals to other threads; where there are none, they wait.
    #[expect(unsafe_code, reason = "signal masks have no safe wrapper")]
    #[expect(clippy::new_without_default, reason = "it is a guard, not a value")]
    pub fn new() -> SignalsBlocked {
        let (mut ours, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: sigemptyset initialises the first set, pthread_sigmask reads it and writes the
        // second; neither fails for these arguments.
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
        // SAFETY: the set was filled in by the kernel, and the thread is the one it is of.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

/// Returns whether a signal, by its number, is ignored by this process; not one without that number.
#[expect(unsafe_code, reason = "signal dispositions have no safe wrapper")]
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: nothing is set, and the action is read only if the kernel says that it has written it.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

#[cfg(test)]
mod tests {
    use super::is_ignored;

    #[test]
    fn dispositions_are_told_apart() {
        // Rust ignores SIGPIPE at the start of a program; nobody ignores SIGSEGV.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGSEGV));
        assert!(!is_ignored(10_000));
    }
}
