//! Several processes that use the same catalog.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use testkit::{
    Running, Signal, TEST_TIMEOUT, TreeBuilder, When, assert_groups, groups_of, parse_nul,
    relative_to,
};

use crate::lop::{Lop, settle};

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("one/a", "alike")
        .file("one/b", "alike")
        .file("two/c", "alike")
        .file("two/d", "in two")
        .file("two/e", "in two")
        .fifo("list")
}

/// A scan that holds the lock on the catalog while it waits for its list of files.
pub(crate) struct Holder {
    running: Running,
    list: File,
}

impl Holder {
    pub(crate) fn start(lop: &Lop) -> Holder {
        let running = lop.command().args(["scan", "--files-from", "list"]).spawn();
        // Opening the list for writing blocks until the reader opens it, and by then the reader has
        // locked the catalog.
        assert!(lop.path("list").metadata().expect("there").file_type().is_fifo());
        let list = File::options().write(true).open(lop.path("list")).expect("opens");
        Holder { running, list }
    }

    /// Lets the scan process the given files, and returns when the scan has ended.
    pub(crate) fn finish(self, list: &[u8]) {
        let Holder { running, list: mut end } = self;
        end.write_all(list).expect("written");
        drop(end);
        running.wait().success();
    }
}

pub(crate) fn said_to_wait(holder: &Holder) -> When {
    let pid = holder.running.pid();
    When::Stderr(format!("lop: waiting for process {pid}, which is changing the catalog\n").into())
}

#[test]
fn a_second_scan_waits_names_the_other_process_and_both_results_are_kept() {
    for existing in [false, true] {
        let lop = Lop::with(&tree());
        if existing {
            lop.remember(["one/a"]);
        }
        let holder = Holder::start(&lop);
        let mut second = lop.command().args(["scan", "two"]).spawn();
        assert!(second.wait_for(&said_to_wait(&holder)));
        let mut third = lop.command().args(["refresh"]).spawn();
        if existing {
            assert!(third.wait_for(&said_to_wait(&holder)));
            assert!(second.is_running());
            holder.finish(b"one/a\none/b\n");
            third.wait().success();
        } else {
            // There is no catalog to refresh, so the command fails at once.
            third.wait().code(5);
            assert!(second.is_running());
            holder.finish(b"one/a\none/b\n");
        }
        second.wait().success();
        let expected = groups_of([vec!["one/a", "one/b", "two/c"], vec!["two/d", "two/e"]]);
        assert_groups(&expected, &lop.report());
        lop.assert_whole_catalog();
    }
}

#[test]
fn a_wait_is_announced_even_with_quiet() {
    let lop = Lop::with(&tree());
    let holder = Holder::start(&lop);
    let mut second = lop.command().args(["scan", "-q", "two"]).spawn();
    assert!(second.wait_for(&said_to_wait(&holder)));
    holder.finish(b"");
    let output = second.wait();
    output.success();
    assert_eq!(output.stdout_str(), "");
}

#[test]
fn a_wait_can_be_interrupted() {
    let lop = Lop::with(&tree());
    let holder = Holder::start(&lop);
    let mut second = lop.command().args(["scan", "two"]).spawn();
    assert!(second.wait_for(&said_to_wait(&holder)));
    assert!(second.signal(Signal::INT));
    second.wait().signal(Signal::INT);
    holder.finish(b"one/a\none/b\n");
    assert_groups(&groups_of([["one/a", "one/b"]]), &lop.report());
}

#[test]
fn a_killed_process_holds_nothing() {
    let lop = Lop::with(&tree());
    let mut holder = Holder::start(&lop);
    let mut second = lop.command().args(["scan", "two"]).spawn();
    assert!(second.wait_for(&said_to_wait(&holder)));
    assert!(holder.running.signal(Signal::KILL));
    holder.running.wait().signal(Signal::KILL);
    second.wait().success();
    assert_groups(&groups_of([["two/d", "two/e"]]), &lop.report());
}

#[test]
fn questions_do_not_wait() {
    let lop = Lop::with(&tree());
    lop.remember(["two"]);
    let holder = Holder::start(&lop);
    assert_groups(&groups_of([["two/d", "two/e"]]), &lop.report());
    lop.run(["file", "two/d"]).success();
    lop.run(["uniques", "two"]).code(6);
    lop.run(["validate"]).success();
    holder.finish(b"one/a\n");
}

#[test]
fn different_catalogs_do_not_wait_for_each_other() {
    let lop = Lop::with(&tree());
    let holder = Holder::start(&lop);
    lop.remember(["--catalog", "other.db", "two"]);
    lop.remember(["--no-catalog", "two"]);
    holder.finish(b"");
}

#[test]
fn many_scans_at_once_are_all_remembered() {
    let mut tree = TreeBuilder::new();
    for n in 0..8 {
        tree = tree.file(format!("{n}/a"), "alike").seeded(format!("{n}/b"), n, 30_000);
    }
    let lop = Lop::with(&tree);
    let all: Vec<Running> =
        (0..8).map(|n| lop.command().args(["scan", &n.to_string()]).spawn()).collect();
    for running in all {
        running.wait().success();
    }
    let names: Vec<String> = (0..8).map(|n| format!("{n}/a")).collect();
    assert_groups(&groups_of([names]), &lop.report());
    lop.assert_whole_catalog();
}

/// Waits until a file exists.
fn wait_for(path: &Path) {
    let timeout = Instant::now() + TEST_TIMEOUT;
    while !path.exists() {
        assert!(Instant::now() < timeout, "{} does not appear", path.display());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A reader sees the state before a commit or after it, but never a mixture of the two.
#[test]
fn a_reader_during_commits_sees_one_state_or_the_other() {
    let mut tree = TreeBuilder::new();
    for n in 0..400 {
        tree = tree.seeded(format!("pairs/{n}"), n / 2, 500 + n / 2);
    }
    let lop = Lop::with(&tree);
    let done = AtomicBool::new(false);
    let mut answers = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..12 {
                let (from, to) = (lop.path("pairs"), lop.path("Pairs"));
                let (from, to) = if round % 2 == 0 { (from, to) } else { (to, from) };
                if round > 0 {
                    // Both names have the same length, so every file looks moved.
                    drop(std::fs::rename(from, to));
                }
                lop.run(["scan", "-q", "."]).success();
            }
            done.store(true, Relaxed);
        });
        wait_for(&lop.catalog());
        while !done.load(Relaxed) {
            let sql = "SELECT count(*), count(DISTINCT content), min(dir) = max(dir) FROM file";
            let row = lop.database().query_row(sql, [], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, bool>(2)?))
            });
            assert_eq!(row.expect("a row"), (400, 200, true));
            let output = lop.run(["report", "--format", "nul"]);
            assert!(matches!(output.ending, testkit::Ending::Code(0 | 3)));
            let groups = relative_to(lop.work(), &parse_nul(&output.stdout));
            assert!(groups.len() <= 200);
            answers += 1;
        }
    });
    assert!(answers > 3, "only {answers} answers");
    settle();
    lop.remember(["."]);
    assert_eq!(lop.report().len(), 200);
}
