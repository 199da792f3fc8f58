//! Tests for the location of staging directories.

#![expect(clippy::disallowed_methods, reason = "tests change the trees they made")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use action::plan::Kind;
use testkit::{TempTree, TreeBuilder};

use crate::world::World;

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("a/1", "one")
        .file("a/2", "one")
        .file("a/deep/er/3", "one")
        .file("b/4", "one")
}

fn allow(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("is changed");
}

/// Returns the parents of the `.lop-quarantine-UID` directories in the journal.
fn noted(world: &World) -> Vec<PathBuf> {
    let text = fs::read_to_string(world.runs.join("1.jsonl")).expect("a journal");
    let records = text.lines().map(|line| serde_json::from_str(line).unwrap_or_default());
    let stores = records.filter(|record: &serde_json::Value| record["record"] == "store");
    let above = |path: PathBuf| path.parent()?.parent().map(Path::to_path_buf);
    stores.filter_map(|record| above(record["path"].as_str()?.into())).collect()
}

#[test]
fn the_staging_directory_is_below_the_topmost_directory_that_nobody_else_may_write_to() {
    let world = World::new(&tree());
    world.apply(Kind::Quarantine);
    // The parent directory is /tmp, or the directory that TMPDIR names.
    let [store] = &noted(&world)[..] else { panic!("{:?}", noted(&world)) };
    assert!(world.tree.starts_with(store));
    let above = store.parent().expect("has a parent");
    assert!(
        fs::metadata(above).expect("exists").permissions().mode() & 0o022 != 0
            || above == Path::new("/")
    );
    assert_eq!(world.undo().expect("a run").done, 3);
}

#[test]
fn quarantined_files_are_above_their_own_directory() {
    for (kind, stores) in [(Kind::Quarantine, 2), (Kind::Delete, 1)] {
        let home = TempTree::new();
        allow(home.path(), 0o777);
        let world = World::in_home(&tree(), home);
        allow(&world.tree, 0o777);
        let outcome = world.apply(kind);
        assert_eq!(outcome.done, 3, "{outcome:?}");
        let mut noted = noted(&world);
        noted.sort();
        let expected = [world.tree.join("a"), world.tree.join("b")];
        assert_eq!(noted, expected[..stores], "{kind:?}");
        assert_eq!(world.undo().expect("a run").done, 3);
        assert_eq!(fs::read_dir(world.tree.join("b")).expect("a directory").count(), 1);
    }
}
