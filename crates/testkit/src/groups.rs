//! Groups of identical files as sets of path bytes, and the comparison of two answers.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::path_bytes::PathBytes;

/// Groups of duplicates. Neither the order of groups nor the order within a group has a meaning.
pub type Groups = BTreeSet<BTreeSet<Vec<u8>>>;

/// Maximum number of groups of each kind that a difference shows.
const GROUPS_SHOWN: usize = 10;
/// Maximum number of paths of a group that a difference shows.
const PATHS_SHOWN: usize = 8;
/// Maximum number of bytes of an escaped path that a difference shows.
const PATH_BYTES_SHOWN: usize = 160;

/// Converts groups that are written out in a test.
pub fn groups_of<G, P>(groups: impl IntoIterator<Item = G>) -> Groups
where
    G: IntoIterator<Item = P>,
    P: PathBytes,
{
    let group = |g: G| g.into_iter().map(|path| path.path_bytes().to_vec()).collect();
    groups.into_iter().map(group).collect()
}

/// Returns the groups with the prefix `root/` removed from every path.
///
/// # Panics
///
/// Panics if a path does not begin with the prefix.
pub fn relative_to(root: impl PathBytes, groups: &Groups) -> Groups {
    let mut prefix = root.path_bytes().to_vec();
    if !prefix.ends_with(b"/") {
        prefix.push(b'/');
    }
    let relative = |path: &Vec<u8>| {
        let rest = path.strip_prefix(prefix.as_slice());
        rest.unwrap_or_else(|| panic!("{} is not in {}", shown(path), shown(&prefix))).to_vec()
    };
    groups.iter().map(|group| group.iter().map(relative).collect()).collect()
}

/// Returns a bounded description of the differences between `expected` and `actual`, or `None` if
/// they are equal.
pub fn diff_groups(expected: &Groups, actual: &Groups) -> Option<String> {
    if expected == actual {
        return None;
    }
    let mut text = format!("{} groups expected, {} found\n", expected.len(), actual.len());
    list(&mut text, "expected but not found", expected.difference(actual).collect());
    list(&mut text, "found but not expected", actual.difference(expected).collect());
    Some(text)
}

/// Checks that the groups are equal.
///
/// # Errors
///
/// Fails with the text of [`diff_groups`] if the groups differ.
pub fn groups_match(expected: &Groups, actual: &Groups) -> Result<(), String> {
    diff_groups(expected, actual).map_or(Ok(()), Err)
}

/// Asserts that the groups are equal.
///
/// # Panics
///
/// Panics with the description of [`diff_groups`] if the groups differ.
#[track_caller]
pub fn assert_groups(expected: &Groups, actual: &Groups) {
    if let Some(difference) = diff_groups(expected, actual) {
        panic!("the duplicate groups differ: {difference}");
    }
}

fn list(text: &mut String, title: &str, groups: Vec<&BTreeSet<Vec<u8>>>) {
    let total = groups.len();
    if total == 0 {
        return;
    }
    let _ = writeln!(text, "{title}: {total}");
    for group in groups.into_iter().take(GROUPS_SHOWN) {
        let paths: Vec<_> = group.iter().take(PATHS_SHOWN).map(|path| shown(path)).collect();
        let _ = write!(text, "  {{ {}", paths.join(", "));
        let _ = match group.len().saturating_sub(PATHS_SHOWN) {
            0 => writeln!(text, " }}"),
            more => writeln!(text, ", and {more} more }}"),
        };
    }
    if total > GROUPS_SHOWN {
        let _ = writeln!(text, "  and {} more groups", total - GROUPS_SHOWN);
    }
}

/// Returns a path in readable form: escaped, and shortened in the middle if it is long.
pub(crate) fn shown(path: &[u8]) -> String {
    let text = path.escape_ascii().to_string();
    if text.len() <= PATH_BYTES_SHOWN {
        return text;
    }
    let half = PATH_BYTES_SHOWN / 2;
    format!("{}[...]{}", &text[..half], &text[text.len() - half..])
}

#[cfg(test)]
mod tests {
    use super::{diff_groups, groups_of};

    #[test]
    fn a_difference_names_the_groups_and_stays_short() {
        assert_eq!(diff_groups(&groups_of([["a", "b"]]), &groups_of([["b", "a"]])), None);
        let name = |i: u32, j: u32| format!("{i}-{j}-{}", "long".repeat(100));
        let many = groups_of((0..500).map(|i| (0..500).map(move |j| name(i, j))));
        let text = diff_groups(&groups_of([[&b"only\nhere"[..], b"\xff"]]), &many).expect("differ");
        assert!(text.contains(r"only\nhere") && text.contains(r"\xff"), "{text}");
        assert!(text.contains("and 490 more groups") && text.contains("and 492 more }"), "{text}");
        assert!(text.len() < 20_000, "{} bytes", text.len());
    }
}
