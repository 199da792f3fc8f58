//! The jobs of a server, and which of them may run at the same time.
//!
//! At most one job that changes files or the catalog and one other job run at a time. The process id of a child must be
//! in the table until the child is reaped, and no longer, so that a signal never reaches another process.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use runtime::epoch::now_ms;
use rustix::process::{Pid, Signal, kill_process};

use super::job::Job;
use super::output::Output;
use super::spec::{JobId, JobKind};

/// Number of jobs whose results are kept. Plans and results can be large, and the history of runs is in the journals.
const MAX_JOBS: usize = 20;

/// The reason why a job was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Another job must end first.
    #[error("job {} is running", .0.0)]
    Busy(JobId),
    /// The job is unknown or has not made a plan.
    #[error("job {} has no plan that could be applied", .0.0)]
    NoPlan(JobId),
    /// The server is stopping.
    #[error("the server is stopping")]
    ShutDown,
    /// The system refused to start the program.
    #[error("cannot start lop: {0}")]
    Spawn(#[from] io::Error),
}

/// The jobs, oldest first.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: VecDeque<Entry>,
    last: u64,
    pub(super) is_shut_down: bool,
}

/// A job and its results.
#[derive(Debug)]
pub(super) struct Entry {
    /// Shared with requests that read it. A change makes a copy only while one does.
    pub(super) job: Arc<Job>,
    /// The process of the job, until it has been reaped.
    pub(super) pid: Option<Pid>,
    pub(super) output: Option<Output>,
    pub(super) plan: Option<Output>,
}

impl Entry {
    /// Returns the state of the job for changes.
    pub(super) fn job_mut(&mut self) -> &mut Job {
        Arc::make_mut(&mut self.job)
    }

    /// Sends a signal to the process of the job, and notes that the job was asked to stop. Returns whether the job was
    /// running.
    pub(super) fn signal(&mut self, signal: Signal) -> bool {
        let Some(pid) = self.pid else { return false };
        self.job_mut().cancelled = true;
        kill_process(pid, signal).is_ok()
    }
}

impl Table {
    /// Returns an error if a job of this kind must not start now.
    pub(super) fn check_start(&self, kind: JobKind) -> Result<(), StartError> {
        if self.is_shut_down {
            return Err(StartError::ShutDown);
        }
        let conflicts = |job: &Job| job.is_running() && job.kind.changes() == kind.changes();
        match self.entries.iter().find(|entry| conflicts(&entry.job)) {
            Some(entry) => Err(StartError::Busy(entry.job.id)),
            None => Ok(()),
        }
    }

    /// Adds a running job, and forgets the oldest ones.
    pub(super) fn add(&mut self, kind: JobKind, pid: Pid) -> JobId {
        self.last += 1;
        let id = JobId(self.last);
        let job = Job {
            id,
            kind,
            started_ms: now_ms(),
            ended_ms: None,
            cancelled: false,
            progress: None,
            messages: Vec::new(),
            messages_total: 0,
            exit_code: None,
            signal: None,
            error: None,
            result: None,
        };
        let job = Arc::new(job);
        self.entries.push_back(Entry { job, pid: Some(pid), output: None, plan: None });
        while self.entries.len() > MAX_JOBS {
            let Some(oldest) = self.entries.iter().position(|entry| !entry.job.is_running()) else {
                break;
            };
            self.entries.remove(oldest);
        }
        id
    }

    /// Removes a job.
    pub(super) fn abandon(&mut self, id: JobId) {
        self.entries.retain(|entry| entry.job.id != id);
    }

    pub(super) fn get(&self, id: JobId) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.job.id == id)
    }

    pub(super) fn get_mut(&mut self, id: JobId) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.job.id == id)
    }

    pub(super) fn newest_first(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().rev()
    }

    pub(super) fn running(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut().filter(|entry| entry.job.is_running())
    }

    /// Returns the plan of a job that has made one.
    pub(super) fn plan(&self, id: JobId) -> Option<Output> {
        self.get(id)?.plan.clone()
    }
}
