//! Tests of the page with a watcher in a thread of this process.

#![expect(clippy::disallowed_methods, reason = "tests change scanned files")]

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use catalog::Catalog;
use rusqlite::{Connection, params};
use serde_json::Value;
use testkit::{TEST_TIMEOUT, TreeBuilder};
use watch::{Control, Options, Watcher, ask, watcher_paths};

use super::hex;
use crate::testing::TestServer;

/// A server with a scanned tree, and the watcher of the tree. The scan belongs to the position of the watcher.
struct Watched {
    server: TestServer,
    control: Control,
    thread: Option<JoinHandle<std::io::Result<()>>>,
}

impl Watched {
    fn new(tree: &TreeBuilder) -> Watched {
        let server = TestServer::scanned(tree);
        let (catalog, root) = (server.app.catalog_path(), server.tree.path());
        let own = Catalog::own_paths(catalog);
        let options = Options { catalog: catalog.into(), roots: vec![root.into()], own };
        let watcher = Watcher::start(options).expect("started");
        let control = watcher.control();
        let thread = Some(std::thread::spawn(move || watcher.run()));
        let new = Watched { server, control, thread };
        new.note_position();
        new
    }

    /// Makes the catalog one of a scan that just ended.
    fn note_position(&self) {
        let catalog = self.server.app.catalog_path();
        let now = ask(catalog, &[], None, TEST_TIMEOUT).expect("an answer").position;
        let sql = "UPDATE root SET watcher = ?1, position = ?2";
        let number = now.number.cast_signed();
        let db = Connection::open(catalog).expect("opens");
        assert_eq!(db.execute(sql, params![now.session, number]).expect("updated"), 1);
    }

    /// Waits until the watcher answers, and returns the answer of the server. On a busy system, the watcher may take
    /// longer than the server waits.
    fn news(&self) -> Value {
        let start = Instant::now();
        loop {
            let news = self.server.json("/api/news");
            if news["watcher"] != "silent" {
                return news;
            }
            assert!(start.elapsed() < TEST_TIMEOUT, "the watcher does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns a page that contains an answer of the watcher.
    fn page(&self, path: &str) -> String {
        loop {
            self.news();
            let page = self.server.page(path);
            if !page.contains("did not answer") {
                return page;
            }
        }
    }

    fn write(&self, name: &[u8]) {
        let path = self.server.tree.path().join(std::ffi::OsStr::from_bytes(name));
        fs::write(path, "new").expect("written");
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.control.stop();
        drop(self.thread.take().map(JoinHandle::join));
    }
}

#[test]
fn without_a_watcher_the_start_page_says_nothing() {
    let server = TestServer::scanned(&TreeBuilder::new().file("a", "x"));
    assert!(server.page("/").contains("id=\"changed\" hidden>"));
    assert!(server.page("/changed").contains("lop watch is not running for this catalog"));
    let news = server.json("/api/news");
    assert_eq!((&news["watcher"], &news["text"]), (&"none".into(), &().into()), "{news}");
}

#[test]
fn without_a_catalog_there_are_no_news() {
    let server = TestServer::new(false);
    assert!(server.page("/changed").contains("Nothing has been scanned yet"));
    let news = server.json("/api/news");
    assert_eq!((&news["catalog"], &news["watcher"]), (&0.into(), &"none".into()), "{news}");
    assert!(server.page("/").contains("data-catalog=\"0\""));
    server.make_catalog();
    assert_ne!(server.json("/api/news")["catalog"], 0);
}

#[test]
fn changes_are_listed_and_stay_noted() {
    let watched = Watched::new(&TreeBuilder::new().file("a", "x").dir("dir"));
    let server = &watched.server;
    assert!(watched.page("/").contains("Nothing has changed since the last scan."));
    for name in [&b"dir/<img src=x>\n\xFF"[..], b"dir/b", b"a"] {
        watched.write(name);
    }
    watched.note_position();
    watched.write(b"dir/b");
    watched.write(b"dir/<img src=x>\n\xFF");
    // A change of the catalog, as by a scan, makes the last answer invalid.
    let text = "2 entries in 1 folder have changed since the last scan.";
    let news = watched.news();
    let facts = ["changed_entries", "changed_dirs", "unknown_dirs"].map(|key| &news[key]);
    assert_eq!((&news["text"], facts), (&text.into(), [&2.into(), &1.into(), &0.into()]));
    let root = hex(server.tree.path().as_os_str().as_bytes());
    for path in ["/", "/changed"] {
        let page = watched.page(path);
        assert!(page.contains(text) && page.contains(&format!("value=\"{root}\"")), "{page}");
        assert!(!page.contains("<img src=x>"), "{page}");
    }
    let page = watched.page("/changed");
    let name = "<bdi>&lt;img src=x&gt;<span class=\"esc\">\\n\\xff</span></bdi>, <bdi>b</bdi>";
    assert!(page.contains(name), "{page}");
    // The watcher updates its status after it has answered. A scan is still due.
    let start = Instant::now();
    while watched.control.status().counts.entries == 0 {
        assert!(start.elapsed() < TEST_TIMEOUT, "no scan is due");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn roots_whose_changes_are_unknown_are_named() {
    let watched = Watched::new(&TreeBuilder::new().file("a", "x"));
    let db = Connection::open(watched.server.app.catalog_path()).expect("opens");
    db.execute("UPDATE root SET watcher = zeroblob(16)", []).expect("updated");
    let page = watched.page("/changed");
    assert!(page.contains("The changes in 1 folder since the last scan are unknown."), "{page}");
    assert!(page.contains("lop watch was started after its last scan"), "{page}");
    assert!(page.contains("Scan now"), "{page}");
}

#[test]
fn a_watcher_that_does_not_answer_does_not_hold_up_the_page() {
    let server = TestServer::scanned(&TreeBuilder::new().file("a", "x"));
    let [path, _] = watcher_paths(server.app.catalog_path());
    let _listener = UnixListener::bind(path).expect("listens");
    let text = "The changes since the last scan are unknown: lop watch did not answer in time.";
    for path in ["/", "/changed"] {
        assert!(server.page(path).contains(text), "{path}");
    }
    assert_eq!(server.json("/api/news")["watcher"], "silent");
}
