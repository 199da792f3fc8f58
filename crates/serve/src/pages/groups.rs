//! The page on which groups are reviewed: a list of groups beside the files of the chosen one.
//!
//! The script requests one listing for each filter and sort order, and then rows by rank. Ranks belong to
//! one listing, and group numbers to one revision. Requests with outdated numbers are answered with 409.

mod detail;
mod first;
mod folders;
mod live;
mod rows;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::get;
use maud::{Markup, html};
use review::{Filter, Sort};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::answer;
use crate::app::App;
use crate::app::listings::Wanted;
use crate::error::PageError;
use crate::frame::page;
use crate::pages::dialogs;
use crate::pages::review_parts::{empty, no_catalog, split, summary};

/// The terms of filters, with their meanings.
const TERMS: [(&str, &str); 9] = [
    ("word", "a part of the path"),
    ("name:*.jpg", "the name matches a pattern"),
    ("path:photos/**", "the path matches a pattern"),
    ("ext:jpg,png", "one of these extensions"),
    ("type:video", "image, video, audio, document, archive, code or other"),
    ("size:>10M", "the size; also size:<=4k and size:1M..2G"),
    ("age:>1y", "the time since the last change; units s, min, h, d, w, mo (30 days), y"),
    ("copies:>2", "the number of copies"),
    ("is:undecided", "undecided, decided or left (left alone)"),
];

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/groups", get(show))
        .route("/groups/view", get(view))
        .route("/groups/rows", get(rows))
        .route("/groups/detail", get(detail))
        .route("/groups/live", get(live))
}

/// A filter and a sort, as the address of the page contains them.
#[derive(Debug, Deserialize)]
struct Wish {
    #[serde(default)]
    filter: String,
    #[serde(default)]
    sort: String,
}

/// A range of rows.
#[derive(Debug, Deserialize)]
pub(super) struct Range {
    pub(super) view: u64,
    pub(super) from: usize,
    pub(super) n: usize,
}

/// A group, named by its number in a revision.
#[derive(Debug, Deserialize)]
struct Chosen {
    id: i64,
    revision: u64,
}

async fn show(State(app): State<Arc<App>>, Query(wish): Query<Wish>) -> Result<Markup, PageError> {
    app.blocking(move |app| Ok(shown(app, &wish))).await
}

fn shown(app: &App, wish: &Wish) -> Markup {
    let sort = Sort::parse(&wish.sort).unwrap_or_default();
    let (bar, first) = (bar(&wish.filter, sort), first::first(app, &wish.filter, sort));
    let main = html! {
        (split("groups", "Groups of identical files", &bar, 4, first.as_ref()))
        (dialogs::rules())
        dialog #decisions aria-labelledby="decisions-title" {}
    };
    page(app, "Groups", "/groups", &main)
}

fn bar(filter: &str, sort: Sort) -> Markup {
    html! {
        h1.hidden-label { "Groups of identical files" }
        form.bar #search role="search" {
            div.grow {
                label.hidden-label for="filter" { "Filter" }
                input #filter type="search" name="filter" value=(filter) autocomplete="off" spellcheck="false"
                    placeholder="Filter: photos size:>10M !backup" aria-describedby="filter-error";
            }
            button type="button" popovertarget="terms" { "Terms" }
            label.hidden-label for="sort" { "Sort" }
            select #sort name="sort" {
                @for one in Sort::ALL {
                    option value=(one.word()) selected[one == sort] { (label(one)) }
                }
            }
            button #decide-all type="button" { "Decide all shown…" }
            button #show-decisions type="button" { "Decisions…" }
        }
        div #terms.terms popover {
            p { b { "All terms must match." } " " code { "!term" } " excludes matches, quotes keep spaces." }
            dl { @for (term, meaning) in TERMS { dt { code { (term) } } dd { (meaning) } } }
        }
    }
}

fn label(sort: Sort) -> &'static str {
    match sort {
        Sort::Reclaimable => "Most reclaimable first",
        Sort::Size => "Largest files first",
        Sort::Copies => "Most copies first",
        Sort::Path => "By path",
        Sort::Newest => "Newest first",
        Sort::Oldest => "Oldest first",
    }
}

/// Answers with the number of rows that match, and the listing to ask for rows with.
async fn view(State(app): State<Arc<App>>, Query(wish): Query<Wish>) -> Response {
    answer(app.blocking(move |app| find(app, &wish)).await)
}

fn find(app: &App, wish: &Wish) -> Result<Value, PageError> {
    let filter = match Filter::parse(&wish.filter) {
        Ok(filter) => filter,
        // A filter that is being typed is no failure of the request.
        Err(error) => return Ok(json!({ "problem": error.to_string() })),
    };
    if let Some(answer) = without_catalog(app) {
        return Ok(answer);
    }
    let sort = Sort::parse(&wish.sort).unwrap_or_default();
    app.review(|loaded| {
        let wanted = Wanted::Groups(filter.clone(), sort);
        let listing = loaded.list(wanted, || loaded.review.select(&filter, sort));
        let mut answer = summary(app, loaded, &listing.order);
        answer["view"] = json!(listing.number);
        answer["count"] = json!(listing.order.len());
        if listing.order.is_empty() {
            answer["empty"] = json!(empty(loaded.review, !filter.is_empty()).into_string());
        }
        Ok(answer)
    })
}

/// Returns the answer to a request for a listing if the catalog cannot be used.
pub(super) fn without_catalog(app: &App) -> Option<Value> {
    let shown = no_catalog(app)?.into_string();
    Some(json!({ "view": 0, "revision": 0, "count": 0, "totals": "", "said": "", "empty": shown }))
}

async fn rows(
    State(app): State<Arc<App>>,
    Query(range): Query<Range>,
) -> Result<Markup, PageError> {
    app.blocking(move |app| {
        app.review(|loaded| {
            let listing = loaded.listing(range.view)?;
            Ok(rows::rows(loaded, &listing.order, range.from, range.n))
        })
    })
    .await
}

async fn detail(
    State(app): State<Arc<App>>,
    Query(chosen): Query<Chosen>,
) -> Result<Markup, PageError> {
    app.blocking(move |app| {
        app.review(|loaded| {
            loaded.check(chosen.revision)?;
            let at = loaded.review.index().at(chosen.id).ok_or_else(no_group)?;
            Ok(detail::detail(loaded.review, at, app.changes.last()))
        })
    })
    .await
}

async fn live(State(app): State<Arc<App>>, Query(chosen): Query<Chosen>) -> Response {
    let remembered = app.blocking(move |app| {
        app.review(|loaded| {
            loaded.check(chosen.revision)?;
            let index = loaded.review.index();
            let at = index.at(chosen.id).ok_or_else(no_group)?;
            Ok((index.group(at).size, index.members(at)))
        })
    });
    match remembered.await {
        Ok((size, members)) => answer(Ok(live::check(&app.disks, size, members).await)),
        Err(error) => answer(Err(error)),
    }
}

pub(in crate::pages) use self::rows::MOST_ROWS;

pub(super) fn no_group() -> PageError {
    PageError::not_found("This group is no longer in the catalog")
}
