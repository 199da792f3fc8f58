//! Hard links: a file keeps all of its names, and does not get the names of other files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use mirror::{Options, Reason};
use testkit::{FileSystem, Mount, TEST_TIMEOUT, TempTree, TreeBuilder, is_root, skipped};

use crate::world::{Ends, Variant, assert_alike, deleting, run, try_mirror, usual, with};

#[test]
pub(crate) fn several_workers_find_names_of_one_file_at_once() {
    for threads in [1, 4, 8] {
        let place = TempTree::new();
        let from = place.join("from");
        fs::create_dir(&from).expect("made");
        fs::create_dir(from.join("0")).expect("made");
        fs::write(from.join("0/first"), vec![7; 3 << 20]).expect("written");
        for dir in 1..200 {
            let path = from.join(dir.to_string());
            fs::create_dir(&path).expect("made");
            fs::hard_link(from.join("0/first"), path.join("name")).expect("linked");
            fs::write(path.join("own"), dir.to_string()).expect("written");
            let back = from.join(format!("{}/back {dir}", dir / 2));
            fs::hard_link(path.join("own"), back).expect("linked");
        }
        let outcome = run(&from, place.join("to"), &with(threads));
        assert_alike(&from, place.join("to"));
        assert_eq!((outcome.counts.files, outcome.counts.linked), (200, 199 + 199));
    }
}

#[test]
pub(crate) fn more_names_than_a_file_can_have() {
    if !is_root() {
        return skipped("only root can mount file systems");
    }
    let (tmpfs, ext4) =
        match (Mount::new(FileSystem::Tmpfs, 64 << 20), Mount::new(FileSystem::Ext4, 64 << 20)) {
            (Ok(tmpfs), Ok(ext4)) => (tmpfs, ext4),
            (Err(reason), _) | (_, Err(reason)) => return skipped(&reason),
        };
    let names = 70_000;
    for dir in ["a", "b"] {
        fs::create_dir(tmpfs.path().join(dir)).expect("made");
    }
    let first = tmpfs.path().join("a/first");
    fs::write(&first, "content").expect("written");
    for number in 1..names {
        let dir = if number % 3 == 0 { "b" } else { "a" };
        fs::hard_link(&first, tmpfs.path().join(format!("{dir}/{number}"))).expect("linked");
    }
    for threads in [1, 4] {
        let to = ext4.path().join(format!("to {threads}"));
        let outcome = run(tmpfs.path(), &to, &with(threads));
        assert_eq!((outcome.counts.files, outcome.counts.link_limit_copies), (2, 1));
        let inodes = inodes(&to);
        assert_eq!(inodes.len(), 2);
        assert_eq!(inodes.values().map(BTreeSet::len).sum::<usize>(), names);
        // Several threads may come across the first two names of the other copy at the same time.
        for threads in [1, 4, 4, 4, 4, 4, 4, 4, 4] {
            let again = run(tmpfs.path(), &to, &with(threads));
            assert_eq!((again.counts.changes(), again.counts.link_limit_copies), (0, 0));
        }
        // A copy has lost its content. Only reading the copy reveals that.
        let fewer = inodes.values().min_by_key(|names| names.len()).and_then(BTreeSet::first);
        let damaged = fewer.expect("there are two");
        let time = damaged.metadata().and_then(|stat| stat.modified()).expect("there");
        let file = fs::OpenOptions::new().write(true).open(damaged).expect("opened");
        std::os::unix::fs::FileExt::write_at(&file, b"?", 3).expect("written");
        file.set_modified(time).expect("set");
        drop(file);
        let checks = Options { checksum: true, ..with(threads) };
        assert!(run(tmpfs.path(), &to, &checks).counts.changes() > 0);
        assert_eq!(fs::read(damaged).expect("read"), b"content");
        assert_eq!(run(tmpfs.path(), &to, &checks).counts.changes(), 0);
    }
}

/// Returns the names of each inode below a directory.
fn inodes(root: &Path) -> BTreeMap<u64, BTreeSet<std::path::PathBuf>> {
    let mut inodes: BTreeMap<u64, BTreeSet<_>> = BTreeMap::new();
    let mut dirs = vec![root.to_path_buf()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).expect("listed") {
            let path = entry.expect("an entry").path();
            let stat = path.symlink_metadata().expect("there");
            if stat.is_dir() {
                dirs.push(path);
            } else {
                inodes.entry(stat.ino()).or_default().insert(path);
            }
        }
    }
    inodes
}

/// File systems reuse the inode number of a removed file, so the number alone does not identify a file.
#[test]
pub(crate) fn a_reused_inode_number_is_another_file() {
    if !is_root() {
        return skipped("only root can mount file systems");
    }
    let ext4 = match Mount::new(FileSystem::Ext4, 64 << 20) {
        Ok(ext4) => ext4,
        Err(reason) => return skipped(&reason),
    };
    let from = ext4.path().join("from");
    fs::create_dir(&from).expect("made");
    let make = |group: u64| {
        let first = from.join(format!("{}/g{group}-0", group % 8));
        fs::write(&first, group.to_string()).expect("written");
        for name in 1..4 {
            let dir = (group + name) % 8;
            fs::hard_link(&first, from.join(format!("{dir}/g{group}-{name}"))).expect("linked");
        }
    };
    for dir in 0..8 {
        fs::create_dir(from.join(dir.to_string())).expect("made");
    }
    (0..200).for_each(make);
    let done = AtomicBool::new(false);
    let (reused, start) = (AtomicU64::new(0), Instant::now());
    thread::scope(|scope| {
        scope.spawn(|| {
            for group in 200u64.. {
                if done.load(Relaxed) {
                    break;
                }
                let old = group - 200;
                for name in 0..4 {
                    let path = from.join(format!("{}/g{old}-{name}", (old + name) % 8));
                    fs::remove_file(path).expect("removed");
                }
                make(group);
                reused.fetch_add(1, Relaxed);
            }
        });
        let ends = Ends(&done);
        let mut round = 0;
        let is_enough = |round| round >= 20 && reused.load(Relaxed) > 1_000;
        while start.elapsed() < Duration::from_secs(3) || !is_enough(round) {
            assert!(start.elapsed() < TEST_TIMEOUT, "{round} rounds, {reused:?}");
            let to = ext4.path().join("to");
            let outcome = try_mirror(&from, &to, &with(1 + round % 3));
            for problem in &outcome.problems {
                assert!(matches!(problem.reason, mirror::Reason::Changed), "{problem:?}");
            }
            for path in inodes(&to).into_values().flatten() {
                let name = path.file_name().expect("named").to_string_lossy().into_owned();
                let group = name.trim_start_matches('g').split('-').next().expect("a number");
                let content = fs::read_to_string(&path).expect("read");
                assert!(content == group || content.is_empty(), "{name} has {content}");
            }
            fs::remove_dir_all(&to).expect("removed");
            round += 1;
        }
        drop(ends);
    });
}

#[test]
pub(crate) fn links_that_lead_out_of_the_tree_are_cut() {
    let place = TreeBuilder::new()
        .hard_links("x", &["from/a", "outside/a"])
        .hard_links("y", &["from/b", "outside/b", "from/c"])
        .make_temp();
    run(place.join("from"), place.join("to"), &usual());
    assert_alike(place.join("from"), place.join("to"));
    assert_eq!(place.join("to/a").metadata().expect("there").nlink(), 1);
    assert_eq!(run(place.join("from"), place.join("to"), &deleting()).counts.changes(), 0);
}

/// By the time the content of a name is read, the name leads to another file. That file must not get the other names of
/// the first file.
#[test]
pub(crate) fn a_name_that_becomes_another_file_does_not_affect_other_names() {
    let place = TempTree::new();
    let from = place.join("from");
    let mut tree = TreeBuilder::new();
    for i in 0..50 {
        let names = [format!("a/{i}"), format!("b/{i}")];
        tree = tree.hard_links("first", &names).file(format!("other/{i}"), "other");
    }
    tree.make(&from);
    let done = AtomicBool::new(false);
    let swap = |to: &str, i: u32| {
        fs::hard_link(from.join(format!("{to}/{i}")), from.join("new")).expect("linked");
        fs::rename(from.join("new"), from.join(format!("a/{i}"))).expect("renamed");
        // If both names belong to the same file, `rename` does nothing, so `new` may still exist.
        let _gone = fs::remove_file(from.join("new"));
    };
    let way = Variant::now();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                (0..50).for_each(|i| swap("other", i));
                (0..50).for_each(|i| swap("b", i));
            }
        });
        let ends = Ends(&done);
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            let outcome = try_mirror(&from, place.join("to"), &usual());
            for problem in &outcome.problems {
                assert!(matches!(problem.reason, Reason::Changed), "{way:?} {problem:?}");
            }
            for i in 0..50 {
                for (dir, content) in [("b", "first"), ("other", "other")] {
                    let is = fs::read_to_string(place.join(format!("to/{dir}/{i}")));
                    // A name that was just changed may be missing.
                    assert!(
                        is.as_deref().unwrap_or(content) == content,
                        "{way:?} {dir}/{i} {is:?}"
                    );
                }
            }
            fs::remove_dir_all(place.join("to")).expect("removed");
        }
        drop(ends);
    });
}
