//! The page with the folder sets. One decision settles all groups of a set.

mod detail;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use review::{Needle, Review};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::answer;
use crate::app::App;
use crate::app::listings::Wanted;
use crate::app::reviews::Loaded;
use crate::error::PageError;
use crate::frame::page;
use crate::layout::name;
use crate::pages::dialogs;
use crate::pages::groups::MOST_ROWS;
use crate::pages::groups::{Range, without_catalog};
use crate::pages::review_parts::{empty, split, summary};
use crate::quantity::{count, counted, size};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/same-folders", get(show))
        .route("/same-folders/view", get(view))
        .route("/same-folders/rows", get(rows))
        .route("/same-folders/detail", get(detail))
}

#[derive(Debug, Deserialize)]
struct Wish {
    #[serde(default)]
    filter: String,
}

/// A set, named by its number in a revision.
#[derive(Debug, Deserialize)]
struct Chosen {
    id: u32,
    revision: u64,
}

async fn show(State(app): State<Arc<App>>, Query(wish): Query<Wish>) -> Markup {
    let bar = html! {
        h1.hidden-label { "Folders with the same files" }
        form.bar #search role="search" {
            div.grow {
                label.hidden-label for="filter" { "Part of a path" }
                input #filter type="search" name="filter" value=(wish.filter) autocomplete="off"
                    spellcheck="false" placeholder="Part of a path" aria-describedby="filter-error";
            }
            button #show-decisions type="button" { "Decisions…" }
        }
    };
    let main = html! {
        (split("folder-sets", "Folder sets", &bar, 4, None))
        (dialogs::rules())
        dialog #decisions aria-labelledby="decisions-title" {}
    };
    page(&app, "Same folders", "/same-folders", &main)
}

async fn view(State(app): State<Arc<App>>, Query(wish): Query<Wish>) -> Response {
    answer(app.blocking(move |app| find(app, wish.filter.trim())).await)
}

fn find(app: &App, text: &str) -> Result<Value, PageError> {
    if let Some(answer) = without_catalog(app) {
        return Ok(answer);
    }
    app.review(|loaded| {
        let listing = loaded.list(Wanted::Sets(text.to_owned()), || matching(loaded.review, text));
        let mut answer = summary(app, loaded, &listing.groups(loaded.review));
        answer["view"] = json!(listing.number);
        answer["count"] = json!(listing.order.len());
        if listing.order.is_empty() {
            answer["empty"] = json!(empty(loaded.review, !text.is_empty()).into_string());
        }
        Ok(answer)
    })
}

/// Returns the sets of which some folder contains the text, in any case of ASCII letters.
fn matching(review: &Review, text: &str) -> Vec<u32> {
    let all = 0..review.sets().len();
    if text.is_empty() {
        return all.collect();
    }
    let wanted = Needle::new(text.as_bytes());
    let set = |set| review.sets().set(review.index(), set);
    all.filter(|&at| set(at).folders.iter().any(|folder| wanted.is_in(&folder.path))).collect()
}

async fn rows(
    State(app): State<Arc<App>>,
    Query(range): Query<Range>,
) -> Result<Markup, PageError> {
    app.blocking(move |app| {
        app.review(|loaded| {
            let listing = loaded.listing(range.view)?;
            let end = range.from.saturating_add(range.n.min(MOST_ROWS)).min(listing.order.len());
            let ranks = range.from..end;
            Ok(html! { @for rank in ranks { (row(loaded, listing.order[rank], rank)) } })
        })
    })
    .await
}

fn row(loaded: Loaded<'_>, at: u32, rank: usize) -> Markup {
    let set = loaded.review.sets().set(loaded.review.index(), at);
    html! {
        div.row #{ "row-" (rank) } role="row" aria-rowindex=(rank + 1) data-rank=(rank) data-id=(at) {
            span.num role="gridcell" { b { (size(set.reclaimable)) } }
            span.below.dim role="gridcell" { (counted(set.groups.into(), "group", "groups")) }
            span role="gridcell" {
                @match set.folders.as_slice() {
                    [] => {}
                    [only] => { span.path { (name(&only.path)) } span.where { "in one folder" } }
                    [first, second] => {
                        span.path { (name(&first.path)) } span.where { span.path { (name(&second.path)) } }
                    }
                    [first, second, others @ ..] => {
                        span.path { (name(&first.path)) }
                        span.where {
                            span.path { (name(&second.path)) }
                            span.few { "and " (count(others.len() as u64)) " more" }
                        }
                    }
                }
            }
            span role="gridcell" { (state(loaded.review, at)) }
        }
    }
}

/// Returns how many groups of a set are decided.
fn state(review: &Review, set: u32) -> Markup {
    let groups = review.sets().groups_of(set);
    let totals = review.totals(groups);
    html! {
        @if totals.undecided == totals.groups { span.state.undecided { "undecided" } }
        @else if totals.left == totals.groups { span.state.left { "left alone" } }
        @else if totals.undecided > 0 {
            span.state { (count(totals.groups - totals.undecided)) " of " (count(totals.groups)) }
        }
        @else { span.state.remove { "remove " (count(totals.removes)) } }
    }
}

async fn detail(
    State(app): State<Arc<App>>,
    Query(chosen): Query<Chosen>,
) -> Result<Markup, PageError> {
    app.blocking(move |app| {
        app.review(|loaded| {
            loaded.check(chosen.revision)?;
            if chosen.id >= loaded.review.sets().len() {
                return Err(no_set());
            }
            Ok(detail::detail(loaded.review, chosen.id, app.changes.last()))
        })
    })
    .await
}

pub(super) fn no_set() -> PageError {
    PageError::not_found("This folder set does not exist")
}

#[cfg(test)]
mod tests;
