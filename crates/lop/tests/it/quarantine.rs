//! The disk space of files in quarantine, and `lop quarantine --dir`: a quarantine records the
//! original paths of its files, independently of the catalog.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use testkit::{
    Compare, FileSystem, Mount, NOBODY, Snapshot, TempTree, TreeBuilder, assert_same, disk_space,
    is_root, skipped,
};

use crate::lop::{Lop, document};

/// A disk with files in quarantine. The journals of the catalog have been lost.
struct Orphaned {
    lop: Lop,
    mount: Mount,
    /// The tree before the run.
    before: Snapshot,
}

impl Orphaned {
    fn new() -> Option<Orphaned> {
        let mount = Mount::new(FileSystem::Ext4, 0).map_err(skipped).ok()?;
        let tree = TreeBuilder::new()
            .file("a/1", "alike")
            .file("b/2", "alike")
            .file(&b"b/\xff\n3"[..], "alike")
            .seeded("c/x", 2, 70_000)
            .hard_links(testkit::Content::Seeded { seed: 2, len: 70_000 }, &["c/y", "d/e/z"])
            .mtime("a/1", 1_000_000_000, 0);
        tree.make(mount.path().join("tree"));
        let lop = Lop::new();
        let top = mount.path().join("tree");
        let before = Snapshot::of(&top);
        lop.remember([&top]);
        lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
        fs::remove_dir_all(lop.runs()).expect("lost");
        fs::remove_file(lop.catalog()).expect("lost");
        Some(Orphaned { lop, mount, before })
    }

    fn top(&self) -> PathBuf {
        self.mount.path().join("tree")
    }

    fn run(&self, args: &[&str], dir: &Path) -> testkit::Output {
        self.lop.command().arg("quarantine").args(args).arg("--dir").arg(dir).run()
    }

    fn store(&self) -> PathBuf {
        let name = fs::read_dir(self.mount.path()).expect("listed").flatten();
        let mut stores = name.filter(|e| e.file_name().as_encoded_bytes().starts_with(b".lop-"));
        stores.next().expect("a store").path()
    }

    fn manifest(&self) -> PathBuf {
        let run = fs::read_dir(self.store()).expect("listed").flatten().next().expect("a run");
        run.path().join("manifest.jsonl")
    }
}

#[test]
fn a_plan_predicts_the_disk_space_that_emptying_the_quarantine_frees() {
    let lop = Lop::with(&TreeBuilder::new().seeded("a", 1, 5000).seeded("b", 1, 5000));
    lop.remember(["."]);
    let plan = lop.json(["dedupe", "--by", "quarantine", "--all"]);
    let planned = &plan["summary"]["quarantined_bytes"];
    assert_eq!(planned, &disk_space(lop.path("b")));
    assert_eq!(plan["summary"]["reclaimable_bytes"], 0);
    lop.run(["dedupe", "--by", "quarantine", "--all", "--apply"]).success();
    let purged = lop.json(["quarantine", "purge", "--older-than", "0s"]);
    assert_eq!(&purged["summary"]["freed_bytes"], planned);
}

#[test]
fn every_file_can_be_restored_without_the_catalog() {
    let Some(disk) = Orphaned::new() else { return };
    let nothing = disk.lop.run(["quarantine", "list"]);
    assert_eq!(nothing.success().stderr_str(), "0 files in quarantine, 0 B on disk\n");
    // --dir accepts the quarantine itself or the directory that contains the quarantine.
    for dir in [disk.store(), disk.mount.path().to_path_buf()] {
        let listed = disk.run(&["list"], &dir);
        let said = listed.success().stderr_str();
        assert!(said.starts_with("4 files in quarantine, "), "{said}");
        let path = disk.top().join("b/2").display().to_string();
        let text = String::from_utf8_lossy(&listed.stdout);
        assert!(text.contains(&path), "{text}");
    }
    let path = disk.top().join("d").display().to_string();
    let some = disk.run(&["restore", &path, "nowhere"], disk.mount.path());
    some.code(3);
    let said = some.stderr_str();
    assert!(said.contains("nowhere: nothing in quarantine comes from there"), "{said}");
    assert!(said.contains("1 file restored\n"), "{said}");
    assert!(disk.top().join("d/e/z").exists() && !disk.top().join("c/y").exists());
    // A file whose name is taken stays in quarantine and can be restored later.
    fs::write(disk.top().join("b/2"), "new").expect("written");
    let rest = disk.run(&["restore"], disk.mount.path());
    rest.code(3);
    let said = rest.stderr_str();
    assert!(said.contains("b/2: something else has its name now"), "{said}");
    assert!(said.contains("2 files restored, 1 could not be\n"), "{said}");
    fs::remove_file(disk.top().join("b/2")).expect("removed");
    disk.run(&["restore"], disk.mount.path()).success();
    assert_same(&disk.before, &Snapshot::of(disk.top()), Compare::VISIBLE);
    assert!(!disk.manifest_is_left(), "the store is gone with its last file");
}

impl Orphaned {
    fn manifest_is_left(&self) -> bool {
        let names = fs::read_dir(self.mount.path()).expect("listed").flatten();
        names.map(|e| e.file_name()).any(|name| name.as_encoded_bytes().starts_with(b".lop-"))
    }
}

#[test]
fn a_disk_that_is_mounted_elsewhere_gets_its_files_back_there() {
    let Some(disk) = Orphaned::new() else { return };
    let other = TempTree::new();
    let Ok(view) = Mount::bind(disk.mount.path(), other.path()).map_err(skipped) else { return };
    let listed = disk.run(&["list", "--json"], view.path());
    let files = document(&listed)["files"].clone();
    let top = view.path().join("tree").display().to_string();
    for file in files.as_array().expect("files") {
        let path = file["path"].as_str().expect("a path");
        assert!(path.starts_with(&top), "{path}");
    }
    // Purging compares each file with its kept file, which moved to the new mount point as well.
    fs::write(disk.top().join("c/x"), "changed").expect("written");
    let purged = disk.run(&["purge", "--older-than", "0s"], view.path());
    purged.code(3);
    let said = purged.stderr_str();
    assert!(said.contains("2 files removed from quarantine"), "{said}");
    disk.run(&["restore"], view.path()).success();
    for (name, size) in [("c/y", 70_000), ("d/e/z", 70_000)] {
        let now = fs::metadata(view.path().join("tree").join(name)).expect("is back");
        assert_eq!((now.len(), now.nlink()), (size, 2), "{name}");
    }
    assert!(!disk.top().join("b/2").exists(), "it was purged");
}

#[test]
fn a_damaged_manifest_is_reported_and_the_rest_of_it_holds() {
    let Some(disk) = Orphaned::new() else { return };
    let text = fs::read(disk.manifest()).expect("a manifest");
    let mark = b"/b/2\"";
    let at = text.windows(mark.len()).position(|some| some == mark).expect("an intent");
    let mut changed = text.clone();
    changed[at + 1] = b'c';
    fs::write(disk.manifest(), &changed).expect("written");
    let output = disk.run(&["restore"], disk.mount.path());
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("it does not list all files beside it: 1 is unknown"), "{said}");
    assert!(said.contains("3 files restored\n"), "{said}");
    assert!(!disk.top().join("c/2").exists());
    assert!(disk.manifest().exists(), "a file is left");
    fs::write(disk.manifest(), &text).expect("written");
    disk.run(&["restore"], disk.mount.path()).success();
    assert_same(&disk.before, &Snapshot::of(disk.top()), Compare::VISIBLE);
}

#[test]
fn a_quarantine_made_by_another_user_is_not_trusted() {
    let Some(disk) = Orphaned::new() else { return };
    if !is_root() {
        return skipped("only root can create files of other users");
    }
    let before = Snapshot::of(disk.top());
    chown(disk.store(), Some(NOBODY), None).expect("given away");
    let output = disk.run(&["restore"], disk.mount.path());
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("it belongs to user"), "{said}");
    chown(disk.store(), Some(0), None).expect("taken back");
    let public = PermissionsExt::from_mode(0o666);
    fs::set_permissions(disk.manifest(), public).expect("set");
    let output = disk.run(&["restore"], disk.mount.path());
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("other users may write to it (mode 0666)"), "{said}");
    assert_same(&before, &Snapshot::of(disk.top()), Compare::ALL);
}

#[test]
fn files_are_restored_whichever_run_moved_them() {
    let tree = TreeBuilder::new().file("a/1", "alike").file("b/2", "alike");
    let lop = Lop::with(&tree.file("c/x", "other").file("d/y", "other"));
    lop.remember(["."]);
    let before = Snapshot::of(lop.work());
    for dir in ["b", "d"] {
        lop.run(["dedupe", "--by", "quarantine", "--apply", dir]).success();
    }
    let output = lop.run(["quarantine", "restore", "b"]);
    assert_eq!(output.success().stderr_str(), "1 file restored\n");
    assert!(lop.path("b/2").exists() && !lop.path("d/y").exists());
    let output = lop.run(["quarantine", "restore", "--json"]);
    assert_eq!(document(&output)["summary"]["restored"], 1);
    assert_same(&before, &Snapshot::of(lop.work()), Compare::VISIBLE);
    assert_eq!(lop.run(["quarantine", "restore"]).success().stderr_str(), "0 files restored\n");
    lop.run(["undo"]).code(1);
}
