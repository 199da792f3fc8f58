//! Saves the results of a long scan at intervals and on an interrupt, so that the next scan can continue from there.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use catalog::{Findings, RowMap, ScanRecord, Writer};
use content::Fingerprints;
use dupes::Candidates;
use runtime::epoch::now_ms;
use runtime::{Interrupted, Progress, spawn_with_own_descriptors};
use walk::{Problem, Tree};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::quantity::{count, counted, size};
use crate::settings::Settings;

/// Interval at which the calling thread checks the time and whether the scan was interrupted.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Time to wait for an interrupted search to end before its results are saved. If a disk no longer responds, the search
/// may never end.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Minimum time between two saves, as a multiple of the duration of a save. Saving therefore takes at most a twentieth
/// of the scan time. The search threads continue in the meantime.
const SAVE_INTERVAL_FACTOR: u32 = 20;

/// Saves the results of a scan.
pub(super) struct Checkpointer<'a> {
    pub(super) writer: &'a mut Writer,
    pub(super) rows: &'a mut RowMap,
    pub(super) tree: &'a Tree,
    pub(super) fingerprints: &'a Fingerprints,
    /// Record of the scan so far.
    pub(super) record: ScanRecord,
    /// Interval at which the results of a long search are saved.
    pub(super) every: Duration,
    pub(super) progress: &'a Progress,
    /// The files to compare, determined at the first save.
    pub(super) candidates: Option<Candidates>,
    /// True if the scan reads known files again. If such a scan is interrupted, the next one starts from the beginning.
    pub(super) rereads: bool,
    /// True if a message about the interrupt and the saved results has been printed.
    pub(super) has_reported: bool,
}

impl Checkpointer<'_> {
    /// Runs `search` on another thread, and saves the results at intervals.
    ///
    /// Only the calling thread uses the catalog. `SQLite` locks belong to a file descriptor table, and the search
    /// threads have a separate table.
    pub(super) fn search_and_save<T: Send>(
        &mut self,
        settings: &Settings,
        search: impl FnOnce() -> T + Send,
    ) -> T {
        std::thread::scope(|scope| {
            let (ending, ended) = channel::<()>();
            let run = move || {
                let _dropped_at_the_end = ending;
                search()
            };
            let search = spawn_with_own_descriptors(scope, run).expect("a thread");
            let (mut next, mut stopping) = (Instant::now() + self.every, None);
            let interval = CHECK_INTERVAL.min(self.every);
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                if self.progress.poll_stop() {
                    if stopping.get_or_insert_with(Instant::now).elapsed() >= STOP_TIMEOUT {
                        settings.report(&self.save_interrupted());
                        self.has_reported = true;
                        // If the search does not end, the monitor ends the program.
                        break;
                    }
                } else if Instant::now() >= next {
                    let start = Instant::now();
                    if let Err(error) = self.save() {
                        let text = "the results so far cannot be saved";
                        settings.report(&CommandError::new(Exit::Failed, text).because(error));
                        next = start + Duration::from_secs(3600);
                        continue;
                    }
                    next = Instant::now() + self.every.max(start.elapsed() * SAVE_INTERVAL_FACTOR);
                }
            }
            search.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Saves the results of an interrupted search, and returns the error to report.
    pub(super) fn save_interrupted(&mut self) -> CommandError {
        let bytes = self.progress.bytes_read.load(Relaxed);
        if bytes == 0 || self.has_reported {
            return Interrupted.into();
        }
        match self.save() {
            Ok(_) if self.rereads => {
                let read = size(bytes);
                let text = format!(
                    "interrupted after reading {read}; for files that were not read again, the catalog is unchanged"
                );
                CommandError::new(Exit::Interrupted, text)
                    .hint("'lop scan --reread' starts from the beginning")
            }
            Ok(pending) => {
                let files = counted(self.tree.files().len() as u64, "file", "files");
                let left = count(pending);
                let read = size(bytes);
                let text = format!(
                    "interrupted; the results from the {read} read so far are saved, \
                     {left} of {files} still have to be compared"
                );
                CommandError::new(Exit::Interrupted, text)
                    .hint("run the same scan again to continue")
            }
            Err(error) => {
                let text = "interrupted; the results so far could not be saved";
                CommandError::new(Exit::Interrupted, text).because(error)
            }
        }
    }

    /// Saves the results so far. Returns the number of files that still have to be compared.
    fn save(&mut self) -> Result<u64, catalog::Error> {
        self.progress.saving.store(true, Relaxed);
        let saved = self.save_now();
        self.progress.saving.store(false, Relaxed);
        saved
    }

    fn save_now(&mut self) -> Result<u64, catalog::Error> {
        let (tree, fingerprints, progress) = (self.tree, self.fingerprints, self.progress);
        let candidates = self.candidates.get_or_insert_with(|| Candidates::new(tree, progress));
        let pending = candidates.pending(tree, fingerprints, progress);
        self.record.finished_ms = now_ms();
        let problems: Vec<&Problem> = tree.problems.iter().collect();
        let record = &self.record;
        let found =
            Findings { tree, fingerprints, problems: &problems, record, pending: Some(&pending) };
        self.writer.save(self.rows, &found)?;
        Ok(pending.iter().filter(|&&waits| waits).count() as u64)
    }
}
