//! Blocks signals in worker threads, checks which signals are ignored, and stops the process.

use std::io;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// Blocks SIGINT, SIGTERM and SIGHUP in the calling thread until this value is dropped. Threads
/// started in the meantime inherit the signal mask.
///
/// The kernel may deliver a signal to any thread that does not block it. If it chose a worker that
/// is stuck in a read from a failed disk, the handler would never run.
#[derive(Debug)]
#[must_use = "the signals are unblocked when it is dropped"]
pub struct SignalsBlocked {
    before: libc::sigset_t,
    /// A signal mask belongs to a thread, so this type is not `Send`.
    _own: PhantomData<*const ()>,
}

impl SignalsBlocked {
    /// Blocks the three signals in the calling thread. A signal that all threads block stays
    /// pending.
    #[expect(unsafe_code, reason = "signal masks have no safe wrapper")]
    #[expect(clippy::new_without_default, reason = "it is a guard, not a value")]
    pub fn new() -> SignalsBlocked {
        let (mut ours, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: sigemptyset initialises the first set. pthread_sigmask reads the first set and
        // writes the second. Neither fails for these arguments.
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
        // SAFETY: the kernel filled in the signal set, which belongs to this thread.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut());
        }
    }
}

/// Returns true if this process ignores a signal. Returns false if the signal number is invalid.
#[expect(unsafe_code, reason = "signal dispositions have no safe wrapper")]
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the call does not change any action, and `action` is read only if the kernel reported
    // success.
    unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Stops the process with the default action of SIGTSTP, even if the program catches this signal. Returns
/// when the process continues. If nobody could continue it, because no shell controls its process group, the
/// kernel does not stop it.
///
/// # Errors
///
/// Fails if the action of the signal cannot be changed. The process was not stopped then.
#[expect(unsafe_code, reason = "signal dispositions have no safe wrapper")]
pub fn stop_process() -> io::Result<()> {
    let (mut default, mut before) =
        (MaybeUninit::<libc::sigaction>::zeroed(), MaybeUninit::<libc::sigaction>::uninit());
    // SAFETY: an action of zeros with SIG_DFL is valid. The kernel fills in `before` if the first call succeeds, and
    // the last call uses it only then. raise delivers the signal before it returns, unless the thread blocks it.
    unsafe {
        (*default.as_mut_ptr()).sa_sigaction = libc::SIG_DFL;
        if libc::sigaction(libc::SIGTSTP, default.as_ptr(), before.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        libc::raise(libc::SIGTSTP);
        libc::sigaction(libc::SIGTSTP, before.as_ptr(), std::ptr::null_mut());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_ignored;

    #[test]
    fn ignored_signals_are_recognized() {
        // The Rust runtime ignores SIGPIPE. SIGSEGV has a handler.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGSEGV));
        assert!(!is_ignored(10_000));
    }
}
