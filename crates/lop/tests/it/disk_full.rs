//! A full disk for the catalog: the old catalog stays intact, and the results are still printed.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use testkit::{
    Ending, FileSystem, Mount, Output, TreeBuilder, assert_groups, groups_of, parse_nul,
    relative_to, skipped,
};

use crate::lop::{Lop, assert_whole};

/// A small file system that holds the catalog, and a tree to scan on another file system.
struct Small {
    lop: Lop,
    mount: Mount,
}

fn few() -> TreeBuilder {
    TreeBuilder::new().file("few/a", "alike").file("few/b", "alike")
}

impl Small {
    /// Creates a file system of 1 MiB. If that is not possible, prints the reason and returns `None`.
    fn new() -> Option<Small> {
        let mount = Mount::new(FileSystem::Tmpfs, 1 << 20).map_err(skipped).ok()?;
        let mut tree = few();
        for n in 0..4000 {
            tree = tree.file(format!("lots/a file with quite a long name, number {n}"), "same");
        }
        Some(Small { lop: Lop::with(&tree), mount })
    }

    fn catalog(&self) -> PathBuf {
        self.mount.path().join("lop.db")
    }

    fn run(&self, args: &[&str]) -> Output {
        self.lop.command().args(args).arg("--catalog").arg(self.catalog()).run()
    }

    /// Fills the file system until only `but` bytes are free.
    fn fill(&self, but: usize) {
        let path = self.mount.path().join("filler");
        drop(fs::remove_file(&path));
        let mut filler = File::create(&path).expect("made");
        while filler.write_all(&[7; 4096]).is_ok() {}
        let length = filler.metadata().expect("metadata").len();
        filler.set_len(length.saturating_sub(but as u64)).expect("cut");
    }

    #[track_caller]
    fn assert_old_answers(&self) {
        let output = self.run(&["report", "--format", "nul"]);
        output.success();
        let groups = relative_to(self.lop.work(), &parse_nul(&output.stdout));
        assert_groups(&groups_of([["few/a", "few/b"]]), &groups);
    }
}

/// Asserts that the exit code is the one for a full disk, and that the message and the hint explain the problem.
#[track_caller]
fn assert_no_room(small: &Small, output: &Output) {
    output.code(1);
    let said = output.stderr_str();
    let path = small.catalog().display().to_string();
    assert!(said.contains("lop: ") && said.contains(&path), "{said}");
    assert!(said.contains("hint: its file system is full"), "{said}");
}

#[test]
fn a_scan_that_finds_no_room_prints_its_groups_and_leaves_the_old_catalog() {
    let Some(small) = Small::new() else { return };
    small.run(&["scan", "few"]).success();
    for room in [0, 40_000, 100_000, 200_000] {
        small.fill(room);
        let output = small.run(&["scan", "--format", "nul", "lots"]);
        assert_no_room(&small, &output);
        if output.stderr_str().contains("as it was before this scan") {
            let groups = parse_nul(&output.stdout);
            assert_eq!(groups.iter().flatten().count(), 4000, "{room}");
            let said = output.stderr_str();
            assert!(said.contains("Found     1 group: 3,999 redundant files"), "{said}");
        } else {
            // There is no room for the lock or the journal. lop reports this before the work starts.
            assert!(room < 40_000, "{room}: {}", output.stderr_str());
        }
        small.assert_old_answers();
    }
    fs::remove_file(small.mount.path().join("filler")).expect("removed");
    assert_whole(&small.catalog());
    small.assert_old_answers();
    small.run(&["refresh"]).success();
}

#[test]
fn a_first_scan_that_finds_no_room_leaves_no_half_catalog() {
    let Some(small) = Small::new() else { return };
    for room in [0, 20_000, 100_000] {
        small.fill(room);
        let output = small.run(&["scan", "--json", "lots"]);
        assert_no_room(&small, &output);
        crate::lop::assert_exit_record(&output, 1);
        assert!(!small.catalog().exists(), "{room}");
        let aside = small.mount.path().join("lop.db.new");
        assert!(!aside.exists(), "{room}");
    }
    fs::remove_file(small.mount.path().join("filler")).expect("removed");
    small.run(&["scan", "few"]).success();
    small.assert_old_answers();
}

#[test]
fn the_summary_is_printed_before_the_catalog_runs_out_of_room() {
    let Ok(mount) = Mount::new(FileSystem::Tmpfs, 4 << 20).map_err(skipped) else { return };
    let name = |n: u32| format!("d/a file with quite a long name, number {n}");
    let lop = Lop::with(&(0..300).fold(TreeBuilder::new(), |tree, n| tree.file(name(n), "same")));
    let small = Small { lop, mount };
    // There is always enough room for the journal, but at some point there is not enough for the catalog.
    for room in (150_000..600_000).step_by(25_000) {
        small.run(&["scan", "d"]).success();
        small.fill(room);
        let output = small.run(&["dedupe", "--by", "hardlink", "--apply", "--all"]);
        let said = output.stderr_str();
        let linked = fs::metadata(small.lop.path(name(7))).expect("is there").nlink() > 1;
        let (done, failed) = (said.find(" hard linked"), said.find("the catalog was not updated"));
        assert!(done.is_some() || !linked, "at {room}: {said}");
        if let (Some(done), Some(failed)) = (done, failed) {
            // The exit code is 1 if there is no room for the last line of the journal either.
            assert!(matches!(output.ending, testkit::Ending::Code(1 | 3)), "{output:?}");
            assert!(said.contains("'lop undo ") && done < failed, "at {room}: {said}");
            assert!(said.contains("hint: the files stay as they are now"), "{said}");
            return;
        }
        fs::remove_file(small.mount.path().join("filler")).expect("removed");
        drop(small.run(&["undo"]));
    }
    panic!("there was room for the catalog whenever there was for the journal");
}

#[test]
fn questions_are_answered_on_a_full_disk() {
    let Some(small) = Small::new() else { return };
    small.run(&["scan", "few"]).success();
    small.fill(0);
    small.assert_old_answers();
    small.run(&["file", "few/a"]).success();
    small.run(&["ls", "few"]).success();
    small.run(&["dups", "few"]).success();
    small.run(&["uniques", "few"]).code(6);
    small.run(&["validate"]).success();
    assert_no_room(&small, &small.run(&["refresh"]));
    assert_no_room(&small, &small.run(&["scan", "few"]));
    small.assert_old_answers();
}

/// Writing to a page of shared memory raises a bus error if the disk has no free block for it. On file systems with
/// blocks smaller than a page, this can happen even after the file has been created.
#[test]
fn no_room_for_a_page_kills_no_process() {
    let blocks = ["-b", "1024"];
    let mount = Mount::with_features(FileSystem::Ext4, 16 << 20, &blocks).map_err(skipped);
    let Ok(mount) = mount else { return };
    let small = Small { lop: Lop::with(&few()), mount };
    small.run(&["scan", "few"]).success();
    for room in [0, 1024, 2048, 4096, 8192, 10_240, 16_384] {
        small.fill(room);
        small.assert_old_answers();
        small.run(&["file", "few/a"]).success();
        small.run(&["ls", "few"]).success();
        let Ending::Code(_) = small.run(&["scan", "few"]).ending else { panic!("{room}") };
        let Ending::Code(_) = small.run(&["refresh"]).ending else { panic!("{room}") };
    }
    small.assert_old_answers();
}
