//! Actions consist of steps, and each step either can be undone or does not happen.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use testkit::{
    Compare, FileSystem, Rules, Signal, Snapshot, TreeBuilder, When, assert_contents_kept,
    assert_same, hostile_tree, naive_truth, stores,
};

use super::{
    CHANGING, apply, apply_all, assert_kept, back, done, mounted, scanned, scanned_at, undo,
};
use crate::lop::{Lop, document, settle};

/// Returns files in pairs. The files to keep are in the directory `a`.
fn pairs(number: u64, size: u64) -> TreeBuilder {
    (0..number).fold(TreeBuilder::new(), |tree, i| {
        let tree = tree.seeded(format!("a/{i}"), i, size).seeded(format!("b/{i}"), i, size);
        tree.mode(format!("b/{i}"), 0o640).mtime(format!("b/{i}"), 1_400_000_000, 7)
    })
}

// Way 5.
#[test]
fn a_run_that_is_interrupted_leaves_every_file_under_a_name_and_is_undone() {
    for by in CHANGING {
        let lop = scanned(&pairs(1500, 2000));
        let before = Snapshot::of(lop.work());
        let mut stopped = 0;
        for (signal, delay) in [(Signal::INT, 30), (Signal::TERM, 60), (Signal::KILL, 50)] {
            let delay = When::After(std::time::Duration::from_millis(delay));
            let run = lop
                .command()
                .args(["dedupe", "--apply", "--all", "--by", by])
                .signal(signal, delay);
            stopped += run.run().signals_sent;
            assert_kept(&lop, &before, &[&lop.work()]);
            // The undo restores the whole tree, however far the run got.
            while lop.run(["undo"]).ending == testkit::Ending::Code(0) {}
            assert_same(&before, &Snapshot::of(lop.work()), back());
            assert_eq!(stores(&lop.runs()).len(), 0, "{by}");
            settle();
            lop.remember(["."]);
        }
        assert!(stopped > 0, "no run was long enough");
    }
}

// Ways 6 and 20.
#[test]
fn a_file_with_all_the_links_it_can_have_loses_no_name() {
    let Some(disk) = mounted(FileSystem::Ext4, 64 << 20) else { return };
    let most = 65_000;
    TreeBuilder::new().seeded("a/0", 1, 5000).dir("links").make(&disk);
    for i in 1..most - 2 {
        fs::hard_link(disk.path().join("a/0"), disk.path().join(format!("links/{i}")))
            .expect("a link");
    }
    let lop = scanned_at(
        &disk,
        &TreeBuilder::new().seeded("b/1", 1, 5000).seeded("b/2", 1, 5000).seeded("b/3", 1, 5000),
    );
    // Leaves out the many names of a single file, which are counted instead.
    let seen = || Snapshot::without_names(&disk, &["links"]);
    let before = seen();
    let output = apply(&lop, "hardlink", ["--all", "--keep", "path:**/a/*"]);
    output.code(3);
    let after = seen();
    assert_eq!(done(&output) + 1, 3, "two fit: {}", document(&output));
    for name in ["b/1", "b/2", "b/3"] {
        let entry = after.get(name).expect("its name");
        assert!(entry.kind == testkit::snapshot::Kind::File, "not a symbolic link instead");
    }
    assert_eq!(after.entries.len(), before.entries.len());
    assert_eq!(after.get("a/0").map(|entry| entry.links), Some(most));
    undo(&lop);
    assert_same(&before, &seen(), back());
    let names = fs::read_dir(disk.path().join("links")).expect("is listed").count();
    assert_eq!(names as u64, most - 3);
    assert_eq!(fs::metadata(disk.path().join("a/0")).expect("a file").nlink(), most - 2);
}

// Way 6.
#[test]
fn a_hard_link_to_another_file_system_is_not_made_symbolic() {
    let disks = [mounted(FileSystem::Ext4, 16 << 20), mounted(FileSystem::Tmpfs, 16 << 20)];
    let [Some(one), Some(two)] = &disks else { return };
    let lop = scanned_at(one, &pairs(3, 2000));
    pairs(3, 2000).make(two);
    settle();
    lop.remember([two.path()]);
    apply_all(&lop, "hardlink", 6);
    for disk in [one, two] {
        for i in 0..3 {
            let inode = |name| fs::symlink_metadata(disk.path().join(name)).expect("a file").ino();
            assert_eq!(inode(format!("a/{i}")), inode(format!("b/{i}")));
        }
    }
}

// Way 9.
#[test]
fn one_run_waits_for_the_other() {
    for by in CHANGING {
        let lop = scanned(&pairs(400, 2000));
        let before = Snapshot::of(lop.work());
        let run = |keep| {
            lop.command().args(["dedupe", "--apply", "--all", "--by", by, "--keep", keep]).spawn()
        };
        let runs = [run("path:**/a/*"), run("path:**/b/*"), run("path:**/a/*")];
        for run in runs {
            run.wait().success();
        }
        let after = Snapshot::of(lop.work());
        assert_contents_kept(&before, &[&after]);
        assert!(stores(&lop.runs()).is_empty() || by == "quarantine", "{by}");
        while lop.run(["undo"]).ending == testkit::Ending::Code(0) {}
        assert_same(&before, &Snapshot::of(lop.work()), back());
    }
}

// Way 18.
#[test]
fn quarantine_moves_files_without_copying_any() {
    let disks: Vec<_> =
        FileSystem::ALL.into_iter().filter_map(|kind| mounted(kind, 16 << 20)).collect();
    if disks.is_empty() {
        return;
    }
    let lop = Lop::new();
    for disk in &disks {
        pairs(5, 3000).make(disk);
    }
    settle();
    let roots: Vec<&Path> = disks.iter().map(testkit::Mount::path).collect();
    lop.remember(&roots);
    let before: Vec<Snapshot> = disks.iter().map(Snapshot::of).collect();
    let inodes = |snapshot: &dyn Fn(&Path) -> Vec<u64>| -> Vec<Vec<u64>> {
        roots.iter().map(|root| snapshot(root)).collect()
    };
    let of_b = |root: &Path| (0..5).map(|i| inode(&root.join(format!("b/{i}")))).collect();
    let was = inodes(&of_b);
    apply(&lop, "quarantine", ["--all", "--keep", "path:**/a/*"]).success();
    assert_eq!(stores(&lop.runs()).len(), disks.len(), "each file system has its own");
    for (store, disk) in stores(&lop.runs()).iter().zip(&disks) {
        assert!(store.starts_with(disk.path()) || disks.iter().any(|d| store.starts_with(d)));
        assert!(fs::metadata(store).expect("a store").mode().trailing_zeros() >= 6, "is private");
    }
    undo(&lop);
    assert_eq!(inodes(&of_b), was, "they are the same files");
    for (before, disk) in before.iter().zip(&disks) {
        assert_same(before, &Snapshot::of(disk), back());
    }
}

fn inode(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |metadata| metadata.ino())
}

// Way 19.
#[test]
fn quarantine_moves_files_without_deleting_any() {
    let lop = scanned(&pairs(20, 3000));
    let before = Snapshot::of(lop.work());
    let output = apply(&lop, "quarantine", ["--all", "--keep", "path:**/a/*"]);
    assert_eq!(document(&output)["summary"]["freed_bytes"], 0, "nothing is freed by that");
    let [store] = &stores(&lop.runs())[..] else { panic!("one store") };
    let put_aside = Snapshot::of(store);
    let files = put_aside.entries.values().filter(|entry| entry.sha256.is_some()).count();
    assert_eq!(files, 20 + 1, "the files, and what says where each of them was");
    // Later runs and scans do not touch the files in quarantine.
    settle();
    lop.remember(["."]);
    apply(&lop, "delete", ["--all"]).success();
    assert_same(&put_aside, &Snapshot::of(store), Compare::ALL);
    lop.run(["undo"]).success();
    assert_same(&before, &Snapshot::of(lop.work()), back());
}

// Way 19.
#[test]
fn failures_are_reported() {
    let lop = scanned(&pairs(4, 3000));
    let writer = fs::OpenOptions::new().append(true).open(lop.path("b/2")).expect("opens");
    let output = apply(&lop, "delete", ["--all", "--keep", "path:**/a/*"]);
    output.code(3);
    assert_eq!(document(&output)["summary"]["failed"], 1);
    assert_eq!(done(&output), 3);
    assert!(lop.path("b/2").is_file() && !lop.path("b/1").exists());
    drop(writer);
    // The undo also reports the failure, and does not touch files that appeared after the run.
    fs::write(lop.path("b/1"), "somebody else's").expect("is written");
    let output = lop.run(["undo"]);
    output.code(3);
    assert_eq!(fs::read(lop.path("b/1")).expect("is there"), b"somebody else's");
    assert!(lop.path("b/0").is_file() && lop.path("b/3").is_file());
}

#[test]
fn hostile_names_and_links_survive_every_kind() {
    for by in CHANGING {
        let lop = Lop::new();
        hostile_tree(lop.work()).unlock(lop.work());
        settle();
        drop(lop.run(["scan", "."]));
        let before = Snapshot::of(lop.work());
        drop(apply(&lop, by, ["--all"]));
        assert_kept(&lop, &before, &[&lop.work()]);
        if by == "symlink" {
            every_link_leads_to_a_file(&before, &lop.work());
        }
        undo(&lop);
        assert_same(&before, &Snapshot::of(lop.work()), back());
    }
}

/// Asserts that every file in `before` still has its name and its content, possibly through a link.
fn every_link_leads_to_a_file(before: &Snapshot, root: &Path) {
    for (path, entry) in
        before.entries.iter().filter(|(path, e)| e.sha256.is_some() && path.len() < 3000)
    {
        let size = fs::metadata(root.join(OsStr::from_bytes(path))).map(|m| m.len());
        assert_eq!(size.ok(), Some(entry.size_bytes), "{}", path.escape_ascii());
    }
}

#[test]
fn hard_links_are_restored_within_and_across_groups() {
    let tree = TreeBuilder::new()
        .hard_links(testkit::Content::Seeded { seed: 1, len: 9000 }, &["1/a", "1/b", "2/c"])
        .hard_links(testkit::Content::Seeded { seed: 1, len: 9000 }, &["2/d", "3/e"])
        .hard_links(testkit::Content::Seeded { seed: 2, len: 9000 }, &["1/f", "3/g"])
        .hard_links(testkit::Content::Seeded { seed: 2, len: 9000 }, &["2/h", "3/i", "3/j"])
        .seeded("3/k", 2, 9000);
    for by in CHANGING {
        for keep in ["path:**/1/*", "path:**/2/*", "path:**/3/*", "path:**/3/k"] {
            let lop = scanned(&tree);
            let before = Snapshot::of(lop.work());
            apply(&lop, by, ["--all", "--keep", keep]).success();
            let rules = Rules { every_link: true, ..Rules::default() };
            let left = naive_truth(&[lop.work()], rules);
            let inodes: BTreeMap<u64, usize> =
                left.groups.iter().flatten().fold(BTreeMap::new(), |mut inodes, path| {
                    use std::os::unix::ffi::OsStrExt;
                    *inodes
                        .entry(inode(Path::new(std::ffi::OsStr::from_bytes(path))))
                        .or_default() += 1;
                    inodes
                });
            assert!(inodes.len() <= 2, "{by} {keep}: one file of each content stays");
            assert_kept(&lop, &before, &[&lop.work()]);
            undo(&lop);
            assert_same(&before, &Snapshot::of(lop.work()), back());
        }
    }
}
