//! Writers and readers at the same time.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::time::SystemTime;

use catalog::{Catalog, Rows, TreeMatch, Writer};
use testkit::{TempTree, TreeBuilder};

use crate::disk::{bytes, walked};
use crate::sandbox::{Sandbox, record};

fn tree() -> TempTree {
    TreeBuilder::new().file("a", "alike").file("b", "alike").make_temp()
}

#[test]
fn a_waiting_writer_gets_the_id_of_the_other_process() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let first = sandbox.writer();
    let (sender, receiver) = channel();
    let path = sandbox.path();
    let second = std::thread::spawn(move || {
        Writer::open(&path, |holder| sender.send(holder).expect("the receiver is open"))
            .expect("opens")
            .is_new()
    });
    assert_eq!(
        receiver.recv().expect("the second writer reports that it waits"),
        Some(std::process::id())
    );
    assert!(!second.is_finished());
    drop(first);
    assert!(!second.join().expect("no panic"));
}

#[test]
fn a_waiting_writer_opens_the_catalog_that_was_just_created() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let first = sandbox.writer();
    assert!(first.is_new());
    let (sender, receiver) = channel();
    let path = sandbox.path();
    let second = std::thread::spawn(move || {
        Writer::open(&path, |_| sender.send(()).expect("the receiver is open"))
            .expect("opens")
            .is_new()
    });
    receiver.recv().expect("the second writer waits");
    let tree = walked(&[tree.path()]);
    let match_tree = TreeMatch::empty(&tree);
    let record = record(SystemTime::now());
    first.commit(&tree, match_tree, std::iter::empty(), &[], &record, &[]).expect("commits");
    assert!(!second.join().expect("no panic"), "the catalog is not new");
}

/// Each writer removes the lock file when it is done, while other writers wait for the lock.
#[test]
fn writers_exclude_each_other_even_if_each_removes_the_lock_file() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let (path, inside) = (sandbox.path(), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let writer = Writer::open(&path, |_| ()).expect("opens");
                    assert_eq!(inside.fetch_add(1, SeqCst), 0, "another writer is active");
                    std::thread::yield_now();
                    inside.fetch_sub(1, SeqCst);
                    drop(writer);
                }
            });
        }
    });
    assert!(!sandbox.beside(".lop-lock").exists());
}

#[test]
fn queries_work_while_a_writer_holds_the_lock() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let _writer = sandbox.writer();
    assert!(sandbox.entry(&tree.join("a")).is_some());
}

#[test]
fn queries_during_a_commit_return_the_old_state() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let before = sandbox.rows();
    fs::write(tree.join("c"), "alike").expect("written");
    fs::remove_file(tree.join("b")).expect("removed");
    let was_called = std::cell::Cell::new(false);
    let ask = || {
        assert_eq!(sandbox.rows(), before);
        assert!(
            sandbox.entry(&tree.join("b")).is_some() && sandbox.entry(&tree.join("c")).is_none()
        );
        was_called.set(true);
    };
    sandbox.try_scan(&[tree.path()], &[], ask).expect("commits");
    assert!(was_called.get());
}

#[test]
fn a_catalog_open_for_queries_sees_the_next_commit() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let catalog = Catalog::open(&sandbox.path()).expect("opens");
    let new = || catalog.file(&bytes(tree.path()), b"c").expect("query succeeds");
    assert!(new().is_none());
    fs::write(tree.join("c"), "alike").expect("written");
    sandbox.scan(&[tree.path()]);
    assert_eq!(new().expect("exists").copies, 3);
}

/// One thread repeatedly renames all directories and files in one commit, while another loads the
/// catalog.
#[test]
fn a_catalog_is_loaded_from_a_single_commit() {
    let mut tree = TreeBuilder::new();
    for dir in 0..40 {
        tree = tree.file(format!("d{dir}/f1"), "alike").file(format!("d{dir}/f2"), "alike");
    }
    let (sandbox, tree) = (Sandbox::new(), tree.make_temp());
    sandbox.scan(&[tree.path()]);
    let below = tree.path().file_name().expect("a name").to_str().expect("UTF-8");
    let rename = |to: &str| {
        sandbox.run(&format!(
            "BEGIN IMMEDIATE;
             UPDATE dir SET name = CAST('{to}' || substr(name, 2) AS BLOB)
               WHERE parent = (SELECT id FROM dir WHERE name = CAST('{below}' AS BLOB));
             UPDATE file SET name = CAST('{to}' || substr(name, 2) AS BLOB);
             COMMIT"
        ));
    };
    let (go_on, hears) = channel();
    std::thread::scope(|scope| {
        let renamer = scope.spawn(move || {
            let mut commits = 0;
            while commits < 20 || hears.try_recv() != Err(TryRecvError::Disconnected) {
                rename(["x", "d"][commits % 2]);
                commits += 1;
            }
            commits
        });
        // Moved into this closure, so that it is dropped even on a panic.
        let go_on: Sender<()> = go_on;
        let catalog = sandbox.catalog();
        for _ in 0..300 {
            let loaded = catalog.load(Rows::All).expect("loads");
            let paths = loaded.tree.files().len();
            assert_eq!(paths, 80);
            let mut starts: Vec<(u8, u8)> =
                (0..80).map(|file| starts(&loaded.tree, file)).collect();
            starts.dedup();
            let alike = starts.iter().all(|(dir, file)| dir == file || *file == b'f');
            assert!(starts.len() == 1 && alike, "loaded from two commits: {starts:?}");
        }
        drop(go_on);
        assert!(renamer.join().expect("no panic") >= 20);
    });
}

/// Returns the first letters of a file's directory and name.
fn starts(tree: &walk::Tree, file: u32) -> (u8, u8) {
    let path = tree.path(walk::FileId(file));
    let mut names = path.rsplit(|&byte| byte == b'/');
    let (name, dir) = (names.next().expect("a name"), names.next().expect("a directory"));
    (dir[0], name[0])
}

#[test]
fn every_file_beside_a_catalog_is_declared() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let said = Catalog::files(&sandbox.path());
    let assert_said = || {
        let dir = sandbox.path();
        let entries = fs::read_dir(dir.parent().expect("a directory")).expect("a directory");
        let files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        assert!(files.iter().all(|file| said.contains(file)), "{files:?}");
        files.len()
    };
    // While a catalog is being created, its lock file exists beside it. While the catalog is being
    // changed, it also has a journal.
    for during in [2, 3] {
        let seen = std::cell::Cell::new(0);
        fs::write(tree.join("c"), format!("new before {during}")).expect("written");
        sandbox.try_scan(&[tree.path()], &[], || seen.set(assert_said())).expect("commits");
        assert_eq!(seen.get(), during);
        assert_eq!(assert_said(), 1, "the catalog alone");
    }
}
