//! Tests that an unreadable file does not affect other files, and that a stop request ends the
//! work.

use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use crate::open::options;
use content::{
    EqualFiles, HashRange, ReadError, ReadFailure, Scratch, extend_prefix, partition, read_head,
};
use fsops::faults::{Fault, inject};
use fsops::{File, Op};
use runtime::{Interrupted, Progress};
use testkit::{Content, TreeBuilder};

use crate::open::Opened;

fn equal(count: usize, len: u64) -> Vec<Content> {
    vec![Content::Seeded { seed: 1, len }; count]
}

#[test]
fn short_file_fails_and_the_others_are_compared() {
    let len = 3_000_000;
    let mut contents = equal(4, len);
    contents[1] = Content::Seeded { seed: 1, len: 2_999_999 };
    let opened = Opened::new(&contents);
    let (parts, failures) = partition(
        &opened.files(),
        len,
        options(true),
        &mut Scratch::default(),
        &Progress::default(),
    )
    .expect("not stopped");
    let members: Vec<_> = parts.iter().map(|p| p.members.clone()).collect();
    assert_eq!(members, [vec![0, 2, 3]]);
    assert!(matches!(failures[..], [ReadFailure { member: 1, error: ReadError::Short }]));
}

#[test]
fn short_files_are_in_no_set() {
    let opened = Opened::new(&equal(3, 100_000));
    let (parts, failures) = partition(
        &opened.files(),
        100_001,
        options(false),
        &mut Scratch::default(),
        &Progress::default(),
    )
    .expect("not stopped");
    assert_eq!((parts.len(), failures.len()), (0, 3));
}

#[test]
fn heads_and_digests_of_short_files_are_refused() {
    let opened = Opened::new(&equal(1, 1000));
    let (mut scratch, progress) = (Scratch::default(), Progress::default());
    let head = read_head(opened.file(0), 1001, &mut scratch, &progress);
    assert!(matches!(head, Err(ReadError::Short)));
    let digest = extend_prefix(opened.file(0), whole(1001), &mut scratch, &progress);
    assert!(matches!(digest, Err(ReadError::Short)));
    assert_eq!(progress.bytes_done.load(Relaxed), 1001, "the failed range counts as done");
}

fn whole(size: u64) -> HashRange {
    HashRange { size, before: None, to: size }
}

/// Serializes tests that inject faults, because faults apply to the whole process.
static RULES: Mutex<()> = Mutex::new(());

#[test]
fn bad_block_drops_one_file_of_a_set() {
    let alone = RULES.lock().expect("not poisoned");
    let opened = Opened::new(&equal(14, 200_000));
    TreeBuilder::new().seeded("with a bad block", 1, 200_000).make(&opened.tree);
    let bad = File::open(&opened.tree.join("with a bad block")).expect("a new file");
    let files = [opened.files(), vec![&bad]].concat();
    let fault = Fault { op: Op::Read, name_suffix: b"bad block".to_vec(), errno: libc::EIO };
    inject(vec![fault]);
    let answer =
        partition(&files, 200_000, options(false), &mut Scratch::default(), &Progress::default());
    inject(Vec::new());
    drop(alone);
    let (parts, failures) = answer.expect("not stopped");
    let whole: Vec<usize> = (0..14).collect();
    assert!(matches!(&parts[..], [EqualFiles { members, digest: Some(_) }] if *members == whole));
    let [ReadFailure { member: 14, error: ReadError::Io(error) }] = &failures[..] else {
        panic!("{failures:?}");
    };
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
}

#[test]
fn stop_ends_the_comparison_and_the_digest() {
    let opened = Opened::new(&equal(2, 300_000));
    let (mut scratch, progress) = (Scratch::default(), Progress::default());
    progress.stop();
    let parts = partition(&opened.files(), 300_000, options(true), &mut scratch, &progress);
    assert!(matches!(parts, Err(Interrupted)));
    let digest = extend_prefix(opened.file(0), whole(300_000), &mut scratch, &progress);
    assert!(matches!(digest, Err(ReadError::Interrupted(_))));
}
