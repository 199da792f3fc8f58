//! Undos that the kernel grants no lease.

#![expect(clippy::disallowed_methods, reason = "the tests change their own trees")]

use std::cell::RefCell;
use std::fs;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use action::Reason;
use action::plan::Kind;
use fsops::faults::{before_change, was_called};
use runtime::own_descriptor_table;
use testkit::{TempTree, TreeBuilder};

use crate::rolled_back::texts;
use crate::world::World;
use crate::writers::SAME;

/// Starts a thread that keeps copies of all open descriptors of this thread until `end` is dropped.
fn copy_descriptors(end: mpsc::Receiver<()>) -> JoinHandle<()> {
    let (copying, copied) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        own_descriptor_table();
        drop(copying);
        let _dropped = end.recv();
    });
    let _dropped = copied.recv();
    thread
}

/// A copy of a descriptor makes the file that the undo creates appear to be open for writing.
#[test]
fn an_undo_without_a_lease_leaves_the_last_name_alone_and_can_be_repeated() {
    let home = TempTree::new();
    let mut refused = 0;
    for number in 0.. {
        let tree = TreeBuilder::new().file("a", SAME).file("b", SAME);
        let world = World::in_home(&tree, TempTree::new_in(home.path()));
        assert_eq!(world.apply(Kind::Hardlink).done, 1);
        fs::remove_file(world.tree.join("a")).expect("removed");
        let key = || fsops::Stat::of_path(&world.tree.join("b")).expect("exists").key();
        let before = key();
        let (keep, end) = mpsc::channel::<()>();
        let thread = Rc::new(RefCell::new(None));
        let copies = Rc::clone(&thread);
        before_change(number, move || drop(copies.replace(Some(copy_descriptors(end)))));
        let undone = world.undo().expect("a run");
        drop(keep);
        if !was_called() {
            assert_eq!(undone.done, 1, "{undone:?}");
            break;
        }
        thread.take().expect("was started").join().expect("does not panic");
        if undone.done == 0 {
            assert!(matches!(undone.refused[0].reason, Reason::OpenForWriting), "{undone:?}");
            assert_eq!((texts(&world), key()), (vec![SAME.to_string()], before), "{undone:?}");
            assert_eq!(world.undo().expect("goes on").done, 1, "at step {number}");
            refused += 1;
        }
        assert_eq!(texts(&world), [SAME], "at step {number}: {undone:?}");
    }
    assert!(refused > 2, "{refused}");
}
