//! Files with known contents are not read again.

use std::collections::BTreeMap;

use content::{ContentId, Fingerprints, head_length};
use testkit::{TreeBuilder, assert_groups, naive_groups};
use walk::Tree;

use crate::scan::{Scan, Setup, Walked, ids, setup};

/// Copies the fingerprints of unchanged files from an older scan to a new walk.
pub(crate) fn remember(before: &Scan, now: &Walked) {
    let contents: Vec<_> =
        (0..before.fingerprints.contents()).map(|_| now.fingerprints.new_content(None)).collect();
    let version = |tree: &Tree, id| {
        let file = tree.file(id);
        (tree.absolute_path(id), tree.key(id), file.size, file.mtime_ns, file.ctime_ns)
    };
    let old: BTreeMap<_, _> = ids(&before.tree).map(|id| (version(&before.tree, id), id)).collect();
    for id in ids(&now.tree) {
        if let Some(known) = old.get(&version(&now.tree, id)) {
            copy(&before.fingerprints, known.0, &now.fingerprints, id.0, &contents);
        }
    }
}

/// Copies the fingerprints of one file. `contents` maps old content numbers to new ones.
pub(crate) fn copy(
    from: &Fingerprints,
    id: u32,
    to: &Fingerprints,
    new_id: u32,
    contents: &[ContentId],
) {
    if let Some(head) = from.head(id) {
        to.set_head(new_id, head);
    }
    if let Some(content) = from.content(id) {
        let new = contents[content.index()];
        to.set_content(new_id, new);
        if let Some(digest) = from.digest(content) {
            to.set_digest(new, digest);
        }
    }
}

/// Scans, creates `more`, scans again with the known fingerprints, and checks the groups.
fn scan_twice(before: &TreeBuilder, more: &TreeBuilder, setup: &Setup) -> Scan {
    let tree = before.make_temp();
    let first = setup.scan(&[&tree]);
    assert_groups(&naive_groups(&tree), &first.groups());
    more.make(&tree);
    let walked = setup.walk(&[&tree]);
    remember(&first, &walked);
    let second = walked.find(setup);
    assert_groups(&naive_groups(&tree), &second.groups());
    assert_eq!(second.problems().len(), 0);
    second
}

fn same(files: std::ops::Range<u64>, size: u64) -> TreeBuilder {
    files.fold(TreeBuilder::new(), |builder, i| builder.seeded(format!("same {i}"), 1, size))
}

#[test]
fn an_unchanged_tree_is_not_read_again() {
    let mut tree = TreeBuilder::new();
    for i in 0_u8..60 {
        let size = [10, 5000, 65_536, 70_000, 300_000][usize::from(i) % 5];
        tree = tree.differing(format!("{i}"), 1, size, size - 1, i % 7);
    }
    let tree = tree.file("empty 1", "").file("empty 2", "").make_temp();
    for open_files in [2, 32] {
        for hardlinks in [false, true] {
            let setup = setup().open_files(open_files).hardlinks(hardlinks).empty(true);
            let first = setup.scan(&[&tree]);
            assert!(first.opened() > 0 && first.found.known == 0);
            let listed = first.listed();
            let second = first.again(&setup);
            assert_eq!((second.opened(), second.bytes_read()), (0, 0));
            assert_eq!(second.found.known, second.found.candidates);
            assert!(second.listed() == listed);
        }
    }
}

#[test]
fn a_new_copy_of_known_files_is_the_only_file_read() {
    for size in [1000, 65_536, 70_000, 1_000_000] {
        for known in [2, 5, 50] {
            let scan = scan_twice(&same(0..known, size), &same(known..known + 1, size), &setup());
            // The engine reads the head of the new file to find files with the same head, and then
            // reads the whole file to compare it with their digest.
            assert!(scan.opened() <= 2, "{} files opened", scan.opened());
            assert!(scan.bytes_read() <= size + head_length(size), "{} bytes", scan.bytes_read());
            assert_eq!(scan.only_group().files.len() as u64, known + 1);
            assert_eq!(scan.found.known, known);
        }
    }
}

#[test]
fn a_new_file_with_a_unique_head_costs_one_head() {
    let more = TreeBuilder::new().differing("new", 1, 1_000_000, 7, 1);
    let scan = scan_twice(&same(0..5, 1_000_000), &more, &setup());
    assert_eq!((scan.opened(), scan.bytes_read()), (1, head_length(1_000_000)));
}

#[test]
fn a_new_file_that_differs_at_the_end_is_not_grouped() {
    let more = TreeBuilder::new().differing("new", 1, 500_000, 499_999, 1);
    let scan = scan_twice(&same(0..5, 500_000), &more, &setup());
    assert!(scan.opened() <= 2 && scan.bytes_read() <= 600_000);
}

#[test]
fn a_file_known_to_be_unique_is_grouped_with_a_later_copy() {
    for size in [1000, 70_000, 400_000] {
        for at in [0, size - 1] {
            for open_files in [2, 32] {
                let unlike = (1..5).fold(TreeBuilder::new(), |builder, i| {
                    builder.differing(format!("unlike {i}"), 1, size, at, i)
                });
                let more = TreeBuilder::new().differing("new", 1, size, at, 3);
                let scan = scan_twice(&unlike, &more, &setup().open_files(open_files));
                assert_eq!(scan.only_group().files.len(), 2);
                assert!(scan.only_group().digest.is_some());
            }
        }
    }
}

#[test]
fn the_first_file_of_a_size_is_read_only_after_a_second_appears() {
    let first = TreeBuilder::new().seeded("a", 1, 5000);
    let scan = scan_twice(&first, &TreeBuilder::new().seeded("b", 1, 5000), &setup());
    assert_eq!((scan.opened(), scan.bytes_read()), (2, 10_000));
}

#[test]
fn many_new_files_are_compared_with_many_known_ones() {
    let files = |range: std::ops::Range<u8>| {
        range.fold(TreeBuilder::new(), |builder, i| {
            builder.differing(format!("{i}"), 1, 150_000, 149_999, i % 11)
        })
    };
    for open_files in [2, 7, 100] {
        scan_twice(&files(0..40), &files(40..90), &setup().open_files(open_files));
    }
}

#[test]
fn a_known_file_that_changed_is_read_again() {
    let tree = same(0..5, 70_000).make_temp();
    let first = setup().scan(&[&tree]);
    let changed = tree.join("same 3");
    let mut bytes = std::fs::read(&changed).expect("just made");
    bytes[69_999] ^= 1;
    std::fs::write(&changed, bytes).expect("writable");
    let walked = setup().walk(&[&tree]);
    remember(&first, &walked);
    let id = walked.file(&changed).0;
    assert_eq!(walked.fingerprints.content(id), None);
    let scan = walked.find(&setup());
    assert_groups(&naive_groups(&tree), &scan.groups());
    assert_eq!(scan.only_group().files.len(), 4);
}
