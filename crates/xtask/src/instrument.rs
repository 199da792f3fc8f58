//! Builds the crate `bench` and the program that it measures, and runs the commands of `bench`.
//!
//! The measured `lop` is always optimised, and so is `lop-fleet` in races whose results count.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::generated::Generated;
use crate::{programs, python};

/// Runs a command of `lop-bench`. Returns true if it succeeded.
///
/// A race, a head trace or a filter graph changes the data behind the benchmark pages, so the pages
/// are regenerated.
pub(crate) fn run(root: &Path, args: &[OsString]) -> io::Result<bool> {
    let is_fast = !is_small(args);
    let command = args.first().and_then(|command| command.to_str()).unwrap_or_default();
    if command != "filter-graph" {
        build(root, &["--release", "--package", "lop"])?;
    }
    let mut bench = lop_bench(root, is_fast)?;
    bench.args(args);
    if needs_fleet(args) {
        let target = root.canonicalize()?.join("target");
        python::ENGINES.install(&target);
        if let Some(spark) = python::SPARK.install(&target) {
            bench.env(python::SPARK_VARIABLE, spark);
        }
        bench.arg("--lop-fleet").arg(programs::lop_fleet(root, is_fast)?);
    }
    let succeeded = bench.status()?.success();
    let records = matches!(command, "race" | "head-trace" | "filter-graph");
    if succeeded && records && is_fast {
        pages(root)?.write(&root.join("docs"))?;
    }
    Ok(succeeded)
}

/// Returns true if a command measures nothing that depends on the speed of `lop-bench`. Such a
/// command can use the build of the tests, which saves an optimised build.
fn is_small(args: &[OsString]) -> bool {
    match args.first().and_then(|command| command.to_str()) {
        Some("counts") => true,
        Some("race") => args.get(1).is_some_and(|kind| kind == "smoke"),
        _ => false,
    }
}

/// Returns true for a race in which `lop-fleet` and engines of Python take part.
fn needs_fleet(args: &[OsString]) -> bool {
    let is_wanted = |kind: &OsString| {
        let kind = kind.to_string_lossy();
        kind.starts_with("fleet") || kind == "smoke" || kind == "all"
    };
    let is_given = args.iter().any(|arg| arg == "--lop-fleet");
    args.first().is_some_and(|command| command == "race") && !is_given && args.iter().any(is_wanted)
}

/// Returns the benchmark pages and charts, computed from the records below `benchsuite/`.
pub(crate) fn pages(root: &Path) -> io::Result<Generated> {
    let output = lop_bench(root, false)?.arg("page").stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("lop-bench page: {}", output.status)));
    }
    let files: BTreeMap<String, String> = serde_json::from_slice(&output.stdout)?;
    Ok(Generated { files, folders: &["benchmarks"], command: "cargo xtask page" })
}

/// Builds `lop-bench`, optimised or with the tests, and returns the command to run it.
fn lop_bench(root: &Path, is_fast: bool) -> io::Result<Command> {
    if !is_fast {
        return Ok(Command::new(programs::of_tests(root, "lop-bench")?));
    }
    let package = ["--release", "--package", "lop-bench"];
    build(root, &package)?;
    let mut run = cargo(root, "run");
    run.args(package).arg("--");
    Ok(run)
}

fn build(root: &Path, args: &[&str]) -> io::Result<()> {
    if !cargo(root, "build").args(args).status()?.success() {
        return Err(io::Error::other(format!("cargo build {} failed", args.join(" "))));
    }
    Ok(())
}

fn cargo(root: &Path, command: &str) -> Command {
    let mut cargo = programs::cargo();
    cargo.args([command, "--quiet", "--manifest-path"]).arg(root.join("Cargo.toml"));
    cargo
}

#[cfg(test)]
mod tests {
    use super::{is_small, needs_fleet};

    #[test]
    fn races_that_are_recorded_run_optimised() {
        let small = |args: &[&str]| is_small(&args.iter().map(Into::into).collect::<Vec<_>>());
        assert!(small(&["counts"]) && small(&["race", "smoke", "--store", "x"]));
        let fleet = |args: &[&str]| needs_fleet(&args.iter().map(Into::into).collect::<Vec<_>>());
        assert!(fleet(&["race", "fleet", "--ssd"]) && fleet(&["race", "find", "fleet"]));
        assert!(!fleet(&["race", "find"]) && !fleet(&["race", "fleet", "--lop-fleet", "x"]));
        assert!(!small(&["race", "find"]) && !small(&["race"]) && !small(&["corpus", "flat", "x"]));
    }
}
