//! The requirements for `lop export` and `lop-fleet`.

use crate::race::fleet::TABLE_BYTES;
use crate::race::review::BINARY;
use crate::race::spark::DIFFERENT;
use crate::race::survey::{ANSWER_BYTES, ANSWERED, HEAD_BYTES, SHARED, SIZE_BYTES};
use crate::scenario::Work;
use crate::stats::{float, median};
use crate::tools::{DUCKDB, LOP_FLEET, LOP_FLEET_ANSWER, LOP_FLEET_SPARK, LOP_WITHOUT_NAMES};

use super::super::figures::count;
use super::{LOP, Measure, Requirement, peak, race_of, row, seconds};
use crate::page::comparison::Comparison;

/// Megabytes of the release build before `lop export` was added (commit 8e543a08, on x86-64).
const SIZE_WITHOUT_EXPORT: f64 = 17.3;

/// Megabytes in a mebibyte.
const MEGABYTES: f64 = 1.048_576;

/// Returns the requirements.
pub(super) fn requirements(comparisons: &[&Comparison]) -> Vec<Requirement> {
    let export = race_of(comparisons, Work::Export);
    let files = export.map_or(0, |race| race.scenario.names);
    let bytes = |tool| {
        let Comparison { record, scenario, .. } = export?;
        Some(float(record.count(&scenario.id, tool, TABLE_BYTES)?) / float(scenario.names))
    };
    let fleets = || comparisons.iter().copied().filter(|each| each.scenario.work == Work::Fleet);
    let smallest = fleets().min_by_key(|each| each.scenario.names);
    let largest = fleets().max_by_key(|each| each.scenario.names);
    let inodes = |race: Option<&Comparison>| count(race.map_or(0, |race| race.scenario.names));
    let each =
        |race: Option<&Comparison>| Some(seconds(race, LOP_FLEET)? / float(race?.scenario.names));
    let quotient = |one: Option<f64>, other: Option<f64>| Some(one? / other?);
    let size = export.and_then(|race| median(race.record.values(&race.scenario.id, BINARY)));
    let (files, all) = (count(files), inodes(largest));
    let spark = race_of(comparisons, Work::Spark);
    let survey = race_of(comparisons, Work::Survey);
    let answered = |what| {
        let Comparison { record, scenario, .. } = survey?;
        Some(float(record.count(&scenario.id, LOP_FLEET_ANSWER, what)?))
    };
    vec![
        row(format!("export of {files} files"), 2.0, Measure::Seconds, seconds(export, LOP)),
        row("the same, for each file", 90.0, Measure::Bytes, bytes(LOP)),
        row("the same without names", 60.0, Measure::Bytes, bytes(LOP_WITHOUT_NAMES)),
        row(
            format!("report on {all} inodes against DuckDB, both with 2 GiB"),
            1.0,
            Measure::Times,
            quotient(seconds(largest, LOP_FLEET), seconds(largest, DUCKDB)),
        ),
        row(
            format!("report on {all} inodes, memory"),
            2_500.0,
            Measure::Megabytes,
            peak(largest, LOP_FLEET).map(|mebibytes| mebibytes * MEGABYTES),
        ),
        row(
            format!("time for each inode, {all} against {}", inodes(smallest)),
            1.2,
            Measure::Times,
            quotient(each(largest), each(smallest)),
        ),
        row(
            "runs of this report on Spark, with two workers, that give a different report",
            0.0,
            Measure::Each,
            spark.and_then(|race| {
                race.record.count(&race.scenario.id, LOP_FLEET_SPARK, DIFFERENT).map(float)
            }),
        ),
        row(
            "list of the 10,000,000 heads of a host in a survey",
            40.0,
            Measure::Megabytes,
            answered(HEAD_BYTES).map(|bytes| bytes / 1e6),
        ),
        row(
            "the same with the list of the sizes of its 10,000,000 files",
            40.0,
            Measure::Megabytes,
            answered(HEAD_BYTES)
                .zip(answered(SIZE_BYTES))
                .map(|(heads, sizes)| (heads + sizes) / 1e6),
        ),
        row(
            "answers for this host, about both lists",
            1.5,
            Measure::Megabytes,
            answered(ANSWER_BYTES).map(|bytes| bytes / 1e6),
        ),
        row(
            "heads whose files are to be read, for each that is on another host",
            1.02,
            Measure::Times,
            quotient(answered(ANSWERED), answered(SHARED)),
        ),
        row(
            format!("size of lop against {SIZE_WITHOUT_EXPORT} MB, its size without `lop export`"),
            1.1,
            Measure::Times,
            size.map(|bytes| bytes / 1e6 / SIZE_WITHOUT_EXPORT),
        ),
    ]
}
