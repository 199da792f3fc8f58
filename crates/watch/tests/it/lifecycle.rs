//! Start, end, and clients.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use testkit::{TEST_TIMEOUT, TempTree, TreeBuilder};
use watch::{Means, NoWatcher, Options, StartError, Unknown, Watcher, ask, watcher_paths};

use crate::files::write;
use crate::running::{By, Running};
use crate::state::is_named;

/// Starts a watcher of the directory `r`.
fn start(tree: &TempTree) -> Running {
    Running::start_at(&tree.path().join("catalog.db"), By::Inotify, &[&tree.path().join("r")])
}

fn not_running(catalog: &Path) -> bool {
    matches!(ask(catalog, &[], None, TEST_TIMEOUT), Err(NoWatcher::NotRunning))
}

#[test]
fn catalog_without_watcher_is_normal() {
    let tree = TreeBuilder::new().dir("r").make_temp();
    let catalog = tree.path().join("catalog.db");
    assert!(not_running(&catalog));
    assert!(not_running(&tree.path().join("missing/catalog.db")));
    let running = start(&tree);
    let [socket, lock] = watcher_paths(&catalog);
    let found = fs::symlink_metadata(&socket).expect("a socket");
    assert!(found.file_type().is_socket() && lock.exists());
    assert_eq!(found.permissions().mode() & 0o7777, 0o600);
    drop(running);
    assert!(!socket.exists() && !lock.exists());
    assert!(not_running(&catalog));
}

#[test]
fn catalog_has_one_watcher() {
    let tree = TreeBuilder::new().dir("r").make_temp();
    let running = start(&tree);
    let (catalog, roots) = (running.catalog.clone(), running.roots.clone());
    match Watcher::start(Options { catalog, roots, own: Vec::new() }) {
        Err(StartError::Running(process)) => assert_eq!(process, Some(std::process::id())),
        other => panic!("{other:?}"),
    }
    assert!(running.changes(running.position()).is_ok(), "the first one still answers");
}

#[test]
fn left_socket_is_replaced() {
    let tree = TreeBuilder::new().dir("r").make_temp();
    let catalog = tree.path().join("catalog.db");
    let [socket, lock] = watcher_paths(&catalog);
    drop(UnixListener::bind(&socket).expect("bound"));
    fs::write(&lock, "1\n").expect("written");
    assert!(not_running(&catalog));
    let running = start(&tree);
    assert!(running.changes(running.position()).is_ok());
}

#[test]
fn position_of_another_watcher_is_unknown() {
    let tree = TreeBuilder::new().dir("r").make_temp();
    let running = start(&tree);
    let position = running.position();
    assert_eq!(running.ask(None).changes, Err(Unknown::NoPosition));
    drop(running);
    let running = start(&tree);
    assert_eq!(running.changes(position), Err(Unknown::OtherSession));
}

#[test]
fn root_that_is_not_watched_is_unknown() {
    let tree = TreeBuilder::new().dir("r/a").dir("s").make_temp();
    let running = start(&tree);
    let since = Some(running.position());
    let changes = |root: &Path| {
        ask(&running.catalog, &[root.to_path_buf()], since, TEST_TIMEOUT).expect("answer").changes
    };
    assert!(changes(&tree.path().join("r/a")).is_ok(), "it is below a root");
    for root in [tree.path().join("s"), tree.path().to_path_buf()] {
        let path = root.as_os_str().as_encoded_bytes().to_vec();
        assert_eq!(changes(&root), Err(Unknown::NotWatched(path)));
    }
}

#[test]
fn notes_are_kept_until_the_catalog_has_them() {
    let tree = TreeBuilder::new().dir("r").make_temp();
    let running = start(&tree);
    let file = tree.path().join("r/file");
    let first = running.position();
    write(&file, "x");
    let second = running.ask(Some(first)).position;
    running.wait_for_counts(watch::Counts::default());
    // The scan failed, and asks again.
    assert!(is_named(&running.changes(first).expect("known"), &file));
    assert!(!is_named(&running.changes(second).expect("known"), &file));
    assert_eq!(running.changes(first), Err(Unknown::Discarded));
    assert_eq!(running.changes(second), Ok(watch::Changes::default()));
}

#[test]
fn status_counts_changes() {
    let tree = TreeBuilder::new().dir("r").make_temp();
    let running = start(&tree);
    let _answer = running.position();
    for name in ["a", "b"] {
        write(tree.path().join("r").join(name), "x");
    }
    running.wait_for_counts(watch::Counts { entries: 2, dirs: 1 });
    let status = running.control.status();
    assert!(status.first.is_some() && status.first <= status.last);
    assert!(status.answered.is_some() && status.answered <= status.first);
}

#[test]
fn question_without_roots_keeps_the_counts() {
    let tree = TreeBuilder::new().dir("r").make_temp();
    let running = start(&tree);
    let _answer = running.position();
    for _ in 0..3 {
        write(tree.path().join("r/file"), "x");
        assert_eq!(running.counts(), watch::Counts { entries: 1, dirs: 1 });
        ask(&running.catalog, &[], None, TEST_TIMEOUT).expect("an answer");
    }
    // A full scan asks again, with its roots and without a position.
    let _answer = running.position();
    assert_eq!(running.counts(), watch::Counts::default());
}

/// Waits until the watcher watches its root, or does not watch it.
fn wait_for_watched(running: &Running, is_watched: bool) {
    let start = Instant::now();
    let watches = || !matches!(running.control.watched()[0].means, Means::Unwatched(_));
    while watches() != is_watched {
        running.control.check();
        assert!(start.elapsed() < TEST_TIMEOUT, "{:?}", running.control.watched());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn check_finds_roots_that_are_gone_or_back() {
    for by in [By::Fanotify, By::Inotify] {
        let tree = TreeBuilder::new().dir("r").make_temp();
        let root = tree.path().join("r");
        let Some(running) = Running::start(by, &[&root]) else { continue };
        assert_eq!(*running.control.watched(), running.watched);
        for _ in 0..2 {
            fs::remove_dir_all(&root).expect("removed");
            wait_for_watched(&running, false);
            fs::create_dir(&root).expect("made");
            wait_for_watched(&running, true);
            let since = running.position();
            write(root.join("new"), "x");
            let changes = running.changes(since).expect("known");
            assert!(is_named(&changes, &root.join("new")), "{by:?}: {changes:?}");
        }
    }
}

#[test]
fn path_of_the_catalog_can_be_long() {
    let long = format!("{}/{}", "x".repeat(200), "y".repeat(200));
    let tree = TreeBuilder::new().dir("r").dir(long.as_str()).make_temp();
    let catalog = tree.path().join(long).join("catalog.db");
    let running = Running::start_at(&catalog, By::Inotify, &[&tree.path().join("r")]);
    assert!(running.changes(running.position()).is_ok());
}

#[test]
fn catalog_may_be_a_link() {
    let tree = TreeBuilder::new().dir("r").dir("a").file("a/real.db", "x").make_temp();
    rustix::fs::symlink("a/real.db", tree.path().join("catalog.db")).expect("linked");
    let running = start(&tree);
    assert!(tree.path().join("a/real.db.lop-watch").exists());
    let real = tree.path().join("a/real.db");
    assert!(ask(&real, &running.roots, None, TEST_TIMEOUT).is_ok(), "both names are one catalog");
}

#[test]
fn malformed_questions_do_not_disturb_others() {
    let tree = TreeBuilder::new().dir("r").make_temp();
    let running = start(&tree);
    let [socket, _] = watcher_paths(&running.catalog);
    let huge = [&b"lpw\x02"[..], &u32::MAX.to_le_bytes()].concat();
    let list = [&b"lpw\x02"[..], &10_u32.to_le_bytes(), &[0xFF; 10]].concat();
    for bytes in [&b""[..], b"GET / HTTP/1.1\r\n\r\n", &huge, &list, b"lpw\x02"] {
        let mut stream = UnixStream::connect(&socket).expect("connected");
        stream.write_all(bytes).expect("sent");
        stream.shutdown(std::net::Shutdown::Write).expect("shut down");
        let mut answer = Vec::new();
        // The watcher may close the connection before it has read everything.
        let _reset = stream.read_to_end(&mut answer);
        assert!(answer.is_empty());
        assert!(running.changes(running.position()).is_ok());
    }
    // A client that sends nothing holds up others only for some seconds.
    let _silent = UnixStream::connect(&socket).expect("connected");
    assert!(running.changes(running.position()).is_ok());
}

#[test]
fn malformed_answers_are_errors() {
    let tree = TempTree::new();
    let catalog = tree.path().join("catalog.db");
    let [socket, _] = watcher_paths(&catalog);
    let listener = UnixListener::bind(&socket).expect("bound");
    let huge = [&b"lpw\x02"[..], &u32::MAX.to_le_bytes()].concat();
    let list = [&b"lpw\x02"[..], &30_u32.to_le_bytes(), &[0; 18], &[0xFF; 12]].concat();
    for bytes in [&b""[..], b"HTTP/1.1 200 OK\r\n\r\n", &huge, &list] {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().expect("accepted");
                let mut head = [0; 8];
                stream.read_exact(&mut head).expect("a question");
                stream.write_all(bytes).expect("sent");
            });
            let error = ask(&catalog, &[], None, TEST_TIMEOUT).expect_err("no answer");
            assert!(matches!(error, NoWatcher::Failed { .. }), "{error}");
        });
    }
    // Nobody answers at all.
    let error = ask(&catalog, &[], None, Duration::from_millis(20)).expect_err("no answer");
    assert!(matches!(error, NoWatcher::Failed { .. }), "{error}");
}

#[test]
fn pseudo_file_system_is_not_watched() {
    let tree = TempTree::new();
    let catalog = tree.path().join("catalog.db");
    let running = Running::start_at(&catalog, By::Inotify, &[Path::new("/proc")]);
    assert!(matches!(running.watched[0].means, watch::Means::Unwatched(_)));
    let since = running.position();
    assert_eq!(running.changes(since), Err(Unknown::NotWatched(b"/proc".to_vec())));
}
