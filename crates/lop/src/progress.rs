//! The line of progress: what is being done, how far it is, how fast, and how long it will take.
//!
//! Counts may be those that another host says: they may be anything, and may go down.
//!
//! Drawn by hand: one line that fits the terminal needs a carriage return and "erase to the end
//! of the line" (ECMA-48), which also serves `--progress always` on what is no terminal.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use fsops::{Stage, Watch};

use crate::quantity::{count, size};

/// Columns used if the terminal does not say how many it has.
const COLUMNS: usize = 80;

/// Over how long a rate is taken; long enough to be steady, short enough to follow the disk.
const WINDOW: Duration = Duration::from_secs(3);

/// Makes the text of the line, remembering what the counters were a while ago.
pub(crate) struct Progress {
    stage: Option<Stage>,
    /// When the stage began.
    since: Sample,
    /// Between one and two halves of a window ago, and up to one.
    older: Sample,
    newer: Sample,
}

/// The counters at one moment.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    entries: u64,
    files_done: u64,
    bytes_done: u64,
    bytes_read: u64,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let at = Instant::now();
        let start = Sample { at, entries: 0, files_done: 0, bytes_done: 0, bytes_read: 0 };
        Progress { stage: None, since: start, older: start, newer: start }
    }

    /// Returns the line for this moment, no wider than the terminal.
    pub(crate) fn text(&mut self, watch: &Watch, at: Instant) -> String {
        let now = Sample {
            at,
            entries: watch.entries.load(Relaxed),
            files_done: watch.files_done.load(Relaxed),
            bytes_done: watch.bytes_done.load(Relaxed),
            bytes_read: watch.bytes_read.load(Relaxed),
        };
        let step = step_of(watch.stage());
        if self.stage.map(step_of) != Some(step) {
            // A walk is timed from the start of the program, later steps from their first look.
            self.since = if self.stage.is_some() { now } else { self.since };
            (self.older, self.newer) = (self.since, self.since);
            self.stage = Some(watch.stage());
        }
        let mut text = match step {
            Step::Walk => self.walking(watch, now),
            Step::Compare => self.comparing(watch, now),
            Step::Commit => "Writing the catalog".to_string(),
            Step::Act => acting(watch),
            Step::Count => format!("Counting: {} entries", count(watch.files_done.load(Relaxed))),
            Step::Purge => self.purging(watch, now),
            Step::Mirror => self.mirroring(watch, now),
        };
        if now.at - self.newer.at >= WINDOW / 2 {
            (self.older, self.newer) = (self.newer, now);
        }
        text.truncate(columns().saturating_sub(1));
        text
    }

    fn walking(&self, watch: &Watch, now: Sample) -> String {
        let rate = rate(now.entries.saturating_sub(self.older.entries), now.at - self.older.at);
        let bytes = size(watch.bytes_seen.load(Relaxed));
        format!("Finding files: {} entries, {bytes}, {}/s", count(now.entries), count(rate))
    }

    fn comparing(&self, watch: &Watch, now: Sample) -> String {
        let load = |counter: &AtomicU64| counter.load(Relaxed);
        let (files, all_files) = (load(&watch.files_done), load(&watch.files_total));
        let all_bytes = load(&watch.bytes_total);
        if all_files == 0 {
            return "Comparing".to_string();
        }
        let rate =
            rate(now.bytes_read.saturating_sub(self.older.bytes_read), now.at - self.older.at);
        let mut text = format!(
            "Comparing: {} of {} files, {} of {}, {}/s",
            count(files.min(all_files)),
            count(all_files),
            size(now.bytes_done.min(all_bytes)),
            size(all_bytes),
            size(rate)
        );
        self.add_left(&mut text, now, |sample| sample.bytes_done, all_bytes);
        text
    }

    fn purging(&self, watch: &Watch, now: Sample) -> String {
        let all = watch.files_total.load(Relaxed);
        let done = count(now.files_done);
        let mut text = match all {
            0 => format!("Removing: {done} entries"),
            // Some may have been added since they were counted.
            all => format!("Removing: {done} of {} entries", count(all.max(now.files_done))),
        };
        let rate =
            rate(now.files_done.saturating_sub(self.older.files_done), now.at - self.older.at);
        let _infallible = write!(text, ", {}/s", count(rate));
        if all > 0 {
            self.add_left(&mut text, now, |sample| sample.files_done, all);
        }
        text
    }

    fn mirroring(&self, watch: &Watch, now: Sample) -> String {
        let (names, bytes) = (watch.files_total.load(Relaxed), watch.bytes_total.load(Relaxed));
        let of =
            |all: u64, text: String| if all > 0 { format!(" of {text}") } else { String::new() };
        // Some may have been added since they were counted.
        let all = bytes.max(now.bytes_done);
        let mut text = format!(
            "Mirroring: {}{} names, {}{}, {}/s",
            count(now.files_done),
            of(names, count(names.max(now.files_done))),
            size(now.bytes_done),
            of(names, size(all)),
            size(rate(
                now.bytes_done.saturating_sub(self.older.bytes_done),
                now.at - self.older.at
            ))
        );
        if names > 0 {
            let done = |sample: &Sample| weight(sample.files_done, sample.bytes_done);
            self.add_left(&mut text, now, done, weight(names.max(now.files_done), all));
        }
        text
    }

    /// Adds how long it will take.
    fn add_left(&self, text: &mut String, now: Sample, done: fn(&Sample) -> u64, all: u64) {
        if let Some(left) = self.left(now, done, all) {
            let (minutes, seconds) = (left.as_secs() / 60, left.as_secs() % 60);
            let _infallible = write!(text, ", {minutes}:{seconds:02} left");
        }
    }

    /// Returns the time that is left at the pace kept since the step began, once there is one.
    fn left(&self, now: Sample, so_far: fn(&Sample) -> u64, all: u64) -> Option<Duration> {
        let done = so_far(&now).checked_sub(so_far(&self.since)).filter(|&d| d > 0)?;
        let elapsed = (now.at - self.since.at).as_millis();
        let left = all.saturating_sub(so_far(&now));
        let millis = elapsed.checked_mul(u128::from(left))? / u128::from(done);
        (elapsed >= 500).then(|| Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX)))
    }
}

/// What a person sees as one step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Walk,
    Compare,
    Commit,
    Act,
    Count,
    Purge,
    Mirror,
}

fn step_of(stage: Stage) -> Step {
    match stage {
        Stage::Walk => Step::Walk,
        Stage::Heads | Stage::Compare => Step::Compare,
        Stage::Commit => Step::Commit,
        Stage::Act => Step::Act,
        Stage::Count => Step::Count,
        Stage::Purge => Step::Purge,
        Stage::Mirror => Step::Mirror,
    }
}

/// Returns how much work names and bytes are, in bytes.
fn weight(names: u64, bytes: u64) -> u64 {
    // A name takes about as long as so many bytes.
    const NAME: u64 = 64 << 10;
    names.saturating_mul(NAME).saturating_add(bytes)
}

fn acting(watch: &Watch) -> String {
    format!("Changing files: {} done", count(watch.files_done.load(Relaxed)))
}

fn rate(amount: u64, time: Duration) -> u64 {
    let millis = time.as_millis().max(1);
    u64::try_from(u128::from(amount) * 1000 / millis).unwrap_or(u64::MAX)
}

fn columns() -> usize {
    rustix::termios::tcgetwinsize(std::io::stderr())
        .map(|size| usize::from(size.ws_col))
        .ok()
        .filter(|&columns| columns > 0)
        .unwrap_or(COLUMNS)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::Duration;

    use fsops::{Stage, Watch};

    use super::Progress;

    #[test]
    fn a_walk_shows_entries_bytes_and_rate() {
        let (watch, mut progress) = (Watch::default(), Progress::new());
        watch.entries.store(20_000, Relaxed);
        watch.bytes_seen.store(3 << 30, Relaxed);
        let at = progress.since.at + Duration::from_secs(2);
        let text = progress.text(&watch, at);
        assert_eq!(text, "Finding files: 20,000 entries, 3.0 GiB, 10,000/s");
    }

    #[test]
    fn counts_may_be_anything() {
        let (watch, mut progress) = (Watch::default(), Progress::new());
        watch.enter(Stage::Mirror);
        let mut at = progress.since.at;
        for said in [0, 1 << 40, u64::MAX, 7, 0] {
            for counter in [&watch.files_total, &watch.files_done, &watch.bytes_done] {
                counter.store(said, Relaxed);
            }
            at += Duration::from_secs(2);
            assert!(progress.text(&watch, at).starts_with("Mirroring: "));
        }
    }

    #[test]
    fn comparing_shows_how_far_it_is_and_what_is_left() {
        let (watch, mut progress) = (Watch::default(), Progress::new());
        let start = progress.since.at;
        progress.text(&watch, start);
        watch.enter(Stage::Compare);
        watch.files_total.store(2000, Relaxed);
        watch.bytes_total.store(4 << 20, Relaxed);
        progress.text(&watch, start);
        watch.files_done.store(500, Relaxed);
        watch.bytes_done.store(1 << 20, Relaxed);
        watch.bytes_read.store(1 << 20, Relaxed);
        let text = progress.text(&watch, start + Duration::from_secs(1));
        let expected = "Comparing: 500 of 2,000 files, 1.0 MiB of 4.0 MiB, 1.0 MiB/s, 0:03 left";
        assert_eq!(text, expected);
    }
}
