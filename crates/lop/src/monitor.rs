//! Monitors a command while the libraries work. A separate thread passes on requests to stop, shows progress, and
//! reports files that do not answer.
//!
//! On a terminal, progress is a single line that is redrawn. In a log, each update is a new line. The first line
//! appears after [`FIRST_LINE_AFTER`], and the intervals then grow from a second to a minute. For programs
//! (`--progress json`), each update is a line of JSON: one at the start, one every [`RECORD_INTERVAL`], and one at the
//! end.
//!
//! The thread sleeps between its checks, and the libraries never wait for it. [`interrupt`] catches the signals, and
//! [`memory`] bounds the memory of the process.

pub(crate) mod interrupt;
pub(crate) mod memory;
mod progress_line;
mod progress_record;
mod stalls;

use std::io::{self, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use runtime::{Condvar, Interrupted, Mutex, Progress, SignalsBlocked};

use crate::error::CommandError;
use crate::monitor::progress_line::ProgressLine;
use crate::monitor::stalls::Stalls;
use crate::output::stream::{Stream, write_line};
use crate::settings::{ProgressStyle, Settings};

/// Interval between two checks. The interval is short enough that Ctrl-C feels immediate and the progress line keeps
/// moving.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Delay before the first progress line. Shorter work shows no progress, so the terminal does not flicker.
const FIRST_LINE_AFTER: Duration = Duration::from_millis(200);

/// The first and the longest interval between two progress lines in a log.
const LOG_INTERVALS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// Minimum interval between two records of the progress.
const RECORD_INTERVAL: Duration = Duration::from_millis(250);

/// How long the work may take to end after it was asked to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Watches work until it is dropped. Dropping it also clears the progress line.
pub(crate) struct Monitor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// Blocks the signals in this thread, so that the monitor's thread receives them. The signals cannot go to a
    /// working thread, because that thread may be blocked forever.
    _signals: SignalsBlocked,
}

struct Shared {
    progress: Arc<Progress>,
    stderr: Stream,
    line: Mutex<Display>,
    wake: Condvar,
}

/// The progress line and its state.
struct Display {
    done: bool,
    drawn: bool,
    progress_line: ProgressLine,
    output: Output,
}

/// Where and how progress is shown.
enum Output {
    Hidden,
    /// One line on a terminal.
    Terminal,
    /// Lines of text in a log: the time of the next line, and the interval after that line.
    Log(Instant, Duration),
    /// Lines of JSON: the time of the next line.
    Records(Instant),
}

/// Runs `work` under a monitor with new counters.
///
/// # Errors
///
/// Fails if `work` fails, on an interrupt, and for the reasons of [`Monitor::begin`].
pub(crate) fn monitored<T>(
    settings: &Settings,
    work: impl FnOnce(&Progress) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let progress = Arc::new(Progress::default());
    let monitor = Monitor::begin(&progress, settings)?;
    let done = work(&progress)?;
    monitor.finish()?;
    Ok(done)
}

impl Monitor {
    /// Starts to monitor work that updates the counters in `progress`.
    ///
    /// # Errors
    ///
    /// Fails if signals cannot be caught or the thread cannot be started.
    pub(crate) fn begin(
        progress: &Arc<Progress>,
        settings: &Settings,
    ) -> Result<Monitor, CommandError> {
        let started = Monitor::start(progress, settings);
        started.map_err(|e| CommandError::failed("cannot catch signals").because(e))
    }

    fn start(progress: &Arc<Progress>, settings: &Settings) -> io::Result<Monitor> {
        interrupt::arm()?;
        let (progress, stderr) = (Arc::clone(progress), settings.stderr);
        let mut display = Display::new(settings.progress, stderr.terminal);
        // Records are written even if the work ends at once.
        display.write_record(&progress, Instant::now());
        let line = Mutex::new(display);
        let shared = Arc::new(Shared { progress, stderr, line, wake: Condvar::new() });
        let watcher = Arc::clone(&shared);
        let thread = std::thread::Builder::new().spawn(move || {
            // The working thread must not share its descriptor table, and its files must not stay open here.
            runtime::keep_standard_descriptors();
            watcher.watch();
        })?;
        Ok(Monitor { shared, thread: Some(thread), _signals: SignalsBlocked::new() })
    }

    /// Clears the progress line, and hides it until the returned guard is dropped.
    pub(crate) fn hold(&self) -> impl Drop {
        let mut line = self.shared.line();
        line.clear();
        Hold(line)
    }

    /// Ends the monitoring after the work is done. A signal that arrived too late to stop the work still counts as an
    /// interrupt, because a shell loop would otherwise continue.
    ///
    /// # Errors
    ///
    /// Fails if a signal was caught.
    pub(crate) fn finish(self) -> Result<(), Interrupted> {
        drop(self);
        interrupt::caught().map_or(Ok(()), |_| Err(Interrupted))
    }
}

/// Keeps the progress line hidden until dropped.
struct Hold<'m>(MutexGuard<'m, Display>);

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
            // If that thread panicked, the panic hook has already reported it.
            let _panicked = thread.join();
        }
        interrupt::disarm();
    }
}

impl Shared {
    fn line(&self) -> MutexGuard<'_, Display> {
        self.line.lock()
    }

    fn watch(&self) {
        let (start, mut stop_requested) = (Instant::now(), None);
        let mut stalls = Stalls::since(start);
        let mut line = self.line();
        while !line.done {
            if interrupt::caught().is_some() {
                self.progress.stop();
                if self.progress.saving.load(Relaxed) {
                    stop_requested = None;
                } else if stop_requested.get_or_insert_with(Instant::now).elapsed() >= STOP_TIMEOUT
                {
                    line.clear();
                    // It is safe to end the program here, because all commits are complete and nothing else is being
                    // written.
                    if let Some(paths) = stalls.now() {
                        let text = [&b"no longer waiting for "[..], &paths].concat();
                        self.stderr.complain(&text);
                    }
                    interrupt::end_as_caught();
                }
            }
            if let Some(text) = stalls.check(Instant::now()) {
                line.clear();
                self.stderr.complain(&text);
            }
            if start.elapsed() >= FIRST_LINE_AFTER {
                line.show(&self.progress, Instant::now());
            }
            line = self.wake.wait_timeout(line, CHECK_INTERVAL).0;
        }
        line.clear();
        line.write_record(&self.progress, Instant::now());
    }
}

impl Display {
    fn new(style: ProgressStyle, is_terminal: bool) -> Display {
        let now = Instant::now();
        let output = match style {
            ProgressStyle::Hidden => Output::Hidden,
            ProgressStyle::Json => Output::Records(now),
            ProgressStyle::Text if is_terminal => Output::Terminal,
            ProgressStyle::Text => Output::Log(now + FIRST_LINE_AFTER, LOG_INTERVALS[0]),
        };
        Display { done: false, drawn: false, progress_line: ProgressLine::new(), output }
    }

    fn show(&mut self, progress: &Progress, now: Instant) {
        match &mut self.output {
            Output::Terminal => {
                self.drawn = true;
                let text = self.progress_line.text(progress, now);
                let _unseen = write!(io::stderr().lock(), "\r{text}\x1b[K");
            }
            Output::Log(due, interval) => {
                let text = self.progress_line.log_text(progress, now);
                if now >= *due {
                    (*due, *interval) = (now + *interval, (*interval * 2).min(LOG_INTERVALS[1]));
                    let _unseen = writeln!(io::stderr().lock(), "{text}");
                }
            }
            Output::Records(due) if now >= *due => self.write_record(progress, now),
            Output::Hidden | Output::Records(_) => {}
        }
    }

    /// Writes a record of the progress, if progress is shown as records.
    fn write_record(&mut self, progress: &Progress, now: Instant) {
        if let Output::Records(due) = &mut self.output {
            *due = now + RECORD_INTERVAL;
            let record = progress_record::record(&mut self.progress_line, progress, now);
            write_line(&[record.as_bytes()]);
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _unseen = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
