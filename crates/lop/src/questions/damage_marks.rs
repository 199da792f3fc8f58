//! Notes in the catalog what is found wrong with files, while the work that finds it goes on.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use catalog::{Error, FileState, Mark, Marker};
use dupes::Finding;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::settings::Settings;

/// Works on another thread, and marks the files that it sends here, each within a moment. Returns what
/// came of the work, and whether everything is marked.
///
/// The database is used by the calling thread only: `SQLite`'s locks belong to a descriptor table, and
/// threads at work have one of their own.
pub(crate) fn with_marker<T: Send>(
    settings: &Settings,
    work: impl FnOnce(Sender<Mark>) -> T + Send,
) -> Result<(T, bool), CommandError> {
    let mut book = Book { path: settings.catalog()?, marker: None, kept: Vec::new() };
    let (sender, marks) = channel();
    let done = std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            runtime::own_descriptor_table();
            work(sender)
        });
        book.note_all(&marks);
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    Ok((done, book.close(settings)))
}

/// Returns the state that a finding gives a file, or `None` if the state stays the same.
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

/// The marks to write, and the catalog that they go into.
struct Book {
    path: PathBuf,
    marker: Option<Marker>,
    /// What could not be noted yet.
    kept: Vec<Mark>,
}

impl Book {
    /// Notes what comes until nobody sends any more.
    fn note_all(&mut self, marks: &Receiver<Mark>) {
        while let Ok(mark) = marks.recv() {
            self.kept.push(mark);
            self.kept.extend(marks.try_iter());
            // If it fails now it is tried with what comes next, and at the end.
            let _later = self.note();
        }
    }

    fn note(&mut self) -> Result<(), Error> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let marker = match self.marker.take() {
            Some(marker) => marker,
            None => Marker::open(&self.path)?,
        };
        marker.mark(&self.kept)?;
        self.marker = Some(marker);
        self.kept.clear();
        Ok(())
    }

    /// Tries once more what could not be noted; says so if it still cannot be.
    fn close(mut self, settings: &Settings) -> bool {
        match self.note() {
            Ok(()) => true,
            Err(error) => {
                let text = "the catalog does not learn what was found, so other commands do not know of it";
                settings.report(&CommandError::new(Exit::Partial, text).because(error));
                false
            }
        }
    }
}
