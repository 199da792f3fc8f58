//! An arbitrary sender: the receiver ends, and nothing outside of the destination changes.

#![no_main]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use fuzz::{file, honest, is_untouched, messages, mutate, options, pair, place};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use mirror::{Roots, User};
use runtime::Progress;
use wire::{FromReceiver, FromSender, Incoming, Outgoing, decode};

static HONEST: LazyLock<Vec<u8>> = LazyLock::new(|| honest().0);

/// The time that an answer waits for its request.
const WAITS: Duration = Duration::from_millis(5);

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    mutate(data, size, most, seed, &HONEST)
});

fuzz_target!(|data: &[u8]| {
    let place = place();
    play(place.path(), data);
    is_untouched(place.path());
});

fn play(place: &Path, data: &[u8]) {
    let roots = Roots::for_remote_source(&place.join("to"), None, false).expect("there");
    let ((requests_out, requests_in), (mut answers_out, answers_in)) = (pair(), pair());
    let (end, no_more) = (requests_out.try_clone().expect("copied"), answers_in.try_clone().expect("copied"));
    let requests = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut requests_in = Incoming::new(file(requests_in));
            while let Ok(message) = requests_in.next(&|| false) {
                let Ok((said, _)) = decode::<FromReceiver<'_>>(message) else { break };
                let is_request = matches!(said, FromReceiver::Fetch { .. });
                requests.fetch_add(u64::from(is_request), Relaxed);
            }
        });
        scope.spawn(|| {
            for message in messages(data) {
                let answers = match decode::<FromSender<'_>>(message.get(4..).unwrap_or_default()) {
                    Ok((FromSender::File { request, .. }, _))
                    | Ok((FromSender::Begin { request, .. }, _))
                    | Ok((FromSender::Lost { request, .. }, _)) => request.saturating_add(1),
                    _ => 0,
                };
                let until = Instant::now() + WAITS;
                while requests.load(Relaxed) < answers && Instant::now() < until {
                    thread::sleep(Duration::from_micros(50));
                }
                if answers_out.write_all(&message).is_err() {
                    break;
                }
            }
            let _gone = answers_out.shutdown(Shutdown::Write);
            let _rest = answers_out.read(&mut [0]);
        });
        let out = Arc::new(Outgoing::new(file(requests_out)));
        let mut said = Incoming::new(file(answers_in));
        let _ended = mirror::receive(
            &roots,
            &options(),
            &Progress::default(),
            User::default(),
            &mut said,
            &out,
        );
        let _gone = (end.shutdown(Shutdown::Both), no_more.shutdown(Shutdown::Both));
    });
}
