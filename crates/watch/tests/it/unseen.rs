//! The question what no scan has seen yet. It must not count as the question of a scan.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use testkit::{TEST_TIMEOUT, TempTree, TreeBuilder};
use watch::{
    ChangedDir, Counts, Entries, NoWatcher, Position, Unknown, Unseen, ask, ask_unseen,
    watcher_paths,
};

use crate::files;
use crate::running::{By, Running, everywhere};
use crate::state::is_named;

fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    path.as_ref().as_os_str().as_encoded_bytes().to_vec()
}

fn write(path: PathBuf) {
    files::write(path, "x");
}

fn names(dir: &Path, names: &[&str]) -> ChangedDir {
    let names = names.iter().map(|name| (bytes(name), false)).collect();
    ChangedDir { path: bytes(dir), entries: Entries::Names(names) }
}

#[test]
fn question_keeps_the_notes_and_the_counts() {
    everywhere(|by, top| {
        for dir in ["r", "r/a", "r/b"] {
            fs::create_dir(top.join(dir)).expect("made");
        }
        let Some(running) = Running::start(by, &[&top.join("r")]) else { return };
        let top = top.canonicalize().expect("a path");
        let position = running.position();
        assert_eq!(running.unseen(Some(position)), Unseen::default());
        for file in ["r/a/one", "r/a/two", "r/b/one"] {
            write(top.join(file));
        }
        let counts = Counts { entries: 3, dirs: 2 };
        let dirs =
            vec![names(&top.join("r/a"), &["one", "two"]), names(&top.join("r/b"), &["one"])];
        let expected = Unseen { counts, dirs, ..Unseen::default() };
        for _ in 0..3 {
            assert_eq!(running.unseen(Some(position)), expected);
        }
        running.wait_for_counts(counts);
        let status = running.control.status();
        assert!(status.first.is_some(), "an automatic scan still starts");
        let changes = running.changes(position).expect("known");
        for file in ["r/a/one", "r/a/two", "r/b/one"] {
            assert!(is_named(&changes, &top.join(file)), "{file}: {changes:?}");
        }
        running.wait_for_counts(Counts::default());
        assert_eq!(running.unseen(Some(position)), expected, "the scan has not ended yet");
        let position = running.position();
        assert_eq!(running.unseen(Some(position)), Unseen::default());
    });
}

#[test]
fn each_root_has_its_own_position() {
    let tree = TreeBuilder::new().dir("r").dir("s").make_temp();
    let [r, s] = ["r", "s"].map(|name| tree.path().join(name));
    let running = Running::start_at(&tree.path().join("catalog.db"), By::Inotify, &[&r, &s]);
    let early = running.position();
    write(r.join("early"));
    write(s.join("early"));
    let late = running.position();
    write(s.join("late"));
    let other = Position { session: [0; 16], ..late };
    let question = [
        (&r, Some(early)),
        (&s, Some(late)),
        (&r.join("new"), None),
        (&s.join("other"), Some(other)),
        (&tree.path().to_path_buf(), Some(late)),
    ];
    let question = question.map(|(root, since)| (bytes(root), since));
    let unseen = ask_unseen(&running.catalog, question.to_vec(), TEST_TIMEOUT).expect("an answer");
    assert_eq!(unseen.dirs, [names(&r, &["early"]), names(&s, &["late"])]);
    assert_eq!(unseen.counts, Counts { entries: 2, dirs: 2 });
    let top = bytes(tree.path());
    let unknown = [
        (bytes(r.join("new")), Unknown::NoPosition),
        (bytes(s.join("other")), Unknown::OtherSession),
        (top.clone(), Unknown::NotWatched(top)),
    ];
    assert_eq!(unseen.unknown, unknown);
    let changes = ask(&running.catalog, &running.roots, Some(early), TEST_TIMEOUT);
    let changes = changes.expect("an answer").changes.expect("known");
    assert!(["early", "late"].iter().all(|name| is_named(&changes, &s.join(name))));
}

#[test]
fn names_are_bounded() {
    let tree = (0..300).fold(TreeBuilder::new(), |tree, n| tree.dir(format!("r/{n:03}")));
    let tree = tree.make_temp();
    let root = tree.path().join("r");
    let running = Running::start_at(&tree.path().join("catalog.db"), By::Inotify, &[&root]);
    let position = running.position();
    for number in 0..300 {
        write(root.join(format!("{number:03}/file")));
    }
    for number in 0..2000 {
        write(root.join(format!("299/{number}")));
    }
    let unseen = running.unseen(Some(position));
    assert_eq!(unseen.dirs.len(), Unseen::MAX_DIRS);
    assert_eq!((unseen.counts.dirs, unseen.is_at_least), (300, true));
    assert_eq!(unseen.dirs[0], names(&root.join("000"), &["file"]));
}

#[test]
fn watcher_that_accepts_nothing_is_given_up_even_if_its_queue_is_full() {
    let tree = TempTree::new();
    let catalog = tree.path().join("catalog.db");
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("made");
    let [path, _] = watcher_paths(&catalog);
    rustix::net::bind(&socket, &SocketAddrUnix::new(path).expect("short")).expect("bound");
    rustix::net::listen(&socket, 1).expect("listens");
    for _ in 0..5 {
        let error = ask_unseen(&catalog, Vec::new(), Duration::from_millis(20));
        match error.expect_err("no answer") {
            NoWatcher::Failed { source, .. } => {
                assert_eq!(source.kind(), std::io::ErrorKind::TimedOut);
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn watcher_of_another_version_is_reported_as_such() {
    let tree = TempTree::new();
    let catalog = tree.path().join("catalog.db");
    let [path, _] = watcher_paths(&catalog);
    let listener = UnixListener::bind(path).expect("bound");
    std::thread::scope(|scope| {
        // An older watcher reads the head of a question that it does not understand, and no more.
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("accepted");
            stream.read_exact(&mut [0; 8]).expect("a head");
        });
        let error = ask_unseen(&catalog, Vec::new(), TEST_TIMEOUT).expect_err("no answer");
        let NoWatcher::Failed { source, .. } = error else { panic!("{error}") };
        assert!(source.to_string().contains("another version of lop"), "{source}");
    });
}
