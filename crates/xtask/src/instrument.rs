//! Builds the instrument and what it measures, as they are measured, and hands over to it.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Runs a command of the crate `bench` with its arguments; returns its exit code.
pub(crate) fn run(root: &Path, args: impl Iterator<Item = OsString>) -> ExitCode {
    let cargo = |command: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([command, "--quiet", "--release", "--manifest-path"]);
        cargo.arg(root.join("Cargo.toml"));
        cargo
    };
    let mut build = cargo("build");
    build.args(["--package", "lop", "--package", "lop-bench"]);
    if !build.status().is_ok_and(|status| status.success()) {
        return ExitCode::FAILURE;
    }
    match cargo("run").args(["--package", "lop-bench", "--"]).args(args).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1)),
        Err(_) => ExitCode::FAILURE,
    }
}
