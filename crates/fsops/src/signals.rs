//! Leaves signals to threads that are sure to have time for them.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// While it lives, the calling thread, and threads that it starts, take no SIGINT and no SIGTERM.
///
/// The kernel gives a signal to the first thread that takes it, also if that one sleeps in a read
/// from a disk that never answers; the handler then never runs.
#[derive(Debug)]
#[must_use = "the signals are taken again when it is dropped"]
pub struct SignalsElsewhere {
    before: libc::sigset_t,
    /// A mask belongs to a thread.
    _own: PhantomData<*const ()>,
}

impl SignalsElsewhere {
    /// Begins to leave the signals to other threads; where there are none, they wait.
    #[expect(unsafe_code, reason = "signal masks have no safe wrapper")]
    #[expect(clippy::new_without_default, reason = "it is a guard, not a value")]
    pub fn new() -> SignalsElsewhere {
        let (mut ours, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: sigemptyset initialises the first set, pthread_sigmask reads it and writes the
        // second; neither fails for these arguments.
        let before = unsafe {
            libc::sigemptyset(ours.as_mut_ptr());
            libc::sigaddset(ours.as_mut_ptr(), libc::SIGINT);
            libc::sigaddset(ours.as_mut_ptr(), libc::SIGTERM);
            libc::pthread_sigmask(libc::SIG_BLOCK, ours.as_ptr(), before.as_mut_ptr());
            before.assume_init()
        };
        SignalsElsewhere { before, _own: PhantomData }
    }
}

impl Drop for SignalsElsewhere {
    #[expect(unsafe_code, reason = "signal masks have no safe wrapper")]
    fn drop(&mut self) {
        // SAFETY: the set was filled in by the kernel, and the thread is the one it is of.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}
