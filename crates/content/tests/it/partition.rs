//! Tests that `partition` puts files into the same set if and only if their bytes are equal.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

use crate::open::options;
use content::{Digest, EqualFiles, Head, Scratch, head_of, partition, partition_bytes};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert_eq, proptest};
use proptest::sample::select;
use runtime::Progress;
use testkit::Content;

use crate::open::Opened;

/// File sizes close to the size of a page, of a compared chunk and of a hashed chunk.
const SIZES: [u64; 9] = [1, 4096, 65_535, 65_536, 65_537, 131_073, 1_048_575, 1_048_577, 2_200_000];

/// Computes the expected sets by comparing everything in memory. The sets are sorted by first
/// member.
fn naive(contents: &[Vec<u8>]) -> Vec<EqualFiles> {
    let mut classes: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (i, bytes) in contents.iter().enumerate() {
        classes.entry(bytes).or_default().push(i);
    }
    let part = |(bytes, members): (&[u8], Vec<usize>)| {
        let digest = (members.len() > 1).then(|| Digest::of(bytes));
        EqualFiles { members, digest }
    };
    sorted(classes.into_iter().map(part).collect())
}

fn sorted(mut parts: Vec<EqualFiles>) -> Vec<EqualFiles> {
    parts.sort_by_key(|part| part.members[0]);
    parts
}

fn split(contents: &[Content], size: u64, sparse: bool) -> (Vec<EqualFiles>, Progress) {
    let opened = Opened::new(contents);
    let progress = Progress::default();
    let (parts, failures) =
        partition(&opened.files(), size, options(sparse), &mut Scratch::default(), &progress)
            .expect("not stopped");
    assert!(failures.is_empty(), "{failures:?}");
    (sorted(parts), progress)
}

/// Generates files of the same size. Some consist of zeros that were written, or of a hole with at
/// most one byte of data. The others are noise from one of two seeds, with at most one byte
/// changed: the first, the middle, the last or a random one.
fn contents() -> impl Strategy<Value = (u64, Vec<Content>)> {
    select(&SIZES[..]).prop_flat_map(|len| {
        let at = proptest::prop_oneof![select(vec![0, len / 2, len - 1]), 0..len];
        let noise = (0_u64..2, at, 0_u8..3)
            .prop_map(move |(seed, at, variant)| Content::Differing { seed, len, at, variant });
        let hole = (0..len, any::<bool>()).prop_map(move |(at, island)| Content::Sparse {
            len,
            islands: if island { vec![(at, vec![1])] } else { Vec::new() },
        });
        let zeros = Content::Bytes(Content::Sparse { len, islands: Vec::new() }.bytes());
        let content =
            proptest::prop_oneof![4 => noise, 1 => hole, 1 => proptest::prelude::Just(zeros)];
        vec(content, 1..10).prop_map(move |contents| (len, contents))
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn sets_match_a_comparison_in_memory((size, contents) in contents(), sparse in any::<bool>()) {
        let bytes: Vec<Vec<u8>> = contents.iter().map(Content::bytes).collect();
        let (parts, progress) = split(&contents, size, sparse);
        prop_assert_eq!(&parts, &naive(&bytes));
        let (read, total) = (progress.bytes_read.load(Relaxed), size * contents.len() as u64);
        // Probes increase the number of bytes read by at most a tenth.
        proptest::prop_assert!(read <= total + total / 10, "{read} bytes read of {total}");
        prop_assert_eq!(progress.bytes_done.load(Relaxed), total);
    }

    #[test]
    fn sets_in_memory_do_not_depend_on_the_cheap_check(
        bytes in vec(select(vec![&b"a"[..], b"b", b"c"]), 0..20),
        by_head in any::<bool>(),
    ) {
        let heads: Vec<Head> = bytes.iter().map(|b| head_of(b)).collect();
        let same = |a: usize, b: usize| !by_head || heads[a] == heads[b];
        let contents: Vec<Vec<u8>> = bytes.iter().map(|b| b.to_vec()).collect();
        prop_assert_eq!(partition_bytes(bytes.len(), true, same, |i| bytes[i]), naive(&contents));
    }
}

#[test]
fn hundred_files_split_at_their_last_byte() {
    let len = 150_000;
    let content = |i: u8| Content::Differing { seed: 1, len, at: len - 1, variant: i % 7 };
    let contents: Vec<Content> = (0..100).map(content).collect();
    let (parts, progress) = split(&contents, len, false);
    let bytes: Vec<Vec<u8>> = contents.iter().map(Content::bytes).collect();
    assert_eq!(parts, naive(&bytes));
    assert_eq!(progress.bytes_read.load(Relaxed), 100 * len);
}

#[test]
fn files_that_differ_early_are_not_read_to_their_end() {
    let len = 8 << 20;
    let content = |i: u8| Content::Differing { seed: 1, len, at: 5, variant: i };
    let (parts, progress) = split(&[0, 1, 2, 3].map(content), len, false);
    assert_eq!(parts.len(), 4);
    assert!(progress.bytes_read.load(Relaxed) <= 4 << 20);
    assert_eq!(progress.bytes_done.load(Relaxed), 4 * len);
}

#[test]
fn single_file_is_not_read() {
    assert_eq!(split(&[], 1000, true).0, []);
    let (parts, progress) = split(&[Content::Seeded { seed: 1, len: 1000 }], 1000, true);
    assert_eq!(parts, [EqualFiles { members: vec![0], digest: None }]);
    assert_eq!(progress.bytes_read.load(Relaxed), 0);
}

#[test]
fn empty_files_are_equal_and_have_the_digest_of_empty_input() {
    let (parts, _) = split(&[Content::Bytes(Vec::new()), Content::Bytes(Vec::new())], 0, false);
    assert_eq!(parts, [EqualFiles { members: vec![0, 1], digest: Some(Digest::of(b"")) }]);
}
