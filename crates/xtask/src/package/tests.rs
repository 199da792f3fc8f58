//! Tests of the packages. They install each package in a bare system without a network, and use it there.
//!
//! `cargo xtask test` builds the packages and the system first. To run a single test with packages that were built
//! before: `LOP_TEST_PACKAGES=$PWD/target/package cargo test -p xtask package::`.

mod archive;
mod container;
mod deb;
mod machine;
mod source;
mod system;
mod units;
mod wheel;

use std::process::Command;

use super::{output, version};

#[test]
fn the_version_is_that_of_the_workspace() {
    let manifest = "[workspace]\nresolver = \"3\"\n\n[workspace.package]\nversion = \"1.2.3\"\n";
    assert_eq!(version(manifest), Some("1.2.3"));
    assert_eq!(version("[package]\nversion = \"1.2.3\"\n"), None);
}

#[test]
fn a_failed_command_is_an_error_with_its_messages() {
    let shell = |script: &str| {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]);
        output(shell).map_err(|e| e.to_string())
    };
    assert_eq!(shell("echo out; echo err >&2"), Ok("out\n".into()));
    let message = shell("echo out; echo err >&2; exit 7").expect_err("failed");
    assert!(message.starts_with("/bin/sh: exit status: 7") && message.ends_with("err"));
}
