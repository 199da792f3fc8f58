//! Appends to a journal and syncs it.

use runtime::Mutex;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fsops::{Context, Dir, Log, Op};
use serde::Serialize;

use crate::error::Error;
use crate::journal::lines::{APPEND_MARK, Lines};

/// A journal that is open for appending.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    log: Log,
    next: AtomicU64,
    /// Whether the last line may have been cut off.
    cut: Mutex<bool>,
}

impl Journal {
    /// Creates the journal at `path`. Its intents are numbered from 0.
    pub(crate) fn create(path: PathBuf) -> Result<Journal, Error> {
        let log = log(&path, Log::create).context(Op::Create, || &path)?;
        Ok(Journal { path, log, next: AtomicU64::new(0), cut: Mutex::new(false) })
    }

    /// Opens the journal at `path`. New intents are numbered from `next`.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be opened, or others may write to it. Nothing on disk changes.
    pub(crate) fn open(path: PathBuf, next: u64) -> Result<Journal, Error> {
        let log = log(&path, Log::open).context(Op::Open, || &path)?;
        // A crash may have cut off the last line.
        let cut = Mutex::new(true);
        Ok(Journal { path, log, next: AtomicU64::new(next), cut })
    }

    /// Returns a new number for an intent.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Relaxed)
    }

    /// Appends lines. If `urgent`, waits until the lines are on the disk.
    ///
    /// # Errors
    ///
    /// Fails if the write or the sync fails. The last line may then be cut off. The next append marks the
    /// cut.
    pub(crate) fn append(&self, lines: &Lines, urgent: bool) -> Result<(), Error> {
        if !lines.bytes().is_empty() {
            // The lock keeps other threads from appending between the parts of a partial write.
            let mut cut = self.cut.lock();
            if *cut {
                self.log.append(APPEND_MARK).context(Op::Write, || &self.path)?;
            }
            *cut = true;
            self.log.append(lines.bytes()).context(Op::Write, || &self.path)?;
            *cut = false;
        }
        if urgent {
            self.log.sync().context(Op::Sync, || &self.path)?;
        }
        Ok(())
    }

    /// Appends one line and waits until it is on the disk.
    ///
    /// # Errors
    ///
    /// As for [`Journal::append`].
    pub(crate) fn append_record(&self, record: &impl Serialize) -> Result<(), Error> {
        let mut lines = Lines::default();
        lines.push(record);
        self.append(&lines, true)
    }
}

fn log(path: &Path, open: fn(&Dir, &CStr) -> io::Result<Log>) -> io::Result<Log> {
    let (folder, name) = path.parent().zip(path.file_name()).ok_or(io::ErrorKind::InvalidInput)?;
    open(&Dir::open(folder)?, &CString::new(name.as_bytes())?)
}
