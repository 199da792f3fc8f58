//! Describes the outcome of a job for the user.

use axum::extract::Query;
use maud::{Markup, html};
use serde::Deserialize;

use crate::app::App;
use crate::jobs::{Action, Job, JobId, JobKind};
use crate::quantity::{count, counted, files, size};

/// Number of messages that are shown before the user unfolds the others.
const FEW: usize = 5;

/// Exit code of a command that left something out.
const PARTIAL: i32 = 3;

/// The query of a page that is loaded after a job ended.
#[derive(Debug, Default, Deserialize)]
pub(in crate::pages) struct Done {
    /// The job.
    #[serde(default)]
    done: String,
}

/// Returns the name of a kind of job.
pub(in crate::pages) fn title(kind: JobKind) -> &'static str {
    match kind {
        JobKind::Scan => "The scan",
        JobKind::Plan => "Making the plan",
        JobKind::Apply => "Applying the plan",
        JobKind::Undo => "The undo",
        JobKind::Restore => "Restoring from quarantine",
        JobKind::Purge => "Removing from quarantine",
        JobKind::Folders => "Comparing the folders",
    }
}

/// Returns the outcome of the job that the query names, or nothing if it is unknown or still running.
pub(in crate::pages) fn outcome(app: &App, Query(Done { done }): &Query<Done>) -> Markup {
    let job = done.parse().ok().and_then(|id| app.jobs.job(JobId(id)));
    let Some(job) = job.filter(|job| !job.is_running()) else { return html! {} };
    let class = class(&job);
    html! {
        section #outcome.note.(class) tabindex="-1" aria-labelledby="outcome-title" {
            h2 #outcome-title { (heading(&job)) }
            @if let Some(error) = job.error.as_ref().filter(|_| class == "error") { p { (error.message) } }
            (facts(app, &job))
            // The page of a plan lists them below the plan.
            @if job.kind != JobKind::Plan || class == "error" { (messages(&job)) }
        }
    }
}

/// Returns the class of the note, which determines its colour.
fn class(job: &Job) -> &'static str {
    match job.exit_code {
        Some(0) => "ok",
        Some(PARTIAL) => "warning",
        _ if job.cancelled => "warning",
        _ => "error",
    }
}

fn heading(job: &Job) -> String {
    let title = title(job.kind);
    if job.has_succeeded() {
        let done = done(job.kind);
        return if job.exit_code == Some(PARTIAL) {
            format!("{done}, with exceptions")
        } else {
            done.into()
        };
    }
    let how = match (job.cancelled, job.signal) {
        (true, _) => "was cancelled",
        (false, Some(_)) => "was killed",
        (false, None) => "failed",
    };
    format!("{title} {how}")
}

/// Returns what a job of a kind has achieved.
fn done(kind: JobKind) -> &'static str {
    match kind {
        JobKind::Scan => "Scan complete",
        JobKind::Plan => "Plan made",
        JobKind::Apply => "Plan applied",
        JobKind::Undo => "Undo complete",
        JobKind::Restore => "Files restored from quarantine",
        JobKind::Purge => "Files removed from quarantine",
        JobKind::Folders => "Folders compared",
    }
}

/// Returns what a run has done to its files. The action is unknown if the plan was dropped.
fn done_to_files(action: Option<Action>) -> &'static str {
    match action {
        Some(Action::Quarantine) => "moved to quarantine",
        Some(Action::Hardlink) => "replaced with hard links",
        Some(Action::Symlink) => "replaced with symbolic links",
        Some(Action::Reflink) => "made to share disk space",
        Some(Action::Delete) => "deleted",
        None => "done",
    }
}

fn facts(app: &App, job: &Job) -> Markup {
    let number = |key| job.summary(key);
    let some = |key| number(key).filter(|&number| number > 0);
    let run = number("run");
    html! {
        @match job.kind {
            JobKind::Scan => @if let (Some(all), Some(bytes)) = (number("files"), number("bytes")) {
                p {
                    (files(all)) ", " (size(bytes)) ". "
                    @if let (Some(groups), Some(bytes)) = (some("groups"), number("reclaimable_bytes")) {
                        (counted(groups, "group", "groups")) " of identical files, "
                        (size(bytes)) " can be reclaimed. " a href="/groups" { "Review the groups" }
                    } @else { "No identical files were found." }
                }
            },
            JobKind::Apply => {
                @if let Some(done) = number("done") {
                    p {
                        b { (files(done)) " " (done_to_files(app.plans.action_of(job.id))) }
                        @if let Some(bytes) = some("freed_bytes") { ", " (size(bytes)) " freed" }
                        @if let Some(already) = some("already") { ", " (count(already)) " already done" }
                        @if let Some(failed) = some("failed") { ", " b.warn { (count(failed)) " left alone" } }
                        "."
                    }
                }
                @if let Some(run) = run {
                    p { a.button href=(format!("/runs/{run}")) {
                        "Show run " (run) @if some("done").is_some() { " and undo it" }
                    } }
                }
            },
            JobKind::Undo | JobKind::Restore => @if let Some(restored) = number("restored") {
                p {
                    b { (files(restored)) " restored" }
                    @if let Some(failed) = some("failed") { ", " b.warn { (count(failed)) " could not be" } }
                    @if let Some(other) = some("other_owner") {
                        ", " (count(other)) " with another owner or group than before"
                    }
                    "."
                }
            },
            JobKind::Purge => @if let Some(purged) = number("purged") {
                p {
                    b { (files(purged)) " removed for good" }
                    @if let Some(bytes) = some("freed_bytes") { ", " (size(bytes)) " freed" }
                    @if let Some(failed) = some("failed") { ", " b.warn { (count(failed)) " stay" } }
                    "."
                }
            },
            JobKind::Plan | JobKind::Folders => {}
        }
    }
}

/// Returns the messages that lop printed about single files. They are escaped for a terminal.
pub(in crate::pages) fn messages(job: &Job) -> Markup {
    let (few, more) = job.messages.split_at(job.messages.len().min(FEW));
    let hidden = job.messages_total.saturating_sub(job.messages.len() as u64);
    html! {
        @if !few.is_empty() {
            ul.messages { @for line in few { li { bdi { (line) } } } }
            @if !more.is_empty() {
                details {
                    summary { (counted(more.len() as u64, "more message", "more messages")) }
                    ul.messages { @for line in more { li { bdi { (line) } } } }
                    @if hidden > 0 {
                        p.dim {
                            (counted(hidden, "further message is", "further messages are")) " not shown here."
                            @if let Some(run) = job.summary("run").filter(|_| job.kind == JobKind::Apply) {
                                " " a href=(format!("/runs/{run}/files.csv")) { "Save the result of every file" } "."
                            }
                        }
                    }
                }
            }
        }
    }
}
