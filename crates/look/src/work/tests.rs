//! Tests that at most one thread works for each slot, and that cancelled work reports nothing.

use std::fs;
use std::time::{Duration, Instant};

use catalog::Writer;
use fsops::{Lock, create_dir_private};
use testkit::{TempTree, TreeBuilder};

use super::{Load, Loaded, News, Report, RunList, Running, Slot, Stop, Work, list_runs};
use crate::tests::install;

/// A program that ignores SIGINT. It notes its start, and waits for the file `go`. Then it lists its last argument as
/// the only unique file.
const PATIENT: &str = r#"#!/bin/sh
trap '' INT
dir=${0%/*}
for last; do :; done
echo "$last" >>"$dir/starts"
while [ ! -e "$dir/go" ]; do sleep 0.01; done
echo '{"files":[{"path":"'"$last"'","size":1}],"summary":{"files":1,"uniques":1,"bytes":1,"problems":0}}'
"#;

fn work() -> (TempTree, Work) {
    let temp = TempTree::new();
    let program = install(PATIENT, temp.path());
    let writer = Writer::open(&temp.path().join("c.db"), |_| ()).expect("opens");
    let work = Work::new(program, writer.catalog(), temp.path().into());
    (temp, work.expect("starts"))
}

fn uniques(dir: &str) -> Load {
    Load::Uniques(dir.into())
}

/// Returns the starts of the program.
fn starts(temp: &TempTree) -> String {
    fs::read_to_string(temp.path().join("starts")).unwrap_or_default()
}

/// Waits until `is_over` returns true.
#[track_caller]
fn wait(mut is_over: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_over() {
        assert!(Instant::now() < deadline, "the work does not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn newer_work_starts_when_the_thread_of_older_work_ends() {
    let (temp, mut work) = work();
    work.start(uniques("/a")).expect("starts");
    wait(|| starts(&temp) == "/a\n");
    work.start(uniques("/b")).expect("waits");
    work.start(uniques("/c")).expect("waits");
    let _made = TreeBuilder::new().file("go", "").make(temp.path());
    let mut news = Vec::new();
    wait(|| {
        news.extend(work.news());
        work.running.is_empty()
    });
    assert_eq!(starts(&temp), "/a\n/c\n");
    let [News::Loaded(Loaded::Uniques(Ok(uniques)))] = &news[..] else { panic!("{news:?}") };
    assert_eq!(uniques.files[0].path.bytes(), b"/c");
}

#[test]
fn cancelled_work_reports_nothing() {
    let (temp, mut work) = work();
    work.start(uniques("/a")).expect("starts");
    wait(|| starts(&temp) == "/a\n");
    work.start(uniques("/b")).expect("waits");
    work.cancel_all();
    let _made = TreeBuilder::new().file("go", "").make(temp.path());
    let mut news = Vec::new();
    wait(|| {
        news.extend(work.news());
        work.running.is_empty()
    });
    assert!(news.is_empty(), "{news:?}");
    assert_eq!(starts(&temp), "/a\n");
}

#[test]
fn a_result_that_waits_behind_another_one_can_be_cancelled() {
    let (_temp, mut work) = work();
    for (number, slot, loaded) in [
        (1, Slot::Act, Loaded::Acted(Err("failed".into()))),
        (2, Slot::Runs, Loaded::Runs(Ok(RunList::default()))),
    ] {
        let stop = Stop::default();
        work.running.push(Running { slot, number, stop, is_wanted: true, next: None });
        work.sender.send((number, Report::Loaded(loaded))).expect("received");
    }
    work.cancel_all();
    let first = work.news();
    assert!(matches!(first, Some(News::Loaded(Loaded::Acted(_)))), "{first:?}");
    work.cancel_all();
    let second = work.news();
    assert!(second.is_none(), "{second:?}");
}

#[test]
fn the_list_of_runs_tells_which_run_may_be_in_progress() {
    let temp = TempTree::new();
    let folder = temp.path().join("runs");
    let first = || list_runs(&folder).expect("listed").first_that_may_run;
    assert_eq!(first(), 1);
    create_dir_private(&folder).expect("created");
    let journals = TreeBuilder::new().file("runs/1.jsonl", "").file("runs/2.jsonl", "");
    let _made = journals.make(temp.path());
    assert_eq!(first(), 3);
    let lock = Lock::take(&folder.join("lock"), |_| ()).expect("locked");
    assert_eq!(first(), 2);
    drop(lock);
    assert_eq!(first(), 3);
}
