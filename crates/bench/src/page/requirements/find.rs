//! The requirements for `lop scan` with warm caches: times, processor time and memory against peers
//! and against a bare scan.

use crate::scenario::Scenario;
use crate::stats::float;
use crate::tools::BARE_SCAN;

use super::{LOP, Measure, Requirement, find, peak, row, seconds};
use crate::page::comparison::Comparison;
use crate::page::job::{GROWTH, RANKED_CORPUS};

/// The peer that needs the least processor time.
const YADF: &str = "yadf";

/// lop with an empty catalog, and with the catalog of its last scan of the same tree.
const NEW_CATALOG: &str = "lop, new catalog";
const AGAIN: &str = "lop, again";

/// Returns the requirements.
pub(super) fn requirements(comparisons: &[&Comparison]) -> Vec<Requirement> {
    let ranked = comparisons
        .iter()
        .copied()
        .filter(|each| each.kind != GROWTH && each.scenario.corpus == RANKED_CORPUS);
    // The races of images have smaller trees of the same kind.
    let server = ranked.max_by_key(|each| each.scenario.names);
    let [thousand, tenth, million] = [1_000, 100_000, 1_000_000].map(|names| {
        let of_size = |each: &&Comparison| each.kind == GROWTH && each.scenario.names == names;
        comparisons.iter().copied().find(of_size)
    });
    let times =
        |lop: Option<f64>, other: Option<f64>| Some(lop? / other?).filter(|r| r.is_finite());
    vec![
        row(
            format!("{RANKED_CORPUS} against the fastest peer"),
            0.38,
            Measure::Times,
            times(seconds(server, LOP), fastest_peer(server)),
        ),
        row(
            "the same, against a bare scan that knows the answer",
            1.35,
            Measure::Times,
            times(seconds(server, LOP), seconds(server, BARE_SCAN)),
        ),
        row(
            "the same, processor time against yadf",
            0.38,
            Measure::Times,
            times(processor_time(server, LOP), processor_time(server, YADF)),
        ),
        row("the same, peak memory", 21.0, Measure::Mebibytes, peak(server, LOP)),
        row(
            "the same, with a new catalog, against no catalog",
            1.1,
            Measure::Times,
            times(seconds(server, NEW_CATALOG), seconds(server, LOP)),
        ),
        row(
            "the same, a second scan with the catalog, against the fastest peer",
            0.15,
            Measure::Times,
            times(seconds(server, AGAIN), fastest_peer(server)),
        ),
        row(
            "time for each name, 1,000,000 against 100,000",
            1.15,
            Measure::Times,
            times(for_each_name(million), for_each_name(tenth)),
        ),
        row(
            "1,000 names against the fastest peer",
            1.0,
            Measure::Times,
            times(seconds(thousand, LOP), fastest_peer(thousand)),
        ),
    ]
}

fn fastest_peer(race: Option<&Comparison>) -> Option<f64> {
    race?.fastest_peer().map(|row| row.figure.median)
}

fn processor_time(race: Option<&Comparison>, tool: &str) -> Option<f64> {
    find(race, tool)?.median(|run| Some(run.user_s + run.sys_s))
}

fn for_each_name(race: Option<&Comparison>) -> Option<f64> {
    let Scenario { names, .. } = race?.scenario;
    Some(seconds(race, LOP)? / float(*names))
}
