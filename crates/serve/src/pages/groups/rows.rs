//! The rows of the list of groups.

use catalog::TopGroup;
use maud::{Markup, html};
use review::Review;

use super::folders::differing;
use crate::app::reviews::Loaded;
use crate::layout::name;
use crate::pages::review_parts::state;
use crate::quantity::{count, counted, size};

/// Largest number of rows in one answer.
pub(in crate::pages) const MOST_ROWS: usize = 200;

/// Largest number of names of a group whose folders are listed in its row.
pub(super) const MOST_PATHS: u32 = 50;

/// Returns the rows with the ranks from `from`.
pub(super) fn rows(loaded: Loaded<'_>, order: &[u32], from: usize, wanted: usize) -> Markup {
    let end = from.saturating_add(wanted.min(MOST_ROWS)).min(order.len());
    html! { @for rank in from..end { (loaded_row(loaded.review, order[rank], rank)) } }
}

/// Returns the rows of the first groups before all groups are loaded. `unsettled` is shown in place of
/// the states.
pub(super) fn first_rows(groups: Vec<TopGroup>, unsettled: &Markup) -> Markup {
    html! {
        @for (rank, mut group) in groups.into_iter().enumerate() {
            ({
                group.paths.sort_by(|a, b| in_tree_order(a).cmp(in_tree_order(b)));
                let TopGroup { number, size, reclaimable, inodes, names, .. } = group;
                row(&Row { number, size, reclaimable, inodes, names, paths: &group.paths }, unsettled, rank)
            })
        }
    }
}

/// Returns the parts by which paths are compared: files of a folder precede those of its subfolders.
fn in_tree_order(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (dir, file) = walk::split_path(path);
    // No component of a path is empty, so the name is compared before the components of subfolders.
    dir.split(|&byte| byte == b'/').skip(1).chain([&b""[..], file])
}

fn loaded_row(review: &Review, at: u32, rank: usize) -> Markup {
    let (index, group) = (review.index(), review.index().group(at));
    let paths = if group.names <= MOST_PATHS {
        index.members(at).into_iter().map(|member| member.path).collect()
    } else {
        vec![index.first_path(at)]
    };
    let facts = Row {
        number: group.number,
        size: group.size,
        reclaimable: group.reclaimable,
        inodes: group.inodes,
        names: group.names.into(),
        paths: &paths,
    };
    row(&facts, &state(review, at), rank)
}

/// The facts that a row shows.
struct Row<'a> {
    number: i64,
    size: u64,
    reclaimable: u64,
    inodes: u32,
    names: u64,
    /// The paths in the order of the directory tree. The list may contain only the first path.
    paths: &'a [Vec<u8>],
}

fn row(group: &Row<'_>, state: &Markup, rank: usize) -> Markup {
    let (dir, file) =
        group.paths.first().map_or((&b""[..], &b""[..]), |path| walk::split_path(path));
    html! {
        div.row #{ "row-" (rank) } role="row" aria-rowindex=(rank + 1) data-rank=(rank) data-id=(group.number) {
            span.num role="gridcell" { b { (size(group.reclaimable)) } }
            span.below.dim role="gridcell" { (count(group.inodes.into())) " × " (size(group.size)) }
            span role="gridcell" { (name(file)) span.where { (folders(group, shown(dir))) } }
            span role="gridcell" { (state) }
        }
    }
}

/// Returns the directory of the first file, and those of the others.
fn folders(group: &Row<'_>, first: &[u8]) -> Markup {
    if group.names > MOST_PATHS.into() {
        let others = count(group.names - 1);
        return html! { span.path { (name(first)) } span.few { "and " (others) " other names" } };
    }
    let mut others: Vec<&[u8]> =
        group.paths.iter().map(|path| shown(walk::split_path(path).0)).collect();
    others.sort_unstable();
    others.dedup();
    others.retain(|dir| *dir != first);
    let dirs = [&[first], &*others].concat();
    let parts = differing(&dirs);
    match parts.as_slice() {
        [first, other] => html! {
            span.part { (name(first)) } span.few { "and" } span.part { (name(other)) }
        },
        [first, others @ ..] if !others.is_empty() => html! {
            span.part { (name(first)) }
            span.few { "and " (counted(others.len() as u64, "other folder", "other folders")) }
        },
        _ => html! { span.path { (name(first)) } },
    }
}

/// Returns a directory as it is shown: the root directory has no name.
fn shown(dir: &[u8]) -> &[u8] {
    if dir.is_empty() { b"/" } else { dir }
}

#[cfg(test)]
mod tests {
    use super::in_tree_order;

    #[test]
    fn files_precede_subfolders_and_folders_are_sorted_by_component() {
        let paths: [&[u8]; 6] = [b"/z", b"/a/y", b"/a/b/x", b"/a b/x", b"/a-b/x", b"/b/a"];
        let mut sorted = paths.to_vec();
        sorted.reverse();
        sorted.sort_by(|a, b| in_tree_order(a).cmp(in_tree_order(b)));
        assert_eq!(sorted, paths);
    }
}
