//! The sender or the receiver is stopped. After that, entries that were not listed must not be treated as missing in
//! the source.

use std::fs::File;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use mirror::{Roots, Source};
use runtime::Progress;
use testkit::{Compare, Dice, Snapshot, TempTree, TreeBuilder, assert_same};
use wire::{ConnectionError, EnteredDir, FromSender, Incoming, InodeMetadata, Meta, Outgoing};

use crate::world::{deleting, run, temp_name_of, temp_names_in, with};

/// Number of names. Each name is 200 bytes long. Half of the names fit into the listings that may be sent ahead.
const NAMES: u64 = 12_000;

fn pipe() -> (Incoming<File>, File) {
    let (from, to) = std::io::pipe().expect("there are pipes");
    (Incoming::new(OwnedFd::from(from).into()), OwnedFd::from(to).into())
}

/// Sends a tree to an identical destination, and stops the sender after a while. Returns whether it
/// stopped.
fn stopped_after(place: &TempTree, delay: Duration) -> bool {
    let source = Source::open(&place.join("from")).expect("there");
    let roots = Roots::for_remote_source(&place.join("to"), None, false).expect("there");
    let (mut requested, to_sender) = pipe();
    // Uses sockets, because copies of the descriptors in other threads would keep a pipe open.
    let (said, to_receiver) = UnixStream::pair().expect("there are sockets");
    let mut said = Incoming::new(OwnedFd::from(said).into());
    let (send_progress, progress) = (Progress::default(), Progress::default());
    thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let end = to_receiver.try_clone().expect("copied");
            let out = Outgoing::new(File::from(OwnedFd::from(to_receiver)));
            let sent = mirror::send(&source, None, &with(1), &send_progress, &mut requested, &out);
            end.shutdown(Shutdown::Write).expect("it is open");
            sent.is_err()
        });
        scope.spawn(|| {
            thread::sleep(delay);
            send_progress.stop();
        });
        let out = Arc::new(Outgoing::new(to_sender));
        let (_, ended) = mirror::receive(
            &roots,
            &deleting(),
            &progress,
            mirror::User::default(),
            &mut said,
            &out,
        );
        out.close();
        let has_stopped = sender.join().expect("no panic");
        assert_eq!(ended.is_err(), has_stopped, "{ended:?}");
        has_stopped
    })
}

#[test]
fn nothing_is_removed_because_the_sender_stops() {
    let place = TempTree::new();
    let mut tree = TreeBuilder::new().file("from/first", "one");
    for i in 0..NAMES {
        tree = tree.hard_link("from/first", format!("from/{i:0>200}"));
    }
    tree.make(place.path());
    run(place.join("from"), place.join("to"), &deleting());
    let before = Snapshot::of(place.join("to"));
    let (mut dice, mut stopped, mut longest) = (Dice::new(3), 0, Duration::from_millis(60));
    for _ in 0..100 {
        let delay = dice.dwell(longest).unwrap_or(longest / 2);
        if stopped_after(&place, delay) {
            stopped += 1;
        } else {
            longest -= longest / 8;
        }
        let names = std::fs::read_dir(place.join("to")).expect("listed").count();
        assert_eq!(names, before.entries.len() - 1, "after {delay:?}");
        if stopped == 12 {
            break;
        }
    }
    assert!(stopped >= 6, "{stopped}");
    assert_same(&before, &Snapshot::of(place.join("to")), Compare::ALL);
}

/// Receives messages, and returns how the run ended. Calls `meanwhile` during the run.
fn received(
    place: &TempTree,
    (mut said, to_sender): (Incoming<File>, File),
    meanwhile: impl FnOnce(&Progress) + Send,
) -> Result<(), ConnectionError> {
    let roots = Roots::for_remote_source(&place.join("to"), None, false).expect("there");
    let progress = Progress::default();
    thread::scope(|scope| {
        scope.spawn(|| meanwhile(&progress));
        let out = Arc::new(Outgoing::new(to_sender));
        mirror::receive(&roots, &deleting(), &progress, mirror::User::default(), &mut said, &out).1
    })
}

#[test]
fn a_lost_receiver_does_not_interrupt_the_sender() {
    let place = TreeBuilder::new().dir("to").make_temp();
    let ((said, to_receiver), (requested, to_sender)) = (pipe(), pipe());
    drop(requested);
    let says = Outgoing::new(to_receiver);
    let meta = Meta { mode: 0o040_755, ..Meta::default() };
    let facts = InodeMetadata { meta, xattrs: Vec::new(), partial: false };
    let enter = FromSender::Enter(EnteredDir { dir: 0, facts, is_entered: true });
    says.send(&enter, &[]).expect("said");
    let left = FromSender::Leave { dir: 0, whole: true };
    says.send(&left, &[]).and_then(|()| says.flush()).expect("said");
    let ended = received(&place, (said, to_sender), |_| ());
    assert!(matches!(ended, Err(ConnectionError::Lost)), "{ended:?}");
}

#[test]
fn a_source_that_is_gone_is_not_taken_for_an_empty_one() {
    let place = TreeBuilder::new().file("from/a", "a").file("to/a", "a").make_temp();
    let source = Source::open(&place.join("from")).expect("there");
    std::fs::remove_dir_all(place.join("from")).expect("removed");
    let roots = Roots::for_remote_source(&place.join("to"), None, false).expect("there");
    let ((mut requested, to_sender), (mut said, to_receiver)) = (pipe(), pipe());
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            let (out, progress) = (Outgoing::new(to_receiver), Progress::default());
            mirror::send(&source, None, &with(1), &progress, &mut requested, &out).expect("sent");
        });
        let out = Arc::new(Outgoing::new(to_sender));
        let progress = Progress::default();
        mirror::receive(&roots, &deleting(), &progress, mirror::User::default(), &mut said, &out).0
    });
    assert!(outcome.counts.source_failed && outcome.counts.failed > 0, "{outcome:?}");
    assert_eq!(std::fs::read(place.join("to/a")).expect("there"), b"a");
}

/// A receiver that is stopped while it copies a prefix keeps that prefix.
#[test]
fn the_received_part_of_a_file_stays_after_a_stop() {
    const MOST: u64 = 48 << 20;
    let place = TreeBuilder::new().seeded("from/a", 1, MOST + 5).dir("to").make_temp();
    let all = std::fs::read(place.join("from/a")).expect("read");
    let part = &all[..usize::try_from(MOST).expect("fits")];
    let left = || std::fs::write(place.join("to").join(temp_name_of("a")), part).expect("written");
    left();
    let (mut dice, mut stopped) = (Dice::new(5), 0);
    for _ in 0..60 {
        let delay = dice.dwell(Duration::from_millis(300)).unwrap_or_default();
        let source = Source::open(&place.join("from")).expect("there");
        // Uses sockets, because copies of the descriptors in other threads would keep a pipe open.
        let (requested, to_sender) = UnixStream::pair().expect("there are sockets");
        let mut requested = Incoming::new(OwnedFd::from(requested).into());
        let (said, to_receiver) = pipe();
        let ended = thread::scope(|scope| {
            scope.spawn(|| {
                let (out, progress) = (Outgoing::new(to_receiver), Progress::default());
                let _ended = mirror::send(&source, None, &with(1), &progress, &mut requested, &out);
            });
            let end = to_sender.try_clone().expect("copied");
            let ended = received(&place, (said, OwnedFd::from(to_sender).into()), |progress| {
                thread::sleep(delay);
                progress.stop();
            });
            end.shutdown(Shutdown::Write).expect("it is open");
            ended
        });
        if place.join("to/a").exists() {
            std::fs::remove_file(place.join("to/a")).expect("removed");
            left();
        } else {
            assert!(matches!(ended, Err(ConnectionError::Stopped)), "{ended:?}");
            let sizes = temp_names_in(place.join("to"));
            let sizes = sizes.iter().map(|part| part.metadata().expect("it is there").len());
            let left = sizes.max().unwrap_or_default();
            assert!(left >= MOST, "{left} after {delay:?}");
            stopped += 1;
        }
    }
    assert!(stopped > 5, "{stopped}");
}
