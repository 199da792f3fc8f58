//! Changes to a tree between two runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use crate::mirror_oracles::is_there;

/// The name of a change, and a function that makes it.
pub(super) type Change = (&'static str, fn(&Path));

/// Returns changes to the tree of `mirror_oracles`, in the order in which they must be made. Some
/// need root.
pub(super) fn changes() -> Vec<Change> {
    [of_files(), of_links(), of_kinds(), of_rights(), of_directories()].concat()
}

fn of_files() -> Vec<Change> {
    vec![
        ("content", |root| fs::write(root.join("1/1/f1"), "another").expect("written")),
        ("content of one with links", |root| fs::write(root.join("l1"), "all").expect("written")),
        ("a byte in the middle", |root| {
            use std::os::unix::fs::FileExt;
            let file = fs::OpenOptions::new().write(true).open(root.join("large"));
            file.and_then(|file| file.write_all_at(b"!", 2_500_000)).expect("written");
        }),
        ("longer", |root| truncate(&root.join("3/0/f3"), 95_000)),
        ("shorter", |root| truncate(&root.join("large"), 1_000)),
        ("a hole", |root| truncate(&root.join("2/2/f2"), 4 << 20)),
        ("empty", |root| truncate(&root.join("sparse"), 0)),
        ("a time", |root| set_time(&root.join("1/1/f1"), 1_000)),
        ("a time before all times", |root| {
            let time = UNIX_EPOCH - Duration::new(5, 7);
            let file = fs::File::open(root.join("1/1/f1")).expect("opened");
            file.set_times(fs::FileTimes::new().set_modified(time)).expect("set");
        }),
        ("new files", |root| {
            fs::create_dir_all(root.join("new/er")).expect("made");
            fs::write(root.join("new/er/one"), vec![7; 300_000]).expect("written");
            fs::write(root.join("new/empty"), "").expect("written");
        }),
        ("a file renamed", |root| rename(&root.join("large"), &root.join("1/larger"))),
        ("a file gone", |root| remove(&root.join("3/1/f7"))),
    ]
}

fn of_links() -> Vec<Change> {
    vec![
        ("a link gone", |root| remove(&root.join("0/l2"))),
        ("a link more", |root| link(&root.join("l1"), &root.join("3/l4"))),
        ("a link that is a file now", |root| {
            remove(&root.join("3/l4"));
            fs::copy(root.join("l1"), root.join("3/l4")).map(drop).expect("copied");
        }),
        ("files that are one now", |root| {
            remove(&root.join("1/2/f5"));
            link(&root.join("1/1/f1"), &root.join("1/2/f5"));
        }),
        ("a link to another file", |root| {
            remove(&root.join("deep/er/l3"));
            link(&root.join("3/0/f3"), &root.join("deep/er/l3"));
        }),
        ("alike but not one", |root| {
            // Two files that differ in nothing that lop compares.
            for name in ["twin 1", "twin 2"] {
                fs::write(root.join(name), "twin").expect("written");
                set_time(&root.join(name), 1_000);
            }
        }),
        ("one of them linked", |root| {
            remove(&root.join("twin 2"));
            link(&root.join("twin 1"), &root.join("twin 2"));
        }),
        ("and apart again", |root| {
            remove(&root.join("twin 2"));
            fs::write(root.join("twin 2"), "twin").expect("written");
            set_time(&root.join("twin 2"), 1_000);
        }),
        ("a symbolic link under two names", |root| {
            link(&root.join("link"), &root.join("0/link too"));
        }),
    ]
}

fn of_kinds() -> Vec<Change> {
    vec![
        ("a directory that is a file now", |root| {
            fs::remove_dir_all(root.join("deep")).expect("removed");
            fs::write(root.join("deep"), "file").expect("written");
        }),
        ("and a directory again", |root| {
            remove(&root.join("deep"));
            fs::create_dir(root.join("deep")).expect("made");
            fs::write(root.join("deep/in"), "in").expect("written");
        }),
        ("a link that is a directory now", |root| {
            remove(&root.join("link"));
            fs::create_dir(root.join("link")).expect("made");
        }),
        ("a FIFO that is a link now", |root| {
            remove(&root.join("fifo"));
            symlink("x", root.join("fifo")).expect("linked");
        }),
        ("another target", |root| {
            remove(&root.join("fifo"));
            symlink(std::ffi::OsStr::new("y\n\u{1f600}"), root.join("fifo")).expect("linked");
        }),
        ("a socket gone", |root| remove(&root.join("socket"))),
    ]
}

fn of_rights() -> Vec<Change> {
    vec![
        ("mode", |root| set_mode(&root.join("1/1/f1"), 0o600)),
        ("mode of one with links", |root| set_mode(&root.join("l1"), 0o640)),
        ("set-id bits", |root| set_mode(&root.join("3/0/f3"), 0o6755)),
        ("mode of a directory", |root| set_mode(&root.join("3"), 0o1700)),
        ("the owner", |root| own(&root.join("deep/in"), 1234, 5678)),
        ("the owner of a directory", |root| own(&root.join("deep"), 7, 8)),
        ("the owner of a link", |root| own(&root.join("fifo"), 9, 10)),
        ("access control lists gone", |root| set_acl(&["-b"], &root.join("acl/file"))),
        ("others instead", |root| {
            set_acl(&["-m", "u:77:r,m::rw"], &root.join("1/1/f1"));
            set_acl(&["-m", "d:g:88:rwx"], &root.join("acl"));
        }),
    ]
}

fn of_directories() -> Vec<Change> {
    vec![
        ("time of a directory", |root| set_time(&root.join("3"), 77)),
        ("time of the root", |root| set_time(root, 78)),
        ("a directory renamed", |root| rename(&root.join("acl"), &root.join("0/acl"))),
        ("one put into another", |root| rename(&root.join("0"), &root.join("1/into"))),
        ("directories gone", |root| fs::remove_dir_all(root.join("2")).expect("removed")),
        ("everything gone", |root| {
            for entry in fs::read_dir(root).expect("listed") {
                let path = entry.expect("an entry").path();
                if path.symlink_metadata().expect("there").is_dir() {
                    fs::remove_dir_all(&path).expect("removed");
                } else {
                    remove(&path);
                }
            }
        }),
    ]
}

fn remove(path: &Path) {
    fs::remove_file(path).expect("removed");
}

fn rename(from: &Path, to: &Path) {
    fs::rename(from, to).expect("renamed");
}

fn link(path: &Path, other: &Path) {
    fs::hard_link(path, other).expect("linked");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
}

fn truncate(path: &Path, size: u64) {
    fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(size)).expect("set");
}

fn own(path: &Path, user: u32, group: u32) {
    lchown(path, Some(user), Some(group)).expect("given away");
}

/// Changes an access control list, or the mode if ACLs are not supported, because something must change.
fn set_acl(args: &[&str], path: &Path) {
    if !is_there("setfacl") {
        let mode = path.metadata().expect("there").permissions().mode();
        return set_mode(path, mode ^ 0o11);
    }
    let status = Command::new("setfacl").args(args).arg(path).status();
    assert!(status.expect("it runs").success(), "setfacl {args:?}");
}

pub(super) fn set_time(path: &Path, seconds: u64) {
    let time = UNIX_EPOCH + Duration::from_secs(seconds);
    let file = fs::File::open(path).expect("opened");
    file.set_times(fs::FileTimes::new().set_modified(time)).expect("set");
}
