//! An arbitrary receiver: the sender ends, and sends nothing from outside of the source.

#![no_main]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::LazyLock;
use std::thread;

use runtime::Progress;
use fuzz::{SECRET, file, honest, is_untouched, mutate, options, pair, place};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use mirror::Source;
use tempfile::TempDir;
use wire::{Incoming, Outgoing};

static HONEST: LazyLock<Vec<u8>> = LazyLock::new(|| honest().1);
/// No run changes it.
static PLACE: LazyLock<TempDir> = LazyLock::new(place);

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mutate(data, size, most, seed, &HONEST)
});

fuzz_target!(|data: &[u8]| {
    let source = Source::open(&PLACE.path().join("from")).expect("there");
    let ((mut requests_out, requests_in), (answers_out, mut answers_in)) = (pair(), pair());
    let end = answers_out.try_clone().expect("copied");
    let said = thread::scope(|scope| {
        scope.spawn(move || {
            let _written = requests_out.write_all(data);
            let _gone = requests_out.shutdown(Shutdown::Write);
        });
        let listener = scope.spawn(move || {
            let mut all = Vec::new();
            let _ended = answers_in.read_to_end(&mut all);
            all
        });
        let (out, mut requests_in) = (Outgoing::new(file(answers_out)), Incoming::new(file(requests_in)));
        let talk = (&mut requests_in, &out);
        let _ended = mirror::send(&source, None, &options(), &Progress::default(), talk);
        let _gone = end.shutdown(Shutdown::Both);
        listener.join().expect("no panic")
    });
    assert!(!said.windows(SECRET.len()).any(|some| some == SECRET));
    is_untouched(PLACE.path());
});
