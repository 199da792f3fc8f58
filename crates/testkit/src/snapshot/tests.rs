//! Every kind of difference is found, and only by the comparison for that kind.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{MetadataExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{XattrFlags, removexattr, setxattr};

use super::{Compare, Kind, Snapshot, assert_contents_kept, assert_same};
use crate::{
    BOTTOM, FileSystem, Mount, NOBODY, TempTree, TreeBuilder, deep_path, groups_of, hostile_tree,
    is_root, skipped,
};

/// Each kind of comparison separately.
const EACH: [Compare; 8] = [
    Compare::NAMES,
    Compare::BYTES,
    Compare::MODE,
    Compare::OWNER,
    Compare::MTIME,
    Compare::XATTRS,
    Compare::LINKS,
    Compare::DIR_MTIMES,
];

fn tree() -> TempTree {
    TreeBuilder::new()
        .file("d/a", "one")
        .file("d/b", "two")
        .hard_links("linked", &["d/l1", "d/l2", "l3"])
        .symlink("d/s", "a")
        .fifo("d/fifo")
        .socket("d/socket")
        .mode("d/a", 0o640)
        .mtime("d/a", 1_000_000_000, 5)
        .mtime("d/b", 1_000_000_000, 5)
        .mtime("d/s", 1_000_000_000, 5)
        .mtime("d", 1_000_000_000, 5)
        .mtime("", 1_000_000_000, 5)
        .make_temp()
}

/// Changes a tree and checks that only the comparisons in `found_by` report the change, with these
/// messages.
#[track_caller]
fn seen_by(change: impl Fn(&Path), found_by: &[Compare], words: &str) {
    let tree = tree();
    let before = Snapshot::of(&tree);
    assert_same(&before, &Snapshot::of(&tree), Compare::ALL);
    change(tree.path());
    let after = Snapshot::of(&tree);
    for kind in EACH {
        let lines = before.diff(&after, kind);
        assert_eq!(!lines.is_empty(), found_by.contains(&kind), "{kind:?}: {lines:?}");
    }
    let all = before.diff(&after, Compare::ALL).join("\n");
    assert!(all.contains(words), "no {words:?} in: {all}");
    let message = panic_of(|| assert_same(&before, &after, Compare::ALL));
    assert!(message.contains(words), "{message}");
    assert_same(&before, &after, found_by.iter().fold(Compare::ALL, |all, kind| all - *kind));
}

fn panic_of(check: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(check)).expect_err("must fail");
    panic.downcast_ref::<String>().cloned().expect("a panic with a message")
}

fn set_mtime(path: &Path) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 5);
    let file = File::open(path).expect("opens");
    file.set_times(FileTimes::new().set_modified(time)).expect("times can be set");
}

#[test]
fn other_bytes_are_seen_though_size_and_time_are_the_same() {
    let change = |root: &Path| {
        fs::write(root.join("d/a"), "eno").expect("written");
        set_mtime(&root.join("d/a"));
    };
    seen_by(change, &[Compare::BYTES], "d/a: was a file of 3 bytes, SHA-256 ");
}

#[test]
fn a_name_that_is_gone_and_one_that_is_new_are_seen() {
    let change = |root: &Path| {
        fs::rename(root.join("d/a"), root.join("d/new\nname")).expect("renamed");
        set_mtime(&root.join("d"));
    };
    seen_by(change, &[Compare::NAMES], "d/a: gone: a file of 3 bytes");
    seen_by(change, &[Compare::NAMES], r"d/new\nname: new: a file of 3 bytes");
}

#[test]
fn another_kind_is_seen() {
    let change = |root: &Path| {
        fs::remove_file(root.join("d/a")).expect("removed");
        symlink("b", root.join("d/a")).expect("linked");
        set_mtime(&root.join("d"));
    };
    seen_by(
        change,
        &[Compare::NAMES],
        "d/a: was a file of 3 bytes, SHA-256 7692c3ad, is a symbolic",
    );
}

#[test]
fn another_target_is_seen() {
    let change = |root: &Path| {
        fs::remove_file(root.join("d/s")).expect("removed");
        TreeBuilder::new().symlink("d/s", "b").mtime("d/s", 1_000_000_000, 5).make(root);
        set_mtime(&root.join("d"));
    };
    seen_by(change, &[Compare::BYTES], "d/s: was a symbolic link to a, is a symbolic link to b");
}

#[test]
fn mode_time_and_attributes_are_seen() {
    let chmod = |root: &Path| drop(TreeBuilder::new().mode("d/a", 0o4640).make(root));
    seen_by(chmod, &[Compare::MODE], "d/a: mode was 0640, is 4640");
    let chmod_dir = |root: &Path| drop(TreeBuilder::new().mode("d", 0o1777).make(root));
    seen_by(chmod_dir, &[Compare::MODE], "is 1777");
    let touch = |root: &Path| drop(TreeBuilder::new().mtime("d/s", 1_000_000_000, 6).make(root));
    seen_by(
        touch,
        &[Compare::MTIME],
        "d/s: mtime was 1000000000.000000005, is 1000000000.000000006",
    );
    let touch_dir = |root: &Path| drop(TreeBuilder::new().mtime("d", -1, 0).make(root));
    seen_by(touch_dir, &[Compare::DIR_MTIMES], "d: mtime was 1000000000.000000005, is -1.0");
    let touch_root = |root: &Path| drop(TreeBuilder::new().mtime("", 7, 0).make(root));
    seen_by(touch_root, &[Compare::DIR_MTIMES], "the root: mtime was");
    let note =
        |root: &Path| drop(TreeBuilder::new().xattr("d/a", "user.note", b"n\xff").make(root));
    seen_by(
        note,
        &[Compare::XATTRS],
        r#"d/a: xattr user.note was not there, is "n\xff" (2 bytes)"#,
    );
    let note_dir = |root: &Path| drop(TreeBuilder::new().xattr("d", "user.note", b"").make(root));
    seen_by(note_dir, &[Compare::XATTRS], "d: xattr user.note");
}

#[test]
fn an_attribute_that_changed_or_went_is_seen() {
    let tree = TreeBuilder::new().xattr("", "user.n", b"1").make_temp();
    let before = Snapshot::of(&tree);
    setxattr(tree.path(), "user.n", b"2", XattrFlags::REPLACE).expect("set");
    let lines = before.diff(&Snapshot::of(&tree), Compare::XATTRS);
    assert_eq!(lines, [r#"the root: xattr user.n was "1" (1 bytes), is "2" (1 bytes)"#]);
    removexattr(tree.path(), "user.n").expect("removed");
    let lines = before.diff(&Snapshot::of(&tree), Compare::ALL);
    assert_eq!(lines, [r#"the root: xattr user.n was "1" (1 bytes), is not there"#]);
}

/// `user::rw- user:65534:r-- group::r-- mask::r-- other::---` as in `linux/posix_acl_xattr.h`.
fn access_list() -> Vec<u8> {
    let entries: [(u16, u16, u32); 5] =
        [(1, 6, !0), (2, 4, NOBODY), (4, 4, !0), (0x10, 4, !0), (0x20, 0, !0)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn access_control_lists_are_seen() {
    let tree = TreeBuilder::new().file("a", "x").mode("a", 0o640).make_temp();
    let before = Snapshot::of(&tree);
    let list = access_list();
    if let Err(e) = setxattr(tree.join("a"), "system.posix_acl_access", &list, XattrFlags::empty())
    {
        return skipped(format!("no access control lists here: {e}"));
    }
    let lines = before.diff(&Snapshot::of(&tree), Compare::ALL);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("a: xattr system.posix_acl_access was not there"), "{lines:?}");
}

#[test]
fn another_owner_is_seen() {
    if !is_root() {
        return skipped("only root can change the owner of a file");
    }
    let give = |root: &Path| drop(TreeBuilder::new().owner("d/s", NOBODY, 7).make(root));
    seen_by(give, &[Compare::OWNER], "d/s: owner was 0:0, is 65534:7");
}

#[test]
fn devices_are_distinguished_by_their_numbers() {
    let make = |minor| TreeBuilder::new().char_device("null", 1, minor);
    let (one, other) = (TempTree::new(), TempTree::new());
    if !make(3).make(&one).skipped.is_empty() {
        return skipped("no permission to create devices");
    }
    make(5).make(&other);
    let lines = Snapshot::of(&one).diff(&Snapshot::of(&other), Compare::NAMES);
    assert_eq!(lines, ["null: was character device 1:3, is character device 1:5"]);
}

#[test]
fn a_link_that_became_a_copy_is_seen_and_one_that_was_made() {
    let split = |root: &Path| {
        let (path, time) = (root.join("l3"), fs::metadata(root.join("l3")).expect("there"));
        fs::remove_file(&path).expect("removed");
        fs::write(&path, "linked").expect("written");
        let file = File::open(&path).expect("opens");
        file.set_modified(time.modified().expect("a time")).expect("set");
        set_mtime(root);
    };
    seen_by(
        split,
        &[Compare::LINKS],
        "l3: was one file with d/l1 and 1 more, is one file with no other",
    );
    seen_by(
        split,
        &[Compare::LINKS],
        "d/l2: was one file with d/l1 and 1 more, is one file with d/l1",
    );
    let tree = TreeBuilder::new().file("a", "x").file("b", "x").make_temp();
    let before = Snapshot::of(&tree);
    fs::remove_file(tree.join("b")).expect("removed");
    fs::hard_link(tree.join("a"), tree.join("b")).expect("linked");
    let after = Snapshot::of(&tree);
    let lines = before.diff(&after, Compare::LINKS);
    assert_eq!(lines[0], "a: was one file with no other, is one file with b");
    assert!(before.diff(&after, Compare::VISIBLE).is_empty());
    assert_eq!(after.link_groups(), groups_of([["a", "b"]]));
}

#[test]
fn links_are_compared_among_the_paths_that_are_left() {
    let tree = TreeBuilder::new().hard_links("x", &["a", "b", "c"]).make_temp();
    let before = Snapshot::of(&tree);
    fs::remove_file(tree.join("a")).expect("removed");
    assert_same(&before, &Snapshot::of(&tree), Compare::LINKS);
    assert_eq!(Snapshot::of(&tree).get("c").expect("there").same_as, b"b");
}

#[test]
fn contents_count_once_and_a_lost_one_is_named() {
    let tree = TreeBuilder::new().file("a", "x").file("b", "x").file("only\n", "y").make_temp();
    let before = Snapshot::of(&tree);
    assert_eq!(before.contents().len(), 2);
    fs::remove_file(tree.join("a")).expect("removed");
    assert_contents_kept(&before, &[&Snapshot::of(&tree)]);
    let other = TempTree::new();
    fs::rename(tree.join("only\n"), other.join("moved")).expect("moved");
    assert_contents_kept(&before, &[&Snapshot::of(&tree), &Snapshot::of(&other)]);
    let message = panic_of(|| assert_contents_kept(&before, &[&Snapshot::of(&tree)]));
    assert!(message.contains(r"1 bytes that were in only\n"), "{message}");
}

#[test]
fn excluded_entries_do_not_count() {
    let tree = TreeBuilder::new()
        .file("a", "x")
        .file("d/.lop-quarantine-7/d/b", "y")
        .file("d/not.lop-quarantine", "z")
        .make_temp();
    let snapshot = Snapshot::without_names(&tree, &[".lop-quarantine"]);
    let paths: Vec<_> =
        snapshot.entries.keys().map(|path| path.escape_ascii().to_string()).collect();
    assert_eq!(paths, ["", "a", "d", "d/not.lop-quarantine"]);
    let by_path = Snapshot::except(&tree, |path| path == b"d");
    assert_eq!(by_path.entries.len(), 2);
}

#[test]
fn deep_and_hostile_trees_are_read_in_full() {
    let temp = TempTree::new();
    TreeBuilder::new().deep_chain(3_000, "0123456789", "down here").make(&temp);
    let snapshot = Snapshot::of(&temp);
    assert_eq!(snapshot.entries.len(), 3_002);
    let bottom = snapshot.get(deep_path(3_000, "0123456789")).expect(BOTTOM);
    assert_eq!((&bottom.kind, bottom.size_bytes), (&Kind::File, 9));
    let hostile = TempTree::new();
    let kept = hostile_tree(&hostile);
    let (one, other) = (Snapshot::of(&hostile), Snapshot::of(&hostile));
    assert_same(&one, &other, Compare::ALL);
    assert!(one.entries.len() > 20);
    drop(kept);
}

#[test]
fn unreadable_entries_are_noted_and_have_no_content() {
    if is_root() {
        return skipped("root can read every file");
    }
    let tree = TreeBuilder::new()
        .file("a", "x")
        .mode("a", 0)
        .dir("d")
        .mode("d", 0)
        .file("listed/b", "x")
        .mode("listed", 0o600)
        .make_temp();
    let snapshot = Snapshot::of(&tree);
    for path in ["a", "d", "listed"] {
        assert!(snapshot.get(path).expect("there").unread.is_some());
    }
    assert!(panic_of(|| drop(snapshot.contents())).contains("cannot be told: a"));
}

#[test]
fn access_times_stay() {
    let mount = match Mount::new(FileSystem::Tmpfs, 0) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    mount.remount("strictatime").expect("remounted");
    TreeBuilder::new().file("d/a", "x").symlink("d/l", "a").make(&mount);
    let times = || {
        let time = |path: &str| {
            let metadata = fs::symlink_metadata(mount.path().join(path)).expect("there");
            (metadata.atime(), metadata.atime_nsec())
        };
        [time("d"), time("d/a")]
    };
    let before = times();
    std::thread::sleep(Duration::from_millis(20));
    drop(Snapshot::of(&mount));
    assert_eq!(times(), before);
    drop(fs::read(mount.path().join("d/a")).expect("read"));
    assert_ne!(times(), before, "times are kept here at all");
}

#[test]
fn a_long_account_is_cut() {
    let tree = TempTree::new();
    let before = Snapshot::of(&tree);
    (0..500).fold(TreeBuilder::new(), |t, i| t.file(format!("{i}"), "x")).make(&tree);
    let message = panic_of(|| assert_same(&before, &Snapshot::of(&tree), Compare::NAMES));
    assert!(message.contains("500 differences") && message.contains("and 460 more"), "{message}");
    assert!(message.len() < 10_000);
}

#[test]
fn a_missing_root_is_an_error_of_the_test() {
    let message = panic_of(|| drop(Snapshot::of("/no/such/place")));
    assert!(message.contains("no snapshot of /no/such/place"), "{message}");
}
