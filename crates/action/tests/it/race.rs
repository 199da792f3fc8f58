//! An attacker moves entries around during a run or an undo. No content is lost, and nothing
//! outside of the tree is touched.
//!
//! All content is in the tree, in the attacker's directory, or in a staging directory. Attacks on newly created names
//! are rare: a run creates entries in its staging directory, where no other process can interfere, and then moves them
//! into the tree.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use action::plan::Kind;
use action::run::Runs;
use testkit::{
    AttackOptions, Attacker, Compare, Snapshot, Swap, TEST_TIMEOUT, TempTree, TreeBuilder,
    assert_contents_kept, assert_same, skipped,
};

use crate::world::{World, apply, plans, undo};

/// The default total duration of all races. `RACE_SECONDS` overrides this value.
const BUDGET: Duration = Duration::from_secs(32);
const KINDS: [Kind; 4] = [Kind::Hardlink, Kind::Delete, Kind::Symlink, Kind::Quarantine];

/// All kinds of swaps that do not exchange directories.
const ON_FILES: [Swap; 4] = [Swap::Files, Swap::FileForLink, Swap::Away, Swap::Fresh];

/// Statistics of several rounds of attacks.
#[derive(Debug, Default)]
struct Account {
    rounds: u64,
    done: u64,
    refused: u64,
    undone: u64,
    left: u64,
    swaps: usize,
    fresh: usize,
    links: usize,
    stranded: usize,
}

impl Account {
    /// Returns whether there were enough attacks and actions for the test to be meaningful.
    fn is_enough(&self) -> bool {
        let attacked = self.swaps > 1000 && self.links > 100;
        attacked && self.done > 100 && self.refused > 10 && self.undone > 50
    }
}

fn budget() -> Duration {
    let seconds = std::env::var("RACE_SECONDS").ok().and_then(|text| text.parse().ok());
    seconds.map_or(BUDGET, Duration::from_secs)
}

/// Returns a tree with duplicates in several directories. Some of the files have hard links.
fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for i in 0..150u64 {
        for dir in ["a", "b", "c/d"] {
            tree = tree.seeded(format!("{dir}/{i}"), i, 300 + i);
        }
        tree = tree.hard_link(format!("b/{i}"), format!("e/link {i}"));
    }
    tree.seeded("a/alone", 999, 3000)
}

/// Asserts that all content is in the tree, in an attacker's directory, or in a staging directory.
fn judge(before: &Snapshot, world: &World, held: &[PathBuf]) {
    let stores = world.stores();
    let places = [&world.tree].into_iter().chain(held).chain(&stores);
    let places: Vec<Snapshot> = places.map(Snapshot::of).collect();
    assert_contents_kept(before, &places.iter().collect::<Vec<_>>());
}

/// Runs one round, which consists of a run during attacks, an undo during attacks, and an undo without attacks.
fn round(kind: Kind, seed: u64, account: &mut Account) {
    let world = World::new(&tree());
    let outside = TempTree::new();
    let before = world.snapshot();
    let planned = plans(&world.tree, kind);
    let mut held = Vec::new();
    for turn in 0..2 {
        let options = AttackOptions {
            kinds: if seed.is_multiple_of(3) { Swap::ALL.to_vec() } else { ON_FILES.to_vec() },
            links_inside: if turn == 0 { 3 } else { 0 },
            // Only fast attackers hit short race windows, but only with slow attackers does the run get that far.
            rest: Duration::from_micros(20 + seed % 7 * 150),
            longest_dwell: Duration::from_micros(seed % 5 * 100),
        };
        let place = outside.join(format!("{turn}"));
        let attacker = Attacker::start(&[&world.tree], place, seed, options);
        let bait = attacker.bait();
        held.push(attacker.held());
        let laid = Snapshot::of(&bait);
        if turn == 0 {
            let runs = Runs::open(&world.runs, |_| {}).expect("opens");
            let (outcome, ended) = apply(&runs, kind, planned.clone(), 2);
            ended.expect("ends");
            account.done += outcome.done;
            account.refused += outcome.refused.len() as u64;
        } else if let Some(undone) = undo(&world.runs) {
            account.undone += undone.done;
            account.left += undone.refused.len() as u64;
        }
        let swaps = attacker.stop();
        account.swaps += swaps.total();
        account.fresh += swaps.of(Swap::Fresh);
        account.links += swaps.of(Swap::FileForLink) + swaps.of(Swap::DirForLink);
        account.stranded += swaps.stranded;
        assert_same(&laid, &Snapshot::of(&bait), Compare::ALL);
        judge(&before, &world, &held);
    }
    while undo(&world.runs).is_some_and(|undone| undone.done > 0) {}
    judge(&before, &world, &held);
    account.rounds += 1;
}

#[test]
#[expect(clippy::print_stdout, reason = "prints the statistics of the races")]
fn no_content_is_lost_while_an_attacker_moves_everything_around() {
    if !testkit::is_root() {
        return skipped("the attack requires root");
    }
    let start = Instant::now();
    let mut account = Account::default();
    for seed in 0.. {
        round(KINDS[usize::try_from(seed % 4).expect("small")], seed, &mut account);
        if start.elapsed() >= budget() && account.is_enough() {
            break;
        }
        assert!(start.elapsed() < budget() + TEST_TIMEOUT, "{account:?}");
    }
    println!("{account:?}");
}
