//! Independent programs that check the trees that `lop mirror` creates.

use std::path::Path;
use std::process::Command;

use testkit::{FileSystem, Mount, TreeBuilder, is_root, skipped};

use crate::lop::Lop;

/// Asserts that rsync would change nothing in either direction, and that `find` lists the same
/// entries.
pub(crate) fn assert_alike(one: &Path, other: &Path) {
    for (from, to) in [(one, other), (other, one)] {
        let mut rsync = Command::new("rsync");
        rsync.args(["-naiHAXc", "--delete"]);
        rsync.arg(format!("{}/", from.display())).arg(format!("{}/", to.display()));
        let output = rsync.output().expect("rsync runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(said, "", "rsync from {} to {}", from.display(), to.display());
    }
    assert_eq!(listed(one), listed(other));
}

/// Returns the sorted output of `find` for everything below a directory.
fn listed(root: &Path) -> Vec<String> {
    let mut find = Command::new("find");
    find.current_dir(root).args([".", "-type", "d", "-printf", "%P|%y|%m|%U|%G|%T@\\0", "-o"]);
    find.args(["-printf", "%P|%y|%m|%U|%G|%T@|%s|%n|%l\\0"]);
    let output = find.output().expect("find runs");
    let mut all: Vec<String> =
        output.stdout.split(|&b| b == 0).map(|line| line.escape_ascii().to_string()).collect();
    all.sort();
    all
}

/// Returns a tree with every kind of entry and metadata. Only root can create it.
pub(crate) fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for i in 0..80u64 {
        tree = tree.seeded(
            format!("{}/{}/f{i}", i % 4, i % 3),
            i,
            [0, 10, 4096, 90_000][(i % 4) as usize],
        );
    }
    tree.seeded("large", 9, 5 << 20)
        .sparse("sparse", 10 << 20, &[(3 << 20, b"x")])
        .hard_links("l", &["l1", "0/l2", "deep/er/l3"])
        .symlink("link", "nowhere")
        .fifo("fifo")
        .socket("socket")
        .char_device("null", 1, 3)
        .file(b"\xff\n odd".to_vec(), "o")
        .file("acl/file", "a")
        .xattr("acl/file", "user.x", b"\0y")
        .mode("0", 0o2750)
        .owner("1", 12, 34)
        .owner("link", 5, 6)
        .mtime("link", 1_000, 1)
        .mtime("large", 1_000_000_000, 987_654_321)
}

/// Gives the tree an ACL, an inherited ACL, and a capability.
pub(crate) fn add_rights(root: &Path) {
    let does = |program: &str, args: &[&str], name: &str| {
        let status = Command::new(program).args(args).arg(root.join(name)).status();
        assert!(status.expect("it runs").success(), "{program} {args:?} {name}");
    };
    does("setfacl", &["-m", "u:1000:rwx,g:7:r"], "acl/file");
    does("setfacl", &["-m", "d:u:1000:rwx,u:7:rx"], "acl");
    does("setcap", &["cap_net_raw+ep"], "0/0/f0");
}

/// Returns the name of a program that is needed to create or check the tree but is missing, if any.
pub(crate) fn missing() -> Option<&'static str> {
    ["rsync", "setfacl", "setcap"].into_iter().find(|tool| !is_there(tool))
}

/// Returns true if a program is installed.
pub(crate) fn is_there(tool: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(tool).exists()))
}

#[test]
fn rsync_finds_nothing_to_do() {
    if !is_root() {
        return skipped("only root can create the owners and devices of the source");
    }
    if let Some(tool) = missing() {
        return skipped(format!("{tool} is not installed"));
    }
    for kind in FileSystem::ALL {
        let mount = match Mount::new(kind, 330 << 20) {
            Ok(mount) => mount,
            Err(reason) => {
                skipped(reason);
                continue;
            }
        };
        let lop = Lop::new();
        let (from, to) = (mount.path().join("from"), mount.path().join("to"));
        tree().make(&from);
        add_rights(&from);
        for change in 0..4 {
            let moved = |name: &str, other: &str| {
                std::fs::rename(from.join(name), from.join(other)).expect("renamed");
            };
            match change {
                1 => moved("acl", "0/acl"),
                2 => {
                    std::fs::remove_file(from.join("l1")).expect("removed");
                    std::fs::hard_link(from.join("large"), from.join("l1")).expect("linked");
                }
                3 => add_rights_anew(&from),
                _ => {}
            }
            lop.command().args(["mirror", "--delete"]).arg(&from).arg(&to).run().success();
            assert_alike(&from, &to);
        }
    }
}

fn add_rights_anew(root: &Path) {
    let status = Command::new("setfacl").arg("-b").arg(root.join("0/acl/file")).status();
    assert!(status.expect("it runs").success());
}
