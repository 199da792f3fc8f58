//! Calls that fail: the run reports the entry concerned and leaves it, and removes everything else.
//!
//! Faults apply to the whole process, so all of this is one test in a file of its own, which runs
//! in its own process.

use std::fs;

use fsops::faults::{ChangeFault, fault_at_change};
use purge::Reason;
use testkit::TempTree;

use crate::world::{assert_gone, remove, usual, ways};

/// Runs a test of this program in a process of its own, because the faults that it injects apply to
/// all calls of the process.
fn apart(name: &str) {
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program)
        .args(["--exact", name, "--ignored", "--nocapture"])
        .output()
        .expect("started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn any_change_may_fail() {
    apart("faults::every_change_fails_once");
}

#[test]
#[ignore = "run by any_change_may_fail in a process of its own"]
fn every_change_fails_once() {
    for way in ways() {
        for number in 0..40 {
            let place = TempTree::new();
            let tree = place.join("tree");
            for dir in ["a/b", "c", "d/e/f"] {
                fs::create_dir_all(tree.join(dir)).expect("made");
                for file in 0..4 {
                    fs::write(tree.join(dir).join(file.to_string()), "x").expect("written");
                }
            }
            fault_at_change(number, ChangeFault::Fail(5));
            let outcome = remove(&tree, &way);
            fault_at_change(u64::MAX, ChangeFault::Fail(5));
            let all = 12 + 7;
            if number >= all {
                assert_gone(&tree, &outcome);
                continue;
            }
            assert_eq!(outcome.failed, 1, "change {number}: {:?}", outcome.problems);
            let Reason::Failed { source, .. } = &outcome.problems[0].reason else {
                panic!("{:?}", outcome.problems)
            };
            assert_eq!(source.raw_os_error(), Some(5));
            let failed = &outcome.problems[0].path;
            let failed = std::path::PathBuf::from(String::from_utf8_lossy(failed).into_owned());
            // The entry still exists, and only the directories that contain it remain.
            let left = failed.ancestors().take_while(|dir| dir.starts_with(&tree)).count() as u64;
            assert_eq!(outcome.files + outcome.dirs, all - left);
            assert!(failed.symlink_metadata().is_ok());
            assert_gone(&tree, &remove(&tree, &usual()));
        }
    }
}
