//! A bare system in which a test installs a package and runs commands.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::Mount;

use crate::package::{VARIABLE, bare};
use crate::transcript::{Example, Stage};

/// The ID of the user `me`, who owns the home folder of the README's example.
const ME: &str = "1000";

/// A bare system. Dropping it removes the changes of the test.
pub(super) struct System {
    mount: Mount,
}

/// Returns the source tree.
pub(super) fn source() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the source tree")
}

/// Returns the folder of the packages. If there is none, prints the reason and returns `None`.
pub(super) fn packages() -> Option<PathBuf> {
    let folder = std::env::var_os(VARIABLE).map(PathBuf::from);
    if folder.is_none() {
        testkit::skipped(format!("{VARIABLE} is not set; 'cargo xtask test' builds the packages"));
    }
    folder
}

/// Returns the only package whose name ends with `end`.
pub(super) fn package(packages: &Path, end: &str) -> PathBuf {
    let entries =
        fs::read_dir(packages).expect("a folder").map(|entry| entry.expect("read").path());
    let found: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(end)).collect();
    assert_eq!(found.len(), 1, "{end}: {found:?}");
    found[0].clone()
}

impl System {
    /// Prepares a system with a copy of one package in `/`. Returns the system and the path of the copy. If there are
    /// no packages or the system cannot be mounted, prints the reason and returns `None`.
    pub(super) fn with(end: &str) -> Option<(System, String)> {
        let packages = packages()?;
        let system = System::new()?;
        let package = package(&packages, end);
        system.add(&package, "/");
        let name = package.file_name().expect("a name").to_string_lossy().into_owned();
        Some((system, format!("/{name}")))
    }

    /// Prepares a system. If it cannot be mounted, prints the reason and returns `None`.
    pub(super) fn new() -> Option<System> {
        let mount = Mount::overlay(&bare::folder(&source()));
        mount.map(|mount| System { mount }).map_err(testkit::skipped).ok()
    }

    /// Returns the path on this machine of a path inside the system.
    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.mount.path().join(inside.trim_start_matches('/'))
    }

    /// Copies a file of this machine to a folder of the system.
    pub(super) fn add(&self, file: &Path, folder: &str) {
        let mut copy = Command::new("cp");
        let copied = copy.arg("--").arg(file).arg(self.path(folder)).status().expect("cp");
        assert!(copied.success(), "{} -> {folder}", file.display());
    }

    /// Returns a command that runs in the system, without a network and with its own environment.
    fn command(&self, program: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--"]);
        let enter = "mount -t proc proc \"$0/proc\" && exec chroot \"$0\" \"$@\"";
        command
            .args(["sh", "-c", enter])
            .arg(self.mount.path())
            .args(["env", "--ignore-environment"]);
        command.args(["PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG=C.UTF-8"]);
        command.args(program);
        command
    }

    /// Runs a script as root and returns its output. The script must succeed.
    pub(super) fn run(&self, script: &str) -> String {
        let mut shell = self.command(&["HOME=/root", "sh", "-eu"]);
        let mut shell =
            shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let mut stdin = shell.stdin.take().expect("a pipe");
        stdin.write_all(format!("exec 2>&1\n{script}").as_bytes()).expect("written");
        drop(stdin);
        let output = shell.wait_with_output().expect("ended");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{script}\n{}\n{printed}", output.status);
        printed
    }

    /// Runs the README's example as an ordinary user, with the program in the folder `path`.
    pub(super) fn play_the_readme(&self, path: &str) {
        let path = format!("PATH={path}:/usr/bin:/bin");
        let user = ["setpriv", "--reuid", ME, "--regid", ME, "--clear-groups"];
        let shell = ["sh", "-c", "cd && exec sh"];
        let shell = self.command(&[&["HOME=/home/me", &path], &user[..], &shell].concat());
        let stage = Stage::in_root(self.mount.path(), shell).expect("a tree");
        self.run(&format!("chown -R {ME}:{ME} /home/me /mnt/backup"));
        let example = Example::read(&source()).expect("an example");
        let played = example.play(stage).expect("played");
        assert!(example.is_as_before(&played), "the example has other results:\n{played}");
    }
}

#[test]
fn the_system_has_no_compiler_and_no_network() {
    let Some(_) = packages() else { return };
    let Some(system) = System::new() else { return };
    let found =
        system.run("for tool in lop rustc cargo cc gcc ld; do command -v $tool || true; done");
    assert_eq!(found, "");
    let interfaces = system.run("tail -n +3 /proc/net/dev | cut -d: -f1");
    assert_eq!(interfaces.trim(), "lo");
}
