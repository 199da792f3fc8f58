//! Ctrl-C, SIGTERM and a closed terminal: the first asks the work to stop, the second ends the program at once.
//!
//! Handlers are in force only between [`arm`] and [`disarm`], around work that watches for a stop.
//! Outside of it they do what they always do.
//!
//! A signal that was ignored when the program started stays ignored: `nohup`, and shells that start a command in the
//! background of a script, mean it so.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use runtime::SignalsBlocked;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

#[derive(Default)]
struct Flags {
    /// The next signal takes its default action.
    deadly: Arc<AtomicBool>,
    /// The signal that was caught, 0 for none.
    caught: Arc<AtomicUsize>,
}

static FLAGS: OnceLock<Flags> = OnceLock::new();

/// Starts to catch the signals.
pub(crate) fn arm() -> io::Result<()> {
    if let Some(flags) = FLAGS.get() {
        flags.deadly.store(false, Relaxed);
        return Ok(());
    }
    let flags = FLAGS.get_or_init(Flags::default);
    // One that comes between two of the registrations would be lost; it waits instead.
    let _later = SignalsBlocked::new();
    for signal in
        [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !runtime::is_ignored(signal))
    {
        // In this order: the first signal passes the condition and then makes it true.
        flag::register_conditional_default(signal, Arc::clone(&flags.deadly))?;
        flag::register(signal, Arc::clone(&flags.deadly))?;
        flag::register_usize(signal, Arc::clone(&flags.caught), signal.unsigned_abs() as usize)?;
    }
    Ok(())
}

/// Gives the signals back their default action.
pub(crate) fn disarm() {
    if let Some(flags) = FLAGS.get() {
        flags.deadly.store(true, Relaxed);
    }
}

/// Does something that may wait for somebody else and cannot be asked to stop: meanwhile the
/// signals do what they always do.
pub(crate) fn default_during<T>(wait: impl FnOnce() -> T) -> T {
    disarm();
    // One that came just before would otherwise be heard only after the wait.
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

/// Ends the program as the caught signal would have; returns if none was.
pub(crate) fn end_as_caught() {
    if let Some(signal) = caught() {
        // If even this fails, the caller ends with the code for it.
        let _refused = low_level::emulate_default_handler(signal);
    }
}
