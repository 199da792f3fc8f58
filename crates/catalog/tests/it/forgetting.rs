//! Forgetting files that are gone.

use catalog::{Error, FileChange, Loaded, Rows, Writer};
use testkit::{TempTree, TreeBuilder};
use walk::FileId;

use crate::disk::{bytes, ids};
use crate::sandbox::Sandbox;

fn scanned() -> (Sandbox, TempTree) {
    let tree = TreeBuilder::new()
        .file("a", "alike")
        .file("d/b", "alike")
        .file("d/sub/deep/c", "alike")
        .file("d/sub/deep/single", "alone with its size")
        .make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    (sandbox, tree)
}

fn load(writer: &Writer) -> Loaded {
    writer.catalog().load(Rows::All).expect("loads")
}

fn below(loaded: &Loaded, tree: &TempTree, name: &str) -> Vec<FileId> {
    let path = bytes(&tree.join(name));
    ids(&loaded.tree).filter(|id| loaded.tree.path(*id).starts_with(&path)).collect()
}

fn forget(sandbox: &Sandbox, tree: &TempTree, name: &str) -> Result<(), Error> {
    let writer = sandbox.writer();
    let loaded = load(&writer);
    writer.forget(&loaded, &below(&loaded, tree, name))
}

#[test]
fn only_forgotten_files_are_gone() {
    let (sandbox, tree) = scanned();
    forget(&sandbox, &tree, "d/sub/deep/c").expect("forgets");
    let names = sandbox.query("SELECT name FROM file ORDER BY name");
    assert_eq!(names, ["a", "b", "single"]);
}

#[test]
fn forgotten_files_are_no_longer_counted() {
    let (sandbox, tree) = scanned();
    assert_eq!(sandbox.entry(&tree.join("a")).expect("exists").copies, 3);
    forget(&sandbox, &tree, "d/sub/deep/c").expect("forgets");
    assert_eq!(sandbox.entry(&tree.join("a")).expect("exists").copies, 2);
    assert_eq!(sandbox.query("SELECT reclaimable FROM content"), ["1000"]);
}

#[test]
fn a_content_without_files_is_forgotten() {
    let (sandbox, tree) = scanned();
    forget(&sandbox, &tree, "").expect("forgets");
    assert_eq!(sandbox.query("SELECT count(*) FROM content"), ["0"]);
}

#[test]
fn empty_directories_are_forgotten() {
    let (sandbox, tree) = scanned();
    forget(&sandbox, &tree, "d/sub").expect("forgets");
    let catalog = sandbox.catalog();
    let dirs = |dir: &str| catalog.dirs_in(&bytes(&tree.join(dir))).expect("query succeeds");
    assert_eq!((dirs(""), dirs("d")), (vec![b"d".to_vec()], Vec::new()));
    assert_eq!(sandbox.query("SELECT name FROM dir WHERE name = CAST('deep' AS BLOB)"), [""; 0]);
}

#[test]
fn an_empty_catalog_is_still_a_catalog() {
    let (sandbox, tree) = scanned();
    forget(&sandbox, &tree, "").expect("forgets");
    assert_eq!(sandbox.query("SELECT id FROM dir"), ["1"], "the file system's root stays");
    assert_eq!(sandbox.scan(&[tree.path()]).known(), [""; 0]);
    assert_eq!(sandbox.scan(&[tree.path()]).known(), ["a", "b", "c"]);
}

#[test]
fn a_failed_forget_leaves_the_catalog_unchanged() {
    let (sandbox, tree) = scanned();
    sandbox.run("CREATE TRIGGER no AFTER DELETE ON dir BEGIN SELECT RAISE(FAIL, 'stays'); END");
    let before = sandbox.rows();
    let error = forget(&sandbox, &tree, "d/sub").expect_err("fails");
    assert!(matches!(error, Error::Database { .. }), "{error:?}");
    assert_eq!(sandbox.rows(), before);
}

#[test]
fn a_writer_goes_on_from_the_old_catalog_after_a_failure() {
    let (sandbox, tree) = scanned();
    sandbox.run("CREATE TRIGGER no AFTER DELETE ON dir BEGIN SELECT RAISE(FAIL, 'stays'); END");
    let writer = sandbox.writer();
    let loaded = load(&writer);
    let gone = below(&loaded, &tree, "d/sub");
    let change = |&file: &FileId| FileChange { file, now: None, unshared: 0 };
    let forget = || writer.forget(&loaded, &gone);
    let forget_below = || writer.forget_below(&bytes(&tree.join("d/sub"))).map(drop);
    let apply = || writer.apply_changes(&loaded, gone.iter().map(change));
    for fails in [&forget as &dyn Fn() -> Result<(), Error>, &forget_below, &apply] {
        let error = fails().expect_err("fails");
        assert!(format!("{error:?}").contains("stays"), "{error:?}");
        let names = |dir: &str| writer.catalog().dirs_in(&bytes(&tree.join(dir))).expect("asks");
        assert_eq!(names("d"), [b"sub".to_vec()]);
        assert_eq!(load(&writer).tree.files().len(), loaded.tree.files().len());
    }
    let kept = below(&loaded, &tree, "a");
    writer.forget(&loaded, &kept).expect("forgets what leaves no empty directory");
}

#[test]
fn a_directory_is_forgotten_with_everything_below_it() {
    let (sandbox, tree) = scanned();
    let forget = |name: &str| sandbox.writer().forget_below(&bytes(&tree.join(name)));
    assert_eq!(forget("d/su").expect("forgets"), 0, "only a common prefix");
    assert_eq!(forget("d").expect("forgets"), 3);
    assert_eq!(sandbox.query("SELECT name FROM file ORDER BY name"), ["a"]);
    assert_eq!(sandbox.query("SELECT name FROM dir WHERE name = CAST('sub' AS BLOB)"), [""; 0]);
    assert_eq!(sandbox.entry(&tree.join("a")).expect("exists").copies, 1);
    assert_eq!(forget("d").expect("forgets"), 0);
    assert_eq!(sandbox.catalog().roots().expect("query succeeds"), [bytes(tree.path())]);
}

#[test]
fn a_file_is_forgotten_by_its_path() {
    let (sandbox, tree) = scanned();
    let forget = |name: &str| sandbox.writer().forget_below(&bytes(&tree.join(name)));
    assert_eq!(forget("d/sub/deep/c").expect("forgets"), 1);
    assert_eq!(sandbox.entry(&tree.join("a")).expect("exists").copies, 2);
    assert_eq!(forget("d/sub/deep/single").expect("forgets"), 1);
    assert_eq!(sandbox.query("SELECT name FROM dir WHERE name = CAST('deep' AS BLOB)"), [""; 0]);
}

#[test]
fn a_root_is_forgotten_with_its_problems_and_without_its_neighbours() {
    let tree = TreeBuilder::new().file("x/a", "alike").file("x.old/b", "alike").make_temp();
    let sandbox = Sandbox::new();
    for root in ["x", "x.old"] {
        let path = bytes(&tree.join(root).join("p"));
        let problem = walk::Problem { path, reason: walk::Reason::Short };
        sandbox.try_scan(&[&tree.join(root)], &[&problem], || ()).expect("commits");
    }
    assert_eq!(sandbox.writer().forget_below(&bytes(&tree.join("x"))).expect("forgets"), 1);
    let left = bytes(&tree.join("x.old"));
    assert_eq!(sandbox.catalog().roots().expect("query succeeds"), [left]);
    assert_eq!(sandbox.query("SELECT count(*) FROM problem"), ["1"]);
    assert!(sandbox.entry(&tree.join("x.old/b")).is_some());
}

#[test]
fn everything_can_be_forgotten() {
    let (sandbox, tree) = scanned();
    assert_eq!(sandbox.writer().forget_below(b"/").expect("forgets"), 4);
    for (table, rows) in [("file", "0"), ("content", "0"), ("root", "0"), ("dir", "1")] {
        assert_eq!(sandbox.query(&format!("SELECT count(*) FROM {table}")), [rows], "{table}");
    }
    assert_eq!(sandbox.scan(&[tree.path()]).known(), [""; 0]);
    assert_eq!(sandbox.scan(&[tree.path()]).known(), ["a", "b", "c"]);
}
