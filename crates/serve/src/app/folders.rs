//! The equal, contained and overlapping folders, until the catalog changes. A job finds them, which can
//! take minutes.

pub(crate) mod report;

use std::sync::{Arc, Mutex, PoisonError};

use self::report::Report;
use crate::error::PageError;
use crate::jobs::{Job, JobId, JobSpec, Jobs, StartError};

/// The last comparison of folders.
#[derive(Debug, Default)]
pub(crate) struct Folders(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The job that compares, and the version of the catalog when it started.
    job: Option<(JobId, u64)>,
    /// The answer, and the version of the catalog that it is about.
    report: Option<(Arc<Report>, u64)>,
}

/// How far the comparison is.
#[derive(Debug)]
pub(crate) enum Progress {
    /// The folders have not been compared since the catalog changed.
    Idle,
    Running(Box<Job>),
    Done(Arc<Report>),
    /// The job failed for this reason.
    Failed(String),
}

impl Folders {
    /// Returns how far the comparison is. `version` is the one of the catalog.
    pub(super) fn progress(&self, jobs: &Jobs, version: u64) -> Progress {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, started)) = kept.job {
            let job = jobs.job(id);
            if let Some(job) = job.filter(|job| job.ended_ms.is_none()) {
                return Progress::Running(Box::new(job));
            }
            kept.job = None;
            match answer(jobs, id) {
                Ok(report) => kept.report = Some((Arc::new(report), started)),
                Err(reason) => return Progress::Failed(reason),
            }
        }
        let current = kept.report.as_ref().filter(|(_, about)| *about == version);
        current.map_or(Progress::Idle, |(report, _)| Progress::Done(Arc::clone(report)))
    }

    /// Starts to compare, unless that is running. `version` is the one of the catalog.
    ///
    /// # Errors
    ///
    /// Fails if another job must end first, or the job cannot be started.
    pub(super) fn start(&self, jobs: &Jobs, version: u64) -> Result<JobId, PageError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, _)) = kept.job
            && jobs.job(id).is_some_and(|job| job.ended_ms.is_none())
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
        kept.job = Some((id, version));
        Ok(id)
    }
}

/// Returns the answer of a job that has ended.
fn answer(jobs: &Jobs, id: JobId) -> Result<Report, String> {
    let job = jobs.job(id).ok_or("lop has ended without an answer")?;
    // With code 3, lop could not examine everything. The answer is right about the rest.
    if !matches!(job.exit_code, Some(0 | 3)) {
        let message = job.error.map(|error| error.message);
        return Err(message.unwrap_or_else(|| "lop has ended without an answer".into()));
    }
    let output = jobs.output(id).ok_or("lop has printed nothing")?;
    Report::read(output.reader())
        .map_err(|error| format!("lop has printed something else: {error}"))
}
