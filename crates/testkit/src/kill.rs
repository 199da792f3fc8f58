//! Kills a program at a chosen moment, or makes one of its system calls fail.
//!
//! | moment | function | precision |
//! |---|---|---|
//! | some time after the start | [`kill_after`] | some 100 µs; [`at_random_moments`] draws the delays |
//! | a file grew by some lines or bytes | [`kill_when_grown`] | the program continues for some 100 µs |
//! | before its N-th call of a kind | [`Strace::kill`] | exact for each thread |
//! | its N-th call of a kind fails | [`Strace::fail`] | exact for each thread |
//!
//! Each function returns the [`Output`] of the run and whether the moment was reached. A program
//! that ended earlier was not killed. A test that looks for the effects of a kill must count the
//! kills.

pub mod strace;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::invocation::Invocation;
use crate::output::{Ending, Output};
use crate::running::Running;

pub use strace::{Calls, Strace, Traced};

/// The pause between two inspections of a file.
const INSPECTION_PAUSE: Duration = Duration::from_micros(50);
/// The time at the end of a delay during which the thread spins instead of sleeping. A sleep may
/// overrun by this much.
const SPIN_TIME: Duration = Duration::from_micros(200);

/// The result of an attempt to kill a program.
#[derive(Debug)]
#[must_use = "a run that nobody looks at tests nothing"]
pub struct Killed {
    /// The result of the run.
    pub output: Output,
    /// True if the signal ended the run.
    pub fired: bool,
}

/// The growth of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// By this many line feeds.
    Lines(u64),
    /// By this many bytes.
    Bytes(u64),
}

/// Runs a program and sends it SIGKILL a given time after its start.
///
/// The time counts from the return of `execve`, so a very short delay hits the dynamic linker.
///
/// # Panics
///
/// Panics if the program cannot be started or hangs.
pub fn kill_after(invocation: &Invocation, delay: Duration) -> Killed {
    let running = invocation.spawn();
    let moment = Instant::now() + delay;
    thread::sleep(delay.saturating_sub(SPIN_TIME));
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
    kill(running)
}

/// Repeats a run that is killed at random moments until it was killed a given number of times.
///
/// `round` receives the number of the round and a delay. It starts a program that is killed after
/// the delay, and returns true if the kill came before the program ended. A run that ended before
/// the kill does not count, and the following delays become shorter. `whole` is the approximate
/// duration of an undisturbed run. The delays are drawn from `seed`.
///
/// # Panics
///
/// Panics if this takes more than twenty runs for each wanted kill. Nearly all runs ended first
/// then.
pub fn at_random_moments(
    times: u32,
    seed: u64,
    mut whole: Duration,
    mut round: impl FnMut(u32, Duration) -> bool,
) {
    let (mut killed, mut state) = (0, seed);
    for number in 0..20 * times {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let part = u32::try_from(state >> 56).expect("eight bits");
        // In the long run, two of three runs are killed, regardless of the load on the machine.
        if round(number, whole * part / 256) {
            killed += 1;
            whole += whole / 16;
        } else {
            whole -= whole / 8;
        }
        if killed == times {
            return;
        }
    }
    panic!("of {} runs only {killed} were killed", 20 * times);
}

/// Runs a program and sends it SIGKILL when a file at or below `path` has grown by a given amount.
///
/// Growth is measured from the size before the start, or from zero for a new file. `path` need not
/// exist before the start. A file that replaces another of the same name counts as the same file.
///
/// # Panics
///
/// Panics if the program cannot be started or hangs.
pub fn kill_when_grown(invocation: &Invocation, path: impl AsRef<Path>, growth: Growth) -> Killed {
    let path = path.as_ref();
    let before = sizes(path, growth);
    let mut running = invocation.spawn();
    let deadline = Instant::now() + invocation.timeout;
    // `wait` reports the timeout.
    while running.is_running() && Instant::now() < deadline && !grown(path, growth, &before) {
        thread::sleep(INSPECTION_PAUSE);
    }
    if grown(path, growth, &before) {
        return kill(running);
    }
    Killed { output: running.wait(), fired: false }
}

fn kill(mut running: Running) -> Killed {
    running.signal(Signal::KILL);
    let output = running.wait();
    let fired = output.ending == Ending::Signal(Signal::KILL.as_raw());
    Killed { output, fired }
}

fn grown(path: &Path, growth: Growth, before: &BTreeMap<PathBuf, u64>) -> bool {
    let (Growth::Lines(by) | Growth::Bytes(by)) = growth;
    let had = |path: &Path| before.get(path).copied().unwrap_or(0);
    sizes(path, growth).iter().any(|(path, size)| *size >= had(path) + by)
}

/// Returns the size of every regular file at or below `path`. A file that vanishes meanwhile is
/// left out.
fn sizes(path: &Path, growth: Growth) -> BTreeMap<PathBuf, u64> {
    let (mut sizes, mut unlisted) = (BTreeMap::new(), vec![path.to_path_buf()]);
    while let Some(path) = unlisted.pop() {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                unlisted.extend(entries.map(|entry| entry.path()));
            }
            Ok(metadata) if metadata.is_file() => {
                let size = match growth {
                    Growth::Bytes(_) => metadata.len(),
                    Growth::Lines(_) => lines(&path),
                };
                sizes.insert(path, size);
            }
            _ => {}
        }
    }
    sizes
}

fn lines(path: &Path) -> u64 {
    let bytes = fs::read(path).unwrap_or_default();
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}
