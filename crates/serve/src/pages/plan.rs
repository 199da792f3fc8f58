//! The page with the plan: the action for each file, and the button that applies the plan.
//!
//! One job makes the plan from the decisions, and another job applies it. The page shows the lines of the
//! saved plan, so only actions that the page shows can be applied.

mod export;
mod shown;

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::routing::get;
use axum::{Json, Router};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::json;

use crate::api::Answer;
use crate::app::App;
use crate::error::PageError;
use crate::frame::page;
use crate::jobs::{Action, Job, JobId, JobKind};
use crate::pages::jobs::{Done, outcome, place};
use crate::pages::review_parts::no_catalog;
use crate::quantity::counted;

/// The actions that the page offers, each with its name and what it does.
const ACTIONS: [(Action, &str, &str); 4] = [
    (
        Action::Quarantine,
        "Quarantine",
        "Moves the files to a hidden store on their disk. Undo moves the same files back. Their space is freed \
         when you empty the quarantine.",
    ),
    (
        Action::Hardlink,
        "Hard link",
        "Replaces each file with a hard link to the file that stays: both names remain, the content is stored once, \
         and a change to one is a change to both. Undo makes a copy again.",
    ),
    (
        Action::Reflink,
        "Reflink",
        "Lets the files share disk space, on file systems that support it (btrfs, XFS). They stay separate files with the \
         same content, so an undo is never needed.",
    ),
    (
        Action::Delete,
        "Delete",
        "Removes the files. Undo brings them back as copies of the files that stay, as long as those exist.",
    ),
];

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/plan", get(show))
        .route("/plan/{job}/lines", get(rows))
        .route("/plan/{job}/count", get(number))
        .route("/plan/{job}/plan.jsonl", get(export::jsonl))
        .route("/plan/{job}/plan.csv", get(export::csv))
        .route("/plan/{job}/plan.sh", get(export::script))
}

async fn show(State(app): State<Arc<App>>, done: Query<Done>) -> Result<Markup, PageError> {
    let content = app.blocking(content).await?;
    let main = html! {
        .narrow data-module="plan" {
            h1 { "Plan" }
            (outcome(&app, &done))
            (place("plan apply"))
            (content)
        }
    };
    Ok(page(&app, "Plan", "/plan", &main))
}

fn content(app: &App) -> Result<Markup, PageError> {
    if let Some(why) = no_catalog(app) {
        return Ok(html! { .empty { (why) } });
    }
    let (decisions, _) = app.decisions_now()?;
    let last = last_plan(app);
    let is_made = last.is_some();
    Ok(html! {
        @if let Some(job) = &last { (shown::plan(app, job)?) }
        @if is_made {
            details.another { summary { "Make another plan" } (form(decisions)) }
        } @else {
            (form(decisions))
        }
    })
}

/// Returns the last job that made a plan, if it succeeded.
fn last_plan(app: &App) -> Option<Arc<Job>> {
    let job = app.jobs.list().into_iter().find(|job| job.kind == JobKind::Plan)?;
    (job.has_succeeded() && app.jobs.plan(job.id).is_some()).then_some(job)
}

fn form(decisions: u64) -> Markup {
    html! {
        @if decisions == 0 {
            .note.warning {
                p { "No group is decided yet, so a plan would be empty." }
                p { "Decide which copies stay: for single " a href="/groups" { "groups" } ", or for "
                    a href="/same-folders" { "folders with the same files" } "." }
            }
        } @else {
            p {
                "The plan contains the files that your " (counted(decisions, "decision removes", "decisions remove"))
                ". Undecided groups are not in it. Making a plan changes no files."
            }
        }
        form #plan-form {
            fieldset {
                legend { "What to do with the copies that do not stay" }
                @for (action, word, text) in ACTIONS {
                    label.choice {
                        input type="radio" name="action" value=(action.word()) checked[action == Action::Quarantine];
                        span { b { (word) } br; (text) }
                    }
                }
            }
            button.primary type="submit" { "Make the plan" }
        }
    }
}

/// Which lines of a plan are asked for.
#[derive(Deserialize)]
struct Wanted {
    #[serde(default)]
    filter: String,
    #[serde(default)]
    from: u32,
    #[serde(default)]
    count: u32,
}

async fn rows(
    State(app): State<Arc<App>>,
    Path(job): Path<u64>,
    Query(wanted): Query<Wanted>,
) -> Result<Markup, PageError> {
    let rows = app.blocking(move |app| {
        let lines = app.plans.lines(JobId(job), &app.jobs)?;
        shown::rows(&lines, &wanted.filter, wanted.from, wanted.count)
            .map_err(|e| PageError::failed(&e))
    });
    rows.await
}

async fn number(
    State(app): State<Arc<App>>,
    Path(job): Path<u64>,
    Query(wanted): Query<Wanted>,
) -> Answer {
    let number = app.blocking(move |app| {
        let lines = app.plans.lines(JobId(job), &app.jobs)?;
        let found = lines.matching(&wanted.filter).map_err(|e| PageError::failed(&e))?;
        Ok(found.map_or(lines.len() as usize, |found| found.len()))
    });
    Ok(Json(json!({ "count": number.await? })))
}
