//! The page with equal, contained and overlapping folders. `lop report --dirs` finds them, as a job.
//!
//! The answer is kept until the catalog changes, because finding it can take minutes.

mod report;
mod shown;

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use maud::Markup;
use serde_json::json;

use self::report::Report;
use self::shown::Choices;
use crate::app::App;
use crate::error::PageError;
use crate::jobs::{Job, JobId, JobSpec, StartError};
use crate::layout::page;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/folders", get(show))
        .route("/folders/state", get(state))
        .route("/api/folders", post(start))
}

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
enum Progress {
    /// The folders have not been compared since the catalog changed.
    Idle,
    Running(Box<Job>),
    Done(Arc<Report>),
    /// The job failed for this reason.
    Failed(String),
}

impl Folders {
    fn progress(&self, app: &App) -> Result<Progress, PageError> {
        let version = app.catalog_version()?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, started)) = kept.job {
            let job = app.jobs.job(id);
            if let Some(job) = job.filter(|job| job.ended_ms.is_none()) {
                return Ok(Progress::Running(Box::new(job)));
            }
            kept.job = None;
            match answer(app, id) {
                Ok(report) => kept.report = Some((Arc::new(report), started)),
                Err(reason) => return Ok(Progress::Failed(reason)),
            }
        }
        let current = kept.report.as_ref().filter(|(_, about)| *about == version);
        Ok(current.map_or(Progress::Idle, |(report, _)| Progress::Done(Arc::clone(report))))
    }

    fn start(&self, app: &App) -> Result<JobId, PageError> {
        let version = app.catalog_version()?;
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, _)) = kept.job
            && app.jobs.job(id).is_some_and(|job| job.ended_ms.is_none())
        {
            return Ok(id);
        }
        let id = app.jobs.start(JobSpec::Folders).map_err(|error| match error {
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
fn answer(app: &App, id: JobId) -> Result<Report, String> {
    let job = app.jobs.job(id).ok_or("lop has ended without an answer")?;
    // With code 3, lop could not examine everything. The answer is right about the rest.
    if !matches!(job.exit_code, Some(0 | 3)) {
        let message = job.error.map(|error| error.message);
        return Err(message.unwrap_or_else(|| "lop has ended without an answer".into()));
    }
    let output = app.jobs.output(id).ok_or("lop has printed nothing")?;
    Report::read(output.reader())
        .map_err(|error| format!("lop has printed something else: {error}"))
}

async fn show(State(app): State<Arc<App>>) -> Result<Markup, PageError> {
    app.blocking(|app| {
        let progress = app.folders.progress(app)?;
        let choices = match &progress {
            Progress::Done(report) => {
                app.review(|loaded| Ok(Choices::find(report, loaded.review, loaded.revision)))?
            }
            _ => Choices::default(),
        };
        Ok(page(app, "Folders", "/folders", &shown::main(&progress, &choices)))
    })
    .await
}

async fn state(State(app): State<Arc<App>>) -> Response {
    let state = app.blocking(|app| {
        Ok(match app.folders.progress(app)? {
            Progress::Idle => json!({ "state": "idle" }),
            Progress::Done(_) => json!({ "state": "done" }),
            Progress::Failed(reason) => json!({ "state": "failed", "text": reason }),
            Progress::Running(job) => json!({ "state": "running", "text": shown::running(&job) }),
        })
    });
    state.await.map_or_else(PageError::into_json, |state| Json(state).into_response())
}

async fn start(State(app): State<Arc<App>>) -> Response {
    let started = app.blocking(|app| app.folders.start(app)).await;
    started.map_or_else(PageError::into_json, |id| Json(json!({ "job": id })).into_response())
}

#[cfg(test)]
mod tests;
