//! The equal, contained and overlapping folders. A job finds them, which can take minutes, and the result
//! is kept until the catalog changes.

pub(crate) mod report;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use self::report::Report;
use crate::error::PageError;
use crate::jobs::{Job, JobId, JobSpec, Jobs, Output, StartError};

/// The last comparison of folders.
#[derive(Debug, Default)]
pub(crate) struct Folders(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The job that compares, and the version of the catalog when it started.
    job: Option<(JobId, u64)>,
    /// Why the last job failed, until another one starts.
    failure: Option<String>,
    /// The last answer, and the version of the catalog that it is about.
    answer: Option<(Output, u64)>,
    /// The last answer in memory, and when a page used it last.
    report: Option<(Arc<Report>, Instant)>,
}

/// The state of the comparison.
#[derive(Debug)]
pub(crate) enum Progress {
    /// The folders have not been compared since the catalog changed.
    Idle,
    Running(Arc<Job>),
    Done(Arc<Report>),
    /// The last job failed for this reason.
    Failed(String),
}

impl Progress {
    /// Returns the state in one word, for the script of the page.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Progress::Idle => "idle",
            Progress::Running(_) => "running",
            Progress::Done(_) => "done",
            Progress::Failed(_) => "failed",
        }
    }
}

impl Folders {
    /// Returns the state of the comparison. `version` is the current version of the catalog.
    pub(super) fn progress(&self, jobs: &Jobs, version: u64) -> Progress {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, started)) = kept.job {
            if let Some(job) = jobs.job(id).filter(|job| job.is_running()) {
                return Progress::Running(job);
            }
            kept.job = None;
            (kept.answer, kept.report) = (None, None);
            match answer(jobs, id) {
                Ok(output) => kept.answer = Some((output, started)),
                Err(reason) => kept.failure = Some(reason),
            }
        }
        if kept.failure.is_none()
            && let Err(reason) = kept.load(version)
        {
            (kept.answer, kept.failure) = (None, Some(reason));
        }
        match (&kept.failure, &kept.report) {
            (Some(reason), _) => Progress::Failed(reason.clone()),
            (None, Some((report, _))) => Progress::Done(Arc::clone(report)),
            (None, None) => Progress::Idle,
        }
    }

    /// Starts a comparison unless one is running. `version` is the current version of the catalog.
    ///
    /// # Errors
    ///
    /// Fails if another job must end first, or the job cannot be started.
    pub(super) fn start(&self, jobs: &Jobs, version: u64) -> Result<JobId, PageError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, _)) = kept.job
            && jobs.job(id).is_some_and(|job| job.is_running())
        {
            return Ok(id);
        }
        let id = jobs.start(JobSpec::Folders).map_err(|error| match error {
            StartError::Busy(_) => PageError::conflict(
                "lop is making a plan",
                "Wait until it is complete, and load this page again.",
            ),
            error => PageError::failed(&error),
        })?;
        (kept.job, kept.failure) = (Some((id, version)), None);
        Ok(id)
    }

    /// Frees the memory of the answer if no page has needed it for this time. The document of the job
    /// stays, so the next page reads it again.
    pub(super) fn drop_if_idle(&self, idle: Duration) {
        // A page that reads the answer uses it.
        let Ok(mut kept) = self.0.try_lock() else { return };
        if kept.report.as_ref().is_some_and(|(_, used)| used.elapsed() >= idle) {
            kept.report = None;
        }
    }
}

impl Kept {
    /// Reads the answer unless it is in memory, and drops one that is about another version.
    fn load(&mut self, version: u64) -> Result<(), String> {
        self.answer = self.answer.take().filter(|(_, about)| *about == version);
        let Some((output, _)) = &self.answer else {
            self.report = None;
            return Ok(());
        };
        let report = match self.report.take() {
            Some((report, _)) => report,
            None => Arc::new(read(output)?),
        };
        self.report = Some((report, Instant::now()));
        Ok(())
    }
}

/// Returns the answer of a job that has ended.
fn answer(jobs: &Jobs, id: JobId) -> Result<Output, String> {
    let job = jobs.job(id).ok_or("lop ended without a result")?;
    // Exit code 3 means that lop could not examine everything. The result is correct for the rest.
    if !job.has_succeeded() {
        let message = job.error.as_ref().map(|error| error.message.clone());
        return Err(message.unwrap_or_else(|| "lop ended without a result".into()));
    }
    jobs.output(id).ok_or_else(|| "lop printed no result".into())
}

fn read(output: &Output) -> Result<Report, String> {
    Report::read(output.reader())
        .map_err(|error| format!("lop printed an unexpected result: {error}"))
}
