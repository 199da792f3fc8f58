//! Readings of files that change or cannot be read, and readings that are stopped.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, symlink};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use device::Io;
use dupes::{Part, Work, read_wanted, wanted};
use fsops::Op;
use runtime::Progress;
use testkit::{Content, PathBytes, TempTree, TreeBuilder};
use walk::FileId;

use super::{bytes_of, expected, read, recorded};
use crate::injected::Rules;
use crate::scan::{Walked, in_memory, setup};

/// Asserts that nothing is recorded for a file, and that it was dropped.
#[track_caller]
fn assert_dropped(walked: &Walked, id: FileId) {
    assert_eq!(recorded(walked, id), (None, None));
    assert!(walked.fingerprints.dropped(id.0));
}

/// Creates a file with the names `d/a` and `e/b`, and a single one.
fn two_names() -> (TempTree, Walked, [FileId; 2]) {
    let tree = TreeBuilder::new()
        .seeded("d/a", 1, 50_000)
        .hard_link("d/a", "e/b")
        .seeded("alone", 2, 50_000)
        .make_temp();
    let walked = setup().walk(&[&tree]);
    let names = ["d/a", "e/b"].map(|name| walked.file(&tree.join(name)));
    (tree, walked, names)
}

#[test]
fn an_inode_is_read_through_another_name_if_the_first_is_gone_or_replaced() {
    let replace = |tree: &TempTree, dir: &str, by: TreeBuilder| {
        fs::rename(tree.join(dir), tree.join("moved")).expect("renamed");
        by.make(tree);
    };
    let other = TreeBuilder::new;
    for (first, name) in [("d", "d/a"), ("e", "e/b")] {
        for by in [
            other(),
            other().seeded(name, 7, 50_000),
            other().fifo(name),
            other().dir(name),
            other().symlink(name, "../alone"),
            other().file(first, "a file in place of the directory"),
            other().symlink(first, "moved"),
        ] {
            let (tree, walked, names) = two_names();
            replace(&tree, first, by.clone());
            let reading = read(&walked, &setup(), |_| Some(Part::Whole));
            assert!(reading.problems.is_empty(), "{by:?}: {:?}", reading.problems);
            assert_eq!(reading.bytes(), 100_000, "{by:?}");
            let bytes = Content::Seeded { seed: 1, len: 50_000 }.bytes();
            let (head, digest) = expected(&bytes);
            for name in names {
                assert_eq!(recorded(&walked, name), (Some(head), Some(digest)), "{by:?}");
            }
        }
    }
}

#[test]
fn a_name_that_cannot_be_opened_does_not_matter_if_another_can() {
    for suffix in ["d/a", "e/b"] {
        let (_tree, walked, names) = two_names();
        let suffix = suffix.rsplit('/').next().expect("a name");
        let rules = Rules::new(Op::Open, suffix, libc::EACCES);
        let reading = read(&walked, &setup(), |id| names.contains(&id).then_some(Part::Head));
        drop(rules);
        assert!(reading.problems.is_empty(), "{:?}", reading.problems);
        assert!(names.iter().all(|name| recorded(&walked, *name).0.is_some()));
    }
}

#[test]
fn a_file_that_changed_or_is_gone_is_dropped_and_the_others_are_read() {
    let victims = ["cut", "first", "last", "gone", "copy", "fifo", "dir", "link", "socket"];
    for part in [Part::Head, Part::Whole] {
        let tree = victims.iter().fold(TreeBuilder::new(), |tree, name| {
            tree.seeded(format!("{name}/victim"), 1, 50_000)
                .hard_link(format!("{name}/victim"), format!("{name}/other name"))
                .seeded(format!("{name}/sound"), 1, 50_000)
        });
        let tree = tree.make_temp();
        let walked = setup().walk(&[&tree]);
        // Longer than a tick of the clock for file times.
        thread::sleep(Duration::from_millis(30));
        for name in victims {
            change(&tree, name);
        }
        let reading = read(&walked, &setup(), |_| Some(part));
        // Only a socket cannot be opened.
        let paths: Vec<&[u8]> = reading.problems.keys().map(Vec::as_slice).collect();
        assert_eq!(paths, [tree.join("socket/victim").path_bytes()], "{:?}", reading.problems);
        let bytes = Content::Seeded { seed: 1, len: 50_000 }.bytes();
        let (head, digest) = expected(&bytes);
        for name in victims {
            for victim in ["victim", "other name"] {
                let victim = walked.file(&tree.join(format!("{name}/{victim}")));
                assert_dropped(&walked, victim);
                assert_eq!(walked.fingerprints.unreadable(victim.0), name == "socket", "{name}");
            }
            let sound = walked.file(&tree.join(format!("{name}/sound")));
            let digest = (part == Part::Whole).then_some(digest);
            assert_eq!(recorded(&walked, sound), (Some(head), digest), "{name}");
        }
        let all = victims.len() as u64 * 2;
        assert_eq!(reading.progress.files_done.load(Relaxed), all);
        assert_eq!(reading.progress.bytes_done.load(Relaxed), all * part.bytes(50_000));
    }
}

/// Changes a file and its other name so that neither leads to the file of the walk.
fn change(tree: &TempTree, how: &str) {
    let victim = tree.join(format!("{how}/victim"));
    let modified = fs::metadata(&victim).and_then(|meta| meta.modified()).expect("a time");
    let write = |at| {
        let file = OpenOptions::new().write(true).open(&victim).expect("writable");
        file.write_all_at(b"\xee", at).expect("room");
        file.set_modified(modified).expect("settable");
    };
    match how {
        "cut" => {
            let file = OpenOptions::new().write(true).open(&victim).expect("writable");
            file.set_len(100).expect("cut");
        }
        "first" => write(0),
        "last" => write(49_999),
        _ => {
            fs::remove_file(tree.join(format!("{how}/other name"))).expect("removed");
            fs::remove_file(&victim).expect("removed");
        }
    }
    let new = TreeBuilder::new();
    let new = match how {
        "copy" => new.seeded("victim", 1, 50_000),
        "fifo" => new.fifo("victim"),
        "dir" => new.dir("victim"),
        "socket" => new.socket("victim"),
        "link" => return symlink("sound", &victim).expect("a free name"),
        _ => return,
    };
    new.make(tree.join(how));
}

#[test]
fn a_file_that_cannot_be_read_is_a_problem_and_the_others_are_read() {
    for (op, errno, reason) in [
        (Op::Read, libc::EIO, "cannot read: Input/output error"),
        (Op::Open, libc::EACCES, "cannot open: Permission denied"),
        (Op::Open, libc::EMFILE, "cannot open: Too many open files"),
    ] {
        for part in [Part::Head, Part::Whole] {
            let tree = TreeBuilder::new()
                .seeded("a sound one", 1, 50_000)
                .seeded("with no good spot", 1, 50_000)
                .hard_link("with no good spot", "linked, no good spot")
                .seeded("last sound one", 2, 50_000)
                .make_temp();
            let walked = setup().walk(&[&tree]);
            let rules = Rules::new(op, "no good spot", errno);
            let reading = read(&walked, &setup(), |_| Some(part));
            drop(rules);
            assert_eq!(reading.problems.len(), 1, "{:?}", reading.problems);
            let (path, said) = reading.problems.first_key_value().expect("one");
            let first = tree.join("linked, no good spot");
            assert_eq!(
                (path.as_slice(), said.contains(reason)),
                (first.path_bytes(), true),
                "{said}"
            );
            for name in ["with no good spot", "linked, no good spot"] {
                let bad = walked.file(&tree.join(name));
                assert_dropped(&walked, bad);
                assert!(walked.fingerprints.unreadable(bad.0));
            }
            for name in ["a sound one", "last sound one"] {
                let sound = walked.file(&tree.join(name));
                let (head, digest) = expected(&bytes_of(&walked.tree, sound));
                let digest = (part == Part::Whole).then_some(digest);
                assert_eq!(recorded(&walked, sound), (Some(head), digest), "{name}");
            }
        }
    }
}

/// A stopped reading records complete results, and the next reading reads the rest.
#[test]
fn a_stopped_reading_has_recorded_only_what_is_correct() {
    let place = in_memory();
    let tree = (0..60).fold(TreeBuilder::new(), |tree, n| {
        let name = format!("{n}/a");
        tree.seeded(&name, n, 700_000 + n).hard_link(&name, format!("{n}/b"))
    });
    tree.make(&place);
    let all = 60 * 700_000;
    let mut stopped = 0;
    for round in 0..40_u64 {
        if round >= 10 && stopped >= 3 {
            break;
        }
        let setup = setup().io([Io::Ssd, Io::Hdd][(round % 2) as usize]);
        let walked = setup.walk(&[&place]);
        let (progress, batches) =
            (Progress::default(), wanted(&walked.tree, |_| Some(Part::Whole)));
        let work = Work::new(&walked.tree, &walked.fingerprints, &setup.find, &progress);
        let was_stopped = thread::scope(|scope| {
            let reading = scope.spawn(|| read_wanted(&work, &batches[0]).is_err());
            while !reading.is_finished() && progress.bytes_read.load(Relaxed) < all * round / 40 {
                std::hint::spin_loop();
            }
            progress.stop();
            reading.join().expect("no panic")
        });
        let mut left = 0;
        for inode in batches[0].iter() {
            let facts = inode.files.iter().map(|&id| recorded(&walked, id));
            let facts: Vec<_> = facts.filter(|facts| *facts != (None, None)).collect();
            left += u64::from(facts.is_empty());
            let (head, digest) = expected(&bytes_of(&walked.tree, inode.files[0]));
            let is_whole = facts.iter().all(|facts| *facts == (Some(head), Some(digest)));
            assert!(is_whole && matches!(facts.len(), 0 | 2), "{facts:?}");
            assert!(inode.files.iter().all(|id| !walked.fingerprints.dropped(id.0)));
        }
        assert!(was_stopped || left == 0, "a reading that was not stopped is complete");
        stopped += u32::from(was_stopped && left > 0 && left < 60);
        let rest = |id: FileId| walked.fingerprints.head(id.0).is_none().then_some(Part::Whole);
        let reading = read(&walked, &setup, rest);
        assert!(reading.problems.is_empty());
        assert_eq!(reading.progress.opened.load(Relaxed), left);
    }
    assert!(stopped >= 3, "only {stopped} readings were stopped in the middle");
}

/// Changes the last byte of a file after its first bytes were read. The digest of such a mixture is
/// never recorded.
#[test]
fn a_file_that_changes_while_it_is_read_is_dropped() {
    const LEN: u64 = 24 << 20;
    let place = in_memory();
    TreeBuilder::new().seeded("large", 1, LEN).make(&place);
    let path = place.join("large");
    let mut dropped = 0;
    for round in 0..50_u8 {
        if dropped >= 3 {
            return;
        }
        let walked = setup().walk(&[&place]);
        thread::sleep(Duration::from_millis(30));
        let before = expected(&fs::read(&path).expect("readable"));
        let (progress, batches) =
            (Progress::default(), wanted(&walked.tree, |_| Some(Part::Whole)));
        let find = setup().find;
        let work = Work::new(&walked.tree, &walked.fingerprints, &find, &progress);
        thread::scope(|scope| {
            let reading = scope.spawn(|| read_wanted(&work, &batches[0]));
            while !reading.is_finished() && progress.bytes_read.load(Relaxed) == 0 {
                std::hint::spin_loop();
            }
            let file = OpenOptions::new().write(true).open(&path).expect("writable");
            file.write_all_at(&[round], LEN - 1).expect("room");
            assert!(reading.join().expect("no panic").expect("not stopped").is_empty());
        });
        match recorded(&walked, FileId(0)) {
            (None, None) => {
                assert_dropped(&walked, FileId(0));
                dropped += 1;
            }
            (head, digest) => assert_eq!((head, digest), (Some(before.0), Some(before.1))),
        }
    }
    panic!("no change came while the file was read");
}
