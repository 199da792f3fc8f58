//! The rows of the list of groups.

use maud::{Markup, html};

use crate::app::reviews::Loaded;
use crate::layout::name;
use crate::pages::review_parts::state;
use crate::quantity::{count, counted, size};

/// Largest number of rows in one answer.
pub(in crate::pages) const MOST_ROWS: usize = 200;

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
            span role="gridcell" { (name(file)) span.where { (folders(loaded, at, dir)) } }
            span role="gridcell" { (state(review, at)) }
        }
    }
}

/// Returns the folder of the first file, and the other folders that the group is about.
fn folders(loaded: Loaded<'_>, at: u32, dir: &[u8]) -> Markup {
    let sets = loaded.review.sets();
    let mut others = sets.set(loaded.review.index(), sets.set_of(at)).folders;
    others.retain(|folder| !is_in(dir, &folder.path));
    html! {
        span { (name(if dir.is_empty() { b"/" } else { dir })) }
        @match others.as_slice() {
            [] => {}
            [other] => span { " and " (name(&other.path)) },
            others => span.few { " and " (counted(others.len() as u64, "folder", "folders")) },
        }
    }
}

/// Returns whether a directory is this folder or below it.
fn is_in(dir: &[u8], folder: &[u8]) -> bool {
    let rest = dir.strip_prefix(folder);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || folder.ends_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::is_in;

    #[test]
    fn a_directory_is_in_a_folder_by_whole_components() {
        assert!(is_in(b"/a/b", b"/a") && is_in(b"/a", b"/a") && is_in(b"/a", b"/"));
        assert!(!is_in(b"/ab", b"/a") && !is_in(b"/a", b"/a/b"));
    }
}
