//! Files that a scan skips because of a filter or because their disk is not mounted. They stay in
//! the catalog.

use std::fs;
use std::path::Path;

use testkit::{FileSystem, Mount, Output, TreeBuilder, assert_groups, parse_nul, skipped};

use crate::lop::{Lop, document, settle};

/// Returns a tree of pairs that differ in the property that a filter tests: size, name, directory, or a leading dot.
fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("small 1.txt", 1, 20_000)
        .seeded("small 2.txt", 1, 20_000)
        .seeded("large 1", 2, 300_000)
        .seeded("large 2", 2, 300_000)
        .seeded("home/a/deep.jpg", 3, 30_000)
        .seeded("home/b.jpg", 3, 30_000)
        .seeded(".hidden", 4, 40_000)
        .seeded(".config/hidden", 4, 40_000)
        .file("empty 1", "")
        .file("empty 2", "")
}

fn scanned() -> Lop {
    let lop = Lop::with(&tree());
    lop.remember(["--empty", "."]);
    lop
}

/// Options that each skip some files.
const FILTERS: [&[&str]; 9] = [
    &["--min-size", "250k", "."],
    &["--max-size", "25k", "."],
    &["--include", "*.txt", "."],
    &["--exclude", "home/", "."],
    &["--exclude", "*.jpg", "."],
    &["--exclude", "/home/a/deep.jpg", "."],
    &["--no-hidden", "."],
    &["."],
    &["home/b.jpg", "small 1.txt"],
];

fn remembered(lop: &Lop) -> u64 {
    let sql = "SELECT count(*) FROM file";
    let count: i64 = lop.database().query_row(sql, [], |row| row.get(0)).expect("a count");
    count.cast_unsigned()
}

#[test]
fn filtered_files_are_not_read_again_by_the_next_scan() {
    for filter in FILTERS {
        for io in ["cached", "hdd"] {
            let lop = scanned();
            let before = lop.report();
            lop.remember(filter.iter().copied().chain(["--io", io]));
            assert_eq!(remembered(&lop), 10, "{filter:?}");
            assert_groups(&before, &lop.report());
            lop.scan_figures(["--empty", "."]).assert_nothing_read();
            assert_groups(&before, &lop.report());
        }
    }
}

#[test]
fn a_list_of_some_files_forgets_no_others() {
    let lop = scanned();
    lop.command().args(["scan", "--files-from", "-"]).stdin("home/b.jpg\n").run().success();
    assert_eq!(remembered(&lop), 10);
    lop.scan_figures(["--empty", "."]).assert_nothing_read();
}

#[test]
fn missing_files_are_forgotten_by_a_filtered_scan() {
    for (filter, gone) in [
        (&["--min-size", "250k", "."][..], "small 1.txt"),
        (&["--max-size", "25k", "."], "large 1"),
        (&["--include", "*.txt", "."], "home/b.jpg"),
        (&["--exclude", "*.jpg", "."], "home/b.jpg"),
        (&["--exclude", "deep.jpg", "."], "home/a"),
        (&["--no-hidden", "."], ".config"),
        (&["."], "empty 1"),
    ] {
        let lop = scanned();
        let path = lop.path(gone);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
            .expect("removed");
        lop.remember(filter);
        assert_eq!(remembered(&lop), 9, "{filter:?}");
        lop.assert_whole_catalog();
    }
}

/// A file that is skipped only because of its size was still examined, so the catalog entry for its old content is
/// useless.
#[test]
fn a_changed_file_skipped_only_for_its_size_is_forgotten() {
    let lop = scanned();
    fs::write(lop.path("small 1.txt"), "").expect("written");
    fs::write(lop.path("large 1"), "short").expect("written");
    lop.remember(["--min-size", "10k", "."]);
    assert_eq!(remembered(&lop), 8);
    lop.remember(["."]);
    assert_eq!(remembered(&lop), 9);
}

#[test]
fn unexamined_files_stay_in_the_catalog() {
    let lop = scanned();
    lop.remember(["-x", "."]);
    assert_eq!(remembered(&lop), 10);
    let Ok(other) = Mount::new(FileSystem::Tmpfs, 1 << 20).map_err(skipped) else { return };
    let over = Mount::bind(&other, lop.path("home")).expect("mounted");
    for options in [&["-x", "."][..], &["."]] {
        lop.remember(options);
        assert_eq!(remembered(&lop), 10, "{options:?}");
    }
    drop(over);
    lop.scan_figures(["--empty", "."]).assert_nothing_read();
}

/// The program, and a disk that was scanned.
struct Disk {
    lop: Lop,
    mount: Mount,
}

impl Disk {
    /// Creates a disk with two pairs. One of the pairs also exists in the home directory.
    fn scanned(kind: FileSystem) -> Option<Disk> {
        let mount = Mount::new(kind, 16 << 20).map_err(skipped).ok()?;
        let disk = TreeBuilder::new().seeded("a", 1, 20_000).seeded("sub/b", 1, 20_000);
        disk.seeded("sub/c", 2, 30_000).seeded("sub/deep/d", 2, 30_000).make(&mount);
        let lop = Lop::with(&TreeBuilder::new().seeded("home", 1, 20_000));
        settle();
        lop.remember([mount.path(), &lop.work()]);
        Some(Disk { lop, mount })
    }

    fn run(&self, args: &[&str]) -> Output {
        self.lop.command().args(args).run()
    }

    /// Asserts that the catalog still has all entries for the disk, so that a scan reads none of the files.
    #[track_caller]
    fn assert_kept(&self) {
        // Excludes the image file, which is beside the mount point.
        let sql = "SELECT count(*) FROM file WHERE size < 100000";
        let count = self.lop.database().query_row(sql, [], |row| row.get::<_, i64>(0));
        assert_eq!(count, Ok(5));
        self.lop.scan_figures([self.mount.path(), &self.lop.work()]).assert_nothing_read();
        let groups = parse_nul(&self.run(&["report", "--format", "nul"]).success().stdout);
        let pair = ["sub/c", "sub/deep/d"].map(|name| self.mount.path().join(name));
        let pair = pair.map(|path| path.into_os_string().into_encoded_bytes());
        assert!(groups.contains(&pair.into()), "{groups:?}");
    }
}

#[test]
fn files_of_a_disk_that_is_not_mounted_are_kept_by_refresh() {
    for kind in [FileSystem::Ext4, FileSystem::Btrfs] {
        let Some(disk) = Disk::scanned(kind) else { return };
        let away = disk.mount.away().expect("unmounted");
        for _ in 0..2 {
            let output = disk.run(&["refresh"]);
            output.success();
            let said = "5 files checked, 0 gone and forgotten, 4 on a disk that is not mounted\n";
            assert_eq!(output.stdout_str(), said);
        }
        assert_eq!(document(&disk.run(&["refresh", "--json"]))["summary"]["offline"], 4);
        drop(away);
        disk.assert_kept();
        assert_eq!(document(&disk.run(&["refresh", "--json"]))["summary"]["offline"], 0);
    }
}

#[test]
fn a_scan_of_an_empty_mount_point_keeps_what_was_mounted_there() {
    let Some(disk) = Disk::scanned(FileSystem::Ext4) else { return };
    let away = disk.mount.away().expect("unmounted");
    let above = disk.mount.path().parent().expect("a directory").display().to_string();
    let point = disk.mount.path().display().to_string();
    for root in [&point, &above] {
        let output = disk.run(&["scan", root]);
        output.success();
        let line = "Offline   4 remembered files, on a disk that is not mounted\n";
        assert!(output.stdout_str().contains(line), "{}", output.stdout_str());
        assert_eq!(document(&disk.run(&["scan", "--json", root]))["summary"]["offline"], 4);
    }
    assert_eq!(document(&disk.run(&["scan", "--json", "."]))["summary"]["offline"], 0);
    drop(away);
    disk.assert_kept();
}

#[test]
fn files_that_are_gone_from_a_mounted_disk_are_forgotten() {
    let Some(disk) = Disk::scanned(FileSystem::Ext4) else { return };
    fs::remove_dir_all(disk.mount.path().join("sub")).expect("removed");
    let output = disk.run(&["refresh", "--json"]);
    let summary = &document(&output)["summary"];
    assert_eq!((&summary["gone"], &summary["offline"]), (&3.into(), &0.into()));
}

#[test]
fn a_disk_mounted_elsewhere_is_not_read_again() {
    let Some(disk) = Disk::scanned(FileSystem::Ext4) else { return };
    let image = disk.mount.path().with_file_name("image");
    let away = disk.mount.away().expect("unmounted");
    let other = disk.lop.path("other");
    fs::create_dir(&other).expect("made");
    let Ok(mount) = Mount::image(&image, &other).map_err(skipped) else { return };
    disk.lop.scan_figures([&other]).assert_nothing_read();
    drop(mount);
    drop(away);
}

#[test]
fn questions_call_files_of_a_disk_that_is_not_mounted_offline() {
    let Some(disk) = Disk::scanned(FileSystem::Ext4) else { return };
    let away = disk.mount.away().expect("unmounted");
    let on_disk = |name: &str| disk.mount.path().join(name).display().to_string();
    let output = disk.run(&["file", "home"]);
    for name in ["a", "sub/b"] {
        let line = format!("  {}  (offline)\n", on_disk(name));
        assert!(output.stdout_str().contains(&line), "{}", output.stdout_str());
    }
    // A new file with the same name as one of these files makes no difference.
    fs::write(disk.mount.path().join("a"), "at the mount point").expect("written");
    let output = disk.run(&["file", "home"]);
    assert!(output.stdout_str().contains(&format!("{}  (offline)\n", on_disk("a"))));
    fs::remove_file(disk.mount.path().join("a")).expect("removed");
    assert_eq!(document(&disk.run(&["validate", "--json"]))["summary"]["offline"], 4);
    // A file on an unmounted disk does not count as unknown, but lop mentions it.
    let line = "4 files are on a disk that is not mounted\n";
    for command in [&["report"][..], &["dedupe", "--by", "hardlink"], &["report", "--dirs"]] {
        let output = disk.run(command);
        let said = output.success().stderr_str();
        assert!(said.contains(line), "{command:?}: {said}");
    }
    assert_eq!(document(&disk.run(&["report", "--json"]))["summary"]["offline"], 4);
    let output = disk.run(&["uniques", "."]);
    output.code(6);
    let line = "home  (a copy is on a disk that is not mounted)\n";
    assert!(output.stdout_str().contains(line), "{}", output.stdout_str());
    drop(away);
    let output = disk.run(&["file", "home"]);
    assert!(!output.stdout_str().contains("offline"), "{}", output.stdout_str());
}

/// Files on a tmpfs are lost when the tmpfs is unmounted.
#[test]
fn files_on_an_unmounted_tmpfs_are_forgotten() {
    let Ok(mount) = Mount::new(FileSystem::Tmpfs, 1 << 20).map_err(skipped) else { return };
    TreeBuilder::new().file("x", "alike").make(&mount);
    let lop = Lop::with(&TreeBuilder::new().file("y", "alike"));
    lop.remember([mount.path(), Path::new(".")]);
    drop(mount);
    let summary = document(&lop.run(["refresh", "--json"]))["summary"].clone();
    assert_eq!((&summary["gone"], &summary["offline"]), (&1.into(), &0.into()));
}
