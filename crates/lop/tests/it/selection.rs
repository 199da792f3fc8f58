//! Selection of files for a scan: sizes, patterns, hidden names, empty files, hard links, and file
//! systems.

use testkit::{
    FileSystem, Groups, Mount, PathBytes, TreeBuilder, assert_groups, disk_space, groups_of,
    parse_nul, skipped,
};

use crate::lop::{Lop, document};

/// Returns the groups that `lop scan --no-catalog . OPTIONS` finds.
#[track_caller]
fn found<A: PathBytes>(lop: &Lop, options: impl IntoIterator<Item = A>) -> Groups {
    let scan = ["scan", "--no-catalog", "--format", "nul", "."];
    let output = lop.command().args(scan).args(options).run();
    output.success();
    parse_nul(&output.stdout)
}

#[track_caller]
fn assert_found<const N: usize>(lop: &Lop, options: &[&str], expected: [&[&str]; N]) {
    let expected = groups_of(expected.iter().map(|group| group.iter().copied()));
    assert_groups(&expected, &found(lop, options));
}

/// Returns the number of entries that a scan skipped for the given reason.
#[track_caller]
fn skips(lop: &Lop, options: &[&str], reason: &str) -> u64 {
    let output = lop.command().args(["scan", "--no-catalog", "--json"]).args(options).run();
    output.success();
    document(&output)["summary"]["skipped"][reason].as_u64().unwrap_or(0)
}

#[test]
fn sizes_limit_a_scan_with_both_ends_included() {
    let mut tree = TreeBuilder::new();
    for size in [9, 10, 11, 2047, 2048, 2049] {
        for copy in ["a", "b"] {
            tree = tree.seeded(format!("{size}{copy}"), size, size);
        }
    }
    let lop = Lop::with(&tree);
    assert_found(
        &lop,
        &["--min-size", "10", "--max-size", "2k"],
        [
            &["./10a", "./10b"],
            &["./11a", "./11b"],
            &["./2047a", "./2047b"],
            &["./2048a", "./2048b"],
        ],
    );
    assert_found(&lop, &["--min-size", "2049B"], [&["./2049a", "./2049b"]]);
    assert_found(&lop, &["--max-size", "0.0087890625 KiB"], [&["./9a", "./9b"]]);
    assert_eq!(skips(&lop, &["--min-size", "2 KiB", "."], "too_small"), 8);
    assert_eq!(skips(&lop, &["--max-size", "10", "."], "too_large"), 8);
}

#[test]
fn include_and_exclude_take_names_paths_and_directories() {
    let mut tree = TreeBuilder::new();
    for path in ["a.jpg", "a.txt", "sub/b.jpg", "sub/b.txt", "sub/deep/c.jpg", "cache/d.jpg"] {
        tree = tree.file(path, "alike");
    }
    let lop = Lop::with(&tree.file("deep", "alike"));
    let jpg: &[&str] = &["./a.jpg", "./cache/d.jpg", "./sub/b.jpg", "./sub/deep/c.jpg"];
    assert_found(&lop, &["--include", "*.jpg"], [jpg]);
    assert_found(
        &lop,
        &["--include", "*.jpg", "--exclude", "cache/"],
        [&["./a.jpg", "./sub/b.jpg", "./sub/deep/c.jpg"]],
    );
    assert_found(
        &lop,
        &["--include", "sub/*.jpg", "--include", "a.*"],
        [&["./a.jpg", "./a.txt", "./sub/b.jpg"]],
    );
    assert_found(
        &lop,
        &["--include", "sub/**"],
        [&["./sub/b.jpg", "./sub/b.txt", "./sub/deep/c.jpg"]],
    );
    assert_found(
        &lop,
        &["--exclude", "deep/", "--exclude", "*.jpg"],
        [&["./a.txt", "./deep", "./sub/b.txt"]],
    );
    assert_found(
        &lop,
        &["--exclude", "deep", "--include", "*.jpg"],
        [&["./a.jpg", "./cache/d.jpg", "./sub/b.jpg"]],
    );
    assert_eq!(skips(&lop, &["--exclude", "sub/", "."], "excluded"), 1, "the directory alone");
}

#[test]
fn a_pattern_that_means_nothing_is_wrong_usage() {
    let lop = Lop::new();
    for option in ["--include", "--exclude"] {
        let output = lop.run(["scan", option, "a[b"]);
        output.code(2);
        assert!(output.stderr_str().contains("\"a[b\""), "{}", output.stderr_str());
    }
    assert!(!lop.catalog().exists());
}

#[test]
fn hidden_names_are_scanned_by_default() {
    let tree = TreeBuilder::new()
        .file(".hidden", "alike")
        .file("open", "alike")
        .file(".dir/inside", "alike")
        .file("dir/.in", "alike")
        .file("dir/out", "alike");
    let lop = Lop::with(&tree);
    let all: &[&str] = &["./.dir/inside", "./.hidden", "./dir/.in", "./dir/out", "./open"];
    assert_found(&lop, &[], [all]);
    assert_found(&lop, &["--no-hidden"], [&["./dir/out", "./open"]]);
    assert_eq!(skips(&lop, &["--no-hidden", "."], "hidden"), 3);
}

#[test]
fn a_hidden_root_is_scanned() {
    let lop = Lop::with(&TreeBuilder::new().file(".dir/a", "alike").file(".dir/b", "alike"));
    let output = lop.run(["scan", "--no-catalog", "--no-hidden", "--format", "nul", ".dir"]);
    assert_groups(&groups_of([[".dir/a", ".dir/b"]]), &parse_nul(&output.stdout));
}

#[test]
fn empty_files_are_one_group_on_request() {
    let tree = TreeBuilder::new().file("a", "").file("b", "").file("c/d", "").file("e", "x");
    let lop = Lop::with(&tree);
    assert_found(&lop, &[], []);
    assert_found(&lop, &["--empty"], [&["./a", "./b", "./c/d"]]);
    assert_eq!(skips(&lop, &["."], "empty"), 3);
    let summary = lop.scan_summary(["--empty", "."]);
    assert_eq!(
        (&summary["redundant_files"], &summary["reclaimable_bytes"]),
        (&2.into(), &0.into())
    );
    assert_groups(&groups_of([["a", "b", "c/d"]]), &lop.report());
}

#[test]
fn names_of_one_inode_are_one_file_by_default() {
    let tree = TreeBuilder::new()
        .hard_links("linked", &["a1", "a2", "d/a3"])
        .file("copy", "linked")
        .hard_links("lonely", &["l1", "l2"]);
    let lop = Lop::with(&tree);
    assert_found(&lop, &[], [&["./a1", "./copy"]]);
    let all: [&[&str]; 2] = [&["./a1", "./a2", "./copy", "./d/a3"], &["./l1", "./l2"]];
    assert_found(&lop, &["--hardlinks"], all);
    let output = lop.run(["scan", "--no-catalog", "--hardlinks", "."]);
    let text = output.stdout_str();
    assert!(text.contains("2 files of 6 B, hard links\n  ./l1\n  ./l2\n"), "{text}");
    assert!(text.contains("4 files of 6 B, ") && text.contains(" reclaimable, "), "{text}");
}

#[test]
fn hard_links_reclaim_nothing_in_the_catalog_either() {
    let tree =
        TreeBuilder::new().hard_links("linked", &["a1", "a2"]).hard_links("linked", &["b1", "b2"]);
    let lop = Lop::with(&tree);
    let freed = disk_space(lop.path("b1"));
    let summary = lop.scan_summary(["--hardlinks", "."]);
    assert_eq!(
        (&summary["redundant_files"], &summary["reclaimable_bytes"]),
        (&3.into(), &freed.into())
    );
    let report = lop.json(["report"]);
    assert_eq!(report["groups"][0]["reclaimable_bytes"], freed);
    assert_groups(&groups_of([["a1", "b1"]]), &lop.report());
}

#[test]
fn one_file_system_skips_other_mounts() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike").dir("mnt"));
    let mount = match Mount::new(FileSystem::Tmpfs, 1 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    TreeBuilder::new().file("c", "alike").make(&mount);
    let bound = match Mount::bind(mount.path(), lop.path("mnt")) {
        Ok(bound) => bound,
        Err(reason) => return skipped(reason),
    };
    assert_found(&lop, &[], [&["./a", "./b", "./mnt/c"]]);
    for option in ["-x", "--one-file-system"] {
        assert_found(&lop, &[option], [&["./a", "./b"]]);
        assert_eq!(skips(&lop, &[option, "."], "other_file_systems"), 1);
    }
    drop(bound);
}

#[test]
fn the_number_of_threads_changes_only_the_statistics() {
    let mut tree = TreeBuilder::new();
    for n in 0..60 {
        tree = tree.seeded(format!("d{}/f{n}", n % 7), n % 20, 3000 + n % 3);
    }
    let lop = Lop::with(&tree);
    let run = |threads: &str| {
        let options = ["--no-catalog", "--format", "csv", "--stats", "--threads", threads, "."];
        lop.scan(options)
    };
    let one = run("1");
    for threads in ["2", "7", "64"] {
        let output = run(threads);
        assert_eq!(output.stdout, one.stdout);
        let figures = crate::lop::Figures::of(&output);
        assert_eq!(figures.get("threads").to_string(), threads);
    }
}
