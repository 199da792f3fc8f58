//! Two programs use a name while a run or an undo changes it. The first program replaces the file, so the run rolls the
//! change back. During the rollback, the second program writes to the file, and the written text must survive.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use action::plan::Kind;
use fsops::faults::{before_change, was_called};
use testkit::{FileSystem, Mount, TempTree, TreeBuilder};

use crate::world::World;
use crate::writers::{EDITED, FileAction, PRECIOUS, Program, SAME, append, edit, rename_over};

/// Returns the texts of all files in the tree and in the staging directories.
pub(crate) fn texts(world: &World) -> Vec<String> {
    let dirs = world.stores().into_iter().chain([world.tree.clone()]);
    let files = dirs.flat_map(|dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten());
    files.filter_map(|file| fs::read_to_string(file.path()).ok()).collect()
}

fn has_written(file_action: FileAction, texts: &[String]) -> bool {
    let is_appended =
        |text: &String| [SAME, PRECIOUS].iter().any(|before| *text == [before, PRECIOUS].concat());
    if std::ptr::fn_addr_eq(file_action, append as FileAction) {
        texts.iter().any(is_appended)
    } else {
        texts.iter().any(|text| text.starts_with(EDITED))
    }
}

/// Replaces `b` with a new file before one change, and starts a program that writes to `b` before a
/// later change. Returns whether each of the two changes was reached.
fn at_two_steps(
    disk: &Path,
    kind: Kind,
    file_action: FileAction,
    [first, second]: [u64; 2],
) -> [bool; 2] {
    let tree = TreeBuilder::new().file("a", SAME);
    let of_undo = kind != Kind::Separate;
    let tree = if of_undo { tree.file("b", SAME) } else { tree.hard_link("a", "b") };
    let world = World::in_home(&tree, TempTree::new_in(disk));
    if of_undo {
        world.apply(kind);
    }
    let programs = Rc::new(RefCell::new(Vec::new()));
    let (started, b) = (Rc::clone(&programs), world.tree.join("b"));
    let begun = Rc::new(RefCell::new(false));
    let has_begun = Rc::clone(&begun);
    before_change(first, move || {
        rename_over(&b).expect("renamed");
        has_begun.replace(true);
        before_change(second, move || started.borrow_mut().push(Program::start(file_action, b)));
    });
    let account =
        if of_undo { format!("{:?}", world.undo()) } else { format!("{:?}", world.apply(kind)) };
    let was_second = was_called();
    let did = programs.borrow_mut().drain(..).any(|program| program.end().is_ok());
    for stage in ["at once", "after recovery", "after another undo"] {
        let texts = texts(&world);
        let account = format!("{kind:?} {first} {second} {stage}: {texts:?} {account}");
        assert!(!did || has_written(file_action, &texts), "{account}");
        drop(world.undo());
    }
    [begun.take(), was_second]
}

#[test]
fn writes_during_a_roll_back_survive() {
    let mount = Mount::new(FileSystem::Tmpfs, 64 << 20);
    let home = TempTree::new();
    let disk = mount.as_ref().map_or(home.path(), Mount::path);
    for kind in [Kind::Separate, Kind::Symlink, Kind::Hardlink] {
        for file_action in [append, edit] as [FileAction; 2] {
            let mut steps = 0;
            while at_two_steps(disk, kind, file_action, [steps, u64::MAX])[0] {
                let reaches =
                    |&second: &u64| at_two_steps(disk, kind, file_action, [steps, second])[1];
                let seconds = (0..1000).take_while(reaches).count();
                assert!(seconds < 1000, "it does not end");
                steps += 1;
            }
            assert!(steps > 4, "{kind:?}");
        }
    }
}
