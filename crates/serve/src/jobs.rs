//! Child processes that run lop, their progress and results.
//!
//! A job is one execution of the lop program with `--json --progress json`. The server itself never scans or changes
//! files, so a run has the same plan, comparison, journal and locks as on the command line.
//!
//! A job must survive the server. Each child is therefore in its own process group. If the server is killed, the child
//! loses only the readers of its output. This module signals a child only if the user cancels the job or stops the
//! server.
//!
//! | module | contents |
//! |---|---|
//! | `spec` | the work of a job, as a command line of lop |
//! | `job` | a snapshot of the state of a job |
//! | `shared` | state that the threads of all jobs share |
//! | `table` | the jobs and which of them may run at the same time |
//! | `child` | starts a child, follows it to its end, and signals it |
//! | `messages` | the standard error of a child |
//! | `output` | the standard output of a child, and saved plans |

mod child;
mod job;
mod messages;
mod output;
mod shared;
mod spec;
mod table;

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::sync::watch;

use self::shared::Shared;
use self::table::Table;

pub use job::{Job, JobError, JobProgress};
pub use output::{Output, OutputReader};
pub use spec::{Action, JobId, JobKind, JobSpec};
pub use table::StartError;

/// How long [`Jobs::shutdown`] waits for running jobs.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// The jobs of a server. Clones share the same jobs.
#[derive(Clone, Debug)]
pub struct Jobs(Arc<Shared>);

impl Jobs {
    /// Returns an empty list of jobs that run `program` with `catalog`. Both paths must be absolute.
    pub fn new(program: PathBuf, catalog: PathBuf) -> Jobs {
        // `/tmp` is in memory on many systems.
        Jobs::with_temp_dir(program, catalog, PathBuf::from("/var/tmp"))
    }

    /// Does the same as [`Jobs::new`], and keeps plans and large results in unnamed files in `temp_dir`.
    pub fn with_temp_dir(program: PathBuf, catalog: PathBuf, temp_dir: PathBuf) -> Jobs {
        Jobs(Arc::new(Shared::new(program, catalog, temp_dir)))
    }

    /// Starts a job and returns its number.
    ///
    /// # Errors
    ///
    /// Fails if another job must end first, if the plan to apply does not exist, if the server is stopping, or if the
    /// program cannot be started.
    #[expect(clippy::needless_pass_by_value, reason = "a request builds a spec for one job")]
    pub fn start(&self, spec: JobSpec) -> Result<JobId, StartError> {
        let shared = &self.0;
        // The lock is held until the job is in the table, so that two requests cannot both start a job.
        let mut table = shared.table.lock();
        table.check_start(spec.kind())?;
        let (stdin, plan) = match &spec {
            JobSpec::Apply { plan } => {
                let plan = table.plan(*plan).ok_or(StartError::NoPlan(*plan))?;
                (Stdio::from(plan.descriptor()?), None)
            }
            JobSpec::Plan { .. } => {
                let file = runtime::unnamed_file(&shared.temp_dir)?;
                (Stdio::from(file.try_clone()?), Some(file))
            }
            _ => (Stdio::null(), None),
        };
        let mut command = shared.command();
        command.args(spec.arguments()).stdin(stdin);
        self.spawn(&mut table, &mut command, spec.kind(), plan)
    }

    fn spawn(
        &self,
        table: &mut Table,
        command: &mut Command,
        kind: JobKind,
        plan: Option<File>,
    ) -> Result<JobId, StartError> {
        let child = child::spawn(command)?;
        let id = table.add(kind, child.pid());
        let shared = Arc::clone(&self.0);
        let thread = std::thread::Builder::new().name("job".into());
        // The thread waits for the lock that the caller holds before it changes the table.
        let started = thread.spawn(move || child.follow(&shared, id, plan));
        if let Err(error) = started {
            // Dropping the closure closed the pipes, but the child continues. The job can no longer be followed.
            table.abandon(id);
            return Err(error.into());
        }
        self.0.note_change();
        Ok(id)
    }

    /// Returns the state of a job. Returns `None` if there was no such job, or if it ended so long ago that it was
    /// forgotten.
    pub fn job(&self, id: JobId) -> Option<Arc<Job>> {
        self.0.table.lock().get(id).map(|entry| Arc::clone(&entry.job))
    }

    /// Returns the states of all jobs, newest first.
    pub fn list(&self) -> Vec<Arc<Job>> {
        self.0.table.lock().newest_first().map(|entry| Arc::clone(&entry.job)).collect()
    }

    /// Asks a job to stop. lop then ends after the step that it is working on. A second call ends the program
    /// immediately, and the next command that changes files repairs what this left behind. Returns whether the job was
    /// running.
    pub fn cancel(&self, id: JobId) -> bool {
        let mut table = self.0.table.lock();
        // SIGINT is ignored by all descendants of a shell's background command, SIGTERM is not.
        let cancelled = table.get_mut(id).is_some_and(|entry| entry.signal(Signal::TERM));
        drop(table);
        self.0.note_change();
        cancelled
    }

    /// Returns the standard output of a job that has ended: a JSON document.
    pub fn output(&self, id: JobId) -> Option<Output> {
        self.0.table.lock().get(id)?.output.clone()
    }

    /// Returns the plan that a job has saved: one action per line (`docs/acting.md`).
    pub fn plan(&self, id: JobId) -> Option<Output> {
        self.0.table.lock().plan(id)
    }

    /// Returns a receiver of the number of changes to jobs so far. Wait for the next change, then read the jobs.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Waits until a job has ended, but for at most `timeout`. Returns its state. **Blocks** the thread.
    pub fn wait(&self, id: JobId, timeout: Duration) -> Option<Arc<Job>> {
        self.0
            .wait_until(timeout, |table| table.get(id).is_none_or(|entry| !entry.job.is_running()));
        self.job(id)
    }

    /// Refuses new jobs, asks the running ones to stop, and waits up to ten seconds for their end. A job that has not
    /// ended by then continues until it stops by itself. **Blocks** the thread.
    pub fn shutdown(&self) {
        let mut table = self.0.table.lock();
        table.is_shut_down = true;
        for entry in table.running().filter(|entry| !entry.job.cancelled) {
            entry.signal(Signal::TERM);
        }
        drop(table);
        self.0.note_change();
        self.0.wait_until(SHUTDOWN_TIMEOUT, |table| table.running().next().is_none());
    }
}
