//! Shared by the fuzz targets: a tree, an honest conversation about it, and mutations of
//! conversations that keep most messages intact.

pub mod rules;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use device::{Disks, Io, Threads};
use fsops::Stat;
use mirror::{ContentHint, ContentHints, Options, Roots, Source, User};
use runtime::Progress;
use tempfile::TempDir;
use walk::Globs;
use wire::{Incoming, Outgoing};

/// The folder for trees: in memory, where that exists.
const PLACE: &str = "/dev/shm";

/// A secret that no run may read or change.
pub const SECRET: &[u8] = b"a secret of somebody else";

/// Hints that some files equal others, rightly or wrongly.
#[derive(Debug)]
struct FalseHints;

impl ContentHints for FalseHints {
    fn of_source(&self, _: &[u8], name: &[u8], _: &Stat) -> Option<ContentHint> {
        let also = if name == b"two" { b"d/one".to_vec() } else { b"../outside/secret".to_vec() };
        name.starts_with(b"t").then_some(ContentHint { digest: [7; 32], also })
    }

    fn in_destination(&self, _: &[u8], _: &Stat, _: Option<&[u8; 32]>) -> Vec<Vec<u8>> {
        vec![b"d/one".to_vec(), b"../outside/secret".to_vec()]
    }
}

/// Returns options for mirroring with one worker and with every feature that has code of its own.
pub fn options() -> Options {
    Options {
        dry_run: false,
        delete: true,
        max_delete: None,
        checksum: true,
        verify: false,
        fsync: false,
        allow_empty: true,
        one_file_system: false,
        include: Globs::default(),
        exclude: Globs::default(),
        bandwidth: Arc::default(),
        own: walk::OwnFiles::default(),
        content_hints: Some(Arc::new(FalseHints)),
        threads: Threads { first: 1, grows: false },
        disks: Arc::new(Disks::new(Io::Cached)),
        open_dirs: 4,
    }
}

/// Returns a folder with a small tree `from`, another one `to`, and a secret in `outside`.
pub fn place() -> TempDir {
    let place = tempfile::tempdir_in(PLACE).or_else(|_| tempfile::tempdir()).expect("a folder");
    let write = |path: &str, bytes: &[u8]| {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, bytes).expect("written");
    };
    write("outside/secret", SECRET);
    write("from/d/one", &[1; 17_000]);
    write("from/two", &[1; 17_000]);
    write("from/changed", b"new");
    write("from/e/f/three", b"3");
    write("to/d/one", &[1; 17_000]);
    write("to/changed", b"old");
    write("to/e", b"a file");
    write("to/gone/extraneous", b"s");
    let from = place.path().join("from");
    let hole = File::create(from.join("hole")).expect("made");
    hole.set_len(9_000).expect("set");
    fs::hard_link(from.join("changed"), from.join("d/linked")).expect("linked");
    std::os::unix::fs::symlink("../outside", from.join("link")).expect("linked");
    place
}

/// Asserts that everything outside is unchanged.
pub fn is_untouched(place: &Path) {
    assert_eq!(fs::read(place.join("outside/secret")).expect("it is there"), SECRET);
    let names = |path: &Path| fs::read_dir(path).expect("listed").count();
    assert_eq!((names(&place.join("outside")), names(place)), (1, 3));
}

/// Returns two connected sockets.
pub fn pair() -> (UnixStream, UnixStream) {
    UnixStream::pair().expect("there are sockets")
}

/// Returns a socket as a file.
pub fn file(end: UnixStream) -> File {
    OwnedFd::from(end).into()
}

/// Forwards everything that arrives, and returns it.
fn pass_on(mut from: UnixStream, mut to: UnixStream) -> Vec<u8> {
    let (mut all, mut some) = (Vec::new(), vec![0; 65_536]);
    while let Ok(read @ 1..) = from.read(&mut some) {
        all.extend_from_slice(&some[..read]);
        if to.write_all(&some[..read]).is_err() {
            break;
        }
    }
    // Threads have duplicates of the descriptor.
    let _gone = to.shutdown(std::net::Shutdown::Write);
    all
}

/// Returns the messages of an honest sender and an honest receiver.
pub fn honest() -> (Vec<u8>, Vec<u8>) {
    let place = place();
    let source = Source::open(&place.path().join("from")).expect("there");
    let roots = Roots::for_remote_source(&place.path().join("to"), None, false).expect("there");
    let ((answers_out, answers_in), (again, receiver)) = (pair(), pair());
    let ((requests_out, requests_in), (on, sender)) = (pair(), pair());
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let out = Outgoing::new(file(answers_out));
            let mut requests_out = Incoming::new(file(sender));
            let progress = Progress::default();
            mirror::send(&source, None, &options(), &progress, &mut requests_out, &out)
        });
        let of_sender = scope.spawn(move || pass_on(answers_in, again));
        let of_receiver = scope.spawn(move || pass_on(requests_in, on));
        let end = requests_out.try_clone().expect("copied");
        let out = Arc::new(Outgoing::new(file(requests_out)));
        let mut said = Incoming::new(file(receiver));
        let progress = Progress::default();
        let (_, ended) =
            mirror::receive(&roots, &options(), &progress, User::default(), &mut said, &out);
        ended.expect("received");
        let _gone = end.shutdown(std::net::Shutdown::Both);
        let sent = sender.join().expect("no panic");
        sent.expect("sent");
        (of_sender.join().expect("no panic"), of_receiver.join().expect("no panic"))
    })
}

/// Splits a conversation into its messages, each with its header; the last one may be truncated.
pub fn messages(conversation: &[u8]) -> Vec<Vec<u8>> {
    let (mut messages, mut rest) = (Vec::new(), conversation);
    while let Some(head) = rest.first_chunk::<4>() {
        let length = (u32::from_le_bytes(*head) & !(1 << 31)) as usize;
        let (message, after) = rest.split_at(rest.len().min(length.saturating_add(4)));
        messages.push(message.to_vec());
        rest = after;
    }
    messages
}

/// Mutates a conversation as a whole, or one message, whose length is then corrected.
pub fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32, honest: &[u8]) -> usize {
    let mut all = messages(&data[..size]);
    if all.len() < 2 {
        all = messages(honest);
    }
    let mut state = u64::from(seed) << 1 | 1;
    let mut any = |sides: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % sides.max(1) as u64).expect("it is small")
    };
    let (at, other) = (any(all.len()), any(all.len()));
    match any(10) {
        0 => drop(all.remove(at)),
        1 => all.insert(other, all[at].clone()),
        2 => all.swap(at, other),
        3 => {
            let from_honest = messages(honest);
            all.insert(at, from_honest[any(from_honest.len())].clone());
        }
        _ => {
            let message = &mut all[at];
            let length = message.len().saturating_sub(4);
            let mut room = message.get(4..).unwrap_or_default().to_vec();
            room.resize(length + 64, 0);
            let most = room.len();
            let length = libfuzzer_sys::fuzzer_mutate(&mut room, length, most);
            room.truncate(length);
            let head = u32::try_from(length).expect("it is short").to_le_bytes();
            *message = [&head[..], &room].concat();
        }
    }
    let changed = all.concat();
    let size = changed.len().min(most).min(data.len());
    data[..size].copy_from_slice(&changed[..size]);
    size
}
