//! Tests that heads and digests match the bytes of files of any size.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;

use content::{
    Digest, HashRange, Scratch, extend_prefix, head_length, head_of, read_head, round_length,
};
use runtime::Progress;
use testkit::{Content, skipped};

use crate::open::Opened;

const SIZES: [u64; 14] = [
    0,
    1,
    1023,
    1025,
    16_383,
    16_384,
    16_385,
    65_535,
    65_536,
    65_537,
    256 * 1024 - 1,
    256 * 1024,
    256 * 1024 + 1,
    1_500_000,
];

fn seeded(len: u64) -> Content {
    Content::Seeded { seed: len, len }
}

#[test]
fn digest_of_a_whole_file_is_the_one_b3sum_prints() {
    let opened = Opened::new(&SIZES.map(seeded));
    let (mut scratch, progress) = (Scratch::default(), Progress::default());
    let mut printed = b3sum(opened.tree.path());
    for (i, size) in SIZES.into_iter().enumerate() {
        let whole = HashRange { size, before: None, to: size };
        let grown =
            extend_prefix(opened.file(i), whole, &mut scratch, &progress).expect("readable");
        let digest = Digest::from(grown.beginning);
        assert_eq!(digest, Digest::of(&seeded(size).bytes()), "{size} bytes");
        let line = printed.as_mut().map(|lines| lines.remove(0));
        assert!(line.is_none_or(|line| line == digest.to_string()), "{size} bytes");
    }
    assert_eq!(progress.bytes_read.load(Relaxed), SIZES.iter().sum::<u64>());
}

/// Returns the line that `b3sum` prints for each file, or `None` if `b3sum` is not installed.
fn b3sum(dir: &Path) -> Option<Vec<String>> {
    let places = ["/opt/peers/bin/b3sum", "/usr/bin/b3sum", "/usr/local/bin/b3sum"];
    let Some(program) = places.into_iter().find(|p| Path::new(p).is_file()) else {
        skipped("b3sum is not installed");
        return None;
    };
    let names = (0..SIZES.len()).map(|i| i.to_string());
    let output = Command::new(program).arg("--no-names").args(names).current_dir(dir).output();
    let output = output.expect("b3sum runs");
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).expect("hexadecimal").lines().map(Into::into).collect())
}

#[test]
fn prefixes_grow_to_the_digest_and_every_byte_is_read_once() {
    let sizes = [1, 1023, 1024, 1025, 2048, 2049, 65_536, 65_537, 300_000, 524_288, 1_048_577];
    let opened = Opened::new(&sizes.map(seeded));
    let mut scratch = Scratch::default();
    // The buffer is larger than needed and contains bytes from an earlier use.
    scratch.bytes(1 << 20).fill(7);
    for ((i, size), first) in
        sizes.into_iter().enumerate().flat_map(|s| [1024, 4096, 65_536].map(|first| (s, first)))
    {
        for growth in [2, 8] {
            let progress = Progress::default();
            let (mut before, mut to) = (None, first.min(size));
            loop {
                let range = HashRange { size, before, to };
                let grown = extend_prefix(opened.file(i), range, &mut scratch, &progress);
                let grown = grown.expect("readable");
                let counted =
                    [&progress.bytes_read, &progress.bytes_done].map(|bytes| bytes.load(Relaxed));
                assert_eq!(counted, [to; 2], "of {size} bytes");
                let bytes = seeded(size).bytes();
                let length = usize::try_from(head_length(size)).expect("small");
                let head = before.is_none().then(|| head_of(&bytes[..length]));
                assert_eq!(grown.head, head.filter(|_| to >= head_length(size)));
                if to == size {
                    assert_eq!(Digest::from(grown.beginning), Digest::of(&bytes), "{size} bytes");
                    break;
                }
                (before, to) = (Some((to, grown.beginning)), round_length(to * growth).min(size));
            }
        }
    }
}

#[test]
fn prefixes_differ_as_soon_as_files_differ() {
    let mut bytes = [seeded(300_000).bytes(), seeded(300_000).bytes()];
    bytes[1][70_000] ^= 1;
    let opened = Opened::new(&bytes.map(Content::Bytes));
    let (mut scratch, progress) = (Scratch::default(), Progress::default());
    let mut beginnings = |before: [_; 2], to| {
        [0, 1].map(|i| {
            let range = HashRange { size: 300_000, before: before[i], to };
            let grown = extend_prefix(opened.file(i), range, &mut scratch, &progress);
            grown.expect("readable").beginning
        })
    };
    let first = beginnings([None; 2], 65_536);
    assert_eq!(first[0], first[1]);
    let second = beginnings(first.map(|value| Some((65_536, value))), 131_072);
    assert_ne!(second[0], second[1]);
}

#[test]
fn head_covers_small_files_and_the_start_of_others() {
    let opened = Opened::new(&SIZES.map(seeded));
    let (mut scratch, progress) = (Scratch::default(), Progress::default());
    for (i, size) in SIZES.into_iter().enumerate() {
        let length = head_length(size);
        assert!(length <= size && (length == size || length >= 4096), "{size} bytes");
        let head = read_head(opened.file(i), size, &mut scratch, &progress).expect("readable");
        let bytes = seeded(size).bytes();
        assert_eq!(head, head_of(&bytes[..usize::try_from(length).expect("small")]));
    }
    let read: u64 = SIZES.into_iter().map(head_length).sum();
    assert_eq!(progress.bytes_read.load(Relaxed), read);
}

#[test]
fn malformed_digests_are_refused() {
    let digest = Digest::of(b"x").to_string();
    for wrong in ["", &digest[1..], &format!("{digest}0"), &digest.replace('0', "g"), "é"] {
        assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
    }
    assert_eq!(digest.to_uppercase().parse::<Digest>().ok(), Some(Digest::of(b"x")));
}
