//! The page with all runs, as recorded in the journals.
//!
//! The page does not depend on the jobs of this server. It also shows runs that were started in a terminal, and
//! can undo them.

mod one;

use std::sync::Arc;

use action::run::{RunSummary, Runs};
use action::trash::TrashSummary;
use axum::Router;
use axum::extract::{Query, State};
use axum::routing::get;
use maud::{Markup, html};

use crate::app::App;
use crate::error::PageError;
use crate::frame::page;
use crate::layout::name;
use crate::pages::jobs::{Done, outcome, place};
use crate::quantity::{count, counted, size, time};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/runs", get(show))
        .route("/runs/{run}", get(one::show))
        .route("/runs/{run}/undo", get(one::preview))
        .route("/runs/{run}/files.csv", get(one::csv))
}

impl From<action::Error> for PageError {
    fn from(error: action::Error) -> PageError {
        match error {
            action::Error::NoRun(_) => PageError::not_found(error.to_string()),
            action::Error::WasPurge(_)
            | action::Error::NothingToRestore { .. }
            | action::Error::NothingToUndo => PageError::conflict(error.to_string(), ""),
            _ => PageError::failed(&error),
        }
    }
}

async fn show(State(app): State<Arc<App>>, done: Query<Done>) -> Result<Markup, PageError> {
    let content = app.blocking(content).await?;
    let main = html! {
        .narrow data-module="runs" {
            h1 { "Runs" }
            (outcome(&app, &done))
            (place("apply undo restore purge"))
            (content)
        }
    };
    Ok(page(&app, "Runs", "/runs", &main))
}

fn content(app: &App) -> Result<Markup, PageError> {
    let folder = app.runs_dir();
    let first_that_may_run = Runs::first_that_may_run(&folder)?;
    let mut runs = Runs::list(&folder)?;
    runs.reverse();
    let mut trees = TrashSummary::list(&folder)?;
    trees.reverse();
    let process = Runs::process(&folder);
    let unreadable: Vec<String> = runs
        .iter()
        .filter_map(|run| run.as_ref().err())
        .chain(trees.iter().filter_map(|run| run.as_ref().err()))
        .map(ToString::to_string)
        .collect();
    Ok(html! {
        @if let Some(process) = process {
            .note { p {
                "lop is changing files right now" @if process > 0 { " (process " (process) ")" } ". "
                "Another run waits until it is done."
            } }
        }
        @if !unreadable.is_empty() {
            .note.warning {
                p { (counted(unreadable.len() as u64, "journal", "journals")) " could not be read:" }
                ul.messages { @for why in unreadable.iter().take(20) { li { (why) } } }
            }
        }
        @if runs.is_empty() {
            .empty {
                h2 { "No run yet" }
                p { "When a plan is applied, the run appears here, and can be undone." }
                p { a.button href="/plan" { "Go to the plan" } }
            }
        } @else {
            (run_table(&runs, first_that_may_run))
        }
        (tree_table(&trees))
    })
}

fn run_table(runs: &[Result<RunSummary, action::Error>], first_that_may_run: u64) -> Markup {
    html! {
        .scroll {
            table.runs {
                thead { tr {
                    th scope="col" { "Run" }
                    th scope="col" { "Began" }
                    th scope="col" { "What" }
                    th.num scope="col" { "Files" }
                    th.num.optional scope="col" { "Freed" }
                    th.num scope="col" { "Left alone" }
                    th scope="col" { "State" }
                } }
                tbody {
                    @for run in runs.iter().flatten() {
                        (run_row(run, run.may_run(first_that_may_run)))
                    }
                }
            }
        }
    }
}

fn run_row(run: &RunSummary, may_run: bool) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(format!("/runs/{}", run.run)) { "Run " (run.run) } }
            td { (time(run.started_ms)) }
            td { (run.kind.word()) }
            td.num { (count(run.done)) }
            td.num.optional { @if run.freed > 0 { (size(run.freed)) } }
            td.num { @if run.failed > 0 { span.warn { (count(run.failed)) } } }
            td { (state(run, may_run)) }
        }
    }
}

/// Returns the state of a run in a few words. `may_run` tells whether the run may still be in progress.
fn state(run: &RunSummary, may_run: bool) -> Markup {
    let back = run.undone + run.purged;
    html! {
        @if run.ended_ms.is_none() {
            @if may_run { span.state { "may be running" } } @else { span.state.warn { "interrupted" } } " "
        }
        @if run.undone > 0 {
            @if run.undone == run.done { span.state { "undone" } } @else { span.state { (count(run.undone)) " undone" } } " "
        }
        @if run.purged > 0 { span.state { (count(run.purged)) " removed for good" } " " }
        @if run.ended_ms.is_some() && run.done > 0 && back == 0 { span.dim { "done" } }
        @if run.damaged > 0 { span.state.warn { (counted(run.damaged, "line of its journal damaged", "lines of its journal damaged")) } }
    }
}

/// Returns the trees that `lop purge --instant` removes in the background.
fn tree_table(trees: &[Result<TrashSummary, action::Error>]) -> Markup {
    html! {
        @if trees.iter().any(Result::is_ok) {
            h2 { "Trees removed by lop purge --instant" }
            p.dim { "These trees were moved aside at once and are removed in the background. They cannot be restored." }
            .scroll {
                table {
                    thead { tr {
                        th scope="col" { "Run" }
                        th scope="col" { "Began" }
                        th scope="col" { "Trees" }
                        th.num scope="col" { "Entries gone" }
                        th scope="col" { "State" }
                    } }
                    tbody { @for run in trees.iter().flatten() { (tree_row(run)) } }
                }
            }
        }
    }
}

fn tree_row(run: &TrashSummary) -> Markup {
    const FEW: usize = 5;
    html! {
        tr {
            th scope="row" { "Run " (run.run) }
            td { (time(run.started_ms)) }
            td {
                @for tree in run.trees.iter().take(FEW) { div { (name(tree)) } }
                @if run.trees.len() > FEW { div.dim { "and " (count((run.trees.len() - FEW) as u64)) " more" } }
            }
            td.num { (count(run.entries)) }
            td {
                @if run.ended_ms.is_some() { span.dim { "done" } }
                @else if let Some(process) = run.process { span.state { "process " (process) " is removing them" } }
                @else { span.state.warn { "not finished" } " " small { "lop purge --resume continues" } }
                @if run.failed > 0 { " " span.warn { (count(run.failed)) " could not be removed" } }
            }
        }
    }
}

#[cfg(test)]
mod tests;
