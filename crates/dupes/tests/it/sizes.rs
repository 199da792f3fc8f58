//! Tests of files with sizes around the engine's thresholds, of more files of one size than can be
//! open at once, and of the number of bytes read.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use content::head_length;
use testkit::{PathBytes, TempTree, TreeBuilder, assert_groups, disk_space, naive_groups, skipped};

use crate::scan::{Scan, setup};

/// Sizes around 16 KiB (read first), 64 KiB (read whole), 64 KiB to 1 MiB (read per round) and 256
/// KiB (hashed at a time).
const SIZES: [u64; 16] = [
    1, 2, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 131_071, 131_073, 262_144, 262_145,
    1_048_575, 1_048_576, 1_048_577, 2_500_000,
];

/// Returns the sizes that are read in a few steps. These sizes are used for trees that are created
/// repeatedly.
fn up_to_some_reads() -> impl Iterator<Item = u64> {
    SIZES.into_iter().filter(|&size| size < 1_000_000)
}

#[test]
fn group_digests_match_b3sum() {
    let places = ["/opt/peers/bin/b3sum", "/usr/bin/b3sum", "/usr/local/bin/b3sum"];
    let Some(b3sum) = places.into_iter().find(|path| Path::new(path).is_file()) else {
        return skipped("b3sum is not installed");
    };
    let tree = up_to_some_reads().fold(TreeBuilder::new(), variants).make_temp();
    for open_files in [2, 32] {
        let scan = setup().open_files(open_files).scan(&[&tree]);
        for group in scan.found.groups.iter() {
            let mut command = Command::new(b3sum);
            command.arg("--no-names");
            command.args(group.files.iter().map(|&f| scan.tree.path(f).to_path()));
            let output = command.output().expect("b3sum runs");
            let printed = String::from_utf8(output.stdout).expect("hexadecimal");
            let digest = group.digest.expect("small files have a digest").to_string();
            assert_eq!(printed.lines().count(), group.files.len());
            assert!(printed.lines().all(|line| line == digest), "{printed} is not {digest}");
        }
    }
}

/// Adds pairs of files of one size. The two files of each pair are identical, and the pairs differ
/// in their first byte, a middle byte or their last byte.
fn variants(mut builder: TreeBuilder, size: u64) -> TreeBuilder {
    for (name, at) in [("first", 0), ("middle", size / 2), ("last", size - 1)] {
        for variant in 1..3 {
            for copy in ["a", "b"] {
                let path = format!("{size}/{name} {variant} {copy}");
                builder = builder.differing(path, size, size, at, variant);
            }
        }
    }
    builder.seeded(format!("{size}/alone"), size, size)
}

#[test]
fn files_that_differ_in_one_byte_are_distinguished_at_every_boundary() {
    let tree = SIZES.into_iter().fold(TreeBuilder::new(), variants).make_temp();
    let expected = naive_groups(&tree);
    // In a file of size 1, the first, middle and last byte are the same, so there are only two
    // variants. Size 2 has four.
    assert_eq!(expected.len(), 2 + 4 + 6 * (SIZES.len() - 2));
    for open_files in [2, 3, 32] {
        for inline_reads in [false, true] {
            let scan = setup().open_files(open_files).inline_reads(inline_reads).scan(&[&tree]);
            assert_groups(&expected, &scan.groups());
        }
    }
}

#[test]
fn pairs_and_threes_are_compared_without_heads() {
    for size in SIZES {
        for at in [0, size / 2, size - 1] {
            let tree =
                TreeBuilder::new().seeded("a", 1, size).differing("b", 1, size, at, 1).make_temp();
            assert!(setup().scan(&[&tree]).found.groups.is_empty(), "{size} bytes, byte {at}");
            TreeBuilder::new().differing("c", 1, size, at, 1).make(&tree);
            let scan = setup().scan(&[&tree]);
            let names = scan.only_group().files.iter().map(|&f| scan.tree.name(f).to_bytes());
            assert!(names.eq([b"b", b"c"]), "{size} bytes, byte {at}");
        }
    }
}

/// Creates `files` files with `contents` distinct contents, all of which are the same up to offset
/// `at`.
fn class(files: u64, contents: u64, size: u64, at: u64) -> TreeBuilder {
    (0..files).fold(TreeBuilder::new(), |builder, i| {
        let variant = u8::try_from(i % contents).expect("few contents");
        builder.differing(format!("{}/{i}", i % 7), 1, size, at, variant)
    })
}

#[test]
fn classes_with_more_files_than_can_be_open_are_split_by_digests() {
    for (files, contents, size, at) in [
        (40, 1, 70_000, 0),
        (40, 40, 200_000, 199_999),
        (40, 13, 600_000, 130_000),
        (40, 3, 1_060_000, 1_048_576),
        (100, 30, 100_000, 99_999),
        (100, 2, 60_000, 30_000),
        (100, 100, 65_536, 65_535),
        (100, 51, 65_537, 65_536),
    ] {
        let tree = class(files, contents, size, at).make_temp();
        let expected = naive_groups(&tree);
        for (threads, open_files) in [(2, 32), (8, 2), (1, 3)] {
            let scan = setup().threads(threads).open_files(open_files).scan(&[&tree]);
            assert_groups(&expected, &scan.groups());
            // Reading heads, prefixes and whole files takes at most 1/7 more bytes than reading all
            // files twice.
            let most = 2 * files * size + files * size / 7 + files * head_length(size);
            assert!(scan.bytes_read() <= most, "{} of {most} bytes read", scan.bytes_read());
        }
    }
}

#[test]
fn files_that_differ_early_are_not_read_to_the_end() {
    for (files, open_files) in [(2, 32), (3, 32), (20, 32), (40, 32), (40, 2)] {
        let tree = class(files, files, 3_000_000, 100).make_temp();
        let scan = setup().open_files(open_files).scan(&[&tree]);
        assert!(scan.found.groups.is_empty());
        let heads = files * head_length(3_000_000);
        assert!(scan.bytes_read() <= heads, "{} of {heads} bytes read", scan.bytes_read());
        assert_eq!((scan.opened(), scan.found.candidates), (files, files));
    }
}

#[test]
fn a_file_with_a_unique_size_is_not_read() {
    let tree = (1..200).fold(TreeBuilder::new(), |b, i| b.seeded(i.to_string(), i, i * 50));
    let tree = tree.hard_links("two names, one file", &["one", "other"]).make_temp();
    for hardlinks in [false, true] {
        let scan = setup().hardlinks(hardlinks).scan(&[&tree]);
        assert_eq!((scan.opened(), scan.bytes_read(), scan.found.candidates), (0, 0, 0));
        assert_eq!(scan.found.groups.len(), usize::from(hardlinks));
    }
}

#[test]
fn a_file_with_several_names_is_read_once() {
    let tree = TreeBuilder::new()
        .hard_links(vec![b'x'; 1000], &["a1", "a2", "a3"])
        .hard_links(vec![b'x'; 1000], &["b1", "b2", "b3"])
        .make_temp();
    for hardlinks in [false, true] {
        let scan = setup().hardlinks(hardlinks).scan(&[&tree]);
        assert_eq!((scan.opened(), scan.bytes_read()), (2, 2000));
        let group = scan.only_group();
        let (files, freed) = (if hardlinks { 6 } else { 2 }, disk_space(tree.join("a1")));
        assert_eq!((group.files.len(), group.inodes, group.reclaimable), (files, 2, freed));
    }
}

/// Creates a tree with files for every outcome: unique, identical, or different near the beginning
/// or the end, in small and large classes.
fn every_outcome() -> TempTree {
    let mut builder = up_to_some_reads().fold(TreeBuilder::new(), variants);
    for i in 0..90 {
        builder = builder.differing(format!("many/{i}"), 5, 300_000, 150_000 * (i % 2), 1);
    }
    let holes = builder.sparse("hole 1", 1 << 30, &[]).sparse("hole 2", 1 << 30, &[]);
    holes.file("empty 1", "").file("empty 2", "").make_temp()
}

fn work_adds_up(scan: &Scan) {
    let load = |counter: &AtomicU64| counter.load(Relaxed);
    assert_eq!(load(&scan.progress.files_done), load(&scan.progress.files_total));
    assert_eq!(load(&scan.progress.bytes_done), load(&scan.progress.bytes_total));
}

#[test]
fn progress_counters_reach_their_totals() {
    let tree = every_outcome();
    for (open_files, inline_reads) in [(2, false), (32, false), (32, true)] {
        let setup = setup().open_files(open_files).inline_reads(inline_reads).empty(true);
        let scan = setup.scan(&[&tree]);
        work_adds_up(&scan);
        assert_eq!(scan.progress.files_done.load(Relaxed), scan.found.candidates);
        work_adds_up(&scan.again(&setup));
    }
}

#[test]
fn progress_counters_reach_their_totals_when_files_fail() {
    for (open_files, inline_reads) in [(2, true), (32, false)] {
        let tree = every_outcome();
        let setup = setup().open_files(open_files).inline_reads(inline_reads);
        let walked = setup.walk(&[&tree]);
        let changed =
            ["many/7", "many/8", "65537/last 1 a", "65537/alone", "hole 1", "262144/alone"];
        for path in changed {
            std::fs::write(tree.join(path), "much shorter").expect("writable");
        }
        let scan = walked.find(&setup);
        assert_eq!(scan.problems().len(), changed.len());
        work_adds_up(&scan);
        work_adds_up(&scan.again(&setup));
    }
}
