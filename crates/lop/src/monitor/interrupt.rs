//! Ctrl-C, SIGTERM and a closed terminal: the first signal asks the work to stop, the second ends the program at once.
//!
//! Signals are caught only between [`arm`] and [`disarm`], around work that checks for a request to stop. At all other
//! times they take their default action.
//!
//! A signal that was ignored when the program started stays ignored: `nohup` and shells that start background commands
//! of a script rely on that.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use runtime::SignalsBlocked;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

#[derive(Default)]
struct Flags {
    /// Whether the next signal takes its default action.
    deadly: Arc<AtomicBool>,
    /// The signal that was caught, 0 for none.
    caught: Arc<AtomicUsize>,
}

static FLAGS: OnceLock<Flags> = OnceLock::new();

/// Starts to catch signals.
///
/// # Errors
///
/// Fails if a handler cannot be registered.
pub(crate) fn arm() -> io::Result<()> {
    if let Some(flags) = FLAGS.get() {
        flags.deadly.store(false, Relaxed);
        return Ok(());
    }
    let flags = FLAGS.get_or_init(Flags::default);
    // A signal that arrives between two registrations would be lost; blocked, it waits.
    let _later = SignalsBlocked::new();
    for signal in
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !runtime::is_ignored(signal))
    {
        // The order matters: the first signal checks the flag and then sets it.
        flag::register_conditional_default(signal, Arc::clone(&flags.deadly))?;
        flag::register(signal, Arc::clone(&flags.deadly))?;
        flag::register_usize(signal, Arc::clone(&flags.caught), signal.unsigned_abs() as usize)?;
    }
    Ok(())
}

/// Restores the default action of the signals.
pub(crate) fn disarm() {
    if let Some(flags) = FLAGS.get() {
        flags.deadly.store(true, Relaxed);
    }
}

/// Runs something that may block on another process and cannot be asked to stop. Meanwhile signals take their default
/// action.
pub(crate) fn default_during<T>(wait: impl FnOnce() -> T) -> T {
    disarm();
    // A signal that arrived just before would otherwise take effect only after the wait.
    end_as_caught();
    let result = wait();
    if let Some(flags) = FLAGS.get() {
        flags.deadly.store(false, Relaxed);
    }
    result
}

/// Returns the signal that was caught.
pub(crate) fn caught() -> Option<i32> {
    let number = FLAGS.get()?.caught.load(Relaxed);
    i32::try_from(number).ok().filter(|&signal| signal != 0)
}

/// Ends the program in the same way as the caught signal would have; returns if there was no signal.
pub(crate) fn end_as_caught() {
    if let Some(signal) = caught() {
        // If even this fails, the caller ends with the exit code for an interrupt.
        let _refused = low_level::emulate_default_handler(signal);
    }
}
