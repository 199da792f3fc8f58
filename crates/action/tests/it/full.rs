//! Actions on a full disk. There is no room for a staging directory, so files are moved to temporary names in their own
//! directories.

#![expect(clippy::disallowed_methods, reason = "tests fill the disks they made")]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;

use action::Reason;
use action::plan::Kind;
use fsops::faults::ChangeFault;
use testkit::{Compare, FileSystem, Mount, TreeBuilder, assert_same, skipped};

use crate::child::{Orders, What};
use crate::crash::contents_are_there;
use crate::world::{WHOLE, World, odd_tree};

const FREEING: [Kind; 3] = [Kind::Delete, Kind::Hardlink, Kind::Symlink];

/// Creates a file that takes up all free space.
fn fill(mount: &Mount) -> std::path::PathBuf {
    let path = mount.path().join("full");
    let mut file = fs::File::create(&path).expect("is made");
    let mut size = 1 << 20;
    while size > 0 {
        if file.write_all(&vec![7; size]).and_then(|()| file.sync_all()).is_err() {
            size /= 2;
        }
    }
    path
}

fn tree() -> TreeBuilder {
    (0..30).fold(TreeBuilder::new(), |tree, i| {
        tree.seeded(format!("a/{i}"), i, 20_000).seeded(format!("b/{i}"), i, 20_000)
    })
}

/// Returns a full disk with a tree, and the path of the file that fills the disk.
fn full_disk(tree: &TreeBuilder) -> Option<(Mount, World, std::path::PathBuf)> {
    let mount = Mount::with_features(FileSystem::Ext4, 16 << 20, &["-m", "0"]);
    let mount = mount.map_err(skipped).ok()?;
    let world = World::on(tree, &mount);
    let fill = fill(&mount);
    assert!(fs::create_dir(mount.path().join("one more")).is_err(), "the disk is full");
    Some((mount, world, fill))
}

#[test]
fn kinds_that_free_space_work_on_a_full_disk() {
    for kind in FREEING {
        let Some((mount, world, fill)) = full_disk(&tree()) else { return };
        let before = world.snapshot();
        let outcome = world.apply(kind);
        assert!(outcome.refused.is_empty(), "{kind:?}: {outcome:?}");
        assert_eq!(outcome.done, 30);
        fs::create_dir(mount.path().join("one more")).expect("there is room now");
        assert_eq!(fs::read_dir(world.tree.join("a")).expect("a directory").count(), 30);
        let left = fs::read_dir(world.tree.join("b")).expect("a directory").count();
        assert_eq!(left, if kind == Kind::Delete { 0 } else { 30 });
        fs::remove_file(fill).expect("is removed");
        let undone = world.undo().expect("a run");
        assert!(undone.refused.is_empty(), "{kind:?}: {undone:?}");
        assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
    }
}

#[test]
fn kinds_that_free_no_space_report_a_full_disk() {
    let Some((_mount, world, _fill)) = full_disk(&tree()) else { return };
    let before = world.snapshot();
    let outcome = world.apply(Kind::Quarantine);
    assert_eq!((outcome.done, outcome.refused.len()), (0, 30));
    for refusal in &outcome.refused {
        assert!(matches!(&refusal.reason, Reason::Staging { .. }), "{refusal:?}");
        assert!(refusal.reason.is_full());
    }
    assert_same(&before, &world.snapshot(), Compare::ALL);
}

#[test]
fn names_beside_files_are_not_used_where_others_may_change_names() {
    let Some((_mount, world, _fill)) = full_disk(&tree()) else { return };
    fs::set_permissions(world.tree.join("b"), PermissionsExt::from_mode(0o775)).expect("is set");
    let before = world.snapshot();
    let outcome = world.apply(Kind::Delete);
    assert_eq!((outcome.done, outcome.refused.len()), (0, 30));
    assert_same(&before, &world.snapshot(), Compare::ALL);
}

#[test]
fn a_run_without_room_may_be_killed_anywhere() {
    for kind in [Kind::Delete, Kind::Hardlink] {
        for number in 0.. {
            let world = World::new(&odd_tree());
            let before = world.snapshot();
            let mut orders = Orders::of(&world, What::Apply(kind));
            orders.is_full = true;
            let ended = orders.carry_out(number, ChangeFault::Kill);
            contents_are_there(&world, &before, &ended.account);
            while world.undo().is_some_and(|undone| undone.done > 0) {}
            // No temporary names are left in the directories of the files.
            assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
            if !ended.killed {
                assert!(number > 25, "{}", ended.account);
                assert!(ended.account.contains("done 7 []"), "{}", ended.account);
                break;
            }
        }
    }
}
