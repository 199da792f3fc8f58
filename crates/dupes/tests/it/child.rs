//! Runs tests in separate processes with fewer permissions or fewer descriptors.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{NOBODY, skipped};

/// Environment variable that passes the tree to the test in the other process.
const TREE: &str = "DUPES_TEST_TREE";

/// The user that the other process runs as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rights {
    Ours,
    Nobody,
}

/// Runs an ignored test of this binary, given by its full name, on `tree`.
pub(crate) fn run(test: &str, tree: &Path, rights: Rights) {
    let program = std::env::current_exe().expect("the binary of this test");
    let mut command = Command::new(program);
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(TREE, tree).current_dir(std::env::temp_dir());
    if rights == Rights::Nobody && testkit::is_root() {
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

/// Returns the tree that this process was started with.
pub(crate) fn tree() -> PathBuf {
    std::env::var_os(TREE).expect("this test is run by another one").into()
}
