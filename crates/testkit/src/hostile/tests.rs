//! Checks the hostile tree with the oracle and with jdupes.

use super::{hostile_tree, odd_names};
use crate::{
    Rules, TempTree, assert_groups, collapse_links, jdupes, naive_truth, relative_to, skipped,
};

#[test]
fn the_oracle_finds_the_expected_groups() {
    let temp = TempTree::new();
    let hostile = hostile_tree(&temp);
    let truth = naive_truth(&[&temp], Rules::default());
    assert_groups(hostile.groups_here(), &relative_to(temp.path(), &truth.groups));
    assert_eq!(truth.unread.is_empty(), crate::is_root());
}

#[test]
fn jdupes_finds_the_expected_groups() {
    let temp = TempTree::new();
    let hostile = hostile_tree(&temp);
    let Some(groups) = jdupes(&temp) else {
        return skipped("no jdupes to compare with");
    };
    let groups = collapse_links(&temp, &groups);
    assert_groups(hostile.groups_here(), &relative_to(temp.path(), &groups));
}

#[test]
fn nothing_is_left_behind() {
    let temp = TempTree::new();
    let path = temp.path().to_path_buf();
    drop(hostile_tree(&temp));
    drop(temp);
    assert!(!path.exists());
}

#[test]
fn no_odd_name_is_left_without_a_partner() {
    assert_eq!(odd_names().len() % 2, 0);
}
