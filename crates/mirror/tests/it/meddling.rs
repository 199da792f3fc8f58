//! Attackers replace entries of both trees with links that lead outside.

use std::time::{Duration, Instant};

use testkit::{
    AttackOptions, Attacker, Compare, Snapshot, Swap, TEST_TIMEOUT, TempTree, TreeBuilder,
    assert_same,
};

use crate::world::{Ends, deleting, try_mirror, with};

/// The total duration of all attacks.
const BUDGET: Duration = Duration::from_secs(8);

fn tree(seed: u64) -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for i in 0..150u64 {
        for (at, dir) in ["a", "b/c", "d/e/f", "g/h"].into_iter().enumerate() {
            tree = tree.seeded(format!("{dir}/{}/{i}", i % 10), seed + i % 7, 1000 + at as u64);
        }
        tree = tree.hard_link(format!("a/{}/{i}", i % 10), format!("d/link {i}"));
    }
    tree
}

/// Creates files outside the trees, with contents that do not occur in the trees.
fn outside(place: &TempTree) {
    let mut tree = TreeBuilder::new();
    for i in 0..20u64 {
        tree = tree.seeded(format!("secret {i}"), 1_000_000 + i, 777);
    }
    tree.make(place);
}

#[test]
pub(crate) fn an_attacker_who_swaps_entries_for_links_gains_nothing() {
    let (start, mut swaps, mut links, mut rounds) = (Instant::now(), 0, 0, 0);
    let is_enough = |swaps, links| swaps > 500 && links > 50;
    while start.elapsed() < BUDGET || rounds < 8 || !is_enough(swaps, links) {
        assert!(start.elapsed() < TEST_TIMEOUT, "{swaps} swaps, {links} for links");
        for attacked in ["from", "to"] {
            let (place, bait) = (TempTree::new(), TempTree::new());
            let (from, to) = (place.join("from"), place.join("to"));
            tree(1).make(&from);
            tree(3).make(&to);
            outside(&bait);
            let options = AttackOptions { links_inside: 8, ..AttackOptions::default() };
            let root = place.join(attacked);
            let attacker = Attacker::start(&[&root], &bait, rounds, options);
            let laid = Snapshot::of(attacker.bait());
            let bait_at = attacker.bait();
            let options = mirror::Options { threads: with(2).threads, ..deleting() };
            for _ in 0..3 {
                let _outcome = try_mirror(&from, &to, &options);
            }
            let did = attacker.stop();
            swaps += did.total();
            links += did.of(Swap::DirForLink) + did.of(Swap::FileForLink);
            rounds += 1;
            assert_same(&laid, &Snapshot::of(&bait_at), Compare::ALL);
        }
    }
}

/// An attacker who replaces an entry of the source with a link must not be able to read the target through the copy.
/// The test fails if the copy contains the content of a file outside the source.
#[test]
pub(crate) fn nothing_outside_is_read() {
    let place = TempTree::new();
    let (from, to, bait) = (place.join("from"), place.join("to"), place.join("bait"));
    tree(1).make(&from);
    TreeBuilder::new()
        .file("secret", "a secret")
        .dir("secrets")
        .file("secrets/0", "a secret")
        .make(&bait);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let names = [("a/0/0", "secret"), ("a/1", "secrets"), ("d", "secrets")];
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                for (name, target) in names {
                    let (name, aside) = (from.join(name), place.join("aside"));
                    std::fs::rename(&name, &aside).expect("moved");
                    std::os::unix::fs::symlink(bait.join(target), &name).expect("linked");
                    std::thread::sleep(Duration::from_micros(200));
                    std::fs::remove_file(&name).expect("removed");
                    std::fs::rename(&aside, &name).expect("moved back");
                }
            }
        });
        let ends = Ends(&done);
        let start = Instant::now();
        let mut rounds = 0;
        while start.elapsed() < Duration::from_secs(4) || rounds < 20 {
            let _outcome = try_mirror(&from, &to, &with(2));
            let copied = Snapshot::of(&to);
            let secret = Snapshot::of(&bait).contents();
            assert!(copied.contents().is_disjoint(&secret));
            std::fs::remove_dir_all(&to).expect("removed");
            rounds += 1;
        }
        drop(ends);
    });
}
