//! The groups of a catalog in memory: order, members, and the conditions of files.

use catalog::FileState;
use content::Digest;
use review::{Condition, Sort};

use crate::shelf::{BLOCK, Copy, DAY, NOW_NS, Shelf, copies};

fn names(shelf: &Shelf, sort: Sort) -> Vec<String> {
    let review = shelf.review();
    let order = review.select(&review::Filter::default(), sort);
    order.into_iter().map(|at| shelf.short(&review.index().first_path(at))).collect()
}

#[test]
fn groups_are_sorted_by_reclaimable_bytes_and_then_by_path() {
    let shelf = Shelf::new(&[
        copies(1, &["z/a", "z/b"]),
        copies(2, &["b/a", "b/b"]),
        copies(3, &["a/b/c", "a/x", "c/z"]),
        copies(4, &["single"]),
    ]);
    let review = shelf.review();
    let index = review.index();
    assert_eq!(index.len(), 3);
    assert_eq!(names(&shelf, Sort::Reclaimable), ["a/x", "b/a", "z/a"]);
    let group = index.group(0);
    assert_eq!((group.size, group.reclaimable), (3000, 2 * BLOCK));
    assert_eq!((group.inodes, group.names), (3, 3));
    assert_eq!(group.digest, Some(Digest::of(&[3])));
    assert_eq!((index.at(group.number), index.at(-1)), (Some(0), None));
    assert_eq!(index.at_digest(&Digest::of(&[1])), Some(2));
    assert_eq!(index.at_digest(&Digest::of(&[4])), None);
    let members = index.members(0);
    let paths: Vec<String> = members.iter().map(|member| shelf.short(&member.path)).collect();
    assert_eq!(paths, ["a/x", "a/b/c", "c/z"], "the files of a directory precede its children");
    assert_eq!((members[1].dir(), members[1].name()), (&shelf.path("a/b")[..], &b"c"[..]));
    assert_eq!(members[1].mtime_ns, NOW_NS - DAY);
}

#[test]
fn views_can_be_sorted_by_other_properties() {
    let with = |letter, age, paths: &[&str]| -> Vec<Copy> {
        let mtime_ns = NOW_NS - age * DAY;
        copies(letter, paths).into_iter().map(|copy| Copy { mtime_ns, ..copy }).collect()
    };
    let shelf = Shelf::new(&[
        with(1, 5, &["b/1", "b/2", "b/3"]),
        with(9, 3, &["c/1", "c/2"]),
        with(5, 9, &["a/1", "a/2"]),
    ]);
    for (sort, order) in [
        (Sort::Reclaimable, ["b/1", "a/1", "c/1"]),
        (Sort::Size, ["c/1", "a/1", "b/1"]),
        (Sort::Copies, ["b/1", "a/1", "c/1"]),
        (Sort::Path, ["a/1", "b/1", "c/1"]),
        (Sort::Newest, ["c/1", "b/1", "a/1"]),
        (Sort::Oldest, ["a/1", "b/1", "c/1"]),
    ] {
        assert_eq!(names(&shelf, sort), order, "{sort:?}");
        assert_eq!(Sort::parse(sort.word()), Some(sort));
    }
    assert_eq!(Sort::parse("best"), None);
}

#[test]
fn members_that_cannot_be_relied_on_have_a_condition() {
    let shelf = Shelf::new(&[copies(
        1,
        &["a/sound", "a/damaged", "a/pending", "a/.git/managed", "b/gone", "c/sound"],
    )]);
    shelf.mark("a/damaged", FileState::Damaged);
    shelf.mark("a/pending", FileState::Pending);
    shelf.remove_dir("b");
    let review = shelf.review();
    let mut conditions: Vec<(String, Condition)> = review
        .index()
        .members(0)
        .into_iter()
        .map(|member| (shelf.short(&member.path), member.condition))
        .collect();
    conditions.sort();
    let expected = [
        ("a/.git/managed", Condition::Managed),
        ("a/damaged", Condition::Damaged),
        ("a/pending", Condition::Pending),
        ("a/sound", Condition::Sound),
        ("b/gone", Condition::Gone),
        ("c/sound", Condition::Sound),
    ];
    assert_eq!(conditions, expected.map(|(path, condition)| (path.to_string(), condition)));
    assert_eq!(review.index().group(0).inodes, 4, "files with unknown content do not count");
}

#[test]
fn names_of_one_inode_are_one_file() {
    let mut group = copies(1, &["a", "b", "c"]);
    group[0].inode = 7;
    group[2].inode = 7;
    let review = Shelf::new(&[group]).review();
    let group = review.index().group(0);
    assert_eq!((group.inodes, group.names), (2, 3));
}

#[test]
fn an_empty_catalog_has_no_groups() {
    let shelf = Shelf::new(&[copies(1, &["single"])]);
    let review = shelf.review();
    assert!(review.index().is_empty() && review.sets().is_empty());
    assert_eq!(names(&shelf, Sort::Path), [""; 0]);
}
