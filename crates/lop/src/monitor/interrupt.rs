//! Handling of Ctrl-C, SIGTERM and a closed terminal. The first signal asks the work to stop, and the second one ends
//! the program at once.
//!
//! Signals are caught only between [`arm`] and [`disarm`], around work that checks for a request to stop. At all other
//! times, the signals have their default action.
//!
//! A signal that was ignored when the program started stays ignored. `nohup` and shells that run background commands
//! in a script rely on this.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use runtime::SignalsBlocked;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

#[derive(Default)]
struct Flags {
    /// True if the next signal takes its default action.
    deadly: Arc<AtomicBool>,
    /// The caught signal, or 0 if none was caught.
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
    // Blocks the signals until all handlers are registered. A signal that arrived between two registrations would
    // otherwise be lost.
    let _later = SignalsBlocked::new();
    for signal in
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !runtime::is_ignored(signal))
    {
        // The order of the handlers matters: for the first signal, the flag must be checked before it is set.
        flag::register_conditional_default(signal, Arc::clone(&flags.deadly))?;
        flag::register(signal, Arc::clone(&flags.deadly))?;
        flag::register_usize(signal, Arc::clone(&flags.caught), signal.unsigned_abs() as usize)?;
    }
    Ok(())
}

/// Restores the default actions of the signals.
pub(crate) fn disarm() {
    if let Some(flags) = FLAGS.get() {
        flags.deadly.store(true, Relaxed);
    }
}

/// Runs `wait` with the default actions of all signals. Use this for code that may block on another process and does
/// not check for a request to stop.
pub(crate) fn default_during<T>(wait: impl FnOnce() -> T) -> T {
    disarm();
    // Acts on a signal that was caught just before, which would otherwise take effect only after `wait`.
    end_as_caught();
    let result = wait();
    if let Some(flags) = FLAGS.get() {
        flags.deadly.store(false, Relaxed);
    }
    result
}

/// Returns the signal that was caught, if any.
pub(crate) fn caught() -> Option<i32> {
    let number = FLAGS.get()?.caught.load(Relaxed);
    i32::try_from(number).ok().filter(|&signal| signal != 0)
}

/// Ends the program as the caught signal would have. Returns if no signal was caught.
pub(crate) fn end_as_caught() {
    if let Some(signal) = caught() {
        // If this fails, the caller exits with the code for an interrupt.
        let _refused = low_level::emulate_default_handler(signal);
    }
}
