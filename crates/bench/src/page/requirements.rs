//! The requirements for `lop sweep`: a table of ratios, times and counts with their limits.
//!
//! Every row is computed from the record. A row whose figures are missing says so, and is never
//! left out, because an absent row could hide a failure.

use crate::race::sweep::{ENTRIES, MATCHES, STATX, STATX_WITHOUT_RULES};
use crate::record::Run;
use crate::scenario::Work;
use crate::stats::float;
use crate::tools::{BARE_WALK, BARE_WALK_WITH_STATX, PURGE};

use super::comparison::{Comparison, Row};
use super::figures::{number, ratio};

const MANY: &str = "lop, and 17,681 patterns";
const IDLE: &str = "lop, and 17,681 patterns that match nothing";
const FEW: &str = "lop, and 10 patterns";
const FEW_ANCHORED: &str = "lop, 10 patterns";
const NO_RULES: &str = "lop, no rules";
const SCRIPT: &str = "script (substitution)";
const LOP: &str = "lop";

/// The unit of a requirement.
#[derive(Clone, Copy)]
enum Unit {
    Times,
    Milliseconds,
    Mebibytes,
    /// A number of calls for each thing.
    Each,
}

/// A requirement: the work, the limit, and the figure.
struct Requirement {
    work: &'static str,
    limit: f64,
    unit: Unit,
    figure: Option<f64>,
}

/// Returns the table, or nothing if no sweep was raced.
pub(super) fn table(comparisons: &[&Comparison]) -> String {
    let of = |work| comparisons.iter().copied().find(|each| each.scenario.work == work);
    let races = [Work::Sweep, Work::Anywhere, Work::Load, Work::Apply].map(of);
    if races.iter().all(Option::is_none) {
        return String::new();
    }
    let mut text = String::from(
        "## Requirements\n\nComputed from the comparisons below. A figure in bold exceeds its \
         limit.\n\n| work | limit | measured |\n|---|---:|---:|\n",
    );
    for Requirement { work, limit, unit, figure } in requirements(races) {
        let figure = figure.map_or("not measured".to_owned(), |figure| {
            let shown = shown(figure, unit);
            if figure > limit { format!("**{shown}**") } else { shown }
        });
        text.push_str(&format!("| {work} | {} | {figure} |\n", shown(limit, unit)));
    }
    text.push('\n');
    text
}

fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Times => ratio(value),
        Unit::Milliseconds => format!("{} ms", number(value.max(0.0))),
        Unit::Mebibytes => format!("{} MiB", number(value.max(0.0))),
        Unit::Each => number(value.max(0.0)),
    }
}

fn requirements(races: [Option<&Comparison>; 4]) -> Vec<Requirement> {
    let [sweep, anywhere, load, apply] = races;
    let times = |race, a, b| Some(seconds(race, a)? / seconds(race, b)?).filter(|r| r.is_finite());
    let loading = || Some(seconds(load, LOP)? - seconds(load, NO_RULES)?);
    let without_loading = |lop: Option<f64>, other: Option<f64>| Some((lop? - loading()?) / other?);
    let row = |work, limit, unit, figure| Requirement { work, limit, unit, figure };
    vec![
        row(
            "17,681 patterns against 10 of them, both with rules that match anywhere",
            1.05,
            Unit::Times,
            times(anywhere, MANY, FEW),
        ),
        row(
            "the same with 17,681 patterns that match nothing, so that both find the same files",
            1.05,
            Unit::Times,
            times(anywhere, IDLE, FEW),
        ),
        row(
            "the same, without the time for loading the rules",
            1.05,
            Unit::Times,
            without_loading(seconds(anywhere, IDLE), seconds(anywhere, FEW)),
        ),
        row(
            "17,681 patterns against 10 of them, which reach fewer directories",
            1.05,
            Unit::Times,
            times(sweep, LOP, FEW_ANCHORED),
        ),
        row(
            "preview against a bare walk of the directories that it lists",
            1.10,
            Unit::Times,
            times(sweep, LOP, BARE_WALK),
        ),
        row(
            "the same, without the time for loading the rules",
            1.10,
            Unit::Times,
            without_loading(seconds(sweep, LOP), seconds(sweep, BARE_WALK)),
        ),
        row(
            "the same, against a bare walk that also calls `statx` once for each file that matches",
            1.10,
            Unit::Times,
            without_loading(seconds(sweep, LOP), seconds(sweep, BARE_WALK_WITH_STATX)),
        ),
        row(
            "preview by rules that match anywhere, against a bare walk of everything",
            1.10,
            Unit::Times,
            times(anywhere, LOP, BARE_WALK),
        ),
        row("`statx` calls, for each match", 1.0, Unit::Each, calls_for_each(sweep, MATCHES)),
        row(
            "`statx` calls, for each entry that is taken, also in directories that are one match",
            1.0,
            Unit::Each,
            calls_for_each(sweep, ENTRIES),
        ),
        row(
            "`statx` calls with rules that match anywhere, for each match",
            1.0,
            Unit::Each,
            calls_for_each(anywhere, MATCHES),
        ),
        row(
            "loading 17,681 patterns, time",
            50.0,
            Unit::Milliseconds,
            loading().map(|seconds| seconds * 1_000.0),
        ),
        row(
            "loading 17,681 patterns, memory",
            20.0,
            Unit::Mebibytes,
            peak(load, LOP).zip(peak(load, NO_RULES)).map(|(with, without)| with - without),
        ),
        row(
            "preview against the script, third stage",
            0.10,
            Unit::Times,
            times(sweep, LOP, SCRIPT),
        ),
        row("preview against BleachBit", 0.10, Unit::Times, times(sweep, LOP, "bleachbit")),
        row("`--apply` against `lop purge`", 1.5, Unit::Times, times(apply, LOP, PURGE)),
        row("`--apply`, memory", 64.0, Unit::Mebibytes, peak(apply, LOP)),
    ]
}

fn find<'c, 'a>(race: Option<&'c Comparison<'a>>, tool: &str) -> Option<&'c Row<'a>> {
    race?.rows().find(|row| row.tool.name == tool)
}

fn seconds(race: Option<&Comparison>, tool: &str) -> Option<f64> {
    find(race, tool).map(|row| row.figure.median)
}

fn peak(race: Option<&Comparison>, tool: &str) -> Option<f64> {
    find(race, tool)?.median(|run: &Run| Some(float(run.peak_kib) / 1024.0))
}

/// Returns the number of calls for each of the counted things, without those that a run without
/// rules makes.
fn calls_for_each(race: Option<&Comparison>, counted: &str) -> Option<f64> {
    let Comparison { record, scenario, .. } = race?;
    let count = |what| record.count(&scenario.id, LOP, what).map(float);
    Some((count(STATX)? - count(STATX_WITHOUT_RULES)?) / count(counted)?.max(1.0))
}
