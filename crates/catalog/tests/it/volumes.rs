//! Which file system a remembered file is on.

use std::time::SystemTime;

use catalog::Rows;
use fsops::Volume;
use testkit::TreeBuilder;
use walk::{Device, FileId};

use crate::disk::stat;
use crate::engine::heads;
use crate::imagined::{Dir, NOWHERE, file, imagined, one};
use crate::place::Place;

/// Returns whether a file on `before` is known on `now`.
fn is_same(before: Device, now: Device) -> bool {
    let place = Place::new();
    place.learn(one(before, file(3)), SystemTime::now(), heads);
    !place.learn(one(now, file(3)), SystemTime::now(), heads).known().is_empty()
}

#[test]
fn a_file_system_under_another_device_number_is_known_by_its_fsid() {
    assert!(is_same(NOWHERE, Device { number: NOWHERE.number + 1, ..NOWHERE }));
}

#[test]
fn another_file_system_under_the_same_device_number_is_not_known() {
    let Volume { fsid, magic } = NOWHERE.volume;
    let with = |fsid, magic| Device { volume: Volume { fsid, magic }, ..NOWHERE };
    assert!(!is_same(NOWHERE, with(fsid + 1, magic)));
    assert!(!is_same(NOWHERE, with(fsid, magic + 1)));
}

#[test]
fn a_file_system_without_fsid_is_known_by_its_device_number() {
    let without = Device { volume: Volume { fsid: 0, ..NOWHERE.volume }, ..NOWHERE };
    assert!(is_same(without, without));
    assert!(!is_same(without, Device { number: without.number + 1, ..without }));
}

/// Two copies of one image: what tells them apart is where they are.
#[test]
fn file_systems_of_one_fsid_are_told_apart_by_their_device_numbers() {
    let copy = Device { number: NOWHERE.number + 1, ..NOWHERE };
    let tree = |inodes: [u64; 2]| {
        imagined(&[
            Dir { name: "a", device: NOWHERE, files: vec![("a", file(inodes[0]))] },
            Dir { name: "b", device: copy, files: vec![("b", file(inodes[1]))] },
        ])
    };
    let place = Place::new();
    place.learn(tree([3, 4]), SystemTime::now(), heads);
    assert_eq!(place.query("SELECT count(*) FROM volume"), ["2"]);
    assert_eq!(place.learn(tree([3, 4]), SystemTime::now(), heads).known(), ["a", "b"]);
}

/// Makes the catalog believe that what it remembers was on another file system.
const ELSEWHERE: &str = "UPDATE volume SET fsid = fsid + 1";

#[test]
fn files_of_a_file_system_that_is_not_there_do_not_join() {
    let tree = TreeBuilder::new().file("one/a", "alike").file("two/b", "alike").make_temp();
    for (meanwhile, joined) in [("", 1), (ELSEWHERE, 0)] {
        let place = Place::new();
        place.scan(&[&tree.join("one")]);
        place.run(meanwhile);
        assert_eq!(place.scan(&[&tree.join("two")]).added().len(), joined, "{meanwhile:?}");
    }
}

#[test]
fn loaded_files_of_a_file_system_that_is_not_there_are_not_the_live_ones() {
    let tree = TreeBuilder::new().file("a", "alike").make_temp();
    for (meanwhile, is_live) in [("", true), (ELSEWHERE, false)] {
        let place = Place::new();
        place.scan(&[tree.path()]);
        place.run(meanwhile);
        let loaded = place.catalog().load(Rows::All).expect("loads").tree;
        assert_eq!(loaded.unchanged(FileId(0), &stat(&tree.join("a"))), is_live, "{meanwhile:?}");
    }
}

#[test]
fn a_new_device_number_is_noted() {
    let place = Place::new();
    for number in [5, 6] {
        place.learn(one(Device { number, ..NOWHERE }, file(3)), SystemTime::now(), heads);
    }
    assert_eq!(place.query("SELECT device FROM volume"), ["6"]);
}
