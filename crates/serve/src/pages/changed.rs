//! The page with the changes since the last scans, and the note about them on the start page. `lop watch`
//! notes the changes. If it does not run, the changes are unknown.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use catalog::{ScannedRoot, has_typed_options};
use maud::{Markup, html};
use serde_json::json;
use watch::{ChangedDir, Entries, Unknown, Unseen};

use crate::api::Answer;
use crate::app::App;
use crate::app::watching::News;
use crate::error::PageError;
use crate::frame::page;
use crate::layout::name;
use crate::pages::jobs::{Done, hex, outcome, place};
use crate::pages::review_parts::no_catalog;
use crate::quantity::{count, counted};

/// Maximum number of names that the page shows for a folder.
const MAX_NAMES: usize = 12;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/changed", get(show)).route("/api/news", get(news))
}

/// Answers with the version of the catalog and the changes since the last scans. Pages send this request from
/// time to time. A catalog that is missing or cannot be used has the version 0, so a page notices when it becomes
/// usable.
async fn news(State(app): State<Arc<App>>) -> Answer {
    let catalog = app.blocking(App::catalog_version).await.unwrap_or(0);
    let news = app.news().await.unwrap_or(News::NoWatcher);
    let (watcher, unseen) = match &news {
        News::NoWatcher => ("none", None),
        News::Silent(_) => ("silent", None),
        News::Unseen(unseen) => ("running", Some(unseen)),
    };
    Ok(Json(json!({
        "catalog": catalog,
        "watcher": watcher,
        "changed_entries": unseen.map(|unseen| unseen.counts.entries),
        "changed_dirs": unseen.map(|unseen| unseen.counts.dirs),
        "is_at_least": unseen.map(|unseen| unseen.is_at_least),
        "unknown_dirs": unseen.map(|unseen| unseen.unknown.len()),
        "text": text(&news),
    })))
}

/// Returns the text of the note on the start page, or `None` if no watcher runs.
fn text(news: &News) -> Option<String> {
    let unseen = match news {
        News::NoWatcher => return None,
        News::Silent(why) => {
            return Some(format!("The changes since the last scan are unknown: {why}."));
        }
        News::Unseen(unseen) => unseen,
    };
    let entries = counted(unseen.counts.entries, "entry", "entries");
    let dirs = counted(unseen.counts.dirs, "folder", "folders");
    let have = if unseen.counts.entries == 1 { "has" } else { "have" };
    let unknown = counted(unseen.unknown.len() as u64, "folder", "folders");
    Some(match (unseen.counts.entries, unseen.unknown.is_empty()) {
        (0, true) => "Nothing has changed since the last scan.".into(),
        (0, false) => format!("The changes in {unknown} since the last scan are unknown."),
        (_, is_known) => {
            let at_least = if unseen.is_at_least { "At least " } else { "" };
            let rest = if is_known {
                String::new()
            } else {
                format!(" The changes in {unknown} are unknown.")
            };
            format!("{at_least}{entries} in {dirs} {have} changed since the last scan.{rest}")
        }
    })
}

/// Returns the note on the start page. The script keeps it up to date.
pub(super) fn note(news: &News, roots: &[ScannedRoot]) -> Markup {
    let text = text(news);
    html! {
        div #changed.note hidden[text.is_none()] {
            span.text { (text.unwrap_or_default()) }
            a href="/changed" { "Show the changes" }
            (scan_button(news, roots))
        }
    }
}

/// Returns the button that scans folders again. It scans the folders whose changes are known, because such a scan
/// is fast, or all folders if there are none. It leaves out folders whose last scan had typed options, because the
/// user has to repeat such a scan.
fn scan_button(news: &News, roots: &[ScannedRoot]) -> Markup {
    let is_known = |root: &&ScannedRoot| match news {
        News::Unseen(unseen) => unseen.unknown.iter().all(|(path, _)| *path != root.path),
        _ => false,
    };
    let usual = roots.iter().filter(|root| !has_typed_options(&root.options));
    let known: Vec<_> = usual.clone().filter(is_known).collect();
    let roots = if known.is_empty() { usual.collect() } else { known };
    html! {
        @if !roots.is_empty() {
            form.scan {
                @for root in roots { input type="hidden" name="root" value=(hex(&root.path)); }
                button type="submit" { "Scan now" }
            }
        }
    }
}

async fn show(
    State(app): State<Arc<App>>,
    done: axum::extract::Query<Done>,
) -> Result<Markup, PageError> {
    let missing = app.blocking(|app| Ok(no_catalog(app))).await?;
    let content = if let Some(why) = missing {
        html! { div.empty { (why) } }
    } else {
        let (news, summary) = (app.news().await?, app.blocking(App::summary).await?);
        content(&news, &summary.overview.roots)
    };
    let main = html! {
        .narrow data-module="start" {
            (outcome(&app, &done))
            (place("scan"))
            (content)
        }
    };
    Ok(page(&app, "Changes", "", &main))
}

fn content(news: &News, roots: &[ScannedRoot]) -> Markup {
    html! {
        h1 { "Changes since the last scan" }
        @match news {
            News::NoWatcher => p.note {
                "lop watch is not running for this catalog, so the changes are unknown. While lop watch runs, it notes "
                "which files change, and this page lists them until the next scan."
            },
            News::Silent(_) => p.note.warning { (text(news).unwrap_or_default()) },
            News::Unseen(unseen) => (listed(news, unseen, roots)),
        }
    }
}

fn listed(news: &News, unseen: &Unseen, roots: &[ScannedRoot]) -> Markup {
    let hidden = unseen.counts.dirs.saturating_sub(unseen.dirs.len() as u64);
    html! {
        div.bar {
            span.grow { (text(news).unwrap_or_default()) }
            (scan_button(news, roots))
        }
        @if !unseen.dirs.is_empty() {
            div.scroll {
                table.changes {
                    thead { tr { th scope="col" { "Folder" } th scope="col" { "Changed entries" } } }
                    tbody { @for dir in &unseen.dirs { (row(dir)) } }
                }
            }
        }
        @if hidden > 0 { p.dim { (counted(hidden, "more folder", "more folders")) } }
        @if !unseen.unknown.is_empty() {
            h2 { "Unknown changes" }
            p { "A scan examines these folders completely." }
            ul.facts { @for (path, why) in &unseen.unknown { li { (name(path)) ": " (reason(why)) } } }
        }
    }
}

fn row(dir: &ChangedDir) -> Markup {
    html! {
        tr {
            td { (name(&dir.path)) }
            td {
                @match &dir.entries {
                    Entries::Names(names) => {
                        @for (at, (entry, is_dir)) in names.iter().take(MAX_NAMES).enumerate() {
                            @if at > 0 { ", " }
                            (name(entry)) @if *is_dir { "/" }
                        }
                        @if names.len() > MAX_NAMES {
                            span.dim { ", and " (count((names.len() - MAX_NAMES) as u64)) " more" }
                        }
                    },
                    Entries::All => span.dim { "many entries" },
                    Entries::Tree => span.dim { "everything in this folder" },
                }
            }
        }
    }
}

/// Returns the reason why changes are unknown, without the path, because the page shows the path beside it.
fn reason(why: &Unknown) -> &'static str {
    match why {
        Unknown::NoPosition => "lop watch did not run during its last scan",
        Unknown::OtherSession => "lop watch was started after its last scan",
        Unknown::NotWatched(_) => "it is not watched",
        Unknown::Replaced(_) => "it was mounted, renamed or replaced",
        Unknown::EventsLost => "the kernel discarded events",
        Unknown::TooMany => "too many entries have changed",
        Unknown::Discarded => "lop watch discarded changes that a later scan has stored",
    }
}

#[cfg(test)]
mod tests;
