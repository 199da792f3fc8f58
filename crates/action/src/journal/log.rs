//! LOG

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use fsops::{Context, Dir, Log, Op};
use serde::Serialize;

use crate::error::Error;
use crate::journal::lines::{GO_ON, Lines};

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    log: Log,
    next: AtomicU64,
    /// Whether the last line may have been cut off.
    cut: Mutex<bool>,
}

impl Journal {
    /// Makes the journal at `path`; intents are numbered from 0.
    ///
    /// # Errors
    ///
    /// `EEXIST` if there is one.
    pub(crate) fn create(path: PathBuf) -> Result<Journal, Error> {
        let log = log(&path, Log::create).context(Op::Create, || &path)?;
        Ok(Journal { path, log, next: AtomicU64::new(0), cut: Mutex::new(false) })
    }

    /// Opens the journal at `path`; intents are numbered from `next`.
    pub(crate) fn open(path: PathBuf, next: u64) -> Result<Journal, Error> {
        let log = log(&path, Log::open).context(Op::Open, || &path)?;
        // A crash may have done that to the last line.
        let cut = Mutex::new(true);
        Ok(Journal { path, log, next: AtomicU64::new(next), cut })
    }

    /// Returns a number for an intent.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Relaxed)
    }

    /// Appends lines; if they are `urgent`, waits until they are on the disk.
    pub(crate) fn append(&self, lines: &Lines, urgent: bool) -> Result<(), Error> {
        if !lines.bytes().is_empty() {
            // One thread at a time: a write may be a partial one.
            let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
            if *cut {
                self.log.append(GO_ON).context(Op::Write, || &self.path)?;
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
    pub(crate) fn note(&self, record: &impl Serialize) -> Result<(), Error> {
        let mut lines = Lines::default();
        lines.push(record);
        self.append(&lines, true)
    }
}

fn log(path: &Path, open: fn(&Dir, &CStr) -> io::Result<Log>) -> io::Result<Log> {
    let (folder, name) = path.parent().zip(path.file_name()).ok_or(io::ErrorKind::InvalidInput)?;
    open(&Dir::open(folder)?, &CString::new(name.as_bytes())?)
}
