//! A receiver that says anything: the sender ends, and gives nothing out but what is in the source.

#![no_main]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::LazyLock;
use std::thread;

use fuzz::{SECRET, file, honest, is_untouched, mutate, options, pair, place};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use mirror::Source;
use runtime::Progress;
use tempfile::TempDir;
use wire::{Incoming, Outgoing};

static HONEST: LazyLock<Vec<u8>> = LazyLock::new(|| honest().1);
/// Nobody changes it.
static PLACE: LazyLock<TempDir> = LazyLock::new(place);

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mutate(data, size, most, seed, &HONEST)
});

fuzz_target!(|data: &[u8]| {
    let source = Source::open(&PLACE.path().join("from")).expect("there");
    let ((mut asks, requested), (says, mut heard)) = (pair(), pair());
    let end = says.try_clone().expect("copied");
    let said = thread::scope(|scope| {
        scope.spawn(move || {
            let _written = asks.write_all(data);
            let _gone = asks.shutdown(Shutdown::Write);
        });
        let listener = scope.spawn(move || {
            let mut all = Vec::new();
            let _ended = heard.read_to_end(&mut all);
            all
        });
        let (out, mut requested) = (Outgoing::new(file(says)), Incoming::new(file(requested)));
        let _ended =
            mirror::send(&source, None, &options(), &Progress::default(), &mut requested, &out);
        let _gone = end.shutdown(Shutdown::Both);
        listener.join().expect("no panic")
    });
    assert!(!said.windows(SECRET.len()).any(|some| some == SECRET));
    is_untouched(PLACE.path());
});
