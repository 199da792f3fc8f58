//! The state of one thread, and its operations on single files: opening, reading, and checking that
//! a file is unchanged since the walk.

use std::sync::atomic::Ordering::Relaxed;

use content::{ReadError, Scratch};
use fsops::{File, Op, Stat, is_gone};
use runtime::{Interrupted, Progress};
use walk::{FileId, Opener, Problem, Reason};

use crate::work::Work;

/// The state of one thread.
pub(crate) struct Worker<'a> {
    pub(crate) work: &'a Work<'a>,
    pub(crate) opener: Opener<'a>,
    pub(crate) scratch: Scratch,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Worker<'a> {
    /// Returns a worker with nothing open.
    pub(crate) fn new(work: &'a Work<'a>) -> Self {
        Worker {
            work,
            opener: Opener::new(work.tree, work.options.open_dirs),
            scratch: Scratch::default(),
            problems: Vec::new(),
        }
    }
}

impl Worker<'_> {
    /// Opens a file. On failure, drops the file, records the problem and counts the file as done.
    pub(crate) fn open(&mut self, id: FileId) -> Option<File> {
        match self.opener.open(id) {
            Ok(file) => {
                self.work.progress.opened.fetch_add(1, Relaxed);
                Some(file)
            }
            Err(source) => {
                self.give_up(id, Reason::Failed { op: Op::Open, source });
                self.done(id);
                None
            }
        }
    }

    /// Opens a file and reads from it, then checks that it is unchanged since the walk. On failure,
    /// drops the file, records the problem and counts the file as done.
    pub(crate) fn read<T>(
        &mut self,
        id: FileId,
        read: impl FnOnce(&File, &mut Scratch, &Progress) -> Result<T, ReadError>,
    ) -> Result<Option<T>, Interrupted> {
        let Some(file) = self.open(id) else { return Ok(None) };
        self.read_from(id, &file, read)
    }

    /// Reads from an open file as [`Worker::read`] does.
    pub(crate) fn read_from<T>(
        &mut self,
        id: FileId,
        file: &File,
        read: impl FnOnce(&File, &mut Scratch, &Progress) -> Result<T, ReadError>,
    ) -> Result<Option<T>, Interrupted> {
        let result = read(file, &mut self.scratch, self.work.progress);
        let result = self.accept(id, file, result)?;
        if result.is_none() {
            self.done(id);
        }
        Ok(result)
    }

    /// Reads from an open file without checking that it is unchanged since the walk.
    pub(crate) fn read_unchecked(
        &mut self,
        id: FileId,
        file: &File,
        read: impl FnOnce(&File, &mut Scratch, &Progress) -> Result<(), ReadError>,
    ) -> Result<(), Interrupted> {
        match read(file, &mut self.scratch, self.work.progress) {
            Ok(()) => Ok(()),
            failed => {
                self.accept(id, file, failed)?;
                self.done(id);
                Ok(())
            }
        }
    }

    /// Returns the result of reading a file if the file is unchanged since the walk. Otherwise
    /// drops the file. The caller must then count the file as done.
    pub(crate) fn accept<T>(
        &mut self,
        id: FileId,
        file: &File,
        result: Result<T, ReadError>,
    ) -> Result<Option<T>, Interrupted> {
        let now = match result {
            Err(ReadError::Interrupted(stop)) => return Err(stop),
            Err(ReadError::Io(source)) => {
                self.give_up(id, Reason::Failed { op: Op::Read, source });
                return Ok(None);
            }
            Ok(_) | Err(ReadError::Short) => file.stat(),
        };
        let unchanged = |now: &Stat| self.work.tree.unchanged(id, now);
        let reason = match (now, result) {
            (Err(source), _) => Reason::Failed { op: Op::Stat, source },
            (Ok(now), _) if !unchanged(&now) => Reason::Changed,
            (Ok(_), Ok(value)) => return Ok(Some(value)),
            (Ok(_), Err(_)) => Reason::Short,
        };
        self.give_up(id, reason);
        Ok(None)
    }

    /// Drops a file and records the reason. A remembered file that is gone or changed is not
    /// reported as a problem. The catalog forgets it.
    pub(crate) fn give_up(&mut self, id: FileId, reason: Reason) {
        if is_change(&reason) {
            self.work.fingerprints.drop_changed(id.0);
        } else {
            self.work.fingerprints.drop_file(id.0);
        }
        if !self.work.tree.is_remembered(id) {
            self.problems.push(Problem { path: self.work.tree.path(id), reason });
        }
    }

    fn done(&self, id: FileId) {
        self.work.done([id].into_iter(), self.work.tree.file(id).size);
    }
}

/// Returns whether `reason` means that the path no longer leads to the file that the walk found.
fn is_change(reason: &Reason) -> bool {
    match reason {
        Reason::Changed => true,
        Reason::Failed { source, .. } => is_gone(source),
        Reason::Short | Reason::Damaged => false,
    }
}
