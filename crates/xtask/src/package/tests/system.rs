//! A bare system with the packages, in which a test runs commands.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::Mount;

use crate::package::{VARIABLE, bare};
use crate::transcript::{Example, Stage};

/// The number of the user `me`, who owns the home folder of the README's example.
const ME: &str = "1000";

/// A bare system. It is removed on drop.
pub(super) struct System {
    mount: Mount,
}

/// Returns the source tree.
pub(super) fn source() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the source tree")
}

/// Returns the folder of the packages. Prints the reason and returns `None` if there is none.
pub(super) fn packages() -> Option<PathBuf> {
    let folder = std::env::var_os(VARIABLE).map(PathBuf::from);
    if folder.is_none() {
        testkit::skipped(format!("{VARIABLE} is not set; 'cargo xtask test' builds the packages"));
    }
    folder
}

/// Returns the only package whose name has this end.
pub(super) fn package(packages: &Path, end: &str) -> PathBuf {
    let entries =
        fs::read_dir(packages).expect("a folder").map(|entry| entry.expect("read").path());
    let found: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(end)).collect();
    assert_eq!(found.len(), 1, "{end}: {found:?}");
    found[0].clone()
}

impl System {
    /// Prepares a system with a copy of one package in `/`, which is returned, too. Prints the reason and returns
    /// `None` if there are no packages, or nothing can be mounted.
    pub(super) fn with(end: &str) -> Option<(System, String)> {
        let packages = packages()?;
        let system = System::new()?;
        let package = package(&packages, end);
        system.add(&package, "/");
        let name = package.file_name().expect("a name").to_string_lossy().into_owned();
        Some((system, format!("/{name}")))
    }

    /// Prepares a system.
    pub(super) fn new() -> Option<System> {
        let mount = Mount::overlay(&bare::folder(&source()));
        mount.map(|mount| System { mount }).map_err(testkit::skipped).ok()
    }

    /// Returns a path inside of the system as seen from outside.
    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.mount.path().join(inside.trim_start_matches('/'))
    }

    /// Copies a file of this machine to a folder of the system.
    pub(super) fn add(&self, file: &Path, folder: &str) {
        let mut copy = Command::new("cp");
        let copied = copy.arg("--").arg(file).arg(self.path(folder)).status().expect("cp");
        assert!(copied.success(), "{} -> {folder}", file.display());
    }

    /// Returns a command in the system, without a network and with an environment of its own.
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

    /// Runs a script as root. Returns what it printed; it must succeed.
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

    /// Plays the example of the README as an ordinary user, with the program that is found in `path`.
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
