//! Walks of the parts of a tree.

use std::collections::BTreeSet;

use testkit::{TempTree, TreeBuilder};
use walk::{Filter, Shard};

use crate::found::{found_with, names, options};

fn tree() -> TempTree {
    let mut tree = TreeBuilder::new().file("in the root", "1").file(b"odd \xff\n", "2");
    for group in 0..4 {
        for user in 0..5 {
            for project in 0..3 {
                let dir = format!("g{group}/u{user}/p{project}");
                tree =
                    tree.file(format!("{dir}/data/1/file"), "3").file(format!("{dir}/file"), "4");
            }
            tree = tree.file(format!("g{group}/u{user}/file"), "5");
        }
    }
    tree.make_temp()
}

#[test]
fn the_parts_are_disjoint_and_together_the_whole() {
    let tree = tree();
    let all: BTreeSet<String> =
        names(&tree, &found_with(&[&tree], &options())).into_iter().collect();
    for of in [1, 2, 7, 64] {
        let mut together = BTreeSet::new();
        for number in 1..=of {
            let mut filter = Filter::default();
            filter.shard = Shard::new(number, of);
            let walked = found_with(&[&tree], &walk::Options { filter, ..options() });
            assert_eq!(walked.problems.len(), 0);
            for name in names(&tree, &walked) {
                assert!(together.insert(name.clone()), "{name} is in several of {of} parts");
            }
            // Only the upper directories, and those of the part, are listed.
            let dirs = walked.dirs().len();
            assert!(of == 1 || dirs < 150, "part {number} of {of} lists {dirs} directories");
        }
        assert_eq!(together, all, "{of} parts");
    }
}
