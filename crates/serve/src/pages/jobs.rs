//! Starts, shows and cancels jobs. Pages get the progress of a job from `/events` and its outcome from
//! `/api/jobs/ID`. A job does not depend on any page.

mod events;
mod outcome;

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) use self::outcome::{Done, messages, outcome, title};
use crate::api::{Answer, read};
use crate::app::App;
use crate::app::plans::no_plan;
use crate::error::PageError;
use crate::jobs::{Action, Job, JobId, JobSpec, StartError};

/// Maximum number of days after which files are removed from quarantine.
const MAX_DAYS: u64 = 36_500;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/events", get(events::stream))
        .route("/api/jobs", get(list))
        .route("/api/jobs/{id}", get(one))
        .route("/api/jobs/{id}/cancel", post(cancel))
        .route("/api/scan", post(scan))
        .route("/api/plan", post(plan))
        .route("/api/apply", post(apply))
        .route("/api/undo", post(undo))
        .route("/api/restore", post(restore))
        .route("/api/purge", post(purge))
}

/// Returns the place where the script shows running jobs. The page is loaded again when a job of one of
/// `kinds`, separated by spaces, ends.
pub(super) fn place(kinds: &str) -> Markup {
    html! { section #jobs data-kinds=(kinds) aria-label="Running work" {} }
}

async fn list(State(app): State<Arc<App>>) -> Answer {
    let jobs = app.blocking(|app| {
        let jobs = app.jobs.list();
        Ok(json!({ "jobs": jobs.iter().map(|job| &**job).collect::<Vec<&Job>>() }))
    });
    Ok(Json(jobs.await?))
}

async fn one(State(app): State<Arc<App>>, Path(id): Path<u64>) -> Answer {
    let job = app.jobs.job(JobId(id)).ok_or_else(unknown)?;
    let title = title(job.kind);
    Ok(Json(json!({ "title": title, "job": *job })))
}

async fn cancel(State(app): State<Arc<App>>, Path(id): Path<u64>) -> Answer {
    app.jobs.job(JobId(id)).ok_or_else(unknown)?;
    Ok(Json(json!({ "cancelled": app.jobs.cancel(JobId(id)) })))
}

fn unknown() -> PageError {
    PageError::not_found("lop serve does not remember this job")
}

/// Which folders to scan.
#[derive(Deserialize)]
struct ScanRequest {
    /// Folders that were scanned before, as hexadecimal digits of their bytes.
    #[serde(default)]
    roots: Vec<String>,
    /// A folder that the user typed.
    #[serde(default)]
    path: String,
}

async fn scan(State(app): State<Arc<App>>, body: Bytes) -> Answer {
    let request: ScanRequest = read(&body)?;
    let typed = request.path.trim().to_owned();
    let typed = if typed.is_empty() { None } else { Some(app.on_disk(0, || folder(typed)).await?) };
    let job = app.blocking(move |app| {
        let mut paths = known(app, &request.roots)?;
        paths.extend(typed);
        if paths.is_empty() {
            return Err(PageError::bad_request("Choose a folder to scan"));
        }
        start(app, JobSpec::Scan { paths })
    });
    Ok(started(job.await?))
}

/// Returns the folders with these keys, if all of them were scanned before.
fn known(app: &App, keys: &[String]) -> Result<Vec<PathBuf>, PageError> {
    let known = if keys.is_empty() { Vec::new() } else { app.summary()?.root_paths() };
    let path = |key: &String| {
        let path = known.iter().find(|path| hex(path) == *key);
        let path = path.ok_or_else(|| {
            PageError::conflict(
                "One of the folders is no longer in the catalog",
                "Reload the page.",
            )
        })?;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(path.clone())))
    };
    keys.iter().map(path).collect()
}

/// Returns the folder that the user typed.
fn folder(typed: String) -> Result<PathBuf, PageError> {
    if !typed.starts_with('/') {
        return Err(PageError::bad_request("Type the full path of the folder, starting with /"));
    }
    match std::fs::metadata(&typed) {
        Ok(meta) if meta.is_dir() => Ok(PathBuf::from(typed)),
        Ok(_) => Err(PageError::bad_request("This path is not a folder")),
        Err(e) => {
            let why = fsops::io_text(&e);
            Err(PageError::bad_request(format!("The folder cannot be opened: {why}")))
        }
    }
}

/// Returns bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[derive(Deserialize)]
struct PlanRequest {
    action: Action,
}

async fn plan(State(app): State<Arc<App>>, body: Bytes) -> Answer {
    let PlanRequest { action } = read(&body)?;
    let job = app.blocking(move |app| {
        // Read first: a change that is made meanwhile is then at worst called a later one.
        let basis = app.plan_basis()?;
        let job = start(app, JobSpec::Plan { action })?;
        app.plans.begin(job, action, basis);
        Ok(job)
    });
    Ok(started(job.await?))
}

#[derive(Deserialize)]
struct ApplyRequest {
    plan: u64,
}

async fn apply(State(app): State<Arc<App>>, body: Bytes) -> Answer {
    app.check_actions()?;
    let plan = JobId(read::<ApplyRequest>(&body)?.plan);
    let job = app.blocking(move |app| {
        app.plans.check_unapplied(plan, &app.jobs)?;
        app.plans.check_current(plan, || app.plan_basis())?;
        let job = start(app, JobSpec::Apply { plan })?;
        app.plans.applied(plan, job);
        Ok(job)
    });
    Ok(started(job.await?))
}

#[derive(Deserialize)]
struct UndoRequest {
    run: u64,
}

async fn undo(State(app): State<Arc<App>>, body: Bytes) -> Answer {
    app.check_actions()?;
    let UndoRequest { run } = read(&body)?;
    Ok(started(app.blocking(move |app| start(app, JobSpec::Undo { run })).await?))
}

async fn restore(State(app): State<Arc<App>>) -> Answer {
    app.check_actions()?;
    Ok(started(app.blocking(|app| start(app, JobSpec::Restore)).await?))
}

#[derive(Deserialize)]
struct PurgeRequest {
    days: u64,
}

async fn purge(State(app): State<Arc<App>>, body: Bytes) -> Answer {
    app.check_actions()?;
    let PurgeRequest { days } = read(&body)?;
    if days > MAX_DAYS {
        return Err(PageError::bad_request("This is more than a hundred years"));
    }
    let spec = JobSpec::PurgeQuarantine { older_than_seconds: days * 86_400 };
    Ok(started(app.blocking(|app| start(app, spec)).await?))
}

fn started(job: JobId) -> Json<Value> {
    Json(json!({ "job": job }))
}

fn start(app: &App, spec: JobSpec) -> Result<JobId, PageError> {
    app.jobs.start(spec).map_err(|error| match error {
        StartError::Busy(other) => {
            let running = app.jobs.job(other).map_or("Other work", |job| title(job.kind));
            let advice = "Wait until it has ended, or cancel it first.";
            PageError::conflict(format!("{running} is still running"), advice).with_link("/runs")
        }
        StartError::NoPlan(_) => no_plan(),
        StartError::ShutDown => PageError::conflict("lop serve is stopping", ""),
        error @ StartError::Spawn(_) => PageError::failed(&error),
    })
}
