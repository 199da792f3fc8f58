//! State that the threads of all jobs share.
//!
//! Every change to a job must be followed by [`Shared::note_change`]; otherwise, pages do not show it.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use runtime::{Condvar, Mutex};
use tokio::sync::watch;

use super::table::Table;

/// The jobs, and what is needed to start one.
#[derive(Debug)]
pub(super) struct Shared {
    program: PathBuf,
    catalog: PathBuf,
    /// The directory for unnamed files.
    pub(super) temp_dir: PathBuf,
    pub(super) table: Mutex<Table>,
    /// Notified when a job has ended.
    ended: Condvar,
    /// Number of changes to jobs so far.
    pub(super) changes: watch::Sender<u64>,
}

impl Shared {
    pub(super) fn new(program: PathBuf, catalog: PathBuf, temp_dir: PathBuf) -> Shared {
        let (table, ended) = (Mutex::new(Table::default()), Condvar::new());
        Shared { program, catalog, temp_dir, table, ended, changes: watch::Sender::new(0) }
    }

    /// Returns the program with the options that all jobs need.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // The current directory of the server may disappear, and it keeps its file system busy.
        command.current_dir("/").arg("--catalog").arg(&self.catalog);
        command.args(["--json", "--progress", "json"]);
        command
    }

    /// Announces a change to a job.
    pub(super) fn note_change(&self) {
        self.changes.send_modify(|number| *number += 1);
    }

    /// Announces the end of a job.
    pub(super) fn note_end(&self) {
        self.note_change();
        self.ended.notify_all();
    }

    /// Waits for a state of the table that only changes when a job ends.
    pub(super) fn wait_until(
        &self,
        timeout: Duration,
        mut is_reached: impl FnMut(&mut Table) -> bool,
    ) {
        let deadline = Instant::now() + timeout;
        let mut table = self.table.lock();
        while !is_reached(&mut table) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            table = self.ended.wait_timeout(table, left).0;
        }
    }
}
