//! The thread that looks on while the engines work: it passes on a request to stop, and redraws
//! the line of progress.
//!
//! It sleeps between looks; the engines never wait for it.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fsops::{Interrupted, Watch};

use crate::interrupt;
use crate::progress::Progress;
use crate::settings::Settings;

/// Between two looks: short enough for Ctrl-C to feel immediate and for a line that moves.
const PERIOD: Duration = Duration::from_millis(100);

/// Work shorter than this shows no line at all, rather than a flicker.
const PATIENCE: Duration = Duration::from_millis(200);

/// Watches over work until dropped; the line of progress is gone by then.
pub(crate) struct Monitor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    watch: Arc<Watch>,
    line: Mutex<Line>,
    wake: Condvar,
}

/// The line of progress and whether the work is done.
#[derive(Default)]
struct Line {
    done: bool,
    drawn: bool,
    progress: Option<Progress>,
}

impl Monitor {
    /// Starts to watch over work that counts in `watch`.
    pub(crate) fn start(watch: &Arc<Watch>, settings: &Settings) -> io::Result<Monitor> {
        interrupt::arm()?;
        let progress = settings.progress.then(Progress::new);
        let line = Mutex::new(Line { progress, ..Line::default() });
        let shared = Arc::new(Shared { watch: Arc::clone(watch), line, wake: Condvar::new() });
        let looker = Arc::clone(&shared);
        let thread = std::thread::Builder::new().spawn(move || {
            // Then nobody else uses that of the thread that works.
            fsops::own_descriptor_table();
            looker.look_on();
        })?;
        Ok(Monitor { shared, thread: Some(thread) })
    }

    /// Ends the watch over work that is done. An interruption that it was too far to notice
    /// counts all the same: a shell's loop would go on otherwise.
    pub(crate) fn finish(self) -> Result<(), Interrupted> {
        drop(self);
        interrupt::caught().map_or(Ok(()), |_| Err(Interrupted))
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
        let start = Instant::now();
        let mut line = self.line();
        while !line.done {
            if interrupt::caught().is_some() {
                self.watch.stop();
            }
            if start.elapsed() >= PATIENCE {
                line.draw(&self.watch);
            }
            let waited = self.wake.wait_timeout(line, PERIOD);
            line = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        line.clear();
    }
}

impl Line {
    fn draw(&mut self, watch: &Watch) {
        if let Some(progress) = &mut self.progress {
            let text = progress.text(watch, Instant::now());
            self.drawn = true;
            let _unseen = write!(io::stderr().lock(), "\r{text}\x1b[K");
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _unseen = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
