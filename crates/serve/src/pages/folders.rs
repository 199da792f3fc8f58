//! The page with equal, contained and overlapping folders. `lop report --dirs` finds them, as a job.
//!
//! The result is kept until the catalog changes, because computing it can take minutes.

mod shown;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use maud::{Markup, html};
use serde_json::json;

use self::shown::Choices;
use crate::api::answer;
use crate::app::App;
use crate::app::folders::Progress;
use crate::error::PageError;
use crate::frame::page;
use crate::pages::review_parts::no_catalog;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/folders", get(show))
        .route("/folders/state", get(state))
        .route("/api/folders", post(start))
}

async fn show(State(app): State<Arc<App>>) -> Result<Markup, PageError> {
    app.blocking(|app| {
        let main = match no_catalog(app) {
            Some(why) => html! { div.empty { (why) } },
            None => content(app)?,
        };
        Ok(page(app, "Compare folders", "/folders", &main))
    })
    .await
}

fn content(app: &App) -> Result<Markup, PageError> {
    let progress = app.related_folders()?;
    let choices = match &progress {
        Progress::Done(report) => app.review(|loaded| {
            let seen = app.changes.last();
            Ok(Choices::find(report, loaded.review, loaded.revision, seen))
        })?,
        _ => Choices::default(),
    };
    Ok(shown::main(&progress, &choices))
}

async fn state(State(app): State<Arc<App>>) -> Response {
    let state = app.blocking(|app| {
        let progress = app.related_folders()?;
        let mut answer = json!({ "state": progress.word() });
        match &progress {
            Progress::Idle | Progress::Done(_) => {}
            Progress::Failed(reason) => answer["text"] = json!(reason),
            Progress::Running(job) => answer["text"] = json!(shown::running(job)),
        }
        Ok(answer)
    });
    answer(state.await)
}

async fn start(State(app): State<Arc<App>>) -> Response {
    let started = app.blocking(App::compare_folders).await;
    answer(started.map(|id| json!({ "job": id })))
}

#[cfg(test)]
mod tests;
