//! Finds the programs that the tests build, and `lop-fleet`.
//!
//! A build of one package has other features of the dependencies than a build of all tests, and compiles
//! most of them again. The other tasks therefore use the programs of the tests.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// Returns the command `cargo`, without the variables that cargo has set for this program. If these variables change,
/// cargo runs the build script of ring again and compiles all crates again that depend on ring, such as `DataFusion`.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    let is_of_package =
        |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|of| name.starts_with(of));
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(is_of_package) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// Builds `lop-fleet`, which is in a workspace of its own, and returns its path. Without optimisation,
/// this is the build of its tests.
pub(crate) fn lop_fleet(root: &Path, is_optimised: bool) -> io::Result<PathBuf> {
    let (profile, folder) = if is_optimised { ("release", "release") } else { ("dev", "debug") };
    let target = root.canonicalize()?.join("target/fleet");
    let mut cargo = cargo();
    cargo.args(["build", "--quiet", "--profile", profile, "--manifest-path"]);
    cargo.arg(root.join("fleet/Cargo.toml")).arg("--target-dir").arg(&target);
    if !cargo.status()?.success() {
        return Err(io::Error::other("cargo built no lop-fleet"));
    }
    Ok(target.join(folder).join("lop-fleet"))
}

/// Builds all tests and programs without optimisation, and returns the path of the program `name`.
pub(crate) fn of_tests(root: &Path, name: &str) -> io::Result<PathBuf> {
    let build = ["test", "--quiet", "--workspace", "--no-run", "--message-format", "json"];
    let mut cargo = cargo();
    cargo.args(build).current_dir(root).stderr(Stdio::inherit());
    let artifacts = String::from_utf8_lossy(&cargo.output()?.stdout).into_owned();
    let executable = artifacts.lines().find_map(|line| {
        let artifact: Value = serde_json::from_str(line).ok()?;
        let is_program = artifact["target"]["name"] == name && artifact["profile"]["test"] == false;
        is_program.then(|| artifact["executable"].as_str().map(PathBuf::from))?
    });
    executable.ok_or_else(|| io::Error::other(format!("cargo built no program {name}")))
}

#[cfg(test)]
mod tests {
    use super::cargo;

    #[test]
    fn builds_do_not_see_the_package_of_this_program() {
        let cargo = cargo();
        let removed: Vec<_> = cargo.get_envs().filter(|(_, value)| value.is_none()).collect();
        for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION_MAJOR", "CARGO_MANIFEST_DIR"] {
            assert!(removed.iter().any(|(removed, _)| *removed == name), "{removed:?}");
        }
    }
}
