//! Tests of [`from_list`].

use std::path::PathBuf;

use runtime::{Interrupted, Progress};
use testkit::{PathBytes, TempTree, TreeBuilder};
use walk::{Filter, Tree, from_list};

use crate::found::{filter, ids, in_memory, paths, problems};

fn listed(tree: &TempTree, names: &[&str], filter: &Filter) -> Tree {
    let paths = names.iter().map(|name| tree.join(*name));
    from_list(paths, filter, &Progress::default()).expect("not stopped")
}

#[test]
fn listed_files_are_found_and_other_entries_skipped() {
    let tree = TreeBuilder::new()
        .file("a", "1")
        .file("d/b", "22")
        .file("d/c", "333")
        .file("empty", "")
        .symlink("link", "a")
        .fifo("fifo")
        .socket("socket")
        .make_temp();
    let names = ["d/c", "a", "d", "link", "fifo", "socket", "empty", "d/b", "d/c", "gone"];
    let found = listed(&tree, &names, &Filter::default());
    assert_eq!(paths(&found).len(), 3);
    assert_eq!((found.roots().len(), found.dirs().len()), (2, 2));
    let skipped = found.skipped;
    assert_eq!((skipped.symlinks, skipped.fifos, skipped.sockets), (1, 1, 1));
    assert_eq!((skipped.empty, skipped.seen_before), (1, 1));
    let reported = problems(&found);
    assert!(reported.keys().eq([tree.join("gone").path_bytes()]), "{reported:?}");
    let sizes: Vec<u64> = ids(&found).map(|id| found.file(id).size).collect();
    assert_eq!(sizes.iter().sum::<u64>(), 6);
}

#[test]
fn further_names_of_a_file_are_counted_without_files_that_are_listed_twice() {
    let tree =
        TreeBuilder::new().hard_links("123", &["a", "d/b", "d/c"]).file("x", "1").make_temp();
    let further = |names: &[&str]| {
        let walk::FurtherNames { count, bytes } =
            listed(&tree, names, &Filter::default()).further_names();
        (count, bytes)
    };
    assert_eq!(further(&["a", "x"]), (0, 0));
    assert_eq!(further(&["a", "d/b", "d/c", "x"]), (2, 6));
    assert_eq!(further(&["a", "a", "d/b", "d/../d/b"]), (1, 3));
}

#[test]
fn the_order_of_the_list_does_not_matter() {
    let tree = TreeBuilder::new().file("a", "1").file("d/b", "22").file("d/c", "333").make_temp();
    let names = ["a", "d/b", "d/c", "d/../a", "d/../d/b"];
    for first in 0..names.len() {
        let mut names = names;
        names.rotate_left(first);
        let found = listed(&tree, &names, &Filter::default());
        assert_eq!((found.files().len(), found.skipped.seen_before), (3, 2));
    }
}

#[test]
fn lists_are_filtered_by_size_name_and_pattern() {
    let tree = TreeBuilder::new()
        .file("a.txt", "1")
        .file("b.txt", "22")
        .file("c.log", "333")
        .file(".d.txt", "4444")
        .make_temp();
    let names = ["a.txt", "b.txt", "c.log", ".d.txt"];
    let taken = |filter: &Filter| listed(&tree, &names, filter).files().len();
    assert_eq!(taken(&filter(|f| (f.min_size, f.max_size) = (2, 3))), 2);
    assert_eq!(taken(&filter(|f| f.hidden = false)), 3);
    let patterns = Filter::default().with_patterns(&["*.txt".into()], &["b*".into()]);
    assert_eq!(taken(&patterns.expect("patterns")), 2);
}

#[test]
fn a_list_may_name_ten_thousand_directories() {
    let tree = in_memory();
    for i in 0..10_000 {
        let dir = tree.join(i.to_string());
        std::fs::create_dir(&dir).expect("write");
        std::fs::write(dir.join("file"), i.to_string()).expect("write");
    }
    let paths = (0..10_000).map(|i| tree.join(format!("{i}/file")));
    let found = from_list(paths, &Filter::default(), &Progress::default()).expect("not stopped");
    assert_eq!((found.files().len(), found.roots().len()), (10_000, 10_000));
}

#[test]
fn a_stopped_list_is_interrupted() {
    let progress = Progress::default();
    let mut left = 10;
    let endless = std::iter::repeat_with(|| {
        left -= 1;
        if left == 0 {
            progress.stop();
        }
        PathBuf::from("Cargo.toml")
    });
    assert!(matches!(from_list(endless, &Filter::default(), &progress), Err(Interrupted)));
    let none = std::iter::empty();
    assert_eq!(
        from_list(none, &Filter::default(), &progress).expect("nothing to stop").files().len(),
        0
    );
}
