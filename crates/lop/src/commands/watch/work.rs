//! The running watcher: its scans, and the messages about directories that it cannot watch any more.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use watch::{Control, Counts, Means, Status, Watched};

use super::roots::{WatchedRoots, is_watched, known_roots};
use super::scanner::Scanner;
use super::schedule::Schedule;
use crate::error::CommandError;
use crate::monitor::interrupt;
use crate::output::status_line::StatusLine;
use crate::quantity::{clock, counted, duration};
use crate::settings::Settings;

/// Interval at which `lop watch` checks whether a signal has arrived and whether a scan is due.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The running watcher and its scans.
pub(super) struct Work<'s> {
    pub(super) control: Control,
    pub(super) thread: JoinHandle<io::Result<()>>,
    pub(super) scanner: Scanner,
    pub(super) schedule: Schedule,
    pub(super) roots: Vec<PathBuf>,
    /// The roots and the mounts below them, as the messages so far describe them.
    pub(super) areas: Arc<Vec<Watched>>,
    /// The time at which the watcher tries again to watch what it does not watch.
    pub(super) check_at: Instant,
    pub(super) catalog: PathBuf,
    pub(super) settings: &'s Settings,
}

impl Work<'_> {
    /// Starts a scan whenever one is due, until a signal arrives or the watcher ends. Returns whether all roots were
    /// watched all the time.
    pub(super) fn run(&mut self) -> bool {
        let mut line = StatusLine::new(self.settings);
        let mut is_complete = self.watches_all();
        while interrupt::caught().is_none() && !self.thread.is_finished() {
            let now = Instant::now();
            if let Some(ended) = self.scanner.poll() {
                self.schedule.ended(ended.is_ok(), self.scanner.took(), now);
                if let Err(reason) = ended {
                    line.clear();
                    self.complain(&reason, now);
                }
            }
            self.report_areas(&mut line);
            is_complete &= self.watches_all();
            self.check_areas(now);
            let status = self.control.status();
            let due = self.schedule.due(&status);
            if !self.scanner.is_running() && due.is_some_and(|due| due <= now) {
                // The scan writes its own messages.
                line.clear();
                self.start_scan(now);
            }
            line.show(|| self.text(&status, due, now));
            std::thread::sleep(CHECK_INTERVAL);
        }
        line.clear();
        is_complete
    }

    fn watches_all(&self) -> bool {
        self.roots.iter().all(|root| is_watched(root, &self.areas))
    }

    /// Reports the roots, and the mounts below them, that the watcher cannot watch any more, and those that it watches
    /// again.
    fn report_areas(&mut self, line: &mut StatusLine) {
        let areas = self.control.watched();
        if Arc::ptr_eq(&areas, &self.areas) {
            return;
        }
        line.clear();
        let before = std::mem::replace(&mut self.areas, areas);
        for area in self.areas.iter() {
            let known = before.iter().find(|known| known.path == area.path);
            let was_unwatched =
                known.is_some_and(|known| matches!(known.means, Means::Unwatched(_)));
            match &area.means {
                Means::Unwatched(reason) if !was_unwatched => {
                    let text = self.unwatched(area, reason);
                    self.settings.complain(&[&area.path[..], text.as_bytes()].concat());
                }
                Means::Fanotify | Means::Inotify(..) if was_unwatched => {
                    self.settings.summarize(&[&area.path[..], b" is watched again"].concat());
                }
                _ => {}
            }
        }
    }

    /// Returns the message about a directory that the watcher does not watch any more, without its path.
    fn unwatched(&self, area: &Watched, reason: &str) -> String {
        let next = match (area.is_root, self.schedule.is_automatic()) {
            (true, true) => "; lop scans it again when it can watch it",
            (true, false) => "",
            (false, _) => "; each scan examines all of it",
        };
        let verb = if area.is_root { "is no longer watched" } else { "is not watched" };
        format!(" {verb}: {reason}{next}")
    }

    /// Tells the watcher now and then to try again to watch what it does not watch.
    fn check_areas(&mut self, now: Instant) {
        let is_unwatched = |area: &Watched| matches!(area.means, Means::Unwatched(_));
        if now >= self.check_at && self.areas.iter().any(is_unwatched) {
            self.check_at = now + self.schedule.quiet();
            self.control.check();
        }
    }

    /// Starts a scan of the directories that exist, are watched, and whose last scan had no typed options.
    fn start_scan(&mut self, now: Instant) {
        let is_full = self.schedule.started(now);
        let known = match known_roots(&self.catalog, false, self.settings) {
            Ok(known) => known,
            Err(error) => return self.fail(&error.text(), now),
        };
        let plain = WatchedRoots::new(&self.roots, &self.areas, &known).plain;
        let (roots, missing): (Vec<_>, Vec<_>) = plain.into_iter().partition(|root| root.is_dir());
        if !missing.is_empty() {
            // If a directory is gone, no event tells this to the watcher.
            self.control.check();
        }
        if roots.is_empty() {
            return self.schedule.ended(true, Duration::ZERO, now);
        }
        if let Err(error) = self.scanner.start(&roots, is_full) {
            self.fail(&fsops::io_text(&error), now);
        }
    }

    /// Reports that a scan could not be started.
    fn fail(&mut self, reason: &str, now: Instant) {
        self.schedule.ended(false, Duration::ZERO, now);
        self.complain(reason, now);
    }

    fn complain(&self, reason: &str, now: Instant) {
        let next = self.schedule.retry_at().map(|at| at.saturating_duration_since(now));
        let next = next
            .map_or_else(String::new, |left| format!("; lop tries again in {}", duration(left)));
        self.settings.complain(format!("the scan failed: {reason}{next}").as_bytes());
    }

    /// Returns the text of the status line.
    fn text(&self, status: &Status, due: Option<Instant>, now: Instant) -> String {
        let Counts { entries, dirs } = status.counts;
        let mut text = match entries {
            0 => "no changes".to_owned(),
            _ => counted(entries, "entry", "entries"),
        };
        if dirs > 0 {
            text.push_str(&format!(" in {}", counted(dirs, "directory", "directories")));
        }
        if entries > 0 {
            text.push_str(" changed since the last scan");
        }
        if self.scanner.is_running() {
            text.push_str("; scanning");
        } else if let Some(due) = due {
            let left = due.saturating_duration_since(now);
            text.push_str(&format!("; next scan in {}", clock(left)));
        }
        text
    }

    /// Stops the watcher, and the scan if one is running.
    pub(super) fn finish(mut self) -> Result<(), CommandError> {
        self.scanner.stop();
        self.control.stop();
        let ended = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended.map_err(|e| CommandError::failed("the watcher failed").because(e))
    }
}
