//! A walk that is stopped ends soon, and never panics.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fsops::{Dir, Interrupted, Stat, Watch};
use testkit::TreeBuilder;
use walk::{Visitor, walk};

use crate::found::{options, workers};

/// Stops the walk at its so-manieth file.
struct StopAt<'a> {
    left: AtomicU64,
    watch: &'a Watch,
}

impl Visitor for StopAt<'_> {
    fn file(&self, _: &Dir, _: &CStr, _: &Stat) -> u64 {
        if self.left.fetch_sub(1, Relaxed) == 1 {
            self.watch.stop();
        }
        0
    }
}

#[test]
fn a_walk_stopped_at_any_file_is_interrupted() {
    let mut builder = TreeBuilder::new();
    for i in 0..150 {
        builder = builder.file(format!("{}/{}/{i}", i % 5, i % 30), "x");
    }
    let tree = builder.make_temp();
    for threads in [1, 2, 8] {
        for at in (1..=150).step_by(7) {
            let watch = Watch::default();
            let visitor = StopAt { left: AtomicU64::new(at), watch: &watch };
            let options = walk::Options { threads: workers(threads), ..options() };
            let roots = [tree.join("0"), tree.path().to_path_buf(), tree.join("0/0/0")];
            let answer = walk(&roots, &options, Some(&visitor), &watch);
            assert!(matches!(answer, Err(Interrupted)), "{threads} threads, stopped at {at}");
            assert!(watch.entries.load(Relaxed) <= 200);
        }
    }
}

#[test]
fn a_walk_stopped_before_it_begins_looks_at_nothing() {
    let watch = Watch::default();
    watch.stop();
    let answer = walk(&[".".into()], &options(), None, &watch);
    assert!(matches!(answer, Err(Interrupted)));
    assert_eq!(watch.entries.load(Relaxed), 0);
}

/// Panics at the first file.
struct Panic;

impl Visitor for Panic {
    fn file(&self, _: &Dir, _: &CStr, _: &Stat) -> u64 {
        panic!("on purpose");
    }
}

#[test]
fn a_panic_in_one_worker_ends_the_walk_instead_of_leaving_the_others_waiting() {
    let tree = TreeBuilder::new().file("a/b/c", "x").make_temp();
    let roots = [tree.path().to_path_buf()];
    let options = walk::Options { threads: workers(4), ..options() };
    let walked = std::panic::catch_unwind(|| {
        walk(&roots, &options, Some(&Panic), &Watch::default()).is_ok()
    });
    assert!(walked.is_err());
}
