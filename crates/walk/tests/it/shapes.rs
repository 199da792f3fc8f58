//! Tests with deep, wide and bushy trees, and with trees of unusual entries.

use std::collections::BTreeSet;
use std::fs;

use testkit::{PathBytes, TempTree, TreeBuilder, deep_path, hostile_tree};

use crate::found::{
    actual, expected, found, found_once, found_with, in_memory, names, options, paths, problems,
    workers,
};

const LEVELS: usize = 3000;

#[test]
fn deep_chains_are_walked_to_the_end() {
    let tree = in_memory();
    TreeBuilder::new()
        .deep_chain(LEVELS, "one", "1")
        .deep_chain(LEVELS, "other one", "2")
        .file("at the top", "3")
        .make(&tree);
    let path = |below: Vec<u8>| [tree.path().path_bytes(), b"/", &below].concat();
    let all = BTreeSet::from([
        path(deep_path(LEVELS, "one")),
        path(deep_path(LEVELS, "other one")),
        path(b"at the top".to_vec()),
    ]);
    for (threads, open_dirs) in [(1, 1), (2, 2), (8, 100), (1, 400)] {
        let tree = found_with(
            &[&tree],
            &walk::Options { threads: workers(threads), open_dirs, ..options() },
        );
        assert!(paths(&tree) == all, "{threads} threads, {open_dirs} directories");
        assert_eq!((tree.problems.len(), tree.dirs().len()), (0, 2 * LEVELS + 1));
    }
}

#[test]
fn deep_trees_need_only_one_open_directory() {
    let mut builder = TreeBuilder::new();
    for level in 0..120 {
        let dir = "d/".repeat(level);
        builder = builder.file(format!("{dir}file"), "x").file(format!("{dir}side/e/file"), "y");
    }
    let tree = builder.make_temp();
    for (threads, open_dirs) in [(1, 1), (1, 3), (8, 1)] {
        let walked = found_with(
            &[&tree],
            &walk::Options { threads: workers(threads), open_dirs, ..options() },
        );
        assert_eq!(actual(&walked), expected(tree.path()));
    }
}

#[test]
fn a_directory_with_many_entries_is_listed_completely() {
    let tree = in_memory();
    for i in 0..100_000 {
        drop(fs::File::create(tree.join(i.to_string())).expect("write"));
    }
    let walked = found(&tree);
    assert_eq!((walked.files().len(), walked.problems.len()), (100_000, 0));
    assert!(names(&tree, &walked).iter().all(|name| name.parse::<u32>().is_ok()));
}

#[test]
fn a_thousand_directories_are_shared_among_the_workers() {
    let mut builder = TreeBuilder::new();
    for i in 0..1000 {
        builder = builder.file(format!("{}/{}/{}/file", i % 10, i % 50, i), "x");
    }
    let tree = in_memory();
    builder.make(&tree);
    let first = found_with(&[&tree], &walk::Options { threads: workers(1), ..options() });
    for _ in 0..10 {
        let walked = found_with(&[&tree], &walk::Options { threads: workers(8), ..options() });
        assert_eq!(paths(&walked), paths(&first));
        assert_eq!(walked.dirs().len(), first.dirs().len());
    }
}

#[test]
fn odd_names_are_kept_and_special_files_counted() {
    let tree = TempTree::new();
    hostile_tree(&tree);
    let walked = found(&tree);
    if testkit::is_root() {
        assert_eq!(actual(&walked), expected(tree.path()));
        assert_eq!(problems(&walked).len(), 0);
    } else {
        assert_eq!(problems(&walked).len(), 1);
    }
    let skipped = walked.skipped;
    assert_eq!((skipped.fifos, skipped.sockets, skipped.symlinks), (1, 1, 7));
    assert_eq!(skipped.devices, u64::from(testkit::is_root()));
    assert_eq!(skipped.empty, 0);
}

#[test]
fn entries_that_vanish_during_the_walk_are_reported() {
    let mut attempts = 0;
    for _ in 0..20 {
        let mut builder = TreeBuilder::new();
        for i in 0..300 {
            builder = builder.file(format!("{}/{i}/file", i % 20), "x");
        }
        let tree = in_memory();
        builder.make(&tree);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..20 {
                    fs::remove_dir_all(tree.join(i.to_string())).expect("remove");
                }
            });
            let walked = found_once(&[&tree], &walk::Options { threads: workers(4), ..options() });
            let gone = problems(&walked);
            assert!(gone.values().all(|reason| reason.contains("No such file")), "{gone:?}");
            attempts += 1;
        });
    }
    assert_eq!(attempts, 20);
}
