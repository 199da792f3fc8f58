//! Tests in which a run is killed and other programs then change files. A later undo restores only files that the run
//! removed.

#![expect(clippy::disallowed_methods, reason = "somebody changes a test's own tree")]

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use action::plan::{Group, Kind, Target, Version};
use action::run::Runs;
use fsops::faults::{ChangeFault, before_change, was_called};
use testkit::{TreeBuilder, skipped};

use crate::child::{What, run};
use crate::meddling::overwrite;
use crate::world::{World, apply_groups};

const SAME: &str = "equal in both\n";
const EDITED: &str = "EQUAL in both\n";

fn text(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.tree.join(name)).ok()
}

#[test]
fn a_kept_file_edited_after_a_kill_does_not_restore_the_removed_one() {
    for kind in [Kind::Delete, Kind::Symlink, Kind::Hardlink] {
        for number in 0.. {
            let world = World::new(&TreeBuilder::new().file("a", SAME).file("b", SAME));
            let ended = run(&world.folder(), What::Apply(kind), number, ChangeFault::Kill);
            overwrite(&world.tree.join("a"), EDITED.as_bytes()).expect("edited");
            let was = text(&world, "b");
            let undone = world.undo();
            let now = text(&world, "b");
            // If `b` is a link to the kept file, reading it returns the edited text, but the file does not count as
            // restored.
            let is_link =
                was.as_deref() == Some(EDITED) && undone.as_ref().is_none_or(|it| it.done == 0);
            let account = format!("{kind:?} killed at {number}: {was:?}, {now:?}, {undone:?}");
            assert!(now.as_deref() != Some(EDITED) || is_link, "{account}");
            if !ended.killed {
                break;
            }
        }
    }
}

/// Calls `act`, but panics before change `number` to simulate a kill. Returns whether that change was reached.
pub(crate) fn cut_off_at(number: u64, act: impl FnOnce()) -> bool {
    before_change(number, || resume_unwind(Box::new(())));
    let ended = catch_unwind(AssertUnwindSafe(act));
    was_called();
    ended.is_err()
}

/// The caller wrongly claims that two files are identical. The run is killed, and then the owner renames one of the
/// files.
#[test]
fn files_that_the_run_did_not_compare_are_not_restored() {
    for kind in [Kind::Delete, Kind::Hardlink, Kind::Symlink] {
        for number in 0.. {
            let tree = TreeBuilder::new().file("a", "one content..\n").file("b", "other content\n");
            let world = World::new(&tree);
            let target = |name: &str| {
                let path = world.tree.join(name);
                let version = Version::from(&fsops::Stat::of_path(&path).expect("exists"));
                Target { path: path.as_os_str().as_bytes().to_vec(), version, tag: 0 }
            };
            let group = Group { keep: target("a"), others: vec![target("b")], digest: None };
            let was_cut = cut_off_at(number, || {
                let runs = Runs::open(&world.runs, |_| {}).expect("opens");
                drop(apply_groups(&runs, kind, vec![group], 1));
            });
            fs::rename(world.tree.join("b"), world.tree.join("mine")).expect("renamed");
            let undone = world.undo();
            let account = format!("{kind:?} cut at {number}: {undone:?}");
            assert_eq!(text(&world, "b"), None, "{account}");
            assert!(undone.is_none_or(|undone| undone.done == 0), "{account}");
            if !was_cut {
                break;
            }
        }
    }
}

/// Creates a new file at `name` with the inode number, size and modification time of a removed
/// file. Returns whether the file system reused the inode number.
fn come_again(world: &World, name: &str, was: &fs::Metadata) -> bool {
    for number in 0..200 {
        let path = world.tree.join(format!("new {number}"));
        fs::write(&path, EDITED).expect("written");
        if path.metadata().expect("exists").ino() == was.ino() {
            let file = fs::File::options().write(true).open(&path).expect("opens");
            file.set_modified(was.modified().expect("has one")).expect("set");
            fs::rename(&path, world.tree.join(name)).expect("renamed");
            return true;
        }
    }
    skipped("the file system does not reuse inode numbers");
    false
}

#[test]
fn another_file_with_a_reused_inode_number_is_not_the_removed_one() {
    for names in [&["b"][..], &["b", "c"]] {
        let mut tree = TreeBuilder::new().file("a", SAME).file("b", SAME);
        for &name in &names[1..] {
            tree = tree.hard_link("b", name);
        }
        let world = World::new(&tree);
        let was = world.tree.join("b").metadata().expect("exists");
        assert_eq!(world.apply(Kind::Delete).done, names.len() as u64);
        if !come_again(&world, "b", &was) {
            return;
        }
        let undone = world.undo().expect("a run");
        assert_eq!(undone.done, names.len() as u64 - 1, "{undone:?}");
        for &name in &names[1..] {
            assert_eq!(text(&world, name).as_deref(), Some(SAME), "{undone:?}");
        }
    }
}
