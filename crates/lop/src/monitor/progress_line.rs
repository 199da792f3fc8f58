//! The text of the progress line: the current stage, its progress, the time left, and the rate.
//!
//! The line begins with the percentage and the time left, because users look for these first, and continues with
//! counts. On a narrow terminal, the last counts are omitted so that no count is cut off.
//!
//! Counts may come from another host, so they can have any value and can even decrease.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use runtime::{Progress, Stage};

use crate::output::terminal::columns;
use crate::quantity::{clock, count, size};

/// Period over which a rate is averaged. It is long enough for a steady figure and short enough to reflect changes in
/// the speed of the disk.
const RATE_PERIOD: Duration = Duration::from_secs(3);

/// Minimum age of a stage before the line shows an estimate of the time left.
const MIN_STAGE_AGE: Duration = Duration::from_millis(500);

/// Builds the progress line from the current counters and from earlier samples of them.
pub(crate) struct ProgressLine {
    stage: Option<Stage>,
    /// The counters at the beginning of the stage.
    since: Sample,
    /// Samples that rates are computed from. `newer` is at most half of [`RATE_PERIOD`] old. `older` is between half
    /// of it and the whole period old.
    older: Sample,
    newer: Sample,
}

/// The counters at one point in time.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    entries: u64,
    heads: u64,
    files: u64,
    removed: u64,
    bytes: u64,
    bytes_read: u64,
}

impl Sample {
    fn of(progress: &Progress, at: Instant) -> Sample {
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        Sample {
            at,
            entries: load(&progress.entries),
            heads: load(&progress.heads_done),
            files: load(&progress.files_done),
            removed: load(&progress.removed_done),
            bytes: load(&progress.bytes_done),
            bytes_read: load(&progress.bytes_read),
        }
    }
}

/// A counter that grows during a stage.
type Counter = fn(&Sample) -> u64;

/// The parts of the progress line in one stage.
struct Line {
    doing: &'static str,
    /// The counter that measures the stage, and the final value of that counter, or `None` if the final value is
    /// unknown.
    goal: Option<(Counter, u64)>,
    /// Counts and rates, the most informative ones first.
    parts: Vec<String>,
}

/// The progress line and the figures at its beginning.
pub(super) struct Figures {
    pub(super) text: String,
    /// The share of the work of this stage that is done.
    pub(super) percent: Option<u64>,
    pub(super) left: Option<Duration>,
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        let start = Sample::of(&Progress::default(), Instant::now());
        ProgressLine { stage: None, since: start, older: start, newer: start }
    }

    /// Returns the current line, no wider than the terminal.
    pub(crate) fn text(&mut self, progress: &Progress, at: Instant) -> String {
        self.text_within(progress, at, columns(Some(std::io::stderr())).saturating_sub(1))
    }

    /// Returns the current line without a limit on its width.
    pub(crate) fn log_text(&mut self, progress: &Progress, at: Instant) -> String {
        self.text_within(progress, at, usize::MAX)
    }

    /// Returns the current line without a limit on its width, and the figures at its beginning.
    pub(super) fn figures(&mut self, progress: &Progress, at: Instant) -> Figures {
        let (line, now, left) = self.advance(progress, at);
        Figures { percent: line.percent(&now), left, text: line.fit(&now, left, usize::MAX) }
    }

    fn text_within(&mut self, progress: &Progress, at: Instant, columns: usize) -> String {
        let (line, now, left) = self.advance(progress, at);
        line.fit(&now, left, columns)
    }

    /// Takes a sample. Returns the line, the sample and the time left.
    fn advance(&mut self, progress: &Progress, at: Instant) -> (Line, Sample, Option<Duration>) {
        let (now, stage) = (Sample::of(progress, at), progress.stage());
        if self.stage != Some(stage) {
            // The first stage counts from the start of the program, later stages from their first sample.
            self.since = if self.stage.is_some() { now } else { self.since };
            (self.older, self.newer) = (self.since, self.since);
            self.stage = Some(stage);
        }
        let line = self.line(stage, progress, &now);
        let left = line.goal.and_then(|(counter, all)| self.left(&now, counter, all));
        if now.at - self.newer.at >= RATE_PERIOD / 2 {
            (self.older, self.newer) = (self.newer, now);
        }
        (line, now, left)
    }

    fn line(&self, stage: Stage, progress: &Progress, now: &Sample) -> Line {
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        let alone = |doing| Line { doing, goal: None, parts: Vec::new() };
        let counted = |doing, number, noun: &str| Line {
            parts: vec![format!("{} {noun}", count(number))],
            ..alone(doing)
        };
        let changes = |doing, noun| {
            let rate = self.per_second(now, |sample| sample.bytes, size);
            contents(doing, noun, progress, now, rate)
        };
        match stage {
            Stage::Begin => alone("Starting"),
            Stage::Walk => Line {
                parts: vec![
                    format!("{} entries", count(now.entries)),
                    size(load(&progress.bytes_seen)),
                    self.per_second(now, |sample| sample.entries, count),
                ],
                ..alone("Finding files")
            },
            Stage::Sort => alone("Sorting files by size"),
            Stage::Heads => {
                let all = load(&progress.heads_total);
                files("Reading first blocks", |sample| sample.heads, all, now)
            }
            Stage::Compare => {
                let rate = self.per_second(now, |sample| sample.bytes_read, size);
                contents("Comparing", "files", progress, now, rate)
            }
            Stage::Look => {
                let all = load(&progress.files_total);
                files("Looking at files", |sample| sample.files, all, now)
            }
            Stage::Relate => alone("Comparing directories"),
            Stage::Commit => alone("Writing the catalog"),
            Stage::Act => changes("Changing files", "files"),
            Stage::Restore => changes("Restoring files", "files"),
            Stage::Count => counted("Counting", now.removed, "entries"),
            Stage::Purge => {
                let all = load(&progress.removed_total);
                let goal: (Counter, u64) = (|sample| sample.removed, all.max(now.removed));
                let rate = self.per_second(now, |sample| sample.removed, count);
                let parts = vec![of(now.removed, all, count) + " entries", rate];
                Line { goal: Some(goal).filter(|_| all > 0), parts, doing: "Removing" }
            }
            Stage::Mirror => changes("Mirroring", "names"),
            Stage::Export => counted("Exporting", now.files, "files"),
            Stage::Import => counted("Importing", now.files, "files"),
        }
    }

    /// Returns the rate of a counter, averaged over the last few seconds.
    fn per_second(&self, now: &Sample, counter: Counter, text: fn(u64) -> String) -> String {
        let grown = counter(now).saturating_sub(counter(&self.older));
        let millis = (now.at - self.older.at).as_millis().max(1);
        let rate = u64::try_from(u128::from(grown) * 1000 / millis).unwrap_or(u64::MAX);
        text(rate) + "/s"
    }

    /// Estimates the time left from the average rate since the stage began. Returns `None` if it is too early for an
    /// estimate.
    fn left(&self, now: &Sample, counter: Counter, all: u64) -> Option<Duration> {
        let done = counter(now).checked_sub(counter(&self.since)).filter(|&done| done > 0)?;
        let elapsed = now.at - self.since.at;
        let left = u128::from(all.saturating_sub(counter(now)));
        let millis = elapsed.as_millis().checked_mul(left)? / u128::from(done);
        (elapsed >= MIN_STAGE_AGE)
            .then(|| Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)))
    }
}

impl Line {
    /// Returns the share of the work that is done, or `None` if the amount of work is unknown.
    fn percent(&self, now: &Sample) -> Option<u64> {
        let (counter, all) = self.goal?;
        let share = u128::from(counter(now).min(all)) * 100 / u128::from(all.max(1));
        u64::try_from(share).ok()
    }

    /// Returns the line with as many counts as fit into `columns`.
    fn fit(self, now: &Sample, left: Option<Duration>, columns: usize) -> String {
        let mut parts = Vec::new();
        parts.extend(self.percent(now).map(|percent| format!("{percent}%")));
        parts.extend(left.map(|left| clock(left) + " left"));
        parts.extend(self.parts);
        let mut text = self.doing.to_string();
        for (at, part) in parts.iter().enumerate() {
            let between = if at == 0 { ": " } else { ", " };
            if text.len() + between.len() + part.len() > columns {
                break;
            }
            text = text + between + part;
        }
        text.truncate(columns);
        text
    }
}

/// Returns the line of a stage whose work depends only on the number of files.
fn files(doing: &'static str, counter: Counter, all: u64, now: &Sample) -> Line {
    let parts = vec![of(counter(now), all, count) + " files"];
    Line { doing, goal: Some((counter, all)), parts }
}

/// Returns the line of a stage whose work depends on the number of files and on their bytes.
fn contents(
    doing: &'static str,
    noun: &str,
    progress: &Progress,
    now: &Sample,
    rate: String,
) -> Line {
    let (files, bytes) = (progress.files_total.load(Relaxed), progress.bytes_total.load(Relaxed));
    let grows = progress.totals_grow.load(Relaxed);
    // More files may have been found after the total was counted.
    let all = weight(files.max(now.files), bytes.max(now.bytes));
    let goal: (Counter, u64) = (|sample| weight(sample.files, sample.bytes), all);
    let found = if grows { " found so far" } else { "" };
    let mut parts = vec![format!("{} {noun}{found}", of(now.files, files, count))];
    if bytes > 0 || now.bytes > 0 {
        parts.push(of(now.bytes, bytes, size));
    }
    // Shows the rate only once bytes have been processed, because bytes that were only read are not progress.
    parts.extend(Some(rate).filter(|_| now.bytes > 0));
    Line { doing, goal: Some(goal).filter(|_| files > 0 && !grows), parts }
}

/// Returns text such as "3 of 10", or only the first number if the total is unknown.
fn of(done: u64, all: u64, text: fn(u64) -> String) -> String {
    // More files may have been found after the total was counted.
    if all == 0 { text(done) } else { format!("{} of {}", text(done), text(all.max(done))) }
}

/// Returns the work for some files and bytes, expressed as a number of bytes.
fn weight(files: u64, bytes: u64) -> u64 {
    // Number of bytes that can be read in the time it takes to open a file.
    const FILE_COST_BYTES: u64 = 64 << 10;
    files.saturating_mul(FILE_COST_BYTES).saturating_add(bytes)
}

#[cfg(test)]
mod tests;
