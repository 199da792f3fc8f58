//! Entries that cannot be examined are reported.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;

use fsops::Op;
use fsops::faults::{Fault, inject};
use testkit::{NOBODY, PathBytes, TreeBuilder, skipped};

use crate::found::{found, found_with, names, options, problems, workers};

/// Serializes the tests that inject faults, because injected faults affect the whole process.
static RULES: Mutex<()> = Mutex::new(());

#[test]
fn unreadable_directories_are_reported_and_the_rest_is_found() {
    let alone = RULES.lock().expect("not poisoned");
    let mut builder = TreeBuilder::new();
    for i in 0..30 {
        builder = builder
            .file(format!("{i}/file"), "x")
            .file(format!("{i}/with no way in/file"), "x")
            .file(format!("{i}/with no way in/d/file"), "x")
            .file(format!("{i}/other/file"), "x");
    }
    let tree = builder.make_temp();
    for errno in [libc::EIO, libc::EACCES, libc::EMFILE, libc::ESTALE] {
        let suffix = b"with no way in".to_vec();
        inject(vec![Fault { op: Op::List, name_suffix: suffix, errno }]);
        let walked: Vec<_> = [1, 8]
            .map(|threads| {
                found_with(&[&tree], &walk::Options { threads: workers(threads), ..options() })
            })
            .into();
        inject(Vec::new());
        for walked in walked {
            assert_eq!(walked.files().len(), 60);
            let reported = problems(&walked);
            assert_eq!(reported.len(), 30);
            assert!(reported.keys().all(|path| path.ends_with(b"/with no way in")));
            assert_eq!(walked.dirs().iter().filter(|dir| !dir.complete).count(), 30);
        }
    }
    drop(alone);
    assert_eq!(found(&tree).files().len(), 120);
}

/// Environment variable that passes the path of the tree to the child process.
const TREE: &str = "WALK_TEST_TREE";

#[test]
fn inaccessible_entries_are_reported_to_an_ordinary_user() {
    let tree = TreeBuilder::new()
        .file("open/a", "1")
        .file("closed/a", "1")
        .file("names only/a", "1")
        .file("names only/d/b", "1")
        .file("no names/a", "1")
        .make_temp();
    let mode = |name: &str, mode| {
        fs::set_permissions(tree.join(name), Permissions::from_mode(mode))
            .expect("set permissions");
    };
    // If the test runs as root, the walk runs as another user, so the owner can keep the
    // permissions.
    let owner = if testkit::is_root() { 0o700 } else { 0 };
    for (name, others) in [("closed", 0o000), ("names only", 0o444), ("no names", 0o111)] {
        mode(name, owner | others);
    }
    let program = std::env::current_exe().expect("the binary of this test");
    let mut command = Command::new(program);
    let test = "failing::walk_as_an_ordinary_user";
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.env(TREE, tree.path()).current_dir(std::env::temp_dir());
    if testkit::is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = match command.output() {
        Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
            return skipped("an ordinary user cannot run the binary of this test");
        }
        output => output.expect("the binary of this test runs"),
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}\n{errors}");
}

#[test]
#[ignore = "run by inaccessible_entries_are_reported_to_an_ordinary_user"]
fn walk_as_an_ordinary_user() {
    let root = std::env::var_os(TREE).expect("set by the parent test");
    let root = std::path::Path::new(&root);
    let closed = root.join("closed");
    let walked = found_with(&[root, &closed, &root.join("closed/a")], &options());
    assert!(names(root, &walked).iter().eq(["open/a"]));
    let reported = problems(&walked);
    let expected = ["closed", "closed/a", "names only/a", "names only/d", "no names"];
    let expected = expected.map(|name| root.join(name).path_bytes().to_vec());
    assert!(reported.keys().eq(&expected), "{reported:?}");
    assert!(reported.values().all(|r| r.contains("Permission denied")), "{reported:?}");
}
