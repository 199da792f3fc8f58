//! Scanning again: unchanged files are not read, and changes are found.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use testkit::{
    Content, Groups, TreeBuilder, assert_groups, disk_space, groups_of, hostile_tree, naive_groups,
    relative_to,
};

use crate::lop::{Lop, settle};

/// Returns files of all sizes that lop reads differently: single files, and groups of 2, 3 and 40 files.
fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for (n, size) in [1, 100, 4096, 16_384, 65_536, 65_537, 300_000].into_iter().enumerate() {
        for copy in 0..3 {
            tree = tree.differing(format!("d{n}/three {copy}"), 1, size, size - 1, copy / 2);
        }
        tree = tree.seeded(format!("d{n}/pair 1"), 2, size + 1).seeded(
            format!("pair {n}"),
            2,
            size + 1,
        );
        tree = tree.seeded(format!("d{n}/single"), 3, size + 2);
    }
    for n in 0..40 {
        tree = tree.seeded(format!("many/{n}"), n / 8, 20_000).seeded(
            format!("many/big {n}"),
            n / 8,
            90_000,
        );
    }
    tree
}

#[track_caller]
fn assert_truth(lop: &Lop) {
    assert_groups(&relative_to(lop.work(), &naive_groups(lop.work())), &lop.report());
}

#[test]
fn nothing_changed_nothing_read() {
    let lop = Lop::with(&tree());
    let first = lop.scan_figures(["."]);
    assert!(first.get("bytes_read") > 0 && first.get("known") == 0, "{first:?}");
    assert_truth(&lop);
    for _ in 0..2 {
        let again = lop.scan_figures(["."]);
        again.assert_nothing_read();
        assert_eq!(again.get("known"), again.get("candidates"));
        assert_eq!(again.get("groups"), first.get("groups"));
        assert_truth(&lop);
    }
}

#[test]
fn nothing_is_read_again_in_a_hostile_tree() {
    let lop = Lop::new();
    let truth = hostile_tree(lop.work());
    settle();
    lop.run(["scan", "--empty", "."]).code(if testkit::is_root() { 0 } else { 3 });
    let again = lop.run(["scan", "--empty", "--stats", "."]);
    if testkit::is_root() {
        crate::lop::Figures::of(&again).assert_nothing_read();
    }
    let mut groups = lop.report();
    groups.remove(&["empty 1", "empty 2"].map(|n| n.as_bytes().to_vec()).into());
    assert_groups(truth.groups_here(), &groups);
}

#[test]
fn a_rescan_prints_what_a_first_scan_prints() {
    let lop = Lop::with(&tree());
    let first = lop.scan(["--format", "csv", "."]);
    let again = lop.scan(["--format", "csv", "."]);
    let fresh = lop.scan(["--no-catalog", "--format", "csv", "."]);
    assert_eq!(first.stdout_str(), again.stdout_str());
    assert_eq!(first.stdout_str(), fresh.stdout_str());
}

#[test]
fn the_program_opens_no_file_of_an_unchanged_tree() {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    let log = lop.home().join("calls");
    let strace = testkit::Sandbox::new("/usr/bin/strace");
    if !Path::new("/usr/bin/strace").exists() {
        return testkit::skipped("strace is not installed");
    }
    let binary = env!("CARGO_BIN_EXE_lop");
    let output = strace
        .command()
        .args(["-f", "-qq", "-e", "trace=open,openat,openat2,read,pread64,preadv,mmap", "-o"])
        .arg(&log)
        .args([binary, "scan", "--catalog"])
        .arg(lop.catalog())
        .arg(lop.work())
        .run();
    if String::from_utf8_lossy(&output.stderr).contains("Operation not permitted") {
        return testkit::skipped("strace is not permitted to trace");
    }
    output.success();
    let calls = fs::read_to_string(&log).expect("strace wrote its log");
    for name in ["three", "pair", "single", "\"big", "\"39\""] {
        let opened = calls.lines().find(|line| line.contains(name) && line.contains("open"));
        assert_eq!(opened, None);
    }
    assert!(calls.contains("\"many\""), "directories were opened: the log is what it seems");
}

#[test]
fn a_new_file_joins_without_the_others_being_read() {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    lop.add(&TreeBuilder::new().seeded("new", 2, 65_538));
    let figures = lop.scan_figures(["."]);
    // The known files have a digest, so only the new file is read: its first block, and then the whole file.
    assert_eq!(figures.get("candidates") - figures.get("known"), 1);
    assert!(figures.get("bytes_read") <= 2 * 65_538, "{figures:?}");
    assert_truth(&lop);
    lop.scan_figures(["."]).assert_nothing_read();
}

/// Writes different bytes of the same length and restores the modification time.
fn change_in_secret(path: &Path, content: &[u8]) {
    let before = fs::metadata(path).expect("metadata");
    assert_eq!(before.len(), content.len() as u64);
    fs::write(path, content).expect("written");
    let file = fs::File::options().write(true).open(path).expect("opens");
    file.set_modified(before.modified().expect("a time")).expect("times can be set");
    let after = fs::metadata(path).expect("metadata");
    assert_eq!((before.mtime(), before.mtime_nsec()), (after.mtime(), after.mtime_nsec()));
}

#[test]
fn a_change_that_hides_its_modification_time_is_found() {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    let other = Content::Seeded { seed: 99, len: 65_537 }.bytes();
    change_in_secret(&lop.path("d4/pair 1"), &other);
    settle();
    let output = lop.run(["report", "--format", "nul"]);
    output.code(3);
    let before = relative_to(lop.work(), &testkit::parse_nul(&output.stdout));
    assert!(!before.iter().flatten().any(|path| path == b"d4/pair 1"), "a question knows it too");
    lop.remember(["."]);
    assert_truth(&lop);
    assert_groups(&before, &lop.report());
}

#[test]
fn changed_deleted_and_renamed_files_are_found() {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    fs::write(lop.path("pair 0"), "longer than before").expect("written");
    fs::remove_file(lop.path("pair 1")).expect("removed");
    fs::rename(lop.path("pair 2"), lop.path("many/renamed")).expect("renamed");
    fs::remove_file(lop.path("pair 3")).expect("removed");
    fs::create_dir(lop.path("pair 3")).expect("made");
    fs::write(lop.path("pair 3/pair 3"), Content::Seeded { seed: 2, len: 16_385 }.bytes())
        .expect("written");
    settle();
    lop.remember(["."]);
    assert_truth(&lop);
    lop.scan_figures(["."]).assert_nothing_read();
    assert_truth(&lop);
}

#[test]
fn a_renamed_directory_is_not_read_again() {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    fs::create_dir_all(lop.path("new/place")).expect("made");
    fs::rename(lop.path("many"), lop.path("new/place/for many")).expect("renamed");
    fs::rename(lop.path("d5"), lop.path("d5 renamed")).expect("renamed");
    let figures = lop.scan_figures(["."]);
    figures.assert_nothing_read();
    assert_truth(&lop);
    lop.scan_figures(["."]).assert_nothing_read();
}

#[test]
fn a_directory_replaced_by_a_file_or_link_is_forgotten() {
    let lop = Lop::with(&tree().dir("elsewhere"));
    lop.remember(["."]);
    fs::rename(lop.path("many"), lop.path("elsewhere/many")).expect("renamed");
    std::os::unix::fs::symlink("elsewhere/many", lop.path("many")).expect("linked");
    fs::remove_dir_all(lop.path("d1")).expect("removed");
    fs::write(lop.path("d1"), "a file").expect("written");
    settle();
    lop.remember(["."]);
    assert_truth(&lop);
    let many: i64 = lop
        .database()
        .query_row("SELECT count(*) FROM dir WHERE name IN (x'6d616e79', x'6431')", [], |r| {
            r.get(0)
        })
        .expect("a count");
    assert_eq!(many, 1, "only elsewhere/many is left");
}

#[test]
fn an_added_hard_link_is_not_a_duplicate() {
    let lop =
        Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike").file("c", "single"));
    lop.remember(["."]);
    fs::hard_link(lop.path("a"), lop.path("a2")).expect("linked");
    fs::hard_link(lop.path("c"), lop.path("c2")).expect("linked");
    settle();
    lop.remember(["."]);
    assert_groups(&groups_of([["a", "b"]]), &lop.report());
    lop.scan_figures(["."]).assert_nothing_read();
    fs::remove_file(lop.path("b")).expect("removed");
    settle();
    lop.remember(["."]);
    assert_groups(&Groups::new(), &lop.report());
}

/// Scans snapshots one after the other, the files of which are hard links to each other.
#[test]
fn linked_snapshots_scanned_in_turn_are_the_groups_of_one_scan() {
    let mut tree = TreeBuilder::new();
    for (size, name) in [(5000, "small"), (100_000, "large")] {
        for copy in ["1", "2"] {
            let names = ["day 1", "day 2", "day 3"].map(|day| format!("{day}/{name} {copy}"));
            tree = tree.hard_links(Content::Seeded { seed: 1, len: size }, &names);
        }
    }
    let lop = Lop::with(&tree);
    lop.remember(["day 1"]);
    for day in ["day 2", "day 3"] {
        lop.scan_figures([day]).assert_nothing_read();
    }
    assert_truth(&lop);
    let groups: Vec<(i64, u64)> = {
        let database = lop.database();
        let mut query = database
            .prepare("SELECT inodes, reclaimable FROM groups ORDER BY size")
            .expect("a query");
        let rows =
            query.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())));
        rows.and_then(Iterator::collect).expect("rows")
    };
    let freed = |name: &str| disk_space(lop.path("day 1").join(name));
    assert_eq!(groups, [(2, freed("small 1")), (2, freed("large 1"))]);
    lop.scan_figures(["."]).assert_nothing_read();
}

#[test]
fn files_just_written_are_read_again_and_then_trusted() {
    let lop = Lop::new();
    lop.lay(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    lop.remember(["."]);
    assert_groups(&groups_of([["a", "b"]]), &lop.report());
    settle();
    lop.remember(["."]);
    lop.scan_figures(["."]).assert_nothing_read();
    assert_groups(&groups_of([["a", "b"]]), &lop.report());
}

#[test]
fn files_with_equal_beginnings_are_never_confused_across_scans() {
    // At least the first 64 KiB are identical and the ends differ, so the first blocks do not distinguish the files.
    let mut tree = TreeBuilder::new();
    for n in 0..6 {
        tree = tree.differing(format!("{n}"), 1, 200_000, 199_999, n / 2);
    }
    let lop = Lop::with(&tree);
    lop.remember(["0"]);
    for n in 1..6 {
        lop.remember([n.to_string()]);
    }
    assert_truth(&lop);
    lop.scan_figures(["."]).assert_nothing_read();
    assert_truth(&lop);
}
