//! Tests with random trees.

use std::ffi::CStr;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Dir, Stat};
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use proptest::sample::select;
use runtime::Progress;
use testkit::{TempTree, random_tree};
use walk::{Visitor, walk};

use crate::found::{actual, expected, found_with, ids, options, workers};

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn every_regular_file_is_found_once(
        tree in random_tree(80),
        threads in select(vec![0, 1, 2, 8]),
        open_dirs in select(vec![0, 1, 2, 64]),
        empty in any::<bool>(),
    ) {
        let temp = TempTree::new();
        tree.make(&temp);
        let mut options = options();
        (options.threads.first, options.open_dirs, options.filter.empty) = (threads, open_dirs, empty);
        let mut files = expected(temp.path());
        let all = files.len();
        files.retain(|_, (size, _)| empty || *size > 0);
        let found = found_with(&[&temp], &options);
        prop_assert_eq!(&actual(&found), &files);
        prop_assert_eq!(found.problems.len(), 0);
        prop_assert_eq!(found.skipped.empty, (all - files.len()) as u64);
    }

    #[test]
    fn paths_are_compared_without_building_them(tree in random_tree(60)) {
        // Names that differ from a directory only by a byte that sorts before or after the slash.
        let other = testkit::TreeBuilder::new();
        let names = ["d/x", "d.b", "d0", "d/y/z", "d/y.z", "d/y/a/b", "d-/a"];
        let other = names.iter().fold(other, |other, name| other.file(name, *name)).make_temp();
        let temp = TempTree::new();
        tree.make(&temp);
        let tree = found_with(&[temp.path(), other.path()], &options());
        for a in ids(&tree) {
            for b in ids(&tree) {
                prop_assert_eq!(tree.compare_paths(a, b), tree.path(a).cmp(&tree.path(b)));
            }
        }
    }

    #[test]
    fn a_visitor_sees_every_file_and_its_notes_are_stored(
        tree in random_tree(60),
        threads in select(vec![1, 8]),
    ) {
        let temp = TempTree::new();
        tree.make(&temp);
        let (visitor, progress) = (Sizes::default(), Progress::default());
        let options = walk::Options { threads: workers(threads), ..options() };
        // A root that is a file has no note, and must not shift the notes of other files.
        let outside = testkit::TreeBuilder::new().file("lone", "lone").make_temp();
        let roots = [outside.join("lone"), temp.path().to_path_buf()];
        let tree = walk(&roots, &options, Some(&visitor), &progress).expect("not stopped");
        let mut seen = visitor.0.into_inner().expect("no panic");
        seen.sort_unstable();
        let mut sizes: Vec<u64> = expected(temp.path()).into_values().map(|(size, _)| size).collect();
        sizes.sort_unstable();
        prop_assert_eq!(&seen, &sizes);
        for id in ids(&tree) {
            let note = tree.notes.get(id.0 as usize).copied().unwrap_or_default();
            let lone = tree.path(id).ends_with(b"/lone");
            prop_assert_eq!(note, if lone { [0, 0] } else { [tree.file(id).size + 1, 1] });
        }
        prop_assert_eq!(progress.bytes_seen.load(Relaxed), sizes.iter().sum::<u64>());
    }
}

/// Visitor whose note has the file size plus one.
#[derive(Default)]
struct Sizes(Mutex<Vec<u64>>);

impl Visitor for Sizes {
    fn file(&self, dir: &Dir, name: &CStr, stat: &Stat) -> walk::Note {
        let again = dir.stat_child(name).expect("metadata");
        assert!(again.same_version(stat));
        self.0.lock().expect("no panic").push(stat.size);
        [stat.size + 1, 1]
    }
}
