//! Confirming copies by reading the files.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;

use content::Digest;
use dupes::{Claim, Confirmed, Finding, Verdict, Work, confirm};
use fsops::Op;
use runtime::Progress;
use testkit::{TempTree, TreeBuilder};
use walk::FileId;

use crate::injected::Rules;
use crate::scan::{Scan, Setup, ids, setup};

/// A size that is read in one step, and a size that is read in rounds.
const SIZES: [u64; 2] = [900, 700_000];

/// Creates five identical files, and two files that a catalog might wrongly list as identical to
/// them.
fn tree(size: u64) -> TempTree {
    let names = ["one", "two", "three", "copy", "other copy"];
    let tree = names.iter().fold(TreeBuilder::new(), |tree, name| tree.seeded(*name, 1, size));
    tree.differing("late", 1, size, size - 1, 1).seeded("early", 2, size).make_temp()
}

struct Answer {
    confirmed: Confirmed,
    found: Vec<(String, Finding)>,
    bytes_read: u64,
}

impl Answer {
    fn verdicts(&self, scan: &Scan) -> Vec<(String, Verdict)> {
        let verdicts = self.confirmed.verdicts.iter();
        let mut named: Vec<_> =
            verdicts.map(|&(file, verdict)| (name(scan, file), verdict)).collect();
        named.sort_by(|a, b| a.0.cmp(&b.0));
        named
    }

    #[track_caller]
    fn assert(&self, scan: &Scan, verdicts: &[(&str, Verdict)], found: &[(&str, Finding)]) {
        let owned = |(name, verdict): &(&str, Verdict)| ((*name).to_string(), *verdict);
        let expected: Vec<_> = verdicts.iter().map(owned).collect();
        assert_eq!(self.verdicts(scan), expected);
        let expected: Vec<_> =
            found.iter().map(|(name, finding)| ((*name).to_string(), *finding)).collect();
        assert_eq!(self.found, expected);
        assert_eq!(self.confirmed.problems.len(), found.len(), "{:?}", self.confirmed.problems);
    }
}

fn name(scan: &Scan, file: FileId) -> String {
    scan.tree.name(file).to_string_lossy().into_owned()
}

fn find(scan: &Scan, wanted: &str) -> FileId {
    ids(&scan.tree).find(|&id| name(scan, id) == wanted).expect("a known file")
}

/// Confirms that `files` are in `copies`. Asserts that the progress is complete at the end.
fn ask(scan: &Scan, setup: &Setup, files: &[&str], copies: &[&str]) -> Answer {
    let ids = |names: &[&str]| names.iter().map(|name| find(scan, name)).collect();
    let claim = Claim { files: ids(files), copies: ids(copies) };
    let (progress, found) = (Progress::default(), Mutex::new(Vec::new()));
    let work = Work::new(&scan.tree, &scan.fingerprints, &setup.find, &progress);
    let confirmed = confirm(&work, &[claim], &|file, finding| {
        found.lock().expect("no panic").push((name(scan, file), finding));
    });
    let confirmed = confirmed.expect("not stopped");
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Relaxed);
    assert_eq!(load(&progress.bytes_done), load(&progress.bytes_total));
    assert_eq!(load(&progress.files_done), load(&progress.files_total));
    let found = found.into_inner().expect("no panic");
    Answer { confirmed, found, bytes_read: load(&progress.bytes_read) }
}

fn without_digests() -> Setup {
    let mut setup = setup();
    setup.find.digests = false;
    setup
}

#[test]
fn each_file_and_one_copy_are_read_once() {
    for size in SIZES {
        let tree = tree(size);
        let scan = setup().scan_once(&[&tree]);
        let answer = ask(&scan, &setup(), &["one", "two", "three"], &["copy", "other copy"]);
        let copied = ["one", "three", "two"].map(|name| (name, Verdict::Copied));
        answer.assert(&scan, &copied, &[]);
        // The extra tenth allows for the probe, which first reads single pages of all files.
        let most = 4 * size + 4 * size / 10;
        assert!((4 * size..most).contains(&answer.bytes_read), "{}", answer.bytes_read);
    }
}

#[test]
fn a_copy_that_differs_is_reported_and_the_next_one_is_tried() {
    for size in SIZES {
        let tree = tree(size);
        for setup in [setup(), without_digests(), setup().open_files(2)] {
            let scan = setup.scan_once(&[&tree]);
            let copies = ["late", "early", "copy"];
            let answer = ask(&scan, &setup, &["one", "two"], &copies);
            let bad = [("late", Finding::Differing), ("early", Finding::Differing)];
            answer.assert(&scan, &[("one", Verdict::Copied), ("two", Verdict::Copied)], &bad);
            let answer = ask(&scan, &setup, &["one"], &["late"]);
            answer.assert(&scan, &[("one", Verdict::Alone)], &bad[..1]);
            let answer = ask(&scan, &setup, &["one"], &[]);
            answer.assert(&scan, &[("one", Verdict::Alone)], &[]);
        }
    }
}

#[test]
fn a_damaged_file_is_not_a_copy_of_a_sound_file() {
    for size in SIZES {
        let tree = tree(size);
        let scan = setup().scan_once(&[&tree]);
        let content = scan.fingerprints.content(find(&scan, "one").0).expect("it was compared");
        scan.fingerprints.set_content(find(&scan, "late").0, content);
        let bad = [("late", Finding::Differing)];
        let answer = ask(&scan, &setup(), &["late"], &["copy"]);
        answer.assert(&scan, &[("late", Verdict::Damaged)], &bad);
        let answer = ask(&scan, &setup(), &["late"], &[]);
        answer.assert(&scan, &[("late", Verdict::Damaged)], &bad);
        let answer = ask(&scan, &setup(), &["one", "late", "two"], &["early", "copy"]);
        let verdicts =
            [("late", Verdict::Damaged), ("one", Verdict::Copied), ("two", Verdict::Copied)];
        answer.assert(&scan, &verdicts, &[("early", Finding::Differing), bad[0]]);
    }
}

#[test]
fn files_with_the_same_damage_are_damaged() {
    for size in SIZES {
        let tree = tree(size);
        let scan = setup().scan_once(&[&tree]);
        let content = scan.fingerprints.content(find(&scan, "one").0).expect("it was compared");
        scan.fingerprints.set_digest(content, Digest::of(b"what was scanned"));
        let answer = ask(&scan, &setup(), &["one"], &["copy"]);
        let bad = [("copy", Finding::Differing), ("one", Finding::Differing)];
        answer.assert(&scan, &[("one", Verdict::Damaged)], &bad);
    }
}

#[test]
fn an_unreadable_copy_is_reported_and_the_next_one_is_tried() {
    for size in SIZES {
        let tree = tree(size);
        TreeBuilder::new().seeded("copy on a worn disk", 1, size).make(&tree);
        let scan = setup().scan_once(&[&tree]);
        let bad = [("copy on a worn disk", Finding::Unreadable)];
        for (op, errno) in [(Op::Read, libc::EIO), (Op::Open, libc::EACCES)] {
            let rules = Rules::new(op, "on a worn disk", errno);
            let copied = ask(&scan, &setup(), &["one"], &["copy on a worn disk", "copy"]);
            let alone = ask(&scan, &setup(), &["one"], &["copy on a worn disk"]);
            let itself = ask(&scan, &setup(), &["copy on a worn disk", "one"], &["copy"]);
            drop(rules);
            copied.assert(&scan, &[("one", Verdict::Copied)], &bad);
            alone.assert(&scan, &[("one", Verdict::Alone)], &bad);
            let verdicts = [(bad[0].0, Verdict::Unreadable), ("one", Verdict::Copied)];
            itself.assert(&scan, &verdicts, &bad);
        }
    }
}

#[test]
fn a_changed_file_is_neither_damaged_nor_a_copy() {
    for size in SIZES {
        let tree = tree(size);
        let scan = setup().scan_once(&[&tree]);
        fs::write(tree.join("copy"), vec![0; usize::try_from(size).expect("small")])
            .expect("written");
        fs::write(tree.join("two"), "short").expect("written");
        fs::remove_file(tree.join("other copy")).expect("removed");
        for copies in [&["copy"][..], &["other copy"], &["copy", "other copy"], &["two"]] {
            let answer = ask(&scan, &setup(), &["one"], copies);
            answer.assert(&scan, &[("one", Verdict::Undecided)], &[]);
        }
        let answer = ask(&scan, &setup(), &["one", "two"], &["copy", "other copy", "three"]);
        answer.assert(&scan, &[("one", Verdict::Copied), ("two", Verdict::Changed)], &[]);
    }
}

#[test]
fn confirming_stops_on_request() {
    let tree = tree(SIZES[1]);
    let scan = setup().scan_once(&[&tree]);
    let (progress, options) = (Progress::default(), setup().find);
    progress.stop();
    let work = Work::new(&scan.tree, &scan.fingerprints, &options, &progress);
    let claim = Claim { files: vec![find(&scan, "one")], copies: vec![find(&scan, "copy")] };
    assert!(confirm(&work, &[claim], &|_, _| ()).is_err());
}
