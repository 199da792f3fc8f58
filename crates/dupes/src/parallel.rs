//! Workers over a list: each with its own open directories, buffers and problems.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use content::{Facts, ReadError, Scratch};
use fsops::{File, Interrupted, Op, Stat, Watch, own_descriptor_table};
use walk::{FileId, Opener, Problem, Reason, Tree};

use crate::Options;

/// Files, what is known of them, and how to work on them: what all workers share.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The files.
    pub tree: &'a Tree,
    /// What is known of their contents.
    pub facts: &'a Facts,
    /// How to work.
    pub options: &'a Options,
    /// Progress, and the request to stop.
    pub watch: &'a Watch,
}

/// One thread's state.
pub(crate) struct Worker<'a> {
    pub(crate) work: Work<'a>,
    pub(crate) opener: Opener<'a>,
    pub(crate) scratch: Scratch,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Work<'a> {
    /// Runs `each` over `items` on all threads, `step` items at a time; returns what the threads
    /// made of it and their problems.
    pub(crate) fn on_threads<T: Sync, R: Send + Default>(
        self,
        items: &[T],
        step: usize,
        each: impl Fn(&mut Worker<'a>, &mut R, &T) -> Result<(), Interrupted> + Sync,
    ) -> Result<(Vec<R>, Vec<Problem>), Interrupted> {
        let next = AtomicUsize::new(0);
        let run = || {
            own_descriptor_table();
            let mut worker = Worker {
                work: self,
                opener: Opener::new(self.tree, self.options.open_dirs),
                scratch: Scratch::default(),
                problems: Vec::new(),
            };
            let mut result = R::default();
            loop {
                let start = next.fetch_add(step, Relaxed);
                if start >= items.len() {
                    return Ok((result, worker.problems));
                }
                self.watch.check()?;
                for item in &items[start..items.len().min(start + step)] {
                    each(&mut worker, &mut result, item)?;
                }
            }
        };
        let threads = self.options.threads.clamp(1, items.len().div_ceil(step).max(1));
        let results: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
            workers
                .into_iter()
                .map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let mut all = (Vec::with_capacity(threads), Vec::new());
        for result in results {
            let (result, problems) = result?;
            all.0.push(result);
            all.1.extend(problems);
        }
        Ok(all)
    }
}

impl Work<'_> {
    /// Counts the files among `files` whose content is not known yet as work to do.
    pub(crate) fn expect(&self, files: &[FileId], size: u64) {
        let files = self.unknown(files.iter().copied());
        self.watch.files_total.fetch_add(files, Relaxed);
        self.watch.bytes_total.fetch_add(size.saturating_mul(files), Relaxed);
    }

    /// Counts the files among `files` whose content is not known yet as decided, before it is
    /// noted.
    pub(crate) fn done(&self, files: impl Iterator<Item = FileId>, size: u64) {
        let files = self.unknown(files);
        self.watch.files_done.fetch_add(files, Relaxed);
        self.watch.bytes_done.fetch_add(size.saturating_mul(files), Relaxed);
    }

    fn unknown(&self, files: impl Iterator<Item = FileId>) -> u64 {
        files.filter(|f| self.facts.content(f.0).is_none()).count() as u64
    }
}

impl Worker<'_> {
    /// Opens a file; a failure drops it, is noted, and makes it one that is done.
    pub(crate) fn open(&mut self, id: FileId) -> Option<File> {
        match self.opener.open(id) {
            Ok(file) => {
                self.work.watch.opened.fetch_add(1, Relaxed);
                Some(file)
            }
            Err(source) => {
                self.give_up(id, Reason::Failed { op: Op::Open, source });
                self.done(id);
                None
            }
        }
    }

    /// Opens a file, reads from it, and makes sure it was unchanged from the walk until after
    /// the read. A failure drops the file, is noted, and makes it one that is done.
    pub(crate) fn read<T>(
        &mut self,
        id: FileId,
        read: impl FnOnce(&File, &mut Scratch, &Watch) -> Result<T, ReadError>,
    ) -> Result<Option<T>, Interrupted> {
        let Some(file) = self.open(id) else { return Ok(None) };
        let result = read(&file, &mut self.scratch, self.work.watch);
        let result = self.accept(id, &file, result)?;
        if result.is_none() {
            self.done(id);
        }
        Ok(result)
    }

    /// Opens a file and reads from it, without asking whether it is still what the walk saw.
    pub(crate) fn read_unchecked(
        &mut self,
        id: FileId,
        read: impl FnOnce(&File, &mut Scratch, &Watch) -> Result<(), ReadError>,
    ) -> Result<(), Interrupted> {
        let Some(file) = self.open(id) else { return Ok(()) };
        match read(&file, &mut self.scratch, self.work.watch) {
            Ok(()) => Ok(()),
            failed => {
                self.accept(id, &file, failed)?;
                self.done(id);
                Ok(())
            }
        }
    }

    /// Takes the result of reading a file if the file is still what the walk saw. If it is not,
    /// counting it as done is left to the caller.
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

    /// Drops a file and notes why. A remembered file that is gone or changed is no problem of
    /// this scan: the catalog learns that it knows nothing of it.
    pub(crate) fn give_up(&mut self, id: FileId, reason: Reason) {
        self.work.facts.drop_file(id.0);
        if !self.work.tree.is_remembered(id) {
            self.problems.push(Problem { path: self.work.tree.path(id), reason });
        }
    }

    fn done(&self, id: FileId) {
        self.work.done([id].into_iter(), self.work.tree.file(id).size);
    }
}
