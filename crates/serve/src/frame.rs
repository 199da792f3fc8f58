//! The frame of every page: navigation, the indicator of running jobs, and the regions for messages.

use maud::{DOCTYPE, Markup, html};

use crate::app::App;
use crate::assets;
use crate::layout::head;

/// The pages in the navigation: title and path.
const PAGES: [(&str, &str); 8] = [
    ("Start", "/"),
    ("Groups", "/groups"),
    ("Same folders", "/same-folders"),
    ("Compare folders", "/folders"),
    ("Space", "/space"),
    ("Plan", "/plan"),
    ("Runs", "/runs"),
    ("Quarantine", "/quarantine"),
];

/// Returns a page with navigation. `path` is the path of the page in [`PAGES`]; empty for a page that is
/// not in the navigation.
pub(crate) fn page(app: &App, title: &str, path: &str, main: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title, app.csrf()))
            body {
                a.skip href="#main" { "Skip to the content" }
                header {
                    a.brand href="/" { img src=(assets::path("icon.svg")) alt="" width="24" height="24"; "lop" }
                    nav aria-label="Pages" {
                        @for (name, to) in PAGES {
                            a href=(to) aria-current=[(to == path).then_some("page")] { (name) }
                        }
                    }
                    @if !app.allows_actions() {
                        span.badge title="Start lop serve with --allow-actions to change files from here" { "read-only" }
                    }
                    (running(app))
                    button #help type="button" aria-keyshortcuts="?" { "Keys" }
                }
                (news(app))
                main #main tabindex="-1" { (main) }
                div #live role="status" aria-live="polite" {}
                div #alert role="alert" {}
            }
        }
    }
}

/// Returns the notice that the catalog has changed since the page was made, hidden. The script shows it when
/// the version of the catalog is another one.
fn news(app: &App) -> Markup {
    html! {
        p #news.note role="status" hidden data-catalog=[app.catalog_version_if_free()] {
            "The catalog has changed since this page was loaded. "
            button type="button" { "Load the new state" }
        }
    }
}

/// Returns the indicator of running jobs, hidden if no job is running. The script keeps it up to date.
fn running(app: &App) -> Markup {
    let is_idle = app.jobs.list().iter().all(|job| !job.is_running());
    html! {
        a #running.badge href="/runs" hidden[is_idle] title="Show the running work" {
            span.dot aria-hidden="true" {} span.text { "Working" }
        }
    }
}
