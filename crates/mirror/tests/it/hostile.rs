//! A hostile sender or receiver that breaks the protocol. The run always ends, and changes nothing outside the trees.

use std::fs::File;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mirror::{Options, Roots, Source};
use runtime::Progress;
use testkit::{Compare, Dice, Snapshot, TEST_TIMEOUT, TempTree, TreeBuilder, assert_same};
use wire::{
    ConnectionError, EnteredDir, FileList, FileListEntry, FromReceiver, FromSender, Incoming,
    InodeMetadata, Item, KnownPrefix, Loss, Meta, Outgoing, decode,
};

use crate::hints::FakeHints;
use crate::world::{deleting, with};

/// The time for random conversations.
const BUDGET: Duration = Duration::from_secs(6);

/// How long an answer waits for a request that may never be made.
const SHORT: Duration = Duration::from_millis(50);

fn pipe() -> (File, File) {
    let (from, to) = std::io::pipe().expect("there are pipes");
    (OwnedFd::from(from).into(), OwnedFd::from(to).into())
}

fn one() -> Options {
    let place = TreeBuilder::new().seeded("twice", 8, 40_000).make_temp();
    let bytes = std::fs::read(place.join("twice")).expect("read");
    let reported = FakeHints::of(&["two/a", "0/large too", "../outside/kept"]);
    let reported =
        reported.with_digest(b"two/a", &bytes, "two/b").with_digest(b"two/b", &bytes, "two/a");
    reported.to(Options { threads: with(1).threads, ..deleting() })
}

fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for i in 0..30u64 {
        tree = tree.seeded(format!("{}/{}/f{i}", i % 3, i % 2), i, 50 + i * 30);
    }
    tree.seeded("large", 7, 600_000)
        .seeded("two/a", 8, 40_000)
        .seeded("two/b", 8, 40_000)
        .sparse("sparse", 1 << 20, &[(1 << 19, b"x")])
        .hard_link("large", "0/large too")
        .hard_links("linked", &["l", "1/l", "2/0/l"])
        .symlink("link", "../outside")
        .fifo("fifo")
        .xattr("l", "user.x", b"y")
        .dir("empty")
}

/// Runs `act` and panics if it takes too long.
fn in_time<T: Send + 'static>(what: &str, act: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, waits) = mpsc::channel();
    let thread = thread::spawn(move || {
        let _waited_for = done.send(act());
    });
    let result = waits.recv_timeout(TEST_TIMEOUT);
    assert!(result.is_ok() || !thread.is_finished(), "{what}: it panicked");
    result.unwrap_or_else(|_| panic!("{what}: it did not end"))
}

/// Returns the messages, including headers, that a correct sender sends to a correct receiver.
fn said(place: &TempTree) -> Vec<Vec<u8>> {
    let source = Source::open(&place.join("from")).expect("there");
    let roots = Roots::for_remote_source(&place.join("honest"), None, false).expect("made");
    let ((asks, to_sender), (says, heard), (again, to_receiver)) = (pipe(), pipe(), pipe());
    let bytes = thread::scope(|scope| {
        scope.spawn(move || {
            let (out, progress, mut asks) =
                (Outgoing::new(heard), Progress::default(), Incoming::new(asks));
            mirror::send(&source, None, &one(), &progress, &mut asks, &out).expect("sent");
        });
        let listener = scope.spawn(move || {
            let (mut all, mut some) = (Vec::new(), vec![0; 65_536]);
            let (mut says, mut to) = (says, to_receiver);
            while let Ok(read @ 1..) = says.read(&mut some) {
                all.extend_from_slice(&some[..read]);
                to.write_all(&some[..read]).expect("passed on");
            }
            all
        });
        let out = Arc::new(Outgoing::new(to_sender));
        let mut again = Incoming::new(again);
        let (_, ended) = mirror::receive(
            &roots,
            &one(),
            &Progress::default(),
            mirror::User::default(),
            &mut again,
            &out,
        );
        ended.expect("received");
        listener.join().expect("no panic")
    });
    let mut messages = Vec::new();
    let mut rest = &bytes[..];
    while let Some((head, _)) = rest.split_first_chunk::<4>() {
        let (message, after) = rest.split_at(4 + u32::from_le_bytes(*head) as usize);
        messages.push(message.to_vec());
        rest = after;
    }
    messages
}

/// Returns a number below `sides`, which must not be 0.
fn any(dice: &mut Dice, sides: usize) -> usize {
    usize::try_from(dice.below(sides as u64)).expect("it is small")
}

/// Corrupts a conversation at a random point.
fn spoil(messages: &mut Vec<Vec<u8>>, dice: &mut Dice) {
    let at = any(dice, messages.len());
    match dice.below(8) {
        0 => drop(messages.remove(at)),
        1 => messages.insert(at, messages[at].clone()),
        2 => {
            let other = any(dice, messages.len());
            messages.swap(at, other);
        }
        3 => messages.truncate(at + 1),
        4 => {
            let message = &mut messages[at];
            message.truncate(4 + any(dice, message.len() - 3));
            set_length(message);
        }
        5 => {
            // Overwrites bytes with the largest possible number.
            let message = &mut messages[at];
            let place = 4 + any(dice, message.len() - 3);
            let huge = [255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
            message.splice(place..(place + 1).min(message.len()), huge);
            set_length(message);
        }
        _ => {
            let message = &mut messages[at];
            if message.len() > 4 {
                let place = 4 + any(dice, message.len() - 4);
                message[place] = u8::try_from(dice.below(256)).expect("it is a byte");
            }
        }
    }
}

fn set_length(message: &mut [u8]) {
    let length = u32::try_from(message.len() - 4).expect("it is short");
    message[..4].copy_from_slice(&length.to_le_bytes());
}

/// Sends these messages to a receiver. An answer is sent after its request, or when `timeout` has passed.
fn replay(
    to: &std::path::Path,
    messages: impl Iterator<Item = Vec<u8>> + Send,
    timeout: Duration,
) -> Result<(), ConnectionError> {
    replay_with(&one(), to, messages, timeout)
}

fn replay_with(
    options: &Options,
    to: &std::path::Path,
    messages: impl Iterator<Item = Vec<u8>> + Send,
    timeout: Duration,
) -> Result<(), ConnectionError> {
    let roots = Roots::for_remote_source(to, None, false).expect("made");
    let (asks, to_sender) = pipe();
    // Uses sockets, because copies of the descriptors in other threads would keep a pipe open.
    let (says, mut to_receiver) = UnixStream::pair().expect("there are sockets");
    let requested = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&requested);
    let listener = thread::spawn(move || {
        let mut asks = Incoming::new(asks);
        while let Ok(message) = asks.next(&|| false) {
            let Ok((said, _)) = decode::<FromReceiver<'_>>(message) else { break };
            let is_request = matches!(said, FromReceiver::Fetch { .. });
            counter.fetch_add(u64::from(is_request), Relaxed);
        }
    });
    let out = Arc::new(Outgoing::new(to_sender));
    let ended = thread::scope(|scope| {
        scope.spawn(move || {
            for message in messages {
                let wants = match decode::<FromSender<'_>>(&message[4..]) {
                    Ok((
                        FromSender::File { request, .. }
                        | FromSender::Begin { request, .. }
                        | FromSender::Lost { request, .. },
                        _,
                    )) => request.saturating_add(1),
                    _ => 0,
                };
                let end = Instant::now() + timeout;
                while requested.load(Relaxed) < wants && Instant::now() < end {
                    thread::sleep(Duration::from_micros(100));
                }
                if to_receiver.write_all(&message).is_err() {
                    break;
                }
            }
            let _gone = to_receiver.shutdown(Shutdown::Write);
        });
        let mut says = Incoming::new(OwnedFd::from(says).into());
        let progress = Progress::default();
        let (_, ended) =
            mirror::receive(&roots, options, &progress, mirror::User::default(), &mut says, &out);
        drop(says);
        ended
    });
    drop(out);
    listener.join().expect("no panic");
    ended
}

#[test]
fn an_arbitrary_sender_changes_nothing_elsewhere() {
    let place = TempTree::new();
    tree().make(place.join("from"));
    TreeBuilder::new().file("outside/kept", "k").make(place.path());
    let messages = said(&place);
    assert!(messages.len() > 30, "{}", messages.len());
    let outside = Snapshot::of(place.join("outside"));
    let (start, mut rounds, mut refused) = (Instant::now(), 0u64, 0);
    while start.elapsed() < BUDGET || rounds < 50 {
        let mut dice = Dice::new(rounds);
        let mut spoilt = messages.clone();
        for _ in 0..=dice.below(3) {
            if !spoilt.is_empty() {
                spoil(&mut spoilt, &mut dice);
            }
        }
        let to = place.join("to");
        let at = to.clone();
        let ended =
            in_time(&format!("round {rounds}"), move || replay(&at, spoilt.into_iter(), SHORT));
        refused += u64::from(ended.is_err());
        assert_same(&outside, &Snapshot::of(place.join("outside")), Compare::ALL);
        if rounds % 4 == 3 {
            std::fs::remove_dir_all(&to).expect("removed");
        }
        rounds += 1;
    }
    assert!(refused * 2 > rounds, "{refused} of {rounds}");
    let names: Vec<_> = std::fs::read_dir(place.path()).expect("listed").collect();
    assert!(names.len() <= 4, "{names:?}");
}

#[test]
fn a_sender_that_sends_too_much_is_cut_off() {
    let meta = Meta { mode: 0o040_755, ..Meta::default() };
    let value = vec![7; 60_000];
    let xattrs = vec![(&b"user.x"[..], &value[..])];
    let enter = |dir| {
        let facts = InodeMetadata { meta, xattrs: xattrs.clone(), partial: false };
        wire::encode(&FromSender::Enter(EnteredDir { dir, facts, is_entered: true }))
    };
    let failed = |dir| wire::encode(&FromSender::Failed { dir, name: &value, loss: Loss::Changed });
    let left = |dir| wire::encode(&FromSender::Leave { dir, whole: true });
    let closed = |dir| wire::encode(&FromSender::Closed { dir, loss: Loss::Changed });
    let (again, closed_again) = (|_| left(1), |_| closed(1));
    let place = TempTree::new();
    let ways: [&(dyn Fn(u64) -> Result<Vec<u8>, ConnectionError> + Sync); 6] =
        [&enter, &failed, &left, &closed, &again, &closed_again];
    for (number, message) in ways.into_iter().enumerate() {
        // Sends directories that were never listed, until the receiver refuses to continue. Storing 100,000 such
        // messages would take 6 GB.
        let messages = (1..100_000).map(|dir| {
            let message = message(dir).expect("it is encoded");
            let length = u32::try_from(message.len()).expect("it is short");
            [&length.to_le_bytes()[..], &message].concat()
        });
        let to = place.join(number.to_string());
        // The receiver must not keep all messages in memory either.
        let ended = replay(&to, messages, SHORT);
        assert!(matches!(ended, Err(ConnectionError::ProtocolViolation(_))), "{ended:?}");
    }
}

/// Returns the listing that a sender with different patterns would send.
fn listed(name: &[u8], is_dir: bool) -> Vec<FromSender<'_>> {
    let meta = |mode, size| Meta { mode, size, links: 1, ..Meta::default() };
    let facts = |mode| InodeMetadata { meta: meta(mode, 0), xattrs: Vec::new(), partial: false };
    let item = if is_dir { Item::Dir(1) } else { Item::Other(facts(0o100_644), b"") };
    let records = vec![FileListEntry { item, names: vec![name], content: None }];
    let enter = |dir| EnteredDir { dir, facts: facts(0o040_755), is_entered: true };
    let left = |dir| FromSender::Leave { dir, whole: true };
    let mut said = vec![
        FromSender::Enter(enter(0)),
        FromSender::Names(FileList { dir: 0, window: 0, records }),
    ];
    if is_dir {
        said.extend([FromSender::Enter(enter(1)), left(1)]);
    }
    said.push(left(0));
    said
}

fn framed(message: &FromSender<'_>) -> Vec<u8> {
    let message = wire::encode(message).expect("it is encoded");
    let length = u32::try_from(message.len()).expect("it is short");
    [&length.to_le_bytes()[..], &message].concat()
}

#[test]
fn left_out_entries_are_refused_from_a_sender_that_sends_them() {
    let globs = |text: &str| walk::Globs::new(&[text.to_string()]).expect("a pattern");
    for (name, is_dir, taken) in [
        (&b"secret"[..], false, false),
        (b"secret", true, false),
        (b"plain", false, true),
        (b"plain", true, true),
        (b".lop-quarantine-0", true, false),
    ] {
        let place = TempTree::new();
        let options = Options { exclude: globs("secret"), ..one() };
        let to = place.join("to");
        let made = to.join(std::str::from_utf8(name).expect("text"));
        let messages: Vec<_> = listed(name, is_dir).iter().map(framed).collect();
        let last = messages.len() - 1;
        // The last message is sent after the receiver has had time to process the listing.
        let messages = messages.into_iter().enumerate().map(|(number, message)| {
            let end = Instant::now() + if taken { TEST_TIMEOUT } else { 10 * SHORT };
            while number == last && Instant::now() < end && !(taken && made.exists()) {
                thread::sleep(Duration::from_millis(5));
            }
            message
        });
        let ended = replay_with(&options, &to, messages, TEST_TIMEOUT);
        assert_eq!(made.exists(), taken, "{} {ended:?}", name.escape_ascii());
        let refused = matches!(ended, Err(ConnectionError::ProtocolViolation(_)));
        assert_eq!(refused, !taken, "{} {ended:?}", name.escape_ascii());
    }
}

/// A correct sender may also send these messages, if the file changes at the wrong moment.
#[test]
fn a_file_that_changed_after_it_was_found_equal_is_copied_as_it_is() {
    let place = TreeBuilder::new().seeded("to/two/a", 8, 40_000).make_temp();
    let meta = |mode, size| Meta { mode, size, links: 1, ..Meta::default() };
    let facts =
        |mode, size| InodeMetadata { meta: meta(mode, size), xattrs: Vec::new(), partial: false };
    let names = vec![&b"new"[..]];
    let item = Item::Other(facts(0o100_644, 40_000), b"");
    let records = vec![FileListEntry { item, names, content: None }];
    let said: [(FromSender<'_>, &[u8]); 7] = [
        (
            FromSender::Enter(EnteredDir { dir: 0, facts: facts(0o040_755, 0), is_entered: true }),
            b"",
        ),
        (FromSender::Names(FileList { dir: 0, window: 0, records }), b""),
        (FromSender::Leave { dir: 0, whole: false }, b""),
        (FromSender::Begin { request: 0, meta: meta(0o100_644, 40_000), from: 40_000 }, b""),
        (FromSender::Again { request: 0, meta: meta(0o100_644, 3) }, b""),
        (FromSender::Piece { request: 0, at: 0 }, b"abc"),
        (FromSender::End { request: 0, stable: true, digest: None }, b""),
    ];
    let messages = said.into_iter().map(|(message, bytes)| {
        let message = wire::encode(&message).expect("it is encoded");
        let length = u32::try_from(message.len() + bytes.len()).expect("it is short");
        [&length.to_le_bytes()[..], &message, bytes].concat()
    });
    let messages: Vec<_> = messages.collect();
    let ended = replay(&place.join("to"), messages.into_iter(), TEST_TIMEOUT);
    assert!(matches!(ended, Err(ConnectionError::Lost)), "{ended:?}");
    assert_eq!(std::fs::read(place.join("to/new")).expect("it is there"), b"abc");
}

#[test]
fn an_arbitrary_receiver_gets_nothing_from_elsewhere() {
    let place = TempTree::new();
    tree().make(place.join("from"));
    std::fs::write(place.join("outside"), "a secret of somebody else").expect("written");
    let (start, mut rounds) = (Instant::now(), 0u64);
    while start.elapsed() < BUDGET || rounds < 50 {
        let from = place.join("from");
        let heard = in_time(&format!("round {rounds}"), move || ask_anything(&from, rounds));
        let secret = b"a secret of somebody else";
        assert!(!heard.windows(secret.len()).any(|some| some == secret));
        rounds += 1;
    }
}

/// Sends requests to a sender, for entries that exist and entries that do not. Returns everything
/// that it sends.
fn ask_anything(from: &std::path::Path, seed: u64) -> Vec<u8> {
    let source = Source::open(from).expect("there");
    let (mut says, heard) = pipe();
    let (asks, to_sender) = UnixStream::pair().expect("there are sockets");
    let end = to_sender.try_clone().expect("copied");
    let sender = thread::spawn(move || {
        let (out, progress, mut asks) =
            (Outgoing::new(heard), Progress::default(), Incoming::new(OwnedFd::from(asks).into()));
        mirror::send(&source, None, &one(), &progress, &mut asks, &out)
    });
    let listener = thread::spawn(move || {
        let mut all = Vec::new();
        says.read_to_end(&mut all).expect("heard");
        all
    });
    let (mut dice, out) = (Dice::new(seed), Outgoing::new(to_sender));
    for request in 0..dice.below(300) {
        let number = |dice: &mut Dice| match dice.below(20) {
            0 => u64::MAX,
            1 => 1 << 40,
            _ => dice.below(12),
        };
        let have =
            KnownPrefix { length: number(&mut dice), digest: [0; 32], only: dice.below(2) == 0 };
        let message = match dice.below(60) {
            0 => FromReceiver::Release { window: number(&mut dice) },
            1 => FromReceiver::Done,
            2 => FromReceiver::Progress {
                names: number(&mut dice),
                bytes: 0,
                removed: 0,
                so_far: wire::Counts::default(),
            },
            _ => FromReceiver::Fetch {
                request: if dice.below(9) == 0 { number(&mut dice) } else { request },
                window: number(&mut dice) % 9,
                item: u32::try_from(number(&mut dice) % 9).expect("it is small"),
                have: Some(have).filter(|_| dice.below(3) == 0),
            },
        };
        if out.send(&message, &[]).is_err() {
            break;
        }
        if dice.below(20) == 0 && out.flush().is_err() {
            break;
        }
    }
    let _gone = out.flush();
    let _gone = end.shutdown(Shutdown::Write);
    let _ended = sender.join().expect("no panic");
    listener.join().expect("no panic")
}
