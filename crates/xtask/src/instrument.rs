//! Builds the crate `bench` and the program that it measures, both optimised, and runs its commands.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::generated::Generated;

/// Runs a command of `lop-bench`; returns whether it succeeded.
///
/// A race and a head trace change what the benchmark pages are made from, so these are written anew.
pub(crate) fn run(root: &Path, args: &[OsString]) -> io::Result<bool> {
    let succeeded = lop_bench(root)?.args(args).status()?.success();
    let records = args.first().is_some_and(|command| command == "race" || command == "head-trace");
    if succeeded && records {
        pages(root)?.write(&root.join("docs"))?;
    }
    Ok(succeeded)
}

/// Returns the benchmark pages and charts, computed from the records below `benchsuite/`.
pub(crate) fn pages(root: &Path) -> io::Result<Generated> {
    let output = lop_bench(root)?.arg("page").stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("lop-bench page: {}", output.status)));
    }
    let files: BTreeMap<String, String> = serde_json::from_slice(&output.stdout)?;
    Ok(Generated { files, folders: &["benchmarks"], command: "cargo xtask page" })
}

/// Builds lop and `lop-bench`, and returns the command to run the latter.
fn lop_bench(root: &Path) -> io::Result<Command> {
    let cargo = |command: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([command, "--quiet", "--release", "--manifest-path"]);
        cargo.arg(root.join("Cargo.toml"));
        cargo
    };
    let mut build = cargo("build");
    build.args(["--package", "lop", "--package", "lop-bench"]);
    if !build.status()?.success() {
        return Err(io::Error::other("lop and lop-bench cannot be built"));
    }
    let mut run = cargo("run");
    run.args(["--package", "lop-bench", "--"]);
    Ok(run)
}
