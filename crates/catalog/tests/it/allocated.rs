//! The disk space of files.

use catalog::{CtimeCause, Loaded};
use catalog::{CurrentMetadata, FileChange, FileOperation, LiveFile, Rows, Version, Writer};
use testkit::{TempTree, TreeBuilder};
use walk::{Device, FileId};

use crate::disk::{bytes, ids, stat};
use crate::sandbox::Sandbox;

/// Creates two identical files, and a file that is a hole.
fn tree() -> TempTree {
    TreeBuilder::new()
        .file("a", "alike")
        .file("copy", "alike")
        .sparse("hole", 1 << 20, &[])
        .make_temp()
}

/// Returns the column of a file with this name.
fn column(sandbox: &Sandbox, name: &str) -> String {
    let sql = format!("SELECT allocated FROM file WHERE name = CAST('{name}' AS BLOB)");
    sandbox.query(&sql).concat()
}

/// Returns the value of the column for a file with this size and disk space.
fn expected(size: u64, allocated: u64) -> String {
    let is_usual = allocated == walk::usual_allocation(size);
    if is_usual { "NULL".into() } else { allocated.to_string() }
}

fn find(loaded: &Loaded, name: &str) -> FileId {
    let is_it = |&file: &FileId| loaded.tree.name(file).to_bytes() == name.as_bytes();
    ids(&loaded.tree).find(is_it).expect("is remembered")
}

#[test]
fn only_unusual_disk_space_is_stored() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    for name in ["a", "hole"] {
        let now = stat(&tree.join(name));
        assert_eq!(column(&sandbox, name), expected(now.size, now.allocated));
    }
    assert_ne!(column(&sandbox, "hole"), "NULL");
}

#[test]
fn remembered_files_have_the_stored_disk_space() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    sandbox.run("UPDATE file SET allocated = 1536 WHERE name = CAST('a' AS BLOB)");
    sandbox.run("UPDATE file SET allocated = NULL WHERE name = CAST('hole' AS BLOB)");
    let loaded = sandbox.catalog().load(Rows::All).expect("loads");
    let allocated = |name| loaded.tree.allocated(find(&loaded, name));
    assert_eq!((allocated("a"), allocated("hole")), (1536, 1 << 20));
}

#[test]
fn a_scan_keeps_the_disk_space_of_files_outside_its_roots() {
    let tree = TreeBuilder::new().file("x/a", "alike").file("y/b", "alike").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[&tree.join("x")]);
    sandbox.run("UPDATE file SET allocated = 1536");
    assert_eq!(sandbox.scan(&[&tree.join("y")]).added(), [bytes(&tree.join("x/a"))]);
    assert_eq!(column(&sandbox, "a"), "1536");
}

fn remember(writer: &Writer, tree: &TempTree, allocated: u64) {
    let loaded = writer.catalog().load(Rows::All).expect("loads");
    let now = stat(&tree.join("a"));
    let now = CurrentMetadata {
        inode: now.inode,
        mtime_ns: now.mtime_ns(),
        ctime_ns: now.ctime_ns,
        allocated,
        inspected_ns: i64::MAX,
    };
    let change = FileChange { file: find(&loaded, "copy"), now: Some(now), unshared: 0 };
    writer.apply_changes(&loaded, [change]).expect("changes");
}

#[test]
fn a_changed_file_has_its_new_disk_space() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    remember(&sandbox.writer(), &tree, 1536);
    assert_eq!(column(&sandbox, "copy"), "1536");
    remember(&sandbox.writer(), &tree, 4096);
    assert_eq!(column(&sandbox, "copy"), "NULL");
}

#[test]
fn a_file_that_was_given_back_has_its_new_disk_space() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let scan = sandbox.scan(&[tree.path()]);
    let device: Device = *scan.tree.device_of(scan.tree.file(FileId(0)).dir);
    let version = |path: &str| {
        let now = stat(&tree.join(path));
        let (mtime_ns, ctime_ns) = (now.mtime_ns(), now.ctime_ns);
        Version { inode: now.inode, size: now.size, mtime_ns, ctime_ns }
    };
    let operation = FileOperation {
        path: bytes(&tree.join("copy")),
        was: version("copy"),
        allocated: 4096,
        kept: bytes(&tree.join("a")),
        kept_was: version("a"),
        digest: None,
        unshared: 0,
    };
    let now = LiveFile {
        device,
        version: version("copy"),
        allocated: 512,
        is_inline: true,
        ctime_cause: CtimeCause::LopCreated,
    };
    let operations = std::iter::once(Ok::<_, catalog::Error>(operation));
    sandbox.writer().follow(operations, |_| Some(now), i64::MAX).expect("follows");
    assert_eq!(column(&sandbox, "copy"), "512");
}
