//! Runs all tests of lop and of lop-fleet, after installing the tools that some of them need.
//!
//! A test that lacks a tool or root privileges skips itself with a message. This module installs
//! the tools if it runs as root on Debian or a derivative. The suite must leave the machine
//! unchanged: everything that it leaves behind is reported.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::traces::{Temporary, Traces};
use crate::{package, programs, python};

/// Programs that tests, counts and the small race use, and their Debian packages.
const TOOLS: [(&str, &str); 30] = [
    ("jdupes", "jdupes"),
    ("pgrep", "procps"),
    ("rsync", "rsync"),
    ("ssh", "openssh-client"),
    ("sshd", "openssh-server"),
    ("setfacl", "acl"),
    ("setcap", "libcap2-bin"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.ntfs", "ntfs-3g"),
    ("mkfs.exfat", "exfatprogs"),
    ("mount.exfat-fuse", "exfat-fuse"),
    ("mergerfs", "mergerfs"),
    ("sshfs", "sshfs"),
    ("sqlite3", "sqlite3"),
    ("strace", "strace"),
    ("valgrind", "valgrind"),
    ("chromium", "chromium"),
    ("chromedriver", "chromium-driver"),
    ("python3", "python3-venv"),
    ("java", "default-jre-headless"),
    ("setpriv", "util-linux"),
    ("openssl", "openssl"),
    ("wrk", "wrk"),
    ("debootstrap", "debootstrap"),
    ("lintian", "lintian"),
    ("buildah", "buildah"),
    ("systemd-nspawn", "systemd-container"),
    ("tmux", "tmux"),
];

/// The arguments of `cargo test` for each workspace.
const WORKSPACES: [&[&str]; 2] =
    [&["--workspace"], &["--manifest-path", "fleet/Cargo.toml", "--target-dir", "target/fleet"]];

/// Runs the suite and returns the reasons why it did not pass.
pub(crate) fn run(root: &Path) -> io::Result<Vec<String>> {
    install();
    let temporary = Temporary::new("lop-suite")?;
    let target = root.canonicalize()?.join("target");
    let environments =
        [(python::ENGINES_VARIABLE, &python::ENGINES), (python::SPARK_VARIABLE, &python::SPARK)];
    let interpreters = environments
        .iter()
        .filter_map(|(variable, environment)| Some((*variable, environment.install(&target)?)));
    let packages = package::for_tests(root)?.map(|folder| (package::VARIABLE, folder));
    let prepared: Vec<_> = interpreters.chain(packages).collect();
    let before = Traces::inspect(&target, temporary.path());
    let mut tested = Tested::default();
    for workspace in WORKSPACES {
        let mut cargo = programs::cargo();
        cargo
            .args(["test", "--no-fail-fast"])
            .args(workspace)
            .current_dir(root)
            .env("TMPDIR", temporary.path())
            .env("RUST_TEST_THREADS", threads())
            .envs(prepared.iter().map(|(variable, path)| (variable, path)));
        tested.run(cargo)?;
    }
    let mut complaints = tested.complaints();
    complaints.extend(Traces::inspect(&target, temporary.path()).since(&before));
    println!("{} tests passed in all", tested.passed);
    Ok(complaints)
}

/// The results of the tests of some workspaces.
#[derive(Default)]
struct Tested {
    passed: u64,
    failures: Failures,
    has_failed: bool,
    /// True if a workspace ran no test.
    is_empty: bool,
}

impl Tested {
    /// Runs tests, prints their output and adds their results.
    fn run(&mut self, mut cargo: Command) -> io::Result<()> {
        let mut child = cargo.stdout(Stdio::piped()).spawn()?;
        let before = self.passed;
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).lines() {
                let line = line?;
                self.passed += passed_in(&line);
                println!("{line}");
                self.failures.add(line);
            }
        }
        self.has_failed |= !child.wait()?.success();
        self.is_empty |= self.passed == before;
        Ok(())
    }

    /// Prints why tests failed, and returns the reasons why the suite did not pass.
    fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        if self.has_failed {
            self.failures.print();
            complaints.push("some tests failed".into());
        }
        if self.is_empty {
            complaints.push("a workspace ran no test".into());
        }
        complaints
    }
}

/// Returns the number of tests to run in parallel. It exceeds the number of processors, because
/// many tests wait for a disk or another process.
fn threads() -> String {
    let given = std::env::var("RUST_TEST_THREADS").ok();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    given.unwrap_or_else(|| (2 * processors).to_string())
}

/// Installs missing tools if possible. Tests skip themselves if a tool is still missing.
fn install() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).collect();
    folders.extend(["/sbin", "/usr/sbin"].map(Into::into));
    let missing = |tool: &str| !folders.iter().any(|folder| folder.join(tool).exists());
    let packages: Vec<_> =
        TOOLS.iter().filter(|(tool, _)| missing(tool)).map(|(_, package)| *package).collect();
    if packages.is_empty() {
        return;
    }
    let names = packages.join(" ");
    if missing("apt-get") || !am_root() {
        println!("skipped: tests that need {names}: not installed, and cannot be installed here");
        return;
    }
    let apt = |args: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").args(args).stdout(Stdio::null());
        apt.status().is_ok_and(|status| status.success())
    };
    let install = [&["install", "-y", "-qq", "--no-install-recommends"], packages.as_slice()];
    if !(apt(&["update", "-qq"]) && apt(&install.concat())) {
        println!("skipped: tests that need {names}: apt-get could not install them");
    }
}

fn am_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout == b"0\n")
}

/// The part of the output that tells why tests failed. It is repeated at the end, where it is found.
#[derive(Default)]
struct Failures {
    lines: Vec<String>,
    is_inside: bool,
}

impl Failures {
    /// Reads a line of the test harness. The harness prints the failures between a line
    /// `failures:` and the result.
    fn add(&mut self, line: String) {
        if line == "failures:" {
            self.is_inside = true;
        } else if line.starts_with("test result:") {
            self.is_inside = false;
        } else if self.is_inside {
            self.lines.push(line);
        }
    }

    fn print(&self) {
        println!("\nwhy tests failed:");
        self.lines.iter().for_each(|line| println!("{line}"));
    }
}

/// Returns the number of passed tests that a line of the test harness reports.
fn passed_in(line: &str) -> u64 {
    let result = line.strip_prefix("test result: ok. ");
    let number = result.and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Failures, Tested, passed_in};

    /// Adds the results of a workspace whose tests print `text` and end with `code`.
    fn run(tested: &mut Tested, text: &str, code: u8) {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo \"$0\"; exit $1", text, &code.to_string()]);
        tested.run(shell).expect("a shell");
    }

    #[test]
    fn the_results_of_all_workspaces_are_added() {
        let mut tested = Tested::default();
        run(&mut tested, "test result: ok. 3 passed; 0 failed", 0);
        run(&mut tested, "test result: ok. 4 passed; 0 failed", 0);
        assert_eq!((tested.passed, tested.complaints().len()), (7, 0));
        run(&mut tested, "", 0);
        assert_eq!(tested.complaints(), ["a workspace ran no test"]);
        run(&mut tested, "test result: ok. 1 passed; 0 failed", 101);
        assert_eq!(tested.complaints(), ["some tests failed", "a workspace ran no test"]);
    }

    #[test]
    fn failures_are_read_from_the_harness() {
        let mut failures = Failures::default();
        let printed = "test a ... FAILED\nfailures:\n---- a stdout ----\nbecause\nfailures:\n    a\n\
                       test result: FAILED. 3 passed; 1 failed\nrunning 3 tests\n";
        printed.lines().for_each(|line| failures.add(line.to_string()));
        assert_eq!(failures.lines, ["---- a stdout ----", "because", "    a"]);
    }

    #[test]
    fn passed_tests_are_read_from_the_harness() {
        assert_eq!(passed_in("test result: ok. 34 passed; 0 failed; 0 ignored"), 34);
        assert_eq!(passed_in("test result: FAILED. 3 passed; 1 failed"), 0);
        assert_eq!(passed_in("running 3 tests"), 0);
    }
}
