//! Tests of the attacker: it makes every kind of swap, destroys nothing, and catches careless
//! programs.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::{AttackOptions, Attacker, Swap};
use crate::snapshot::Kind;
use crate::{
    Compare, Snapshot, TEST_TIMEOUT, TempTree, TreeBuilder, assert_contents_kept, assert_same,
};

/// Returns a tree of nested directories. Each directory has some files with unique content and one
/// pair of identical files.
fn tree() -> TempTree {
    let dirs = ["", "a/", "a/b/", "a/b/c/", "d/", "d/e/", "f/", "g/"];
    let each = |tree: TreeBuilder, dir: &&str| {
        let tree = (0..4).fold(tree, |t, i| t.file(format!("{dir}{i}"), &*format!("{dir}{i}")));
        tree.file(format!("{dir}twin"), "twin").file(format!("{dir}other"), "twin")
    };
    dirs.iter().fold(TreeBuilder::new(), each).make_temp()
}

/// Returns the number of links to the bait in a tree.
fn links(snapshot: &Snapshot) -> usize {
    snapshot.entries.values().filter(|entry| matches!(entry.kind, Kind::Symlink(_))).count()
}

#[test]
fn alone_it_does_every_kind_of_swap_and_loses_nothing() {
    let (tree, outside) = (tree(), TempTree::new());
    let before = Snapshot::of(&tree);
    let options = AttackOptions { links_inside: 3, ..AttackOptions::default() };
    let attacker = Attacker::start(&[&tree], &outside, 1, options);
    let (bait, held) = (attacker.bait(), attacker.held());
    let laid = Snapshot::of(&bait);
    let started = Instant::now();
    let seen = |attacker: &Attacker| {
        let swaps = attacker.so_far();
        swaps.total() > 200 && Swap::ALL.iter().all(|kind| swaps.of(*kind) > 0)
    };
    let runs_on = |elapsed| elapsed < Duration::from_secs(1) || !seen(&attacker);
    for made in 0.. {
        if started.elapsed() > TEST_TIMEOUT || !runs_on(started.elapsed()) {
            break;
        }
        // Creates new names, like a program that replaces files.
        drop(fs::write(tree.join(format!("tmp-{made}")), "twin"));
        drop(fs::create_dir(tree.join(format!("dir-{made}"))));
        thread::sleep(Duration::from_millis(10));
    }
    let swaps = attacker.stop();
    for kind in Swap::ALL {
        assert!(swaps.of(kind) > 0, "no {kind:?}: {swaps:?}");
    }
    assert!(swaps.total() > 200, "{swaps:?}");
    let (after, held) = (Snapshot::of(&tree), Snapshot::of(&held));
    assert_contents_kept(&before, &[&after, &held]);
    let mut found = after.contents();
    found.extend(held.contents());
    assert_eq!(found, before.contents(), "nothing new either");
    assert_same(&laid, &Snapshot::of(&bait), Compare::ALL);
    assert_ne!(before.diff(&after, Compare::VISIBLE), [""; 0], "it did move things");
    assert!(links(&after) >= 3, "the links to the bait");
    let files = |s: &Snapshot| s.entries.values().filter(|e| e.kind == Kind::File).count();
    assert!(files(&after) + files(&held) >= files(&before), "no name is lost");
}

#[test]
fn only_requested_kinds_of_swaps_are_done() {
    let (tree, outside) = (tree(), TempTree::new());
    let options = AttackOptions { kinds: vec![Swap::DirForLink], ..AttackOptions::default() };
    let attacker = Attacker::start(&[&tree], &outside, 1, options);
    let deadline = Instant::now() + TEST_TIMEOUT;
    while attacker.so_far().dir_for_link < 50 && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    let swaps = attacker.stop();
    assert!(swaps.dir_for_link >= 50 && swaps.total() == swaps.dir_for_link, "{swaps:?}");
    // A single thread puts everything back.
    assert_eq!((swaps.stranded, links(&Snapshot::of(&tree))), (0, 0));
}

/// Replaces `other` with a link to `kept` if the files are equal at that moment. A careless program
/// does the same.
fn replace(kept: &Path, other: &Path) -> io::Result<()> {
    if fs::read(kept)? == fs::read(other)? {
        let temporary = other.with_extension("tmp");
        fs::hard_link(kept, &temporary)?;
        // The time that a journal may take.
        thread::sleep(Duration::from_micros(200));
        fs::rename(&temporary, other)?;
    }
    Ok(())
}

/// Returns the number of distinct contents that the careless program loses in one run on a new
/// tree.
fn lost_in_a_run(seed: u64) -> usize {
    let (tree, outside) = (tree(), TempTree::new());
    let before = Snapshot::of(&tree);
    let attacker = Attacker::start(&[&tree], &outside, seed, AttackOptions::default());
    let held = attacker.held();
    for _ in 0..20 {
        for dir in ["", "a/", "a/b/", "a/b/c/", "d/", "d/e/", "f/", "g/"] {
            let (kept, other) = (format!("{dir}twin"), format!("{dir}other"));
            drop(replace(&tree.join(kept), &tree.join(other)));
        }
    }
    let _swaps = attacker.stop();
    let mut kept = Snapshot::of(&tree).contents();
    kept.extend(Snapshot::of(&held).contents());
    before.contents().difference(&kept).count()
}

#[test]
fn a_program_that_trusts_paths_loses_content() {
    let deadline = Instant::now() + TEST_TIMEOUT;
    let lost =
        (0..u64::MAX).take_while(|_| Instant::now() < deadline).any(|seed| lost_in_a_run(seed) > 0);
    assert!(lost, "the attack harms nobody");
}

#[test]
fn a_program_that_follows_links_changes_the_bait() {
    let (tree, outside) = (tree(), TempTree::new());
    let options = AttackOptions { kinds: vec![Swap::DirForLink], ..AttackOptions::default() };
    let attacker = Attacker::start(&[&tree], &outside, 3, options);
    let bait = attacker.bait();
    let laid = Snapshot::of(&bait);
    let deadline = Instant::now() + TEST_TIMEOUT;
    let changed = || !laid.diff(&Snapshot::of(&bait), Compare::ALL).is_empty();
    while !changed() && Instant::now() < deadline {
        for dir in ["a/", "a/b/", "d/", "f/", "g/"] {
            drop(fs::remove_file(tree.join(format!("{dir}twin"))));
        }
    }
    let swaps = attacker.stop();
    assert!(changed(), "{swaps:?}");
}

#[test]
#[should_panic(expected = "it is below a root")]
fn an_outside_that_is_inside_is_refused() {
    let tree = tree();
    drop(Attacker::start(&[&tree], tree.join("a/outside"), 1, AttackOptions::default()));
}
