//! The table of folders, with a bar for each, and the list of the largest files.

use maud::{Markup, html};
use space::{DirId, Space, TOP};

use super::address;
use super::measure::{self, Measure, Share};
use crate::app::App;
use crate::app::spaces::key;
use crate::error::PageError;
use crate::layout::{name, plain_name};
use crate::pages::groups_link::groups_below;
use crate::quantity;

/// Rows that are sent at once.
const ROWS: usize = 100;
/// Levels with an indent of their own.
const MAX_INDENT: u32 = 8;
/// Maximum number of files in a folder whose largest files are listed.
const MAX_SEARCHED: u64 = 50_000;
/// Files in the list of the largest ones.
const LARGEST: usize = 15;

/// Returns the table with the folders in `dir`, from the subfolder with number `from`.
pub(super) fn draw(space: &Space, dir: DirId, measure: Measure, from: usize) -> Markup {
    html! {
        div.scroll {
            table.tree #tree {
                thead {
                    tr {
                        th { "Folder" }
                        th { "Share" }
                        th.num.optional[measure != Measure::Size] { "Disk space" }
                        th.num.optional[measure != Measure::Reclaimable] { "Reclaimable" }
                        @if has_growth(space) { th.num.optional[measure != Measure::Grown] { "Growth" } }
                        th.num.optional[measure != Measure::Files] { "Files" }
                    }
                }
                tbody { (rows(space, dir, measure, from, 0)) }
            }
        }
    }
}

/// Returns the rows of the folders in `dir`, and of the files directly in it.
pub(super) fn rows(space: &Space, dir: DirId, measure: Measure, from: usize, level: u32) -> Markup {
    let children = space.children(dir, measure.order());
    let whole = measure.of(&space.totals(dir));
    let shown = children.get(from..).unwrap_or_default();
    let rest = shown.get(ROWS..).unwrap_or_default();
    let own = space.own(dir);
    html! {
        @for &child in shown.iter().take(ROWS) { (row(space, child, measure, whole, level)) }
        @if !rest.is_empty() { (rest_row(space, dir, measure, rest, from + ROWS, level)) }
        @if from == 0 && own.files > 0 {
            @let size = measure.of_own(space, dir);
            tr.own data-level=(level) {
                td.entry.{ "l" (level.min(MAX_INDENT)) } {
                    span.twist {} span.dim { "Files directly in this folder" }
                }
                td.share { (bar(Share::new(size, whole))) }
                td.num.optional[measure != Measure::Size] { (quantity::size(own.allocated)) }
                td.num.optional[measure != Measure::Reclaimable] { @if measure == Measure::Reclaimable { (quantity::size(size)) } }
                @if has_growth(space) { td.num.optional[measure != Measure::Grown] {} }
                td.num.optional[measure != Measure::Files] { (quantity::count(own.files)) }
            }
        }
        @if children.is_empty() && own.files == 0 {
            tr.own data-level=(level) { td.entry.{ "l" (level.min(MAX_INDENT)) } colspan="6" { span.dim { "No files" } } }
        }
    }
}

fn row(space: &Space, dir: DirId, measure: Measure, whole: u64, level: u32) -> Markup {
    let totals = space.totals(dir);
    let size = measure.of(&totals);
    let key = key(space, dir);
    html! {
        tr data-dir=(key) data-level=(level) {
            td.entry.{ "l" (level.min(MAX_INDENT)) } {
                @if has_children(space, dir) {
                    button.twist type="button" tabindex="-1" aria-expanded="false"
                        aria-label={ "Folders in " (plain_name(space.name(dir))) } {}
                } @else { span.twist {} }
                a href=(address(space, dir, measure)) { (name(space.name(dir))) }
            }
            td.share { (bar(Share::new(size, whole))) }
            td.num.optional[measure != Measure::Size] { (quantity::size(totals.allocated)) }
            td.num.optional[measure != Measure::Reclaimable] { (quantity::size(totals.reclaimable)) }
            @if has_growth(space) {
                td.num.optional[measure != Measure::Grown] { @if let Some(grown) = totals.grown { (measure::change(grown)) } }
            }
            td.num.optional[measure != Measure::Files] { (quantity::count(totals.files)) }
        }
    }
}

/// Returns whether two scans could be compared.
fn has_growth(space: &Space) -> bool {
    space.totals(TOP).grown.is_some()
}

/// Returns whether a folder contains folders. Their numbers follow its own.
fn has_children(space: &Space, dir: DirId) -> bool {
    let next = DirId(dir.0 + 1);
    next.0 < space.len() && space.parent(next) == Some(dir)
}

/// Returns the row that stands for the folders that come after the rows.
fn rest_row(
    space: &Space,
    dir: DirId,
    measure: Measure,
    rest: &[DirId],
    from: usize,
    level: u32,
) -> Markup {
    let totals: Vec<_> = rest.iter().map(|&dir| space.totals(dir)).collect();
    let sum = |of: fn(&space::Totals) -> u64| totals.iter().map(of).fold(0, u64::saturating_add);
    let whole = measure.of(&space.totals(dir));
    let size = totals.iter().map(|totals| measure.of(totals)).fold(0, u64::saturating_add);
    html! {
        tr.rest data-level=(level) {
            td.entry.{ "l" (level.min(MAX_INDENT)) } {
                span.twist {}
                a href={ (address(space, dir, measure)) "&from=" (from) } data-from=(from) data-dir=(key(space, dir)) {
                    (quantity::counted(rest.len() as u64, "more folder", "more folders"))
                }
            }
            td.share { (bar(Share::new(size, whole))) }
            td.num.optional[measure != Measure::Size] { (quantity::size(sum(|totals| totals.allocated))) }
            td.num.optional[measure != Measure::Reclaimable] {}
            @if has_growth(space) { td.num.optional[measure != Measure::Grown] {} }
            td.num.optional[measure != Measure::Files] { (quantity::count(sum(|totals| totals.files))) }
        }
    }
}

/// Returns a share as a bar and as text.
fn bar(share: Share) -> Markup {
    html! {
        svg.share viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect width=(share.width()) height="8" {}
        }
        span { (share.text()) }
    }
}

/// Returns the list of the largest files directly in a folder.
///
/// # Errors
///
/// Fails if the catalog cannot be read.
pub(super) fn largest_files(app: &App, space: &Space, dir: DirId) -> Result<Markup, PageError> {
    if !(1..=MAX_SEARCHED).contains(&space.own(dir).files) {
        return Ok(html! {});
    }
    let path = space.path(dir);
    let files = app.with_catalog(|catalog| Ok(catalog.files_in(&path)?))?;
    let mut files = files.unwrap_or_default();
    files.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.path.cmp(&b.path)));
    Ok(html! {
        h2 { "Largest files directly in this folder" }
        div.scroll {
            table {
                thead { tr { th { "File" } th.num { "Size" } th.num { "Copies" } th.num.optional { "Modified" } } }
                tbody {
                    @for file in files.iter().take(LARGEST) {
                        tr {
                            td { (name(file.name())) }
                            td.num { (quantity::size(file.size)) }
                            td.num {
                                @let copies = quantity::count(file.copies.into());
                                @match groups_below(&[&file.path]).filter(|_| file.copies > 1) {
                                    Some(groups) => a href=(groups) { (copies) },
                                    None => (copies),
                                }
                            }
                            td.num.optional { (quantity::time(file.mtime_ns / 1_000_000)) }
                        }
                    }
                }
            }
        }
        @if files.len() > LARGEST { p.dim { (quantity::count((files.len() - LARGEST) as u64)) " more files" } }
    })
}
