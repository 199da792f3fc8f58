//! Recognizing the file system of a remembered file.

use std::fs;
use std::time::SystemTime;

use catalog::Rows;
use fsops::Volume;
use testkit::TreeBuilder;
use walk::{Device, FileId};

use crate::disk::{ids, stat};
use crate::engine::heads;
use crate::sandbox::Sandbox;
use crate::synthetic::{Dir, NOWHERE, file, one, synthetic_tree};

/// Returns whether a file that was scanned on device `before` is known on device `now`.
fn is_same(before: Device, now: Device) -> bool {
    let sandbox = Sandbox::new();
    sandbox.learn(one(before, file(3)), SystemTime::now(), heads);
    !sandbox.learn(one(now, file(3)), SystemTime::now(), heads).known().is_empty()
}

#[test]
fn a_file_system_with_a_new_device_number_is_recognized_by_its_fsid() {
    assert!(is_same(NOWHERE, Device { number: NOWHERE.number + 1, ..NOWHERE }));
}

#[test]
fn another_file_system_with_the_same_device_number_is_not_known() {
    let Volume { fsid, magic } = NOWHERE.volume;
    let with = |fsid, magic| Device { volume: Volume { fsid, magic }, ..NOWHERE };
    assert!(!is_same(NOWHERE, with(fsid + 1, magic)));
    assert!(!is_same(NOWHERE, with(fsid, magic + 1)));
}

#[test]
fn a_file_system_without_fsid_is_recognized_by_its_device_number() {
    let without = Device { volume: Volume { fsid: 0, ..NOWHERE.volume }, ..NOWHERE };
    assert!(is_same(without, without));
    assert!(!is_same(without, Device { number: without.number + 1, ..without }));
}

/// Two copies of one image can be distinguished only by their device numbers.
#[test]
fn file_systems_with_one_fsid_are_distinguished_by_device_number() {
    let copy = Device { number: NOWHERE.number + 1, ..NOWHERE };
    let tree = |inodes: [u64; 2]| {
        synthetic_tree(&[
            Dir { name: "a", device: NOWHERE, files: vec![("a", file(inodes[0]))] },
            Dir { name: "b", device: copy, files: vec![("b", file(inodes[1]))] },
        ])
    };
    let sandbox = Sandbox::new();
    sandbox.learn(tree([3, 4]), SystemTime::now(), heads);
    assert_eq!(sandbox.query("SELECT count(*) FROM volume"), ["2"]);
    assert_eq!(sandbox.learn(tree([3, 4]), SystemTime::now(), heads).known(), ["a", "b"]);
}

/// Changes the catalog as if its files had been scanned on another file system.
const ELSEWHERE: &str = "UPDATE volume SET fsid = fsid + 1";

#[test]
fn files_of_an_unmounted_file_system_are_not_added() {
    let tree = TreeBuilder::new().file("one/a", "alike").file("two/b", "alike").make_temp();
    for (meanwhile, joined) in [("", 1), (ELSEWHERE, 0)] {
        let sandbox = Sandbox::new();
        sandbox.scan(&[&tree.join("one")]);
        sandbox.run(meanwhile);
        assert_eq!(sandbox.scan(&[&tree.join("two")]).added().len(), joined, "{meanwhile:?}");
    }
}

#[test]
fn loaded_files_of_an_unmounted_file_system_do_not_match_live_files() {
    let tree = TreeBuilder::new().file("a", "alike").make_temp();
    for (meanwhile, is_live) in [("", true), (ELSEWHERE, false)] {
        let sandbox = Sandbox::new();
        sandbox.scan(&[tree.path()]);
        sandbox.run(meanwhile);
        let loaded = sandbox.catalog().load(Rows::All).expect("loads").tree;
        assert_eq!(loaded.unchanged(FileId(0), &stat(&tree.join("a"))), is_live, "{meanwhile:?}");
    }
}

#[test]
fn a_new_device_number_is_stored() {
    let sandbox = Sandbox::new();
    for number in [5, 6] {
        sandbox.learn(one(Device { number, ..NOWHERE }, file(3)), SystemTime::now(), heads);
    }
    assert_eq!(sandbox.query("SELECT device FROM volume"), ["6"]);
}

#[test]
fn files_of_an_unmounted_file_system_are_not_forgotten() {
    let tree = TreeBuilder::new()
        .file("x/a", "alike")
        .file("x/b", "alike")
        .file("x/gone/c", "alike")
        .file("x/gone/below/d", "alike");
    for (meanwhile, kept) in [("", "1"), (ELSEWHERE, "4")] {
        let (sandbox, tree) = (Sandbox::new(), tree.make_temp());
        sandbox.scan(&[&tree.join("x")]);
        sandbox.run(meanwhile);
        fs::remove_file(tree.join("x/a")).expect("removed");
        fs::remove_dir_all(tree.join("x/gone")).expect("removed");
        for _ in 0..2 {
            sandbox.scan(&[&tree.join("x")]);
            assert_eq!(sandbox.query("SELECT count(*) FROM file"), [kept], "{meanwhile:?}");
        }
        let loaded = sandbox.catalog().load(Rows::All).expect("loads").tree;
        let offline = ids(&loaded).filter(|&file| loaded.is_offline(file)).count();
        // `x/b` exists on the current file system too, so its row was replaced.
        assert_eq!(offline.to_string(), if kept == "1" { "0" } else { "3" });
    }
}

/// If a directory is gone, its offline files are kept. Files on the file system that is now at the
/// directory's path are forgotten.
#[test]
fn a_directory_that_is_gone_keeps_only_its_offline_files() {
    let tree =
        TreeBuilder::new().file("x/d/a", "alike").file("x/d/b", "alike").file("x/e/c", "alike");
    let (sandbox, tree) = (Sandbox::new(), tree.make_temp());
    sandbox.scan(&[&tree.join("x")]);
    sandbox.run(
        "INSERT INTO volume (id, magic, fsid, device) SELECT 9, magic, fsid + 1, 9 FROM volume;
         UPDATE file SET volume = 9 WHERE name = CAST('b' AS BLOB)",
    );
    for dir in ["x/d", "x/e"] {
        fs::remove_dir_all(tree.join(dir)).expect("removed");
    }
    sandbox.scan(&[&tree.join("x")]);
    assert_eq!(sandbox.query("SELECT CAST(name AS TEXT) FROM file"), ["b"]);
    assert_eq!(sandbox.query("SELECT count(*) FROM dir WHERE name = CAST('d' AS BLOB)"), ["1"]);
    assert_eq!(sandbox.query("SELECT count(*) FROM dir WHERE name = CAST('e' AS BLOB)"), ["0"]);
}
