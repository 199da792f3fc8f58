//! The rows that are part of the page, so that they are visible before any script runs.
//!
//! Loading all groups of a large catalog takes seconds. Until they are loaded, the first rows come
//! directly from the catalog, in the order of the list. The script loads them again with the listing.

use maud::html;
use review::{Filter, Sort};

use super::rows::{MOST_PATHS, first_rows, rows};
use crate::app::App;
use crate::app::listings::Wanted;
use crate::app::reviews::Loaded;
use crate::error::PageError;
use crate::pages::review_parts::{FirstRows, duplicates, totals_line};

/// Number of rows in the page, as many as the list loads at a time: rows that are in two chunks would move.
const FIRST_ROWS: u32 = 25;

/// Returns the first rows for a filter and a sort, or `None` if finding them would take long or fails.
/// The script asks for the same rows and reports the failure.
pub(super) fn first(app: &App, filter: &str, sort: Sort) -> Option<FirstRows> {
    let filter = Filter::parse(filter).ok()?;
    let loaded = app.review_if_loaded(|loaded| from_review(loaded, &filter, sort));
    if loaded.is_none() && filter.is_empty() && sort == Sort::default() {
        return from_catalog(app).ok();
    }
    loaded
}

fn from_review(loaded: Loaded<'_>, filter: &Filter, sort: Sort) -> FirstRows {
    let wanted = Wanted::Groups(filter.clone(), sort);
    let listing = loaded.list(wanted, || loaded.review.select(filter, sort));
    let order = &listing.order;
    let totals = loaded.review.totals(order);
    FirstRows { rows: rows(loaded, order, 0, FIRST_ROWS as usize), totals: totals_line(&totals) }
}

fn from_catalog(app: &App) -> Result<FirstRows, PageError> {
    app.with_catalog(|catalog| {
        let groups = catalog.top_groups(FIRST_ROWS, MOST_PATHS)?;
        let all = catalog.group_totals()?;
        let is_undecided = catalog.decisions()?.is_empty();
        let state =
            html! { span.state.undecided { (if is_undecided { "undecided" } else { "…" }) } };
        let totals = html! {
            (duplicates(all.groups, all.redundant, all.reclaimable))
            span { "Reading the catalog…" }
        };
        Ok(FirstRows { rows: first_rows(groups, &state), totals })
    })
}

#[cfg(test)]
mod tests {
    use super::FIRST_ROWS;

    #[test]
    fn the_page_contains_as_many_rows_as_the_list_loads_at_a_time() {
        let script = include_str!("../../assets/list.js");
        assert!(script.contains(&format!("\nconst CHUNK = {FIRST_ROWS};\n")));
    }
}
