//! Injected failures of system calls: bad blocks, files that cannot be opened, directories that
//! cannot be listed.
//!
//! The rules apply to the whole process. Only one test at a time sets rules, and only for names
//! that no other test uses.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fsops::Op;
use fsops::faults::{Fault, inject};
use testkit::{TreeBuilder, assert_groups, naive_groups};

use crate::scan::{Setup, setup};

static RULES: Mutex<()> = Mutex::new(());

/// Rules that apply until this value is dropped. Other tests wait for that before they set their
/// own rules.
pub(crate) struct Rules(
    #[expect(dead_code, reason = "held until the drop")] MutexGuard<'static, ()>,
);

impl Rules {
    pub(crate) fn new(op: Op, suffix: &str, errno: i32) -> Rules {
        let alone = RULES.lock().unwrap_or_else(PoisonError::into_inner);
        inject(vec![Fault { op, name_suffix: suffix.into(), errno }]);
        Rules(alone)
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        inject(Vec::new());
    }
}

const SIZES: [u64; 4] = [100, 65_536, 70_000, 1_500_000];

/// Creates classes of several sizes, each with one bad file that has two names.
fn tree(files: u64) -> TreeBuilder {
    let mut builder = TreeBuilder::new();
    for size in SIZES {
        for i in 0..files {
            builder = builder.seeded(format!("{size}/{i}"), 1, size);
        }
        let bad = format!("{size}/a with a bad block");
        builder = builder.seeded(&bad, 1, size);
        builder = builder.hard_link(&bad, format!("{size}/b with a bad block"));
    }
    builder
}

fn setups() -> [Setup; 4] {
    [
        setup(),
        setup().open_files(4),
        setup().inline_reads(true),
        setup().threads(8).open_files(2).inline_reads(true),
    ]
}

fn check(op: Op, errno: i32, reason: &str) {
    for files in [1, 2, 5, 20] {
        let tree = tree(files).make_temp();
        let truth = naive_groups(&tree);
        for setup in setups() {
            let rules = Rules::new(op, "bad block", errno);
            let scan = setup.scan(&[&tree]);
            assert_eq!(scan.found.groups.len(), if files > 1 { SIZES.len() } else { 0 });
            assert!(scan.found.groups.iter().all(|g| g.files.len() as u64 == files));
            let problems = scan.problems();
            assert_eq!(problems.len(), SIZES.len(), "{problems:?}");
            assert!(problems.keys().all(|path| path.ends_with(b"bad block")));
            assert!(problems.values().all(|r| r.contains(reason)), "{problems:?}");
            // The disk works again, and all files turn out to be identical.
            inject(Vec::new());
            let again = scan.again(&setup);
            assert_groups(&truth, &again.groups());
            assert!(again.tree.problems.is_empty() && again.found.problems.is_empty());
            drop(rules);
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_reported_and_the_others_are_grouped() {
    check(Op::Read, libc::EIO, "cannot read: Input/output error");
}

#[test]
fn a_file_that_cannot_be_opened_is_reported_and_the_others_are_grouped() {
    check(Op::Open, libc::EACCES, "cannot open: Permission denied");
}

#[test]
fn running_out_of_descriptors_drops_only_single_files() {
    check(Op::Open, libc::EMFILE, "cannot open: Too many open files");
}

#[test]
fn names_of_an_unreadable_file_are_still_grouped() {
    let tree = tree(0).make_temp();
    let rules = Rules::new(Op::Read, "bad block", libc::EIO);
    let scan = setup().hardlinks(true).scan(&[&tree]);
    drop(rules);
    assert_eq!(scan.found.groups.len(), SIZES.len());
    assert!(scan.found.groups.iter().all(|g| g.inodes == 1 && g.digest.is_none()));
}

#[test]
fn a_directory_that_cannot_be_listed_is_reported_and_the_rest_walked() {
    let tree = TreeBuilder::new()
        .file("a", "equal")
        .file("d/e/b", "equal")
        .file("d/with bad names/c", "equal")
        .file("d/with bad names/deeper/d", "equal")
        .make_temp();
    for threads in [1, 8] {
        let rules = Rules::new(Op::List, "with bad names", libc::EIO);
        let scan = setup().threads(threads).scan(&[&tree]);
        drop(rules);
        assert_eq!(scan.only_group().files.len(), 2);
        let problems = scan.problems();
        assert_eq!(problems.len(), 1);
        let (path, reason) = problems.first_key_value().expect("one");
        assert!(path.ends_with(b"/d/with bad names"));
        assert_eq!(reason, "cannot list: Input/output error (os error 5)");
        let dirs = scan.tree.dirs().iter().filter(|dir| !dir.complete).count();
        assert_eq!(dirs, 1);
    }
}
