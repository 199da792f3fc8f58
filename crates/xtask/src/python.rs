//! Python environments with other engines that read the exports of lop, and with an object store. Tests
//! compare the answers of the engines with those of the catalog, and races their times with those of lop-fleet.
//!
//! The environments are the folders `target/python` and `target/spark`. Each is created once, and again if its list
//! of packages changes. Versions are pinned, so that a test does not change its result without a change of the
//! source tree. Without Python or a network, the tests that need an environment are skipped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// An environment.
pub(crate) struct Environment {
    /// Its folder below `target`.
    folder: &'static str,
    /// The packages, as pip names them.
    packages: &'static [&'static str],
    /// What pip may install.
    sources: &'static [&'static str],
}

/// The variables that name the interpreters of [`ENGINES`] and [`SPARK`] to the tests (`testkit`).
pub(crate) const ENGINES_VARIABLE: &str = "LOP_TEST_PYTHON";
pub(crate) const SPARK_VARIABLE: &str = "LOP_TEST_SPARK";

/// `DuckDB`, and an object store with a client.
pub(crate) const ENGINES: Environment = Environment {
    folder: "python",
    packages: &["duckdb==2.0.1", "moto[server,s3]==5.2.5", "boto3==1.44.8"],
    sources: &["--only-binary", ":all:"],
};

/// Spark, of which there is only a source package. It is large, and needs Java.
pub(crate) const SPARK: Environment = Environment {
    folder: "spark",
    packages: &["pyspark==4.3.0"],
    sources: &["--only-binary", ":all:", "--no-binary", "pyspark"],
};

/// The programs that make wheels, and one that installs them.
pub(crate) const WHEELS: Environment = Environment {
    folder: "wheels",
    packages: &["maturin==1.16.0", "wheel==0.48.0", "uv==0.13.9"],
    sources: &["--only-binary", ":all:"],
};

impl Environment {
    /// Returns the interpreter of the environment below `target`, after installing the packages if they
    /// are missing. Prints the reason and returns `None` if they cannot be installed.
    pub(crate) fn install(&self, target: &Path) -> Option<PathBuf> {
        install_packages(self.packages, self.sources, &target.join(self.folder))
            .map_err(|reason| {
                println!("skipped: what needs {}: {reason}", self.packages.join(" "));
            })
            .ok()
    }
}

/// Creates the environment in `folder`, unless it is there with these packages.
fn install_packages(packages: &[&str], sources: &[&str], folder: &Path) -> Result<PathBuf, String> {
    let interpreter = folder.join("bin/python");
    // Written last: an environment without this file is incomplete.
    let list = folder.join("packages.txt");
    let wanted = packages.join("\n");
    if fs::read_to_string(&list).is_ok_and(|found| found == wanted) && runs(&interpreter) {
        return Ok(interpreter);
    }
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(folder);
    finish(venv, "python3 cannot create an environment (on Debian: apt-get install python3-venv)")?;
    let mut pip = Command::new(&interpreter);
    pip.args(["-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", "--quiet"])
        .args(["--retries", "1", "--timeout", "30"])
        .args(sources)
        .args(packages);
    finish(pip, "pip cannot install them")?;
    write(&list, &wanted).map_err(|e| format!("{}: {e}", list.display()))?;
    Ok(interpreter)
}

/// Returns whether the interpreter runs. It does not if the Python of the system was upgraded.
fn runs(interpreter: &Path) -> bool {
    let version = Command::new(interpreter).arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Runs a command. If it fails, returns `what` and the last line that the command printed.
fn finish(mut command: Command, what: &str) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{what}: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    let last = printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("failed");
    Err(format!("{what}: {}", last.trim()))
}

#[expect(clippy::disallowed_methods, reason = "writes to the build folder, not to a user's files")]
fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{finish, install_packages};
    use crate::traces::Temporary;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "writes to a directory of its own")]
    fn a_complete_environment_is_kept() {
        let temporary = Temporary::new("lop-python").expect("made");
        let folder = temporary.path().join("python");
        std::fs::create_dir_all(folder.join("bin")).expect("made");
        std::os::unix::fs::symlink("/bin/true", folder.join("bin/python")).expect("linked");
        std::fs::write(folder.join("packages.txt"), "a==1\nb==2").expect("written");
        let kept = install_packages(&["a==1", "b==2"], &[], &folder);
        assert_eq!(kept, Ok(folder.join("bin/python")));
        temporary.remove().expect("removed");
    }

    #[test]
    fn the_last_line_of_a_failed_command_is_the_reason() {
        let shell = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            finish(command, "cannot install")
        };
        assert_eq!(shell("true"), Ok(()));
        let failed = shell("echo one; echo two >&2; echo >&2; exit 1");
        assert_eq!(failed, Err("cannot install: two".into()));
        assert_eq!(shell("exit 1"), Err("cannot install: failed".into()));
        let missing = finish(Command::new("/nowhere/python3"), "cannot install");
        assert!(missing.is_err_and(|reason| reason.contains("No such file")));
    }
}
