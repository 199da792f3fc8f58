//! A source that changes while it is mirrored.

use std::fs;
use std::io::Write;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use mirror::{Options, Reason};
use runtime::Throttle;
use testkit::{TEST_TIMEOUT, TempTree, TreeBuilder};

use crate::world::{Ends, Variant, assert_alike, deleting, run, try_mirror, usual, with};

#[test]
pub(crate) fn a_file_that_grows_is_copied_as_it_was_and_again_later() {
    let place = TempTree::new();
    let from = place.join("from");
    fs::create_dir(&from).expect("made");
    fs::write(from.join("log"), vec![b'.'; 4 << 20]).expect("written");
    let done = AtomicBool::new(false);
    let mut changed = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let log = fs::OpenOptions::new().append(true).open(from.join("log"));
            let mut log = log.expect("opened");
            while !done.load(Relaxed) {
                log.write_all(b".").expect("written");
            }
        });
        let ends = Ends(&done);
        let start = Instant::now();
        let enough = |changed| if changed > 0 { Duration::from_secs(2) } else { TEST_TIMEOUT };
        while start.elapsed() < enough(changed) {
            let outcome = try_mirror(&from, place.join("to"), &usual());
            for problem in &outcome.problems {
                assert!(matches!(problem.reason, Reason::Changed), "{problem:?}");
                changed += 1;
            }
            let copy = fs::read(place.join("to/log")).expect("there");
            assert!(copy.len() >= 4 << 20 && copy.iter().all(|&byte| byte == b'.'));
        }
        drop(ends);
    });
    assert!(changed > 0, "it was at rest each time");
    run(&from, place.join("to"), &usual());
    assert_alike(&from, place.join("to"));
}

/// During a copy, a program edits the part that was already copied, and restores the modification time as `rsync
/// --inplace --times` does. If this run did not notice the edit, no later run would.
#[test]
pub(crate) fn an_edit_that_keeps_size_and_time_is_in_the_copy() {
    const SIZE: usize = 8 << 20;
    let place = TreeBuilder::new().seeded("from/image", 1, SIZE as u64).dir("to").make_temp();
    let image = place.join("from/image");
    let rate = NonZeroU64::new(4 << 20);
    let slow = Options { bandwidth: Arc::new(Throttle::new(rate)), ..usual() };
    let way = Variant::now();
    thread::scope(|scope| {
        let copying =
            scope.spawn(|| way.of(|| drop(run(place.join("from"), place.join("to"), &slow))));
        let timeout = Instant::now() + TEST_TIMEOUT;
        let copied = || {
            let files = fs::read_dir(place.join("to")).expect("there").flatten();
            files.filter_map(|file| Some(file.metadata().ok()?.blocks() * 512)).sum::<u64>()
        };
        while copied() < SIZE as u64 / 4 && !copying.is_finished() {
            assert!(Instant::now() < timeout, "nothing is copied");
            thread::sleep(Duration::from_millis(1));
        }
        let file = fs::OpenOptions::new().write(true).open(&image).expect("opened");
        let modified = file.metadata().expect("there").modified().expect("has one");
        file.write_all_at(b"edited", 0).expect("written");
        file.set_modified(modified).expect("set");
        copying.join().expect("no panic");
    });
    assert_alike(place.join("from"), place.join("to"));
}

/// A file is edited throughout the copy, and each edit preserves size and modification time. The
/// run reports the file, and the next run copies it again.
#[test]
pub(crate) fn continuous_edits_that_keep_size_and_time_are_reported() {
    let place = TreeBuilder::new().seeded("from/image", 1, 4 << 20).dir("to").make_temp();
    let slow = Throttle::new(NonZeroU64::new(16 << 20));
    let slow = Options { bandwidth: Arc::new(slow), ..usual() };
    let (done, image) = (AtomicBool::new(false), place.join("from/image"));
    let mut outcome = None;
    thread::scope(|scope| {
        scope.spawn(|| {
            let file = fs::OpenOptions::new().write(true).open(&image).expect("opened");
            let modified = file.metadata().expect("there").modified().expect("has one");
            for version in 1u64.. {
                for at in 0..4 {
                    file.write_all_at(&version.to_le_bytes(), at << 20).expect("written");
                }
                file.set_modified(modified).expect("set");
                if done.load(Relaxed) {
                    return;
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let _ends = Ends(&done);
        outcome = Some(try_mirror(place.join("from"), place.join("to"), &slow));
    });
    let outcome = outcome.expect("it ran");
    let reasons: Vec<_> = outcome.problems.iter().map(|problem| &problem.reason).collect();
    assert!(matches!(reasons[..], [Reason::Changed]), "{outcome:?}");
    run(place.join("from"), place.join("to"), &usual());
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
pub(crate) fn a_small_file_that_grows_large_is_copied_too() {
    let place = TempTree::new();
    let from = place.join("from");
    fs::create_dir(&from).expect("made");
    for name in ["a", "b", "c"] {
        fs::write(from.join(name), vec![b'.'; 150_000]).expect("written");
    }
    let rate = std::num::NonZeroU64::new(400_000);
    let slow = Options { bandwidth: Arc::new(Throttle::new(rate)), ..usual() };
    thread::scope(|scope| {
        scope.spawn(|| {
            // After this delay, the first file has been copied, and the other files are waiting.
            thread::sleep(Duration::from_millis(150));
            for name in ["a", "b", "c"] {
                let log = fs::OpenOptions::new().append(true).open(from.join(name));
                log.expect("opened").write_all(&vec![b'.'; 300_000]).expect("written");
            }
        });
        run(&from, place.join("to"), &slow);
    });
    run(&from, place.join("to"), &usual());
    assert_alike(&from, place.join("to"));
}

#[test]
pub(crate) fn names_that_come_and_go_do_not_fail() {
    let place = TempTree::new();
    let from = place.join("from");
    let mut tree = TreeBuilder::new();
    for i in 0..400 {
        tree = tree.file(format!("{}/{i}", i % 20), "x");
    }
    tree.make(&from);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0u64.. {
                if done.load(Relaxed) {
                    return;
                }
                let dir = from.join((number % 20).to_string());
                let moved = from.join(format!("{} moved", number % 20));
                fs::write(dir.join("new"), "new").expect("written");
                fs::rename(&dir, &moved).expect("moved");
                fs::remove_file(moved.join("new")).expect("removed");
                fs::rename(&moved, &dir).expect("moved back");
            }
        });
        let ends = Ends(&done);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            let outcome = try_mirror(&from, place.join("to"), &deleting());
            assert!(outcome.problems.is_empty(), "{:?}", outcome.problems);
        }
        drop(ends);
    });
    run(&from, place.join("to"), &deleting());
    assert_alike(&from, place.join("to"));
}

/// While some workers replace files and links with directories, other workers open directories below them.
#[test]
pub(crate) fn directories_replace_other_entries() {
    let place = TempTree::new();
    let mut source = TreeBuilder::new();
    for i in 0..300 {
        let next = (i + 1) % 300;
        let names = [format!("d{i}/e/first"), format!("d{next}/e/f/other")];
        source = source.hard_links("content", &names);
    }
    source.make(place.join("from"));
    for _ in 0..4 {
        let to = place.join("to");
        fs::create_dir(&to).expect("made");
        for i in 0..300 {
            let made = to.join(format!("d{i}"));
            if i % 2 == 0 {
                fs::write(made, "file").expect("written");
            } else {
                symlink("/", made).expect("made");
            }
        }
        run(place.join("from"), &to, &with(8));
        assert_alike(place.join("from"), &to);
        fs::remove_dir_all(&to).expect("removed");
    }
}
