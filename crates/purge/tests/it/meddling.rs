//! Tests in which other processes change the tree during a run by swapping, adding or removing
//! entries.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use runtime::Progress;
use testkit::{
    AttackOptions, Attacker, Compare, Snapshot, Swap, TEST_TIMEOUT, TempTree, TreeBuilder,
    assert_same,
};

use crate::world::{remove, target, usual, ways};

/// Minimum duration of the attacks.
const BUDGET: Duration = Duration::from_secs(6);

fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for i in 0..300 {
        for dir in ["a", "b/c", "d/e/f", "g/h"] {
            tree = tree.file(format!("{dir}/{}/{i}", i % 10), "x");
        }
    }
    tree
}

#[test]
fn entries_swapped_for_links_are_not_followed() {
    let (start, mut swaps, mut links, mut rounds) = (Instant::now(), 0, 0, 0);
    let is_enough = |swaps, links| swaps > 500 && links > 50;
    while start.elapsed() < BUDGET || rounds < 8 || !is_enough(swaps, links) {
        assert!(start.elapsed() < TEST_TIMEOUT, "{swaps} swaps, {links} for links");
        for way in ways() {
            let (place, outside) = (TempTree::new(), TempTree::new());
            let root = place.join("tree");
            tree().make(&root);
            let options = AttackOptions { links_inside: 8, ..AttackOptions::default() };
            let attacker = Attacker::start(&[&root], &outside, rounds, options);
            let (bait, held) = (attacker.bait(), attacker.held());
            let laid = Snapshot::of(&bait);
            let outcome = remove(&root, &way);
            let did = attacker.stop();
            swaps += did.total();
            links += did.of(Swap::DirForLink) + did.of(Swap::FileForLink);
            rounds += 1;
            assert_same(&laid, &Snapshot::of(&bait), Compare::ALL);
            // Entries that the attacker could not put back are outside the tree. The run must not
            // have removed them.
            assert!(held.exists());
            assert!(outcome.files > 0);
        }
    }
}

#[test]
fn a_file_that_replaced_the_checked_one_stays() {
    let tree = TreeBuilder::new().file("checked", "old").file("other", "new").make_temp();
    let path = tree.join("checked");
    let checked = target(&path);
    fs::rename(tree.join("other"), &path).expect("is replaced");
    let (outcome, _) = purge::purge(&[checked], &usual(), &Progress::default(), None);
    assert!(matches!(outcome.problems[0].reason, purge::Reason::Moved), "{outcome:?}");
    assert_eq!(fs::read(&path).expect("is there"), b"new");
}

#[test]
fn the_run_ends_even_if_names_are_added() {
    for way in ways() {
        let place = TempTree::new();
        let root = place.join("tree");
        tree().make(&root);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for adder in 0..2 {
                let (root, done) = (&root, &done);
                scope.spawn(move || {
                    for number in 0u64.. {
                        if done.load(Relaxed) {
                            return;
                        }
                        let dir = root.join(format!("a/{}", number % 10));
                        let _gone = fs::create_dir_all(&dir);
                        let _gone = fs::write(dir.join(format!("new {adder} {number}")), "x");
                        // Without a pause, names could be added faster than they are removed. The
                        // run would then end after 16 listings, each of which takes longer than the
                        // one before.
                        thread::sleep(Duration::from_millis(2));
                    }
                });
            }
            let outcome = remove(&root, &way);
            done.store(true, Relaxed);
            assert!(outcome.files >= 1200);
        });
    }
}

#[test]
fn concurrent_runs_on_one_tree_succeed() {
    for way in ways() {
        let place = TempTree::new();
        let root = place.join("tree");
        tree().make(&root);
        let targets: Vec<_> = (0..3).map(|_| crate::world::target(&root)).collect();
        let removed: u64 = thread::scope(|scope| {
            let way = &way;
            let remove = |target| {
                let progress = runtime::Progress::default();
                let (outcome, _) = purge::purge(&[target], way, &progress, None);
                assert!(outcome.problems.is_empty(), "{:?}", outcome.problems);
                outcome.files
            };
            let all: Vec<_> =
                targets.into_iter().map(|target| scope.spawn(move || remove(target))).collect();
            all.into_iter().map(|one| one.join().expect("no panic")).sum()
        });
        assert_eq!(removed, 1200, "each name is removed exactly once");
        assert!(!root.exists());
    }
}
