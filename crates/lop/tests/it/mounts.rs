//! Several file systems in one catalog, and one file system at several mount points. Needs root.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{
    FileSystem, Groups, Mount, Rules, TreeBuilder, assert_groups, collapse_links, disk_space,
    groups_of, jdupes, naive_truth, parse_nul, relative_to, skipped,
};

use crate::lop::{Lop, document, settle};

fn mounted(kind: FileSystem) -> Option<Mount> {
    Mount::new(kind, 48 << 20)
        .map_err(|reason| skipped(format!("no {} to test on: {reason}", kind.name())))
        .ok()
}

fn report(lop: &Lop) -> Groups {
    let output = lop.run(["report", "--format", "nul"]);
    output.success();
    parse_nul(&output.stdout)
}

/// Returns the content of each file system: groups of its own, and groups that span all file systems.
fn content(number: u64) -> TreeBuilder {
    TreeBuilder::new()
        .file("everywhere", "on each of them")
        .seeded("large everywhere", 1, 300_000)
        .seeded("own 1", 10 + number, 70_000)
        .seeded("d/own 2", 10 + number, 70_000)
        .hard_links("linked", &["l1", "d/l2"])
        .seeded("single", 20 + number, 4000 + number)
}

#[test]
fn four_file_systems_are_one_catalog() {
    let mounts: Vec<Mount> = FileSystem::ALL.into_iter().filter_map(mounted).collect();
    if mounts.len() < 2 {
        return skipped("fewer than two file systems");
    }
    for (number, mount) in mounts.iter().enumerate() {
        content(number as u64).make(mount);
    }
    settle();
    let lop = Lop::new();
    let roots: Vec<&Path> = mounts.iter().map(Mount::path).collect();
    let truth = naive_truth(&roots, Rules::default()).groups;
    // Scans all file systems in one run, and then one after the other.
    lop.remember(&roots);
    assert_groups(&truth, &report(&lop));
    lop.scan_figures(&roots).assert_nothing_read();
    fs::remove_file(lop.catalog()).expect("removed");
    for root in &roots {
        lop.remember([root]);
    }
    assert_groups(&truth, &report(&lop));
    for root in &roots {
        lop.scan_figures([root]).assert_nothing_read();
    }
    let volumes: i64 = lop
        .database()
        .query_row("SELECT count(*) FROM volume", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(usize::try_from(volumes), Ok(mounts.len()));
    for mount in &mounts {
        if let Some(groups) = jdupes(mount) {
            let output = lop.run([
                Path::new("scan"),
                Path::new("--no-catalog"),
                Path::new("--format"),
                Path::new("nul"),
                mount.path(),
            ]);
            assert_groups(&collapse_links(mount, &groups), &parse_nul(&output.stdout));
        }
    }
}

#[test]
fn equal_inode_numbers_on_two_file_systems_are_two_files() {
    for kind in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
        let (Some(one), Some(two)) = (mounted(kind), mounted(kind)) else { continue };
        TreeBuilder::new().file("a", "first ").file("b", "second").make(&one);
        TreeBuilder::new().file("a", "second").file("b", "third ").make(&two);
        let inode = |mount: &Mount, name: &str| {
            fs::metadata(mount.path().join(name)).expect("just made").ino()
        };
        assert_eq!(inode(&one, "a"), inode(&two, "a"), "{kind:?}");
        settle();
        let lop = Lop::new();
        let expected = groups_of([[one.path().join("b"), two.path().join("a")]]);
        for scans in [&[&one, &two][..], &[&two], &[&one]] {
            lop.remember(scans.iter().map(|mount| mount.path()));
            assert_groups(&expected, &report(&lop));
        }
        let dir = one.path().to_str().expect("UTF-8");
        assert_eq!(lop.listed(["uniques", dir], 6), [format!("{dir}/a")]);
    }
}

/// A file system is mounted again in a different place or with a different device number.
#[test]
fn a_file_system_mounted_elsewhere_is_known_again() {
    let Some(mount) = mounted(FileSystem::Ext4) else { return };
    content(0).make(&mount);
    settle();
    let lop = Lop::new();
    lop.lay(&TreeBuilder::new().dir("here").dir("there"));
    let here = Mount::bind(mount.path(), lop.path("here")).expect("bound");
    lop.remember(["here"]);
    drop(here);
    let there = Mount::bind(mount.path(), lop.path("there")).expect("bound");
    // The files are no longer in the old place, and the files in the new place have the same inodes.
    let figures = lop.scan_figures(["."]);
    figures.assert_nothing_read();
    let expected = groups_of([["there/d/own 2", "there/own 1"]]);
    assert_groups(&expected, &lop.report());
    drop(there);
    lop.remember(["."]);
    assert_groups(&Groups::new(), &lop.report());
}

#[test]
fn a_bind_mount_of_the_tree_within_the_tree_counts_once() {
    let tree = TreeBuilder::new()
        .file("a", "alike")
        .file("sub/b", "alike")
        .file("sub/alone", "single")
        .dir("mnt")
        .dir("sub/mnt");
    let lop = Lop::with(&tree);
    let whole = match Mount::bind(lop.work(), lop.path("mnt")) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    let part = Mount::bind(lop.path("sub"), lop.path("sub/mnt")).expect("bound");
    let expected = groups_of([["a", "sub/b"]]);
    let output = lop.run(["scan", "--json", "."]);
    output.success();
    let summary = document(&output)["summary"].clone();
    assert_eq!(summary["files"], 3, "{summary}");
    assert_eq!(summary["skipped"]["seen_before"], 2, "{summary}");
    assert_groups(&expected, &lop.report());
    assert_groups(
        &expected,
        &relative_to(".", &parse_nul(&lop.scan(["--format", "nul", "."]).stdout)),
    );
    lop.scan_figures(["."]).assert_nothing_read();
    assert_eq!(lop.listed(["uniques", "."], 6).len(), 3);
    drop((part, whole));
}

/// A directory that is scanned under two paths at different times counts as one set of files.
#[test]
fn one_directory_scanned_by_two_paths_in_turn_is_one() {
    let lop =
        Lop::with(&TreeBuilder::new().file("dir/a", "alike").file("dir/b", "alike").dir("mnt"));
    let bound = match Mount::bind(lop.path("dir"), lop.path("mnt")) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    lop.remember(["dir"]);
    lop.scan_figures(["mnt"]).assert_nothing_read();
    let report = lop.json(["report"]);
    let groups = report["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 1, "{report}");
    assert_eq!(groups[0]["files"].as_array().map(Vec::len), Some(2));
    assert_eq!(groups[0]["reclaimable_bytes"], disk_space(lop.path("dir/a")));
    assert!(lop.run(["file", "mnt/a"]).stdout_str().starts_with("mnt/a: 1 duplicate, "));
    assert!(lop.run(["file", "dir/a"]).stdout_str().starts_with("dir/a: 1 duplicate, "));
    drop(bound);
}

#[test]
fn a_catalog_works_on_every_file_system() {
    for kind in FileSystem::ALL {
        let Some(mount) = mounted(kind) else { continue };
        let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
        let catalog: PathBuf = mount.path().join("lop.db");
        let run = |args: &[&str]| {
            let output = lop.command().args(args).arg("--catalog").arg(&catalog).run();
            output.success();
            output
        };
        drop(run(&["scan", "."]));
        lop.add(&TreeBuilder::new().file("c", "alike"));
        drop(run(&["scan", "."]));
        let output = run(&["report", "--format", "nul"]);
        let groups = relative_to(lop.work(), &parse_nul(&output.stdout));
        assert_groups(&groups_of([["a", "b", "c"]]), &groups);
        drop(run(&["refresh"]));
        crate::lop::assert_whole(&catalog);
    }
}

/// An overlay of two file systems. The device numbers of its files differ from those of its directories.
struct Overlay(PathBuf);

impl Overlay {
    fn new(lower: &Mount, upper: &Mount, point: PathBuf) -> Result<Overlay, String> {
        let (up, work) = (upper.path().join("up"), upper.path().join("work"));
        for dir in [&up, &work, &point] {
            fs::create_dir(dir).map_err(|e| e.to_string())?;
        }
        let show = |path: &Path| path.display().to_string();
        let (lower, up, work) = (show(lower.path()), show(&up), show(&work));
        let options = format!("lowerdir={lower},upperdir={up},workdir={work},xino=off");
        let mut mount = Command::new("/bin/mount");
        mount.args(["-t", "overlay", "overlay", "-o", &options]).arg(&point);
        match mount.output() {
            Ok(output) if output.status.success() => Ok(Overlay(point)),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
            Err(e) => Err(e.to_string()),
        }
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let done = Command::new("/bin/umount").arg(&self.0).status();
        assert!(done.is_ok_and(|status| status.success()), "{} stays mounted", self.0.display());
    }
}

#[test]
fn files_of_an_overlay_are_remembered_where_they_are() {
    let (Some(lower), Some(upper)) = (mounted(FileSystem::Ext4), mounted(FileSystem::Tmpfs)) else {
        return;
    };
    content(0).file("d/e/deep", "linked").make(&lower);
    let lop = Lop::new();
    let overlay = match Overlay::new(&lower, &upper, lop.path("overlay")) {
        Ok(overlay) => overlay,
        Err(reason) => return skipped(reason),
    };
    lop.add(&TreeBuilder::new().seeded("overlay/d/above", 10, 70_000));
    let expected = groups_of([
        vec!["overlay/d/above", "overlay/d/own 2", "overlay/own 1"],
        vec!["overlay/d/e/deep", "overlay/d/l2"],
    ]);
    lop.remember(["overlay"]);
    assert_groups(&expected, &lop.report());
    lop.scan_figures(["overlay"]).assert_nothing_read();
    assert_eq!(lop.json(["validate"])["summary"]["changed"], 0);
    assert_eq!(lop.json(["refresh"])["summary"]["gone"], 0);
    // A scan of another directory compares its files with the remembered files.
    lop.add(&TreeBuilder::new().seeded("other/copy", 10, 70_000).file("other/small", "linked"));
    let summary = lop.scan_summary(["other"]);
    assert_eq!(summary["elsewhere"], 2);
    // Files of an overlay may also be files of another file system.
    assert_eq!(lop.listed(["uniques", "other"], 3).len(), 2);
    let distinct = ["--distinct", "overlay"];
    assert_eq!(lop.listed([&["uniques", "other"], &distinct[..]].concat(), 0), [""; 0]);
    assert_groups(
        &groups_of([
            vec!["other/copy", "overlay/d/above", "overlay/d/own 2", "overlay/own 1"],
            vec!["other/small", "overlay/d/e/deep", "overlay/d/l2"],
        ]),
        &lop.report_with(distinct),
    );
    lop.scan_figures(["."]).assert_nothing_read();
    drop(overlay);
    assert_groups(&Groups::new(), &lop.report());
}

#[test]
fn a_file_that_is_a_mount_point_is_a_file() {
    let lop = Lop::with(
        &TreeBuilder::new().file("a", "alike").file("point", "covered").file("b", "alike"),
    );
    let Some(mount) = mounted(FileSystem::Tmpfs) else { return };
    TreeBuilder::new().file("source", "alike").make(&mount);
    settle();
    let bound = match Mount::bind(mount.path().join("source"), lop.path("point")) {
        Ok(bound) => bound,
        Err(reason) => return skipped(reason),
    };
    lop.remember(["."]);
    assert_groups(&groups_of([["a", "b", "point"]]), &lop.report());
    lop.scan_figures(["."]).assert_nothing_read();
    assert_eq!(lop.json(["validate"])["summary"]["matching"], 3);
    drop(bound);
    assert_groups(&groups_of([["a", "b"]]), &lop.report());
    lop.remember(["."]);
    assert_groups(&groups_of([["a", "b"]]), &lop.report());
}

/// If a layer of an overlay is not on the file system of the upper layer, its files have a separate device number.
#[test]
fn an_overlay_over_another_file_system_is_as_it_was_scanned() {
    let Some(lower) = mounted(FileSystem::Ext4) else { return };
    TreeBuilder::new().file("a", "alike").file("d/b", "alike").file("d/c", "alone").make(&lower);
    let overlay = match Mount::overlay(lower.path()) {
        Ok(overlay) => overlay,
        Err(reason) => return skipped(format!("no overlay to test on: {reason}")),
    };
    // Without this wait, files created in the same clock tick would have the same times.
    settle();
    TreeBuilder::new().file("d/new", "alike").make(&overlay);
    settle();
    let lop = Lop::new();
    lop.remember([overlay.path()]);
    let names = ["a", "d/b", "d/new"].map(|name| overlay.path().join(name));
    assert_groups(&groups_of([names]), &report(&lop));
    lop.scan_figures([overlay.path()]).assert_nothing_read();
}
