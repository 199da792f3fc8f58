//! Tests of surveys: every answer is compared with one from plain sets.

#![expect(
    clippy::disallowed_methods,
    reason = "tests damage the files they made to see what the program makes of them"
)]

mod answers;
mod damage;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use runtime::Progress;
use survey::{Answered, HostSurvey, Kind, Published, Shared, answer};

/// The numbers that each host lists.
type World = BTreeMap<String, BTreeSet<u64>>;

fn open(out: &Path, host: &str) -> HostSurvey {
    HostSurvey::open(out, host, None).expect("the survey opens")
}

fn publish(out: &Path, host: &str, kind: Kind, numbers: &BTreeSet<u64>) -> Published {
    let numbers: Vec<u64> = numbers.iter().copied().collect();
    open(out, host).publish(kind, &numbers).expect("the lists are written")
}

fn shared(out: &Path, host: &str, kind: Kind) -> Option<Shared> {
    open(out, host).shared(kind).expect("the answer is valid")
}

fn answer_all(out: &Path) -> Answered {
    let answered = answer(out, &Progress::default()).expect("the lists are valid");
    assert!(answered.problems.is_empty(), "{:?}", answered.problems);
    answered
}

/// Returns those of the numbers of a host that another host has.
fn expected(world: &World, host: &str) -> BTreeSet<u64> {
    let others = |number: &u64| world.iter().any(|(h, set)| h != host && set.contains(number));
    world[host].iter().copied().filter(others).collect()
}

/// Checks the answer for each host of the world.
fn check(out: &Path, world: &World, kind: Kind) {
    for (host, numbers) in world {
        // A host without heads has no list of them, so there is nothing to answer.
        let shared = shared(out, host, kind);
        assert!(shared.is_some() || numbers.is_empty(), "no answer for {host}");
        let shared = shared.unwrap_or_default();
        let found: BTreeSet<u64> =
            numbers.iter().copied().filter(|&number| shared.contains(number)).collect();
        assert_eq!(found, expected(world, host), "{host}");
    }
}
