//! The page with the sizes of folders: a table of the tree, and beside it a map of the same folders.
//!
//! The table shows all folders and works with the keyboard alone. The map gives an overview.

mod map;
mod measure;
mod table;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::routing::get;
use maud::{Markup, html};
use serde::Deserialize;
use space::{DirId, Space, TOP};

use self::map::Plane;
use self::measure::Measure;
use crate::app::App;
use crate::app::spaces::{Sizes, key, named};
use crate::error::PageError;
use crate::frame::page;
use crate::layout::name;
use crate::pages::groups_link::groups_below;
use crate::pages::review_parts::no_catalog;
use crate::quantity;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/space", get(show))
        .route("/space/children", get(children))
        .route("/space/map", get(show_map))
}

/// The query of a page.
#[derive(Debug, Default, Deserialize)]
struct Selection {
    dir: Option<String>,
    by: Option<String>,
    /// First subfolder to list.
    #[serde(default)]
    from: usize,
    /// Level of the rows in the table.
    #[serde(default)]
    level: u32,
    /// Width and height of the map in pixels.
    w: Option<u32>,
    h: Option<u32>,
}

impl Selection {
    fn measure(&self) -> Measure {
        self.by.as_deref().and_then(Measure::parse).unwrap_or(Measure::Size)
    }

    /// Returns the folder that a script asks for.
    fn dir(&self, space: &Space) -> Result<DirId, PageError> {
        let dir = self.dir.as_deref().and_then(|dir| named(space, dir));
        dir.ok_or_else(|| {
            PageError::conflict(
                "The catalog has changed",
                "Reload the page to see the current sizes.",
            )
        })
    }
}

/// Returns the address of the page for a folder.
fn address(space: &Space, dir: DirId, measure: Measure) -> String {
    format!("/space?dir={}&by={}", key(space, dir), measure.word())
}

async fn show(
    State(app): State<Arc<App>>,
    Query(selection): Query<Selection>,
) -> Result<Markup, PageError> {
    app.blocking(move |app| {
        let main = match no_catalog(app) {
            Some(why) => html! { div.empty { (why) } },
            None => content(app, &*app.sizes()?, &selection)?,
        };
        Ok(page(app, "Space", "/space", &main))
    })
    .await
}

async fn children(
    State(app): State<Arc<App>>,
    Query(selection): Query<Selection>,
) -> Result<Markup, PageError> {
    app.blocking(move |app| {
        let space = &app.sizes()?.space;
        let dir = selection.dir(space)?;
        Ok(table::rows(space, dir, selection.measure(), selection.from, selection.level))
    })
    .await
}

async fn show_map(
    State(app): State<Arc<App>>,
    Query(selection): Query<Selection>,
) -> Result<Markup, PageError> {
    app.blocking(move |app| {
        let space = &app.sizes()?.space;
        let plane = Plane::new(selection.w, selection.h);
        Ok(map::draw(space, selection.dir(space)?, selection.measure(), plane))
    })
    .await
}

fn content(app: &App, sizes: &Sizes, selection: &Selection) -> Result<Markup, PageError> {
    let space = &sizes.space;
    if space.totals(TOP).names == 0 {
        return Ok(empty());
    }
    let named_dir = selection.dir.as_deref().map(|dir| named(space, dir));
    let is_stale = named_dir == Some(None);
    let dir = named_dir.flatten().unwrap_or_else(|| first_branch(space));
    let measure = selection.measure();
    let files = table::largest_files(app, space, dir)?;
    Ok(html! {
        div.space data-module="space" data-dir=(key(space, dir)) data-by=(measure.word()) {
            h1 { (path(space, dir, measure)) }
            @if is_stale {
                p.note.warning { "The catalog has changed since that page was loaded. These are the current sizes." }
            }
            (summary(space, dir))
            (switch(space, dir, measure))
            @if measure == Measure::Grown { (since(sizes, dir)) }
            div.space-split {
                section aria-label="Folders" {
                    (table::draw(space, dir, measure, selection.from))
                    (files)
                }
                section.space-map aria-label="Map" {
                    div #map { (map::draw(space, dir, measure, Plane::default())) }
                    (map::legend(measure))
                }
            }
        }
    })
}

fn empty() -> Markup {
    html! {
        div.empty {
            h2 { "No files in the catalog" }
            p { "Scan folders on the " a href="/" { "start page" } " to see what takes up space in them." }
        }
    }
}

/// Returns the lowest folder that contains everything. A page that begins at the root directory would
/// show a single row.
fn first_branch(space: &Space) -> DirId {
    let mut dir = TOP;
    loop {
        let children = space.children(dir, space::By::Files);
        let &[child] = children.as_slice() else { return dir };
        if space.own(dir).files > 0 || space.totals(child).names == 0 {
            return dir;
        }
        dir = child;
    }
}

/// Returns the path of a folder, with a link for each component.
fn path(space: &Space, dir: DirId, measure: Measure) -> Markup {
    let mut above: Vec<DirId> =
        std::iter::successors(space.parent(dir), |&dir| space.parent(dir)).collect();
    above.reverse();
    html! {
        nav.crumbs aria-label="Path" {
            @for &step in &above {
                @let is_parent = space.parent(dir) == Some(step);
                a href=(address(space, step, measure)) data-parent[is_parent] {
                    @if step == TOP { "/" } @else { (name(space.name(step))) }
                }
                @if step != TOP { span.dim aria-hidden="true" { "/" } }
            }
            span aria-current="location" { @if dir == TOP { "/" } @else { (name(space.name(dir))) } }
        }
    }
}

fn summary(space: &Space, dir: DirId) -> Markup {
    let totals = space.totals(dir);
    html! {
        p.space-summary {
            b { (quantity::size(totals.allocated)) } " on disk in " (quantity::files(totals.files))
            " · " b { (quantity::size(totals.reclaimable)) } " reclaimable"
            @if let Some(grown) = totals.grown { " · " b { (measure::change(grown)) } " since the earlier scan" }
            @if totals.reclaimable > 0 && let Some(groups) = groups_below(&[&space.path(dir)]) {
                " · " a href=(groups) { "Review the duplicates in this folder" }
            }
        }
    }
}

fn switch(space: &Space, dir: DirId, current: Measure) -> Markup {
    html! {
        div.bar role="group" aria-label="Order and size by" {
            @for measure in Measure::ALL {
                a.button href=(address(space, dir, measure)) aria-current=[(measure == current).then_some("true")] {
                    (measure.title())
                }
            }
        }
    }
}

/// Says between which scans folders have grown.
fn since(sizes: &Sizes, dir: DirId) -> Markup {
    let space = &sizes.space;
    let is_relevant =
        |root: DirId| space.is_at_or_below(root, dir) || space.is_at_or_below(dir, root);
    let all = &sizes.comparisons;
    let compared: Vec<_> = all.compared.iter().filter(|root| is_relevant(root.dir)).collect();
    let is_outdated = all.outdated.iter().any(|&root| is_relevant(root));
    html! {
        @if is_outdated {
            p.note {
                "A run has changed files since the last scan, so their growth is unknown. Scan this folder again."
            }
        }
        @if compared.is_empty() && !is_outdated {
            p.note {
                "Growth needs two scans that found different files. Scan this folder again after it has changed."
            }
        } @else if !compared.is_empty() {
            ul.facts {
                @for compared in compared.iter().take(5) {
                    li {
                        (name(&compared.root)) ": " (quantity::time(compared.since_ms)) " to "
                        (quantity::time(compared.until_ms))
                    }
                }
                @if compared.len() > 5 { li { (quantity::count(compared.len() as u64 - 5)) " more" } }
            }
        }
    }
}

#[cfg(test)]
mod tests;
