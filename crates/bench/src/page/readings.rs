//! The measurements of a scenario that are not runs of tools, as a table.

use crate::record::{Reading, Unit};
use crate::stats::spread;

use super::comparison::Comparison;
use super::figures::{number, size};
use super::words::inline;

/// Writes one row for each measurement, in the order of the record. Writes nothing without any.
pub(super) fn write(page: &mut String, comparison: &Comparison) {
    let readings = || comparison.record.readings.iter();
    let of_scenario = || readings().filter(|each| each.scenario == comparison.scenario.id);
    let mut known: Vec<&Reading> = Vec::new();
    for reading in of_scenario().filter(|reading| reading.round > 0) {
        if known.iter().all(|other| other.what != reading.what) {
            known.push(reading);
        }
    }
    if known.is_empty() {
        return;
    }
    page.push_str("| measurement | median | min - max | rounds |\n|---|---:|---:|---:|\n");
    for Reading { what, unit, .. } in known {
        let values: Vec<f64> = comparison.record.values(&comparison.scenario.id, what).collect();
        let Some(spread) = spread(values.iter().copied()) else { continue };
        let [median, min, max] =
            [spread.median, spread.min, spread.max].map(|value| shown(value, *unit));
        let range = if values.len() > 1 { format!("{min} - {max}") } else { "-".into() };
        let what = inline(what);
        page.push_str(&format!("| {what} | {median} | {range} | {} |\n", values.len()));
    }
    page.push('\n');
}

/// Returns a value with its unit.
pub(super) fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ms => format!("{} ms", number(value)),
        Unit::Seconds => format!("{} s", number(value)),
        Unit::Bytes => size(value),
        Unit::Number => number(value),
    }
}
