//! The pages, one module each, and their routes.

mod changed;
mod decide;
mod dialogs;
pub(crate) mod file;
mod folders;
mod groups;
mod groups_link;
mod jobs;
#[cfg(test)]
mod matrix;
mod plan;
mod quarantine;
mod review_parts;
#[cfg(test)]
mod review_tests;
mod runs;
mod same_folders;
mod space;
mod start;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;

use crate::app::App;
use crate::assets;
use crate::error::PageError;

/// Returns the routes of all pages.
pub(crate) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/assets/{version}/{name}", get(assets::get))
        .merge(file::routes())
        .merge(folders::routes())
        .merge(space::routes())
        .merge(decide::routes())
        .merge(dialogs::routes())
        .merge(groups::routes())
        .merge(same_folders::routes())
        .merge(start::routes())
        .merge(changed::routes())
        .merge(jobs::routes())
        .merge(plan::routes())
        .merge(runs::routes())
        .merge(quarantine::routes())
        .fallback(async || PageError::not_found("This page does not exist"))
}

#[cfg(test)]
mod tests;
