//! `--reuse`: the catalogs of both sides avoid copies, and the trees still become identical.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::{TreeBuilder, is_root, skipped};

use super::changes::{Change, changes};
use super::{BOTH, Direction, Way, alike, nothing_was_done, parts};
use crate::lop::{Lop, document, settle};
use crate::mirror_oracles::{add_rights, assert_alike, missing, tree};

const SIZE: u64 = 300_000;

/// Mirrors with the catalogs of both trees, locally or with a remote host. Returns the summary.
#[track_caller]
fn mirrored(lop: &Lop, way: Option<Direction>) -> Value {
    let places = (&*lop.path("src"), &*lop.path("dst"));
    let args = ["--delete", "--reuse", "--allow-empty-source"];
    let document = if let Some(direction) = way {
        Way::shell().json(lop, direction, &args, places)
    } else {
        let mirror = lop.command().args(["mirror", "--json"]).args(args);
        let output = mirror.args(["src", "dst"]).run();
        output.success();
        document(&output)
    };
    alike(places.0, places.1);
    assert!(parts(places.1).is_empty());
    document["summary"].clone()
}

fn ways() -> [Option<Direction>; 3] {
    [None, Some(BOTH[0]), Some(BOTH[1])]
}

#[test]
fn a_directory_that_was_renamed_is_not_copied() {
    for way in ways() {
        let mut tree = TreeBuilder::new().file("src/small", "s");
        for i in 0..20 {
            tree = tree.seeded(format!("src/photos/{}/{i}", i % 3), i, SIZE);
        }
        let lop = Lop::with(&tree);
        lop.run(["mirror", "src", "dst"]).success();
        settle();
        lop.remember(["dst"]);
        fs::rename(lop.path("src/photos"), lop.path("src/pictures")).expect("renamed");
        let summary = mirrored(&lop, way);
        assert_eq!((&summary["files_copied"], &summary["files_reused"]), (&0.into(), &20.into()));
        assert_eq!(summary["bytes_reused"], 20 * SIZE);
        nothing_was_done(&serde_json::json!({ "summary": mirrored(&lop, way) }));
    }
}

#[test]
fn content_that_the_source_has_twice_is_sent_once() {
    for direction in BOTH {
        let mut tree = TreeBuilder::new();
        for i in 0..12 {
            tree = tree.seeded(format!("src/{}/{i}", i % 4), i % 3, SIZE);
        }
        let lop = Lop::with(&tree);
        lop.remember(["src"]);
        let summary = mirrored(&lop, Some(direction));
        assert_eq!((&summary["files_copied"], &summary["files_reused"]), (&3.into(), &9.into()));
        // Adds one more file to the source only.
        lop.add(&TreeBuilder::new().seeded("src/copy", 2, SIZE));
        lop.remember(["src"]);
        let summary = mirrored(&lop, Some(direction));
        assert_eq!((&summary["files_copied"], &summary["files_reused"]), (&0.into(), &1.into()));
    }
}

/// The catalog is not trusted: here, everything in it is wrong.
#[test]
fn files_changed_since_the_scan_are_copied() {
    for way in ways() {
        let (mut tree, mut other) = (TreeBuilder::new(), TreeBuilder::new());
        for i in 0..8 {
            let (old, new) = (format!("dst/old/{i}"), format!("src/new/{i}"));
            tree = tree.seeded(&old, i, SIZE).mtime(&old, 5, 5);
            other = other.seeded(&old, 90 + i, SIZE).mtime(&old, 5, 5);
            other = other.seeded(&new, i, SIZE).mtime(&new, 5, 5);
        }
        let lop = Lop::with(&tree);
        lop.remember(["dst"]);
        fs::remove_dir_all(lop.path("dst/old")).expect("removed");
        lop.lay(&other);
        let summary = mirrored(&lop, way);
        assert_eq!((&summary["files_copied"], &summary["files_reused"]), (&8.into(), &0.into()));
    }
}

#[test]
fn every_change_is_mirrored_whatever_is_known() {
    if !is_root() {
        return skipped("only root can create the owners and devices of the source");
    }
    if let Some(tool) = missing() {
        return skipped(format!("{tool} is not installed"));
    }
    let mut reused = 0;
    for way in ways() {
        let lop = Lop::new();
        let (from, to) = (lop.path("src"), lop.path("dst"));
        let many = (0..5).map(|i| format!("many/{i}"));
        many.fold(tree(), |tree, path| tree.seeded(path, 1, SIZE)).make(&from);
        add_rights(&from);
        lop.run(["mirror", "src", "dst"]).success();
        let rename: Change = ("many files renamed", |root| {
            fs::rename(root.join("many"), root.join("renamed")).expect("renamed");
        });
        let mut changes = changes();
        changes.insert(0, rename);
        for some in changes.chunks(3) {
            lop.remember(["src", "dst"]);
            for (_, change) in some {
                change(&from);
            }
            reused += mirrored(&lop, way)["files_reused"].as_u64().expect("a number");
            assert_alike(&from, &to);
        }
    }
    assert!(reused > 2, "{reused}");
}

#[test]
fn without_a_catalog_there_is_nothing_to_reuse() {
    let lop = Lop::with(&TreeBuilder::new().seeded("src/a", 1, SIZE).dir("dst"));
    for way in ways() {
        drop(fs::remove_dir_all(lop.path("dst")));
        assert_eq!(mirrored(&lop, way)["files_copied"], 1);
    }
    let catalog = lop.catalog();
    fs::create_dir_all(catalog.parent().unwrap_or(Path::new("/"))).expect("made");
    fs::write(catalog, "no database").expect("written");
    for way in ways() {
        drop(fs::remove_dir_all(lop.path("dst")));
        assert_eq!(mirrored(&lop, way)["files_copied"], 1);
    }
}
