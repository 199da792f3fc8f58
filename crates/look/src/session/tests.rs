//! Tests of the event loop: changes of the catalog by other processes, and a session in a real terminal.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use catalog::{Catalog, Choice, Decider, Scope};
use rusqlite::Connection;
use testkit::{TempTree, Tmux, TreeBuilder, skipped};

use super::{CHANGED, End, OpenCatalog, Options, REMOVED, run};
use crate::tests::install;
use crate::tests::scan::scan;

/// Scans a tree into the catalog `c.db`.
fn scanned() -> TempTree {
    let temp = TempTree::new();
    let tree = TreeBuilder::new().file("t/one", "content").file("t/two", "content");
    let _made = tree.make(temp.path());
    scan(&temp.path().join("t"), &temp.path().join("c.db"));
    temp
}

fn open(temp: &TempTree) -> OpenCatalog {
    let path = temp.path().join("c.db");
    OpenCatalog::new(Catalog::open(&path).expect("opens"), path).expect("opens")
}

#[test]
fn a_plan_from_an_older_state_of_the_catalog_is_not_applied() {
    let temp = scanned();
    let mut catalog = open(&temp);
    assert_eq!(catalog.check_plan(), Ok(()));
    let other = Decider::open(&temp.path().join("c.db")).expect("opens");
    let scope = Scope::Filter(String::new());
    other.decide(scope, Choice::Leave, 1).expect("decided");
    assert_eq!(catalog.outdated(Duration::ZERO).expect("read"), Some(CHANGED));
    let why =
        "No file was changed: another process has changed the catalog. Press p to make a new plan.";
    assert_eq!(catalog.check_plan(), Err(why.into()));
    catalog.note_version();
    assert_eq!(catalog.check_plan(), Ok(()));
    fsops::remove_file(&temp.path().join("c.db")).expect("removed");
    assert_eq!(catalog.outdated(Duration::ZERO).expect("examined"), Some(REMOVED));
}

#[test]
fn a_commit_by_another_process_is_not_taken_for_an_unchanged_catalog() {
    let temp = scanned();
    let catalog = open(&temp);
    let other = Connection::open(temp.path().join("c.db")).expect("opens");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    let unknown = catalog.outdated(Duration::ZERO);
    assert!(unknown.is_err_and(|error| error.is_busy()));
    let why = "No file was changed: the catalog is in use by another process. Press p to make a new plan.";
    assert_eq!(catalog.check_plan(), Err(why.into()));
    other.execute_batch("COMMIT").expect("unlocked");
    assert_eq!(catalog.check_plan(), Ok(()));
}

/// The variable with the directory of the next test.
const DIR: &str = "LOOK_TEST_DIR";

/// Shows the catalog `c.db` of a directory that also contains the program `lop`. The next test runs this one in a
/// terminal.
#[test]
#[ignore = "a test runs it in a terminal"]
fn shows_a_catalog() {
    let Some(dir) = std::env::var_os(DIR).filter(|_| io::stdin().is_terminal()) else {
        return skipped("standard input is not a terminal");
    };
    let dir = Path::new(&dir);
    let copy = |stream: io::Result<OwnedFd>| File::from(stream.expect("a descriptor"));
    let end = run(Options {
        catalog: Catalog::open(&dir.join("c.db")).expect("opens"),
        dir: None,
        program: dir.join("lop"),
        temp_dir: dir.into(),
        input: copy(io::stdin().as_fd().try_clone_to_owned()),
        output: copy(io::stdout().as_fd().try_clone_to_owned()),
        has_colors: false,
        local_time: |_| String::new(),
    });
    assert_eq!(end.expect("ends"), End::Quit);
}

/// A program that lists the file `old` when it starts for the first time, and later the file `new`. At the first time,
/// it ignores SIGINT, waits for the file `go`, and creates the file `ended`.
const LOP: &str = r#"#!/bin/sh
list() {
    echo '{"files":[{"path":"/'"$1"'","size":1}],"summary":{"files":1,"uniques":1,"bytes":1,"problems":0}}'
}
cd "${0%/*}"
trap '' INT
mkdir started || { list new; exit; }
while [ ! -e go ]; do sleep 0.01; done
list old
exec >&-
sleep 0.1
: >ended
"#;

#[test]
fn a_result_from_before_a_reload_is_not_shown() {
    let temp = scanned();
    install(LOP, temp.path());
    let Some(tmux) = Tmux::start((80, 24), temp.path(), &[(DIR, temp.path())]) else { return };
    let program = std::env::current_exe().expect("this program");
    let test = "session::tests::shows_a_catalog --exact --ignored --nocapture";
    tmux.type_line(&format!("clear; {} {test}", program.display()));
    tmux.wait_for("2 files");
    tmux.press(&["4"]);
    tmux.wait_until("a program that ignores SIGINT", |_| temp.path().join("started").exists());
    tmux.press(&["1", "R", "s"]);
    tmux.wait_for("2 files");
    let _made = TreeBuilder::new().file("go", "").make(temp.path());
    tmux.wait_until("the end of the first program", |_| temp.path().join("ended").exists());
    tmux.press(&["4"]);
    tmux.wait_for("1 of 1 file");
    let screen = tmux.screen();
    assert!(screen.contains("/new") && !screen.contains("/old"), "{screen}");
    tmux.press(&["q"]);
    tmux.wait_for("1 passed");
}
