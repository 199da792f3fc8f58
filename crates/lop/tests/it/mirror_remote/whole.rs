//! Whole trees between hosts. The trees are identical after each run, whatever was changed before.

use std::path::Path;

use proptest::prelude::{ProptestConfig, proptest};
use testkit::{
    Compare, FileSystem, Mount, Snapshot, TempTree, TreeBuilder, assert_same, is_root, random_tree,
    skipped,
};

use super::changes::changes;
use super::{BOTH, Way, alike, nothing_was_done, parts};
use crate::lop::Lop;
use crate::mirror_oracles::{add_rights, assert_alike, missing, tree};

/// After this many changes, other programs also check the trees. They take time.
const JUDGED: usize = 12;

/// The changes empty the trees here on purpose.
const DELETE: [&str; 2] = ["--delete", "--allow-empty-source"];

/// Mirrors from `home` to `other`, once by pushing and once by pulling. Repeats this after every `at_once` changes,
/// until every kind of change has been made.
fn every_change(way: &Way, (home, other): (&Path, &Path), at_once: usize, whose: &str) {
    let lop = Lop::new();
    let from = home.join("from");
    tree().make(&from);
    add_rights(&from);
    let first: [super::changes::Change; 1] = [("at first", |_| ())];
    let changes = changes();
    for (number, some) in [&first[..]].into_iter().chain(changes.chunks(at_once)).enumerate() {
        for (_, change) in some {
            change(&from);
        }
        let what: Vec<&str> = some.iter().map(|(what, _)| *what).collect();
        for direction in BOTH {
            let to = other.join(direction.name());
            let context = format!("{what:?}, {} on {whose}", direction.name());
            let done = way.json(&lop, direction, &DELETE, (&from, &to));
            let figures = [
                "files_copied",
                "linked",
                "dirs_made",
                "symlinks_made",
                "special_files_made",
                "adjusted",
                "removed",
            ];
            assert!(
                figures.iter().any(|figure| done["summary"][figure] != 0),
                "{context}: {}",
                done["summary"]
            );
            alike(&from, &to);
            if (number * at_once).is_multiple_of(JUDGED) {
                assert_alike(&from, &to);
            }
            nothing_was_done(&way.json(&lop, direction, &DELETE, (&from, &to)));
            assert!(parts(&to).is_empty(), "{context}: {:?}", parts(&to));
        }
    }
}

/// Returns why the tree with every kind of entry cannot be created or checked on this machine.
fn lacking() -> Option<String> {
    if !is_root() {
        return Some("only root can create the owners and devices of the source".into());
    }
    missing().map(|tool| format!("{tool} is not installed"))
}

#[test]
fn every_file_system_takes_every_change_from_another_host() {
    if let Some(reason) = lacking() {
        return skipped(reason);
    }
    let way = Way::shell();
    for kind in FileSystem::ALL {
        match Mount::new(kind, 330 << 20) {
            Ok(mount) => every_change(&way, (mount.path(), mount.path()), 1, kind.name()),
            Err(reason) => skipped(reason),
        }
    }
}

#[test]
fn from_one_file_system_to_another() {
    if let Some(reason) = lacking() {
        return skipped(reason);
    }
    let (one, other) =
        match (Mount::new(FileSystem::Btrfs, 0), Mount::new(FileSystem::Ext4, 200 << 20)) {
            (Ok(one), Ok(other)) => (one, other),
            (Err(reason), _) | (_, Err(reason)) => return skipped(reason),
        };
    every_change(&Way::shell(), (one.path(), other.path()), 3, "ext4 from btrfs");
}

#[test]
fn over_ssh_it_is_the_same() {
    if let Some(reason) = lacking() {
        return skipped(reason);
    }
    let Some(way) = Way::ssh() else { return };
    let place = TempTree::new();
    every_change(&way, (place.path(), place.path()), 3, "the other end of ssh");
}

#[test]
fn the_current_user_mirrors_over_ssh() {
    let Some(way) = Way::ssh() else { return };
    for direction in BOTH {
        let lop = Lop::with(&super::two());
        way.succeed(&lop, direction, &["--delete"]);
        alike(&lop.path("src"), &lop.path("dst"));
        let places = (&*lop.path("src"), &*lop.path("dst"));
        nothing_was_done(&way.json(&lop, direction, &["--delete"], places));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn any_tree_becomes_any_other_on_another_host(
        one in random_tree(40), other in random_tree(40)
    ) {
        let (lop, way) = (Lop::new(), Way::shell());
        for direction in BOTH {
            let place = TempTree::new();
            let to = place.join("to");
            for (name, tree) in [("one", &one), ("other", &other)] {
                let from = place.join(name);
                std::fs::create_dir(&from).expect("made");
                tree.make(&from);
                way.run(&lop, direction, &DELETE, (&from, &to)).run().success();
                alike(&from, &to);
                nothing_was_done(&way.json(&lop, direction, &DELETE, (&from, &to)));
            }
        }
    }
}

#[test]
fn the_catalog_of_the_host_that_is_mirrored_to_stays() {
    let lop = Lop::with(&TreeBuilder::new().file("d/a", "alike").file("d/b", "alike"));
    lop.remember(["d"]);
    lop.run(["dedupe", "--by", "delete", "--apply", "d"]).success();
    let before = Snapshot::of(lop.state());
    // A backup of the home directory, with a different catalog and different journals.
    lop.lay(
        &TreeBuilder::new()
            .file("src/state/lop/catalog.db", "old")
            .file("src/state/lop/catalog.db.runs/1.jsonl", "old")
            .file("src/state/lop/catalog.db.runs/deep/down/x", "old"),
    );
    let way = Way::shell();
    for direction in BOTH {
        for options in [&["--dry-run"][..], &[], &["--delete"]] {
            let places = (&*lop.path("src"), &*lop.home());
            let said = way.json(&lop, direction, options, places);
            let left = said["summary"]["left_out"].to_string();
            assert!(left.contains("catalog.db.runs"), "{direction:?} {options:?}: {said}");
            assert_same(&before, &Snapshot::of(lop.state()), Compare::VISIBLE);
        }
    }
    lop.run(["undo", "1"]).success();
}
