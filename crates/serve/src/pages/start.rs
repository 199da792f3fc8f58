//! The start page: what is in the catalog, and what can be won.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use maud::{Markup, html};

use crate::app::App;
use crate::layout::page;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/", get(show))
}

async fn show(State(app): State<Arc<App>>) -> Markup {
    page(&app, "Start", "/", &html! { h1 { "lop" } })
}
