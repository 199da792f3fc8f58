//! `lop mirror` from one host to another. The remote host is this machine, reached through a shell as ssh starts it,
//! or through ssh itself.

mod changes;
mod errors;
mod hosts;
mod lost;
mod odd;
mod options;
mod reuse;
mod whole;

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{
    Compare, Invocation, Snapshot, Sshd, TempTree, TreeBuilder, assert_same, without_forks,
};

use crate::lop::{Lop, document};

/// The name of the remote host in these tests. No real host has this name.
const HOST: &str = "far.invalid";

/// The tree that is on the remote host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// The destination.
    Push,
    /// The source.
    Pull,
}

const BOTH: [Direction; 2] = [Direction::Push, Direction::Pull];

impl Direction {
    /// Returns SRC and DST in the form in which a user types them.
    fn places(self, from: &Path, to: &Path) -> [OsString; 2] {
        match self {
            Direction::Push => [from.into(), there(HOST, to)],
            Direction::Pull => [there(HOST, from), to.into()],
        }
    }

    /// Returns the name in lower case, for use as a directory name.
    fn name(self) -> &'static str {
        match self {
            Direction::Push => "pushed",
            Direction::Pull => "pulled",
        }
    }
}

/// Returns a path on the remote host in the form in which a user types it.
fn there(host: &str, path: &Path) -> OsString {
    let mut place = OsString::from(host);
    place.push(":");
    place.push(path);
    place
}

/// How to reach the remote host.
struct Way {
    /// The value of `--rsh`.
    rsh: String,
    /// The path of lop on the remote host.
    lop: PathBuf,
    _scripts: TempTree,
    _server: Option<Sshd>,
}

impl Way {
    /// Returns a connection through a shell, as ssh would start it on the remote host.
    fn shell() -> Way {
        Way::script("exec sh -c \"$*\"")
    }

    /// Returns a connection through a script. The script receives the remote command as its arguments and can use
    /// `$host`.
    fn script(lines: &str) -> Way {
        let scripts = TempTree::new();
        let path = scripts.join("rsh");
        write_script(&path, &format!("host=$1\nshift\n{lines}\n"));
        let rsh = format!("sh {}", path.display());
        Way { rsh, lop: binary(), _scripts: scripts, _server: None }
    }

    /// Returns a connection through ssh, or `None` if ssh is not installed.
    fn ssh() -> Option<Way> {
        let server = Sshd::start()?;
        // The invented host name must not be looked up.
        let rsh = format!("{} -o HostName=127.0.0.1", server.rsh());
        Some(Way { rsh, lop: binary(), _scripts: TempTree::new(), _server: Some(server) })
    }

    /// Prepares a run of the program with these arguments.
    fn mirror<'l>(&self, lop: &'l Lop, args: &[&str]) -> Invocation<'l> {
        let mirror = lop.command().args(["mirror", "--rsh", &self.rsh, "--remote-lop"]);
        mirror.arg(&self.lop).args(args)
    }

    /// Prepares a run that mirrors one directory to another.
    fn run<'l>(
        &self,
        lop: &'l Lop,
        direction: Direction,
        args: &[&str],
        places: (&Path, &Path),
    ) -> Invocation<'l> {
        self.mirror(lop, args).args(direction.places(places.0, places.1))
    }

    /// Mirrors `src` of the working directory to `dst`. The run must succeed.
    #[track_caller]
    fn succeed(&self, lop: &Lop, direction: Direction, args: &[&str]) {
        self.run(lop, direction, args, (&lop.path("src"), &lop.path("dst"))).run().success();
    }

    /// Returns the JSON document of a run. The run must succeed.
    #[track_caller]
    fn json(
        &self,
        lop: &Lop,
        direction: Direction,
        args: &[&str],
        places: (&Path, &Path),
    ) -> Value {
        let output = self.run(lop, direction, args, places).arg("--json").run();
        output.success();
        document(&output)
    }
}

/// Returns the path of the program, which is the same on both hosts.
fn binary() -> PathBuf {
    let path = PathBuf::from(env!("CARGO_BIN_EXE_lop"));
    // ssh, or the shell that stands in for it, splits the path into words.
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"/._-+".contains(b);
    if path.as_os_str().as_bytes().iter().all(plain) {
        return path;
    }
    PathBuf::from(format!("'{}'", path.display()))
}

/// Writes a script for `sh` while no process is being forked. Until its exec, a forked process would have the script
/// open for writing, and the script could not be executed.
fn write_script(path: &Path, lines: &str) {
    let _alone = without_forks();
    fs::write(path, format!("#!/bin/sh\n{lines}")).expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path, mode).expect("set");
}

/// Asserts that two trees are identical in everything that can be observed.
#[track_caller]
fn alike(from: &Path, to: &Path) {
    let (from, to) = (Snapshot::of(from), Snapshot::of(to));
    assert_same(&from, &to, Compare::ALL);
    assert_eq!(from.link_groups(), to.link_groups());
}

/// Asserts that a summary reports no change.
#[track_caller]
fn nothing_was_done(document: &Value) {
    let summary = &document["summary"];
    let figures = [
        "files_reused",
        "files_copied",
        "bytes_copied",
        "dirs_made",
        "symlinks_made",
        "special_files_made",
        "linked",
        "adjusted",
        "removed",
        "extraneous_kept",
        "link_limit_copies",
        "vanished",
        "failed",
        "missing",
        "unread_dirs",
    ];
    for figure in figures {
        assert_eq!(summary[figure], 0, "{figure}: {summary}");
    }
    assert_eq!(summary["left_out"], serde_json::json!([]), "{summary}");
    assert_eq!(summary["complete"], true, "{summary}");
}

/// Returns the paths below a directory that have a temporary name as a component.
fn parts(root: &Path) -> Vec<String> {
    let all = Snapshot::of(root).entries;
    let is_part = |path: &Vec<u8>| path.windows(10).any(|name| name == b".lop-part-");
    all.into_keys().filter(is_part).map(|path| path.escape_ascii().to_string()).collect()
}

/// Returns a small source with an entry of each kind, and a different destination.
fn two() -> TreeBuilder {
    TreeBuilder::new()
        .file("src/a", "a")
        .file("src/d/b", vec![1; 10_000])
        .seeded("src/d/large", 3, 700_000)
        .hard_links("linked", &["src/l1", "src/d/l2"])
        .symlink("src/link", "a")
        .dir("src/empty")
        .file("src/changed", "new")
        .file("dst/changed", "old")
        .mtime("dst/changed", 1_000, 0)
        .file("dst/extraneous", "s")
        .file("dst/gone/with/it", "g")
}
