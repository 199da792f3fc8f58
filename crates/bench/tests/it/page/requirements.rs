//! The table of requirements on the page about sweeps.

use bench::record::{Count, Record, Run};
use bench::scenario::{Scenario, Work};

use super::races::sweep as race;
use super::{only, pages_of, rows};

fn figures(record: Record) -> Vec<String> {
    let text = pages_of(&only("sweep", record));
    let cell = |row: &&str| row.rsplit('|').nth(1).unwrap_or("").trim().to_owned();
    rows(&text, "## Requirements").iter().map(cell).collect()
}

#[test]
fn every_requirement_has_its_figure() {
    let expected = [
        "1.04x",
        "**1.11x**",
        "1.01x",
        "**2.00x**",
        "**1.30x**",
        "1.05x",
        "0.84x",
        "1.02x",
        "0.980",
        "0.933",
        "not measured",
        "25.0 ms",
        "9.77 MiB",
        "0.05x",
        "0.08x",
        "**1.60x**",
        "48.8 MiB",
    ];
    assert_eq!(figures(race()), expected);
}

#[test]
fn what_was_not_raced_is_shown_as_not_measured() {
    let mut record = race();
    let is_load = |id: &str| id == "load";
    record.scenarios.retain(|scenario: &Scenario| scenario.work != Work::Load);
    record.runs.retain(|run: &Run| !is_load(&run.scenario));
    record.counts.retain(|count: &Count| count.what != "matches");
    let figures = figures(record);
    for row in [2, 5, 6, 8, 11, 12] {
        assert_eq!(figures[row], "not measured", "{figures:?}");
    }
}

#[test]
fn sweeps_without_a_peer_are_not_in_the_summary() {
    let files = bench::page::render(&only("sweep", race()));
    let summary = rows(&files["benchmarks.md"], "## Sweep junk by rules");
    assert_eq!(summary.len(), 2, "{summary:?}");
    assert!(files["benchmarks/sweep.md"].contains("id=\"sweep-apply\""));
}
