//! Progress as lines of JSON, for programs that run lop (`--progress json`).
//!
//! A figure that is unknown is absent from a record. A record must never contain a guess such as a total that still
//! grows, because programs draw bars from these figures.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use runtime::{Progress, Stage};
use serde::Serialize;

use crate::monitor::progress_line::ProgressLine;
use crate::output::formats::document_with;

/// The progress of the current stage.
#[derive(Serialize)]
struct Record {
    stage: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    done_percent: Option<u64>,
    #[serde(flatten)]
    counts: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_left: Option<u64>,
}

/// The counters of a stage. A counter that the stage does not use is `None`.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Counts {
    #[serde(skip_serializing_if = "Option::is_none")]
    files_done: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_total: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_done: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_total: Option<u64>,
}

/// Returns the record of the current progress, as a document on one line.
pub(super) fn record(line: &mut ProgressLine, progress: &Progress, at: Instant) -> String {
    let stage = progress.stage();
    let figures = line.figures(progress, at);
    let record = Record {
        stage: name(stage),
        text: figures.text,
        done_percent: figures.percent,
        counts: Counts::of(stage, progress),
        seconds_left: figures.left.map(|left| left.as_secs()),
    };
    document_with("progress", &record)
}

/// Returns the name of a stage. `docs/formats.md` lists these names.
fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Begin => "begin",
        Stage::Walk => "walk",
        Stage::Sort => "sort",
        Stage::Heads => "heads",
        Stage::Compare => "compare",
        Stage::Look => "look",
        Stage::Relate => "relate",
        Stage::Commit => "commit",
        Stage::Act => "act",
        Stage::Restore => "restore",
        Stage::Count => "count",
        Stage::Purge => "purge",
        Stage::Mirror => "mirror",
        Stage::Export => "export",
        Stage::Import => "import",
    }
}

impl Counts {
    fn of(stage: Stage, progress: &Progress) -> Counts {
        let done = |counter: &AtomicU64| Some(counter.load(Relaxed));
        // A total of 0 is not known yet, and a total that grows is only a lower bound.
        let total = |counter: &AtomicU64| {
            done(counter).filter(|&all| all > 0 && !progress.totals_grow.load(Relaxed))
        };
        let files =
            |files_done, files_total| Counts { files_done, files_total, ..Counts::default() };
        match stage {
            Stage::Begin | Stage::Sort | Stage::Relate | Stage::Commit => Counts::default(),
            Stage::Walk => Counts {
                files_done: done(&progress.entries),
                bytes_done: done(&progress.bytes_seen),
                ..Counts::default()
            },
            Stage::Heads => files(done(&progress.heads_done), total(&progress.heads_total)),
            Stage::Export | Stage::Import => files(done(&progress.files_done), None),
            Stage::Look => files(done(&progress.files_done), total(&progress.files_total)),
            Stage::Compare | Stage::Act | Stage::Restore | Stage::Mirror => Counts {
                files_done: done(&progress.files_done),
                files_total: total(&progress.files_total),
                bytes_done: done(&progress.bytes_done),
                bytes_total: total(&progress.bytes_total),
            },
            Stage::Count => files(done(&progress.removed_done), None),
            Stage::Purge => files(done(&progress.removed_done), total(&progress.removed_total)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::{Duration, Instant};

    use runtime::{Progress, Stage};
    use serde_json::{Value, json};

    use super::record;
    use crate::monitor::progress_line::ProgressLine;

    fn written(line: &mut ProgressLine, progress: &Progress, at: Instant) -> Value {
        let text = record(line, progress, at);
        let mut document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(document["format_version"], 1);
        document["progress"].take()
    }

    #[test]
    fn unknown_figures_are_absent() {
        let (progress, mut line) = (Progress::default(), ProgressLine::new());
        let now = Instant::now();
        let expected = json!({"stage": "begin", "text": "Starting"});
        assert_eq!(written(&mut line, &progress, now), expected);
        progress.enter(Stage::Walk);
        progress.entries.store(7, Relaxed);
        let walk = written(&mut line, &progress, now);
        assert_eq!((&walk["stage"], &walk["files_done"]), (&json!("walk"), &json!(7)));
        for unknown in ["files_total", "bytes_total", "seconds_left", "done_percent"] {
            assert_eq!(walk.get(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn known_totals_give_a_share_and_the_time_left() {
        let (progress, mut line) = (Progress::default(), ProgressLine::new());
        let start = Instant::now();
        progress.enter(Stage::Act);
        progress.files_total.store(10, Relaxed);
        progress.bytes_total.store(8 << 30, Relaxed);
        record(&mut line, &progress, start);
        progress.files_done.store(3, Relaxed);
        progress.bytes_done.store(2 << 30, Relaxed);
        let mut act = written(&mut line, &progress, start + Duration::from_secs(4));
        let text = act["text"].take();
        assert!(text.as_str().is_some_and(|text| text.starts_with("Changing files: 25%")));
        // The time counts from the creation of the line, which is a moment before `start`.
        let left = act["seconds_left"].take();
        assert!(left == json!(11) || left == json!(12), "{left}");
        let expected = json!({
            "stage": "act", "text": null, "done_percent": 25, "seconds_left": null,
            "files_done": 3, "files_total": 10, "bytes_done": 2u64 << 30, "bytes_total": 8u64 << 30,
        });
        assert_eq!(act, expected);
    }

    #[test]
    fn totals_that_grow_are_unknown() {
        let (progress, mut line) = (Progress::default(), ProgressLine::new());
        progress.enter(Stage::Mirror);
        progress.totals_grow.store(true, Relaxed);
        progress.files_total.store(10, Relaxed);
        progress.bytes_total.store(10, Relaxed);
        let mirror = written(&mut line, &progress, Instant::now());
        assert_eq!((mirror.get("files_total"), mirror.get("bytes_total")), (None, None));
        assert_eq!(mirror.get("done_percent"), None);
    }
}
