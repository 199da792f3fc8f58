//! Properties that hold for any tree, any kind of action and any rules: no content is lost, protected files are not
//! touched, and an undo restores everything.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use action::plan::Rule;
use action::plan::{Kind, Plan, Protection};
use action::run::Runs;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use proptest::sample::select;
use testkit::{Compare, RandomTree, TreeBuilder, assert_contents_kept, assert_same, random_tree};

use crate::child::output;
use crate::world::{World, apply, plans, plans_of, undo};

const KINDS: [Kind; 5] =
    [Kind::Hardlink, Kind::Delete, Kind::Symlink, Kind::Quarantine, Kind::Reflink];
const RULES: [&str; 9] = [
    "newest",
    "oldest",
    "shortest-path",
    "longest-path",
    "shallowest",
    "deepest",
    "first-root",
    "path:**/.d/**",
    "path:/nowhere",
];

fn rules() -> impl Strategy<Value = Vec<&'static str>> {
    prop_oneof![
        1 => Just(Vec::new()),
        4 => proptest::collection::vec(select(&RULES[..]), 1..3),
    ]
}

/// Returns the digests of all files below directories, computed by `find` and `sha256sum`.
fn sums(dirs: &[&Path]) -> BTreeSet<String> {
    let mut find = Command::new("find");
    // A staging directory has a manifest in addition to the files.
    find.args(dirs).args([
        "-type",
        "f",
        "!",
        "-name",
        "manifest.jsonl",
        "-exec",
        "sha256sum",
        "--zero",
        "{}",
        "+",
    ]);
    let output = output(&mut find).expect("find runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = output.stdout.split(|&b| b == 0).filter(|line| !line.is_empty());
    lines.map(|line| String::from_utf8_lossy(&line[..64]).into_owned()).collect()
}

/// Returns a pseudorandom number that depends only on the path and the seed.
fn dice(path: &[u8], seed: u64) -> u64 {
    let step = |sum: u64, &byte: &u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    path.iter().fold(seed ^ 0xcbf2_9ce4_8422_2325, step) >> 20
}

/// Returns whether a path is protected. On average, one path in every `one_in` is protected.
fn is_protected(path: &[u8], seed: u64, one_in: u64) -> bool {
    one_in > 0 && dice(path, seed).is_multiple_of(one_in)
}

/// Asserts that a file of every group is kept and that protected files are not changed.
fn check_plans(plans: &[Plan]) {
    for plan in plans {
        let kept = plan.keep.stat.key();
        assert!(plan.others.iter().all(|other| other.stat.key() != kept));
        assert!(plan.others.iter().all(|other| other.protected.is_none()));
    }
}

fn holds(tree: &RandomTree, kind: Kind, rules: &[&str], seed: u64, one_in: u64, threads: usize) {
    let world = World::new(&tree.builder());
    let rules: Vec<Rule> =
        rules.iter().map(|text| Rule::parse(text, &[]).expect("a rule")).collect();
    let before = world.snapshot();
    let contents = sums(&[&world.tree]);
    let root = world.tree.as_os_str().as_encoded_bytes().len() + 1;
    let protect =
        |path: &[u8]| is_protected(&path[root..], seed, one_in).then_some(Protection::Requested);
    let plans = plans_of(&world.tree, kind, &rules, protect);
    check_plans(&plans);
    let planned: usize = plans.iter().map(|plan| plan.others.len()).sum();

    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let (outcome, ended) = apply(&runs, kind, plans, threads);
    drop(runs);
    ended.expect("ends");
    let stores = world.stores();
    let mut places: Vec<&Path> = stores.iter().map(AsRef::as_ref).collect();
    places.push(&world.tree);
    assert_eq!(sums(&places), contents);
    let after = world.snapshot();
    if kind != Kind::Reflink {
        assert!(outcome.refused.is_empty(), "{:?}", outcome.refused);
        assert_eq!(outcome.done + outcome.already, planned as u64);
        // One file of each group is still in the tree.
        assert_contents_kept(&before, &[&after]);
    }
    for (path, entry) in &before.entries {
        let is_file = entry.sha256.is_some();
        if !is_file || is_protected(path, seed, one_in) {
            let mut now = after.get(path).cloned().expect("exists");
            // A file counts as unchanged if only its link count or its other names have changed.
            (now.links, now.same_as) = (entry.links, entry.same_as.clone());
            now.size_bytes = entry.size_bytes;
            assert_eq!(entry, &now, "{}", path.escape_ascii());
        }
    }
    match undo(&world.runs) {
        Some(undone) => assert!(undone.refused.is_empty(), "{:?}", undone.refused),
        None => assert!(outcome.done == 0 || kind == Kind::Reflink),
    }
    assert_same(&before, &world.snapshot(), Compare::ALL - Compare::DIR_MTIMES);
    assert_eq!(world.stores().len(), 0);
    assert_eq!(sums(&[&world.tree]), contents);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_run_loses_nothing_and_its_undo_brings_all_back(
        tree in random_tree(40),
        kind in select(&KINDS[..]),
        rules in rules(),
        seed in any::<u64>(),
        one_in in 0u64..6,
        threads in 1usize..4,
    ) {
        holds(&tree, kind, &rules, seed, one_in, threads);
    }
}

#[test]
fn names_of_a_file_removed_in_several_batches_are_restored_as_one_file() {
    // A batch has at most five names. With these numbers, the last batch has a single name.
    for number in [6, 11] {
        let names: Vec<String> = (0..number).map(|at| format!("names/{at}")).collect();
        let tree = TreeBuilder::new()
            .seeded("a", 1, 9000)
            .hard_links(testkit::Content::Seeded { seed: 1, len: 9000 }, &names);
        for kind in [Kind::Hardlink, Kind::Delete, Kind::Symlink, Kind::Quarantine] {
            let world = World::new(&tree);
            let before = world.snapshot();
            let runs = Runs::open(&world.runs, |_| {}).expect("opens");
            let (outcome, ended) = apply(&runs, kind, plans(&world.tree, kind), 1);
            drop(runs);
            ended.expect("ends");
            assert_eq!(outcome.done, number);
            undo(&world.runs).expect("a run");
            assert_same(&before, &world.snapshot(), Compare::ALL - Compare::DIR_MTIMES);
        }
    }
}
