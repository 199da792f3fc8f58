//! Holes are not read but count as zeros.

use testkit::{Content, TreeBuilder, assert_groups, groups_of, naive_groups, relative_to, skipped};

use crate::scan::setup;

const TERABYTE: u64 = 1 << 40;

#[test]
fn equal_files_of_a_terabyte_of_holes_are_grouped_almost_unread() {
    let tree = TreeBuilder::new()
        .sparse("a", TERABYTE, &[])
        .sparse("b", TERABYTE, &[])
        .sparse("island 1", TERABYTE, &[(TERABYTE - 5, b"land")])
        .sparse("island 2", TERABYTE, &[(TERABYTE - 5, b"land")])
        .sparse("another island", TERABYTE, &[(TERABYTE / 3, b"land")])
        .make_temp();
    for inline_reads in [false, true] {
        let scan = setup().inline_reads(inline_reads).scan(&[&tree]);
        let expected = groups_of([["a", "b"], ["island 1", "island 2"]]);
        assert_groups(&expected, &relative_to(tree.path(), &scan.groups()));
        assert!(scan.bytes_read() < 16 << 20, "{} bytes read", scan.bytes_read());
        for group in scan.found.groups.iter() {
            assert_eq!(group.digest, None);
            assert!(group.reclaimable < 1 << 20, "{} bytes reclaimable", group.reclaimable);
        }
        let again = scan.again(&setup());
        assert_eq!((again.opened(), again.found.groups.len()), (0, 2));
    }
}

#[test]
fn a_pair_and_a_three_of_terabytes_need_no_heads() {
    for files in [2, 3] {
        let names = ["a", "b", "c"];
        let build = |builder: TreeBuilder, name: &&str| builder.sparse(*name, TERABYTE, &[]);
        let tree = names[..files].iter().fold(TreeBuilder::new(), build).make_temp();
        let scan = setup().scan(&[&tree]);
        assert_eq!(scan.only_group().files.len(), files);
        assert!(scan.bytes_read() < 1 << 20);
    }
}

#[test]
fn files_of_the_maximum_size_cause_no_overflow() {
    let most = u64::try_from(i64::MAX).expect("positive");
    let tree = testkit::TempTree::new_in(std::path::Path::new("/dev/shm"));
    let make = |name: &str| std::fs::File::create(tree.join(name)).and_then(|f| f.set_len(most));
    if let Err(e) = make("a").and_then(|()| make("b")).and_then(|()| make("c")) {
        return skipped(format!("no file of 8 EiB: {e}"));
    }
    let scan = setup().scan(&[&tree]);
    assert_eq!((scan.only_group().files.len(), scan.only_group().reclaimable), (3, 0));
}

#[test]
fn a_hole_equals_written_zeros() {
    for size in [1000, 65_536, 70_000, 3_000_000, 5_000_001] {
        let length = usize::try_from(size).expect("small");
        let tree = TreeBuilder::new()
            .sparse("hole", size, &[])
            .file("zeros", vec![0; length])
            .sparse("half", size, &[(size / 2, &vec![0; length / 4])])
            .sparse("one", size, &[(size - 1, b"1")])
            .file("one written", [vec![0; length - 1], b"1".to_vec()].concat())
            .file("early one", [b"1".to_vec(), vec![0; length - 1]].concat())
            .make_temp();
        let expected = groups_of([vec!["hole", "zeros", "half"], vec!["one", "one written"]]);
        for open_files in [2, 32] {
            let scan = setup().open_files(open_files).scan(&[&tree]);
            assert_groups(&expected, &relative_to(tree.path(), &scan.groups()));
        }
    }
}

#[test]
fn data_between_holes_is_compared() {
    let size = 20_000_000;
    let mut builder = TreeBuilder::new();
    for (i, at) in
        [0, 1, 4095, 65_535, 65_536, 1 << 20, 10_000_001, size - 1].into_iter().enumerate()
    {
        for copy in 0..2 {
            builder = builder.sparse(format!("{i} {copy}"), size, &[(at, b"x")]);
        }
        builder = builder.sparse(format!("{i} unlike"), size, &[(at, b"y")]);
    }
    let dense = Content::Sparse { len: size, islands: vec![(4095, b"x".to_vec())] }.bytes();
    let tree = builder.file("2 dense", dense).make_temp();
    let expected = naive_groups(&tree);
    assert_eq!(expected.len(), 8);
    assert_groups(&expected, &setup().scan(&[&tree]).groups());
}
