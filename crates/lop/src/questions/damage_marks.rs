//! Marks damaged and unreadable files in the catalog as soon as they are found, while the search continues.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use catalog::{Error, FileState, Mark, Marker};
use dupes::Finding;
use runtime::Interrupted;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::settings::Settings;

/// Runs `work` on another thread. Writes each mark to the catalog as soon as `work` sends it. Returns the result of
/// `work`, and whether all marks were written.
///
/// Only the calling thread uses the database. `SQLite` locks belong to a file descriptor table, and the thread that
/// runs `work` has a separate table.
///
/// # Errors
///
/// Fails if no path for the catalog can be determined.
pub(crate) fn with_marker<T: Send>(
    settings: &Settings,
    work: impl FnOnce(Sender<Mark>) -> Result<T, Interrupted> + Send,
) -> Result<(T, bool), CommandError> {
    let mut writer = MarkWriter { path: settings.catalog()?, marker: None, unwritten: Vec::new() };
    let (sender, marks) = channel();
    let done = std::thread::scope(|scope| {
        let worker = runtime::spawn_with_own_descriptors(scope, move || work(sender));
        let worker = worker.expect("a thread");
        writer.write_all(&marks);
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let marked = writer.close(settings);
    Ok((done?, marked))
}

/// Returns the state of a file after a finding, or `None` if the finding does not change the state.
pub(crate) fn state_after(before: FileState, finding: Finding) -> Option<FileState> {
    let is_bad = matches!(before, FileState::Damaged | FileState::Unreadable);
    let now = match finding {
        Finding::Sound if is_bad => FileState::Known,
        Finding::Sound => before,
        Finding::Differing => FileState::Damaged,
        Finding::Unreadable => FileState::Unreadable,
    };
    (now != before).then_some(now)
}

/// Writes marks to the catalog.
struct MarkWriter {
    path: PathBuf,
    marker: Option<Marker>,
    /// Marks that have not been written to the catalog yet.
    unwritten: Vec<Mark>,
}

impl MarkWriter {
    /// Writes marks until all senders have been dropped.
    fn write_all(&mut self, marks: &Receiver<Mark>) {
        while let Ok(mark) = marks.recv() {
            self.unwritten.push(mark);
            self.unwritten.extend(marks.try_iter());
            // After a failure, the marks stay in `unwritten` and are written with the next ones.
            let _later = self.write();
        }
    }

    fn write(&mut self) -> Result<(), Error> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let marker = match self.marker.take() {
            Some(marker) => marker,
            None => Marker::open(&self.path)?,
        };
        marker.mark(&self.unwritten)?;
        self.marker = Some(marker);
        self.unwritten.clear();
        Ok(())
    }

    /// Writes the remaining marks and reports a failure. Returns whether all marks were written.
    fn close(mut self, settings: &Settings) -> bool {
        match self.write() {
            Ok(()) => true,
            Err(error) => {
                let text = "the damage could not be recorded in the catalog, so other commands do not know about it";
                settings.report(&CommandError::new(Exit::Partial, text).because(error));
                false
            }
        }
    }
}
