//! The thread that looks on while the engines work: it passes on a request to stop, shows progress, and says what
//! does not answer.
//!
//! On a terminal progress is one line that is drawn again and again. In a log it is a line now and then: after
//! [`PATIENCE`], then at intervals that grow from a second to a minute.
//!
//! It sleeps between looks; the engines never wait for it.

pub(crate) mod interrupt;
pub(crate) mod memory;
mod progress_line;
mod stalls;

use std::io::{self, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use runtime::{Interrupted, Progress, SignalsBlocked};

use crate::error::CommandError;
use crate::monitor::progress_line::ProgressLine;
use crate::monitor::stalls::Stalls;
use crate::output::stream::Stream;
use crate::settings::Settings;

/// Between two looks: short enough for Ctrl-C to feel immediate and for a line that moves.
const PERIOD: Duration = Duration::from_millis(100);

/// Work shorter than this shows no line at all, rather than a flicker.
const PATIENCE: Duration = Duration::from_millis(200);

/// Between two lines of progress in a log, at first and in the end.
const INTERVALS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// How long work that was asked to stop may take to do so.
const GRACE: Duration = Duration::from_secs(3);

/// Watches over work until dropped; the line of progress is gone by then.
pub(crate) struct Monitor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// The thread that looks on takes the signals: those at work may be kept waiting for ever.
    _signals: SignalsBlocked,
}

struct Shared {
    progress: Arc<Progress>,
    stderr: Stream,
    line: Mutex<Line>,
    wake: Condvar,
}

/// The line of progress and whether the work is done.
#[derive(Default)]
struct Line {
    done: bool,
    drawn: bool,
    progress_line: Option<ProgressLine>,
    /// Where it is a line now and then instead: when the next is due, and the interval after that.
    log: Option<(Instant, Duration)>,
}

impl Monitor {
    /// Starts to watch over work, or says why it cannot.
    pub(crate) fn begin(
        progress: &Arc<Progress>,
        settings: &Settings,
    ) -> Result<Monitor, CommandError> {
        let started = Monitor::start(progress, settings);
        started.map_err(|e| CommandError::failed("cannot catch signals").because(e))
    }

    /// Starts to watch over work that counts in `progress`.
    fn start(progress: &Arc<Progress>, settings: &Settings) -> io::Result<Monitor> {
        interrupt::arm()?;
        let progress_line = settings.progress.then(ProgressLine::new);
        let (progress, stderr) = (Arc::clone(progress), settings.stderr);
        let log = (!stderr.terminal).then(|| (Instant::now() + PATIENCE, INTERVALS[0]));
        let line = Mutex::new(Line { progress_line, log, ..Line::default() });
        let shared = Arc::new(Shared { progress, stderr, line, wake: Condvar::new() });
        let looker = Arc::clone(&shared);
        let thread = std::thread::Builder::new().spawn(move || {
            // Then nobody else uses that of the thread that works.
            runtime::own_descriptor_table();
            looker.look_on();
        })?;
        Ok(Monitor { shared, thread: Some(thread), _signals: SignalsBlocked::new() })
    }

    /// Takes the line of progress away until what is returned is dropped, as something is to be asked.
    pub(crate) fn hold(&self) -> impl Drop {
        let mut line = self.shared.line();
        line.clear();
        Hold(line)
    }

    /// Ends the watch over work that is done. An interruption that it was too far to notice
    /// counts all the same: a shell's loop would go on otherwise.
    pub(crate) fn finish(self) -> Result<(), Interrupted> {
        drop(self);
        interrupt::caught().map_or(Ok(()), |_| Err(Interrupted))
    }
}

/// While it is there, no line is drawn.
struct Hold<'m>(MutexGuard<'m, Line>);

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.0.drawn = false;
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.shared.line().done = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic over there has been reported by its hook.
            let _panicked = thread.join();
        }
        interrupt::disarm();
    }
}

impl Shared {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_on(&self) {
        let (start, mut asked) = (Instant::now(), None);
        let mut stalls = Stalls::since(start);
        let mut line = self.line();
        while !line.done {
            if interrupt::caught().is_some() {
                self.progress.stop();
                if self.progress.saving.load(Relaxed) {
                    asked = None;
                } else if asked.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                    line.clear();
                    self.leave(&stalls);
                }
            }
            if let Some(text) = stalls.look(Instant::now()) {
                line.clear();
                self.stderr.complain(&text);
            }
            if start.elapsed() >= PATIENCE {
                line.show(&self.progress, Instant::now());
            }
            let waited = self.wake.wait_timeout(line, PERIOD);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        line.clear();
    }
}

impl Shared {
    /// Ends the program although threads are still at work, which nothing is lost by: what is in
    /// the catalog was committed, and nothing else is written.
    fn leave(&self, stalls: &Stalls) {
        if let Some(paths) = stalls.now() {
            self.stderr.complain(&[&b"not waiting any more for "[..], &paths].concat());
        }
        interrupt::end_as_caught();
    }
}

impl Line {
    fn show(&mut self, progress: &Progress, now: Instant) {
        let Some(line) = &mut self.progress_line else { return };
        let Some((due, interval)) = &mut self.log else {
            self.drawn = true;
            let text = line.text(progress, now);
            let _unseen = write!(io::stderr().lock(), "\r{text}\x1b[K");
            return;
        };
        let text = line.log_text(progress, now);
        if now >= *due {
            (*due, *interval) = (now + *interval, (*interval * 2).min(INTERVALS[1]));
            let _unseen = writeln!(io::stderr().lock(), "{text}");
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _unseen = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
