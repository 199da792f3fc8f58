//! Stopped searches: their results are correct, the pending files are known, and a continued search
//! does not read finished files again.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use device::Io;
use dupes::Candidates;
use runtime::Progress;
use testkit::{TempTree, TreeBuilder, assert_groups, naive_groups};

use crate::scan::{Setup, Walked, ids, in_memory, setup};

/// Creates a tree with classes of all kinds: with few or many files, with small or large files,
/// with files that are identical throughout or only at the beginning.
fn tree() -> TempTree {
    let mut tree = TreeBuilder::new();
    for size in [700, 30_000, 80_000, 1_500_000] {
        for copy in 0..3_u8 {
            tree = tree.differing(format!("{size}/pair {copy}"), 1, size, size - 1, copy / 2);
        }
        for n in 0..5_u64 {
            tree = tree.seeded(format!("{size}/many {n}"), n / 2, size + 1);
        }
        tree = tree.hard_link(format!("{size}/many 0"), format!("{size}/link"));
    }
    for n in 0..50_u8 {
        tree = tree.differing(format!("alike/{n}"), 3, 90_000, 89_999, n / 10);
    }
    let place = in_memory();
    tree.make(&place);
    place
}

/// Stops a search after about this many bytes were read. Returns the walk with the fingerprints
/// found so far, or the number of bytes read if the search finished first.
fn stopped_after(walked: Walked, bytes: u64, setup: &Setup) -> Result<Box<Walked>, u64> {
    let progress = Arc::new(Progress::default());
    std::thread::scope(|scope| {
        let looker = Arc::clone(&progress);
        let search = scope.spawn({
            let progress = Arc::clone(&progress);
            move || walked.try_find(setup, progress)
        });
        while !search.is_finished() && looker.bytes_read.load(Relaxed) < bytes {
            std::hint::spin_loop();
        }
        looker.stop();
        match search.join().expect("no panic") {
            Ok(scan) => Err(scan.bytes_read()),
            Err(walked) => Ok(walked),
        }
    })
}

/// Asserts that the fingerprints of all files that are not pending are complete.
fn assert_true(walked: &Walked, pending: &[bool]) {
    let Walked { tree, fingerprints, .. } = walked;
    let read = |id: walk::FileId| fs::read(OsStr::from_bytes(&tree.path(id))).expect("readable");
    let mut contents: HashMap<_, Vec<u8>> = HashMap::new();
    let mut numbers = HashMap::new();
    let settled = ids(tree).filter(|id| !pending[id.0 as usize]);
    let settled: Vec<_> = settled.collect();
    for &id in &settled {
        let bytes = read(id);
        if let Some(content) = fingerprints.content(id.0) {
            assert_eq!(contents.entry(content).or_insert_with(|| bytes.clone()), &bytes);
            assert_eq!(*numbers.entry(bytes).or_insert(content), content, "two numbers for one");
        }
    }
    for &id in settled.iter().filter(|id| fingerprints.content(id.0).is_none()) {
        let (bytes, key) = (read(id), tree.key(id));
        let other = ids(tree).find(|&other| tree.key(other) != key && read(other) == bytes);
        assert_eq!(other.map(|other| tree.path(other)), None, "a file counts as alone");
    }
}

#[test]
fn known_files_are_correct_and_the_others_are_pending() {
    let tree = tree();
    let truth = naive_groups(&tree);
    let mut stopped = 0;
    for round in 0..40_u64 {
        let io = if round % 2 == 0 { Io::Cached } else { Io::Hdd };
        let setup = setup().io(io).open_files(if round % 4 < 2 { 4 } else { 32 });
        let all = 9_000_000;
        let walked = setup.walk(&[&tree]);
        let Ok(walked) = stopped_after(walked, all * round / 40, &setup) else { continue };
        let progress = Progress::default();
        let candidates = Candidates::new(&walked.tree, &progress);
        let pending = candidates.pending(&walked.tree, &walked.fingerprints, &progress);
        stopped += u32::from(pending.iter().any(|&waits| waits));
        assert_true(&walked, &pending);
        let scan = walked.find(&setup);
        assert_groups(&truth, &scan.groups());
        let pending = candidates.pending(&scan.tree, &scan.fingerprints, &progress);
        assert!(!pending.iter().any(|&waits| waits), "nothing is left to do");
    }
    assert!(stopped > 0, "no search was stopped in time to leave anything");
}

/// A continued search does not read files again that an earlier part finished. It may read files
/// again that were in progress when the search stopped.
#[test]
fn a_continued_search_reads_less_than_one_from_the_start() {
    let tree = tree();
    let setup = setup().io(Io::Cached);
    let whole = setup.walk(&[&tree]).find(&setup).bytes_read();
    for _ in 0..50 {
        let Ok(rest) = stopped_after(setup.walk(&[&tree]), whole / 2, &setup) else { continue };
        let bytes = rest.find(&setup).bytes_read();
        assert!(bytes < whole, "{bytes} of {whole} bytes were read by the second part");
        return;
    }
    panic!("no search was stopped in time");
}

#[test]
fn all_candidates_of_an_unknown_tree_are_pending() {
    let tree = TreeBuilder::new()
        .file("a", "alike")
        .file("b", "alike")
        .hard_links("linked", &["c", "d"])
        .file("e", "alone with its size")
        .make_temp();
    let walked = setup().walk(&[&tree]);
    let progress = Progress::default();
    let pending = Candidates::new(&walked.tree, &progress).pending(
        &walked.tree,
        &walked.fingerprints,
        &progress,
    );
    for id in ids(&walked.tree) {
        let waits =
            [b"a", b"b"].contains(&&walked.tree.name(id).to_bytes()[..1].try_into().expect("one"));
        assert_eq!(pending[id.0 as usize], waits, "{:?}", walked.tree.name(id));
    }
}
