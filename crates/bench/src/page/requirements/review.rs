//! The requirements for `lop serve` and `lop space` on a catalog of a million files.

use crate::page::comparison::Comparison;
use crate::race::review::{
    BINARY, DECIDED, DECISION, FILTER, FIRST_ROWS_AGAIN, FIRST_ROWS_AT_START, HEAP_AFTER_ALL,
    HEAP_AFTER_ONE, HEAP_BEFORE, IDLE_MEMORY, LONGEST_TASK, PAGE, PEAK_MEMORY,
};
use crate::scenario::Work;
use crate::stats::{median, spread};

use super::super::figures::{count, number};
use super::{LOP, Measure, Requirement, race_of, row, seconds};

/// Megabytes of the release build before `lop serve` was added (commit db3460b9, on x86-64).
const SIZE_WITHOUT_SERVE: f64 = 11.65;

const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// Returns the requirements.
pub(super) fn requirements(comparisons: &[&Comparison]) -> Vec<Requirement> {
    let [space, review] = [Work::Space, Work::Review].map(|work| race_of(comparisons, work));
    let middle = |what: &str| median(values(review, what));
    let most = |what: &str| spread(values(review, what)).map(|spread| spread.max);
    let in_units = |figure: Option<f64>, unit: f64| figure.map(|bytes| bytes / unit);
    let names = review.or(space).map_or(0, |race| race.scenario.names);
    let heap_since = |before| Some(middle(HEAP_AFTER_ALL)? / middle(before)?);
    let decided = middle(DECIDED).map_or("many".into(), number);
    let slowest = slowest_filter(review);
    let which = slowest.as_ref().map_or(String::new(), |(filter, _)| format!(", `{filter}`"));
    let filter = format!("the slowest filter over {} names{which}", count(names));
    let beyond = in_units(middle(BINARY), 1e6).map(|size| size - SIZE_WITHOUT_SERVE);
    let size = format!("size of lop beyond {SIZE_WITHOUT_SERVE} MB, its size without `lop serve`");
    vec![
        row(
            "first rows after opening the page *Groups*, right after the server has started",
            300.0,
            Measure::Milliseconds,
            middle(FIRST_ROWS_AT_START),
        ),
        row("the same, later", 300.0, Measure::Milliseconds, middle(FIRST_ROWS_AGAIN)),
        row(
            "the page with its first rows, empty cache",
            60.0,
            Measure::Kilobytes,
            in_units(middle(PAGE), 1e3),
        ),
        row(
            "longest task of the browser while scrolling through all groups",
            50.0,
            Measure::LongestTask,
            most(LONGEST_TASK),
        ),
        row(
            "JavaScript heap after scrolling three times, against before",
            1.1,
            Measure::Times,
            heap_since(HEAP_BEFORE),
        ),
        row(
            "JavaScript heap after scrolling three times, against once",
            1.05,
            Measure::Times,
            heap_since(HEAP_AFTER_ONE),
        ),
        row(filter, 200.0, Measure::Milliseconds, slowest.map(|(_, ms)| ms)),
        row(
            format!("deciding by folder for {decided} groups"),
            300.0,
            Measure::Milliseconds,
            middle(DECISION),
        ),
        row(
            "memory of the server, idle",
            60.0,
            Measure::Mebibytes,
            in_units(middle(IDLE_MEMORY), MEBIBYTE),
        ),
        row(
            "memory of the server, at most",
            200.0,
            Measure::Mebibytes,
            in_units(most(PEAK_MEMORY), MEBIBYTE),
        ),
        row(size, 6.0, Measure::Megabytes, beyond),
        row(
            "`lop space`",
            200.0,
            Measure::Milliseconds,
            seconds(space, LOP).map(|seconds| seconds * 1_000.0),
        ),
    ]
}

/// Returns the values of a measurement in the timed rounds.
fn values(review: Option<&Comparison>, what: &str) -> Vec<f64> {
    review.map_or_else(Vec::new, |race| race.record.values(&race.scenario.id, what).collect())
}

/// Returns the filter with the largest median, and this median.
fn slowest_filter(review: Option<&Comparison>) -> Option<(String, f64)> {
    let medians = review?.record.readings.iter().filter_map(|reading| {
        let filter = reading.what.strip_prefix(FILTER)?;
        Some((filter.to_owned(), median(values(review, &reading.what))?))
    });
    medians.max_by(|a, b| a.1.total_cmp(&b.1))
}
