//! The requirements for `lop sweep`: ratios, times and counts.

use crate::race::sweep::{ENTRIES, MATCHES, STATX, STATX_WITHOUT_RULES};
use crate::scenario::Work;
use crate::stats::float;
use crate::tools::{BARE_WALK, BARE_WALK_WITH_STATX, PURGE};

use super::{LOP, Measure, Requirement, peak, race_of, row, seconds};
use crate::page::comparison::Comparison;

const MANY: &str = "lop, and 17,681 patterns";
const IDLE: &str = "lop, and 17,681 patterns that match nothing";
const FEW: &str = "lop, and 10 patterns";
const FEW_ANCHORED: &str = "lop, 10 patterns";
const NO_RULES: &str = "lop, no rules";
const SCRIPT: &str = "script (substitution)";

/// Returns the requirements.
pub(super) fn requirements(comparisons: &[&Comparison]) -> Vec<Requirement> {
    let [sweep, anywhere, load, apply] = [Work::Sweep, Work::Anywhere, Work::Load, Work::Apply]
        .map(|work| race_of(comparisons, work));
    let times = |race, a, b| Some(seconds(race, a)? / seconds(race, b)?).filter(|r| r.is_finite());
    let loading = || Some(seconds(load, LOP)? - seconds(load, NO_RULES)?);
    let without_loading = |lop: Option<f64>, other: Option<f64>| Some((lop? - loading()?) / other?);
    vec![
        row(
            "17,681 patterns against 10 of them, both with rules that match anywhere",
            1.05,
            Measure::Times,
            times(anywhere, MANY, FEW),
        ),
        row(
            "the same with 17,681 patterns that match nothing, so that both find the same files",
            1.05,
            Measure::Times,
            times(anywhere, IDLE, FEW),
        ),
        row(
            "the same, without the time for loading the rules",
            1.05,
            Measure::Times,
            without_loading(seconds(anywhere, IDLE), seconds(anywhere, FEW)),
        ),
        row(
            "17,681 patterns against 10 of them, which reach fewer directories",
            1.05,
            Measure::Times,
            times(sweep, LOP, FEW_ANCHORED),
        ),
        row(
            "preview against a bare walk of the directories that it lists",
            1.10,
            Measure::Times,
            times(sweep, LOP, BARE_WALK),
        ),
        row(
            "the same, without the time for loading the rules",
            1.10,
            Measure::Times,
            without_loading(seconds(sweep, LOP), seconds(sweep, BARE_WALK)),
        ),
        row(
            "the same, against a bare walk that also calls `statx` once for each file that matches",
            1.10,
            Measure::Times,
            without_loading(seconds(sweep, LOP), seconds(sweep, BARE_WALK_WITH_STATX)),
        ),
        row(
            "preview by rules that match anywhere, against a bare walk of everything",
            1.10,
            Measure::Times,
            times(anywhere, LOP, BARE_WALK),
        ),
        row("`statx` calls, for each match", 1.0, Measure::Each, calls_for_each(sweep, MATCHES)),
        row(
            "`statx` calls, for each entry that is taken, also in directories that are one match",
            1.0,
            Measure::Each,
            calls_for_each(sweep, ENTRIES),
        ),
        row(
            "`statx` calls with rules that match anywhere, for each match",
            1.0,
            Measure::Each,
            calls_for_each(anywhere, MATCHES),
        ),
        row(
            "loading 17,681 patterns, time",
            50.0,
            Measure::Milliseconds,
            loading().map(|seconds| seconds * 1_000.0),
        ),
        row(
            "loading 17,681 patterns, memory",
            20.0,
            Measure::Mebibytes,
            peak(load, LOP).zip(peak(load, NO_RULES)).map(|(with, without)| with - without),
        ),
        row(
            "preview against the script, third stage",
            0.10,
            Measure::Times,
            times(sweep, LOP, SCRIPT),
        ),
        row("preview against BleachBit", 0.10, Measure::Times, times(sweep, LOP, "bleachbit")),
        row("`--apply` against `lop purge`", 1.5, Measure::Times, times(apply, LOP, PURGE)),
        row("`--apply`, memory", 64.0, Measure::Mebibytes, peak(apply, LOP)),
    ]
}

/// Returns the number of calls for each of the counted things, without those that a run without
/// rules makes.
fn calls_for_each(race: Option<&Comparison>, counted: &str) -> Option<f64> {
    let Comparison { record, scenario, .. } = race?;
    let count = |what| record.count(&scenario.id, LOP, what).map(float);
    Some((count(STATX)? - count(STATX_WITHOUT_RULES)?) / count(counted)?.max(1.0))
}
