//! A stopped walk ends soon and does not panic.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fsops::{Dir, Stat};
use runtime::{Interrupted, Progress};
use testkit::TreeBuilder;
use walk::{Visitor, walk};

use crate::found::{options, workers};

/// Requests a stop after the given number of files.
struct StopAt<'a> {
    left: AtomicU64,
    progress: &'a Progress,
}

impl Visitor for StopAt<'_> {
    fn file(&self, _: &Dir, _: &CStr, _: &Stat) -> walk::Note {
        if self.left.fetch_sub(1, Relaxed) == 1 {
            self.progress.stop();
        }
        walk::Note::default()
    }
}

#[test]
fn a_walk_can_be_stopped_at_any_file() {
    let mut builder = TreeBuilder::new();
    for i in 0..150 {
        builder = builder.file(format!("{}/{}/{i}", i % 5, i % 30), "x");
    }
    let tree = builder.make_temp();
    for threads in [1, 2, 8] {
        for at in (1..=150).step_by(7) {
            let progress = Progress::default();
            let visitor = StopAt { left: AtomicU64::new(at), progress: &progress };
            let options = walk::Options { threads: workers(threads), ..options() };
            let roots = [tree.join("0"), tree.path().to_path_buf(), tree.join("0/0/0")];
            let answer = walk(&roots, &options, Some(&visitor), &progress);
            assert!(matches!(answer, Err(Interrupted)), "{threads} threads, stopped at {at}");
            assert!(progress.entries.load(Relaxed) <= 200);
        }
    }
}

#[test]
fn a_walk_stopped_before_it_starts_examines_nothing() {
    let progress = Progress::default();
    progress.stop();
    let answer = walk(&[".".into()], &options(), None, &progress);
    assert!(matches!(answer, Err(Interrupted)));
    assert_eq!(progress.entries.load(Relaxed), 0);
}

/// Panics at the first file.
struct Panic;

impl Visitor for Panic {
    fn file(&self, _: &Dir, _: &CStr, _: &Stat) -> walk::Note {
        panic!("on purpose");
    }
}

#[test]
fn a_panic_in_a_worker_ends_the_walk() {
    let tree = TreeBuilder::new().file("a/b/c", "x").make_temp();
    let roots = [tree.path().to_path_buf()];
    let options = walk::Options { threads: workers(4), ..options() };
    let walked = std::panic::catch_unwind(|| {
        walk(&roots, &options, Some(&Panic), &Progress::default()).is_ok()
    });
    assert!(walked.is_err());
}
