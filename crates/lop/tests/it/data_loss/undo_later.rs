//! An undo long after the run, with other changes in between.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use testkit::{Compare, Snapshot, TreeBuilder, assert_same};

use super::{CHANGING, apply, back, scanned, undo};
use crate::lop::settle;

fn three() -> TreeBuilder {
    TreeBuilder::new().seeded("a/1", 1, 9000).seeded("b/2", 1, 9000).seeded("c/3", 1, 9000)
}

#[test]
fn runs_are_undone_one_after_the_other() {
    for one in CHANGING {
        for two in CHANGING {
            let lop = scanned(&three());
            let before = Snapshot::of(lop.work());
            // The second run removes the file that the first run keeps.
            apply(&lop, one, ["b", "--keep", "path:**/a/*"]).success();
            settle();
            lop.remember(["."]);
            // The new file may reuse the inode number of the removed one.
            apply(&lop, two, ["a", "--keep", "path:**/c/*"]).success();
            fs::write(lop.path("new"), "in between").expect("is written");
            undo(&lop);
            fs::remove_file(lop.path("new")).expect("is removed");
            // This may fail, because the second run had nothing to do if the first run made two names of one file.
            drop(lop.run(["undo"]));
            assert_same(&before, &Snapshot::of(lop.work()), back());
        }
    }
}

// Way 17.
#[test]
fn a_kept_file_changed_under_the_same_time_is_not_restored_from() {
    for by in ["delete", "hardlink", "symlink"] {
        let lop = scanned(&three());
        apply(&lop, by, ["--all", "--keep", "path:**/a/*"]).success();
        let kept = File::options().write(true).open(lop.path("a/1")).expect("opens");
        let was = kept.metadata().expect("a file").modified().expect("a time");
        kept.write_all_at(b"!", 5000).expect("is written");
        kept.set_modified(was).expect("its time is set");
        drop(kept);
        let before = Snapshot::of(lop.work());
        lop.run(["undo"]).code(3);
        assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL - Compare::DIR_MTIMES);
    }
}

#[test]
fn a_kept_file_with_another_mode_or_another_name_is_still_the_same() {
    for by in CHANGING {
        let lop = scanned(&three());
        let before = Snapshot::of(lop.work());
        apply(&lop, by, ["--all", "--keep", "path:**/a/*"]).success();
        fs::hard_link(lop.path("a/1"), lop.path("a/beside")).expect("a link");
        fs::remove_file(lop.path("a/beside")).expect("is removed");
        undo(&lop);
        assert_same(&before, &Snapshot::of(lop.work()), back());
    }
}
