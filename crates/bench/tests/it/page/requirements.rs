//! The tables of requirements on the pages about warm scans, sweeps, reviews and exports.

use bench::record::{Count, Record, Run};
use bench::scenario::{Scenario, Work};

use super::races::{all, find, fleet, review, sweep as race};
use super::{names, only, pages_of, rows, text_of};

fn figures(record: Record) -> Vec<String> {
    column(&pages_of(&only("sweep", record)), "## Requirements", 2)
}

/// Returns a column of a table, counted from the last one.
fn column(text: &str, start: &str, from_last: usize) -> Vec<String> {
    let cell = |row: &&str| row.rsplit('|').nth(from_last).unwrap_or("").trim().to_owned();
    rows(text, start).iter().map(cell).collect()
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
fn the_requirements_of_scans_are_about_warm_trees() {
    let text = pages_of(&all());
    let expected = [
        "**0.40x**",
        "1.27x",
        "**0.40x**",
        "**38.6 MiB**",
        "not measured",
        "0.13x",
        "1.05x",
        "0.58x",
    ];
    assert_eq!(column(&text, "## Requirements", 2), expected);
    assert_eq!(text.matches("## Requirements").count(), 1, "not for cold caches and hard disks");
    assert!(text_of(&all()).contains("lop meets 4 of 8 requirements"), "{text}");
}

#[test]
fn scans_without_a_bare_scan_and_other_sizes_are_shown_as_not_measured() {
    let mut record = find();
    record.runs.retain(|run| run.tool != "bare scan");
    let figures = column(&pages_of(&only("find", record)), "## Requirements", 2);
    let none = "not measured";
    assert_eq!(
        figures,
        ["**0.40x**", none, "**0.40x**", "**38.6 MiB**", none, "0.13x", none, none]
    );
}

#[test]
fn sweeps_without_a_peer_are_not_in_the_summary() {
    let files = bench::page::render(&only("sweep", race()));
    let summary = rows(&files["benchmarks.md"], "## Sweep junk by rules");
    assert_eq!(summary.len(), 2, "{summary:?}");
    assert!(files["benchmarks/sweep.md"].contains("id=\"sweep-apply\""));
}

#[test]
fn the_requirements_of_reviews_are_in_the_summary() {
    let text = text_of(&only("review", review()));
    let title = "## Review duplicates and disk space";
    let expected = [
        ("**350 ms**", "**no**"),
        ("200 ms", "yes"),
        ("45.0 kB", "yes"),
        ("none above 50 ms", "yes"),
        ("**1.25x**", "**no**"),
        ("1.04x", "yes"),
        ("**250 ms**", "**no**"),
        ("100 ms", "yes"),
        ("not measured", "-"),
        ("**210 MiB**", "**no**"),
        ("**8.35 MB**", "**no**"),
        ("150 ms", "yes"),
    ];
    let (figures, met) = (column(&text, title, 2), column(&text, title, 1));
    let found = figures.iter().map(String::as_str).zip(met.iter().map(String::as_str));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert!(text.contains("the slowest filter over 1,000,000 names, `photos`"), "{text}");
    assert!(text.contains("lop meets 6 of 12 requirements"), "{text}");
    assert!(!text.contains("shown without lop"), "a review has no peers: {text}");
}

#[test]
fn the_requirements_of_exports_compare_the_largest_fleet() {
    let text = pages_of(&only("fleet", fleet()));
    let figures = column(&text, "## Requirements", 2);
    let reports = ["0.88x", "40.4 MB", "0.93x", "**1.00**"];
    assert_eq!(figures[..7], [&["1.50 s", "**95.0 B**", "25.0 B"], &reports[..]].concat());
    assert_eq!(figures[7..], ["33.0 MB", "**53.0 MB**", "1.25 MB", "1.02x", "1.07x"]);
    assert!(text.contains("report on 100,000,000 inodes against DuckDB"), "{text}");
    assert!(text.contains("100,000,000 inodes, 4.90 GiB, on the machine's own disk"), "{text}");
    let growth = rows(&text, "## Time by size");
    assert_eq!(names(&growth), ["lop-fleet", "DuckDB"]);
}

#[test]
fn exports_without_a_peer_are_not_in_the_summary() {
    let files = bench::page::render(&only("fleet", fleet()));
    let summary = rows(&files["benchmarks.md"], "## Compare many hosts");
    assert_eq!(summary.len(), 2, "{summary:?}");
    assert!(files["benchmarks.md"].contains("lop meets 9 of 12 requirements"));
    assert!(files["benchmarks/fleet.md"].contains("id=\"fleet-export\""));
}

#[test]
fn measurements_have_their_medians_and_extremes() {
    let text = pages_of(&only("review", review()));
    let table = rows(&text, "<a id=\"review-review\">");
    assert_eq!(
        table[0],
        "| first rows, right after the server has started | 350 ms | 340 ms - 900 ms | 3 |"
    );
    assert!(names(&table).contains(&"filter img_"), "{table:?}");
    assert!(text.contains("runs/2026-07-20-review/readings.csv"), "{text}");
    assert!(names(&rows(&text, "<a id=\"review-space\">")).contains(&"du"), "{text}");
}
