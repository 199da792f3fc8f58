//! The lists of ten hosts in a survey, which have many heads in common.
//!
//! The sizes and heads are random, but the crate `survey` computes the keys and writes the lists, as it does for
//! `lop survey`. A part of the heads of each host comes from a pool that all hosts share. No other host has the rest.

use std::num::NonZeroU64;
use std::path::Path;

use content::Head;
use survey::{HostSurvey, Kind, key_of};

use super::dice::{Dice, word};
use super::fleet::file_size;
use super::plan::Counts;
use crate::Failure;

/// The version of the numbers. It MUST change with the numbers, so that stores are made again.
pub(super) const VERSION: &str = "2";

/// Number of heads in the lists of the race.
pub(super) const HEADS: u64 = 100_000_000;

const HOSTS: u64 = 10;

/// The number of heads in the pool, for each head of a host.
const POOL: u64 = 2;
/// Each host has this share of the heads in the pool.
const POOLED: f64 = 0.3;

/// Writes the lists of all hosts to `root`. The counts treat each listed head as a name, and the heads that several
/// hosts list as groups.
pub(super) fn make(root: &Path, heads: u64, scale: f64, seed: u64) -> Result<Counts, Failure> {
    let each = heads / HOSTS;
    // A size and a head are computed from each number. Keys are shorter than numbers, so keys may collide.
    let mut all = Vec::new();
    let mut names = 0;
    for host in 0..HOSTS {
        let mut dice = Dice::new(word(seed, host));
        let mut files: Vec<u64> = (0..each * POOL)
            .filter(|_| dice.unit() < POOLED)
            .map(|position| word(seed, HOSTS + position))
            .collect();
        let missing = (files.len() as u64..each).map(|_| dice.bits());
        files.extend(missing);
        let of = |&number: &u64| {
            let mut dice = Dice::new(number);
            let head = Head(dice.bits().try_into().unwrap_or(NonZeroU64::MIN));
            (file_size(&mut dice, scale), head)
        };
        let sizes = files.iter().map(|number| of(number).0).collect();
        let keys = files.iter().map(of).map(|(size, head)| key_of(size, head, None)).collect();
        all.extend(files);
        let survey = HostSurvey::open(root, &format!("host{host}"), None);
        let survey = survey.map_err(|e| Failure::at(root, e))?;
        for (kind, numbers) in [(Kind::Sizes, sizes), (Kind::Heads, keys)] {
            let numbers = ascending(numbers);
            survey.publish(kind, &numbers).map_err(|e| Failure::at(root, e))?;
            if kind == Kind::Heads {
                names += numbers.len() as u64;
            }
        }
    }
    all.sort_unstable();
    let shared: Vec<usize> =
        all.chunk_by(|a, b| a == b).map(<[u64]>::len).filter(|&hosts| hosts > 1).collect();
    let in_groups = shared.iter().sum::<usize>() as u64;
    Ok(Counts { names, in_groups, groups: shared.len() as u64, ..Counts::default() })
}

/// Sorts numbers and removes duplicates.
fn ascending(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

#[cfg(test)]
mod tests {
    use runtime::Progress;
    use survey::answer;

    use super::make;

    #[test]
    fn the_counts_are_those_of_an_answer() {
        let temp = testkit::TempTree::new();
        let counts = make(temp.path(), 5_000, 1.0, 7).expect("made");
        let answered = answer(temp.path(), &Progress::default()).expect("answered");
        let heads = answered.hosts.iter().map(|host| host.heads[0]);
        let shared = answered.hosts.iter().map(|host| host.heads[1]);
        assert_eq!((counts.names, counts.in_groups), (heads.sum(), shared.sum()));
        assert!(counts.in_groups > 2_000 && counts.names > 4_990, "{counts:?}");
    }
}
