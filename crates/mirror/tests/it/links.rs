//! Hard links: every name of a file, none of another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use testkit::{FileSystem, Mount, TempTree, TreeBuilder, is_root, skipped};

use crate::world::{Ends, assert_alike, deleting, run, try_to, usual, with};

#[test]
fn names_of_one_file_are_found_by_several_at_once() {
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
        assert_eq!((outcome.files, outcome.linked), (200, 199 + 199));
    }
}

#[test]
fn more_names_than_a_file_can_have() {
    if !is_root() {
        return skipped("file systems can be mounted by root only");
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
        assert_eq!((outcome.files, outcome.split), (2, 1));
        let inodes = inodes(&to);
        assert_eq!(inodes.len(), 2);
        assert_eq!(inodes.values().map(BTreeSet::len).sum::<usize>(), names);
        for threads in [1, 4] {
            let again = run(tmpfs.path(), &to, &with(threads));
            assert_eq!((again.changes(), again.split), (0, 0));
        }
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

/// A file system gives the number of a file that is gone to the next one: whoever goes by numbers has to
/// see that.
#[test]
fn a_number_that_is_used_again_is_another_file() {
    if !is_root() {
        return skipped("file systems can be mounted by root only");
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
    let (mut reused, start) = (0, Instant::now());
    thread::scope(|scope| {
        let churn = scope.spawn(|| {
            let mut groups = 0;
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
                groups += 1;
            }
            groups
        });
        let ends = Ends(&done);
        let mut round = 0;
        while start.elapsed() < Duration::from_secs(3) || round < 20 {
            let to = ext4.path().join("to");
            let outcome = try_to(&from, &to, &with(1 + round % 3));
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
        reused = churn.join().expect("no panic");
    });
    assert!(reused > 1_000, "{reused}");
}

#[test]
fn links_that_lead_out_of_the_tree_are_no_more() {
    let place = TreeBuilder::new()
        .hard_links("x", &["from/a", "outside/a"])
        .hard_links("y", &["from/b", "outside/b", "from/c"])
        .make_temp();
    run(place.join("from"), place.join("to"), &usual());
    assert_alike(place.join("from"), place.join("to"));
    assert_eq!(place.join("to/a").metadata().expect("there").nlink(), 1);
    assert_eq!(run(place.join("from"), place.join("to"), &deleting()).changes(), 0);
}
