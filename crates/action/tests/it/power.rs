//! The disk with the files loses power, while the journals are on a different disk. Each change that a run or an undo
//! reported as done is either on the disk, or can be completed by another undo.

use action::plan::Kind;
use action::run::Runs;
use fsops::faults::ChangeFault;
use testkit::snapshot::Kind as Entry;
use testkit::{Compare, FileSystem, Mount, Snapshot, assert_same, skipped};

use crate::child::{Orders, What};
use crate::world::{WHOLE, World, odd_tree, wait_for_writers};

const KINDS: [Kind; 6] =
    [Kind::Hardlink, Kind::Delete, Kind::Symlink, Kind::Quarantine, Kind::Separate, Kind::Sweep];

/// The last action of a test before the power fails.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Run,
    Undo,
}

fn sync(mount: &Mount) {
    let dir = fsops::Dir::open(mount.path()).expect("opens");
    dir.sync_file_system().expect("synced");
}

/// Mounts a file system. Returns `None` if this kind of file system is not available.
fn mounted(kind: FileSystem) -> Option<Mount> {
    // For small images, mkfs chooses a block size that is too small for the extended attributes of the tree.
    let features: &[&str] = if kind == FileSystem::Ext4 { &["-b", "4096"] } else { &[] };
    let mount = Mount::with_features(kind, 0, features).map_err(skipped).ok()?;
    sync(&mount);
    mount.fail_power().map_err(skipped).ok()?;
    Some(mount)
}

fn fails(mount: &Mount, kind: Kind, last: Last) {
    let world = World::on(&odd_tree(), mount);
    let before = world.snapshot();
    sync(mount);
    assert!(world.apply(kind).done > 0);
    if last == Last::Undo {
        sync(mount);
        // The run has just written copies.
        wait_for_writers(&world.tree);
        let undone = world.undo().expect("a run");
        assert!(undone.refused.is_empty(), "{:?}", undone.refused);
    }
    mount.fail_power().expect("it is mounted again");
    while let Some(undone) = world.undo() {
        assert!(undone.refused.is_empty(), "{kind:?}: {:?}", undone.refused);
    }
    assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
    assert_no_files(mount, kind);
    testkit::remove_tree(&world.tree).expect("removed");
}

/// Asserts that no files have reappeared. Removed directories may exist again, but must be empty.
fn assert_no_files(mount: &Mount, kind: Kind) {
    let others = Snapshot::except(mount.path(), |path| path.starts_with(b"tree"));
    let left: Vec<_> =
        others.entries.iter().filter(|(_, entry)| entry.kind != Entry::Dir).collect();
    assert!(left.is_empty(), "{kind:?}: {left:?}");
}

#[test]
fn restored_files_are_on_the_disk_before_the_journal_records_them() {
    for file_system in [FileSystem::Ext4, FileSystem::Xfs] {
        let Some(mount) = mounted(file_system) else { continue };
        for kind in KINDS {
            fails(&mount, kind, Last::Undo);
        }
    }
}

#[test]
fn a_run_that_never_reached_the_disk_can_be_undone() {
    for file_system in [FileSystem::Ext4, FileSystem::Xfs] {
        let Some(mount) = mounted(file_system) else { continue };
        for kind in KINDS {
            fails(&mount, kind, Last::Run);
        }
    }
}

#[test]
fn purged_files_do_not_return() {
    let Some(mount) = mounted(FileSystem::Ext4) else { return };
    for kind in [Kind::Quarantine, Kind::Sweep] {
        let world = World::on(&odd_tree(), &mount);
        let done = world.apply(kind).done;
        sync(&mount);
        let purged = crate::sweep::purge(&world);
        assert_eq!(purged.done, done, "{purged:?}");
        mount.fail_power().expect("it is mounted again");
        assert_no_files(&mount, kind);
        testkit::remove_tree(&world.tree).expect("removed");
    }
}

#[test]
fn a_run_interrupted_by_a_power_failure_can_be_undone_whatever_reached_the_disk() {
    let Some(mount) = mounted(FileSystem::Ext4) else { return };
    for kind in KINDS {
        for synced_at in (3..).step_by(7) {
            let world = World::on(&odd_tree(), &mount);
            let before = world.snapshot();
            sync(&mount);
            // The journal is complete, but the disk only contains the changes before `synced_at`.
            let mut orders = Orders::of(&world, What::Apply(kind));
            orders.synced_at = Some(synced_at);
            let ended = orders.carry_out(synced_at + 12, ChangeFault::Kill);
            mount.fail_power().expect("it is mounted again");
            // Even without an undo, no files are left in a staging directory.
            drop(Runs::open(&world.runs, |_| {}).expect("opens"));
            if !kind.fills_quarantine() {
                assert_no_files(&mount, kind);
            }
            while let Some(undone) = world.undo() {
                let account = &ended.account;
                assert!(undone.refused.is_empty(), "{kind:?} {synced_at}: {undone:?} {account}");
            }
            assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
            assert_no_files(&mount, kind);
            testkit::remove_tree(&world.tree).expect("removed");
            if !ended.killed {
                break;
            }
        }
    }
}

#[test]
fn a_manifest_lists_every_file_beside_it_after_a_power_failure() {
    for file_system in [FileSystem::Ext4, FileSystem::Xfs] {
        let Some(mount) = mounted(file_system) else { continue };
        for kind in [Kind::Quarantine, Kind::Sweep] {
            let world = World::on(&odd_tree(), &mount);
            let before = world.snapshot();
            sync(&mount);
            assert!(world.apply(kind).done > 0);
            mount.fail_power().expect("it is mounted again");
            testkit::remove_tree(&world.runs).expect("the journals are lost");
            let top = mount.path().canonicalize().expect("a mount");
            let unreadable = |error| panic!("{error}");
            let shelf = action::quarantine::Quarantine::open(
                top.as_os_str().as_encoded_bytes(),
                unreadable,
            );
            let (restored, ended) =
                shelf.expect("opens").restore(&[], &runtime::Progress::default()).expect("begins");
            ended.expect("ends");
            assert!(restored.refused.is_empty(), "{:?}", restored.refused);
            assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
            assert_no_files(&mount, kind);
            testkit::remove_tree(&world.tree).expect("removed");
        }
    }
}
