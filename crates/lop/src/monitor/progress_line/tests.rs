//! Tests of the progress line.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use runtime::{Progress, Stage};

use super::ProgressLine;

fn comparing(columns: usize) -> String {
    let (progress, mut line) = (Progress::default(), ProgressLine::new());
    let start = line.since.at;
    progress.enter(Stage::Walk);
    line.text_within(&progress, start, columns);
    progress.enter(Stage::Compare);
    progress.files_total.store(2000, Relaxed);
    progress.bytes_total.store(4 << 30, Relaxed);
    line.text_within(&progress, start, columns);
    progress.files_done.store(500, Relaxed);
    progress.bytes_done.store(1 << 30, Relaxed);
    progress.bytes_read.store(1 << 28, Relaxed);
    line.text_within(&progress, start + Duration::from_secs(3600), columns)
}

#[test]
fn a_walk_shows_entries_bytes_and_rate() {
    let (progress, mut line) = (Progress::default(), ProgressLine::new());
    progress.enter(Stage::Walk);
    progress.entries.store(20_000, Relaxed);
    progress.bytes_seen.store(3 << 30, Relaxed);
    let at = line.since.at + Duration::from_secs(2);
    let text = line.text_within(&progress, at, 79);
    assert_eq!(text, "Finding files: 20,000 entries, 3.0 GiB, 10,000/s");
}

#[test]
fn a_line_begins_with_percent_and_time_left() {
    let expected =
        "Comparing: 25%, 3:00:00 left, 500 of 2,000 files, 1.0 GiB of 4.0 GiB, 72.8 KiB/s";
    assert_eq!(comparing(100), expected);
}

#[test]
fn counts_that_do_not_fit_are_dropped_from_the_end() {
    for (columns, text) in [
        (79, "Comparing: 25%, 3:00:00 left, 500 of 2,000 files, 1.0 GiB of 4.0 GiB"),
        (67, "Comparing: 25%, 3:00:00 left, 500 of 2,000 files"),
        (40, "Comparing: 25%, 3:00:00 left"),
        (20, "Comparing: 25%"),
        (5, "Compa"),
    ] {
        assert_eq!(comparing(columns), text);
    }
}

#[test]
fn a_stage_without_progress_shows_no_rate() {
    let (progress, mut line) = (Progress::default(), ProgressLine::new());
    progress.enter(Stage::Compare);
    progress.files_total.store(2000, Relaxed);
    progress.bytes_total.store(4 << 30, Relaxed);
    let start = line.since.at;
    line.text_within(&progress, start, 79);
    progress.bytes_read.store(1 << 30, Relaxed);
    let text = line.text_within(&progress, start + Duration::from_secs(1), 79);
    assert_eq!(text, "Comparing: 0%, 0 of 2,000 files, 0 B of 4.0 GiB");
}

#[test]
fn changes_and_their_undo_have_totals() {
    for (stage, doing) in [(Stage::Act, "Changing files"), (Stage::Restore, "Restoring files")] {
        let (progress, mut line) = (Progress::default(), ProgressLine::new());
        let start = line.since.at;
        assert_eq!(line.text_within(&progress, start, 79), "Starting");
        progress.files_total.store(10, Relaxed);
        progress.bytes_total.store(8 << 30, Relaxed);
        progress.enter(stage);
        line.text_within(&progress, start, 79);
        progress.files_done.store(3, Relaxed);
        progress.bytes_done.store(2 << 30, Relaxed);
        let text = line.text_within(&progress, start + Duration::from_secs(4), 79);
        let counts = "25%, 0:11 left, 3 of 10 files, 2.0 GiB of 8.0 GiB";
        assert_eq!(text, format!("{doing}: {counts}, 512.0 MiB/s"));
    }
}

#[test]
fn totals_that_grow_give_no_percentage() {
    let (progress, mut line) = (Progress::default(), ProgressLine::new());
    progress.enter(Stage::Mirror);
    progress.totals_grow.store(true, Relaxed);
    let start = line.since.at;
    line.text_within(&progress, start, 99);
    for (counter, number) in [
        (&progress.files_total, 61_000),
        (&progress.bytes_total, 3 << 30),
        (&progress.files_done, 20_000),
        (&progress.bytes_done, 1 << 30),
    ] {
        counter.store(number, Relaxed);
    }
    let at = start + Duration::from_secs(4);
    let text = line.text_within(&progress, at, 99);
    let counts = "20,000 of 61,000 names found so far, 1.0 GiB of 3.0 GiB";
    assert_eq!(text, format!("Mirroring: {counts}, 256.0 MiB/s"));
    progress.totals_grow.store(false, Relaxed);
    let text = line.text_within(&progress, at, 99);
    let counts = "20,000 of 61,000 names, 1.0 GiB of 3.0 GiB";
    assert_eq!(text, format!("Mirroring: 33%, 0:08 left, {counts}, 256.0 MiB/s"));
}

#[test]
fn first_blocks_count_before_there_are_bytes() {
    let (progress, mut line) = (Progress::default(), ProgressLine::new());
    progress.enter(Stage::Heads);
    progress.heads_total.store(200, Relaxed);
    let start = line.since.at;
    line.text_within(&progress, start, 79);
    progress.heads_done.store(50, Relaxed);
    let text = line.text_within(&progress, start + Duration::from_secs(1), 79);
    assert_eq!(text, "Reading first blocks: 25%, 0:03 left, 50 of 200 files");
}

#[test]
fn any_counter_values_are_accepted() {
    let (progress, mut line) = (Progress::default(), ProgressLine::new());
    progress.enter(Stage::Mirror);
    let mut at = line.since.at;
    for said in [0, 1 << 40, u64::MAX, 7, 0] {
        for counter in [&progress.files_total, &progress.files_done, &progress.bytes_done] {
            counter.store(said, Relaxed);
        }
        at += Duration::from_secs(2);
        assert!(line.text(&progress, at).starts_with("Mirroring: "));
    }
}
