//! Heads and digests are those of the bytes, whatever the size.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;

use content::{Digest, Scratch, digest_prefix, head_length, head_of, read_head};
use fsops::Watch;
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
fn a_digest_of_the_whole_is_the_one_b3sum_prints() {
    let opened = Opened::new(&SIZES.map(seeded));
    let (mut scratch, watch) = (Scratch::default(), Watch::default());
    let mut printed = b3sum(opened.tree.path());
    for (i, size) in SIZES.into_iter().enumerate() {
        let digest = digest_prefix(opened.file(i), size, &mut scratch, &watch).expect("readable");
        assert_eq!(digest, Digest::of(&seeded(size).bytes()), "{size} bytes");
        let line = printed.as_mut().map(|lines| lines.remove(0));
        assert!(line.is_none_or(|line| line == digest.to_string()), "{size} bytes");
    }
    assert_eq!(watch.bytes_read.load(Relaxed), SIZES.iter().sum::<u64>());
}

/// Returns what `b3sum` prints for each file, where it is installed.
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
fn a_digest_of_a_prefix_covers_no_byte_more() {
    let opened = Opened::new(&[seeded(300_000)]);
    let bytes = seeded(300_000).bytes();
    let mut scratch = Scratch::default();
    // A buffer larger than needed, with old bytes in it.
    scratch.bytes(1 << 20).fill(7);
    for length in [0, 1, 128 * 1024, 262_143, 262_145, 299_999, 300_000] {
        let watch = Watch::default();
        let digest = digest_prefix(opened.file(0), length, &mut scratch, &watch).expect("readable");
        let prefix = &bytes[..usize::try_from(length).expect("small")];
        assert_eq!(digest, Digest::of(prefix), "{length} bytes");
        assert_eq!(watch.bytes_read.load(Relaxed), length);
    }
}

#[test]
fn a_head_covers_the_smallest_files_whole_and_the_beginning_of_others() {
    let opened = Opened::new(&SIZES.map(seeded));
    let (mut scratch, watch) = (Scratch::default(), Watch::default());
    for (i, size) in SIZES.into_iter().enumerate() {
        let length = head_length(size);
        assert!(length <= size && (length == size || length >= 4096), "{size} bytes");
        let head = read_head(opened.file(i), size, &mut scratch, &watch).expect("readable");
        let bytes = seeded(size).bytes();
        assert_eq!(head, head_of(&bytes[..usize::try_from(length).expect("small")]));
    }
    let read: u64 = SIZES.into_iter().map(head_length).sum();
    assert_eq!(watch.bytes_read.load(Relaxed), read);
}

#[test]
fn text_that_is_no_digest_is_refused() {
    let digest = Digest::of(b"x").to_string();
    for wrong in ["", &digest[1..], &format!("{digest}0"), &digest.replace('0', "g"), "é"] {
        assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
    }
    assert_eq!(digest.to_uppercase().parse::<Digest>().ok(), Some(Digest::of(b"x")));
}
