//! Other duplicate finders, where they are installed.

use std::path::Path;
use std::process::Command;

use crate::TEST_TIMEOUT;
use crate::formats::parse_nul;
use crate::groups::Groups;
use crate::process::{find_tool, run_tool};

/// Returns the groups that jdupes finds below `root`. Prints the reason and returns `None` if
/// jdupes is not installed.
///
/// Runs `jdupes -r -q -0`: it includes hidden files, excludes empty files, follows no links,
/// compares contents byte by byte and prints exact names. Without `-H`, jdupes (seen with 1.21.3)
/// lists only *some* names of a file with several names, and can list more than one. Pass the
/// result through [`collapse_links`](crate::collapse_links) before comparing.
///
/// # Panics
///
/// Panics if jdupes fails, hangs, or prints something other than NUL-separated groups.
pub fn jdupes(root: impl AsRef<Path>) -> Option<Groups> {
    let Some(tool) = find_tool("jdupes") else {
        crate::skipped("jdupes is not installed");
        return None;
    };
    let root = root.as_ref().canonicalize().expect("a directory to run jdupes on");
    let finished = run_tool(Command::new(tool).args(["-r", "-q", "-0"]).arg(root), TEST_TIMEOUT);
    assert!(finished.status.success(), "jdupes failed: {}", finished.account());
    // The end of the last group is missing if the first file of that group is the last one found
    // (`if (files->next != NULL)` in act_printmatches.c of jdupes).
    let mut output = finished.stdout;
    if !output.ends_with(b"\0\0") && output.ends_with(b"\0") {
        output.push(0);
    }
    Some(parse_nul(&output))
}

#[cfg(test)]
mod tests {
    use super::jdupes;
    use crate::{
        TreeBuilder, assert_groups, collapse_links, groups_of, naive_groups, relative_to, skipped,
    };

    #[test]
    fn jdupes_agrees_with_the_oracle_where_inodes_have_many_names() {
        let tree = TreeBuilder::new()
            .hard_links("aaa", &["a", "a2", "0a"])
            .hard_links("aaa", &["b", "sub/b2"])
            .file("z", "zzz")
            .file(".hidden", "zzz")
            .hard_links("lone", &["lone1", "lone2"])
            .file("empty1", "")
            .file("empty2", "")
            .make_temp();
        let Some(groups) = jdupes(&tree) else {
            return skipped("no jdupes to compare with");
        };
        let collapsed = collapse_links(&tree, &groups);
        assert_groups(&naive_groups(&tree), &collapsed);
        let expected = groups_of([["0a", "b"], [".hidden", "z"]]);
        assert_groups(&expected, &relative_to(tree.path(), &collapsed));
    }

    #[test]
    fn jdupes_finds_nothing_without_duplicates() {
        let tree = TreeBuilder::new().file("a", "1").file("b", "2").make_temp();
        assert!(jdupes(&tree).is_none_or(|groups| groups.is_empty()));
        let empty = TreeBuilder::new().make_temp();
        assert!(jdupes(&empty).is_none_or(|groups| groups.is_empty()));
    }
}
