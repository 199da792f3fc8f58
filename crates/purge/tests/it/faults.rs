//! Tests with failing system calls. The run must report and keep the affected entry, and remove
//! everything else.

use std::fs;

use fsops::faults::{ChangeFault, fault_at_change};
use purge::Reason;
use testkit::TempTree;

use crate::world::{assert_gone, remove, usual, ways};

/// Runs an ignored test of this program in a child process, because injected faults affect the
/// whole process.
fn apart(name: &str) {
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program)
        .args(["--exact", name, "--ignored", "--nocapture"])
        .output()
        .expect("start");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn each_change_may_fail() {
    apart("faults::fail_each_change_once");
}

#[test]
#[ignore = "run by each_change_may_fail in a child process"]
fn fail_each_change_once() {
    for way in ways() {
        for number in 0..40 {
            let place = TempTree::new();
            let tree = place.join("tree");
            for dir in ["a/b", "c", "d/e/f"] {
                fs::create_dir_all(tree.join(dir)).expect("create");
                for file in 0..4 {
                    fs::write(tree.join(dir).join(file.to_string()), "x").expect("write");
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
            // Only the failed entry and the directories that contain it are left.
            let left = failed.ancestors().take_while(|dir| dir.starts_with(&tree)).count() as u64;
            assert_eq!(outcome.files + outcome.dirs, all - left);
            assert!(failed.symlink_metadata().is_ok());
            assert_gone(&tree, &remove(&tree, &usual()));
        }
    }
}
