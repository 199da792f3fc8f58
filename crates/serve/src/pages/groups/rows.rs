//! The rows of the list of groups.

use maud::{Markup, html};
use review::Review;

use crate::app::reviews::Loaded;
use crate::layout::name;
use crate::pages::review_parts::state;
use crate::quantity::{count, counted, size};

/// Largest number of rows in one answer.
pub(in crate::pages) const MOST_ROWS: usize = 200;

/// Largest number of names of a group whose folders are listed in its row.
const MOST_PATHS: u32 = 50;

/// Returns the rows with the ranks from `from`.
pub(super) fn rows(loaded: Loaded<'_>, order: &[u32], from: usize, wanted: usize) -> Markup {
    let end = from.saturating_add(wanted.min(MOST_ROWS)).min(order.len());
    html! { @for rank in from..end { (row(loaded, order[rank], rank)) } }
}

fn row(loaded: Loaded<'_>, at: u32, rank: usize) -> Markup {
    let review = loaded.review;
    let (index, group) = (review.index(), review.index().group(at));
    let path = index.first_path(at);
    let (dir, file) = walk::split_path(&path);
    html! {
        div.row #{ "row-" (rank) } role="row" aria-rowindex=(rank + 1) data-rank=(rank) data-id=(group.number) {
            span.num role="gridcell" { b { (size(group.reclaimable)) } }
            span.optional.dim role="gridcell" { (count(group.inodes.into())) " × " (size(group.size)) }
            span role="gridcell" { (name(file)) span.where { (folders(review, at, dir)) } }
            span role="gridcell" { (state(review, at)) }
        }
    }
}

/// Returns the directory of the first file, and those of the others.
fn folders(review: &Review, at: u32, first: &[u8]) -> Markup {
    let first = if first.is_empty() { b"/" } else { first };
    let names = review.index().group(at).names;
    let mut others = Vec::new();
    if names <= MOST_PATHS {
        others.extend(review.index().members(at).iter().map(|member| member.dir().to_vec()));
        others.sort();
        others.dedup();
        others.retain(|dir| dir != first);
    }
    html! {
        span.path { (name(first)) }
        @match others.as_slice() {
            [] if names > MOST_PATHS => span.few { "and " (count(u64::from(names) - 1)) " files" },
            [] => {}
            [other] => { span.few { "and" } span.path { (name(other)) } }
            others => span.few { "and " (counted(others.len() as u64, "folder", "folders")) },
        }
    }
}
